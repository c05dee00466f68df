"""Stay within a budget with the greatest probability."""

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

TOLERANCE = 1e-12


class Target(Objective):
    """f(d) = 1 if c·d exceeds ``budget``, else 0: its expectation is the probability of missing the budget.

    Sums of floating-point numbers are off by a few units in the last place, so c·d counts as exceeding the budget
    only from budget + 1e-12·max(|budget|, max |c|) on.

    **Not convex**, and it jumps: there is no gradient and no Lipschitz constant. The marginal cost of a pair, for
    greedy rules, is its cost c, which is what brings the run closer to the budget.

    >>> import numpy as np
    >>> over = Target([[0.0, 1.0]], budget=0.5)
    >>> over.value(np.array([[0.5, 0.5]])), over.value(np.array([[0.4, 0.6]]))
    (0.0, 1.0)
    """

    def __init__(self, costs: ArrayLike, budget: float) -> None:
        self.costs = cost_table("Target: costs", costs)
        self.budget = check_float("Target: budget", budget, -LARGEST, LARGEST)
        self.limit = self.budget + TOLERANCE * max(abs(self.budget), float(np.abs(self.costs).max()))

    def __repr__(self) -> str:
        return f"Target(costs of shape {self.costs.shape}, budget={self.budget:g})"

    def value(self, d: Array) -> float:
        return 1.0 if float((self.costs * d).sum()) > self.limit else 0.0

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return 0.0, 1.0

    def check_shape(self, shape: Shape) -> None:
        match("Target: costs", self.costs, shape)

    def record(self, shape: Shape) -> Any:
        return TargetRecord(self.costs.ravel(), self.limit)

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum((Terms(of=self.costs.reshape(1, -1), jump=1.0, limit=self.limit),))


@record
class TargetRecord(Separable):
    """Whether the sum of c·x exceeds the limit."""

    costs: Any  # float64 [S·A]
    limit: float

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.costs[i] * x) if i < self.costs.size else 0.0

    def combine(self, z: Any, at: int) -> float:
        return 1.0 if z[at] > self.limit else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return float(self.costs[i])
