"""From an objective to its tangents: what the compiled solvers ask of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.average.rest_kernels import tangent_once
from gumdp.errors import GumdpError
from gumdp.jit.callback import register, reraise
from gumdp.objectives import tangent as kinds
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.compose import Sum, _Affine
from gumdp.objectives.constrained import Constrained
from gumdp.objectives.divergence import KLImitation
from gumdp.objectives.entropy import Entropy, StateEntropy
from gumdp.objectives.imitation import Imitation
from gumdp.objectives.linear import Linear
from gumdp.objectives.quadratic import Quadratic
from gumdp.objectives.residual import Residual
from gumdp.objectives.risk import Entropic
from gumdp.objectives.squares import DiagonalRecord, SquaresRecord
from gumdp.objectives.worst_case import WorstCase

INSIDE = 1e-9  # the share of the uniform occupancy in the points where a user's gradient is asked for


class Tangents:
    """The tangents of an objective for occupancies of one shape.

    ``record`` is for kernels; it lives as long as this object does.
    """

    def __init__(self, objective: Objective, shape: Shape) -> None:
        self.objective, self.shape = objective, shape
        self.kinked = False  # whether it has kinks that smoothing can smooth
        self._kept: list[Any] = []
        self.record = self._make(objective)

    def value(self, d: Array) -> float:
        """f(d)."""
        return self.objective(d)

    def at(self, d: Array, smoothing: float = 0.0) -> tuple[float, Array]:
        """(constant, slope [S, A]) with f(e) ≥ constant + slope·e for every occupancy e, nearly equal at d."""
        slope = np.zeros(d.size)
        constant = tangent_once(self.record, np.ascontiguousarray(d, dtype=np.float64).ravel(), slope, smoothing)
        reraise()
        return float(constant), slope.reshape(self.shape)

    def _make(self, f: Objective) -> Any:
        if isinstance(f, Sum):
            return kinds.SumTangent(self._make(f.first), self._make(f.second))
        if isinstance(f, _Affine):
            return kinds.AffineTangent(self._make(f.inner), *f.coefficients(self.shape))
        if isinstance(f, Entropic):
            return kinds.ExponentialTangent(self._make(f.inner), f.beta)
        made = self._known(f)
        return self._interpreted(f) if made is None else made

    def _known(self, f: Objective) -> Any:
        """The compiled tangents of the objectives that have some, exactly of these types."""
        ones = np.ones(self.shape[0] * self.shape[1])
        kind = type(f)
        if isinstance(f, Linear) and kind is Linear:
            return kinds.LinearTangent(f.costs.ravel())
        if kind is Entropy:
            return kinds.EntropyTangent(0.0 * ones)
        if kind is StateEntropy:
            return kinds.StateEntropyTangent(self.shape[1])
        if isinstance(f, KLImitation) and kind is KLImitation:
            return kinds.EntropyTangent(np.log(f.mixed).ravel())
        if isinstance(f, Imitation) and kind is Imitation:
            return kinds.SquareTangent(ones, f.target.ravel())
        if isinstance(f, WorstCase) and kind is WorstCase:
            self.kinked = True
            return kinds.LargestTangent(f.costs.reshape(len(f.costs), -1), float(np.ptp(f.costs)))
        if isinstance(f, Residual) and kind is Residual:
            return kinds.MeasureTangent(f.weights.reshape(1, -1), np.array([f.target]), np.ones(1))
        if isinstance(f, Quadratic) and kind is Quadratic:
            return self._quadratic(f)
        if isinstance(f, Constrained) and kind is Constrained:
            self.kinked = True
            rows = f.constraints.reshape(len(f.budgets), -1)
            span = float(np.abs(rows - f.budgets[:, None]).max())
            return kinds.BudgetTangent(f.costs.ravel(), rows, f.budgets, f.penalty, span)
        return None

    def _quadratic(self, f: Quadratic) -> Any:
        record = f.record(self.shape)
        if isinstance(record, SquaresRecord):
            rows = record.rows.reshape(record.kinds, -1)
            return kinds.MeasureTangent(rows, record.targets, record.factors)
        if isinstance(record, DiagonalRecord):
            return kinds.SquareTangent(record.weights, np.zeros(record.weights.size))
        rows = np.kron(np.eye(self.shape[0]), np.ones(self.shape[1]))  # the masses of the states
        return kinds.MeasureTangent(rows, np.zeros(self.shape[0]), record.weights)

    def _interpreted(self, f: Objective) -> Any:
        if f.gradient(np.full(self.shape, 1.0 / (self.shape[0] * self.shape[1]))) is None:
            raise GumdpError(
                f"the objective {f!r} has no gradient, which this needs; "
                "give it one: Function(f, gradient=…) with an array [S, A] of its partial derivatives."
            )
        slope = Slope(f, self.shape)
        self._kept += [slope, slope.worth]
        return kinds.PythonTangent(register(slope.worth), register(slope), slope.left)


class Worth:
    """f of a flat occupancy."""

    def __init__(self, objective: Objective, shape: Shape) -> None:
        self.objective, self.shape = objective, shape

    def __call__(self, d: Array) -> float:
        return self.objective.value(d.reshape(self.shape))


class Slope:
    """The constant of f's tangent at a flat occupancy; the slope is left in ``left``.

    The gradient is asked for a little inside the simplex, where a convex function always has one.
    """

    def __init__(self, objective: Objective, shape: Shape) -> None:
        self.objective, self.shape = objective, shape
        self.left = np.zeros(shape[0] * shape[1])
        self.worth = Worth(objective, shape)

    def __call__(self, d: Array) -> float:
        inside = ((1.0 - INSIDE) * d + INSIDE / d.size).reshape(self.shape)
        slope = self.objective.gradient(inside.copy())
        if slope is None or slope.shape != self.shape or not np.isfinite(slope).all():
            raise GumdpError(
                f"the gradient of {self.objective!r} must be a finite array of shape {self.shape} everywhere inside "
                f"the simplex; it is not at {inside.ravel()[:6]} …"
            )
        self.left[:] = slope.ravel()
        return self.objective.value(inside) - float((slope * inside).sum())
