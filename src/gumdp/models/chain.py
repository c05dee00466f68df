"""Dynamic programming on a tabular model: the cheapest way to run up linear costs, and what it occupies.

For costs c(s,a) that don't depend on anything else, the least expected total is found from the last step to the
first, exactly: there is no solver and no tolerance in it. Every first-order method here asks this of the model,
and nothing more. Costs are flat arrays [S·A], row r = s·A + a.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import kernel, part, u64

RAREST = 1e-30  # the least probability that mirror descent gives an action: from 0 there would be no way back


class Chain(NamedTuple):
    """A tabular model as it is given, with its probabilities. An empty row is an action that is not available."""

    actions: int
    offsets: Any  # int64 [S·A + 1]
    successors: Any  # int32 [n]
    probabilities: Any  # float64 [n]
    start_states: Any  # int32 [m]
    start_probabilities: Any  # float64 [m]


def chain_of(model: Any) -> Chain:
    """The chain of a ``Tabular`` model. The arrays are the model's own."""
    return Chain(
        model.shape[1], model.offsets, model.successors, model.probabilities,
        model.start_states, model.start_probabilities,
    )  # fmt: skip


@part
def copy(source, target):
    """``target`` holds what ``source`` does. (Assigning a slice would allocate.)"""
    i, end = u64(0), u64(target.size)
    while i < end:
        target[i] = source[i]
        i += u64(1)


# --- a finite horizon: weights for each step, episodes one after another ---


@kernel
def plan_back(chain, weights, horizon, first, costs, choices, values, ahead):
    """``values[s]`` becomes the least Σ_{k ≥ first} w_k·c(s_k, a_k) from ``s`` at step ``first`` on average.

    ``choices[k, s]`` becomes the action that attains it at step k, the first of several. ``ahead`` [S] is scratch.
    """
    actions, states, offsets = u64(chain.actions), u64(values.size), chain.offsets
    ahead[:] = 0.0
    for k in range(weights.size - 1, first - 1, -1):
        w, t = weights[k], u64(k)
        r, s = u64(0), u64(0)
        j = u64(0)
        while s < states:
            least, best = np.inf, u64(0)
            end = r + actions
            while r < end:
                stop = u64(offsets[r + u64(1)])
                q = w * costs[r] if j < stop else np.inf
                while j < stop:
                    q += chain.probabilities[j] * ahead[u64(chain.successors[j])]
                    j += u64(1)
                best = r + actions - end if q < least else best
                least = min(q, least)
                r += u64(1)
            values[s] = least
            choices[t, s] = best
            s += u64(1)
        if k % horizon == 0 and k > first:
            ahead[:] = at_start(chain, values)
        else:
            copy(values, ahead)


@part
def at_start(chain, values):
    """The mean of ``values`` over the start."""
    total = 0.0
    for j in range(chain.start_states.size):
        total += chain.start_probabilities[j] * values[chain.start_states[j]]
    return total


@part
def put_start(chain, mass):
    """``mass`` becomes the start distribution."""
    mass[:] = 0.0
    for j in range(chain.start_states.size):
        mass[chain.start_states[j]] = chain.start_probabilities[j]


@kernel
def plan_forth(chain, weights, horizon, first, choices, mass, after, d):
    """Add to ``d`` what following ``choices`` from the distribution ``mass`` at step ``first`` occupies on average.

    ``mass`` [S] is used up, ``after`` [S] is scratch.
    """
    actions, states = u64(chain.actions), u64(mass.size)
    for k in range(first, weights.size):
        if k > first and k % horizon == 0:
            put_start(chain, mass)
        w, t = weights[k], u64(k)
        after[:] = 0.0
        s = u64(0)
        while s < states:
            m = mass[s]
            if m > 0.0:
                r = s * actions + u64(choices[t, s])
                d[r] += w * m
                j, stop = u64(chain.offsets[r]), u64(chain.offsets[r + u64(1)])
                while j < stop:
                    after[u64(chain.successors[j])] += chain.probabilities[j] * m
                    j += u64(1)
            s += u64(1)
        copy(after, mass)


@kernel
def flow_forth(chain, weights, horizon, first, policy, mass, after, d):
    """Add to ``d`` what the policy [H, S·A] occupies on average from the distribution ``mass`` at step ``first`` on.

    ``mass`` [S] is used up, ``after`` [S] is scratch.
    """
    actions, states = u64(chain.actions), u64(mass.size)
    for k in range(first, weights.size):
        if k > first and k % horizon == 0:
            put_start(chain, mass)
        w, t = weights[k], u64(k % horizon)
        after[:] = 0.0
        s = u64(0)
        while s < states:
            if mass[s] > 0.0:
                r = s * actions
                end = r + actions
                while r < end:
                    m = mass[s] * policy[t, r]
                    if m > 0.0:
                        d[r] += w * m
                        j, stop = u64(chain.offsets[r]), u64(chain.offsets[r + u64(1)])
                        while j < stop:
                            after[u64(chain.successors[j])] += chain.probabilities[j] * m
                            j += u64(1)
                    r += u64(1)
            s += u64(1)
        copy(after, mass)


@part
def reweigh(policy, first, actions, q, step):
    """``policy[first …]`` of a state becomes ∝ policy · exp(-step·q), in logarithms, where nothing overflows."""
    most = -np.inf
    for a in range(actions):
        if policy[first + a] > 0.0:
            q[a] = math.log(policy[first + a]) - step * q[a]
            most = max(most, q[a])
    total = 0.0
    for a in range(actions):
        if policy[first + a] > 0.0:
            policy[first + a] = max(RAREST, math.exp(q[a] - most))
            total += policy[first + a]
    for a in range(actions):
        policy[first + a] /= total


@kernel
def soften_back(chain, weights, horizon, costs, step, policy, values, ahead, q):
    """One step of mirror descent: ``policy`` [H, S·A] becomes ∝ policy · exp(-step·Q), Q its own costs to go.

    Q is per unit of the weight of its step, so that late steps move as far as early ones. With several episodes,
    whose steps have the same weights, one episode stands for all.
    """
    actions = chain.actions
    states = policy.shape[1] // actions
    ahead[:] = 0.0
    for k in range(horizon - 1, -1, -1):
        w = weights[k]
        for s in range(states):
            v = 0.0
            for a in range(actions):
                r = s * actions + a
                q[a] = costs[r] * w
                for j in range(chain.offsets[r], chain.offsets[r + 1]):
                    q[a] += chain.probabilities[j] * ahead[chain.successors[j]]
                if policy[k, r] > 0.0:
                    v += policy[k, r] * q[a]
            values[s] = v
            reweigh(policy[k], s * actions, actions, q, step / w)
        copy(values, ahead)


# --- the infinite horizon ---


@kernel
def improve(chain, discount, costs, values, choices, sweeps, width):
    """Improve ``values`` towards the least cost to go until one backup changes it by the same amount everywhere.

    "The same" is within ``width``. Returns the least change (T V)(s) - V(s) of the final values, with which
    (1-γ)·start·V + change is a lower bound on every occupancy's cost, and how wide the changes are.
    """
    actions, offsets = chain.actions, chain.offsets
    low, high = 0.0, 0.0
    for sweep in range(sweeps + 1):
        looking = sweep % 8 == 0 or sweep == sweeps  # changes count only against values that stay as they are
        low, high = np.inf, -np.inf
        for s in range(values.size):
            least = np.inf
            for a in range(actions):
                r = s * actions + a
                if offsets[r] < offsets[r + 1]:
                    q = 0.0
                    for j in range(offsets[r], offsets[r + 1]):
                        q += chain.probabilities[j] * values[chain.successors[j]]
                    q = costs[r] + discount * q
                    if q < least:
                        least = q
                        choices[s] = a
            if looking:
                low, high = min(low, least - values[s]), max(high, least - values[s])
            else:
                values[s] = least
        if looking and high - low <= width:
            break
    return low, high - low


@kernel
def soften(chain, discount, costs, values, step, policy, q):
    """``policy`` [S·A] becomes ∝ policy · exp(-step·(c + γ·P·values))."""
    for s in range(values.size):
        for a in range(chain.actions):
            r = s * chain.actions + a
            total = 0.0
            for j in range(chain.offsets[r], chain.offsets[r + 1]):
                total += chain.probabilities[j] * values[chain.successors[j]]
            q[a] = costs[r] + discount * total
        reweigh(policy, s * chain.actions, chain.actions, q, step)


@kernel
def relax(offsets, columns, entries, discount, constant, x, sweeps, tolerance):
    """``x`` = constant + γ·M·x for a sparse square matrix M, by Gauss–Seidel sweeps from the given ``x``.

    Stops when no entry moves by more than ``tolerance``; returns the sweeps made.
    """
    for sweep in range(sweeps):
        moved = 0.0
        for i in range(x.size):
            total, own = 0.0, 0.0
            for j in range(offsets[i], offsets[i + 1]):
                if columns[j] == i:
                    own += entries[j]
                else:
                    total += entries[j] * x[columns[j]]
            fresh = (constant[i] + discount * total) / (1.0 - discount * own)
            moved = max(moved, abs(fresh - x[i]))
            x[i] = fresh
        if moved <= tolerance:
            return sweep + 1
    return sweeps
