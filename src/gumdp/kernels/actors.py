"""Policies that need no search, as kernels see them: baselines of their own and rollouts of the search.

An actor answers ``choose(model, objective, s, h, d, z, w, draw)``: the action in state ``s`` at step ``h``
of the episode, with the running occupancy ``d``, its statistics ``z`` (kept only if the objective tracks them),
the weight ``w`` of this step, and a 32-bit draw.
"""

from __future__ import annotations

from typing import Any

from gumdp.kernels.random import below
from gumdp.kernels.record import record, u64


@record
class Uniform:
    """Any available action."""

    actions: int

    def choose(self, model, objective, s, h, d, z, w, draw):
        return model.pick(s, draw)

    def tracks(self):
        return False


@record
class Lottery:
    """A table of action probabilities, for each cell and, if ``stride`` > 0, for each step of the episode."""

    actions: int
    stride: int  # 0, or S · A
    limits: Any  # uint64 [steps · S · A]: exclusive upper ends of 32-bit draws

    def choose(self, model, objective, s, h, d, z, w, draw):
        a = u64(0)
        first = u64(self.stride) * h + u64(model.cell(s)) * u64(self.actions)
        while draw >= self.limits[first + a]:
            a += u64(1)
        return a

    def tracks(self):
        return False


@record
class Cheapest:
    """The action of least marginal cost at the running occupancy, ties at random; sometimes any action.

    ``dice`` out of 2³² draws are uniform choices.
    """

    actions: int
    dice: int

    def choose(self, model, objective, s, h, d, z, w, draw):
        scrambled = (draw * u64(0x9E3779B1) + u64(0x7F4A7C15)) & u64(0xFFFFFFFF)
        if draw < u64(self.dice):
            return model.pick(s, scrambled)
        first = u64(model.cell(s)) * u64(self.actions)
        best = u64(0)
        lowest = 0.0
        ties = u64(0)
        a = u64(0)
        while a < u64(self.actions):
            if model.allowed(s, a):
                i = first + a
                x = d[i]
                if objective.dense():
                    d[i] = x + w
                    cost = objective.value(d)
                    d[i] = x
                else:
                    cost = objective.rank(i, x, w, z, 0)
                if ties == u64(0) or cost < lowest:
                    best, lowest, ties = a, cost, u64(1)
                elif cost == lowest:
                    ties += u64(1)
                    scrambled = (scrambled * u64(0x9E3779B1) + u64(0x7F4A7C15)) & u64(0xFFFFFFFF)
                    if below(scrambled, ties) == u64(0):
                        best = a
            a += u64(1)
        return best

    def tracks(self):
        return True
