"""Whole trials under an actor, and the steps that trials and searches share."""

from __future__ import annotations

from gumdp.counts.running import commit, wipe, worth
from gumdp.jit.random import advance, high, mix
from gumdp.jit.record import kernel, part, u64


@part
def follow(objective, d, z, i, w):
    """Add ``w`` to cell ``i`` of the statistics ``z``, before ``d`` itself changes."""
    x = d[i]
    for m in range(objective.count()):
        z[m] += objective.term(m, i, x + w) - objective.term(m, i, x)


@part
def visit(objective, actor, running, c, a, w, length):
    """Add ``w`` to the pair (c, a) of the running occupancy; the path, ``length`` long, remembers it."""
    i = c * u64(actor.actions) + a
    if actor.tracks() and objective.tracks():
        follow(objective, running.d, running.z, i, w)
    running.d[i] += w
    running.path[length] = i
    length += u64(1)
    if objective.grouped():
        i = u64(running.pairs) + c
        if actor.tracks() and objective.tracks():
            follow(objective, running.d, running.z, i, w)
        running.d[i] += w
        running.path[length] = i
        length += u64(1)
    return length


@part
def rollout(model, objective, actor, running, weights, horizon, s, t, pause, length, rng):
    """Play from state ``s`` at step ``t`` to the end, starting afresh at ``pause``, one horizon later, and so on.

    Returns the new length of the path and the generator's state.
    """
    end = u64(weights.size)
    while t < end:
        h = t + horizon - pause
        while t < pause:
            w = weights[t]
            rng = advance(rng)
            bits = mix(rng)
            a = actor.choose(model, objective, s, h, running.d, running.z, w, high(bits))
            length = visit(objective, actor, running, u64(model.cell(s)), a, w, length)
            s = model.step(s, a, bits)
            t += u64(1)
            h += u64(1)
        if t < end:
            rng = advance(rng)
            s = model.reset(mix(rng))
            pause += horizon
    return length, rng


@kernel
def play(model, objective, actor, running, weights, horizon, seeds, values, stop):
    """Fill ``values[k]`` with the outcome of the trial of ``seeds[k]`` = (world, actor) under ``actor``.

    The running occupancy must be open on an empty occupancy, and is left so.
    Returns how many trials were played: fewer than all of them when ``stop[0]`` was set meanwhile.
    """
    for k in range(values.size):
        if stop[0] != 0:
            return k
        run(model, objective, actor, running, weights, u64(horizon), seeds[k, 0], seeds[k, 1])
        values[k] = worth(objective, running)
        wipe(objective, running, actor.actions, u64(weights.size))
    return values.size


@part
def run(model, objective, actor, running, weights, horizon, world, dice):
    """Play one trial; afterwards ``running.root`` is its occupancy and ``running.path`` its pairs."""
    world, dice = u64(world), u64(dice)
    s = model.restore(model.reset(mix(world)))
    end = u64(weights.size)
    t = u64(0)
    while t < end:
        h = t % horizon
        if h == u64(0) and t > u64(0):
            world = advance(world)
            s = model.restore(model.reset(mix(world)))
        dice = advance(dice)
        a = actor.choose(model, objective, s, h, running.d, running.z_root, weights[t], high(mix(dice)))
        running.path[t] = u64(model.cell(s)) * u64(actor.actions) + u64(a)
        commit(objective, running, model.cell(s), a, actor.actions, weights[t])
        world = advance(world)
        s = model.step(s, a, mix(world))
        t += u64(1)


@kernel
def choose_once(model, objective, actor, running, s, h, w, dice):
    """The generator's state after one choice of ``actor``, and the action."""
    dice = advance(u64(dice))
    a = actor.choose(model, objective, s, u64(h), running.d, running.z_root, w, high(mix(dice)))
    return dice, u64(a)


@kernel
def start_state(model, world):
    """A start state from the generator state ``world``."""
    return model.restore(model.reset(mix(u64(world))))


@kernel
def next_state(model, s, a, world):
    """The state after (s, a) with the generator state ``world``."""
    return model.step(model.restore(s), u64(a), mix(u64(world)))


@kernel
def next_world(world):
    """The generator state after ``world``."""
    return advance(u64(world))
