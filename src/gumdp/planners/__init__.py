"""Ways to act."""
