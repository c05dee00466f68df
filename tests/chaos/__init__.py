"""Attacks: kills, disks, damage, hostile folders. All of it is seeded and bounded, and ends only what it started.

A quick part runs with the other tests, the rest is marked slow. ``make chaos`` runs all and prints the counts.
"""
