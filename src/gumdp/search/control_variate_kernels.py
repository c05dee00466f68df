"""Control variates: how much of a rollout's return was luck.

Under a policy that looks at the state alone, on a table, the mean and the mean square of the mass that a rollout adds
to an entry are known for every place where it may begin. So is, then, the expectation of any function of the final
occupancy that is a sum of quadratics of single entries. At each decision the search fits such a function to the
objective; a rollout's excess over its expectation has mean 0, and taking it off the return leaves the return's mean as
it is and takes most of the noise away. The factor is that of a regression: see Lavenberg and Welch (1981), "A
perspective on the use of control variables to increase the efficiency of Monte Carlo simulations".

A control variate answers

========================================================  =============================================================
``prepare(setup, running, s, t)``                          fit the function, at the start of the decision in ``s`` at
                                                          ``t``
``expectation(objective, running, weights, t0, s, t, n)``  its expectation, for a rollout from ``s`` at ``t`` on, when
                                                          the search has put ``n`` entries on the path since ``t0``
``foresee``, ``look_back``, ``luck_of``                    follow the luck of totals in the tree: see
                                                          ``gumdp.search.leaf``
``adjust(setup, running, span, changed, expected, value)`` a return without its luck, after ``settle`` found ``changed``
                                                          entries; ``span`` as in ``gumdp.search.leaf``
========================================================  =============================================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.jit.record import kernel, part, record, u64

MEMORY = 0.5  # the weight, at the next decision, of what was learned about the factor
GUESS = 0.8  # the factor as long as nothing is known
CAUTION = 4.0  # returns that the guess is worth
MOST = 1.5  # the largest factor


@kernel
def fill_moments(chain, policy, weights, horizon, start, first, second):
    """Play from state ``s`` at step ``t`` on adds mass to the cells from ``start`` on, under ``policy`` [1 or H, S, A]:
    ``first[t, s]`` are the means of it, ``second[t, s]`` the means of its square.
    """
    steps, states, cells = first.shape[0] - 1, first.shape[1], first.shape[2]
    actions = chain.actions
    pairs = states * actions
    first[steps] = 0.0
    second[steps] = 0.0
    for t in range(steps - 1, -1, -1):
        w = weights[t]
        fresh = (t + 1) % horizon == 0
        table = policy[t % horizon % policy.shape[0]]
        for s in range(states):
            first[t, s] = 0.0
            second[t, s] = 0.0
            for a in range(actions):
                share = table[s, a]
                if share == 0.0:
                    continue
                r = s * actions + a
                begin = 0 if fresh else chain.offsets[r]
                end = chain.start_states.size if fresh else chain.offsets[r + 1]
                i, later = r - start, 0.0
                for j in range(begin, end):
                    p = chain.start_probabilities[j] if fresh else chain.probabilities[j]
                    after = chain.start_states[j] if fresh else chain.successors[j]
                    for k in range(cells):
                        first[t, s, k] += share * p * first[t + 1, after, k]
                        second[t, s, k] += share * p * second[t + 1, after, k]
                    if 0 <= i < cells:
                        later += p * first[t + 1, after, i]
                if 0 <= i < cells:  # (w + X)² = w² + 2wX + X²
                    second[t, s, i] += share * w * (w + 2.0 * later)
            for a in range(actions):
                i = s * actions + a - start
                if 0 <= i < cells:
                    first[t, s, i] += table[s, a] * w
            i = pairs + s - start
            if 0 <= i < cells:
                second[t, s, i] += w * (w + 2.0 * first[t, s, i])
                first[t, s, i] += w


class Unfollowed:
    """What most have in common: they don't follow what luck there is in the tree."""

    __slots__ = ()

    def foresee(self, running, s, a, t, depth):
        return 0

    def look_back(self, running, s, t, depth):
        return 0

    def luck_of(self, depth):
        return 0.0


@record
class NoControlVariate(Unfollowed):
    """Nothing is known: returns stay as they are."""

    cells: int  # that it looks at: 0; a record needs a field

    def prepare(self, setup, running, s, t):
        return 0

    def expectation(self, objective, running, weights, t0, s, t, length):
        return 0.0

    def adjust(self, setup, running, span, changed, expected, value):
        return value


@part
def knots(mean, square):
    """Three masses, evenly spaced, at which a quadratic is to meet the objective.

    Around the mean if the mass is about normal; from 0 on if it is often 0, with the mean of what it is otherwise,
    weighted with itself, at two thirds.
    """
    deviation = max(math.sqrt(1.5 * max(0.0, square - mean * mean)), 1e-3 * mean)
    if deviation <= mean:
        return mean - deviation, mean, mean + deviation
    return 0.0, 0.75 * square / mean, 1.5 * square / mean


@part
def lay(control, objective, running, m, at):
    """Lay quadratics along the terms of statistic ``m``, for rollouts whose moments are at ``at``.

    Leaves in ``running.z`` what the statistic can be expected to be, and in ``swing`` how far it varies.
    """
    cells = u64(control.cells)
    z, swing = running.z_root[m], 0.0
    i = u64(0)
    while i < cells:
        c = u64(control.start) + i
        held, mean, square = running.root[c], control.first[at + i], control.second[at + i]
        slope, curve = 0.0, 0.0
        if mean > 0.0:
            low, middle, high = knots(mean, square)
            one = objective.term(m, c, held + low)
            two = objective.term(m, c, held + middle)
            three = objective.term(m, c, held + high)
            width = middle - low
            curve = (one - 2.0 * two + three) / (2.0 * width * width)
            slope = (three - one) / (2.0 * width) - 2.0 * curve * middle
            z += two + slope * (mean - middle) + curve * (square - middle * middle)
            z -= running.base[m * u64(running.root.size) + c]
            swing += (three - one) * (three - one)
        control.pieces[u64(2) * m * cells + i] = slope
        control.pieces[(u64(2) * m + u64(1)) * cells + i] = curve
        i += u64(1)
    running.z[m] = z
    control.swing[m] = 0.5 * math.sqrt(swing)


@part
def rate_of(control, objective, running, m):
    """How fast the objective changes with statistic ``m``, over as far as that varies; 0 if there is no telling."""
    z, swing = running.z[m], control.swing[m]
    rate = 0.0
    if swing > 0.0:
        running.z[m] = z + swing
        above = objective.combine(running.z, 0)
        running.z[m] = z - swing
        rate = (above - objective.combine(running.z, 0)) / (2.0 * swing)
        running.z[m] = z
    return rate if np.isfinite(rate) else 0.0


@part
def fade(fit, t):
    """A decision begins, at step ``t``: what was learned about the factor counts less."""
    for k in range(3):
        fit[k] = MEMORY * (fit[k] + fit[k + 3]) if t > u64(0) else 0.0
        fit[k + 3] = 0.0
    fit[6] = 0.0
    fit[7] = 0.0


@part
def factor_of(fit):
    """What part of an excess is to be taken off."""
    both, own, n = fit[0] + fit[3], fit[1] + fit[4], fit[2] + fit[5]
    factor = max(0.0, min(MOST, both / own)) if own > 0.0 else 0.0
    return factor + (GUESS - factor) * CAUTION / (n + CAUTION)


@part
def without_luck(fit, excess, value):
    """Take off the excess, times a factor: what the regression of returns on excesses says so far.

    ``fit`` has their co-moment, the excesses' second moment and the number of returns: first those of decisions
    before, fading, then those of this one, whose means follow.
    """
    factor = factor_of(fit)
    fit[5] += 1.0
    step = excess - fit[6]
    fit[6] += step / fit[5]
    fit[3] += (value - fit[7]) * (excess - fit[6])
    fit[4] += step * (excess - fit[6])
    fit[7] += (value - fit[7]) / fit[5]
    return value - factor * excess


@record
class ControlVariate(Unfollowed):
    """The moments of rollouts, and the quadratics that are laid along the objective at the present decision."""

    start: int  # the first cell that the objective looks at
    states: int
    cells: int  # how many it looks at; 0: nothing is known of these rollouts, in a search that may use others
    first: Any  # float64 [(steps + 1) · S · cells]: means, see fill_moments
    second: Any  # float64 [(steps + 1) · S · cells]: means of squares
    slope: Any  # float64 [cells]: the sum is Σ slope·y + curve·y², y the mass that is added to the root's
    curve: Any  # float64 [cells]
    pieces: Any  # float64 [count · 2 · cells]: the same for each statistic of the objective
    swing: Any  # float64 [count]: how far a statistic varies
    sums: Any  # float64 [(steps + 1) · S]: the expectation of that sum over a rollout from there
    stamps: Any  # int64 [(steps + 1) · S]: the decision it was computed for
    serial: Any  # int64 [1]: the number of the decision
    fit: Any  # float64 [8]: what decides on the factor, see without_luck

    def prepare(self, setup, running, s, t):
        if self.cells == 0:
            return 0
        objective = setup.objective
        cells, count = u64(self.cells), u64(objective.count())
        i = u64(0)
        while i < cells:
            self.slope[i] = 0.0
            self.curve[i] = 0.0
            i += u64(1)
        m = u64(0)
        while m < count:
            lay(self, objective, running, m, (t * u64(self.states) + s) * cells)
            m += u64(1)
        m = u64(0)
        while m < count:
            rate = rate_of(self, objective, running, m)
            at = u64(2) * m * cells
            i = u64(0)
            while i < cells:
                self.slope[i] += rate * self.pieces[at + i]
                self.curve[i] += rate * self.pieces[at + cells + i]
                i += u64(1)
            m += u64(1)
        fade(self.fit, t)
        self.serial[0] += 1
        return 0

    def expectation(self, objective, running, weights, t0, s, t, length):
        if self.cells == 0:
            return 0.0
        start, cells, place = u64(self.start), u64(self.cells), t * u64(self.states) + s
        at = place * cells
        if self.stamps[place] != self.serial[0]:
            total = 0.0
            i = u64(0)
            while i < cells:
                total += self.slope[i] * self.first[at + i] + self.curve[i] * self.second[at + i]
                i += u64(1)
            self.sums[place] = total
            self.stamps[place] = self.serial[0]
        expected = self.sums[place]
        k = u64(0)
        while k < length:  # y·(slope + curve·(y + 2X)), y being the sum of the weights of some of these visits
            c = u64(running.path[k])
            if start <= c < start + cells:
                i = c - start
                w = weights[t0 + k // u64(running.counts.entries())]
                y = running.d[c] - running.root[c]
                expected += w * (self.slope[i] + self.curve[i] * (y + 2.0 * self.first[at + i]))
            k += u64(1)
        return expected

    def adjust(self, setup, running, span, changed, expected, value):
        if self.cells == 0:
            return value
        start, end, excess = u64(self.start), u64(self.start) + u64(self.cells), -expected
        j = u64(0)
        while j < changed:
            c = u64(running.touched[j])
            if start <= c < end:
                i = c - start
                y = running.mass[j] - running.root[c]
                excess += y * (self.slope[i] + self.curve[i] * y)
            j += u64(1)
        return without_luck(self.fit, excess, value)
