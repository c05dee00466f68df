"""Compiled loops: arrays, scalars and records in; no strings, no validation."""
