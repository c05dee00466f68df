"""The search tree: flat arrays, changed in place.

A *node* is a state reached by a sequence of actions and outcomes, an *edge* is (node, action) = node · A + action.
A node holds links and counts, never an occupancy: the search keeps one running occupancy, changes it going down, and
``settle`` restores it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.ahead import fetch
from gumdp.jit.record import copy_to, kernel, part, u64


class Tree(NamedTuple):
    """A search tree of at most ``sibling.size`` nodes; node 0 is the root.

    A node takes 16 + 16·A bytes: 48 at two actions. What only some parts need is there only for them, and else for the
    root alone: notes of edges 8·A, values 17 + A, phases 4.
    """

    child: Any  # int32 [nodes · A]: the oldest child under an edge, or -1
    visits: Any  # int32 [nodes · A]
    mean: Any  # float64 [nodes · A]: the value of an edge: the mean of its returns, unless a back-up says otherwise
    shut: Any  # uint8 [nodes · A, or A, and one]: 1 where the edge is closed: see ``gumdp.search.known``; last, a 0
    notes: Any  # float64 [nodes · A, or none]: what a part has to remember of each edge, if it has to
    sibling: Any  # int32 [nodes]: the next child of the same edge, or -1
    label: Any  # uint64 [nodes]: the key of the state
    phase: Any  # uint32 [nodes, or 1]: where the outcomes of its actions begin
    plays: Any  # int32 [nodes]: visits of all edges together
    worth: Any  # float64 [nodes, or 1]: the value of a node, where a back-up keeps it
    share: Any  # float64 [nodes, or 1]: the probability of the outcome that leads there, where it is known
    closed: Any  # uint8 [nodes, or 1]: 1 where every continuation has been scored exactly
    fresh: Any  # int64 [A]: at the root, the returns of this decision's own iterations,
    sums: Any  # float64 [A]: the sum of (return - shift),
    squares: Any  # float64 [A]: and of (return - shift)²
    ballot: Any  # int64 [A]: the visits that count when it comes to choosing
    nodes: Any  # uint64 [steps]: the nodes that the current iteration passed
    edges: Any  # uint64 [steps]: and the edges it took there
    size: Any  # int64 [3]: nodes in use, deepest edge, iterations of this decision
    seen: Any  # float64 [4]: of those returns, how many there are, the first one, which is the shift, and all sums


class Tables(NamedTuple):
    """Functions of a visit count below ``inverse.size``, looked up instead of computed."""

    inverse: Any  # float64 [n]: 1/n
    inverse_root: Any  # float64 [n]: 1/√n
    root_log: Any  # float64 [n]: √log n
    fourth_root: Any  # float64 [n]: n^¼


class Workspace(NamedTuple):
    """What a search changes as it goes, and its tables."""

    running: Any  # gumdp.counts.running.RunningOccupancy
    tree: Any  # Tree
    tables: Any  # Tables


def new_tree(
    nodes: int, actions: int, steps: int, *, notes: bool = False, values: bool = False, phases: bool = False
) -> Tree:
    """An empty tree with room for ``nodes`` nodes, and for what its parts keep."""
    edges, valued = nodes * actions, nodes if values else 1
    tree = Tree(
        child=np.empty(edges, np.int32),
        visits=np.empty(edges, np.int32),
        mean=np.empty(edges),
        shut=np.zeros(valued * actions + 1, np.uint8),
        notes=np.empty(edges if notes else 0),
        sibling=np.empty(nodes, np.int32),
        label=np.empty(nodes, np.uint64),
        phase=np.empty(nodes if phases else 1, np.uint32),
        plays=np.empty(nodes, np.int32),
        worth=np.empty(valued),
        share=np.empty(valued),
        closed=np.empty(valued, np.uint8),
        fresh=np.empty(actions, np.int64),
        sums=np.empty(actions),
        squares=np.empty(actions),
        ballot=np.empty(actions, np.int64),
        nodes=np.empty(steps, np.uint64),
        edges=np.empty(steps, np.uint64),
        size=np.zeros(3, np.int64),
        seen=np.zeros(4),
    )
    clear(tree)
    return tree


def bytes_per_node(actions: int, *, notes: bool = False, values: bool = False, phases: bool = False) -> int:
    """How much a node of such a tree takes.

    >>> bytes_per_node(2)
    48
    """
    edge = 16 + (8 if notes else 0) + (1 if values else 0)
    return 16 + (17 if values else 0) + (4 if phases else 0) + edge * actions


def new_tables(n: int = 1 << 14) -> Tables:
    """Tables for counts below ``n``."""
    k = np.arange(n, dtype=np.float64)
    k[0] = 1.0
    return Tables(1.0 / k, 1.0 / np.sqrt(k), np.sqrt(np.log(k)), np.sqrt(np.sqrt(k)))


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
        if node < u64(tree.closed.size):
            tree.shut[e] = 0
        if tree.notes.size > 0:
            tree.notes[e] = 0.0
        e += u64(1)
    tree.sibling[node] = -1
    tree.label[node] = label
    if node < u64(tree.phase.size):
        tree.phase[node] = phase
    tree.plays[node] = 0
    if node < u64(tree.closed.size):
        tree.worth[node] = 0.0
        tree.share[node] = 0.0
        tree.closed[node] = 0


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
    """Add a child to ``edge``, if there is room; return it, or -1."""
    if tree.size[0] >= tree.sibling.size:
        return np.int64(-1)
    new = u64(tree.size[0])
    add_node(tree, new, label, phase)
    adopt(tree, edge, new)
    tree.size[0] += 1
    return np.int64(new)


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
    tree.size[2] = 0
    tree.seen[:] = 0.0


@part
def is_shut(tree, edge):
    """Whether the value of ``edge`` is known for good."""
    return tree.shut[min(edge, u64(tree.shut.size) - u64(1))] != 0


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
def fourth_root(tables, n):
    """n^¼."""
    return tables.fourth_root[n] if n < u64(tables.inverse.size) else math.sqrt(math.sqrt(float(n)))


@part
def find(tree, edge, label):
    """The child of ``edge`` with this label, or -1."""
    node = tree.child[edge]
    while node >= 0 and tree.label[u64(node)] != label:
        node = tree.sibling[u64(node)]
    return node


@part
def look_at(tree, node):
    """``node`` comes next: have what is known of it fetched."""
    edge = node * u64(tree.squares.size)
    fetch(tree.visits, edge)
    fetch(tree.mean, edge)
    fetch(tree.child, edge)
    fetch(tree.plays, node)


@kernel
def reroot(tree, spare, action, label):
    """Copy into ``spare`` the subtree below the root's ``action`` and the outcome ``label``, as its own tree.

    Breadth first: until it is its turn, ``plays[k]`` of the copy says which node of the original node ``k`` is.
    """
    actions = u64(tree.squares.size)
    clear(spare)
    start = find(tree, u64(action), u64(label))
    if start < 0:
        return
    phases, values = tree.phase.size == tree.sibling.size, tree.closed.size == tree.sibling.size
    spare.plays[0] = start
    if phases:
        spare.phase[0] = tree.phase[start]
    size = u64(1)
    k = u64(0)
    while k < size:
        old = u64(spare.plays[k])
        spare.plays[k] = tree.plays[old]
        if values:
            spare.worth[k] = tree.worth[old]
            spare.share[k] = tree.share[old]
            spare.closed[k] = tree.closed[old]
        a = u64(0)
        while a < actions:
            mine, theirs = k * actions + a, old * actions + a
            spare.visits[mine] = tree.visits[theirs]
            spare.mean[mine] = tree.mean[theirs]
            if values:
                spare.shut[mine] = tree.shut[theirs]
            if tree.notes.size > 0:
                spare.notes[mine] = tree.notes[theirs]
            spare.child[mine] = -1
            node = tree.child[theirs]
            while node >= 0:
                spare.plays[size] = node
                spare.label[size] = tree.label[u64(node)]
                if phases:
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


@kernel
def copy_tree(tree, larger):
    """Make ``larger`` hold what ``tree`` does."""
    n, edges = tree.size[0], tree.size[0] * tree.squares.size
    copy_to(larger.child, tree.child, edges)
    copy_to(larger.visits, tree.visits, edges)
    copy_to(larger.mean, tree.mean, edges)
    copy_to(larger.shut, tree.shut, min(edges, tree.shut.size - 1))
    if tree.notes.size > 0:
        copy_to(larger.notes, tree.notes, edges)
    copy_to(larger.sibling, tree.sibling, n)
    copy_to(larger.label, tree.label, n)
    copy_to(larger.phase, tree.phase, min(n, tree.phase.size))
    copy_to(larger.plays, tree.plays, n)
    copy_to(larger.worth, tree.worth, min(n, tree.worth.size))
    copy_to(larger.share, tree.share, min(n, tree.share.size))
    copy_to(larger.closed, tree.closed, min(n, tree.closed.size))
    copy_to(larger.fresh, tree.fresh, tree.fresh.size)
    copy_to(larger.sums, tree.sums, tree.sums.size)
    copy_to(larger.squares, tree.squares, tree.squares.size)
    copy_to(larger.size, tree.size, tree.size.size)
    copy_to(larger.seen, tree.seen, tree.seen.size)


@kernel
def make_room(tree, iterations):
    """Start afresh if the tree could overflow in so many iterations."""
    if tree.size[0] + iterations > tree.sibling.size:
        clear(tree)
