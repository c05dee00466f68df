"""Where randomness comes from: one seed at the public edge, spawned per trial."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, check_int

Seeds = NDArray[np.uint64]
Words = NDArray[np.uint32]

POOL = 4  # words of entropy that a SeedSequence keeps
BITS = 0xFFFFFFFF


def streams(seed: Any, trials: int = 1, first: int = 0) -> Seeds:
    """Two independent generator states for each trial, [trials, 2]: one for the world, one for the planner.

    Row k is ``numpy.random.SeedSequence(seed, spawn_key=(first + k,)).generate_state(2, numpy.uint64)``, all rows at
    once: trial k has the same streams whatever else is run, and whichever planner runs it.

    >>> streams(0, 2).tolist() == [
    ...     np.random.SeedSequence(0, spawn_key=(k,)).generate_state(2, np.uint64).tolist() for k in range(2)]
    True
    """
    number = check_int("seed", seed, 0)
    if first + trials > BITS:
        raise GumdpError(f"there are {BITS} trials to a seed, and trial {first + trials - 1} is not among them.")
    entropy = [number >> shift & BITS for shift in range(0, max(1, number.bit_length()), 32)]
    entropy += [0] * (POOL - len(entropy))
    pool = _mix([*entropy, np.arange(first, first + trials, dtype=np.uint32)])
    return _draw(pool, 4).view(np.uint64)


def _mix(entropy: list[Any]) -> list[Any]:
    """The pool of a SeedSequence; an entry of ``entropy`` may be an array, of which each item is a case of its own."""
    hashes = _Hashes(0x43B0D7E5, 0x931E8875)
    words = [np.array(word, np.uint32, ndmin=1) for word in entropy]  # arrays wrap around without a warning
    pool = [hashes.next(word) for word in words[:POOL]]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = _combine(pool[target], hashes.next(pool[source]))
    for word in words[POOL:]:
        pool = [_combine(old, hashes.next(word)) for old in pool]
    return pool


def _draw(pool: list[Any], count: int) -> Words:
    """``count`` words from each pool, [cases, count]."""
    hashes = _Hashes(0x8B51F9DD, 0x58F38DED)
    words = [hashes.next(pool[k % POOL]) for k in range(count)]
    return np.ascontiguousarray(np.stack(np.broadcast_arrays(*words), axis=-1), dtype="<u4")


class _Hashes:
    """A family of hashes of 32-bit words, one after another."""

    def __init__(self, constant: int, factor: int) -> None:
        self.constant, self.factor = constant, factor

    def next(self, word: Any) -> Any:
        word = word ^ np.uint32(self.constant)
        self.constant = self.constant * self.factor & BITS
        word = word * np.uint32(self.constant)
        return word ^ (word >> np.uint32(16))


def _combine(x: Any, y: Any) -> Any:
    word = x * np.uint32(0xCA01F9DD) - y * np.uint32(0x4973F715)
    return word ^ (word >> np.uint32(16))
