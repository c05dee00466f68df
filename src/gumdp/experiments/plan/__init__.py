"""What an experiment is: its arms, its file, its version."""
