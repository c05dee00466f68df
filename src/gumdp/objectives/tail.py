"""The worst outcomes as the goal: their mean (CVaR), or the chance of breaking a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.compose import Wrapper
from gumdp.objectives.record import ObjectiveRecord, Wrapping
from gumdp.statistics import allowed


class CVaR(Wrapper):
    """The mean of the worst share 1 - level of the outcomes f: min over t of t + E[max(0, f - t)] / (1 - level).

    Rockafellar and Uryasev (2000), "Optimization of conditional value-at-risk". With its ``threshold`` t given this is
    a cost of each run, t + max(0, f(d) - t)/(1 - level), whose mean is the risk at the best t and never below it.
    Without, ``solve_exact`` finds the best t, and ``fit_threshold`` the best for a planner. Convex where f is.
    """

    def __init__(self, inner: Any, level: float, threshold: float | None = None) -> None:
        super().__init__(inner)
        self.level = check_float("cvar: level", level, 0.0, 1.0)
        if self.level == 1.0:
            raise GumdpError("cvar: level must be below 1; the worst case alone is WorstCase's.")
        self.threshold = None if threshold is None else check_float("cvar: threshold", threshold)
        self.steepness = 1.0 / (1.0 - self.level)

    def __repr__(self) -> str:
        at = "" if self.threshold is None else f", threshold={self.threshold:g}"
        return f"cvar({self.inner!r}, {self.level:g}{at})"

    def at(self, threshold: float) -> CVaR:
        """The same with this threshold."""
        return CVaR(self.inner, self.level, threshold)

    def value(self, d: Array) -> float:
        f = self.inner.value(d)
        return f if self.threshold is None else self.threshold + self.steepness * max(0.0, f - self.threshold)

    def gradient(self, d: Array) -> Array | None:
        slope = self.inner.gradient(d)
        if slope is None or self.threshold is None:
            return None
        return np.asarray(self.steepness * slope if self.inner.value(d) > self.threshold else 0.0 * slope)

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        ends, t = self.inner.bounds(shape), self.threshold
        if ends is None or t is None:
            return ends
        return t + self.steepness * max(0.0, ends[0] - t), t + self.steepness * max(0.0, ends[1] - t)

    def lipschitz(self, shape: Shape) -> float | None:
        constant = self.inner.lipschitz(shape)
        return None if constant is None else self.steepness * constant

    def record(self, shape: Shape) -> Any:
        if self.threshold is None:
            raise GumdpError(
                "cvar: planning needs a threshold; problem = gumdp.fit_threshold(problem, planner) finds one, or say "
                "cvar(f, level, threshold=…)."
            )
        return ExcessRecord(self.inner.record(shape), self.threshold, self.steepness)


def cvar(objective: Objective | Callable[[Array], float], level: float, threshold: float | None = None) -> CVaR:
    """The mean of the worst share 1 - ``level`` of the outcomes of ``objective``, to be minimised.

    >>> import numpy as np, gumdp
    >>> f = gumdp.cvar(gumdp.Linear([[0.0, 1.0]]), 0.5, threshold=0.25)
    >>> f.value(np.array([[0.5, 0.5]]))
    0.75
    """
    return CVaR(objective, level, threshold)


class Chance(Wrapper):
    """1 where f(d) exceeds ``limit``, else 0: its mean is the probability of breaking the limit.

    Sums of floating-point numbers are off by a few units in the last place, so f(d) counts as exceeding the limit only
    from limit + 1e-12·max(1, |limit|) on.

    It jumps: no gradient, no Lipschitz constant, not convex. Greedy rules follow what f itself costs.

    >>> import numpy as np, gumdp
    >>> risk = gumdp.Chance(gumdp.Linear([[0.0, 1.0]]), limit=0.5)
    >>> risk.value(np.array([[0.5, 0.5]])), risk.value(np.array([[0.4, 0.6]]))
    (0.0, 1.0)
    """

    def __init__(self, inner: Any, limit: float) -> None:
        super().__init__(inner)
        self.limit = check_float("Chance: limit", limit)

    def __repr__(self) -> str:
        return f"Chance({self.inner!r}, {self.limit:g})"

    @property
    def convex(self) -> bool:
        return False

    def value(self, d: Array) -> float:
        return 1.0 if self.inner.value(d) > allowed(self.limit) else 0.0

    def bounds(self, shape: Shape) -> tuple[float, float]:
        return 0.0, 1.0

    def record(self, shape: Shape) -> Any:
        return BreakRecord(self.inner.record(shape), allowed(self.limit))


@record
class ExcessRecord(Wrapping):
    """t + max(0, f - t)/(1 - level)."""

    inner: ObjectiveRecord
    threshold: float
    steepness: float

    def combine(self, z: Any, at: int) -> float:
        return self.threshold + self.steepness * max(0.0, self.inner.combine(z, at) - self.threshold)

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.inner.price(i, x, w, z, at)

    def value(self, d: Any) -> float:
        return self.threshold + self.steepness * max(0.0, self.inner.value(d) - self.threshold)


@record
class BreakRecord(Wrapping):
    """Whether f exceeds the limit."""

    inner: ObjectiveRecord
    limit: float

    def combine(self, z: Any, at: int) -> float:
        return 1.0 if self.inner.combine(z, at) > self.limit else 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.inner.price(i, x, w, z, at)

    def value(self, d: Any) -> float:
        return 1.0 if self.inner.value(d) > self.limit else 0.0
