"""One total for each unit of another: late hours per delivery, litres per kilometre."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, check_float
from gumdp.jit.record import record, u64
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.tables import cost_table, match


class Ratio(Objective):
    """f(d) = Σ costs·d / Σ per·d in this run; ``empty`` where the run has nothing to divide by.

    Args:
        costs: [S, A], what is to be small.
        per: [S, A], not negative: what it is divided by.
        empty: the value of a run with Σ per·d = 0.

    This is the ratio of one run, and its mean over runs is the mean of ratios. The ratio of means, which a linear
    program minimises, is another number: a run with few deliveries counts there for little, and here for as much as
    any other. A ratio of linear functions is quasi-convex and not convex, so solvers find local optima, and lower
    bounds by averaging do not hold; ``solve_exact`` is exact.

    >>> import numpy as np
    >>> Ratio([[1.0, 0.0]], per=[[1.0, 1.0]]).value(np.array([[0.25, 0.75]]))
    0.25
    """

    def __init__(self, costs: ArrayLike, per: ArrayLike, *, empty: float = 0.0) -> None:
        self.costs = cost_table("Ratio: costs", costs)
        self.per = cost_table("Ratio: per", per)
        self.empty = check_float("Ratio: empty", empty)
        if self.per.shape != self.costs.shape:
            raise GumdpError(f"Ratio: costs and per must have one shape, not {self.costs.shape} and {self.per.shape}.")
        if self.per.min() < 0.0 or not self.per.any():
            raise GumdpError("Ratio: per must have no negative entry, and at least one that is positive.")

    def __repr__(self) -> str:
        return f"Ratio(of shape {self.costs.shape})"

    def value(self, d: Array) -> float:
        below = float((self.per * d).sum())
        return float((self.costs * d).sum()) / below if below > 0.0 else self.empty

    def gradient(self, d: Array) -> Array:
        below = float((self.per * d).sum())
        if not below > 0.0:
            return np.zeros_like(self.costs)
        return np.asarray((self.costs - self.value(d) * self.per) / below)

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        free = self.per == 0.0
        if self.costs[free].any():  # as little as one likes to divide by
            return None
        each = self.costs[~free] / self.per[~free]
        if not free.any():
            return float(each.min()), float(each.max())
        return min(float(each.min()), self.empty), max(float(each.max()), self.empty)

    def check_shape(self, shape: Shape) -> None:
        match("Ratio: costs", self.costs, shape)

    def record(self, shape: Shape) -> Any:
        return RatioRecord(self.costs.ravel(), self.per.ravel(), self.empty)


@record
class RatioRecord(Separable):
    """One sum divided by another."""

    costs: Any  # float64 [S·A]
    per: Any  # float64 [S·A]
    empty: float

    def count(self) -> int:
        return 2

    def term(self, m: int, i: int, x: float) -> float:
        if i >= self.costs.size:
            return 0.0
        return float((self.costs[u64(i)] if m == 0 else self.per[u64(i)]) * x)

    def combine(self, z: Any, at: int) -> float:
        return float(z[at] / z[at + 1]) if z[at + 1] > 0.0 else self.empty

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return (self.rank(i, x, w, z, at) - self.combine(z, at)) / w

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        below = z[at + 1] + w * self.per[u64(i)]
        return float((z[at] + w * self.costs[u64(i)]) / below) if below > 0.0 else self.empty

    def tracks(self) -> bool:
        return True
