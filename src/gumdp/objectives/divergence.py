"""Do as the target does, and never what it never does: the relative entropy to a target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from gumdp.errors import check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.entropy import FLOOR, EntropyTangent
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tables import distribution, match

ROUNDING = 1e-12  # of the sum of a target


class KLImitation(Objective):
    """f(d) = KL(d‖q) = Σ d(s,a) log(d(s,a)/q(s,a)), q = (1 − ε)·target + ε/(S·A) with ε = ``floor``: 0 where d is q.

    Mixing in a little of the uniform distribution keeps f finite where the target is 0: a pair that the target
    never visits costs up to log(S·A/ε) when all the mass is there. (For ε = 1, f is log(S·A) + Σ d log d.)

    Bounds 0 and −log min q: f is convex, so largest on one pair, where it is −log q.
    Its slope log d + 1 − log q has no bound at d = 0, so there is a Lipschitz constant only where every entry of d is
    at least ε, as for ``Entropy``. There log d + 1 is in [log ε + 1, 1], which makes it the larger one of
    1 − log min q and |log ε + 1 − log max q|.

    >>> import numpy as np
    >>> round(KLImitation([[0.5, 0.5]]).value(np.array([[1.0, 0.0]])), 6)
    0.693147
    """

    convex = True
    signed = False

    def __init__(self, target: ArrayLike, floor: float = FLOOR) -> None:
        self.floor = check_float("KLImitation: floor", floor, 1e-300, 1.0)
        self.target = distribution("KLImitation: target", target)
        self.mixed = (1.0 - self.floor) * self.target + self.floor / self.target.size
        self.mixed.flags.writeable = False

    def __repr__(self) -> str:
        return f"KLImitation(target of shape {self.target.shape}, floor={self.floor:g})"

    def value(self, d: Array) -> float:
        return float(rel_entr(d, self.mixed).sum())

    def gradient(self, d: Array) -> Array:
        return np.log(np.maximum(d, 1e-300)) - np.log(self.mixed) + 1.0

    def bounds(self, shape: Shape) -> tuple[float, float]:
        above = math.log(self.mixed.sum())  # a target may sum to a little more than 1
        return -above if above > ROUNDING else 0.0, -math.log(self.mixed.min())

    def lipschitz(self, shape: Shape) -> float:
        least, most = math.log(self.mixed.min()), math.log(self.mixed.max())
        return max(1.0 - least, abs(math.log(self.floor) + 1.0 - most))

    @property
    def lipschitz_floor(self) -> float:
        return self.floor

    def expression(self, d: Any) -> Any:
        import cvxpy

        return cvxpy.sum(cvxpy.rel_entr(d, self.mixed))

    def check_shape(self, shape: Shape) -> None:
        match("KLImitation: target", self.target, shape)

    def record(self, shape: Shape) -> Any:
        return DivergenceRecord(np.log(self.mixed).ravel())

    def tangent(self, shape: Shape) -> Any:
        return EntropyTangent(np.log(self.mixed).ravel())

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum((Terms(of="pairs", entropy=1.0),), costs=-np.log(self.mixed))


@record
class DivergenceRecord(Separable):
    """The sum of x·(log x − log q)."""

    logs: Any  # float64 [S·A]: log q

    def term(self, m: int, i: int, x: float) -> float:
        return x * (math.log(x) - float(self.logs[i])) if x > 0.0 and i < self.logs.size else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return (self.term(0, i, x + w) - self.term(0, i, x)) / w
