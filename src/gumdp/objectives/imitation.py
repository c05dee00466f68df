"""Do as the target does: the squared distance to an occupancy that somebody else produced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.squares import SquareTangent
from gumdp.objectives.tables import distribution, match


class Imitation(Objective):
    """f(d) = ‖d − target‖² = Σ (d(s,a) − target(s,a))²: 0 when the run is distributed as the target is.

    ``target`` is an occupancy [S, A]: not negative, with the sum 1 (within 1e-8; it is used as given).

    Bounds (0, 2): the vectors have no negative entries, so ‖d − t‖² ≤ ‖d‖² + ‖t‖² ≤ 2. Lipschitz constant 4, as in the
    paper's appendix A: every entry of the gradient 2(d − t) is at most 2 in size, and 4 is safe. Half of it would do:
    f(d) − f(e) = (d − e)·(d + e − 2t), d − e sums to 0, and the entries of d + e − 2t lie in [−2, 2],
    so |f(d) − f(e)| ≤ ½·‖d − e‖₁·(2 − (−2)) = 2·‖d − e‖₁.

    >>> import numpy as np
    >>> Imitation([[1.0, 0.0]]).value(np.array([[0.5, 0.5]]))
    0.5
    """

    convex = True

    def __init__(self, target: ArrayLike) -> None:
        self.target = distribution("Imitation: target", target)

    def __repr__(self) -> str:
        return f"Imitation(target of shape {self.target.shape})"

    def value(self, d: Array) -> float:
        return float(((d - self.target) ** 2).sum())

    def gradient(self, d: Array) -> Array:
        return 2.0 * (d - self.target)

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return 0.0, 2.0

    def lipschitz(self, shape: Shape) -> float:
        return 4.0

    def expression(self, d: Any) -> Any:
        import cvxpy

        return cvxpy.sum_squares(d - self.target)

    def check_shape(self, shape: Shape) -> None:
        match("Imitation: target", self.target, shape)

    def record(self, shape: Shape) -> Any:
        return ImitationRecord(self.target.ravel())

    def tangent(self, shape: Shape) -> Any:
        return SquareTangent(np.ones(self.target.size), self.target.ravel())

    def separable(self, shape: Shape) -> SeparableSum:
        constant = float((self.target**2).sum())
        return SeparableSum((Terms(of="pairs", square=1.0),), -2.0 * self.target, constant)


@record
class ImitationRecord(Separable):
    """The sum of (x − t)². What a pair still lacks ranks it: more mass w there costs w·(2(x − t) + w)."""

    target: Any  # float64 [S·A]

    def term(self, m: int, i: int, x: float) -> float:
        if i >= self.target.size:
            return 0.0
        gap = float(x - self.target[i])
        return gap * gap

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return 2.0 * float(x - self.target[i]) + w

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return float(x - self.target[i])
