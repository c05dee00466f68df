"""The tangents of an objective: what the compiled solvers ask of it."""

from __future__ import annotations

import numpy as np

from gumdp.average.rest_kernels import tangent_once
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.tangent import tangent_of


class Tangents:
    """The tangents of an objective for occupancies of one shape. ``record`` is for kernels."""

    def __init__(self, objective: Objective, shape: Shape) -> None:
        self.objective, self.shape = objective, shape
        self.record = tangent_of(objective, shape)
        self.kinked = bool(self.record.kinked())  # whether it has kinks that smoothing can smooth

    def value(self, d: Array) -> float:
        """f(d)."""
        return self.objective(d)

    def at(self, d: Array, smoothing: float = 0.0) -> tuple[float, Array]:
        """(constant, slope [S, A]) with f(e) ≥ constant + slope·e for every occupancy e, nearly equal at d."""
        slope = np.zeros(d.size)
        constant = tangent_once(self.record, np.ascontiguousarray(d, dtype=np.float64).ravel(), slope, smoothing)
        reraise()
        return float(constant), slope.reshape(self.shape)
