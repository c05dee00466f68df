"""Risk aversion: the exponential of an objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_float
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.compose import Wrapper
from gumdp.objectives.record import ObjectiveRecord, Wrapping
from gumdp.objectives.tangent import Tangent, tangent_of

LARGEST = 700.0  # exponents beyond leave the range of floating-point numbers


class Entropic(Wrapper):
    """exp(β·f(d)): minimising its mean is minimising the certainty equivalent log(E[exp(β f)])/β.

    Convex where f is. With f in [l, u] its bounds are exp(βl) and exp(βu), and its Lipschitz constant is
    β·exp(βu)·L, the largest slope of the exponential times that of f.
    """

    def __init__(self, inner: Any, beta: float) -> None:
        super().__init__(inner)
        self.beta = check_float("entropic: beta", beta)
        if self.beta <= 0.0:
            raise GumdpError(f"entropic: beta must be positive, not {self.beta:g}.")

    def __repr__(self) -> str:
        return f"entropic({self.inner!r}, {self.beta:g})"

    def value(self, d: Array) -> float:
        exponent = self.beta * self.inner.value(d)
        if exponent > LARGEST:
            raise GumdpError(f"entropic: exp({exponent:g}) overflows; take a smaller beta, or normalized(…).")
        return math.exp(exponent)

    def gradient(self, d: Array) -> Array | None:
        slope = self.inner.gradient(d)
        return None if slope is None else self.beta * self.value(d) * slope

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        ends = self.inner.bounds(shape)
        return None if ends is None else (_exp(self.beta * ends[0]), _exp(self.beta * ends[1]))

    def lipschitz(self, shape: Shape) -> float | None:
        ends, constant = self.inner.bounds(shape), self.inner.lipschitz(shape)
        return None if ends is None or constant is None else self.beta * _exp(self.beta * ends[1]) * constant

    def expression(self, d: Any) -> Any:
        import cvxpy

        inner = self.inner.expression(d)
        return None if inner is None else cvxpy.exp(self.beta * inner)

    def check_shape(self, shape: Shape) -> None:
        super().check_shape(shape)
        ends = self.inner.bounds(shape)
        if ends is not None and self.beta * max(np.abs(ends)) > LARGEST:
            raise GumdpError(
                f"entropic: exp({self.beta:g}·f) leaves the range of numbers for f from {ends[0]:g} to {ends[1]:g}; "
                "take a smaller beta, or normalized(…)."
            )

    def record(self, shape: Shape) -> Any:
        return EntropicRecord(self.inner.record(shape), self.beta)

    def tangent(self, shape: Shape) -> Any:
        return ExponentialTangent(tangent_of(self.inner, shape), self.beta)

    @property
    def exponential(self) -> tuple[float, Objective]:
        return self.beta, self.inner


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent <= LARGEST else math.inf


def entropic(objective: Objective | Callable[[Array], float], beta: float) -> Entropic:
    """``objective`` under risk aversion ``beta``: E[exp(β f(d))] is minimised.

    ``Evaluation.certainty_equivalent`` reports the outcome in the units of f.

    >>> import numpy as np, gumdp
    >>> gumdp.entropic(gumdp.Linear([[0.0, 2.0]]), 0.5).value(np.array([[1.0, 0.0]]))
    1.0
    """
    return Entropic(objective, beta)


@record
class EntropicRecord(Wrapping):
    """exp(β·f)."""

    inner: ObjectiveRecord
    beta: float

    def combine(self, z: Any, at: int) -> float:
        exponent = self.beta * self.inner.combine(z, at)
        return math.exp(exponent) if exponent <= LARGEST else math.inf

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.beta * self.combine(z, at) * self.inner.price(i, x, w, z, at)

    def tracks(self) -> bool:
        return not self.inner.dense()

    def value(self, d: Any) -> float:
        exponent = self.beta * self.inner.value(d)
        return math.exp(exponent) if exponent <= LARGEST else math.inf


@record
class ExponentialTangent(Tangent):
    """exp(β·f): exp(y) ≥ exp(x)·(1 + y - x), and f has a tangent of its own."""

    inner: Any
    beta: float

    def value(self, d: Any) -> float:
        return math.exp(self.beta * self.inner.value(d))

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        x = self.beta * self.inner.value(d)
        top = factor * math.exp(x)
        return float(top * (1.0 - x) + self.inner.tangent(d, g, top * self.beta, smoothing))

    def kinked(self) -> bool:
        return bool(self.inner.kinked())
