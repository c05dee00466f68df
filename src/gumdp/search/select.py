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
from gumdp.policies.rollout import cost_of
from gumdp.search.tree import root_log


class Selection:
    """What most rules have in common: nothing to do when a decision begins, and no notes."""

    __slots__ = ()

    def ready(self, setup, workspace, s, iterations):
        return 0

    def notes(self):
        return False


@part
def untried(setup, workspace, ordered, node, s, w, draw):
    """An action that was never tried, or ``actions``: the cheapest, or the first from a random place on."""
    model, running, tree = setup.model, workspace.running, workspace.tree
    actions = u64(tree.squares.size)
    first, pair = node * actions, u64(model.cell(s)) * actions
    a, best, lowest = below(draw, actions), actions, np.inf
    for _ in range(actions):
        if tree.visits[first + a] == 0 and model.allowed(s, a):
            if not ordered:
                return a
            cost = cost_of(setup.objective, running.d, running.z, pair + a, w)
            if cost < lowest or best == actions:
                best, lowest = a, cost
        a += u64(1)
        if a == actions:
            a = u64(0)
    return best


@part
def least_bound(model, tree, node, s, bonus):
    """The action of least mean - bonus/√visits, the first of those."""
    actions = u64(tree.squares.size)
    first = node * actions
    best, lowest = u64(0), np.inf
    a = u64(0)
    while a < actions:
        if model.allowed(s, a):
            bound = tree.mean[first + a] - bonus * tree.inverse_root[first + a]
            if bound < lowest:
                lowest = bound
                best = a
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
        if self.scaled:
            deviation = deviation_of(tree)
            if deviation > 0.0:
                return self.exploration * deviation
        return self.exploration

    def select(self, setup, workspace, node, depth, s, t, width, draw):
        tree = workspace.tree
        plays = u64(tree.plays[node])
        if plays < u64(tree.squares.size):
            a = untried(setup, workspace, self.ordered, node, s, setup.weights[t], draw)
            if a < u64(tree.squares.size):
                return a
        return least_bound(setup.model, tree, node, s, width * root_log(workspace.tables, plays))
