"""Lower bounds on an objective that are linear in the occupancy, as kernels call them.

A tangent record answers

====================================  =================================================================================
``tangent(d, g, factor, smoothing)``  adds ``factor`` times a slope at ``d`` to ``g`` and returns ``factor`` times the
                                      constant that goes with it: f(e) ≥ constant + slope·e for every occupancy e
``value(d)``                          f(d)
``unsplit(…)``                        a better bound than the tangent's, if there is one: see ``gumdp.bounds.unsplit``
``own(i, x)``                         of a sum over the pairs: what pair ``i`` holding mass ``x`` adds to it,
``point(i, slope)``                   and the mass at which that has this slope
====================================  =================================================================================

``d`` and ``g`` are flat, [S·A]. Where f has a kink, ``smoothing`` > 0 mixes the slopes on both sides, over a range of
about ``smoothing`` times the objective's own range: the inequality holds as it stands, and smooth methods work.
Python asks a tangent record as well

====================================  =================================================================================
``kinked()``                          whether smoothing makes a difference
``over_pairs()``                      whether f is a sum over the pairs, with ``own`` and ``point``
``measures()``                        (rows [M, S·A], steepness) where f is a function of rows·d that changes by at
                                      most steepness · max|change of rows·d|; None if f needs more of d than that
====================================  =================================================================================

The record of each objective stands beside it; here are the base, and the one that calls a gradient back.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gumdp.errors import GumdpError
from gumdp.jit.callback import python_value, register
from gumdp.jit.record import part, record
from gumdp.objectives.base import Array, Objective, Shape

LEAST = 1e-12  # masses below are raised to this one where a slope has no bound at 0: any positive mass will do
ROUNDED = 1e-14  # shares that mixing occupancies has left above minus this one are 0
INSIDE = 1e-9  # the share of the uniform occupancy in the points where a user's gradient is asked for


class Tangent:
    """What is common: nothing more is known than the tangent. To write: ``value`` and ``tangent``."""

    __slots__ = ()

    def unsplit(self, task, first, state, o, workspace, before, bound):
        return bound

    def kinked(self):
        return False

    def over_pairs(self):
        return False

    def measures(self):
        return None


class PairTangent(Tangent):
    """A sum over the pairs. To write: ``own``, ``point`` and ``tangent``."""

    __slots__ = ()

    def value(self, d):
        total = 0.0
        for i in range(d.size):
            total += self.own(i, d[i])
        return total

    def over_pairs(self):
        return True


@part
def added(start, x, y):
    """start + x·y, term after term."""
    for i in range(y.size):
        start += x[i] * y[i]
    return start


@part
def summed(d, first, count):
    """The sum of so many entries from ``first`` on: the mass of a state."""
    total = 0.0
    for i in range(first, first + count):
        total += d[i]
    return total


@part
def add_to(g, factor, row):
    """``g`` becomes g + factor·row."""
    for i in range(g.size):
        g[i] += factor * row[i]


@record
class PythonTangent(Tangent):
    """An objective whose value and gradient only the interpreter can compute."""

    worth: int  # the number under which its value can be called back,
    slope: int  # and the constant of its tangent, which leaves the slope
    left: Any  # float64 [S·A]: here

    def value(self, d):
        return python_value(self.worth, d)

    def tangent(self, d, g, factor, smoothing):
        constant = python_value(self.slope, d)
        add_to(g, factor, self.left)
        return factor * constant


def tangent_of(objective: Objective, shape: Shape) -> Any:
    """The objective's own tangent record, or else one that calls its gradient back."""
    made = objective.tangent(shape)
    return python_tangent(objective, shape) if made is None else made


def python_tangent(objective: Objective, shape: Shape) -> PythonTangent:
    """A tangent record that calls the objective's gradient back; a ``GumdpError`` if it has none."""
    if objective.gradient(np.full(shape, 1.0 / (shape[0] * shape[1]))) is None:
        raise GumdpError(
            f"the objective {objective!r} has no gradient, which this needs; "
            "give it one: Function(f, gradient=…) with an array [S, A] of its partial derivatives."
        )
    left = np.zeros(shape[0] * shape[1])
    worth, slope = Worth(objective, shape), Slope(objective, shape, left)
    weakref.finalize(left, lambda *kept: None, worth, slope).atexit = False  # they live as long as the record does
    return PythonTangent(register(worth), register(slope), left)


class Worth:
    """f of a flat occupancy, or of totals. What is below 0 by rounding alone is 0: f need not be defined there."""

    def __init__(self, objective: Objective, shape: Shape) -> None:
        self.objective, self.shape = objective, shape

    def __call__(self, d: Array) -> float:
        return self.objective.value(np.where((d < 0.0) & (d > -ROUNDED), 0.0, d).reshape(self.shape))


class Slope:
    """The constant of f's tangent at a flat occupancy; the slope is put into ``left``.

    The gradient is asked for a little inside the simplex, where a convex function always has one.
    """

    def __init__(self, objective: Objective, shape: Shape, left: Array) -> None:
        self.objective, self.shape = objective, shape
        self.left = weakref.ref(left)

    def __call__(self, d: Array) -> float:
        inside = ((1.0 - INSIDE) * d + INSIDE / d.size).reshape(self.shape)
        slope = self.objective.gradient(inside.copy())
        if slope is None or slope.shape != self.shape or not np.isfinite(slope).all():
            raise GumdpError(
                f"the gradient of {self.objective!r} must be a finite array of shape {self.shape} everywhere inside "
                f"the simplex; it is not at {inside.ravel()[:6]} …"
            )
        left = self.left()
        assert left is not None  # the record that asks holds it
        left[:] = slope.ravel()
        return self.objective.value(inside) - float((slope * inside).sum())
