"""Costs of an occupancy."""
