"""Objectives made of others: sums, positive multiples, normalisation."""

from __future__ import annotations

from typing import Any

from gumdp.errors import GumdpError, real
from gumdp.kernels.record import record
from gumdp.kernels.scores import Dense, Separable, whole_value
from gumdp.objectives.base import Array, Objective, Shape


class Sum(Objective):
    """f(d) + g(d). Lipschitz constants and bounds add up."""

    def __init__(self, first: Objective, second: Objective) -> None:
        self.first, self.second = first, second

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"

    @property
    def convex(self) -> bool:
        return self.first.convex and self.second.convex

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

    def expression(self, d: Any) -> Any:
        one, two = self.first.expression(d), self.second.expression(d)
        return None if one is None or two is None else one + two

    def fit(self, shape: Shape) -> None:
        self.first.fit(shape)
        self.second.fit(shape)

    def score(self, shape: Shape) -> Any:
        one, two = self.first.score(shape), self.second.score(shape)
        return DenseSum(one, two) if one.dense() or two.dense() else SumScore(one, two)


class _Affine(Objective):
    """factor · f(d) + shift, the factor positive; both may depend on the shape of d."""

    def __init__(self, inner: Objective) -> None:
        if not isinstance(inner, Objective):
            raise GumdpError(f"expected an objective, not {type(inner).__name__}.")
        self.inner = inner

    def coefficients(self, shape: Shape) -> tuple[float, float]:
        """(factor, shift)."""
        raise TypeError

    @property
    def convex(self) -> bool:
        return self.inner.convex

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

    def fit(self, shape: Shape) -> None:
        self.inner.fit(shape)

    def score(self, shape: Shape) -> Any:
        inner = self.inner.score(shape)
        return (DenseAffine if inner.dense() else AffineScore)(inner, *self.coefficients(shape))


class Scaled(_Affine):
    """factor · f(d), for a positive factor."""

    def __init__(self, inner: Objective, factor: float) -> None:
        super().__init__(inner)
        self.factor = real("the factor of an objective", factor)
        if self.factor <= 0.0:
            raise GumdpError(f"an objective can be multiplied by positive numbers only, not by {self.factor:g}.")

    def __repr__(self) -> str:
        return f"{self.factor:g} * {self.inner!r}"

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
        return 1.0 / (ends[1] - ends[0]), -ends[0] / (ends[1] - ends[0])

    def fit(self, shape: Shape) -> None:
        self.inner.fit(shape)
        self.coefficients(shape)


def normalized(objective: Objective) -> Normalized:
    """``objective`` shifted and scaled to lie in [0, 1], by its own bounds.

    >>> import numpy as np, gumdp
    >>> gumdp.normalized(gumdp.Entropy()).value(np.array([[1.0, 0.0]]))
    1.0
    """
    return Normalized(objective)


def _shape(d: Any) -> Shape:
    return d.shape[0], d.shape[1]


@record
class SumScore(Separable):
    """The statistics of one objective followed by those of the other."""

    one: Any
    two: Any

    def count(self):
        return self.one.count() + self.two.count()

    def term(self, m, i, x):
        k = self.one.count()
        return self.one.term(m, i, x) if m < k else self.two.term(m - k, i, x)

    def combine(self, z, at):
        return self.one.combine(z, at) + self.two.combine(z, at + self.one.count())

    def price(self, i, x, w, z, at):
        return self.one.price(i, x, w, z, at) + self.two.price(i, x, w, z, at + self.one.count())

    def tracks(self):
        return self.one.tracks() or self.two.tracks()

    def grouped(self):
        return self.one.grouped() or self.two.grouped()


@record
class AffineScore(Separable):
    """factor · f + shift."""

    inner: Any
    factor: float
    shift: float

    def count(self):
        return self.inner.count()

    def term(self, m, i, x):
        return self.inner.term(m, i, x)

    def combine(self, z, at):
        return self.factor * self.inner.combine(z, at) + self.shift

    def price(self, i, x, w, z, at):
        return self.factor * self.inner.price(i, x, w, z, at)

    def rank(self, i, x, w, z, at):
        return self.inner.rank(i, x, w, z, at)

    def tracks(self):
        return self.inner.tracks()

    def grouped(self):
        return self.inner.grouped()


@record
class DenseSum(Dense):
    """A sum of which at least one part is dense."""

    one: Any
    two: Any

    def value(self, d):
        return whole_value(self.one, d) + whole_value(self.two, d)

    def grouped(self):
        return self.one.grouped() or self.two.grouped()


@record
class DenseAffine(Dense):
    """factor · f + shift, f dense."""

    inner: Any
    factor: float
    shift: float

    def value(self, d):
        return self.factor * self.inner.value(d) + self.shift

    def grouped(self):
        return self.inner.grouped()
