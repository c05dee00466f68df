"""Environments of Gymnasium as models: one way in a file."""
