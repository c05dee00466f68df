"""The final choice: which action a decision takes, from what its search found.

A choice answers ``recommend(visits, means)``, both [A]: of the root's edges.
"""

from __future__ import annotations

from gumdp.jit.record import kernel, record


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


@kernel
def recommend_once(choice, visits, means):
    """``choice.recommend``, for calls from Python."""
    return choice.recommend(visits, means)
