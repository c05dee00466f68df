"""The random numbers of the kernels: splitmix64, its whole state in one local variable.

A draw costs about a nanosecond. The caller keeps the state in a local variable for the whole loop:

    rng = advance(rng)
    bits = mix(rng)              # 64 random bits: high(bits) and low(bits) are two independent draws

Every operation is masked to 64 bits, so that the interpreted run computes the same numbers.
"""

from __future__ import annotations

from typing import Any

from gumdp.jit.record import kernel, part, u64

MASK = 0xFFFFFFFFFFFFFFFF
STEP = 0x9E3779B97F4A7C15
MIX1 = 0xBF58476D1CE4E5B9
MIX2 = 0x94D049BB133111EB
TO_UNIT = 2.0**-53


@part
def advance(rng: Any) -> Any:
    """The state after ``rng``."""
    return (u64(rng) + u64(STEP)) & u64(MASK)


@part
def mix(rng: Any) -> Any:
    """64 random bits from the state ``rng``."""
    z = u64(rng)
    z = ((z ^ (z >> u64(30))) * u64(MIX1)) & u64(MASK)
    z = ((z ^ (z >> u64(27))) * u64(MIX2)) & u64(MASK)
    return z ^ (z >> u64(31))


@part
def mix_all(rng: Any, draws: Any, first: Any, end: Any) -> Any:
    """Fill ``draws`` from place ``first`` to ``end`` with the bits of the next states; the last state.

    All at once, several to an instruction, where a loop that uses them one by one would spend much of its time on them.
    """
    for k in range(end - first):
        draws[u64(k) + first] = mix((u64(rng) + u64(k + 1) * u64(STEP)) & u64(MASK))
    return (u64(rng) + u64(end - first) * u64(STEP)) & u64(MASK)


@part
def high(bits: Any) -> Any:
    """The upper 32 bits: an independent draw from [0, 2³²)."""
    return bits >> u64(32)


@part
def low(bits: Any) -> Any:
    """The lower 32 bits: an independent draw from [0, 2³²)."""
    return bits & u64(0xFFFFFFFF)


@part
def below(draw: Any, n: Any) -> Any:
    """A number in {0, …, n-1} from a 32-bit draw."""
    return (draw * u64(n)) >> u64(32)


@part
def unit(bits: Any) -> Any:
    """A number in [0, 1) from 64 bits."""
    return float(bits >> u64(11)) * TO_UNIT


@kernel
def mixed(rng):
    """64 random bits from the state ``rng``, for calls from Python."""
    return mix(u64(rng))


@kernel
def next_rng(rng):
    """The generator state after ``rng``."""
    return advance(u64(rng))
