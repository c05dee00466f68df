"""Quadratic forms of the occupancy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.residual import Residual
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.squares import (
    DiagonalRecord,
    MeasureTangent,
    SquaresRecord,
    SquareTangent,
    StateDiagonalRecord,
)
from gumdp.objectives.tables import number_table


class Quadratic(Objective):
    """f(d) = dᵀAd. ``matrix`` is A [S·A, S·A], rows and columns in the order s·A + a; or its diagonal, [S, A].

    A square array is the whole matrix; where S = A, say ``Quadratic.diagonal(weights)`` for Σ weights·d².
    ``Quadratic.of_states`` is the same form of the masses of the states, d(s) = Σ_a d(s,a), and
    ``Quadratic.residual`` is (n·d − k)². Only the symmetric part of A matters. Convex if A has no negative eigenvalue
    (one that is 0 up to rounding counts as 0).

    Bounds: dᵀAd is a weighted mean of A's entries, so it lies between the least and the greatest, and above 0 if f is
    convex; exact for a diagonal with positive entries, whose least value is 1/Σ(1/A_ii).
    Lipschitz constant 2·max |A_ij|: dᵀAd − eᵀAe = (d − e)ᵀA(d + e), and A(d + e) has entries up to 2·max |A_ij|;
    summing over actions does not increase an L1 distance.

    >>> import numpy as np
    >>> Quadratic([[2.0, 1.0], [1.0, 4.0]]).value(np.array([[0.5, 0.5]]))
    2.0
    >>> Quadratic.of_states([0.0, 1.0]).value(np.array([[0.5, 0.0], [0.25, 0.25]]))
    0.25
    """

    def __init__(self, matrix: ArrayLike) -> None:
        table = number_table("Quadratic: matrix", matrix)
        if table.ndim != 2:
            raise GumdpError(f"Quadratic: matrix must have the shape [S·A, S·A] or [S, A], not {table.shape}.")
        self._hold("Quadratic: matrix", table, table.shape[0] != table.shape[1], False)

    @classmethod
    def diagonal(cls, weights: ArrayLike) -> Quadratic:
        """Σ weights(s,a)·d(s,a)², with weights [S, A].

        >>> import numpy as np
        >>> Quadratic.diagonal([[1.0, 2.0]]).value(np.array([[0.5, 0.5]]))
        0.75
        """
        table = number_table("Quadratic.diagonal: weights", weights)
        if table.ndim != 2:
            raise GumdpError(f"Quadratic.diagonal: weights must have the shape [S, A], not {table.shape}.")
        return cls.__new__(cls)._hold("Quadratic.diagonal: weights", table, True, False)

    @classmethod
    def of_states(cls, matrix: ArrayLike) -> Quadratic:
        """mᵀAm of the masses m of the states, with A [S, S], or its diagonal, [S].

        >>> import numpy as np
        >>> Quadratic.of_states([1.0, 1.0]).value(np.array([[0.5, 0.0], [0.25, 0.25]]))
        0.5
        """
        table = number_table("Quadratic.of_states: matrix", matrix)
        if table.ndim not in (1, 2) or table.shape[0] != table.shape[-1]:
            raise GumdpError(f"Quadratic.of_states: matrix must have the shape [S, S] or [S], not {table.shape}.")
        return cls.__new__(cls)._hold("Quadratic.of_states: matrix", table, table.ndim == 1, True)

    @staticmethod
    def residual(weights: ArrayLike, target: float) -> Residual:
        """(Σ weights(s,a)·d(s,a) − target)²: hit a number with a linear measurement of the run.

        >>> import numpy as np
        >>> Quadratic.residual([[0.0, 2.0]], 1.0).value(np.array([[0.25, 0.75]]))
        0.25
        """
        return Residual(weights, target)

    def _hold(self, name: str, table: Array, diagonal: bool, states: bool) -> Quadratic:
        self._name, self._given, self._states = name, table.shape, states
        full = table if diagonal else 0.5 * (table + table.T)
        off = 0 if diagonal else np.count_nonzero(full - np.diag(np.diag(full)))
        self.weights = (full.ravel() if diagonal else np.diag(full)).copy()  # [n], the diagonal
        self.matrix = full if off else None  # [n, n], where it is more than its diagonal
        return self

    def __repr__(self) -> str:
        return f"Quadratic{'.of_states' if self._states else ''}(matrix of shape {self._given})"

    @functools.cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """The eigenvalues λ [M] that are not 0 and their vectors [M, n]: A = Σ λ v vᵀ."""
        values, vectors = np.linalg.eigh(self.matrix if self.matrix is not None else np.diag(self.weights))
        keep = np.abs(values) > values.size * np.finfo(float).eps * np.abs(values).max()
        return values[keep], np.ascontiguousarray(vectors.T[keep])

    @property
    def convex(self) -> bool:
        return bool(((self.weights if self.matrix is None else self._spectrum[0]) >= 0.0).all())

    def value(self, d: Array) -> float:
        x = self._masses(d)
        return float((self.weights * x * x).sum() if self.matrix is None else x @ self.matrix @ x)

    def gradient(self, d: Array) -> Array:
        x = self._masses(d)
        slope = 2.0 * (self.weights * x if self.matrix is None else self.matrix @ x)
        return np.broadcast_to(slope[:, None], d.shape).copy() if self._states else slope.reshape(d.shape)

    def bounds(self, shape: Shape) -> tuple[float, float]:
        if self.matrix is None:
            return 0.0 - _most(-self.weights), _most(self.weights)
        low, high = float(self.matrix.min()), float(self.matrix.max())
        return max(low, 0.0) if self.convex else low, high

    def lipschitz(self, shape: Shape) -> float:
        return 2.0 * float(np.abs(self.weights if self.matrix is None else self.matrix).max())

    def expression(self, d: Any) -> Any:
        import cvxpy

        if not self.convex:
            return None
        x = cvxpy.sum(d, axis=1) if self._states else cvxpy.vec(d, order="C")
        if self.matrix is None:
            return cvxpy.sum(cvxpy.multiply(self.weights, cvxpy.square(x)))
        values, vectors = self._spectrum
        return cvxpy.sum_squares((np.sqrt(values)[:, None] * vectors) @ x)

    def check_shape(self, shape: Shape) -> None:
        cells = shape[0] if self._states else shape[0] * shape[1]
        if self.weights.size != cells or (len(self._given) == 2 and self._given not in ((cells, cells), tuple(shape))):
            raise GumdpError(
                f"{self._name} of shape {self._given} is not for a model of shape {tuple(shape)}: it takes "
                + ("[S, S] or [S]." if self._states else "[S·A, S·A], and Quadratic.diagonal [S, A].")
            )

    def record(self, shape: Shape) -> Any:
        pairs = shape[0] * shape[1]
        if self.matrix is None:
            return StateDiagonalRecord(self.weights, pairs) if self._states else DiagonalRecord(self.weights)
        values, rows = self._squares(shape)
        return SquaresRecord(rows.ravel(), np.zeros(values.size), values, values.size, pairs)

    def tangent(self, shape: Shape) -> Any:
        if self.matrix is None and not self._states:
            return SquareTangent(self.weights, np.zeros(self.weights.size))
        values, rows = self._squares(shape)
        return MeasureTangent(rows, np.zeros(values.size), values)

    def separable(self, shape: Shape) -> SeparableSum:
        if self.matrix is None:
            return SeparableSum((Terms(of="states" if self._states else "pairs", square=self.weights),))
        values, rows = self._squares(shape)
        return SeparableSum((Terms(of=rows, square=values),))

    def _squares(self, shape: Shape) -> tuple[Array, Array]:
        """λ [M] and v [M, S·A]: f(d) = Σ λ·(v·d)²."""
        if self.matrix is None:
            return self.weights, np.repeat(np.eye(shape[0]), shape[1], axis=1)  # the masses of the states
        values, vectors = self._spectrum
        return values, np.repeat(vectors, shape[1], axis=1) if self._states else vectors

    def _masses(self, d: Array) -> Array:
        return np.asarray(d.sum(axis=1) if self._states else d.ravel())


def _most(weights: Array) -> float:
    """The greatest Σ w·x² on the simplex: on one pair, or spread out where all weights are negative."""
    top = float(weights.max())
    if top >= 0.0:
        return top
    with np.errstate(over="ignore"):  # 1/x of a tiny x is infinite, and its share of the mass 1
        return -1.0 / float((-1.0 / weights).sum())
