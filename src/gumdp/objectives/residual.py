"""Hit a number: the squared residual of a linear measurement of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import check_float
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.squares import MeasureTangent, SquaresRecord
from gumdp.objectives.tables import LARGEST, cost_table, match


class Residual(Objective):
    """f(d) = (n·d − k)² with ``weights`` n [S, A] and ``target`` k; ``Quadratic.residual`` makes it.

    n·d runs through [min n, max n]: the bounds are the squares of the least and the greatest distance R from k there.
    Lipschitz constant 2·R·max |n|: f(d) − f(e) = n·(d − e) · ((n·d − k) + (n·e − k)).

    >>> Residual([[0.0, 2.0]], 1.0).value(np.array([[0.25, 0.75]]))
    0.25
    """

    convex = True

    def __init__(self, weights: ArrayLike, target: float) -> None:
        self.weights = cost_table("Quadratic.residual: weights", weights)
        self.target = check_float("Quadratic.residual: target", target, -LARGEST, LARGEST)

    def __repr__(self) -> str:
        return f"Quadratic.residual(weights of shape {self.weights.shape}, {self.target:g})"

    def value(self, d: Array) -> float:
        return self._gap(d) ** 2

    def gradient(self, d: Array) -> Array:
        return 2.0 * self._gap(d) * self.weights

    def bounds(self, shape: Shape) -> tuple[float, float]:
        low, high = float(self.weights.min()) - self.target, float(self.weights.max()) - self.target
        return 0.0 if low <= 0.0 <= high else min(low * low, high * high), max(low * low, high * high)

    def lipschitz(self, shape: Shape) -> float:
        return 2.0 * float(np.abs(self.weights - self.target).max()) * float(np.abs(self.weights).max())

    def expression(self, d: Any) -> Any:
        import cvxpy

        return cvxpy.square(cvxpy.sum(cvxpy.multiply(self.weights, d)) - self.target)

    def check_shape(self, shape: Shape) -> None:
        match("Quadratic.residual: weights", self.weights, shape)

    def record(self, shape: Shape) -> Any:
        return SquaresRecord(self.weights.ravel().copy(), np.array([self.target]), np.ones(1), 1, self.weights.size)

    def tangent(self, shape: Shape) -> Any:
        return MeasureTangent(self.weights.reshape(1, -1), np.array([self.target]), np.ones(1))

    def separable(self, shape: Shape) -> SeparableSum:
        square = Terms(of=self.weights.reshape(1, -1), square=1.0)
        return SeparableSum((square,), -2.0 * self.target * self.weights, self.target**2)

    def _gap(self, d: Array) -> float:
        return float((self.weights * d).sum()) - self.target
