"""Quadratic objectives as kernels see them: squares of masses, or of linear measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.jit.record import record, u64
from gumdp.objectives.base import Array
from gumdp.objectives.record import Separable
from gumdp.objectives.tangent import PairTangent, Tangent, add_to, added


@record
class SquaresRecord(Separable):
    """Σ_m λ_m (v_m·x − k_m)². The price of a pair is its marginal cost, λ_m v_m(i) (2(v_m·x − k_m) + w·v_m(i))."""

    rows: Any  # float64 [M · S·A]: v
    targets: Any  # float64 [M]: k
    factors: Any  # float64 [M]: λ
    kinds: int  # M
    pairs: int  # S·A

    def count(self) -> int:
        return self.kinds

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.rows[u64(m) * u64(self.pairs) + u64(i)] * x) if i < self.pairs else 0.0

    def combine(self, z: Any, at: int) -> float:
        total = 0.0
        for m in range(self.kinds):
            gap = float(z[at + m] - self.targets[m])
            total += float(self.factors[m]) * (gap * gap)
        return total

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        total = 0.0
        for m in range(self.kinds):
            v = float(self.rows[u64(m) * u64(self.pairs) + u64(i)])
            total += float(self.factors[m]) * v * (2.0 * float(z[at + m] - self.targets[m]) + w * v)
        return total

    def tracks(self) -> bool:
        return True


@record
class DiagonalRecord(Separable):
    """Σ a·x² over the pairs."""

    weights: Any  # float64 [S·A]: a

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.weights[i] * (x * x)) if i < self.weights.size else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return float(self.weights[i] * (2.0 * x + w))


@record
class StateDiagonalRecord(Separable):
    """Σ a·x² over the masses of the states. All actions of a state have the same price."""

    weights: Any  # float64 [S]: a
    first: int  # the entry of the first state

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.weights[u64(i) - u64(self.first)] * (x * x)) if i >= self.first else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return 0.0

    def grouped(self) -> bool:
        return True


@record
class SquareTangent(PairTangent):
    """Σ a·(x - t)², a ≥ 0."""

    weights: Any  # float64 [S·A]: a
    target: Any  # float64 [S·A]: t

    def own(self, i: int, x: float) -> float:
        gap = x - self.target[i]
        return float(self.weights[i] * (gap * gap))

    def point(self, i: int, slope: float) -> float:
        return float(self.target[i] + 0.5 * slope / self.weights[i]) if self.weights[i] > 0.0 else 0.0

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        total = 0.0
        for i in range(d.size):
            g[i] += factor * 2.0 * self.weights[i] * (d[i] - self.target[i])
            total += self.weights[i] * (self.target[i] * self.target[i] - d[i] * d[i])
        return factor * total


@record
class MeasureTangent(Tangent):
    """Σ_m a_m·(v_m·x - k_m)², a ≥ 0."""

    rows: Any  # float64 [M, S·A]: v
    targets: Any  # float64 [M]: k
    factors: Any  # float64 [M]: a

    def value(self, d: Any) -> float:
        total = 0.0
        for m in range(self.targets.size):
            gap = added(-self.targets[m], self.rows[m], d)
            total += self.factors[m] * (gap * gap)
        return total

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        total = 0.0
        for m in range(self.targets.size):
            gap = added(-self.targets[m], self.rows[m], d)
            add_to(g, 2.0 * factor * self.factors[m] * gap, self.rows[m])
            total -= factor * self.factors[m] * gap * (gap + 2.0 * self.targets[m])
        return total

    def measures(self) -> tuple[Array, float]:
        furthest = np.abs(self.rows).max(axis=1) + np.abs(self.targets)
        return self.rows, float(2.0 * (self.factors * furthest).sum())
