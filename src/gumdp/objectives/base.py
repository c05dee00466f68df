"""What every objective answers.

============================  =========================================================================================
``value(d)``                  f(d): all that there must be
``gradient(d)``               a (sub)gradient, for first-order methods and local solutions
``convex``                    whether f is known to be convex: lower bounds by averaging, and optima that are global
``bounds(shape)``             between which numbers f lies: for normalising, and for bounds of any f
``lipschitz(shape)``          how fast f can change (above ``lipschitz_floor``): what truncating the horizon costs
``expression(d)``             f for cvxpy
``check_shape(shape)``        raises for a model of another shape
``record(shape)``             the compiled f that search keeps up to date: see ``gumdp.objectives.record``
``tangent(shape)``            compiled lower bounds that are linear in d: see ``gumdp.objectives.tangent``. They say too
                              where smoothing helps, what f measures of d, and whether it is a sum over the pairs
``separable(shape)``          f as a sum over linear statistics of d: see ``gumdp.objectives.separable``
``parts(shape)``              f as a weighted sum of other objectives
``exponential``               (β, g) where f = exp(β·g)
============================  =========================================================================================

Solvers and bounds ask; none of them looks at the type of an objective, so that those that users write can answer as
well as ours. The last four say what f *is*: a subclass with another value does not inherit them.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, describe, show
from gumdp.objectives.renamed import adopt_old_names, renamed

if TYPE_CHECKING:
    from gumdp.objectives.compose import Scaled, Sum
    from gumdp.objectives.separable import SeparableSum

Array = NDArray[np.float64]
Shape = tuple[int, int]
Parts = tuple[float, tuple[tuple[float, "Objective"], ...]]  # a shift, and (factor, objective) for each part
IDENTITY = ("tangent", "separable", "parts", "exponential")  # what says what f is


class Objective(ABC):
    """A cost ``f`` of an occupancy ``d`` [S, A]; smaller is better.

    ``value`` is all that there must be. Whatever else is known makes more possible: a gradient lets the
    large-scale solver work, convexity gives lower bounds, a range normalises, a Lipschitz constant (in L1)
    bounds what truncating the horizon costs, a record of the objective (``record``) makes search fast, and a
    ``tangent`` makes solvers and bounds so. ``gumdp.check_objective`` tests the answers against each other.

    >>> class Peak(Objective):
    ...     def value(self, d):
    ...         return d.max()
    >>> Peak()(np.array([[0.25, 0.75]]))
    0.75
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adopt_old_names(cls)
        for name in IDENTITY:
            if _outdated(cls, name):
                setattr(cls, name, vars(Objective)[name])

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

    def tangent(self, shape: Shape) -> Any:
        """A record of f's tangents: see ``gumdp.objectives.tangent``. None, and the gradient is called back, slowly."""
        return None

    def separable(self, shape: Shape) -> SeparableSum | None:
        """f as a sum over linear statistics of the occupancy, or None."""
        return None

    def parts(self, shape: Shape) -> Parts | None:
        """(shift, ((factor, g), …)) with f = shift + Σ factor·g, the factors positive; None if f is one thing."""
        return None

    @property
    def exponential(self) -> tuple[float, Objective] | None:
        """(β, g) with f = exp(β·g), β > 0, or None."""
        return None

    signed: bool = True  # whether it is as convex for totals below 0, which occupancies never are
    maximises: bool = False  # whether it is the negative of a utility: see ``gumdp.Utility``
    increasing: bool = False  # whether the utility is known to grow with every total
    label: str | None = None  # what results call it, as a part of a sum

    def named(self, label: str) -> Self:
        """The same objective under a name of its own, by which results know it as a part of a sum.

        >>> import gumdp
        >>> (gumdp.Linear([[0.0, 1.0]]).named("late") + gumdp.Entropy()).first.label
        'late'
        """
        if not isinstance(label, str) or not label.strip():
            raise GumdpError(f"the name of an objective must be a text, not {show(label)}.")
        twin = copy.copy(self)
        object.__setattr__(twin, "label", label)  # some are frozen
        return twin

    score, fit = renamed("score"), renamed("fit")

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


def _outdated(cls: type[Objective], name: str) -> bool:
    """Whether a class below the one that answers ``name`` changes the value, or what only the value reads."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    reads = {"value", *_reads(cls.value)} - _reads(vars(owner)[name])
    return any(reads & vars(base).keys() for base in cls.__mro__[: cls.__mro__.index(owner)])


def _reads(method: Any) -> set[str]:
    """The names of attributes and globals in a method's code."""
    code = getattr(getattr(method, "fget", method), "__code__", None)
    return set() if code is None else set(code.co_names)


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
