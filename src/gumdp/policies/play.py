"""The one compiled loop that plays trials, and the steps that trials and searches share.

Who decides is a record: a ``Rule`` here, or a search (``gumdp.search.loop.Search``). A decider answers

===========================================  ==========================================================================
``commence()``                                a trial begins
``decide(setup, running, s, t, rng, stop)``   a status, the generator afterwards, and the action in ``s`` at step ``t``
``happened(a, key)``                          action ``a`` was taken and led to the state of that key
``simulates()``                               whether deciding moves the model, so that it has to be put back
===========================================  ==========================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import arrive, commit_step, leave, wipe, worth
from gumdp.jit.random import advance, high, mix, mix_all
from gumdp.jit.record import kernel, part, record, u64

DONE, STOPPED, NOT_A_NUMBER = 0, 1, 2  # how a search or a trial ended


class Setup(NamedTuple):
    """A problem as kernels see it."""

    model: Any  # see ``gumdp.models.compiled``
    objective: Any  # see ``gumdp.objectives.record``
    weights: Any  # float64 [steps]
    horizon: Any  # uint64: steps of an episode


def setup_of(problem: Any) -> Setup:
    """``problem`` as kernels see it."""
    return Setup(problem.model.simulation(problem.steps), problem.record, problem.weights, np.uint64(problem.horizon))


@part
def rollout(setup, policy, running, s, t, end, pause, length, rng):
    """Play from state ``s`` at step ``t`` until ``end``, starting afresh at ``pause``, one horizon later, and so on.

    Returns the new length of the path and the generator's state.
    """
    model, objective, weights, horizon = setup
    draws, k = running.draws, u64(0)
    rng = mix_all(rng, draws, end - t + starts_between(pause, end, horizon))
    while t < end:
        h, last = t + horizon - pause, min(pause, end)
        while t < last:
            w = weights[t]
            bits = draws[k]
            k += u64(1)
            a = policy.choose(model, objective, s, t, h, running, running.z, w, high(bits))
            length = leave(objective, running, model, s, a, w, length, policy.tracks())
            after = model.step(s, a, bits)
            arrive(running, model, s, a, after, bits, w)
            s = after
            t += u64(1)
            h += u64(1)
        if t < end:
            s = model.reset(draws[k])
            k += u64(1)
            pause += horizon
    return length, rng


@part
def starts_between(pause, end, horizon):
    """How many episodes begin before step ``end``, the next one at ``pause``."""
    return u64(0) if end <= pause else (end - pause - u64(1)) // horizon + u64(1)


@record
class Rule:
    """A policy that needs no search, as a decider: see ``gumdp.policies.rollout``."""

    policy: Any

    def simulates(self):
        return False

    def commence(self):
        return 0

    def decide(self, setup, running, s, t, rng, stop):
        rng = advance(rng)
        h, w = t % setup.horizon, setup.weights[t]
        a = self.policy.choose(setup.model, setup.objective, s, t, h, running, running.z_root, w, high(mix(rng)))
        return DONE, rng, u64(a)

    def happened(self, a, key):
        return 0


@record
class Itself:
    """The world is the model."""

    model: Any

    def reset(self, bits):
        return self.model.reset(bits)

    def step(self, s, a, bits):
        return self.model.step(s, a, bits)

    def restore(self, s):
        return self.model.restore(s)

    def teach(self, model, s, a, after):
        return DONE


@record
class Unknown:
    """The world is a table that the model, a belief, only learns of step by step."""

    table: Any

    def reset(self, bits):
        return self.table.reset(bits)

    def step(self, s, a, bits):
        return self.table.step(s, a, bits)

    def restore(self, s):
        return s

    def teach(self, model, s, a, after):
        return model.observe(s, a, after)


@kernel
def play(setup, world, decider, running, seeds, values, stop):
    """Fill ``values[k]`` with the outcome of the trial of ``seeds[k]`` = (of the environment, of the decider).

    ``world`` is what really happens: ``Itself`` or ``Unknown``.
    The running occupancy must be empty, and is left so. Returns a status: STOPPED when ``stop[0]`` was set meanwhile.
    """
    for k in range(values.size):
        if stop[0] != 0:
            return STOPPED
        status = play_once(setup, world, decider, running, u64(seeds[k, 0]), u64(seeds[k, 1]), stop)
        if status != DONE:
            return status
        values[k] = worth(setup.objective, running)
        wipe(setup.objective, running)
    return DONE


@part
def play_once(setup, world, decider, running, env_rng, rng, stop):
    """Play one trial, whose occupancy is left in ``running.root``; return a status."""
    model, objective, weights, horizon = setup
    s = world.restore(world.reset(mix(env_rng)))
    decider.commence()
    end, t = u64(weights.size), u64(0)
    while t < end:
        status, rng, a = decider.decide(setup, running, s, t, rng, stop)
        if status != DONE:
            return status
        env_rng = advance(env_rng)
        if decider.simulates():
            s = world.restore(s)
        bits = mix(env_rng)
        before, s = s, world.step(s, a, bits)
        commit_step(objective, running, model, before, a, s, bits, weights[t])
        t += u64(1)
        if t < end and t % horizon == u64(0):
            env_rng = advance(env_rng)
            s = world.restore(world.reset(mix(env_rng)))
        elif t < end:
            status = world.teach(model, before, a, s)
            if status != DONE:
                return status
        decider.happened(a, u64(model.key(s)))
    return DONE


@kernel
def decide_once(setup, decider, running, s, t, rng, stop):
    """One decision, for calls from Python: the generator afterwards, and the action."""
    _, rng, a = decider.decide(setup, running, s, u64(t), u64(rng), stop)
    return rng, a
