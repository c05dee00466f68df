"""Experiments: a plan of arms, engines that play their trials, and a store that keeps every trial."""
