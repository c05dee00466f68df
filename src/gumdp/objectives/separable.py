"""Objectives as sums over linear statistics of the occupancy: f(d) = constant + costs·d + Σ_i φ_i(z_i), z_i = v_i·d.

That is what such an objective answers to ``separable``, for bounds that take it apart statistic by statistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import xlogy

from gumdp.objectives.base import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms:
    """Σ_i φ_i(z_i), with φ(z) = entropy·z·log z + square·z² + hinge·max(0, z - kink) + jump·[z > limit].

    ``of`` says what z is: the masses of the pairs, those of the states, or rows·d for rows [M, S·A]. Every coefficient
    is one number, or one for each z.
    """

    of: Literal["pairs", "states"] | Array
    entropy: float | Array = 0.0
    square: float | Array = 0.0
    hinge: float | Array = 0.0
    kink: float | Array = 0.0
    jump: float | Array = 0.0
    limit: float | Array = 0.0

    def costs(self, z: Array) -> Array:
        """φ(z), where every coefficient is one number or there are as many z as coefficients."""
        mass = np.maximum(z, 0.0)  # of what has an entropy; other statistics can be negative
        bent = self.entropy * xlogy(mass, mass) + self.square * z * z
        return np.asarray(bent + self.hinge * np.maximum(0.0, z - self.kink) + self.jump * (z > self.limit))

    def value(self, d: Array) -> float:
        """The sum at the occupancy d [S, A]."""
        if isinstance(self.of, np.ndarray):
            z = self.of @ d.ravel()
        else:
            z = d.ravel() if self.of == "pairs" else d.sum(axis=1)
        return float(self.costs(z).sum())

    @property
    def even(self) -> bool:
        """Whether every pair, or every state, has the same φ, convex and 0 at 0."""
        numbers: tuple[Any, ...] = (self.entropy, self.square, self.hinge, self.kink, self.jump)
        if isinstance(self.of, np.ndarray) or any(np.ndim(x) for x in numbers):
            return False
        return min(numbers) >= 0.0 and self.jump == 0.0


@dataclass(frozen=True, eq=False)
class SeparableSum:
    """constant + costs·d + the terms, which is all of f."""

    terms: tuple[Terms, ...] = ()
    costs: float | Array = 0.0  # [S, A], or one number for all pairs
    constant: float = 0.0

    def value(self, d: Array) -> float:
        """f(d)."""
        return self.constant + float((self.costs * d).sum()) + sum(part.value(d) for part in self.terms)
