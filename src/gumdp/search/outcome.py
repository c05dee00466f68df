"""Outcomes: which chance an iteration meets in the tree.

A rule for outcomes answers

===================================  ==================================================================================
``chance(rng, chance, tree, a)``      the generator that an iteration goes on with when it tries ``a`` at the root
``draw(tree, node, edge, bits)``      the bits that choose the outcome of ``edge``, instead of the fresh ones ``bits``
``onward(rng, chance)``               the generator of the next iteration, ``chance`` being what this one has left
``between(rng)``                      the generator of the next decision
===================================  ==================================================================================
"""

from __future__ import annotations

from gumdp.jit.random import advance, low, mix
from gumdp.jit.record import kernel, record, u64

GOLDEN = 0x9E3779B1  # 2³² over the golden ratio: its multiples fill the circle evenly


@kernel
def spread(rng, k):
    """The k-th of many independent generator states that come from one."""
    return mix(u64(rng) ^ mix(u64(k)))


@record
class Outcomes:
    """Outcomes at random, or with less of luck in them.

    Paired: common random numbers, so that luck cancels out when actions are compared. Even: a low-discrepancy
    sequence, the multiples of the golden ratio.
    """

    paired: bool  # the n-th iterations of the root's actions meet the same chance
    even: bool  # in the tree, outcomes come in the proportions of their probabilities

    def chance(self, rng, chance, tree, a):
        return spread(rng, u64(tree.fresh[a])) if self.paired else chance

    def draw(self, tree, node, edge, bits):
        if self.even:
            return low(u64(tree.phase[node]) + u64(tree.visits[edge]) * u64(GOLDEN))
        return bits

    def onward(self, rng, chance):
        return rng if self.paired else chance

    def between(self, rng):
        return advance(rng) if self.paired else rng


@kernel
def between_once(outcome, rng):
    """``outcome.between``, for calls from Python."""
    return outcome.between(u64(rng))
