"""Where trials are kept."""
