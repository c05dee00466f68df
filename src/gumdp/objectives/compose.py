"""Objectives made of others: sums, positive multiples, normalisation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Parts, Shape
from gumdp.objectives.function import as_objective
from gumdp.objectives.record import Dense, ObjectiveRecord, Separable, Wrapping, summed_value
from gumdp.objectives.tangent import Tangent, tangent_of


class Sum(Objective):
    """f(d) + g(d), what ``f + g`` makes. Lipschitz constants and bounds add up (the bounds may then not be tight).

    >>> import numpy as np, gumdp
    >>> both = gumdp.Entropy() + 2.0 * gumdp.Linear([[0.0, 1.0]])
    >>> both.value(np.array([[0.0, 1.0]]))
    2.0
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = as_objective(first), as_objective(second)

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"

    @property
    def convex(self) -> bool:
        return self.first.convex and self.second.convex

    @property
    def signed(self) -> bool:  # type: ignore[override]
        return self.first.signed and self.second.signed

    def value(self, d: Array) -> float:
        return self.first.value(d) + self.second.value(d)

    def gradient(self, d: Array) -> Array | None:
        one, two = self.first.gradient(d), self.second.gradient(d)
        return None if one is None or two is None else one + two

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        one, two = self.first.bounds(shape), self.second.bounds(shape)
        return None if one is None or two is None else (one[0] + two[0], one[1] + two[1])

    def lipschitz(self, shape: Shape) -> float | None:
        one, two = self.first.lipschitz(shape), self.second.lipschitz(shape)
        return None if one is None or two is None else one + two

    @property
    def lipschitz_floor(self) -> float:
        return max(self.first.lipschitz_floor, self.second.lipschitz_floor)

    def expression(self, d: Any) -> Any:
        one, two = self.first.expression(d), self.second.expression(d)
        return None if one is None or two is None else one + two

    def check_shape(self, shape: Shape) -> None:
        self.first.check_shape(shape)
        self.second.check_shape(shape)

    def record(self, shape: Shape) -> Any:
        one, two = self.first.record(shape), self.second.record(shape)
        return DenseSum(one, two) if one.dense() or two.dense() else SumRecord(one, two)

    def tangent(self, shape: Shape) -> Any:
        return SumTangent(tangent_of(self.first, shape), tangent_of(self.second, shape))

    def parts(self, shape: Shape) -> Parts:
        return 0.0, ((1.0, self.first), (1.0, self.second))


class Wrapper(Objective):
    """An increasing convex function of one other objective."""

    def __init__(self, inner: Any) -> None:
        self.inner = as_objective(inner)

    @property
    def convex(self) -> bool:
        return self.inner.convex

    @property
    def signed(self) -> bool:  # type: ignore[override]
        return self.inner.signed

    @property
    def lipschitz_floor(self) -> float:
        return self.inner.lipschitz_floor

    def check_shape(self, shape: Shape) -> None:
        self.inner.check_shape(shape)


class _Affine(Wrapper):
    """factor · f(d) + shift, the factor positive; both may depend on the shape of d."""

    @abstractmethod
    def coefficients(self, shape: Shape) -> tuple[float, float]:
        """(factor, shift)."""

    def value(self, d: Array) -> float:
        factor, shift = self.coefficients(_shape(d))
        return factor * self.inner.value(d) + shift

    def gradient(self, d: Array) -> Array | None:
        slope = self.inner.gradient(d)
        return None if slope is None else self.coefficients(_shape(d))[0] * slope

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        ends = self.inner.bounds(shape)
        factor, shift = self.coefficients(shape)
        return None if ends is None else (factor * ends[0] + shift, factor * ends[1] + shift)

    def lipschitz(self, shape: Shape) -> float | None:
        constant = self.inner.lipschitz(shape)
        return None if constant is None else self.coefficients(shape)[0] * constant

    def expression(self, d: Any) -> Any:
        inner = self.inner.expression(d)
        factor, shift = self.coefficients(_shape(d))
        return None if inner is None else factor * inner + shift

    def record(self, shape: Shape) -> Any:
        return AffineRecord(self.inner.record(shape), *self.coefficients(shape))

    def tangent(self, shape: Shape) -> Any:
        return AffineTangent(tangent_of(self.inner, shape), *self.coefficients(shape))

    def parts(self, shape: Shape) -> Parts:
        factor, shift = self.coefficients(shape)
        return shift, ((factor, self.inner),)


class Scaled(_Affine):
    """factor · f(d), for a positive factor: what ``factor * f`` makes.

    >>> import numpy as np, gumdp
    >>> (3.0 * gumdp.Linear([[0.0, 1.0]])).value(np.array([[0.5, 0.5]]))
    1.5
    """

    def __init__(self, inner: Any, factor: Any) -> None:
        super().__init__(inner)
        self.factor = check_float("the factor of an objective", factor)
        if self.factor <= 0.0:
            raise GumdpError(f"an objective can be multiplied by positive numbers only, not by {self.factor:g}.")

    def __repr__(self) -> str:
        inner = f"({self.inner!r})" if isinstance(self.inner, Sum) else repr(self.inner)
        return f"{self.factor:g} * {inner}"

    def coefficients(self, shape: Shape) -> tuple[float, float]:
        return self.factor, 0.0


class Normalized(_Affine):
    """(f(d) - low) / (high - low), with the objective's own bounds for the shape of d."""

    def __repr__(self) -> str:
        return f"normalized({self.inner!r})"

    def coefficients(self, shape: Shape) -> tuple[float, float]:
        ends = self.inner.bounds(shape)
        if ends is None:
            raise GumdpError(f"normalized: {self.inner!r} does not say between which bounds it lies.")
        if not ends[1] > ends[0]:
            raise GumdpError(f"normalized: {self.inner!r} has the same value for every occupancy.")
        return 1.0 / (ends[1] - ends[0]), (0.0 - ends[0]) / (ends[1] - ends[0])

    def check_shape(self, shape: Shape) -> None:
        super().check_shape(shape)
        self.coefficients(shape)


def normalized(objective: Objective | Callable[[Array], float]) -> Normalized:
    """``objective`` shifted and scaled to lie in [0, 1], by its own bounds.

    >>> import numpy as np, gumdp
    >>> gumdp.normalized(gumdp.Entropy()).value(np.array([[1.0, 0.0]]))
    1.0
    """
    return Normalized(objective)


def _shape(d: Any) -> Shape:
    return d.shape[0], d.shape[1]


@record
class SumRecord(Separable):
    """The statistics of one objective followed by those of the other."""

    one: ObjectiveRecord
    two: ObjectiveRecord

    def count(self) -> int:
        return self.one.count() + self.two.count()

    def term(self, m: int, i: int, x: float) -> float:
        k = self.one.count()
        return self.one.term(m, i, x) if m < k else self.two.term(m - k, i, x)

    def combine(self, z: Any, at: int) -> float:
        return self.one.combine(z, at) + self.two.combine(z, at + self.one.count())

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.one.price(i, x, w, z, at) + self.two.price(i, x, w, z, at + self.one.count())

    def tracks(self) -> bool:
        return self.one.tracks() or self.two.tracks()

    def grouped(self) -> bool:
        return self.one.grouped() or self.two.grouped()


@record
class AffineRecord(Wrapping):
    """factor · f + shift."""

    inner: ObjectiveRecord
    factor: float
    shift: float

    def combine(self, z: Any, at: int) -> float:
        return self.factor * self.inner.combine(z, at) + self.shift

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.factor * self.inner.price(i, x, w, z, at)

    def value(self, d: Any) -> float:
        return self.factor * self.inner.value(d) + self.shift


@record
class DenseSum(Dense):
    """A sum of which at least one part is dense."""

    one: ObjectiveRecord
    two: ObjectiveRecord

    def value(self, d: Any) -> float:
        first = self.one.value(d) if self.one.dense() else summed_value(self.one, d)
        second = self.two.value(d) if self.two.dense() else summed_value(self.two, d)
        return float(first + second)

    def grouped(self) -> bool:
        return self.one.grouped() or self.two.grouped()


@record
class SumTangent(Tangent):
    """f + g."""

    one: Any
    two: Any

    def value(self, d: Any) -> float:
        return float(self.one.value(d) + self.two.value(d))

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        return float(self.one.tangent(d, g, factor, smoothing) + self.two.tangent(d, g, factor, smoothing))

    def kinked(self) -> bool:
        return bool(self.one.kinked() or self.two.kinked())

    def measures(self) -> tuple[Array, float] | None:
        one, two = self.one.measures(), self.two.measures()
        return None if one is None or two is None else (np.vstack([one[0], two[0]]), one[1] + two[1])


@record
class AffineTangent(Tangent):
    """factor·f + shift, the factor positive."""

    inner: Any
    factor: float
    shift: float

    def value(self, d: Any) -> float:
        return float(self.factor * self.inner.value(d) + self.shift)

    def own(self, i: int, x: float) -> float:  # but for the shift, which cancels out
        return float(self.factor * self.inner.own(i, x))

    def point(self, i: int, slope: float) -> float:
        return float(self.inner.point(i, slope / self.factor))

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        return float(self.inner.tangent(d, g, factor * self.factor, smoothing) + factor * self.shift)

    def kinked(self) -> bool:
        return bool(self.inner.kinked())

    def over_pairs(self) -> bool:
        return bool(self.inner.over_pairs())

    def measures(self) -> tuple[Array, float] | None:
        inner = self.inner.measures()
        return None if inner is None else (inner[0], self.factor * inner[1])


def part_values(objective: Objective, d: Array) -> dict[str, float]:
    """What each term of a sum is worth at an occupancy, by name; empty if the objective is one thing.

    >>> import gumdp
    >>> both = gumdp.Linear([[0.0, 1.0]]).named("late") + 2.0 * gumdp.Linear([[1.0, 0.0]]).named("idle")
    >>> part_values(both, np.array([[0.75, 0.25]]))
    {'late': 0.25, 'idle': 1.5}
    """
    worth: dict[str, float] = {}
    _collect(objective, d, 1.0, worth)
    return worth if len(worth) > 1 else {}


def _collect(objective: Objective, d: Array, factor: float, worth: dict[str, float]) -> None:
    parts = None if objective.label else objective.parts(_shape(d))
    if parts is None:
        name = objective.label or repr(objective)
        worth[name] = worth.get(name, 0.0) + factor * objective.value(d)
        return
    shift, terms = parts
    if shift:
        worth["constant"] = worth.get("constant", 0.0) + factor * shift
    for own, term in terms:
        _collect(term, d, factor * own, worth)
