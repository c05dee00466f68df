"""Back-ups: what the edges of an iteration learn from its return.

A back-up answers ``back_up(setup, workspace, t0, depth, leaf, value)``: from step ``t0`` on, the first ``depth`` edges
of ``tree.edges`` were taken, from the nodes ``tree.nodes``; the node ``leaf`` was added below them (-1: none was), and
the simulation was worth ``value``; and ``notes()``: whether it keeps notes of its own for each edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.jit.record import part, record, u64
from gumdp.search.tree import inverse, is_shut

QUICK = 0.05


@part
def add_return(workspace, depth, value):
    """Add a return to the means of the edges of this iteration."""
    tree, tables = workspace.tree, workspace.tables
    j = u64(0)
    while j < depth:
        e = u64(tree.edges[j])
        n = u64(tree.visits[e] + 1)
        tree.visits[e] = n
        tree.mean[e] += (value - tree.mean[e]) * inverse(tables, n)
        tree.plays[u64(tree.nodes[j])] += 1
        j += u64(1)


@record
class Means:
    """The value of an edge is the mean of its returns."""

    nothing: int  # a record needs a field

    def back_up(self, setup, workspace, t0, depth, leaf, value):
        add_return(workspace, depth, value)
        return 0

    def notes(self):
        return False


# --- from means to Bellman's equation, and to what is certain ---


@part
def after(tree, edge, listed):
    """What comes after ``edge``: the mean of its children's values, and the closed ones' number, mass and sum.

    Children count by their probabilities where these are known, else by how often they were met.
    """
    total, weight, number, mass, certain = 0.0, 0.0, 0, 0.0, 0.0
    child = tree.child[edge]
    while child >= 0:
        node = u64(child)
        share = tree.share[node] if listed else tree.plays[node] + 1.0
        total += share * tree.worth[node]
        weight += share
        if tree.closed[node] != 0:
            number += 1
            mass += share
            certain += share * tree.worth[node]
        child = tree.sibling[node]
    return (total / weight if weight > 0.0 else 0.0), weight, number, mass, certain


@part
def close_edge(tree, edge, value):
    """The value of ``edge`` is known for good: nothing below it needs another look."""
    tree.mean[edge] = value
    if tree.notes.size > 0:
        tree.notes[edge] = value
    tree.shut[edge] = 1


@part
def best_of(tree, node):
    """The least value of the tried edges of ``node``, and the least of the closed ones."""
    actions = u64(tree.squares.size)
    least, certain = np.inf, np.inf
    e = node * actions
    end = e + actions
    while e < end:
        if tree.visits[e] > 0:
            least = min(least, tree.mean[e])
            if is_shut(tree, e):
                certain = min(certain, tree.mean[e])
        e += u64(1)
    return least, certain


@part
def all_closed(known, tree, node):
    """Whether every action that is available at ``node`` is closed."""
    actions = u64(tree.squares.size)
    a = u64(0)
    while a < actions:
        if not is_shut(tree, node * actions + a) and known.possible(tree.label[node], a):
            return False
        a += u64(1)
    return True


@record
class Growing:
    """The value of an edge moves from the mean of its returns to that of its children's values, each its best action's.

    The share of the latter is n / (n + pace) after n visits: the best of a few means is mostly luck, that of many is
    what Bellman's equation asks for. A mean over all that was tried can hide the one good continuation.

    Where outcomes are listed, they count by their probabilities, and what is scored exactly is closed (see
    ``gumdp.search.known``). Then iterations go to what is open, and the returns that they bring are put together with
    what is certain: an outcome that is closed counts with its probability, not by how often it was met, and an action
    that is closed and better than the open one that was tried is what would be done. So means stay means.

    Between means and maxima: Coulom (2006), "Efficient selectivity and backup operators in Monte-Carlo tree search".
    """

    pace: float  # visits at which the share is a half; infinite: means only
    near: int  # so many steps before the end, where returns are nearly exact, it takes QUICK times as many
    known: Any  # see ``gumdp.search.known``
    floor: float  # no trial is worth less: what attains it is closed, whatever else could be done
    luck: Any  # float64 [steps, or none]: what to take off at each edge: see ``gumdp.search.control_variate_kernels``

    def back_up(self, setup, workspace, t0, depth, leaf, value):
        tree, tables, known = workspace.tree, workspace.tables, self.known
        actions = u64(tree.squares.size)
        closing = known.lists() and t0 + depth == u64(setup.weights.size)
        if leaf >= 0:
            tree.worth[u64(leaf)] = value
            if known.lists():
                e, node = u64(tree.edges[depth - u64(1)]), u64(tree.nodes[depth - u64(1)])
                t, a = t0 + depth, e - node * actions
                tree.share[u64(leaf)] = known.probability(tree.label[node], a, t, tree.label[u64(leaf)])
            if closing and known.lists_last():
                tree.closed[u64(leaf)] = 1
        j = depth
        while j > u64(0):
            e, node = u64(tree.edges[j - u64(1)]), u64(tree.nodes[j - u64(1)])
            n = u64(tree.visits[e] + 1)
            tree.visits[e] = n
            tree.plays[node] += 1
            later, weight, number, mass, certain = after(tree, e, known.lists())
            alone = closing and number == 1  # nothing else is closed but what this iteration has closed
            if self.luck.size > 0 and (alone or number == 0):  # else what was drawn was drawn among the open outcomes
                value -= self.luck[j - u64(1)]
            if closing and j == depth and not known.lists_last():
                close_edge(tree, e, value)
            else:
                closing = closing and number == known.number(tree.label[node], e - node * actions, t0 + j)
                if closing:
                    value = certain
                    close_edge(tree, e, value)
                else:
                    if known.lists() and number > 0 and not (alone and self.luck.size > 0):
                        value = certain + (1.0 - mass) * value
                    returns = tree.notes[e] + (value - tree.notes[e]) * inverse(tables, n)
                    tree.notes[e] = returns
                    pace = self.pace * QUICK if t0 + j + u64(self.near) > u64(setup.weights.size) else self.pace
                    share = float(n) / (float(n) + pace) if weight > 0.0 and t0 + j < u64(setup.weights.size) else 0.0
                    tree.mean[e] = returns + share * (later - returns)
            least, certain = best_of(tree, node)
            tree.worth[node] = least
            closing = closing and (certain <= self.floor or all_closed(known, tree, node))
            if closing:
                tree.closed[node] = 1
                tree.worth[node] = certain
                value = certain
            elif certain < tree.mean[e]:
                value = certain
            j -= u64(1)
        return 0

    def notes(self):
        return True


@part
def note_return(tree, value):
    """What the root remembers of this decision's returns, for errors and to scale exploration."""
    if tree.seen[0] == 0.0:
        tree.seen[1] = value
    a, excess = u64(tree.edges[0]), value - tree.seen[1]
    tree.fresh[a] += 1
    tree.sums[a] += excess
    tree.squares[a] += excess * excess
    tree.seen[0] += 1.0
    tree.seen[2] += excess
    tree.seen[3] += excess * excess
