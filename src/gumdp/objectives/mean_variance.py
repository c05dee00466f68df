"""Cheap and steady: the mean of a cost within the run, and its variance there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tables import LARGEST, cost_table, match


class MeanVariance(Objective):
    """f(d) = c·d + λ·(Σ c² d − (c·d)²): what a step of this run costs, and λ = ``weight`` times how much that varies.

    **Not convex** for λ > 0 (−(c·d)² is concave): no lower bound by averaging, and no convex programme, applies.
    The variance doesn't change when c is shifted, and is computed with the costs centred, where rounding is least.

    Bounds, with l = min c and u = max c: the least value is l, on one pair; a cost in [l, u] with mean m varies by at
    most (m − l)(u − m), so the greatest is that of m + λ(m − l)(u − m) over m in [l, u].
    Lipschitz constant ½·((u − l) + λ·(u − l)²): f(d) − f(e) = Σ (d − e)·g with g = c + λ·((c − μ)² − μ²) and μ the
    mean of c·d and c·e; d − e sums to 0, so half the spread of g counts, and (c − μ)² is in [0, (u − l)²].

    >>> import numpy as np
    >>> MeanVariance([[0.0, 2.0]], weight=0.5).value(np.array([[0.5, 0.5]]))
    1.5
    """

    def __init__(self, costs: ArrayLike, weight: float) -> None:
        self.costs = cost_table("MeanVariance: costs", costs)
        self.weight = check_float("MeanVariance: weight", weight, 0.0, LARGEST)
        self._centred = self.costs - 0.5 * (self.costs.min() + self.costs.max())

    def __repr__(self) -> str:
        return f"MeanVariance(costs of shape {self.costs.shape}, weight={self.weight:g})"

    @property
    def convex(self) -> bool:
        return self.weight == 0.0

    def value(self, d: Array) -> float:
        mean = (self._centred * d).sum()
        return float((self.costs * d).sum() + self.weight * ((self._centred**2 * d).sum() - mean * mean))

    def gradient(self, d: Array) -> Array:
        mean = (self._centred * d).sum()
        return np.asarray(self.costs + self.weight * (self._centred**2 - 2.0 * mean * self._centred))

    def bounds(self, shape: Shape) -> tuple[float, float]:
        low, spread = float(self.costs.min()), float(np.ptp(self.costs))
        above = spread  # m − l where f is greatest
        if self.weight > 0.0:
            above = min(spread, 0.5 * (spread + 1.0 / self.weight))
        return low, low + above + self.weight * above * (spread - above)

    def lipschitz(self, shape: Shape) -> float:
        spread = float(np.ptp(self.costs))
        return 0.5 * (spread + self.weight * spread * spread)

    def expression(self, d: Any) -> Any:
        import cvxpy

        return cvxpy.sum(cvxpy.multiply(self.costs, d)) if self.convex else None

    def check_shape(self, shape: Shape) -> None:
        match("MeanVariance: costs", self.costs, shape)

    def record(self, shape: Shape) -> Any:
        return MeanVarianceRecord(self.costs.ravel(), self._centred.ravel(), self.weight)

    def separable(self, shape: Shape) -> SeparableSum:
        squared_mean = Terms(of=self._centred.reshape(1, -1), square=-self.weight)
        return SeparableSum((squared_mean,), self.costs + self.weight * self._centred**2)


@record
class MeanVarianceRecord(Separable):
    """Σ (c + λ·b²)·x − λ·(Σ b·x)², b the centred costs."""

    costs: Any  # float64 [S·A]: c
    centred: Any  # float64 [S·A]: b
    weight: float  # λ

    def count(self) -> int:
        return 2

    def term(self, m: int, i: int, x: float) -> float:
        if i >= self.costs.size:
            return 0.0
        b = float(self.centred[i])
        return (float(self.costs[i]) + self.weight * (b * b)) * x if m == 0 else b * x

    def combine(self, z: Any, at: int) -> float:
        mean = float(z[at + 1])
        return float(z[at]) - self.weight * (mean * mean)

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        b = float(self.centred[i])
        return float(self.costs[i]) + self.weight * (b * b - b * (2.0 * float(z[at + 1]) + w * b))

    def tracks(self) -> bool:
        return True
