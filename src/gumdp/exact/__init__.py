"""Exact solution: the occupancy MDP unfolded, and branch and bound."""
