"""What every objective answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError

if TYPE_CHECKING:
    from gumdp.objectives.compose import Scaled, Sum

Array = NDArray[np.float64]
Shape = tuple[int, int]


class Objective(ABC):
    """A cost ``f`` of an occupancy ``d`` [S, A]; smaller is better.

    ``value`` is all that there must be. Whatever else is known makes more possible: a gradient lets the
    large-scale solver work, convexity gives lower bounds, a range normalises, a Lipschitz constant (in L1)
    bounds what truncating the horizon costs.
    """

    @property
    def convex(self) -> bool:
        """Whether f is convex on the simplex: False when that is not known."""
        return False

    @abstractmethod
    def value(self, d: Array) -> float:
        """f(d)."""

    def gradient(self, d: Array) -> Array | None:
        """A (sub)gradient of f at d, [S, A]; None when there is none to be had."""
        return None

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        """Numbers that f(d) lies between for every occupancy of this shape, or None."""
        return None

    def lipschitz(self, shape: Shape) -> float | None:
        """L with |f(d) - f(e)| ≤ L·‖d - e‖₁ for all occupancies of this shape, or None."""
        return None

    def expression(self, d: Any) -> Any:
        """f of a cvxpy expression d [S, A] as a cvxpy expression, or None."""
        return None

    def fit(self, shape: Shape) -> None:
        """Raise a ``GumdpError`` if the objective is not one for occupancies of this shape."""
        return None

    @abstractmethod
    def score(self, shape: Shape) -> Any:
        """The record that kernels call: see ``gumdp.kernels.scores``."""

    def __add__(self, other: object) -> Sum:
        from gumdp.objectives.compose import Sum

        if not isinstance(other, Objective):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, factor: object) -> Scaled:
        from gumdp.objectives.compose import Scaled

        if not isinstance(factor, (int, float, np.number)):
            return NotImplemented
        return Scaled(self, float(factor))

    __rmul__ = __mul__


def cost_table(name: str, costs: ArrayLike, ndim: int = 2) -> Array:
    """``costs`` as a read-only float array of ``ndim`` dimensions with finite entries."""
    try:
        table = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise GumdpError(f"{name} must be an array of numbers, not {type(costs).__name__}.") from None
    if table.ndim != ndim or table.size == 0:
        shape = {1: "[K]", 2: "[S, A]", 3: "[K, S, A]"}[ndim]
        raise GumdpError(f"{name} must have the shape {shape}, not {table.shape}.")
    if not np.isfinite(table).all():
        raise GumdpError(f"{name} has entries that are not finite.")
    table.flags.writeable = False
    return table


def distribution(name: str, target: ArrayLike) -> Array:
    """``target`` as a read-only occupancy [S, A], used as given: not negative, with the sum 1."""
    table = cost_table(name, target)
    if table.min() < 0.0:
        s, a = np.unravel_index(int(table.argmin()), table.shape)
        raise GumdpError(
            f"{name} must be an occupancy; its entry (s={s}, a={a}) is {table[s, a]:g}, which is negative."
        )
    if abs(table.sum() - 1.0) > 1e-8:
        raise GumdpError(f"{name} must be an occupancy; it sums to {table.sum():.12g} instead of 1: divide by its sum.")
    return table


def match(name: str, table: Array, shape: Shape) -> None:
    """Raise unless the last two dimensions of ``table`` are ``shape``."""
    if table.shape[-2:] != tuple(shape):
        raise GumdpError(f"{name} is for occupancies of shape {table.shape[-2:]}, but the model has shape {shape}.")
