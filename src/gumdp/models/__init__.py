"""Worlds to plan in."""
