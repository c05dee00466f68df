"""Objectives of one or two linear statistics: f(d) = c + costs·d + Φ(y), y = rows·d, whatever Φ is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gumdp.bounds.totals_kernels import value_at
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.separable import Terms
from gumdp.objectives.through import Through, steepness_of
from gumdp.objectives.worst_case import WorstCase

MOST = 2  # statistics
SLOPES = 16  # parts into which each side of the simplex of costs is divided


class NotFew(Exception):
    """Why an objective is not known to be one of few linear statistics."""


class Part(NamedTuple):
    """A part of Φ, of its own statistics."""

    rows: Array  # [m, S·A]
    value: Callable[[Array], Array]  # [n, m] → [n]
    steep: Array  # [m]: how much it changes at most when a statistic changes by 1,
    above: Callable[[Array], float]  # and how far it is below its interpolation on a grid of these widths [m], at most
    slopes: Array | None  # [n, m]: the part is the largest of slope·y, or at least not below it; None if not known


class FewStatistics:
    """What an objective is made of; ``NotFew`` is raised if that is not known, or too much."""

    def __init__(self, objective: Objective, shape: Shape) -> None:
        self.shape, self.constant, self.costs = shape, 0.0, np.zeros(shape[0] * shape[1])
        self.parts: list[Part] = []
        self.simple = True  # whether Φ is a sum over the statistics, for which there are other bounds
        self._add(objective, 1.0)
        self.count = sum(len(part.rows) for part in self.parts)
        if not 1 <= self.count <= MOST:
            raise NotFew(f"is for objectives of one or two linear statistics, and {objective!r} has {self.count:,}")
        if self.simple and self.count == 1:
            raise NotFew("is the same as the decomposition where there is a single statistic")
        flat = np.zeros((MOST - self.count, self.costs.size))
        self.rows = np.concatenate([*(part.rows for part in self.parts), flat])  # [2, S·A]
        self.steep = np.concatenate([*(part.steep for part in self.parts), np.zeros(len(flat))])

    @property
    def slopes(self) -> Array:
        """[n, 2]: Φ(y) is the largest of slope·y, or at least not below it; [0, 2] if such slopes are not known."""
        made = np.zeros((1, 0))
        for part in self.parts:
            if part.slopes is None:
                return np.zeros((0, MOST))
            left, right = np.repeat(made, len(part.slopes), axis=0), np.tile(part.slopes, (len(made), 1))
            made = np.concatenate([left, right], axis=1)
        return np.ascontiguousarray(np.pad(made, ((0, 0), (0, MOST - self.count))))

    def value(self, y: Array) -> Array:
        """Φ(y) for y [n, 2]."""
        total, first = np.zeros(len(y)), 0
        for part in self.parts:
            total += part.value(np.ascontiguousarray(y[:, first : first + len(part.rows)]))
            first += len(part.rows)
        return total

    def above(self, width: Array) -> float:
        """How far the bilinear interpolation of Φ on a grid of this width [2] is above it at most."""
        total, first = 0.0, 0
        for part in self.parts:
            total += part.above(width[first : first + len(part.rows)])
            first += len(part.rows)
        return total

    # --- what an objective is made of ---

    def _add(self, f: Objective, factor: float) -> None:
        if (parts := f.parts(self.shape)) is not None:
            self.constant += factor * parts[0]
            for own, part in parts[1]:
                self._add(part, factor * own)
        elif (known := f.separable(self.shape)) is not None:
            self.constant += factor * known.constant
            self.costs += factor * np.broadcast_to(known.costs, self.shape).ravel()
            for terms in known.terms:
                self.parts.append(_of_terms(terms, factor, f))
        elif isinstance(f, WorstCase):
            self._largest(f.costs.reshape(len(f.costs), -1), factor)
        elif isinstance(f, Through) and isinstance(f.inner, WorstCase):
            self._largest(f.inner.costs.reshape(-1, len(f.rows)) @ f.rows, factor)
        elif isinstance(f, Through):
            self._of_totals(f, factor)
        else:
            raise NotFew(f"is for objectives of one or two linear statistics, and {f!r} is not known to be one")

    def _largest(self, costs: Array, factor: float) -> None:
        """max_k z_k = z_K + max(0, z_1 - z_K, …): one statistic fewer than there are costs [K, S·A]."""
        costs = np.unique(costs, axis=0)
        others = len(costs) - 1
        if others > MOST:
            raise NotFew(f"is for the largest of at most {MOST + 1} costs, not of {others + 1}")
        self.costs += factor * costs[-1]
        if others:
            self.simple = self.simple and others == 1
            slopes = [np.array(k) / SLOPES for k in np.ndindex((SLOPES + 1,) * others) if sum(k) <= SLOPES]
            self.parts.append(
                Part(
                    costs[:-1] - costs[-1],
                    lambda y: factor * np.maximum(0.0, y.max(axis=1)),
                    np.full(others, factor),
                    lambda width: factor * float(width.sum()) / 4.0,  # slopes jump by 1 at most in each direction
                    factor * np.array(slopes),
                )
            )

    def _of_totals(self, f: Through, factor: float) -> None:
        shape = (1, len(f.rows))
        if (steep := steepness_of(f.inner, shape)) is None:
            raise NotFew(f"needs to know how steep {f.inner!r} is; a Utility can say lipschitz=…")
        record = f.inner.record(shape)

        def value(z: Array) -> Array:
            values = np.empty(len(z))
            value_at(record, np.clip(z, f.low, f.high), values)  # beyond, it need not even be defined
            reraise()
            return factor * values

        self.simple = False
        steep *= factor
        self.parts.append(
            Part(f.rows, value, np.full(len(f.rows), steep), lambda width: 0.5 * steep * float(width.sum()), None)
        )


def _of_terms(terms: Terms, factor: float, f: Any) -> Part:
    """A sum of squares and hinges of given statistics."""
    if not isinstance(terms.of, np.ndarray) or np.any(terms.entropy) or np.any(terms.jump):
        raise NotFew(f"is for objectives of one or two linear statistics without jumps, and {f!r} is not one")
    rows = terms.of.reshape(len(terms.of), -1)
    square, hinge = (np.broadcast_to(np.asarray(x, float), len(rows)) for x in (terms.square, terms.hinge))
    most = np.abs(rows).max(axis=1)
    return Part(
        rows,
        lambda y: factor * np.asarray(terms.costs(y)).sum(axis=1),
        factor * (2.0 * np.abs(square) * most + np.abs(hinge)),
        lambda width: factor * float((np.maximum(0.0, square) * width**2 + np.maximum(0.0, hinge) * width).sum()) / 4.0,
        None,
    )
