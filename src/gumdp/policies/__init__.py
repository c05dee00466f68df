"""Planners and policies that need no search, and the one loop that plays a trial."""
