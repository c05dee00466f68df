"""Policy mirror descent: a first-order method whose every iteration is dynamic programming on the sparse model."""

from __future__ import annotations

import time

import numpy as np

from gumdp.average.gap import Certifier
from gumdp.average.point import Point, Progress
from gumdp.average.polytope import Stationary, Truncated
from gumdp.average.tangents import Tangents
from gumdp.objectives.base import Array

SMOOTHINGS = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7)
PATIENCE = 60  # steps in a row that were too long, after which the end is reached


def mirror_descent(
    tangents: Tangents,
    polytope: Stationary | Truncated,
    policy: Array,
    *,
    tolerance: float,
    iterations: int,
    deadline: float,
    progress: Progress | None = None,
) -> Point:
    """Lower f(d_π) by π ∝ π·exp(-step·Q), Q the costs to go of π under the gradient of f at d_π.

    For the entropy with step 1 this is soft policy iteration. A step is too long when f rises again at its end,
    that is when the slope there, along the way made, is positive: it is undone and halved. After each success it
    grows. The objective's kinks are smoothed, less and less. When the objective is convex, the linear oracle
    says from time to time how far away the optimum can be, and the search ends when that is at most ``tolerance``.
    """
    walk = Walk(tangents, polytope, policy)
    check = 1
    for done in range(1, iterations + 1):
        walk.advance()
        late = time.perf_counter() > deadline
        if done >= check or walk.stuck or late or done == iterations:
            gap = walk.measure()
            check = done + max(1, min(done // 4, 25))
            if progress:
                progress(done, walk.best.value, gap)
            if gap <= tolerance or late:
                break
            near = walk.stuck or walk.near < 0.05 * gap  # what is left is the smoothing's
            if near and not walk.sharpen() and walk.stuck:
                break
    return walk.best._replace(iterations=done)


class Walk:
    """A policy on its way down."""

    def __init__(self, tangents: Tangents, polytope: Stationary | Truncated, policy: Array) -> None:
        self.tangents, self.polytope = tangents, polytope
        self.convex = tangents.objective.convex
        self.certifier = Certifier(tangents, polytope)
        self.smoothings = list(SMOOTHINGS) if tangents.kinked else [0.0]
        self.policy, self.occupancy = policy, polytope.occupancy(policy)
        self.constant, self.slope = tangents.at(self.occupancy, self.smoothings[0])
        self.step = 1.0 / max(1e-300, float(np.ptp(self.slope)))
        self.failures = 0
        self.near = np.inf  # how far the policy is from the optimum of the smoothed objective, at most
        self.best = Point(policy, self.occupancy, tangents.value(self.occupancy), np.nan, 0)

    @property
    def stuck(self) -> bool:
        """Whether no step is short enough any more."""
        return self.failures >= PATIENCE

    def advance(self) -> None:
        """One step, or none and a shorter one next time."""
        policy = self.polytope.softer(self.policy, self.slope, self.step)
        occupancy = self.polytope.occupancy(policy)
        way = occupancy - self.occupancy
        constant, slope = self.tangents.at(occupancy, self.smoothings[0])
        begin, end = float((self.slope * way).sum()), float((slope * way).sum())
        if begin >= 0.0 or end > -0.1 * begin:
            self.failures += 1 if begin < 0.0 else PATIENCE
            self.step *= 0.5
            return
        self.failures = 0
        self.step *= 1.5 if end < 0.5 * begin else 1.1
        self.policy, self.occupancy, self.constant, self.slope = policy, occupancy, constant, slope
        value = self.tangents.value(occupancy)
        if value < self.best.value:
            self.best = Point(policy, occupancy, value, np.nan, 0)

    def measure(self) -> float:
        """The gap of the best point, as far as it is known."""
        if not self.convex:
            return float("nan")
        bound = self.certifier.try_tangent(self.constant, self.slope)
        self.near = self.constant + float((self.slope * self.occupancy).sum()) - bound
        gap = self.best.value - self.certifier.bound
        self.best = self.best._replace(gap=gap)
        return gap

    def sharpen(self) -> bool:
        """Smooth less, if that is possible."""
        if len(self.smoothings) == 1:
            return False
        self.smoothings.pop(0)
        self.constant, self.slope = self.tangents.at(self.occupancy, self.smoothings[0])
        self.failures = 0
        self.step *= 8.0
        return True
