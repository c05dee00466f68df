"""Explore evenly: negative entropies of the occupancy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from gumdp.errors import check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tangent import LEAST, PairTangent, Tangent, summed

FLOOR = 1e-6


@dataclass(frozen=True)
class _Floored(Objective):
    """The slope of x·log x has no bound at 0: a Lipschitz constant needs masses of at least ``floor``."""

    floor: float = FLOOR
    convex = True
    signed = False

    def __post_init__(self) -> None:
        check_float(f"{type(self).__name__}: floor", self.floor, 1e-300, math.exp(-2))

    def lipschitz(self, shape: Shape) -> float:
        return abs(math.log(self.floor) + 1.0)

    @property
    def lipschitz_floor(self) -> float:
        return self.floor


@dataclass(frozen=True)
class Entropy(_Floored):
    """f(d) = Σ d(s,a) log d(s,a), with 0·log 0 = 0: least when every pair gets the same share.

    The slope of x·log x has no bound at 0, so there is a Lipschitz constant only where every entry is at least
    ``floor`` (the ε of the paper's appendix A, below e⁻²): there it is |log ε + 1|.

    >>> import numpy as np
    >>> round(Entropy().value(np.full((3, 2), 1 / 6)), 6)
    -1.791759
    """

    def value(self, d: Array) -> float:
        return float(xlogy(d, d).sum())

    def gradient(self, d: Array) -> Array:
        return np.log(np.maximum(d, 1e-300)) + 1.0

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return -math.log(shape[0] * shape[1]), 0.0

    def expression(self, d: Any) -> Any:
        import cvxpy

        return -cvxpy.sum(cvxpy.entr(d))

    def record(self, shape: Shape) -> Any:
        return EntropyRecord(shape[0] * shape[1])

    def tangent(self, shape: Shape) -> Any:
        return EntropyTangent(np.zeros(shape[0] * shape[1]))

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum((Terms(of="pairs", entropy=1.0),))


@dataclass(frozen=True)
class StateEntropy(_Floored):
    """f(d) = Σ_s d(s) log d(s) with d(s) = Σ_a d(s,a): least when every state gets the same share.

    The Lipschitz constant holds where every state has at least the mass ``floor``, as for ``Entropy``:
    summing over actions does not increase an L1 distance.

    >>> import numpy as np
    >>> round(StateEntropy().value(np.array([[0.5, 0.0], [0.2, 0.3]])), 6)
    -0.693147
    """

    def value(self, d: Array) -> float:
        mass = d.sum(axis=1)
        return float(xlogy(mass, mass).sum())

    def gradient(self, d: Array) -> Array:
        slope = np.log(np.maximum(d.sum(axis=1, keepdims=True), 1e-300)) + 1.0
        return np.broadcast_to(slope, d.shape).copy()

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return -math.log(shape[0]), 0.0

    def expression(self, d: Any) -> Any:
        import cvxpy

        return -cvxpy.sum(cvxpy.entr(cvxpy.sum(d, axis=1)))

    def record(self, shape: Shape) -> Any:
        return StateEntropyRecord(shape[0] * shape[1])

    def tangent(self, shape: Shape) -> Any:
        return StateEntropyTangent(shape[1])

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum((Terms(of="states", entropy=1.0),))


@record
class EntropyRecord(Separable):
    """The sum of x·log x over the pairs."""

    last: int

    def term(self, m: int, i: int, x: float) -> float:
        return x * math.log(x) if x > 0.0 and i < self.last else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return (self.term(0, i, x + w) - self.term(0, i, x)) / w

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return x


@record
class StateEntropyRecord(Separable):
    """The sum of x·log x over the masses of the states. All actions of a state have the same price."""

    first: int

    def term(self, m: int, i: int, x: float) -> float:
        return x * math.log(x) if x > 0.0 and i >= self.first else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return 0.0

    def grouped(self) -> bool:
        return True


@record
class EntropyTangent(PairTangent):
    """Σ x·(log x - log q): x·log x ≥ x·(log m + 1) - m for every m > 0."""

    logs: Any  # float64 [S·A]: log q, zeros for the entropy

    def own(self, i: int, x: float) -> float:
        return x * (math.log(x) - float(self.logs[i])) if x > 0.0 else 0.0

    def point(self, i: int, slope: float) -> float:
        return math.exp(slope - 1.0 + self.logs[i])

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        total = 0.0
        for i in range(d.size):
            m = max(d[i], LEAST)
            g[i] += factor * (math.log(m) + 1.0 - self.logs[i])
            total += m
        return -factor * total


@record
class StateEntropyTangent(Tangent):
    """Σ x·log x over the masses of the states."""

    actions: int

    def value(self, d: Any) -> float:
        total = 0.0
        for first in range(0, d.size, self.actions):
            m = summed(d, first, self.actions)
            if m > 0.0:
                total += m * math.log(m)
        return total

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        total = 0.0
        for first in range(0, d.size, self.actions):
            m = max(summed(d, first, self.actions), LEAST)
            slope = factor * (math.log(m) + 1.0)
            for i in range(first, first + self.actions):
                g[i] += slope
            total += m
        return -factor * total
