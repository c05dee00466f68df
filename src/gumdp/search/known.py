"""Known outcomes: which states can follow an action, how probable each is, and so what can be closed in a tree.

A subtree is *closed* when every continuation in it has been scored exactly: its value is then exact too, and a search
has nothing left to find out there. That takes outcomes that can be listed. What is known of them answers

====================================  ================================================================================
``lists()``                            whether outcomes can be listed at all
``lists_last()``                       and count in the last step too, after which nothing more is done
``possible(label, a)``                 whether ``a`` is available in the state ``label``
``number(label, a, t)``                how many states can follow ``a`` in the state ``label`` before step ``t``;
                                      0: that is not known
``probability(label, a, t, after)``    that of the state ``after``
``another(tree, edge, at, drawn, u)``  the state ``drawn``, or, where its subtree under ``edge`` is closed, one whose
                                      subtree is not, in the proportions of their probabilities; ``at`` = (label, a, t),
                                      ``u`` are 32 random bits
====================================  ================================================================================

Winands, Björnsson and Saito (2008), "Monte-Carlo tree search solver".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.jit.record import part, record, u64
from gumdp.problem import Problem
from gumdp.search.tree import find


@record
class Unlisted:
    """Outcomes can be drawn, and no more is known of them."""

    nothing: int  # a record needs a field

    def lists(self):
        return False

    def lists_last(self):
        return False

    def possible(self, label, a):
        return True

    def number(self, label, a, t):
        return 0

    def probability(self, label, a, t, after):
        return 0.0

    def another(self, tree, edge, at, drawn, u):
        return drawn


@record
class Single:
    """An action has one outcome."""

    nothing: int  # a record needs a field

    def lists(self):
        return True

    def lists_last(self):
        return False

    def possible(self, label, a):
        return True

    def number(self, label, a, t):
        return 1

    def probability(self, label, a, t, after):
        return 1.0

    def another(self, tree, edge, at, drawn, u):
        return drawn


@part
def is_closed(tree, edge, label):
    """Whether the subtree of this outcome is there and closed."""
    child = find(tree, edge, label)
    return child >= 0 and tree.closed[u64(child)] != 0


@record
class Rows:
    """Outcomes are listed in a table, row by row, and so is the start of an episode."""

    actions: int
    horizon: int  # of an episode
    last: bool  # whether the state that the last step leads to counts: what it adds may depend on that
    offsets: Any  # int64 [S·A + 1]
    successors: Any  # int32 [n]
    probabilities: Any  # float64 [n]
    start_states: Any  # int32 [m]
    start_probabilities: Any  # float64 [m]

    def lists(self):
        return True

    def lists_last(self):
        return self.last

    def possible(self, label, a):
        r = u64(label) * u64(self.actions) + u64(a)
        return self.offsets[r + u64(1)] > self.offsets[r]

    def number(self, label, a, t):
        if t % u64(self.horizon) == u64(0):
            return np.int64(self.start_states.size)
        r = u64(label) * u64(self.actions) + u64(a)
        return np.int64(self.offsets[r + u64(1)] - self.offsets[r])

    def probability(self, label, a, t, after):
        if t % u64(self.horizon) == u64(0):
            for j in range(self.start_states.size):
                if u64(self.start_states[j]) == u64(after):
                    return self.start_probabilities[j]
            return 0.0
        r = u64(label) * u64(self.actions) + u64(a)
        for j in range(self.offsets[r], self.offsets[r + u64(1)]):
            if u64(self.successors[j]) == u64(after):
                return self.probabilities[j]
        return 0.0

    def another(self, tree, edge, at, drawn, u):
        if not is_closed(tree, edge, u64(drawn)):
            return drawn
        label, a, t = at
        fresh = t % u64(self.horizon) == u64(0)
        r = u64(label) * u64(self.actions) + u64(a)
        first, last = self.offsets[r], self.offsets[r + u64(1)]
        if fresh:
            first, last = 0, self.start_states.size
        mass = 0.0
        for j in range(first, last):
            after = u64(self.start_states[j]) if fresh else u64(self.successors[j])
            if not is_closed(tree, edge, after):
                mass += self.start_probabilities[j] if fresh else self.probabilities[j]
        left = mass * (float(u) / 4294967296.0)
        for j in range(first, last):
            after = u64(self.start_states[j]) if fresh else u64(self.successors[j])
            if not is_closed(tree, edge, after):
                drawn = after
                left -= self.start_probabilities[j] if fresh else self.probabilities[j]
                if left < 0.0:
                    break
        return drawn


def adds_by_chance(problem: Problem) -> bool:
    """Whether what a step adds is drawn, with the next state or beside it."""
    features = problem.features
    return features is not None and features.late and (features.chance or not problem.model.deterministic)


def known_outcomes(problem: Problem) -> Any:
    """What is known of the outcomes of actions in ``problem``.

    >>> import gumdp
    >>> known_outcomes(gumdp.zoo.load("mountaincar-entropy"))
    Single(nothing=0)
    """
    model, table, last = problem.model, problem.model.known, adds_by_chance(problem)
    if last and (table is None or problem.episodes > 1):  # where an episode's last step leads is no node of the tree,
        return Unlisted(0)  # unless it is the trial's
    if table is not None:
        return Rows(
            actions=problem.shape[1],
            horizon=problem.horizon + 1 if last else problem.horizon,  # nothing begins again after the last step
            last=last,
            offsets=table.offsets,
            successors=table.successors,
            probabilities=table.probabilities,
            start_states=table.start_states,
            start_probabilities=table.start_probabilities,
        )
    if model.deterministic and problem.episodes == 1:  # a state that an episode begins in may be drawn
        return Single(0)
    return Unlisted(0)
