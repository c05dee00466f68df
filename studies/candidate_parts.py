"""Parts of a search that lost, and those that are still to be tried: the candidates of the study.

Each takes the place of one part of the library's search (``gumdp.search.loop``), which is otherwise as it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.counts.pairs import cost_of
from gumdp.counts.running import settle
from gumdp.jit.random import low
from gumdp.jit.record import part, record, u64
from gumdp.search.backup import add_return
from gumdp.search.control_variate_kernels import Unfollowed
from gumdp.search.outcome import GOLDEN
from gumdp.search.select import Selection

ALIVE, DUE, ROUNDS, GIVEN = 0, 1, 2, 3  # places in ``Halving.round``


# --- selection: sequential halving at the root ---


@part
def line_up(model, tree, rule, s, iterations):
    """Every available action is in; ⌈log₂⌉ of their number is how many rounds there are."""
    alive, a = 0, u64(0)
    while a < u64(tree.squares.size):
        rule.alive[a] = 0
        if model.allowed(s, a):
            rule.alive[a] = 1
            alive += 1
        a += u64(1)
    rounds, reach = 0, 1
    while reach < alive:
        rounds += 1
        reach *= 2
    rule.round[ALIVE] = alive
    rule.round[GIVEN] = iterations
    rule.round[ROUNDS] = max(1, rounds)
    rule.round[DUE] = max(1, iterations // (alive * max(1, rounds)))


@part
def least_played(tree, rule):
    """The action that is in and had the fewest iterations of this decision; the first of those."""
    best, a = u64(tree.squares.size), u64(0)
    while a < u64(tree.squares.size):
        if rule.alive[a] and (best == u64(tree.squares.size) or tree.fresh[a] < tree.fresh[best]):
            best = a
        a += u64(1)
    return best


@part
def drop_worst(tree, rule):
    """The action of greatest mean, the last of those, is out."""
    worst, a = u64(tree.squares.size), u64(0)
    while a < u64(tree.squares.size):
        if rule.alive[a] and (worst == u64(tree.squares.size) or tree.mean[a] >= tree.mean[worst]):
            worst = a
        a += u64(1)
    rule.alive[worst] = 0
    rule.round[ALIVE] -= 1


@part
def whose_turn(tree, rule):
    """The action of the next iteration: those that are in take turns, and after each round the better half stays in.

    The last round, that of two, takes all iterations that are left.
    """
    a = least_played(tree, rule)
    if tree.fresh[a] >= rule.round[DUE] and rule.round[ALIVE] > 2:
        for _ in range(rule.round[ALIVE] // 2):
            drop_worst(tree, rule)
        rule.round[DUE] += max(1, rule.round[GIVEN] // (rule.round[ALIVE] * rule.round[ROUNDS]))
        a = least_played(tree, rule)
    return a


@record
class Halving(Selection):
    """Sequential halving at the root, another rule below.

    Karnin, Koren and Somekh (2013), "Almost optimal exploration in multi-armed bandits".
    """

    below: Any
    alive: Any  # uint8 [A]: the actions at the root that are still in
    round: Any  # int64 [4]: how many those are, the iterations due to each by now, the rounds, the iterations in all

    def ready(self, setup, workspace, s, iterations):
        line_up(setup.model, workspace.tree, self, setup.model.restore(s), iterations)
        return 0

    def width(self, tree):
        return self.below.width(tree)

    def select(self, setup, workspace, node, depth, s, t, width, draw):
        if depth == u64(0):
            return whose_turn(workspace.tree, self)
        return self.below.select(setup, workspace, node, depth, s, t, width, draw)


@record
class Survivor:
    """The action of least mean among those that sequential halving left in."""

    alive: Any  # uint8 [A]

    def recommend(self, visits, means):
        best = -1
        for a in range(visits.size):
            if self.alive[a] and visits[a] > 0 and (best < 0 or means[a] < means[best]):
                best = a
        return best


# --- selection: priors ---


@part
def note_priors(setup, workspace, node, s, w):
    """Note the priors of the edges of ``node``: a softmax of minus the marginal costs, in standard deviations."""
    model, running, notes = setup.model, workspace.running, workspace.tree.notes
    actions = u64(workspace.tree.squares.size)
    first, pair, count, mean, square = node * actions, u64(model.cell(s)) * actions, 0.0, 0.0, 0.0
    a = u64(0)
    while a < actions:
        if model.allowed(s, a):
            cost = marginal(setup.objective, running, pair + a, w)
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
def by_prior(model, tree, node, s, width):
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
            bound = (tree.mean[first + a] if n > 0 else usual) - push * tree.notes[first + a] / (1.0 + n)
            if bound < lowest:
                best, lowest = a, bound
        a += u64(1)
    return best


@record
class Priors(Selection):
    """The bound mean - c·deviation·p·√N / (1 + n), with the prior p of each edge in the tree's notes."""

    inner: Any  # for the width

    def width(self, tree):
        return self.inner.width(tree)

    def select(self, setup, workspace, node, depth, s, t, width, draw):
        tree = workspace.tree
        if tree.plays[node] == 0:
            note_priors(setup, workspace, node, s, setup.weights[t])
        return by_prior(setup.model, tree, node, s, width)

    def notes(self):
        return True


# --- selection: bounds scaled to the weight of the rest ---


@record
class Stakes(Selection):
    """Another rule, whose width at a step is multiplied by the weight of all steps from there on."""

    inner: Any
    rest: Any  # float64 [steps]

    def width(self, tree):
        return self.inner.width(tree)

    def select(self, setup, workspace, node, depth, s, t, width, draw):
        return self.inner.select(setup, workspace, node, depth, s, t, width * self.rest[t], draw)


# --- outcomes: progressive widening ---


@part
def outcome_of(visits, widen):
    """Which draw of an edge's outcome the next of its visits meets: those met so far take turns with ever more."""
    return u64(visits % max(1, int((visits + 1.0) ** widen)))


@record
class Widening:
    """n visits of an edge have met ⌊n^exponent⌋ draws of its outcome.

    Couëtoux and others (2011), "Continuous upper confidence trees".
    """

    inner: Any
    exponent: float

    def chance(self, rng, chance, tree, a):
        return self.inner.chance(rng, chance, tree, a)

    def draw(self, tree, node, edge, bits):
        if self.inner.even:
            return low(u64(tree.phase[node]) + outcome_of(tree.visits[edge], self.exponent) * u64(GOLDEN))
        return bits

    def onward(self, rng, chance):
        return self.inner.onward(rng, chance)

    def between(self, rng):
        return self.inner.between(rng)


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


@record
class Mixed:
    """The value of an edge is (1 - share)·mean of its returns + share·mean of its children's values.

    The means of the returns are in the tree's notes.
    """

    share: float

    def back_up(self, setup, workspace, t0, depth, leaf, value):
        tree = workspace.tree
        j = u64(0)
        while j < depth:
            e = u64(tree.edges[j])
            if tree.visits[e] > 0:
                tree.mean[e] = tree.notes[e]
            j += u64(1)
        add_return(workspace, depth, value)
        while j > u64(0):
            j -= u64(1)
            e = u64(tree.edges[j])
            tree.notes[e] = tree.mean[e]
            total, weight = children_of(tree, e)
            if weight > 0.0:
                tree.mean[e] = (1.0 - self.share) * tree.notes[e] + self.share * total / weight
        return 0

    def notes(self):
        return True


# --- leaves ---


@record
class Expected(Unfollowed):
    """A leaf is worth the objective at the running occupancy plus the expected occupancy of the rest."""

    future: Any  # float64 [steps · S · entries]: the expected occupancy of what comes, from each step and state
    inner: Any  # rollouts, for what has come to its end in the tree

    def prepare(self, setup, workspace, root, t0):
        return self.inner.prepare(setup, workspace, root, t0)

    def final(self, steps, t0):
        return steps

    def tracks(self):
        return self.inner.tracks()

    def depart(self, setup, workspace, s, span, length):
        running, t = workspace.running, span[1]
        if t == span[2]:
            return self.inner.depart(setup, workspace, s, span, length)
        entries = u64(running.d.size)
        states = u64(running.counts.pairs) // u64(running.counts.actions)
        first = (t * states + u64(setup.model.cell(s))) * entries
        i = u64(0)
        while i < entries:
            running.d[i] += self.future[first + i]
            i += u64(1)
        return 0.0

    def goes_on(self):
        return False

    def guide(self):
        return self.inner.guide()

    def score(self, setup, workspace, span, length, number):
        if span[1] == span[2]:
            return self.inner.score(setup, workspace, span, length, number)
        value, _ = settle(setup.objective, workspace.running, u64(workspace.running.d.size))
        return value
