"""The ordinary MDP: a cost for each pair, added up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum
from gumdp.objectives.tables import cost_table, match
from gumdp.objectives.tangent import Tangent, add_to, added


class Linear(Objective):
    """f(d) = Σ c(s,a) d(s,a). Lipschitz constant: max |c|.

    >>> import numpy as np
    >>> Linear([[0.0, 1.0]]).value(np.array([[0.25, 0.75]]))
    0.75
    """

    convex = True

    def __init__(self, costs: ArrayLike) -> None:
        self.costs = cost_table("Linear: costs", costs)

    def __repr__(self) -> str:
        return f"Linear(costs of shape {self.costs.shape})"

    def value(self, d: Array) -> float:
        return float((self.costs * d).sum())

    def gradient(self, d: Array) -> Array:
        return self.costs.copy()

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return float(self.costs.min()), float(self.costs.max())

    def lipschitz(self, shape: Shape) -> float:
        return float(np.abs(self.costs).max())

    def expression(self, d: Any) -> Any:
        import cvxpy

        return cvxpy.sum(cvxpy.multiply(self.costs, d))

    def check_shape(self, shape: Shape) -> None:
        match("Linear: costs", self.costs, shape)

    def record(self, shape: Shape) -> Any:
        return LinearRecord(self.costs.ravel())

    def tangent(self, shape: Shape) -> Any:
        return LinearTangent(self.costs.ravel())

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum(costs=self.costs)


@record
class LinearRecord(Separable):
    """The sum of c·x."""

    costs: Any  # float64 [S·A]

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.costs[i] * x) if i < self.costs.size else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return float(self.costs[i])


@record
class LinearTangent(Tangent):
    """c·d, its own tangent."""

    costs: Any  # float64 [S·A]

    def value(self, d: Any) -> float:
        return float(added(0.0, self.costs, d))

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        add_to(g, factor, self.costs)
        return 0.0

    def measures(self) -> tuple[Array, float]:
        return self.costs[None, :], 1.0
