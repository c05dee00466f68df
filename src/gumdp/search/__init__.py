"""Monte-Carlo tree search in the occupancy MDP, made of parts."""
