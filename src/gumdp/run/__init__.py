"""Playing trials, judging planners, acting for real."""
