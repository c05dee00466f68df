"""The control variate of totals: see ``gumdp.search.control_variate_kernels``.

The function that is fitted to the objective is linear. What chance adds to the totals in the tree is taken off too,
step by step: by how much the expectation after a step differs from that before it has mean 0, whatever action was
chosen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.counts.feature_kernels import probe_value
from gumdp.jit.record import kernel, part, record, u64
from gumdp.models.chain import at_start
from gumdp.search.control_variate_kernels import factor_of, fade, without_luck

SMALL = 1e-6  # a deviation, as a share of the mean, that is none


@kernel
def fill_total_moments(chain, policy, weights, horizon, amounts, late, first, second, taken):
    """``fill_moments`` for totals: ``amounts`` [S·A, k], or [transitions, k] where they are ``late``.

    ``taken[t, s, a]`` are the means of what is added from step t on if that begins with action a.
    """
    steps, states, kinds = first.shape[0] - 1, first.shape[1], first.shape[2]
    first[steps] = 0.0
    second[steps] = 0.0
    for t in range(steps - 1, -1, -1):
        w, table, fresh = weights[t], policy[t % horizon % policy.shape[0]], (t + 1) % horizon == 0
        for s in range(states):
            for k in range(kinds):
                first[t, s, k] = 0.0
                second[t, s, k] = 0.0
                for a in range(chain.actions):
                    r, one, two = s * chain.actions + a, 0.0, 0.0
                    for j in range(chain.offsets[r], chain.offsets[r + 1]):
                        after = chain.successors[j]
                        x, xx = first[t + 1, after, k], second[t + 1, after, k]
                        if fresh:
                            x, xx = at_start(chain, first[t + 1, :, k]), at_start(chain, second[t + 1, :, k])
                        y, p = w * amounts[j if late else r, k], chain.probabilities[j]
                        one += p * (y + x)
                        two += p * (y * y + 2.0 * y * x + xx)  # (y + X)²
                    taken[t, s, a, k] = one
                    first[t, s, k] += table[s, a] * one
                    second[t, s, k] += table[s, a] * two


@part
def height(slope, running, means, at):
    """How high the plane is at the running totals with the ``means`` from ``at`` on, over the root's."""
    sum = 0.0
    for k in range(slope.size):
        sum += slope[k] * (running.d[k] - running.root[k] + means[at + u64(k)])
    return sum


@record
class TotalsControlVariate:
    """The moments of what rollouts add to totals, and the plane that is laid along the objective at this decision.

    The slope in each total is that over as far as it varies, which sees past kinks and steps. What chance adds to the
    totals in the tree is luck too, which is known step by step.
    """

    states: int
    actions: int
    cells: int  # how many totals there are; 0: nothing is known of these rollouts, in a search that may use others
    first: Any  # float64 [(steps + 1) · S · k]: means, see fill_total_moments
    second: Any  # float64 [(steps + 1) · S · k]: means of squares
    taken: Any  # float64 [steps · S · A · k]: means
    slope: Any  # float64 [k]
    fit: Any  # float64 [8]: see without_luck
    luck: Any  # float64 [steps, or none]: of each step of this simulation in the tree

    def prepare(self, setup, running, s, t):
        objective = setup.objective
        at = (t * u64(self.states) + s) * u64(self.cells)
        for k in range(self.cells):
            running.probe[k] = running.root[k] + self.first[at + u64(k)]
        for k in range(self.cells):
            mean, middle = self.first[at + u64(k)], running.probe[k]
            swing = math.sqrt(max(0.0, self.second[at + u64(k)] - mean * mean))
            slope = 0.0
            if swing > SMALL * abs(mean):
                running.probe[k] = middle + swing
                above = probe_value(objective, running)
                running.probe[k] = middle - swing
                slope = (above - probe_value(objective, running)) / (2.0 * swing)
                running.probe[k] = middle
            self.slope[k] = slope if np.isfinite(slope) else 0.0
        fade(self.fit, t)
        return 0

    def foresee(self, running, s, a, t, depth):
        if self.luck.size > 0:
            at = ((t * u64(self.states) + s) * u64(self.actions) + a) * u64(self.cells)
            self.luck[depth] = -height(self.slope, running, self.taken, at)
        return 0

    def look_back(self, running, s, t, depth):
        if self.luck.size > 0:
            at = (t * u64(self.states) + s) * u64(self.cells)
            self.luck[depth] = factor_of(self.fit) * (self.luck[depth] + height(self.slope, running, self.first, at))
        return 0

    def luck_of(self, depth):
        total = 0.0
        if self.luck.size > 0:
            for j in range(depth):
                total += self.luck[j]
        return total

    def expectation(self, objective, running, weights, t0, s, t, length):
        return height(self.slope, running, self.first, (t * u64(self.states) + s) * u64(self.cells))

    def adjust(self, setup, running, span, changed, expected, value):
        if self.cells == 0:
            return value
        excess = -expected
        j = u64(0)
        while j < changed:
            k = u64(running.touched[j])
            excess += self.slope[k] * (running.mass[j] - running.root[k])
            j += u64(1)
        return without_luck(self.fit, excess, value)
