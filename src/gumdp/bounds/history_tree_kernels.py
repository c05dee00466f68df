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


class HistoryTree(NamedTuple):
    """A Jensen tree of at most ``state.size`` nodes; node 0 is the root. Children of a node lie side by side."""

    state: Any  # int32 [nodes]: -1 at the root
    action: Any  # int32 [nodes]: the action before the state, -1 where there was none
    parent: Any  # int32 [nodes]
    child: Any  # int32 [nodes]: the first child, or -1
    best: Any  # int32 [nodes]: the child with the most to be gained below it, where there are children
    step: Any  # int32 [nodes]: the steps made
    chance: Any  # float64 [nodes]: the probability of the outcome, given the action
    bound: Any  # float64 [nodes]
    potential_gain: (
        Any  # float64 [nodes]: the most that expanding a leaf below can bring, roughly; 0 when there is nothing left
    )
    slope: Any  # float64 [nodes, S·A]: the tangent that gave the bound
    constant: Any  # float64 [nodes]
    o: Any  # float64 [S·A]: the running occupancy of the node in hand
    size: Any  # int64 [1]: nodes in use


class Rules(NamedTuple):
    """How hard to try at each leaf."""

    rounds: int  # tangents
    tolerance: float  # how far below the best a bound may stay
    smoothing: float  # of the objective's kinks, relative to what is still open


def new_history_tree(nodes: int, cells: int) -> HistoryTree:
    """A tree with room for ``nodes`` nodes, and none in it."""
    return HistoryTree(
        state=np.empty(nodes, np.int32),
        action=np.empty(nodes, np.int32),
        parent=np.empty(nodes, np.int32),
        child=np.empty(nodes, np.int32),
        best=np.empty(nodes, np.int32),
        step=np.empty(nodes, np.int32),
        chance=np.empty(nodes),
        bound=np.empty(nodes),
        potential_gain=np.empty(nodes),
        slope=np.empty((nodes, cells)),
        constant=np.empty(nodes),
        o=np.zeros(cells),
        size=np.zeros(1, np.int64),
    )


def enlarged(tree: HistoryTree, nodes: int) -> HistoryTree:
    """The same tree with room for ``nodes`` nodes."""
    larger, count = new_history_tree(nodes, tree.o.size), int(tree.size[0])
    for name, old, new in zip(HistoryTree._fields, tree, larger, strict=True):
        part = slice(0, count if name not in ("o", "size") else None)
        new[part] = old[part]
    return larger


@kernel
def add(task, tree, parent, state, action, chance):
    """A new leaf, without a bound yet."""
    node = tree.size[0]
    tree.size[0] += 1
    step = 0
    if parent >= 0:
        step = tree.step[parent] + (1 if action >= 0 else 0)
    tree.state[node], tree.action[node], tree.parent[node], tree.child[node] = state, action, parent, -1
    tree.step[node], tree.chance[node], tree.potential_gain[node] = step, chance, task.hopes[step]


@kernel
def expand(task, tree, node):
    """Give ``node`` its children, without bounds yet. The tree needs room for them."""
    chain, s, t = task.chain, tree.state[node], tree.step[node]
    tree.child[node] = tree.size[0]
    for a in range(chain.actions if s >= 0 else 1):
        r = s * chain.actions + a
        if s >= 0 and chain.offsets[r] == chain.offsets[r + 1]:
            continue
        if s >= 0 and t + 1 == task.weights.size:
            add(task, tree, node, 0, a, 1.0)
        elif s < 0 or (t + 1) % task.horizon == 0:  # an episode begins
            for j in range(chain.start_states.size):
                add(task, tree, node, chain.start_states[j], a if s >= 0 else -1, chain.start_probabilities[j])
        else:
            for j in range(chain.offsets[r], chain.offsets[r + 1]):
                add(task, tree, node, chain.successors[j], a, chain.probabilities[j])


@kernel
def occupancy_of(task, tree, node):
    """``history tree.o`` becomes the running occupancy of ``node``."""
    tree.o[:] = 0.0
    while tree.parent[node] >= 0:
        if tree.action[node] >= 0:
            before = tree.parent[node]
            tree.o[tree.state[before] * task.chain.actions + tree.action[node]] += task.weights[tree.step[before]]
        node = tree.parent[node]


@kernel
def bound_leaf(tangent, task, tree, workspace, rules, node):
    """Bound a leaf, beginning with the tangent of its parent; the root, with the one on the workspace."""
    occupancy_of(task, tree, node)
    parent, step = tree.parent[node], tree.step[node]
    if parent >= 0:
        copy(tree.slope[parent], workspace.slope)
        workspace.constant[0] = tree.constant[parent]
    if step == task.weights.size:
        tree.bound[node] = tangent.value(tree.o)
    else:
        smoothing = rules.smoothing * task.open[step]
        tree.bound[node] = tighten(
            tangent, task, step, tree.state[node], tree.o, workspace, rules.rounds, rules.tolerance, smoothing
        )
        if parent >= 0:
            tree.bound[node] = tangent.unsplit(
                task, step, tree.state[node], tree.o, workspace, tree.slope[parent], tree.bound[node]
            )
    copy(workspace.slope, tree.slope[node])
    tree.constant[node] = workspace.constant[0]


@part
def last_child(tree, node):
    """One past the last child of ``node``."""
    end = tree.child[node]
    while end < tree.size[0] and tree.parent[end] == node:
        end += 1
    return end


@kernel
def weigh(tree, node):
    """The least mean bound over the actions in ``node``, the child with the most hope under it, and that hope."""
    c, end = tree.child[node], last_child(tree, node)
    least, best, most = np.inf, -1, 0.0
    while c < end:
        a, mean, child, potential_gain = tree.action[c], 0.0, c, -1.0
        while c < end and tree.action[c] == a:
            mean += tree.chance[c] * tree.bound[c]
            if tree.chance[c] * tree.potential_gain[c] > potential_gain:
                potential_gain, child = tree.chance[c] * tree.potential_gain[c], c
            c += 1
        if mean < least:
            least, best, most = mean, child, potential_gain
    return least, best, most


@part
def lead(tree, node):
    """The most promising leaf below a node."""
    while tree.child[node] >= 0:
        node = tree.best[node]
    return node


@kernel
def tell(tree, node, top):
    """Let ``node`` and those above it, up to ``top``, know what its children have found."""
    while node >= top:
        bound, best, potential_gain = weigh(tree, node)
        news = bound > tree.bound[node] or potential_gain != tree.potential_gain[node]
        tree.bound[node] = max(tree.bound[node], bound)
        tree.best[node], tree.potential_gain[node] = best, potential_gain
        if not news:
            break
        node = tree.parent[node]


@kernel
def grow(tangent, task, tree, workspace, rules, times, widest):
    """Expand up to ``times`` leaves, the most promising first. Returns how many were.

    Fewer are when the tree is full, or when nothing is left to be gained: then its bound is the optimum.
    ``widest`` is the largest number of children that a node can have.
    """
    for done in range(times):
        if tree.size[0] + widest > tree.state.size or not tree.potential_gain[0] > 0.0:
            return done
        node = lead(tree, 0)
        fresh = tree.size[0]
        expand(task, tree, node)
        for leaf in range(fresh, tree.size[0]):
            bound_leaf(tangent, task, tree, workspace, rules, leaf)
        tell(tree, node, 0)
    return times
