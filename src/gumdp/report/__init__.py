"""What people and programs get to see of results: reads them, never computes them."""
