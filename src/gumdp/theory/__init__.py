"""The paper's constructions."""
