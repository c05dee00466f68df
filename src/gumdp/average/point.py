"""Where a solver stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gumdp.objectives.base import Array

Progress = Callable[[int, float, float], None]  # iterations done, value, gap (NaN while it is not known)


class Point(NamedTuple):
    """A policy with what it is worth on average, and how far from the optimum that can be."""

    policy: Array  # [S, A] or [H, S, A]
    occupancy: Array  # [S, A]
    value: float
    gap: float  # NaN if no bound is known
    iterations: int
