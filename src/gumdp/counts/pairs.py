"""What a step adds to the running occupancy: one entry, several, or amounts of whatever is counted.

Counts answer

=======================================  ==============================================================================
``by_entries()``                          whether a step adds its weight to a few entries, which ``entry`` names; else
                                          ``add_step`` adds to any of them
``entries()``                             how many entries a step changes
``entry(k, row, a)``                      the k-th of them, for action ``a`` in a state of row ``row``
``row_of(model, s)``                      the row of state ``s``
``name_of(i)``                            the number by which the objective knows entry ``i``
``settled()``                             whether the terms of what really happened are kept, or computed when needed
``free_rows(all)``                        forget the rows that only a simulation met; ``all``: those that happened too
``keep_rows()``                           the rows met so far have really happened
``is_late()``                             whether what a step adds shows only after it
``add_step(d, w, model, s, a, after, b)`` add what action ``a`` in ``s``, which led to ``after`` with the random bits
                                          ``b``, is worth, times the weight ``w``
``cost_at(o, running, z, model, s, …)``   what orders actions: ``(…, row, a, w, t)``, for objective ``o`` at step ``t``
=======================================  ==============================================================================

and know the number of ``actions``. Whatever changes an occupancy (``gumdp.counts.running``) goes through these verbs.
"""

from __future__ import annotations

from typing import Any

from gumdp.jit.record import part, record, u64


class CountsRecord:
    """Every verb, with what pairs answer."""

    __slots__ = ()

    def by_entries(self):
        return True

    def row_of(self, model, s):
        return u64(model.cell(s))

    def name_of(self, i):
        return i

    def settled(self):
        return True

    def free_rows(self, all):
        return 0

    def keep_rows(self):
        return 0

    def is_late(self):
        return False

    def add_step(self, d, w, model, s, a, after, bits):
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        return cost_of(objective, running.d, z, row * u64(self.actions) + a, w)


@record
class Pairs(CountsRecord):
    """A step counts for its pair of row and action: what occupancies are made of."""

    pairs: int
    actions: int

    def entries(self):
        return 1

    def entry(self, k, row, a):
        return row * u64(self.actions) + a


@record
class PairsAndStates(CountsRecord):
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


@part
def cost_of(objective, d, z, i, w):
    """What orders actions: the rank of entry ``i``, or the dense objective itself with ``w`` more there."""
    x = d[i]
    if objective.dense():
        d[i] = x + w
        cost = objective.value(d)
        d[i] = x
        return cost
    return objective.rank(i, x, w, z, 0)
