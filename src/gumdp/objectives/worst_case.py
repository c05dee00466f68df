"""Prepare for the worst: the largest of several costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.jit.record import record, u64
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tables import cost_table, match
from gumdp.objectives.tangent import Tangent, add_to, added


class WorstCase(Objective):
    """f(d) = max_k Σ c_k(s,a) d(s,a): an adversary who saw the whole run picks the cost. ``costs`` is [K, S, A].

    Bounds: f ≤ max c, reached on one pair; and f ≥ max_k min c_k, as no c_k·d is less than min c_k.
    Lipschitz constant max |c|: |max_k x_k − max_k y_k| ≤ max_k |x_k − y_k|, and each c_k·d has it.
    The gradient is the cost that is largest at d, the first of several.

    >>> import numpy as np
    >>> WorstCase([[[0.0, 1.0]], [[1.0, 0.0]]]).value(np.array([[0.25, 0.75]]))
    0.75
    """

    convex = True

    def __init__(self, costs: ArrayLike) -> None:
        self.costs = cost_table("WorstCase: costs", costs, ndim=3)

    def __repr__(self) -> str:
        return f"WorstCase(costs of shape {self.costs.shape})"

    def value(self, d: Array) -> float:
        return float(self._each(d).max())

    def gradient(self, d: Array) -> Array:
        return np.asarray(self.costs[int(self._each(d).argmax())].copy())

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return float(self.costs.min(axis=(1, 2)).max()), float(self.costs.max())

    def lipschitz(self, shape: Shape) -> float:
        return float(np.abs(self.costs).max())

    def expression(self, d: Any) -> Any:
        import cvxpy

        return cvxpy.max(self.costs.reshape(len(self.costs), -1) @ cvxpy.vec(d, order="C"))

    def check_shape(self, shape: Shape) -> None:
        match("WorstCase: costs", self.costs, shape)

    def record(self, shape: Shape) -> Any:
        return WorstCaseRecord(self.costs.ravel(), len(self.costs), shape[0] * shape[1])

    def tangent(self, shape: Shape) -> Any:
        return LargestTangent(self.costs.reshape(len(self.costs), -1), float(np.ptp(self.costs)))

    def separable(self, shape: Shape) -> SeparableSum | None:
        if len(self.costs) != 2:
            return None
        apart = (self.costs[0] - self.costs[1]).reshape(1, -1)  # max(y, z) = z + max(0, y - z)
        return SeparableSum((Terms(of=apart, hinge=1.0),), self.costs[1])

    def _each(self, d: Array) -> Array:
        return np.asarray((self.costs * d).sum(axis=(1, 2)))


@record
class WorstCaseRecord(Separable):
    """The largest of K sums of c·x. The price of a pair is what the largest would grow by."""

    costs: Any  # float64 [K · S·A]
    kinds: int  # K
    pairs: int  # S·A

    def count(self) -> int:
        return self.kinds

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.costs[u64(m) * u64(self.pairs) + u64(i)] * x) if i < self.pairs else 0.0

    def combine(self, z: Any, at: int) -> float:
        most = float(z[at])
        for k in range(1, self.kinds):
            most = max(most, float(z[at + k]))
        return most

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return (self.rank(i, x, w, z, at) - self.combine(z, at)) / w

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        most = float(z[at] + w * self.costs[u64(i)])
        for k in range(1, self.kinds):
            most = max(most, float(z[at + k] + w * self.costs[u64(k) * u64(self.pairs) + u64(i)]))
        return most

    def tracks(self) -> bool:
        return True


@record
class LargestTangent(Tangent):
    """max_k c_k·d: any mean of the costs is a lower bound. Smoothed, those near the largest share in it."""

    rows: Any  # float64 [K, S·A]: c
    span: float  # of the costs

    def value(self, d: Any) -> float:
        most = -math.inf
        for k in range(self.rows.shape[0]):
            most = max(most, added(0.0, self.rows[k], d))
        return most

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        most, best, width = -math.inf, 0, smoothing * self.span
        for k in range(self.rows.shape[0]):
            total = added(0.0, self.rows[k], d)
            if total > most:
                most, best = total, k
        if not width > 0.0:
            add_to(g, factor, self.rows[best])
            return 0.0
        share = 0.0
        for k in range(self.rows.shape[0]):
            share += math.exp(added(-most, self.rows[k], d) / width)
        for k in range(self.rows.shape[0]):
            add_to(g, factor * math.exp(added(-most, self.rows[k], d) / width) / share, self.rows[k])
        return 0.0

    def kinked(self) -> bool:
        return True

    def measures(self) -> tuple[Array, float]:
        return self.rows, 1.0
