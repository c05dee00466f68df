"""Scoring one occupancy in the two ways that searches do, to compare them."""

from __future__ import annotations

from gumdp.counts.running import commit, settle, wipe, worth
from gumdp.jit.record import kernel, u64


@kernel
def rehearse(objective, running, actions, pairs, weights, known):
    """Put ``weights`` on ``pairs``, the first ``known`` for good, the others as a search does, and then for good too.

    Returns the value re-scored from what changed, how many cells re-scoring failed to restore, and the value that
    the statistics of all of it add up to. The running occupancy must be open on an empty occupancy, and is left so.
    """
    quick, astray = 0.0, 0
    for t in range(pairs.size + 1):
        if t == known:
            length = u64(0)
            for later in range(t, pairs.size):
                i = u64(pairs[later])
                running.d[i] += weights[later]
                running.path[length] = i
                length += u64(1)
                if objective.grouped():
                    i = u64(running.pairs) + i // u64(actions)
                    running.d[i] += weights[later]
                    running.path[length] = i
                    length += u64(1)
            quick, _ = settle(objective, running, length)
            for i in range(running.d.size):
                astray += running.d[i] != running.root[i]
        if t < pairs.size:
            i = u64(pairs[t])
            commit(objective, running, i // u64(actions), i % u64(actions), actions, weights[t])
    summed = worth(objective, running)
    for t in range(pairs.size):
        running.path[t] = pairs[t]
    wipe(objective, running, actions, pairs.size)
    return quick, astray, summed
