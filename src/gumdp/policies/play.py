"""The one compiled loop that plays trials, and the steps that trials and searches share.

Who decides is a record: a ``Rule`` here, or a search (``gumdp.search.loop.Search``). A decider answers

====================================================  =================================================================
``commence(trials, k)``                                the k-th trial begins
``decide(setup, trials, points, number, t, stop)``     decide on step ``t`` of the first ``number`` of the ``trials``:
                                                       the actions, and the generators afterwards, go to ``points``;
                                                       returns a status
``happened(trials, k, a, key)``                        there, action ``a`` was taken and led to the state of that key
``simulates()``                                        whether deciding moves the model, so that it has to be put back
====================================================  =================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import arrive, commit_step, leave, wipe, worth
from gumdp.jit.cells import cells
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
def draw_ahead(draws, rng, t, end, pause, horizon):
    """Make the random bits of a rollout from step ``t`` to ``end``, the next episode beginning at ``pause``.

    Returns the generator's state afterwards.
    """
    while pause < end:
        rng = advance(mix_all(rng, draws, t, pause))
        draws[start_place(draws, pause)] = mix(rng)
        t = pause
        pause += horizon
    return mix_all(rng, draws, t, end)


@part
def start_place(draws, t):
    """Where the bits are that an episode begins with at step ``t``."""
    return u64(draws.size) // u64(2) + t


@part
def rollout(setup, policy, running, s, length, t, until, end, pause):
    """Play from state ``s`` at step ``t`` to ``until``; before ``end``, start afresh at ``pause``, a horizon later, ….

    ``length`` is that of the path. Returns the state, the new length, and when the next episode begins.
    """
    draws, horizon = running.draws, setup.horizon
    while t < until:
        h, last = t + horizon - pause, min(pause, until)
        while t < last:
            s, length = one_step(setup, policy, running, s, length, t, h)
            t += u64(1)
            h += u64(1)
        if t == pause and t < end:
            s = setup.model.reset(draws[start_place(draws, t)])
            pause += horizon
    return s, length, pause


@part
def rollout_both(setup, one, other, t, end, pause):
    """Two rollouts to the end side by side, each of a (policy, running occupancy, state, length); the new lengths."""
    policy, running, s, length = one
    policy_too, running_too, s_too, length_too = other
    draws, draws_too, horizon = running.draws, running_too.draws, setup.horizon
    while t < end:
        h, last = t + horizon - pause, min(pause, end)
        while t < last:
            s, length = one_step(setup, policy, running, s, length, t, h)
            s_too, length_too = one_step(setup, policy_too, running_too, s_too, length_too, t, h)
            t += u64(1)
            h += u64(1)
        if t < end:
            s = setup.model.reset(draws[start_place(draws, t)])
            s_too = setup.model.reset(draws_too[start_place(draws, t)])
            pause += horizon
    return length, length_too


@part
def one_step(setup, policy, running, s, length, t, h):
    """One step of a rollout: the state after it, and the length of the path."""
    model, objective, weights, _ = setup
    w, bits = weights[t], running.draws[t]
    a = policy.choose(model, objective, s, t, h, running, running.z, w, high(bits))
    length = leave(objective, running, model, s, a, w, length, policy.tracks())
    after = model.step(s, a, bits)
    arrive(running, model, s, a, after, bits, w)
    return after, length


class Trial(NamedTuple):
    """Who plays a trial, and where what it does is counted."""

    decider: Any
    running: Any  # gumdp.counts.running.RunningOccupancy


class Point(NamedTuple):
    """How far a trial has come."""

    s: Any  # the state
    chance: Any  # uint64: the generator of the environment
    rng: Any  # uint64: that of the decider
    action: Any  # uint64: what was decided


@record
class Rule:
    """A policy that needs no search, as a decider: see ``gumdp.policies.rollout``."""

    policy: Any

    def simulates(self):
        return False

    def commence(self, trials, k):
        return 0

    def decide(self, setup, trials, points, number, t, stop):
        model, objective, h, w = setup.model, setup.objective, t % setup.horizon, setup.weights[t]
        for k in range(number):
            s, running, rng = points.s[k], trials.running[k], advance(points.rng[k])
            a = self.policy.choose(model, objective, s, t, h, running, running.z_root, w, high(mix(rng)))
            points.rng[k] = rng
            points.action[k] = u64(a)
        return DONE

    def happened(self, trials, k, a, key):
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
def play(setup, world, trials, at_once, seeds, values, stop):
    """Fill ``values[k]`` with the outcome of the trial of ``seeds[k]`` = (of the environment, of the decider).

    ``world`` is what really happens: ``Itself`` or ``Unknown``. ``trials`` are two ``Trial``s, which are played side by
    side, ``at_once`` being 2, or the first of them alone. The running occupancies must be empty, and are left so.
    Returns a status: STOPPED when ``stop[0]`` was set meanwhile.
    """
    sides, first = cells(trials), np.int64(0)
    while first < values.size:
        if stop[0] != 0:
            return STOPPED
        number = min(at_once, values.size - first)
        status = play_some(setup, world, sides, number, seeds, first, stop)
        if status != DONE:
            return status
        for k in range(number):
            running = sides.running[k]
            values[first + k] = worth(setup.objective, running)
            wipe(setup.objective, running)
        first += number
    return DONE


@part
def widened(world, s, never):
    """``s`` in the type that states have anywhere: they may begin as whole numbers, and go on as fractions.

    Nothing is called here: the compiler only sees what might be.
    """
    if never:
        s = world.restore(s)
    if never:
        s = world.step(s, u64(0), u64(0))
    if never:
        s = world.reset(u64(0))
    return s


@part
def start_of(world, seeds, k):
    """Where the trial of ``seeds[k]`` begins."""
    chance = u64(seeds[k, 0])
    return Point(widened(world, world.restore(world.reset(mix(chance))), False), chance, u64(seeds[k, 1]), u64(0))


@part
def play_some(setup, world, trials, number, seeds, first, stop):
    """Play ``number`` trials, whose occupancies are left in ``running.root``; return a status."""
    model, objective, weights, horizon = setup
    decider, start = trials.decider[0], start_of(world, seeds, first)
    points = cells((start, start))
    for k in range(number):
        if k > 0:
            points[k] = start_of(world, seeds, first + k)
        decider.commence(trials, k)
    end, t = u64(weights.size), u64(0)
    while t < end:
        status = decider.decide(setup, trials, points, number, t, stop)
        if status != DONE:
            return status
        w = weights[t]
        t += u64(1)
        for k in range(number):
            s, chance, rng, a = points[k]
            chance = advance(chance)
            if decider.simulates():
                s = world.restore(s)
            bits = mix(chance)
            before, s = s, world.step(s, a, bits)
            commit_step(objective, trials.running[k], model, before, a, s, bits, w)
            if t < end and t % horizon == u64(0):
                chance = advance(chance)
                s = world.restore(world.reset(mix(chance)))
            elif t < end:
                status = world.teach(model, before, a, s)
                if status != DONE:
                    return status
            decider.happened(trials, k, a, u64(model.key(s)))
            points[k] = Point(s, chance, rng, a)
    return DONE


@kernel
def decide_once(setup, decider, running, s, t, rng, stop):
    """One decision, for calls from Python: the generator afterwards, and the action."""
    trial, point = Trial(decider, running), Point(s, u64(0), u64(rng), u64(0))
    points = cells((point, point))
    decider.decide(setup, cells((trial, trial)), points, 1, u64(t), stop)
    return points.rng[0], points.action[0]
