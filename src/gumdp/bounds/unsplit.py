"""Tangents of separable objectives, bent by what single steps weigh: a step can't be split between pairs.

Let f(d) = Σ_i φ_i(d_i), each φ_i convex, and take the tangent of φ_i at x. Seen from a running occupancy o_i it says
φ_i(o_i + y) ≥ φ_i(x) + g·(o_i - x) + g·y. Steps of a weight w ≥ x - o_i can be charged more than g·w, namely
c(w) = φ_i(o_i + w) - φ_i(x) + g·(x - o_i): with ψ(y) = φ_i(o_i + y) - φ_i(x) + g·(x - o_i) the tangent says
ψ(y) ≥ g·y, with equality at y = x - o_i. So ψ(y)/y does not fall from there on, which makes ψ superadditive there; and
what small steps s add to a total b of large ones is at least ψ'(b)·s ≥ g·s. In all, ψ(Σ w) ≥ Σ_large ψ(w) +
Σ_small g·w. These charges depend on the step and the pair alone: the least total is dynamic programming again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.average.rest_kernels import dot, set_off, tangent_at
from gumdp.jit.record import kernel, part, record
from gumdp.models.chain import at_start, copy, put_start
from gumdp.objectives.tangent import LEAST, Tangent

SHORTEST = 1e-2  # the step of the ascent at which it ends


@record
class Lifted(Tangent):
    """A separable objective whose tangents are to be bent."""

    inner: Any
    rounds: int  # of the ascent

    def value(self, d):
        return self.inner.value(d)

    def tangent(self, d, g, factor, smoothing):
        return self.inner.tangent(d, g, factor, smoothing)

    def unsplit(self, task, first, state, o, workspace, before, bound):
        return unsplit(self.inner, task, first, state, o, workspace, before, bound, self.rounds)


@part
def charge(tangent, task, k, r, o, workspace, g, xi):
    """What step ``k`` costs at pair ``r``. ``workspace.y`` has the part that does not depend on the step."""
    w = task.weights[k]
    return tangent.own(r, o[r] + w) - workspace.y[r] if w >= xi[r] else w * g[r]


@kernel
def charged_back(tangent, task, first, state, o, workspace, g, xi):
    """The least total of the charges from (state, o, first); ``choices`` becomes the plan that attains it."""
    chain, values, ahead = task.chain, workspace.values, workspace.spare
    ahead[:] = 0.0
    for k in range(task.weights.size - 1, first - 1, -1):
        for s in range(values.size):
            least, best = np.inf, 0
            for a in range(chain.actions):
                r = s * chain.actions + a
                if chain.offsets[r] == chain.offsets[r + 1]:
                    continue
                q = charge(tangent, task, k, r, o, workspace, g, xi)
                for j in range(chain.offsets[r], chain.offsets[r + 1]):
                    q += chain.probabilities[j] * ahead[chain.successors[j]]
                if q < least:
                    least, best = q, a
            values[s] = least
            workspace.choices[k, s] = best
        if k % task.horizon == 0 and k > first:
            ahead[:] = at_start(chain, values)
        else:
            copy(values, ahead)
    return values[state] if state >= 0 else at_start(chain, values)


@kernel
def charged_forth(task, first, state, workspace, xi, small, large):
    """What the plan in ``choices`` brings to each pair on average: the mass of small steps, how many large ones."""
    chain, mass, after = task.chain, workspace.mass, workspace.spare
    small[:] = 0.0
    large[:] = 0.0
    set_off(task, state, mass)
    for k in range(first, task.weights.size):
        if k > first and k % task.horizon == 0:
            put_start(chain, mass)
        w = task.weights[k]
        after[:] = 0.0
        for s in range(mass.size):
            if mass[s] > 0.0:
                r = s * chain.actions + workspace.choices[k, s]
                if w >= xi[r]:
                    large[r] += mass[s]
                else:
                    small[r] += w * mass[s]
                for j in range(chain.offsets[r], chain.offsets[r + 1]):
                    after[chain.successors[j]] += chain.probabilities[j] * mass[s]
        copy(after, mass)


@kernel
def lifted_bound(tangent, task, first, state, o, workspace):
    """The bound from the bent tangents at ``workspace.x``; sets ``g``, the charges, and ``way``, the large steps."""
    x, g, xi = workspace.x, workspace.g, workspace.way
    constant = tangent_at(tangent, x, g, 0.0)
    for i in range(x.size):
        xi[i] = x[i] - o[i]
        workspace.y[i] = tangent.own(i, x[i]) - g[i] * xi[i]
    workspace.counts[0] += 1
    return constant + dot(g, o) + charged_back(tangent, task, first, state, o, workspace, g, xi)


@part
def place(tangent, o, slope, x):
    """``x`` becomes where tangents of this slope touch, or the running occupancy where that is more."""
    for i in range(x.size):
        x[i] = max(tangent.point(i, slope[i]), o[i] + LEAST)


@kernel
def unsplit(tangent, task, first, state, o, workspace, before, bound, rounds):
    """A bound that is at least ``bound``, from the workspace's tangent or the one ``before``, whichever is better bent.

    Ascent in where the tangents touch: with ξ = x - o, the bound's slope in x is φ''(x)·(E[small steps' mass] -
    ξ·(1 - E[number of large steps])). The best tangent is left on the workspace.
    """
    x, best = workspace.x, workspace.corners[2]
    small, large = workspace.corners[0], workspace.corners[1]
    place(tangent, o, before, best)
    copy(best, x)
    most = lifted_bound(tangent, task, first, state, o, workspace)
    place(tangent, o, workspace.slope, x)
    value = lifted_bound(tangent, task, first, state, o, workspace)
    if value > most:
        most = value
        copy(x, best)
    else:
        copy(best, x)
        lifted_bound(tangent, task, first, state, o, workspace)
    step = 0.5
    for _ in range(rounds):
        charged_forth(task, first, state, workspace, workspace.way, small, large)
        for i in range(x.size):
            xi = best[i] - o[i]
            turn = (small[i] - xi * (1.0 - large[i])) / xi
            x[i] = o[i] + max(LEAST, xi * np.exp(step * min(1.0, max(-1.0, turn))))
        value = lifted_bound(tangent, task, first, state, o, workspace)
        if value > most:
            most = value
            copy(x, best)
            step = min(1.0, 1.2 * step)
        else:
            step *= 0.5
            if step < SHORTEST:
                break
            copy(best, x)
            lifted_bound(tangent, task, first, state, o, workspace)
    workspace.constant[0] = tangent_at(tangent, best, workspace.slope, 0.0)
    return max(bound, most)
