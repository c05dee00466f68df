"""Exact and average-optimal solutions, bounds and certificates."""
