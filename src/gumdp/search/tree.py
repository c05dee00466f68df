"""The search tree: flat arrays, changed in place.

A *node* is a state reached by a sequence of actions and outcomes, an *edge* is (node, action) = node · A + action.
A node holds links and counts, never an occupancy: the search keeps one running occupancy, changes it going down, and
``settle`` restores it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import allocating, kernel, part, u64


class Tree(NamedTuple):
    """A search tree of at most ``sibling.size`` nodes, 20 + 24·A bytes each; node 0 is the root."""

    child: Any  # int32 [nodes · A]: the oldest child under an edge, or -1
    visits: Any  # int32 [nodes · A]
    mean: Any  # float64 [nodes · A]: the value of an edge: the mean of its returns, unless a back-up says otherwise
    inverse_root: Any  # float64 [nodes · A]: 1/√visits
    notes: Any  # float64 [nodes · A, or none]: what a part has to remember of each edge, if it has to
    sibling: Any  # int32 [nodes]: the next child of the same edge, or -1
    label: Any  # uint64 [nodes]: the key of the state
    phase: Any  # uint32 [nodes]: where the outcomes of its actions begin
    plays: Any  # int32 [nodes]: visits of all edges together
    fresh: Any  # int64 [A]: at the root, the returns of this decision's own iterations,
    sums: Any  # float64 [A]: the sum of (return - shift),
    squares: Any  # float64 [A]: and of (return - shift)²
    nodes: Any  # uint64 [steps]: the nodes that the current iteration passed
    edges: Any  # uint64 [steps]: and the edges it took there
    size: Any  # int64 [2]: nodes in use, deepest edge
    seen: Any  # float64 [4]: of those returns, how many there are, the first one, which is the shift, and all sums


class Tables(NamedTuple):
    """Functions of a visit count below ``inverse.size``, looked up instead of computed."""

    inverse: Any  # float64 [n]: 1/n
    inverse_root: Any  # float64 [n]: 1/√n
    root_log: Any  # float64 [n]: √log n


class Workspace(NamedTuple):
    """What a search changes as it goes, and its tables."""

    running: Any  # gumdp.counts.running.RunningOccupancy
    tree: Any  # Tree
    tables: Any  # Tables


def new_tree(nodes: int, actions: int, steps: int, notes: bool = False) -> Tree:
    """An empty tree with room for ``nodes`` nodes."""
    edges = nodes * actions
    tree = Tree(
        child=np.empty(edges, np.int32),
        visits=np.empty(edges, np.int32),
        mean=np.empty(edges),
        inverse_root=np.empty(edges),
        notes=np.empty(edges if notes else 0),
        sibling=np.empty(nodes, np.int32),
        label=np.empty(nodes, np.uint64),
        phase=np.empty(nodes, np.uint32),
        plays=np.empty(nodes, np.int32),
        fresh=np.empty(actions, np.int64),
        sums=np.empty(actions),
        squares=np.empty(actions),
        nodes=np.empty(steps, np.uint64),
        edges=np.empty(steps, np.uint64),
        size=np.zeros(2, np.int64),
        seen=np.zeros(4),
    )
    clear(tree)
    return tree


def new_tables(n: int = 1 << 14) -> Tables:
    """Tables for counts below ``n``."""
    k = np.arange(n, dtype=np.float64)
    k[0] = 1.0
    return Tables(1.0 / k, 1.0 / np.sqrt(k), np.sqrt(np.log(k)))


@part
def add_node(tree, node, label, phase):
    """Make ``node`` a childless, unvisited node."""
    actions = u64(tree.squares.size)
    e = node * actions
    end = e + actions
    while e < end:
        tree.child[e] = -1
        tree.visits[e] = 0
        tree.mean[e] = 0.0
        tree.inverse_root[e] = 0.0
        if tree.notes.size > 0:
            tree.notes[e] = 0.0
        e += u64(1)
    tree.sibling[node] = -1
    tree.label[node] = label
    tree.phase[node] = phase
    tree.plays[node] = 0


@part
def adopt(tree, edge, node):
    """Put ``node`` under ``edge``, behind its oldest child: likely outcomes come early and are found first."""
    oldest = tree.child[edge]
    if oldest < 0:
        tree.child[edge] = node
    else:
        tree.sibling[node] = tree.sibling[u64(oldest)]
        tree.sibling[u64(oldest)] = node


@part
def grow(tree, edge, label, phase):
    """Add a child to ``edge``, if there is room."""
    if tree.size[0] < tree.sibling.size:
        new = u64(tree.size[0])
        add_node(tree, new, label, phase)
        adopt(tree, edge, new)
        tree.size[0] += 1


@kernel
def clear(tree):
    """A tree of nothing but its root."""
    add_node(tree, u64(0), u64(0), u64(0))
    tree.size[0] = 1
    forget(tree)


@kernel
def forget(tree):
    """Forget what only the search of one decision needs."""
    tree.fresh[:] = 0
    tree.sums[:] = 0.0
    tree.squares[:] = 0.0
    tree.size[1] = 0
    tree.seen[:] = 0.0


@part
def inverse(tables, n):
    """1/n."""
    return tables.inverse[n] if n < u64(tables.inverse.size) else 1.0 / float(n)


@part
def inverse_root(tables, n):
    """1/√n."""
    return tables.inverse_root[n] if n < u64(tables.inverse.size) else 1.0 / math.sqrt(float(n))


@part
def root_log(tables, n):
    """√log n."""
    return tables.root_log[n] if n < u64(tables.inverse.size) else math.sqrt(math.log(float(n)))


@part
def find(tree, edge, label):
    """The child of ``edge`` with this label, or -1."""
    node = tree.child[edge]
    while node >= 0 and tree.label[u64(node)] != label:
        node = tree.sibling[u64(node)]
    return node


@allocating
def reroot(tree, spare, action, label):
    """Copy into ``spare`` the subtree below the root's ``action`` and the outcome ``label``, as its own tree.

    Breadth first: node ``k`` of the copy is node ``order[k]`` of the original.
    """
    actions = u64(tree.squares.size)
    clear(spare)
    start = find(tree, u64(action), u64(label))
    if start < 0:
        return
    order = np.empty(tree.size[0], np.int64)
    order[0] = start
    spare.phase[0] = tree.phase[start]
    size = u64(1)
    k = u64(0)
    while k < size:
        old = u64(order[k])
        spare.plays[k] = tree.plays[old]
        a = u64(0)
        while a < actions:
            mine, theirs = k * actions + a, old * actions + a
            spare.visits[mine] = tree.visits[theirs]
            spare.mean[mine] = tree.mean[theirs]
            spare.inverse_root[mine] = tree.inverse_root[theirs]
            if tree.notes.size > 0:
                spare.notes[mine] = tree.notes[theirs]
            spare.child[mine] = -1
            node = tree.child[theirs]
            while node >= 0:
                order[size] = node
                spare.label[size] = tree.label[u64(node)]
                spare.phase[size] = tree.phase[u64(node)]
                spare.sibling[size] = -1
                if spare.child[mine] < 0:
                    spare.child[mine] = size
                else:
                    spare.sibling[size - u64(1)] = size
                size += u64(1)
                node = tree.sibling[u64(node)]
            a += u64(1)
        k += u64(1)
    spare.size[0] = size


@allocating
def copy_tree(tree, larger):
    """Make ``larger`` hold what ``tree`` does."""
    n, edges = tree.size[0], tree.size[0] * tree.squares.size
    larger.child[:edges] = tree.child[:edges]
    larger.visits[:edges] = tree.visits[:edges]
    larger.mean[:edges] = tree.mean[:edges]
    larger.inverse_root[:edges] = tree.inverse_root[:edges]
    if tree.notes.size > 0:
        larger.notes[:edges] = tree.notes[:edges]
    larger.sibling[:n] = tree.sibling[:n]
    larger.label[:n] = tree.label[:n]
    larger.phase[:n] = tree.phase[:n]
    larger.plays[:n] = tree.plays[:n]
    larger.fresh[:] = tree.fresh
    larger.sums[:] = tree.sums
    larger.squares[:] = tree.squares
    larger.size[:] = tree.size
    larger.seen[:] = tree.seen


@kernel
def make_room(tree, iterations):
    """Start afresh if the tree could overflow in so many iterations."""
    if tree.size[0] + iterations > tree.sibling.size:
        clear(tree)
