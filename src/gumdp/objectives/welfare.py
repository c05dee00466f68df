"""Utilities of totals that have a name: how much is much, and how even is fair.

All are to be maximised and grow with every total; as costs they are -u(z). The totals z [k] are those of
``gumdp.Features``.

Moulin (2003), "Fair division and collective welfare"; Weymark (1981), "Generalized Gini inequality indices";
Hayes and others (2022), "A practical guide to multi-objective reinforcement learning and planning".
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Dense
from gumdp.objectives.separable import SeparableSum
from gumdp.objectives.tables import number_table

TINY = 1e-12  # totals below are raised to this one where a slope has no bound at 0


class Welfare(Objective):
    """A utility of the totals that grows with each of them, to be maximised."""

    maximises = True
    increasing = True  # more of any total is never worse
    weights: Array | None  # [k]; None: all alike

    @abstractmethod
    def utility(self, z: Array) -> float:
        """u of the totals z [k]."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """A (super)gradient of u, [k]."""

    def value(self, d: Array) -> float:
        return -self.utility(d.ravel())

    def gradient(self, d: Array) -> Array | None:
        return -self.slope(d.ravel()).reshape(d.shape)

    def check_shape(self, shape: Shape) -> None:
        if self.weights is not None and shape != (1, self.weights.size):
            raise GumdpError(
                f"{type(self).__name__} is for {self.weights.size} totals, but the problem has "
                + (f"{shape[1]}." if shape[0] == 1 else "none: give it counts=Features(…).")
            )

    def _each(self, shape: Shape) -> Array:
        """A weight for each total."""
        return np.ones(shape[1]) if self.weights is None else self.weights


def _weights(name: str, values: ArrayLike | None, least: float = 0.0) -> Array | None:
    if values is None:
        return None
    table = number_table(f"{name}: weights", values)
    if table.ndim != 1:
        raise GumdpError(f"{name}: weights must have the shape [k], not {table.shape}.")
    if table.min() < least or table.max() <= 0.0:
        raise GumdpError(f"{name}: weights must not be negative, and not all 0.")
    return table


class WeightedSum(Welfare):
    """u(z) = Σ w_j·z_j: what adds up. Linear; Lipschitz constant max w.

    >>> import numpy as np
    >>> WeightedSum([1.0, 2.0]).utility(np.array([3.0, 4.0]))
    11.0
    """

    convex = True

    def __init__(self, weights: ArrayLike) -> None:
        self.weights = _weights("WeightedSum", weights)

    def __repr__(self) -> str:
        return f"WeightedSum({self._each((1, 0)).tolist()})"

    def utility(self, z: Array) -> float:
        return float(self._each((1, z.size)) @ z)

    def slope(self, z: Array) -> Array:
        return self._each((1, z.size)).copy()

    def lipschitz(self, shape: Shape) -> float:
        return float(self._each(shape).max())

    def record(self, shape: Shape) -> Any:
        return LeastRecord(self._each(shape), np.zeros(shape[1]), 1)

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum(costs=-self._each(shape)[None, :])

    def expression(self, d: Any) -> Any:
        return -(self._each(d.shape) @ d[0])


class Minimum(Welfare):
    """u(z) = min_j w_j·z_j: the poorest counts (Rawls's maximin). Concave; Lipschitz constant max w.

    >>> import numpy as np
    >>> Minimum([1.0, 0.5]).utility(np.array([3.0, 4.0]))  # a fish, two logs
    2.0
    """

    convex = True

    def __init__(self, weights: ArrayLike | None = None) -> None:
        self.weights = _weights("Minimum", weights)

    def __repr__(self) -> str:
        return f"Minimum({'' if self.weights is None else self.weights.tolist()})"

    def utility(self, z: Array) -> float:
        return float((self._each((1, z.size)) * z).min())

    def slope(self, z: Array) -> Array:
        weights = self._each((1, z.size))
        return np.where(np.arange(z.size) == int((weights * z).argmin()), weights, 0.0)

    def lipschitz(self, shape: Shape) -> float:
        return float(self._each(shape).max())

    def record(self, shape: Shape) -> Any:
        return LeastRecord(self._each(shape), np.zeros(shape[1]), 0)

    def expression(self, d: Any) -> Any:
        import cvxpy

        return -cvxpy.min(cvxpy.multiply(self._each(d.shape), d[0]))


class Chebyshev(Welfare):
    """u(z) = -max_j w_j·(ideal_j - z_j): no total far below its ideal. Concave; Lipschitz constant max w.

    >>> import numpy as np
    >>> Chebyshev([1.0, 1.0], ideal=[10.0, 5.0]).utility(np.array([4.0, 5.0]))
    -6.0
    """

    convex = True

    def __init__(self, weights: ArrayLike, ideal: ArrayLike) -> None:
        self.weights = _weights("Chebyshev", weights)
        self.ideal = number_table("Chebyshev: ideal", ideal)
        if self.ideal.shape != self._each((1, 0)).shape:
            raise GumdpError(
                f"Chebyshev: ideal must have one number for each weight, not the shape {self.ideal.shape}."
            )

    def __repr__(self) -> str:
        return f"Chebyshev({self._each((1, 0)).tolist()}, ideal={self.ideal.tolist()})"

    def utility(self, z: Array) -> float:
        return float((self._each((1, z.size)) * (z - self.ideal)).min())

    def slope(self, z: Array) -> Array:
        weights = self._each((1, z.size))
        return np.where(np.arange(z.size) == int((weights * (z - self.ideal)).argmin()), weights, 0.0)

    def lipschitz(self, shape: Shape) -> float:
        return float(self._each(shape).max())

    def record(self, shape: Shape) -> Any:
        return LeastRecord(self._each(shape), self.ideal, 0)

    def expression(self, d: Any) -> Any:
        import cvxpy

        return -cvxpy.min(cvxpy.multiply(self._each(d.shape), d[0] - self.ideal))


class Gini(Welfare):
    """u(z) = Σ w_j·z_(j), z_(1) the least total: the poorer, the more it counts (generalised Gini welfare).

    ``weights`` fall from the least total to the largest; by default ½, ¼, … Concave; Lipschitz constant max w.

    >>> import numpy as np
    >>> Gini().utility(np.array([4.0, 2.0]))
    2.0
    """

    convex = True

    def __init__(self, weights: ArrayLike | None = None) -> None:
        self.weights = _weights("Gini", weights)
        if self.weights is not None and (np.diff(self.weights) > 0.0).any():
            raise GumdpError("Gini: weights must fall, from that of the least total to that of the largest.")

    def __repr__(self) -> str:
        return f"Gini({'' if self.weights is None else self.weights.tolist()})"

    def _each(self, shape: Shape) -> Array:
        return np.asarray(0.5 ** np.arange(1, shape[1] + 1), float) if self.weights is None else self.weights

    def utility(self, z: Array) -> float:
        return float(self._each((1, z.size)) @ np.sort(z))

    def slope(self, z: Array) -> Array:
        slope = np.empty(z.size)
        slope[np.argsort(z, kind="stable")] = self._each((1, z.size))
        return slope

    def lipschitz(self, shape: Shape) -> float:
        return float(self._each(shape).max())

    def record(self, shape: Shape) -> Any:
        return SortedRecord(self._each(shape))

    def expression(self, d: Any) -> Any:
        import cvxpy

        drops = -np.diff(self._each(d.shape), append=0.0)  # Σ w_j·z_(j) = Σ (w_j - w_j+1)·(the sum of the j least)
        return -sum(drop * cvxpy.sum_smallest(d[0], k) for k, drop in enumerate(drops, 1) if drop > 0.0)


class PMean(Welfare):
    """u(z) = (Σ w_j·z_j^p)^(1/p) of totals that are not negative, the weights summing to 1; concave for p ≤ 1.

    p = 1 is the mean, 0 the geometric mean, -1 the harmonic one, and towards -∞ the least counts alone. What is below
    0 counts as 0, where nothing is concave. With p ≤ 0 it is 0 as soon as one total is, and there is no Lipschitz
    constant.

    >>> import numpy as np
    >>> PMean(-1.0).utility(np.array([1.0, 3.0]))
    1.5
    """

    signed = False

    def __init__(self, p: float, weights: ArrayLike | None = None) -> None:
        self.p = check_float("PMean: p", p, -1e3, 1e3)
        weights = _weights("PMean", weights)
        self.weights = None if weights is None else weights / weights.sum()

    def __repr__(self) -> str:
        return f"PMean({self.p:g})" if self.weights is None else f"PMean({self.p:g}, {self.weights.tolist()})"

    @property
    def convex(self) -> bool:
        return self.p <= 1.0

    def _each(self, shape: Shape) -> Array:
        return np.full(shape[1], 1.0 / shape[1]) if self.weights is None else self.weights

    def utility(self, z: Array) -> float:
        return -float(self.record((1, z.size)).value(z))

    def slope(self, z: Array) -> Array:
        z, weights = np.maximum(z, TINY), self._each((1, z.size))
        mean = self.utility(z)
        return np.asarray(weights * np.exp((1.0 - self.p) * (math.log(mean) - np.log(z))))

    def record(self, shape: Shape) -> Any:
        return PowerRecord(self.p, self._each(shape))


class Nash(PMean):
    """u(z) = (Π z_j)^(1/k), the geometric mean: Nash's welfare, best for all together. Concave.

    >>> import numpy as np
    >>> Nash().utility(np.array([2.0, 8.0]))
    4.0
    """

    def __init__(self) -> None:
        super().__init__(0.0)

    def __repr__(self) -> str:
        return "Nash()"


class CobbDouglas(Welfare):
    """u(z) = Π z_j^α_j of totals that are not negative, what is below 0 counting as 0. Concave where Σ α ≤ 1.

    >>> import numpy as np
    >>> CobbDouglas([0.5, 0.5]).utility(np.array([2.0, 8.0]))
    4.0
    """

    signed = False

    def __init__(self, exponents: ArrayLike) -> None:
        self.weights = _weights("CobbDouglas", exponents)
        self.size = float(self._each((1, 0)).sum())

    def __repr__(self) -> str:
        return f"CobbDouglas({self._each((1, 0)).tolist()})"

    @property
    def convex(self) -> bool:
        return self.size <= 1.0

    def utility(self, z: Array) -> float:
        return -float(self.record((1, z.size)).value(z))

    def slope(self, z: Array) -> Array:
        z = np.maximum(z, TINY)
        return np.asarray(self.utility(z) * self._each((1, z.size)) / z)

    def record(self, shape: Shape) -> Any:
        return ProductRecord(self._each(shape), self.size)


@record
class LeastRecord(Dense):
    """-min w·(z - ideal), or minus the sum."""

    factors: Any  # float64 [k]
    ideal: Any  # float64 [k]
    adding: int

    def value(self, d: Any) -> float:
        least, total = math.inf, 0.0
        for k in range(self.factors.size):
            x = self.factors[k] * (d[k] - self.ideal[k])
            least = min(least, x)
            total += x
        return float(-total if self.adding else -least)


@record
class SortedRecord(Dense):
    """Minus the weighted sum of the sorted totals; equal ones in any order."""

    factors: Any  # float64 [k]

    def value(self, d: Any) -> float:
        total, size = 0.0, self.factors.size
        for k in range(size):
            rank = 0
            for j in range(size):
                if d[j] < d[k] or (d[j] == d[k] and j < k):
                    rank += 1
            total += self.factors[rank] * d[k]
        return float(-total)


@record
class PowerRecord(Dense):
    """Minus the p-mean, from logarithms relative to the largest, so that no power overflows."""

    p: float
    factors: Any  # float64 [k], summing to 1

    def value(self, d: Any) -> float:
        least, most = math.inf, 0.0
        for k in range(self.factors.size):
            if self.factors[k] > 0.0:
                least, most = min(least, d[k]), max(most, d[k])
        if most <= 0.0 or (self.p <= 0.0 and least <= 0.0):
            return 0.0
        base = most if self.p > 0.0 else least
        total = 0.0
        for k in range(self.factors.size):
            if self.factors[k] > 0.0 and d[k] > 0.0:
                log = math.log(d[k] / base)
                total += self.factors[k] * (log if self.p == 0.0 else math.exp(self.p * log))
        return float(-base * (math.exp(total) if self.p == 0.0 else math.exp(math.log(total) / self.p)))


@record
class ProductRecord(Dense):
    """Minus the product of powers."""

    factors: Any  # float64 [k]
    size: float

    def value(self, d: Any) -> float:
        log = 0.0
        for k in range(self.factors.size):
            if self.factors[k] > 0.0:
                if d[k] <= 0.0:
                    return 0.0
                log += self.factors[k] * math.log(d[k])
        return float(-math.exp(min(log, 700.0)))
