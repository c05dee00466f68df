"""What a step adds to the running occupancy, and how it is undone."""
