"""The decomposition's value function: a lower bound from every history, by one look-up for each statistic."""

from __future__ import annotations

from typing import Any, NamedTuple

from gumdp.bounds.decomposition_kernels import lay_grid, phi, place
from gumdp.bounds.history_tree_kernels import expand, lead, occupancy_of, tell
from gumdp.jit.record import kernel, part


class Tables(NamedTuple):
    """The values of every cell at the first steps, on its own grid, relative to that of the share it begins with."""

    base: Any  # float64: c₀ and the sum of what all cells are worth with those shares, from t·S + s on
    values: Any  # float64: for cell i at the run's t-th step in state s, from starts[i] + (t·S + s)·n_i on
    starts: Any  # int64 [N]
    x: Any  # float64: the grid of cell i, from places[i] on,
    own: Any  # float64: and z·log z there
    places: Any  # int64 [N + 1]
    constant: float  # c₀
    costs: Any  # float64 [S·A]: c
    hopes: Any  # float64 [S]: how much there is to be gained, compared with other states


@kernel
def lay_grids(cells, tables):
    """Fill in the grids of all cells."""
    for i in range(tables.starts.size):
        first, last = tables.places[i], tables.places[i + 1]
        lay_grid(cells, i, tables.x[first:last], tables.own[first:last])


@kernel
def set_apart(run, cells, tables, states, i):
    """Move what cell ``i`` is worth with the share it begins with from its values to the base."""
    first, last = tables.places[i], tables.places[i + 1]
    x, own, size = tables.x[first:last], tables.own[first:last], last - first
    for row in range(tables.base.size):
        at = tables.starts[i] + row * size
        j, far, loss = place(cells, i, x, own, cells.begin[i], run.open[run.first + row // states])
        begin = (1.0 - far) * tables.values[at + j] + far * tables.values[at + j + 1] - loss
        tables.base[row] += begin
        for k in range(at, at + size):
            tables.values[k] -= begin


@part
def worth(run, cells, tables, states, t, s, o):
    """A lower bound on E[f(d)] from the occupancy ``o`` in state ``s`` after ``t`` steps on."""
    total = tables.constant if t == run.steps else tables.base[(t - run.first) * states + s]
    for r in range(o.size):
        total += tables.costs[r] * o[r]
    for i in range(tables.starts.size):
        share = 0.0
        for j in range(cells.offsets[i], cells.offsets[i + 1]):
            share += cells.amounts[j] * o[cells.pairs[j]]
        if t == run.steps:
            total += phi(cells, i, share)
        elif share != cells.begin[i]:
            first, last = tables.places[i], tables.places[i + 1]
            x, own = tables.x[first:last], tables.own[first:last]
            j, far, loss = place(cells, i, x, own, share, run.open[t])
            at = tables.starts[i] + ((t - run.first) * states + s) * (last - first) + j
            total += (1.0 - far) * tables.values[at] + far * tables.values[at + 1] - loss
    return total


@kernel
def value_of(run, cells, tables, states, t, s, o):
    """A lower bound on E[f(d)] from the occupancy ``o`` in state ``s`` after ``t`` steps on."""
    return worth(run, cells, tables, states, t, s, o)


@kernel
def branch_out(run, cells, tables, task, tree, top, times, widest, states):
    """Expand up to ``times`` leaves below ``top``, the most promising first. Returns how many were."""
    for done in range(times):
        if tree.size[0] + widest > tree.state.size or not tree.potential_gain[top] > 0.0:
            return done
        node = lead(tree, top)
        fresh = tree.size[0]
        expand(task, tree, node)
        for leaf in range(fresh, tree.size[0]):
            if leaf == fresh or tree.action[leaf] != tree.action[leaf - 1]:
                occupancy_of(task, tree, leaf)
            tree.bound[leaf] = worth(run, cells, tables, states, tree.step[leaf], tree.state[leaf], tree.o)
            tree.potential_gain[leaf] *= tables.hopes[tree.state[leaf]]
        tell(tree, node, top)
    return times


@kernel
def fortune(run, cells, tables, states, path, actions, o, steps):
    """Σ_t V̂(s_t) - E[V̂(s_t) | the history before] over the first ``steps`` steps of a trial: how lucky it was.

    Each summand has mean 0 whatever the policy does, so that the sum can be taken off the value of a trial without
    changing its mean. ``o`` is scratch.
    """
    chain, total = run.chain, 0.0
    o[:] = 0.0
    for t in range(min(steps, actions.size)):
        fresh = t % run.horizon == 0
        r = path[t - 1] * chain.actions + actions[t - 1] if t > 0 else 0
        outcomes = chain.start_states if fresh else chain.successors
        chances = chain.start_probabilities if fresh else chain.probabilities
        first = 0 if fresh else chain.offsets[r]
        end = chain.start_states.size if fresh else chain.offsets[r + 1]
        if end - first > 1:
            came = worth(run, cells, tables, states, t, path[t], o)
            for j in range(first, end):
                if outcomes[j] != path[t]:
                    total += chances[j] * (came - worth(run, cells, tables, states, t, outcomes[j], o))
        o[path[t] * chain.actions + actions[t]] += run.weights[t]
    return total


@kernel
def look_ahead(run, cells, tables, states, t, s, o, depth, q):
    """``q[a]`` becomes the mean of V̂ after action ``a`` in state ``s`` at step ``t``, where the action is available.

    Beyond the steps that are remembered, the last one stands for all. ``o`` is left as it is.
    """
    chain = run.chain
    after = t + 1 if t + 1 == run.steps else min(t + 1, depth - 1)
    for a in range(chain.actions):
        r = s * chain.actions + a
        if chain.offsets[r] == chain.offsets[r + 1]:
            continue
        before = o[r]
        o[r] = before + run.weights[t]
        fresh = (t + 1) % run.horizon == 0
        outcomes = chain.start_states if fresh else chain.successors
        chances = chain.start_probabilities if fresh else chain.probabilities
        first = 0 if fresh else chain.offsets[r]
        end = chain.start_states.size if fresh else chain.offsets[r + 1]
        total = 0.0
        for j in range(first, end):
            total += chances[j] * worth(run, cells, tables, states, after, outcomes[j], o)
        q[a] = total
        o[r] = before
