"""Scoring one occupancy in the two ways that searches do, to compare them."""

from __future__ import annotations

from gumdp.counts.running import commit, settle, wipe, worth
from gumdp.jit.record import kernel, u64


@kernel
def rehearse(objective, ledger, actions, pairs, weights, known):
    """Put ``weights`` on ``pairs``, the first ``known`` for good, the others as a search does, and then for good too.

    Returns the value re-scored from what changed, how many cells re-scoring failed to restore, and the value that
    the statistics of all of it add up to. The ledger must be open on an empty occupancy, and is left so.
    """
    quick, astray = 0.0, 0
    for t in range(pairs.size + 1):
        if t == known:
            length = u64(0)
            for later in range(t, pairs.size):
                i = u64(pairs[later])
                ledger.d[i] += weights[later]
                ledger.path[length] = i
                length += u64(1)
                if objective.grouped():
                    i = u64(ledger.pairs) + i // u64(actions)
                    ledger.d[i] += weights[later]
                    ledger.path[length] = i
                    length += u64(1)
            quick, _ = settle(objective, ledger, length)
            for i in range(ledger.d.size):
                astray += ledger.d[i] != ledger.root[i]
        if t < pairs.size:
            i = u64(pairs[t])
            commit(objective, ledger, i // u64(actions), i % u64(actions), actions, weights[t])
    summed = worth(objective, ledger)
    for t in range(pairs.size):
        ledger.path[t] = pairs[t]
    wipe(objective, ledger, actions, pairs.size)
    return quick, astray, summed
