"""What one could do at best who knew in advance how chance will fall, and pays for using it.

Chance is one number in [0, 1) a step: it decides where each action leads, from any state. Once all of them are
known, a run is a path through the steps. The penalty V(s') - E[V(s')], taken off at each step, has mean 0 for every
policy that doesn't look ahead, so the mean of the clairvoyant's best penalised outcomes is a lower bound on what any
policy can reach. V are the costs to go under the tangent of Jensen's bound at the root: with it, no outcome is
below that bound. The best path itself is bounded from below as everywhere here, by a tangent and dynamic programming.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.average.rest_kernels import share_out, tangent_at
from gumdp.jit.random import advance, mix, unit
from gumdp.jit.record import kernel, part, record, u64
from gumdp.models.chain import at_start


class Oracle(NamedTuple):
    """What is known before chance is: the costs to go, and their means after each pair."""

    values: Any  # float64 [steps + 1, S]: V
    means: Any  # float64 [steps, S·A]: E[V(s')] after the pair
    begin: Any  # float64 [1]: E[V] at the start
    next: Any  # int32 [steps, S·A]: where chance makes each pair lead; scratch
    starts: Any  # int32 [episodes]: where it makes each episode begin; scratch


@record
class Penalised:
    """f(d) + p of an occupancy with the penalty p as one more entry."""

    inner: Any
    cells: int

    def value(self, d):
        return self.inner.value(d[: self.cells]) + d[self.cells]

    def tangent(self, d, g, factor, smoothing):
        g[self.cells] += factor
        return self.inner.tangent(d[: self.cells], g[: self.cells], factor, smoothing)


@kernel
def foresee(task, slope, oracle):
    """Fill in the costs to go under the costs ``slope``, and their means."""
    chain = task.chain
    steps, states = oracle.means.shape[0], oracle.values.shape[1]
    oracle.values[steps, :] = 0.0
    for t in range(steps - 1, -1, -1):
        fresh = (t + 1) % task.horizon == 0
        begin = at_start(chain, oracle.values[t + 1])
        for s in range(states):
            least = np.inf
            for r in range(s * chain.actions, (s + 1) * chain.actions):
                mean = begin if fresh else 0.0
                if not fresh:
                    for j in range(chain.offsets[r], chain.offsets[r + 1]):
                        mean += chain.probabilities[j] * oracle.values[t + 1, chain.successors[j]]
                oracle.means[t, r] = mean
                if chain.offsets[r] < chain.offsets[r + 1]:
                    least = min(least, task.weights[t] * slope[r] + mean)
            oracle.values[t, s] = least
    oracle.begin[0] = at_start(chain, oracle.values[0])


@part
def draw(states, probabilities, first, end, u):
    """The state that ``u`` falls on; the last one if rounding leaves a rest."""
    total = 0.0
    for j in range(first, end - 1):
        total += probabilities[j]
        if u < total:
            return states[j]
    return states[end - 1]


@kernel
def reveal(task, oracle, rng):
    """Draw all of chance. Returns the generator's state."""
    chain, steps = task.chain, oracle.next.shape[0]
    for k in range(oracle.starts.size):
        rng = advance(u64(rng))
        count = chain.start_states.size
        oracle.starts[k] = draw(chain.start_states, chain.start_probabilities, 0, count, unit(mix(rng)))
    for t in range(steps):
        rng = advance(u64(rng))
        u = unit(mix(rng))
        for r in range(oracle.next.shape[1]):
            if (t + 1) % task.horizon == 0:
                oracle.next[t, r] = oracle.starts[(t + 1) // task.horizon % oracle.starts.size]
            elif chain.offsets[r] < chain.offsets[r + 1]:
                oracle.next[t, r] = draw(
                    chain.successors, chain.probabilities, chain.offsets[r], chain.offsets[r + 1], u
                )
    return rng


@part
def penalty(oracle, t, r):
    """What knowing where the pair leads is charged with."""
    return oracle.means[t, r] - oracle.values[t + 1, oracle.next[t, r]]


@kernel
def best_path(task, oracle, g, workspace, corner):
    """The least Σ w·g + penalties over the paths, which ``corner`` becomes the occupancy and the penalty of."""
    chain, steps, states = task.chain, oracle.means.shape[0], oracle.values.shape[1]
    ahead, values = workspace.spare, workspace.values
    ahead[:] = 0.0
    for t in range(steps - 1, -1, -1):
        for s in range(states):
            least, best = np.inf, 0
            for a in range(chain.actions):
                r = s * chain.actions + a
                if chain.offsets[r] < chain.offsets[r + 1]:
                    q = task.weights[t] * g[r] + penalty(oracle, t, r) + ahead[oracle.next[t, r]]
                    if q < least:
                        least, best = q, a
            values[s] = least
            workspace.choices[t, s] = best
        for s in range(states):
            ahead[s] = values[s]
    s = oracle.starts[0]
    extra = oracle.begin[0] - oracle.values[0, s]
    least = ahead[s] + extra
    corner[:] = 0.0
    for t in range(steps):
        r = s * chain.actions + workspace.choices[t, s]
        corner[r] += task.weights[t]
        extra += penalty(oracle, t, r)
        s = oracle.next[t, r]
    corner[corner.size - 1] = extra
    return least


@kernel
def clairvoyant(tangent, task, oracle, workspace, constant, slope, rounds, tolerance, smoothing, rng, outcomes):
    """Fill ``outcomes`` with lower bounds on the clairvoyant's best penalised outcome, one for each draw of chance.

    ``workspace`` is for occupancies with one more entry; ``constant`` and ``slope`` are the tangent to begin with.
    Returns the generator's state.
    """
    cells = slope.size
    for k in range(outcomes.size):
        rng = reveal(task, oracle, rng)
        bound = constant + best_path(task, oracle, slope, workspace, workspace.corners[0])
        workspace.shares[0] = 1.0
        for i in range(cells + 1):
            workspace.x[i] = workspace.corners[0, i]
        count = 1
        for _ in range(rounds):
            offset = tangent_at(tangent, workspace.x, workspace.g, smoothing)
            bound = max(bound, offset + best_path(task, oracle, workspace.g, workspace, workspace.corners[count]))
            if not tangent.value(workspace.x) - bound > tolerance or count + 1 == workspace.shares.size:
                break
            workspace.shares[count] = 0.0
            count = share_out(tangent, workspace, count + 1, 0.1 * tolerance, smoothing)
        outcomes[k] = bound
    return rng
