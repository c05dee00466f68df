"""Lower bounds on an objective that are linear in the occupancy, as kernels call them.

A tangent record answers

====================================  =================================================================================
``tangent(d, g, factor, smoothing)``  adds ``factor`` times a slope at ``d`` to ``g`` and returns ``factor`` times the
                                      constant that goes with it: f(e) ≥ constant + slope·e for every occupancy e
``value(d)``                          f(d)
``unsplit(…)``                        a better bound than the tangent's, if there is one: see ``gumdp.bounds.unsplit``
====================================  =================================================================================

``d`` and ``g`` are flat, [S·A]. Where f has a kink, ``smoothing`` > 0 mixes the slopes on both sides, over a range of
about ``smoothing`` times the objective's own range: the inequality holds as it stands, and smooth methods work.
"""

from __future__ import annotations

import math
from typing import Any

from gumdp.jit.callback import python_value
from gumdp.jit.record import record

LEAST = 1e-12  # masses below are raised to this one where a slope has no bound at 0: any positive mass will do


class Tangent:
    """What is common: nothing more is known than the tangent."""

    __slots__ = ()

    def unsplit(self, task, first, state, o, workspace, before, bound):
        return bound


@record
class LinearTangent(Tangent):
    """c·d."""

    costs: Any  # float64 [S·A]

    def value(self, d):
        total = 0.0
        for i in range(d.size):
            total += self.costs[i] * d[i]
        return total

    def tangent(self, d, g, factor, smoothing):
        for i in range(d.size):
            g[i] += factor * self.costs[i]
        return 0.0


@record
class EntropyTangent(Tangent):
    """Σ x·(log x - log q): x·log x ≥ x·(log m + 1) - m for every m > 0."""

    logs: Any  # float64 [S·A]: log q, zeros for the entropy

    def value(self, d):
        total = 0.0
        for i in range(d.size):
            if d[i] > 0.0:
                total += d[i] * (math.log(d[i]) - self.logs[i])
        return total

    def own(self, i, x):
        return x * (math.log(x) - self.logs[i]) if x > 0.0 else 0.0

    def point(self, i, slope):
        return math.exp(slope - 1.0 + self.logs[i])

    def tangent(self, d, g, factor, smoothing):
        total = 0.0
        for i in range(d.size):
            m = max(d[i], LEAST)
            g[i] += factor * (math.log(m) + 1.0 - self.logs[i])
            total += m
        return -factor * total


@record
class StateEntropyTangent(Tangent):
    """Σ x·log x over the masses of the states."""

    actions: int

    def value(self, d):
        total = 0.0
        for first in range(0, d.size, self.actions):
            m = 0.0
            for i in range(first, first + self.actions):
                m += d[i]
            if m > 0.0:
                total += m * math.log(m)
        return total

    def tangent(self, d, g, factor, smoothing):
        total = 0.0
        for first in range(0, d.size, self.actions):
            m = 0.0
            for i in range(first, first + self.actions):
                m += d[i]
            m = max(m, LEAST)
            slope = factor * (math.log(m) + 1.0)
            for i in range(first, first + self.actions):
                g[i] += slope
            total += m
        return -factor * total


@record
class SquareTangent(Tangent):
    """Σ a·(x - t)², a ≥ 0."""

    weights: Any  # float64 [S·A]: a
    target: Any  # float64 [S·A]: t

    def value(self, d):
        total = 0.0
        for i in range(d.size):
            gap = d[i] - self.target[i]
            total += self.weights[i] * (gap * gap)
        return total

    def own(self, i, x):
        gap = x - self.target[i]
        return self.weights[i] * (gap * gap)

    def point(self, i, slope):
        return self.target[i] + 0.5 * slope / self.weights[i] if self.weights[i] > 0.0 else 0.0

    def tangent(self, d, g, factor, smoothing):
        total = 0.0
        for i in range(d.size):
            g[i] += factor * 2.0 * self.weights[i] * (d[i] - self.target[i])
            total += self.weights[i] * (self.target[i] * self.target[i] - d[i] * d[i])
        return factor * total


@record
class MeasureTangent(Tangent):
    """Σ_m a_m·(v_m·x - k_m)², a ≥ 0."""

    rows: Any  # float64 [M, S·A]: v
    targets: Any  # float64 [M]: k
    factors: Any  # float64 [M]: a

    def value(self, d):
        total = 0.0
        for m in range(self.targets.size):
            gap = -self.targets[m]
            for i in range(d.size):
                gap += self.rows[m, i] * d[i]
            total += self.factors[m] * (gap * gap)
        return total

    def tangent(self, d, g, factor, smoothing):
        total = 0.0
        for m in range(self.targets.size):
            gap = -self.targets[m]
            for i in range(d.size):
                gap += self.rows[m, i] * d[i]
            slope = 2.0 * factor * self.factors[m] * gap
            for i in range(d.size):
                g[i] += slope * self.rows[m, i]
            total -= factor * self.factors[m] * gap * (gap + 2.0 * self.targets[m])
        return total


@record
class LargestTangent(Tangent):
    """max_k c_k·d: any mean of the costs is a lower bound. Blurred, those near the largest share in it."""

    rows: Any  # float64 [K, S·A]: c
    span: float  # of the costs

    def value(self, d):
        most = -math.inf
        for k in range(self.rows.shape[0]):
            total = 0.0
            for i in range(d.size):
                total += self.rows[k, i] * d[i]
            most = max(most, total)
        return most

    def tangent(self, d, g, factor, smoothing):
        most, best, width = -math.inf, 0, smoothing * self.span
        for k in range(self.rows.shape[0]):
            total = 0.0
            for i in range(d.size):
                total += self.rows[k, i] * d[i]
            if total > most:
                most, best = total, k
        if not width > 0.0:
            for i in range(d.size):
                g[i] += factor * self.rows[best, i]
            return 0.0
        share = 0.0
        for k in range(self.rows.shape[0]):
            total = -most
            for i in range(d.size):
                total += self.rows[k, i] * d[i]
            share += math.exp(total / width)
        for k in range(self.rows.shape[0]):
            total = -most
            for i in range(d.size):
                total += self.rows[k, i] * d[i]
            part = factor * math.exp(total / width) / share
            for i in range(d.size):
                g[i] += part * self.rows[k, i]
        return 0.0


@record
class BudgetTangent(Tangent):
    """c·d + Σ p_k·max(0, c_k·d - b_k): max(0, y) ≥ q·y for every q in [0, 1]."""

    costs: Any  # float64 [S·A]
    rows: Any  # float64 [K, S·A]
    budgets: Any  # float64 [K]
    penalties: Any  # float64 [K]
    span: float  # of the measurements

    def value(self, d):
        value = 0.0
        for i in range(d.size):
            value += self.costs[i] * d[i]
        for k in range(self.budgets.size):
            over = -self.budgets[k]
            for i in range(d.size):
                over += self.rows[k, i] * d[i]
            value += self.penalties[k] * max(0.0, over)
        return value

    def tangent(self, d, g, factor, smoothing):
        constant, width = 0.0, smoothing * self.span
        for i in range(d.size):
            g[i] += factor * self.costs[i]
        for k in range(self.budgets.size):
            over = -self.budgets[k]
            for i in range(d.size):
                over += self.rows[k, i] * d[i]
            share = 1.0 if over > 0.0 else 0.0
            if width > 0.0:
                share = 1.0 / (1.0 + math.exp(min(700.0, max(-700.0, -over / width))))
            share *= factor * self.penalties[k]
            for i in range(d.size):
                g[i] += share * self.rows[k, i]
            constant -= share * self.budgets[k]
        return constant


@record
class SumTangent(Tangent):
    """f + g."""

    one: Any
    two: Any

    def value(self, d):
        return self.one.value(d) + self.two.value(d)

    def tangent(self, d, g, factor, smoothing):
        return self.one.tangent(d, g, factor, smoothing) + self.two.tangent(d, g, factor, smoothing)


@record
class AffineTangent(Tangent):
    """scale·f + shift, scale > 0."""

    inner: Any
    scale: float
    shift: float

    def value(self, d):
        return self.scale * self.inner.value(d) + self.shift

    def own(self, i, x):  # but for the shift, which cancels out
        return self.scale * self.inner.own(i, x)

    def point(self, i, slope):
        return self.inner.point(i, slope / self.scale)

    def tangent(self, d, g, factor, smoothing):
        return self.inner.tangent(d, g, factor * self.scale, smoothing) + factor * self.shift


@record
class ExponentialTangent(Tangent):
    """exp(β·f): exp(y) ≥ exp(x)·(1 + y - x), and f has a tangent of its own."""

    inner: Any
    beta: float

    def value(self, d):
        return math.exp(self.beta * self.inner.value(d))

    def tangent(self, d, g, factor, smoothing):
        x = self.beta * self.inner.value(d)
        top = factor * math.exp(x)
        return top * (1.0 - x) + self.inner.tangent(d, g, top * self.beta, smoothing)


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
        for i in range(d.size):
            g[i] += factor * self.left[i]
        return factor * constant
