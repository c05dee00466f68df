"""Scoring one occupancy in the two ways that searches do, to compare them."""

from __future__ import annotations

from gumdp.counts.running import commit, settle, visit_pair, wipe, worth
from gumdp.jit.record import kernel, u64


@kernel
def rehearse(objective, running, pairs, weights, known):
    """Put ``weights`` on ``pairs``, the first ``known`` for good, the others as a search does, and then for good too.

    Returns the value re-scored from what changed, how many entries re-scoring failed to restore, and the value that
    the statistics of all of it add up to. The running occupancy must be empty, and is left so.
    """
    quick, astray, actions = 0.0, 0, u64(running.counts.actions)
    for t in range(pairs.size + 1):
        if t == known:
            length = u64(0)
            for later in range(t, pairs.size):
                length = visit_pair(objective, running, u64(pairs[later]), weights[later], length)
            quick, _ = settle(objective, running, length)
            for i in range(running.d.size):
                astray += running.d[i] != running.root[i]
        if t < pairs.size:
            i = u64(pairs[t])
            commit(objective, running, i // actions, i % actions, weights[t])
    summed = worth(objective, running)
    wipe(objective, running)
    return quick, astray, summed
