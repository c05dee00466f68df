"""Speed, as ratios taken in one run on the same work: against the machine's limit, and against plain Python."""
