"""Values that no policy can beat."""
