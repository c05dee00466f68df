"""What the candidates of the study change in the search, piece by piece; the search itself is in ``candidate_search``.

What a change has to remember of each edge is in ``notes``, an array beside the tree: a prior, or the mean of the
returns where the tree holds another value.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import part, u64
from gumdp.policies.rollout import cost_of
from gumdp.search.loop import back_up, find, select

ALIVE, DUE, ROUNDS = 0, 1, 2  # places in ``Change.round``


class Change(NamedTuple):
    """What is changed, and the arrays that it takes."""

    halving: bool  # sequential halving at the root
    prior: bool  # bounds with priors
    share: float  # of the children's values in that of an edge; 0: none
    average: bool  # leaves are worth the objective at the expected occupancy
    widen: float  # n visits of an edge have met ⌊n^widen⌋ draws of its outcome; 1: as many as visits
    cut: int  # simulations end at this step, or one step after the decision if that is later
    stakes: Any  # float64 [steps]: what the width of confidence bounds is multiplied by
    future: Any  # float64 [steps · S · cells]: the expected occupancy of what comes, from each step and cell
    notes: Any  # float64 [nodes · A]
    spare: Any  # float64 [nodes · A]: the notes of the spare tree
    origin: Any  # int64 [nodes]: scratch
    alive: Any  # uint8 [A]: the actions at the root that are still in
    round: Any  # int64 [3]: how many those are, the iterations due to each by now, the number of rounds


# --- sequential halving ---


@part
def line_up(model, tree, change, s, iterations):
    """Every available action is in; ⌈log₂⌉ of their number is how many rounds there are."""
    alive, a = 0, u64(0)
    while a < u64(tree.squares.size):
        change.alive[a] = 0
        if model.allowed(s, a):
            change.alive[a] = 1
            alive += 1
        a += u64(1)
    rounds, reach = 0, 1
    while reach < alive:
        rounds += 1
        reach *= 2
    change.round[ALIVE] = alive
    change.round[ROUNDS] = max(1, rounds)
    change.round[DUE] = max(1, iterations // (alive * max(1, rounds)))


@part
def least_played(tree, change):
    """The action that is in and had the fewest iterations of this decision; the first of those."""
    best, a = u64(tree.squares.size), u64(0)
    while a < u64(tree.squares.size):
        if change.alive[a] and (best == u64(tree.squares.size) or tree.fresh[a] < tree.fresh[best]):
            best = a
        a += u64(1)
    return best


@part
def drop_worst(tree, change):
    """The action of greatest mean, the last of those, is out."""
    worst, a = u64(tree.squares.size), u64(0)
    while a < u64(tree.squares.size):
        if change.alive[a] and (worst == u64(tree.squares.size) or tree.mean[a] >= tree.mean[worst]):
            worst = a
        a += u64(1)
    change.alive[worst] = 0
    change.round[ALIVE] -= 1


@part
def whose_turn(tree, change, iterations):
    """The action of the next iteration: those that are in take turns, and after each round the better half stays in.

    The last round, that of two, takes all iterations that are left.
    """
    a = least_played(tree, change)
    if tree.fresh[a] >= change.round[DUE] and change.round[ALIVE] > 2:
        for _ in range(change.round[ALIVE] // 2):
            drop_worst(tree, change)
        change.round[DUE] += max(1, iterations // (change.round[ALIVE] * change.round[ROUNDS]))
        a = least_played(tree, change)
    return a


@part
def survivor(tree, change):
    """The action of least mean among those that are in."""
    best = -1
    for a in range(tree.squares.size):
        if change.alive[a] and tree.visits[a] > 0 and (best < 0 or tree.mean[a] < tree.mean[best]):
            best = a
    return best


# --- priors ---


@part
def expect(model, objective, running, notes, actions, node, s, w):
    """Note the priors of the edges of ``node``: a softmax of minus the marginal costs, in standard deviations."""
    first, cell, count, mean, square = node * actions, u64(model.cell(s)) * actions, 0.0, 0.0, 0.0
    a = u64(0)
    while a < actions:
        if model.allowed(s, a):
            cost = marginal(objective, running, cell + a, w)
            notes[first + a] = cost
            count += 1.0
            step = cost - mean
            mean += step / count
            square += step * (cost - mean)
        a += u64(1)
    deviation, total = math.sqrt(square / count), 0.0
    a = u64(0)
    while a < actions:
        if model.allowed(s, a):
            steps = (notes[first + a] - mean) / deviation if deviation > 0.0 else 0.0
            notes[first + a] = math.exp(-steps)
            total += notes[first + a]
        a += u64(1)
    a = u64(0)
    while a < actions:
        notes[first + a] /= total
        a += u64(1)


@part
def marginal(objective, running, i, w):
    """The marginal cost of ``w`` more in cell ``i``."""
    if objective.dense():
        return cost_of(objective, running.d, running.z, i, w)
    return objective.price(i, running.d[i], w, running.z, 0)


@part
def by_prior(model, tree, notes, node, s, width):
    """The action of least mean - width·prior·√N / (1 + n); one that was never tried has the mean of the others."""
    actions = u64(tree.squares.size)
    first, plays, total = node * actions, tree.plays[node], 0.0
    a = u64(0)
    while a < actions:
        total += tree.visits[first + a] * tree.mean[first + a]
        a += u64(1)
    usual, push = total / max(1, plays), width * math.sqrt(max(1.0, float(plays)))
    best, lowest = u64(0), np.inf
    a = u64(0)
    while a < actions:
        if model.allowed(s, a):
            n = tree.visits[first + a]
            bound = (tree.mean[first + a] if n > 0 else usual) - push * notes[first + a] / (1.0 + n)
            if bound < lowest:
                best, lowest = a, bound
        a += u64(1)
    return best


# --- outcomes ---


@part
def outcome_of(visits, widen):
    """Which draw of an edge's outcome the next of its visits meets: those met so far take turns with ever more."""
    if widen == 1.0:
        return u64(visits)
    return u64(visits % max(1, int((visits + 1.0) ** widen)))


# --- back-ups ---


@part
def children_of(tree, edge):
    """The value of what comes after ``edge``, each child as good as its best action, and whether there is any."""
    actions = u64(tree.squares.size)
    total, weight = 0.0, 0.0
    node = tree.child[edge]
    while node >= 0:
        if tree.plays[u64(node)] > 0:
            least, e = np.inf, u64(node) * actions
            while e < (u64(node) + u64(1)) * actions:
                if tree.visits[e] > 0:
                    least = min(least, tree.mean[e])
                e += u64(1)
            met = tree.plays[u64(node)] + 1.0  # it was first met when it was added, before its actions were tried
            total += met * least
            weight += met
        node = tree.sibling[u64(node)]
    return total, weight


@part
def learn(tree, tables, notes, share, depth, value):
    """Add a return to the edges of this iteration. If their values are mixtures, the means of returns are noted."""
    if share == 0.0:
        back_up(tree, tables, depth, value)
        return
    j = u64(0)
    while j < depth:
        e = u64(tree.edges[j])
        if tree.visits[e] > 0:
            tree.mean[e] = notes[e]
        j += u64(1)
    back_up(tree, tables, depth, value)
    while j > u64(0):
        j -= u64(1)
        e = u64(tree.edges[j])
        notes[e] = tree.mean[e]
        total, weight = children_of(tree, e)
        if weight > 0.0:
            tree.mean[e] = (1.0 - share) * notes[e] + share * total / weight


@part
def carry(tree, spare, action, label, change, notes, others):
    """Bring the notes of a subtree to its copy in ``spare``, which ``reroot`` made: its children are in that order."""
    actions = u64(tree.squares.size)
    start = find(tree, u64(action), label)
    if start < 0:
        return
    change.origin[0] = start
    k = u64(0)
    while k < u64(spare.size[0]):
        old = u64(change.origin[k])
        a = u64(0)
        while a < actions:
            others[k * actions + a] = notes[old * actions + a]
            mine, theirs = spare.child[k * actions + a], tree.child[old * actions + a]
            while mine >= 0:
                change.origin[mine] = theirs
                mine, theirs = spare.sibling[u64(mine)], tree.sibling[u64(theirs)]
            a += u64(1)
        k += u64(1)


# --- leaves ---


@part
def imagine(running, future, t, cell, actions):
    """Add the expected occupancy of the steps from ``t`` on to the running one; return how many cells may differ."""
    cells = u64(running.d.size)
    first = (t * (u64(running.pairs) // actions) + cell) * cells
    i = u64(0)
    while i < cells:
        running.d[i] += future[first + i]
        i += u64(1)
    return cells


# --- steps of the search ---


@part
def choose(
    model, objective, actor, running, tree, tables, rules, change, notes, node, depth, s, w, width, iterations, draw
):  # fmt: skip
    """The action to try at ``node``, ``depth`` steps below the root."""
    if change.halving and depth == u64(0):
        return whose_turn(tree, change, iterations)
    if change.prior:
        if tree.plays[node] == 0:
            expect(model, objective, running, notes, u64(actor.actions), node, s, w)
        return by_prior(model, tree, notes, node, s, width)
    return select(model, objective, actor, running, tree, tables, rules, node, s, w, width, draw)
