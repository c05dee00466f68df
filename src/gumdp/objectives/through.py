"""An objective of totals as one of occupancies: f(Φ·d), where what a step adds depends on its pair alone.

That is how solvers and bounds for occupancies take problems that count features: f is convex in d where it is convex
in the totals, and its tangent has the slope g·Φ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.constrained import Constrained
from gumdp.objectives.linear import Linear
from gumdp.objectives.record import ObjectiveRecord, Separable, whole_value
from gumdp.objectives.tail import CVaR
from gumdp.objectives.tangent import Tangent, add_to, added
from gumdp.objectives.utility import Utility
from gumdp.objectives.welfare import Welfare
from gumdp.objectives.worst_case import WorstCase


class Through(Objective):
    """f(rows·d) for rows [k, S·A]; ``low`` and ``high`` [k] are what the totals lie between."""

    def __init__(self, inner: Objective, rows: Array, low: Array, high: Array) -> None:
        self.inner, self.rows = inner, np.ascontiguousarray(rows)
        self.low, self.high = low, high
        self.maximises = inner.maximises

    def __repr__(self) -> str:
        return f"{self.inner!r} of {len(self.rows)} totals"

    @property
    def convex(self) -> bool:
        return self.inner.convex and (self.inner.signed or bool(self.low.min() >= 0.0))

    @property
    def _totals(self) -> Shape:
        return 1, len(self.rows)

    def value(self, d: Array) -> float:
        return self.inner.value((self.rows @ d.ravel())[None, :])

    def gradient(self, d: Array) -> Array | None:
        slope = self.inner.gradient((self.rows @ d.ravel())[None, :])
        return None if slope is None else np.asarray(slope.ravel() @ self.rows).reshape(d.shape)

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        if isinstance(self.inner, Utility) and (ends := self.inner.bounds(self._totals)) is not None:
            return ends  # what others say of themselves holds for shares that sum to 1
        if not self.inner.increasing:
            return None
        return self.inner.value(self.high[None, :]), self.inner.value(self.low[None, :])

    def lipschitz(self, shape: Shape) -> float | None:
        constant = steepness_of(self.inner, self._totals)
        return None if constant is None else constant * float(np.abs(self.rows).sum(axis=0).max())

    def expression(self, d: Any) -> Any:
        import cvxpy

        z = self.rows @ cvxpy.vec(d, order="C")
        return self.inner.expression(cvxpy.reshape(z, self._totals, order="C"))

    def record(self, shape: Shape) -> Any:
        return ThroughRecord(self.inner.record(self._totals), self.rows.ravel(), *self.rows.shape)

    def tangent(self, shape: Shape) -> Any:
        made, kinds = self.inner.tangent(self._totals), len(self.rows)
        return None if made is None else ThroughTangent(made, self.rows, np.zeros(kinds), np.zeros(kinds))


def steepness_of(objective: Objective, shape: Shape) -> float | None:
    """By how much an objective of totals changes at most when one of them changes by 1, or None.

    Not every objective's Lipschitz constant will do: some hold only for shares that sum to 1.
    """
    if isinstance(objective, CVaR):
        inner = steepness_of(objective.inner, shape)
        return None if inner is None else objective.steepness * inner
    if isinstance(objective, Utility | Welfare | Linear | WorstCase | Constrained):
        return objective.lipschitz(shape)
    if (parts := objective.parts(shape)) is None:
        return None
    each = [(factor, steepness_of(part, shape)) for factor, part in parts[1]]
    return None if any(x is None for _, x in each) else sum(factor * x for factor, x in each if x is not None)


@record
class ThroughRecord(Separable):
    """The totals are the statistics."""

    inner: ObjectiveRecord
    rows: Any  # float64 [k · S·A]
    kinds: int
    pairs: int

    def count(self) -> int:
        return self.kinds

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.rows[m * self.pairs + i] * x)

    def combine(self, z: Any, at: int) -> float:
        return float(whole_value(self.inner, z[at : at + self.kinds]))

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return 0.0  # searches ask the totals themselves


@record
class ThroughTangent(Tangent):
    """f(Φ·d) ≥ constant + g·Φ·d, where f has the tangent (constant, g) at Φ·d."""

    inner: Any
    rows: Any  # float64 [k, S·A]
    z: Any  # float64 [k]: scratch
    g: Any  # float64 [k]: scratch

    def value(self, d: Any) -> float:
        for k in range(self.z.size):
            self.z[k] = added(0.0, self.rows[k], d)
        return float(self.inner.value(self.z))

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        for k in range(self.z.size):
            self.z[k] = added(0.0, self.rows[k], d)
            self.g[k] = 0.0
        constant = self.inner.tangent(self.z, self.g, factor, smoothing)
        for k in range(self.z.size):
            add_to(g, self.g[k], self.rows[k])
        return float(constant)

    def kinked(self) -> bool:
        return bool(self.inner.kinked())
