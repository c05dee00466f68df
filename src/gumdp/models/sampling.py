"""Random walks through a model, for learning a table of it."""

from __future__ import annotations

from gumdp.jit.random import advance, high, mix
from gumdp.jit.record import kernel, u64


@kernel
def wander(model, rng, episode, rows, begun):
    """Fill ``rows[k]`` with (cell, action, next cell) of random actions, starting afresh every ``episode`` steps.

    ``begun[k]`` is set where an episode begins.
    """
    rng = u64(rng)
    s = model.restore(model.reset(mix(rng)))
    for k in range(begun.size):
        if k % episode == 0:
            rng = advance(rng)
            s = model.restore(model.reset(mix(rng)))
            begun[k] = True
        rng = advance(rng)
        bits = mix(rng)
        a = model.pick(s, high(bits))
        rows[k, 0] = model.cell(s)
        rows[k, 1] = a
        s = model.step(s, a, bits)
        rows[k, 2] = model.cell(s)
