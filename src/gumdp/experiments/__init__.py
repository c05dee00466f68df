"""Experiments: a plan of cells, engines that play their trials, and a store that keeps every trial."""
