"""Risk aversion: the exponential of an objective."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, real
from gumdp.kernels.record import record
from gumdp.kernels.scores import Dense, Separable
from gumdp.objectives.base import Array, Objective, Shape


class Entropic(Objective):
    """exp(β·f(d)): minimising its mean is minimising the certainty equivalent log(E[exp(β f)])/β.

    Convex where f is. With f in [l, u] its bounds are exp(βl) and exp(βu), and its Lipschitz constant is
    β·exp(βu)·L, the largest slope of the exponential times that of f.
    """

    def __init__(self, inner: Objective, beta: float) -> None:
        if not isinstance(inner, Objective):
            raise GumdpError(f"entropic: expected an objective, not {type(inner).__name__}.")
        self.inner = inner
        self.beta = real("entropic: beta", beta)
        if self.beta <= 0.0:
            raise GumdpError(f"entropic: beta must be positive, not {self.beta:g}.")

    def __repr__(self) -> str:
        return f"entropic({self.inner!r}, {self.beta:g})"

    @property
    def convex(self) -> bool:
        return self.inner.convex

    def value(self, d: Array) -> float:
        return math.exp(self.beta * self.inner.value(d))

    def gradient(self, d: Array) -> Array | None:
        slope = self.inner.gradient(d)
        return None if slope is None else self.beta * self.value(d) * slope

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        ends = self.inner.bounds(shape)
        return None if ends is None else (math.exp(self.beta * ends[0]), math.exp(self.beta * ends[1]))

    def lipschitz(self, shape: Shape) -> float | None:
        ends, constant = self.inner.bounds(shape), self.inner.lipschitz(shape)
        return None if ends is None or constant is None else self.beta * math.exp(self.beta * ends[1]) * constant

    def expression(self, d: Any) -> Any:
        import cvxpy

        inner = self.inner.expression(d)
        return None if inner is None else cvxpy.exp(self.beta * inner)

    def fit(self, shape: Shape) -> None:
        self.inner.fit(shape)
        ends = self.inner.bounds(shape)
        if ends is not None and self.beta * max(np.abs(ends)) > 700.0:
            raise GumdpError(f"entropic: exp({self.beta:g}·f) overflows for f as large as {max(np.abs(ends)):g}.")

    def score(self, shape: Shape) -> Any:
        inner = self.inner.score(shape)
        return (DenseEntropic if inner.dense() else EntropicScore)(inner, self.beta)


def entropic(objective: Objective, beta: float) -> Entropic:
    """``objective`` under risk aversion ``beta``: E[exp(β f(d))] is minimised.

    ``Evaluation.certainty_equivalent`` reports the outcome in the units of f.

    >>> import numpy as np, gumdp
    >>> gumdp.entropic(gumdp.Linear([[0.0, 2.0]]), 0.5).value(np.array([[1.0, 0.0]]))
    1.0
    """
    return Entropic(objective, beta)


@record
class EntropicScore(Separable):
    """exp(β·f), f separable."""

    inner: Any
    beta: float

    def count(self):
        return self.inner.count()

    def term(self, m, i, x):
        return self.inner.term(m, i, x)

    def combine(self, z, at):
        return math.exp(self.beta * self.inner.combine(z, at))

    def price(self, i, x, w, z, at):
        return self.beta * self.combine(z, at) * self.inner.price(i, x, w, z, at)

    def rank(self, i, x, w, z, at):
        return self.inner.rank(i, x, w, z, at)

    def tracks(self):
        return True

    def grouped(self):
        return self.inner.grouped()


@record
class DenseEntropic(Dense):
    """exp(β·f), f dense."""

    inner: Any
    beta: float

    def value(self, d):
        return math.exp(self.beta * self.inner.value(d))

    def grouped(self):
        return self.inner.grouped()
