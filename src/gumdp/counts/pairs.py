"""What a step adds to the running occupancy: one entry, or several.

Counts answer

====================  =============================================================================
``entries()``          how many entries a step changes
``entry(k, row, a)``   the k-th of them, for action ``a`` in a state of row ``row``
====================  =============================================================================

and know the number of ``pairs`` and of ``actions``. Whatever changes an occupancy (``gumdp.counts.running``) goes
through these two verbs.
"""

from __future__ import annotations

from typing import Any

from gumdp.jit.record import record, u64


@record
class Pairs:
    """A step counts for its pair of row and action: what occupancies are made of."""

    pairs: int
    actions: int

    def entries(self):
        return 1

    def entry(self, k, row, a):
        return row * u64(self.actions) + a


@record
class PairsAndStates:
    """A step counts for its pair, and for its row too: entries S·A … S·A+S-1."""

    pairs: int
    actions: int

    def entries(self):
        return 2

    def entry(self, k, row, a):
        return row * u64(self.actions) + a if k == 0 else u64(self.pairs) + row


def counts_of(objective: Any, shape: tuple[int, int]) -> Any:
    """What a step adds for an objective's record, and the number of entries in all."""
    pairs = shape[0] * shape[1]
    if objective.grouped():
        return PairsAndStates(pairs, shape[1]), pairs + shape[0]
    return Pairs(pairs, shape[1]), pairs
