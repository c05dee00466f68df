"""Policies that need no search, as kernels see them: baselines of their own and rollouts of the search.

A rollout policy answers ``choose(model, objective, s, t, h, running, z, w, draw)``: the action in state ``s`` at step
``t``, which is step ``h`` of its episode, with the running occupancy, its statistics ``z`` (kept only if the objective
tracks them), the weight ``w`` of this step, and a 32-bit draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.jit.record import record, u64


@record
class Uniform:
    """Any available action."""

    actions: int

    def choose(self, model, objective, s, t, h, running, z, w, draw):
        return model.pick(s, draw)

    def tracks(self):
        return False


@record
class Lottery:
    """A table of action probabilities, for each cell and, if ``stride`` > 0, for each step of the episode."""

    actions: int
    stride: int  # 0, or S · A
    limits: Any  # uint64 [steps · S · A]: exclusive upper ends of 32-bit draws

    def choose(self, model, objective, s, t, h, running, z, w, draw):
        a = u64(0)
        first = u64(self.stride) * h + u64(model.cell(s)) * u64(self.actions)
        while draw >= self.limits[first + a]:
            a += u64(1)
        return a

    def tracks(self):
        return False


@record
class Cheapest:
    """The action of least marginal cost at the running occupancy; sometimes any action.

    ``dice`` out of 2³² draws are uniform choices. Ties go to the first action from a random place on.
    """

    actions: int
    dice: int

    def choose(self, model, objective, s, t, h, running, z, w, draw):
        actions = u64(self.actions)
        a = u64(model.pick(s, (draw * u64(0x9E3779B1) + u64(0x7F4A7C15)) & u64(0xFFFFFFFF)))
        if draw < u64(self.dice):
            return a
        counts = running.counts
        row = counts.row_of(model, s)
        best, lowest = a, counts.cost_at(objective, running, z, model, s, row, a, w, t)
        k = u64(1)
        while k < actions:
            past = np.int64(a) + np.int64(1) - np.int64(actions)  # negative, or 0: then begin again
            a = u64(past + (np.int64(actions) & (past >> np.int64(63))))
            cost = counts.cost_at(objective, running, z, model, s, row, a, w, t) if model.allowed(s, a) else np.inf
            best = a if cost < lowest else best  # a conditional move: a branch would be unpredictable
            lowest = min(cost, lowest)
            k += u64(1)
        return best

    def tracks(self):
        return True
