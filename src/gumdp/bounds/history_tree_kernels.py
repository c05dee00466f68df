"""The Jensen tree: the first steps of every history exactly, and a bound below the histories that go on.

A node is a history: the state it leads to, at the step of its depth. Its bound is what ``tighten`` says, or, once it
has children, the least over the actions of the mean over the outcomes of the children's bounds, whichever is more.
The root stands before the first state is drawn. Which leaf is expanded next: on the way down, always the action of
the least bound (no other one can lift the node's bound), and the outcome with the most to be gained below it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.average.rest_kernels import tighten
from gumdp.jit.record import kernel, part
from gumdp.models.chain import copy


class Bush(NamedTuple):
    """A Jensen tree of at most ``state.size`` nodes; node 0 is the root. Children of a node lie side by side."""

    state: Any  # int32 [nodes]: -1 at the root
    action: Any  # int32 [nodes]: the action before the state, -1 where there was none
    parent: Any  # int32 [nodes]
    child: Any  # int32 [nodes]: the first child, or -1
    step: Any  # int32 [nodes]: the steps made
    chance: Any  # float64 [nodes]: the probability of the outcome, given the action
    bound: Any  # float64 [nodes]
    hope: Any  # float64 [nodes]: the most that expanding a leaf below can bring, roughly; 0 when there is nothing left
    slope: Any  # float64 [nodes, S·A]: the tangent that gave the bound
    constant: Any  # float64 [nodes]
    o: Any  # float64 [S·A]: the running occupancy of the node in hand
    size: Any  # int64 [1]: nodes in use


class Rules(NamedTuple):
    """How hard to try at each leaf."""

    rounds: int  # tangents
    tolerance: float  # how far below the best a bound may stay
    blur: float  # of the objective's kinks, relative to what is still open


def new_bush(nodes: int, cells: int) -> Bush:
    """A tree with room for ``nodes`` nodes, and none in it."""
    return Bush(
        state=np.empty(nodes, np.int32),
        action=np.empty(nodes, np.int32),
        parent=np.empty(nodes, np.int32),
        child=np.empty(nodes, np.int32),
        step=np.empty(nodes, np.int32),
        chance=np.empty(nodes),
        bound=np.empty(nodes),
        hope=np.empty(nodes),
        slope=np.empty((nodes, cells)),
        constant=np.empty(nodes),
        o=np.zeros(cells),
        size=np.zeros(1, np.int64),
    )


def enlarged(bush: Bush, nodes: int) -> Bush:
    """The same tree with room for ``nodes`` nodes."""
    larger, count = new_bush(nodes, bush.o.size), int(bush.size[0])
    for name, old, new in zip(Bush._fields, bush, larger, strict=True):
        part = slice(0, count if name not in ("o", "size") else None)
        new[part] = old[part]
    return larger


@kernel
def add(task, bush, parent, state, action, chance):
    """A new leaf, without a bound yet."""
    node = bush.size[0]
    bush.size[0] += 1
    step = 0
    if parent >= 0:
        step = bush.step[parent] + (1 if action >= 0 else 0)
    bush.state[node], bush.action[node], bush.parent[node], bush.child[node] = state, action, parent, -1
    bush.step[node], bush.chance[node], bush.hope[node] = step, chance, task.hopes[step]


@kernel
def expand(task, bush, node):
    """Give ``node`` its children, without bounds yet. The tree needs room for them."""
    chain, s, t = task.chain, bush.state[node], bush.step[node]
    bush.child[node] = bush.size[0]
    for a in range(chain.actions if s >= 0 else 1):
        r = s * chain.actions + a
        if s >= 0 and chain.offsets[r] == chain.offsets[r + 1]:
            continue
        if s >= 0 and t + 1 == task.weights.size:
            add(task, bush, node, 0, a, 1.0)
        elif s < 0 or (t + 1) % task.horizon == 0:  # an episode begins
            for j in range(chain.start_states.size):
                add(task, bush, node, chain.start_states[j], a if s >= 0 else -1, chain.start_probabilities[j])
        else:
            for j in range(chain.offsets[r], chain.offsets[r + 1]):
                add(task, bush, node, chain.successors[j], a, chain.probabilities[j])


@kernel
def occupancy_of(task, bush, node):
    """``bush.o`` becomes the running occupancy of ``node``."""
    bush.o[:] = 0.0
    while bush.parent[node] >= 0:
        if bush.action[node] >= 0:
            before = bush.parent[node]
            bush.o[bush.state[before] * task.chain.actions + bush.action[node]] += task.weights[bush.step[before]]
        node = bush.parent[node]


@kernel
def bound_leaf(tangent, task, bush, desk, rules, node):
    """Bound a leaf, beginning with the tangent of its parent; the root, with the one on the desk."""
    occupancy_of(task, bush, node)
    parent, step = bush.parent[node], bush.step[node]
    if parent >= 0:
        copy(bush.slope[parent], desk.slope)
        desk.constant[0] = bush.constant[parent]
    if step == task.weights.size:
        bush.bound[node] = tangent.value(bush.o)
    else:
        blur = rules.blur * task.open[step]
        bush.bound[node] = tighten(
            tangent, task, step, bush.state[node], bush.o, desk, rules.rounds, rules.tolerance, blur
        )
        if parent >= 0:
            bush.bound[node] = tangent.lift(
                task, step, bush.state[node], bush.o, desk, bush.slope[parent], bush.bound[node]
            )
    copy(desk.slope, bush.slope[node])
    bush.constant[node] = desk.constant[0]


@part
def last_child(bush, node):
    """One past the last child of ``node``."""
    end = bush.child[node]
    while end < bush.size[0] and bush.parent[end] == node:
        end += 1
    return end


@kernel
def weigh(bush, node):
    """The least mean bound over the actions in ``node``, the child with the most hope under it, and that hope."""
    c, end = bush.child[node], last_child(bush, node)
    least, best, most = np.inf, -1, 0.0
    while c < end:
        a, mean, child, hope = bush.action[c], 0.0, c, -1.0
        while c < end and bush.action[c] == a:
            mean += bush.chance[c] * bush.bound[c]
            if bush.chance[c] * bush.hope[c] > hope:
                hope, child = bush.chance[c] * bush.hope[c], c
            c += 1
        if mean < least:
            least, best, most = mean, child, hope
    return least, best, most


@kernel
def grow(tangent, task, bush, desk, rules, times, widest):
    """Expand up to ``times`` leaves, the most promising first. Returns how many were.

    Fewer are when the tree is full, or when nothing is left to be gained: then its bound is the optimum.
    ``widest`` is the largest number of children that a node can have.
    """
    for done in range(times):
        if bush.size[0] + widest > bush.state.size or not bush.hope[0] > 0.0:
            return done
        node = 0
        while bush.child[node] >= 0:
            _, node, _ = weigh(bush, node)
        fresh = bush.size[0]
        expand(task, bush, node)
        for leaf in range(fresh, bush.size[0]):
            bound_leaf(tangent, task, bush, desk, rules, leaf)
        while node >= 0:
            bound, _, hope = weigh(bush, node)
            bush.bound[node] = max(bush.bound[node], bound)
            bush.hope[node] = hope
            node = bush.parent[node]
    return times
