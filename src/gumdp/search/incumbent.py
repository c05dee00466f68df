"""Incumbents: the best complete trajectory that was found for each action at the root, where it can be played again.

In a deterministic world a simulated trajectory is a plan, and its value is what the trial will be worth if the plan is
carried out. A search that acts on means forgets it. Here it is kept, carried over to the next decision, and varied:
some iterations change the best plan a little and keep what is better. Which incumbents there are answers

===========================================  ==========================================================================
``holds()``                                   whether there are any
``due(tree, left)``                           whether the next iteration is to vary the best plan, ``left`` steps long
``alter(t0, end, rng)``                       begin one that does: put a variation of it, over these steps, into the log
``varying()``                                 whether the present iteration is such a one
``record_from(k)``                            a rollout begins, ``k`` steps after the root
``keep(tree, depth, length, value)``          a simulation of ``length`` steps, the first ``depth`` of them in the tree,
                                             was worth ``value``
``admits(tree, a)``                           whether the final choice may fall on ``a``
``value_of(a)``                               the value of the plan that begins with ``a``; infinite if there is none
``least()``                                   that of the best plan
``carry(a)``                                  ``a`` was done: keep the rest of its plan
``drop()``                                    keep nothing
===========================================  ==========================================================================

Cazenave (2009), "Nested Monte-Carlo search"; for variations, Rosin (2011), "Nested rollout policy adaptation for Monte
Carlo tree search", and the local searches over plans before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.jit.random import advance, below, high, low, mix
from gumdp.jit.record import kernel, part, record, u64
from gumdp.problem import Problem
from gumdp.search.known import adds_by_chance
from gumdp.search.select import deviation_of

TREE, VARIED = 0, 2  # places in ``Incumbent.gains``: (improvements, iterations), fading
MEMORY = 0.9  # the weight, at the next decision, of what was learnt about the two kinds of iterations
FEWEST = 0.1  # of the iterations are of each kind, at least
WINDOWS = 6  # lengths of what is varied: 1, 2, 4, … steps
REDRAWN, REPEATED, CONTINUED, INSERTED, DELETED, KINDS = 0, 1, 2, 3, 4, 5


@record
class NoIncumbent:
    """Nothing is kept: a trajectory can't be played again."""

    nothing: int  # a record needs a field

    def holds(self):
        return False

    def record_from(self, k):
        return 0

    def keep(self, tree, depth, length, value):
        return 0

    def due(self, tree, left):
        return False

    def alter(self, t0, end, rng):
        return 0

    def varying(self):
        return False

    def admits(self, tree, a):
        return True

    def value_of(self, a):
        return np.inf

    def least(self):
        return np.inf

    def carry(self, a):
        return 0

    def drop(self):
        return 0


@record
class Logged:
    """Another rollout policy, whose actions are written down, after it has carried out what is planned in the log."""

    inner: Any
    log: Any  # int32 [steps]
    place: Any  # int64 [2]: where the next action goes, and where those that are planned end

    def choose(self, model, objective, s, t, h, running, z, w, draw):
        k = u64(self.place[0])
        self.place[0] += 1
        if k < u64(self.place[1]):
            planned = u64(self.log[k])
            a = planned if model.allowed(s, planned) else u64(model.pick(s, draw))
        else:
            a = u64(self.inner.choose(model, objective, s, t, h, running, z, w, draw))
        self.log[k] = a
        return a

    def tracks(self):
        return self.inner.tracks()


@part
def take_plan(rule, first, length, value):
    """What is in the log is the plan for its first action, if none is better; whether it is better than all of them.

    One that is as good takes its place: where many plans cost the same, variations then wander about among them.
    """
    if not value <= rule.best[first]:
        return False
    improved = value < rule.least()
    at, k = first * u64(rule.log.size), u64(0)
    while k < length:
        rule.plans[at + k] = rule.log[k]
        k += u64(1)
    rule.best[first] = value
    return improved


@part
def vary(rule, t0, length, rng):
    """Put a variation of the best plan into the log; return how many of its steps are to be carried out."""
    first, a = u64(0), u64(1)
    while a < u64(rule.best.size):
        if rule.best[a] < rule.best[first]:
            first = a
        a += u64(1)
    at, k = first * u64(rule.log.size), u64(0)
    while k < length:
        rule.log[k] = rule.plans[at + k]
        k += u64(1)
    rng = advance(rng)
    bits = mix(rng)
    kind, where = below(high(bits), u64(KINDS)), place_of(rule, t0, length, low(bits))
    rng = advance(rng)
    bits = mix(rng)
    actions = u64(rule.best.size)
    last, one = min(length, where + (u64(1) << below(high(bits), u64(WINDOWS)))), below(low(bits), actions)
    if kind == u64(CONTINUED):
        return where
    if kind == u64(INSERTED):
        k = length - u64(1)
        while k > where:
            rule.log[k] = rule.log[k - u64(1)]
            k -= u64(1)
        rule.log[where] = one
    elif kind == u64(DELETED):
        k = where
        while k + u64(1) < length:
            rule.log[k] = rule.log[k + u64(1)]
            k += u64(1)
        rule.log[length - u64(1)] = one
    else:
        k = where
        while k < last:
            if kind == u64(REDRAWN):
                rng = advance(rng)
                one = below(high(mix(rng)), actions)
            rule.log[k] = one
            k += u64(1)
    return length


@part
def place_of(rule, t0, length, draw):
    """A step of the plan: half of the time any, half of the time by weight."""
    if draw & u64(1):
        return below(draw, length)
    low_end, high_end = rule.elapsed[t0], rule.elapsed[t0 + length]
    wanted = low_end + (high_end - low_end) * (float(draw) / 4294967296.0)
    first, last = t0, t0 + length - u64(1)
    while first < last:
        middle = (first + last) // u64(2)
        if rule.elapsed[middle + u64(1)] > wanted:
            last = middle
        else:
            first = middle + u64(1)
    return first - t0


@record
class Incumbent:
    """The best plans of one search."""

    commitment: float  # standard deviations by which the plan of the action taken may fall short; infinite: any
    varies: bool  # whether plans are varied,
    all_tried: int  # unless they are so short that the tree comes to hold all of them
    elapsed: Any  # float64 [steps + 1]: the weight of the steps before each
    best: Any  # float64 [A]: the value of the plan that begins with each action
    plans: Any  # int32 [A · steps]: the actions of each plan, from the root on
    log: Any  # int32 [steps]: those of the present simulation
    place: Any  # int64 [2]: see ``Logged``
    gains: Any  # float64 [4]: improvements and iterations of the tree, then of variations

    def holds(self):
        return True

    def record_from(self, k):
        self.place[0] = k
        return 0

    def keep(self, tree, depth, length, value):
        actions, kind = u64(self.best.size), VARIED if self.place[1] > 0 else TREE
        first = u64(tree.edges[0]) if depth > u64(0) else u64(self.log[0])  # at the root, an edge is an action
        self.gains[kind + 1] += 1.0
        if value <= self.best[first]:
            k = u64(0)
            while k < depth:
                self.log[k] = u64(tree.edges[k]) % actions
                k += u64(1)
            if take_plan(self, first, length, value):
                self.gains[kind] += 1.0
        return 0

    def due(self, tree, left):
        gains = self.gains
        self.place[1] = 0
        if not (self.varies and left > u64(self.all_tried) and np.isfinite(self.least())):
            return False
        ours = (gains[VARIED] + 1.0) / (gains[VARIED + 1] + 2.0)
        theirs = (gains[TREE] + 1.0) / (gains[TREE + 1] + 2.0)
        wanted = max(FEWEST, min(1.0 - FEWEST, ours / (ours + theirs)))
        return gains[VARIED + 1] < wanted * (gains[VARIED + 1] + gains[TREE + 1])

    def alter(self, t0, end, rng):
        self.place[1] = max(u64(1), vary(self, t0, end - t0, rng))
        return 0

    def varying(self):
        return self.place[1] > 0

    def admits(self, tree, a):
        least = self.least()
        if np.isinf(self.commitment) or np.isinf(least):
            return True
        return self.best[a] <= least + self.commitment * deviation_of(tree)

    def value_of(self, a):
        return self.best[a]

    def least(self):
        least = np.inf
        for a in range(self.best.size):
            least = min(least, self.best[a])
        return least

    def carry(self, a):
        steps = u64(self.log.size)
        value, at, k = self.best[u64(a)], u64(a) * steps, u64(0)
        while k + u64(1) < steps:
            self.log[k] = self.plans[at + k + u64(1)]
            k += u64(1)
        forget_plans(self)
        if np.isfinite(value):
            take_plan(self, u64(self.log[0]), steps - u64(1), value)
        for k in range(self.gains.size):
            self.gains[k] *= MEMORY
        return 0

    def drop(self):
        forget_plans(self)
        for k in range(self.gains.size):
            self.gains[k] = 0.0
        return 0


@part
def forget_plans(rule):
    """There is no plan."""
    for a in range(rule.best.size):
        rule.best[a] = np.inf


@kernel
def carry_once(incumbent, a):
    """``incumbent.carry``, or ``drop`` if ``a`` is negative, for calls from Python."""
    if a < 0:
        return incumbent.drop()
    return incumbent.carry(u64(a))


def can_replay(problem: Problem) -> bool:
    """Whether a simulated trajectory of ``problem`` can be played again.

    >>> import gumdp
    >>> can_replay(gumdp.zoo.load("taxi-entropy")), can_replay(gumdp.zoo.load("m1-entropy"))
    (True, False)
    """
    table = problem.model.known
    model = problem.model if table is None else table
    fixed = table is not None and table.start_states.size == 1
    return bool(model.deterministic and not adds_by_chance(problem) and (problem.episodes == 1 or fixed))


def all_plans(problem: Problem, iterations: int) -> int:
    """How long plans can be for so many iterations to try all of them, one for each edge of the tree of plans.

    >>> import gumdp
    >>> all_plans(gumdp.zoo.load("taxi-entropy"), 100)  # 6 actions: 6 + 36 edges
    2
    """
    available = problem.model.available
    widest = problem.shape[1] if available is None else int(available.sum(axis=1).max())
    edges, length = widest, 0
    while edges <= iterations and length < problem.steps:
        iterations, edges, length = iterations - edges, edges * widest, length + 1
    return length


def new_incumbent(problem: Problem, commitment: float, varies: bool, iterations: int) -> Incumbent:
    """No plan yet; ``iterations`` are those of a decision."""
    actions, steps = problem.shape[1], problem.steps
    return Incumbent(
        commitment=float(commitment),
        varies=varies,
        all_tried=all_plans(problem, iterations),
        elapsed=np.concatenate([[0.0], np.cumsum(problem.weights)]),
        best=np.full(actions, np.inf),
        plans=np.zeros(actions * steps, np.int32),
        log=np.zeros(steps, np.int32),
        place=np.zeros(2, np.int64),
        gains=np.zeros(4),
    )


def share_plans(incumbents: list[Any]) -> None:
    """Searches side by side all have the best plans of any."""
    if len(incumbents) == 1 or not incumbents[0].holds():
        return
    for a in range(incumbents[0].best.size):
        best = min(incumbents, key=lambda each: float(each.best[a]))
        rows = slice(a * best.log.size, (a + 1) * best.log.size)
        for other in incumbents:
            if other is not best:
                other.best[a], other.plans[rows] = best.best[a], best.plans[rows]
