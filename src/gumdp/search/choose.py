"""The final choice: which action a decision takes, from what its search found.

A choice answers ``recommend(visits, means)``, both [A]: of the root's edges that are open. An action that is closed,
whose value is certain, is taken if that value is no more than that of the open one.
"""

from __future__ import annotations

from gumdp.jit.record import kernel, part, record, u64
from gumdp.search.tree import is_shut


@record
class Best:
    """Most visits (then least mean), or least mean (then most visits); then the first."""

    by_value: bool

    def recommend(self, visits, means):
        best = -1
        for a in range(visits.size):
            if visits[a] > 0:
                if best < 0:
                    best = a
                elif self.by_value:
                    if means[a] < means[best] or (means[a] == means[best] and visits[a] > visits[best]):
                        best = a
                elif visits[a] > visits[best] or (visits[a] == visits[best] and means[a] < means[best]):
                    best = a
        return best


@part
def recommended(rules, tree):
    """The action that a search takes at its root."""
    actions, certain = tree.squares.size, -1
    means = tree.mean[:actions]
    proved = tree.closed[0] != 0
    for a in range(actions):
        admitted, closed = proved or rules.incumbent.admits(tree, a), is_shut(tree, u64(a))
        tree.ballot[a] = tree.visits[a] if admitted and not (closed or proved) else 0
        if closed and admitted and (certain < 0 or means[a] < means[certain]):
            certain = a
    best = rules.choice.recommend(tree.ballot, means)
    if certain >= 0 and (best < 0 or means[certain] <= means[best]):
        best = certain
    if best < 0:  # the best plan's first action, if the tree never tried it
        for a in range(actions):
            if best < 0 or rules.incumbent.value_of(a) < rules.incumbent.value_of(best):
                best = a
    return best


@kernel
def recommend_once(rules, tree):
    """``recommended``, for calls from Python."""
    return recommended(rules, tree)
