"""What every objective answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError
from gumdp.objectives.tables import describe

if TYPE_CHECKING:
    from gumdp.objectives.compose import Scaled, Sum

Array = NDArray[np.float64]
Shape = tuple[int, int]


class Objective(ABC):
    """A cost ``f`` of an occupancy ``d`` [S, A]; smaller is better.

    ``value`` is all that there must be. Whatever else is known makes more possible: a gradient lets the
    large-scale solver work, convexity gives lower bounds, a range normalises, a Lipschitz constant (in L1)
    bounds what truncating the horizon costs, and a record of the objective (``record``) makes search fast.
    ``gumdp.check_objective`` tests the answers against each other.

    >>> class Peak(Objective):
    ...     def value(self, d):
    ...         return d.max()
    >>> Peak()(np.array([[0.25, 0.75]]))
    0.75
    """

    @property
    def convex(self) -> bool:
        """Whether f is convex on the simplex: False when that is not known."""
        return False

    @abstractmethod
    def value(self, d: Array) -> float:
        """f(d). Reads ``d`` and leaves it as it is."""

    def gradient(self, d: Array) -> Array | None:
        """A (sub)gradient of f at d, [S, A]; None when there is none to be had."""
        return None

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        """Numbers that f(d) lies between for every occupancy of this shape, or None."""
        return None

    def lipschitz(self, shape: Shape) -> float | None:
        """L with |f(d) - f(e)| ≤ L·‖d - e‖₁ for the occupancies of this shape above ``lipschitz_floor``, or None."""
        return None

    @property
    def lipschitz_floor(self) -> float:
        """The Lipschitz constant is meant for occupancies whose entries are all at least this: 0, for all of them."""
        return 0.0

    def expression(self, d: Any) -> Any:
        """f of a cvxpy expression d [S, A] as a cvxpy expression, or None."""
        return None

    def check_shape(self, shape: Shape) -> None:
        """Raise a ``GumdpError`` if the objective is not one for occupancies of this shape."""
        return

    def record(self, shape: Shape) -> Any:
        """The record that kernels call: see ``gumdp.objectives.record``. By default it calls ``value`` back, slowly."""
        from gumdp.objectives.interpreted import interpreted

        return interpreted(self, shape, "it has no record for kernels")

    def __call__(self, d: Array) -> float:
        """f(d) as one finite float, or a ``GumdpError`` that says what came instead."""
        try:
            result = self.value(d)
        except GumdpError:
            raise
        except Exception as error:
            raise GumdpError(f"the objective {self!r} failed with {type(error).__name__}: {error}") from error
        return one_number(repr(self), result)

    def __add__(self, other: object) -> Sum:
        from gumdp.objectives.compose import Sum

        return Sum(self, other) if isinstance(other, Objective) or callable(other) else NotImplemented

    def __radd__(self, other: object) -> Objective:
        from gumdp.objectives.compose import Sum

        if isinstance(other, int) and other == 0:  # sum(objectives) starts there
            return self
        return Sum(other, self) if callable(other) else NotImplemented

    def __mul__(self, factor: Any) -> Scaled:
        from gumdp.objectives.compose import Scaled

        return Scaled(self, factor) if isinstance(factor, (int, float, np.number)) else NotImplemented

    __rmul__ = __mul__
    __array_ufunc__ = None  # NumPy's numbers leave + and * to us


def one_number(name: str, result: Any) -> float:
    """``result`` as a finite float, or the error that an objective which returned it deserves."""
    kinds = (int, float, np.number, np.bool_, np.ndarray)
    try:
        if not isinstance(result, kinds) or np.ndim(result) != 0 or np.iscomplexobj(result):
            raise TypeError
        number = float(result)
    except (TypeError, ValueError, OverflowError):
        raise GumdpError(f"the objective {name} must return one number, not {describe(result)}.") from None
    if not np.isfinite(number):
        raise GumdpError(f"the objective {name} is {number}; it must be finite at every occupancy.")
    return number
