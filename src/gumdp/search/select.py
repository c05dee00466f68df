"""Selection: which action an iteration tries at a node.

A selection rule answers

=======================================================  ===============================================================
``ready(setup, workspace, s, iterations)``                a decision begins, in state ``s``, with so many iterations
``width(tree)``                                           what scales the rule's confidence in this iteration
``select(setup, workspace, node, depth, s, t, w, draw)``  the action to try at ``node``, ``depth`` below the root, in
                                                          state ``s`` at step ``t``; ``w`` is the width, and ``draw`` 32
                                                          random bits
``notes()``                                               whether it keeps notes of its own for each edge
=======================================================  ===============================================================
"""

from __future__ import annotations

import math

import numpy as np

from gumdp.jit.random import below
from gumdp.jit.record import part, record, u64
from gumdp.search.tree import fourth_root, inverse_root, is_shut, root_log

WIDE = 2.0  # how much more is explored near the end


class Selection:
    """What most rules have in common: nothing to do when a decision begins, and no notes."""

    __slots__ = ()

    def ready(self, setup, workspace, s, iterations):
        return 0

    def notes(self):
        return False


@part
def untried(setup, workspace, ordered, node, s, t, draw):
    """An action that was never tried, or ``actions``: the cheapest, or the first from a random place on."""
    model, running, tree = setup.model, workspace.running, workspace.tree
    actions = u64(tree.squares.size)
    first, row, w = node * actions, running.counts.row_of(model, s), setup.weights[t]
    a, best, lowest = below(draw, actions), actions, np.inf
    for _ in range(actions):
        if tree.visits[first + a] == 0 and model.allowed(s, a):
            if not ordered:
                return a
            cost = running.counts.cost_at(setup.objective, running, running.z, model, s, row, a, w, t)
            if cost < lowest or best == actions:
                best, lowest = a, cost
        a += u64(1)
        if a == actions:
            a = u64(0)
    return best


@part
def least_bound(model, workspace, node, s, bonus):
    """The action of least mean - bonus/√visits, the first of those; none that is closed."""
    tree, tables = workspace.tree, workspace.tables
    actions = u64(tree.squares.size)
    first = node * actions
    best, lowest = u64(0), np.inf
    a = u64(0)
    while a < actions:
        bound = tree.mean[first + a] - bonus * inverse_root(tables, u64(tree.visits[first + a]))
        bound = bound if model.allowed(s, a) else np.inf
        bound = np.inf if is_shut(tree, first + a) else bound
        best = a if bound < lowest else best  # a conditional move: a branch would be unpredictable
        lowest = bound if bound < lowest else lowest
        a += u64(1)
    return best


@part
def deviation_of(tree):
    """The standard deviation of the returns that this decision has seen; 0 before there are two different ones."""
    n = tree.seen[0]
    if n > 1.0:
        mean = tree.seen[2] / n
        return math.sqrt(max(0.0, tree.seen[3] / n - mean * mean))
    return 0.0


@part
def width_of(rule, tree):
    """The constant of a bound, in standard deviations of the returns if it is scaled, as soon as there is any."""
    if rule.scaled:
        deviation = deviation_of(tree)
        if deviation > 0.0:
            return rule.exploration * deviation
    return rule.exploration


@part
def untried_or_least(setup, workspace, rule, node, s, t, bonus, draw):
    """An action that was never tried, if there is any, else that of the least bound."""
    tree = workspace.tree
    if u64(tree.plays[node]) < u64(tree.squares.size):
        a = untried(setup, workspace, rule.ordered, node, s, t, draw)
        if a < u64(tree.squares.size):
            return a
    return least_bound(setup.model, workspace, node, s, bonus)


@record
class UCB1(Selection):
    """The action of least mean - c·√(log N / n); first those that were never tried.

    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time analysis of the multiarmed bandit problem"; in trees, Kocsis
    and Szepesvári (2006), "Bandit based Monte-Carlo planning".
    """

    exploration: float  # c
    scaled: bool  # multiply c by the standard deviation of the returns seen, as soon as there is any
    ordered: bool  # actions that were never tried come in the order of their marginal cost, else from a random one on

    def width(self, tree):
        return width_of(self, tree)

    def select(self, setup, workspace, node, depth, s, t, width, draw):
        bonus = width * root_log(workspace.tables, u64(workspace.tree.plays[node]))
        return untried_or_least(setup, workspace, self, node, s, t, bonus, draw)


@record
class Polynomial(Selection):
    """The action of least mean - c·N^(1/4)/√n; first those that were never tried.

    The returns of a node below are not those of a bandit: they drift as its own choices get better. A bonus that grows
    as a power of N, not as its logarithm, is one with which the values are known to converge: Shah, Xie and Xu (2020),
    "Non-asymptotic analysis of Monte Carlo tree search".
    """

    exploration: float  # c
    scaled: bool  # as in UCB1
    ordered: bool
    near: int  # so many steps before the end, where a search can look at most of what is left, c is WIDE times as large

    def width(self, tree):
        return width_of(self, tree)

    def select(self, setup, workspace, node, depth, s, t, width, draw):
        bonus = width * fourth_root(workspace.tables, u64(workspace.tree.plays[node]))
        if t + u64(self.near) >= u64(setup.weights.size):
            bonus *= WIDE
        return untried_or_least(setup, workspace, self, node, s, t, bonus, draw)
