"""Totals as kernels see them: what a step adds to each, and what an action is worth to them."""

from __future__ import annotations

from typing import Any

from gumdp.counts.pairs import CountsRecord
from gumdp.jit.callback import python_amounts
from gumdp.jit.record import kernel, part, record, u64
from gumdp.models.compiled import four

REACH = 8.0  # how many times over an action's advantage is looked at, to see past kinks and steps of the objective


class TotalsRecord(CountsRecord):
    """What all totals have in common: any of them may change in a step, and nothing is added by entry."""

    __slots__ = ()

    def by_entries(self):
        return False

    def entries(self):
        return 0

    def entry(self, k, row, a):
        return u64(0)


@part
def probe_value(objective, running):
    """The objective at the totals ``running.probe``."""
    if objective.dense():
        return objective.value(running.probe)
    for m in range(objective.count()):
        z = 0.0
        for i in range(running.probe.size):
            z += objective.term(m, u64(i), running.probe[i])
        running.z[m] = z
    return objective.combine(running.z, 0)


@part
def add_amounts(d, w, values, at):
    """Add the amounts that begin at ``values[at]``, times ``w``."""
    for k in range(d.size):
        d[k] += w * values[at + u64(k)]


@part
def cost_ahead(objective, running, ahead, at, scale):
    """The objective at the running totals with ``scale`` times what begins at ``ahead[at]``."""
    for k in range(running.probe.size):
        running.probe[k] = running.d[k] + scale * ahead[at + u64(k)]
    return probe_value(objective, running)


@record
class PairFeatures(TotalsRecord):
    """Amounts that depend on the state and the action, of a table."""

    actions: int
    kinds: int
    values: Any  # float64 [S·A·k]
    ahead: Any  # float64 [steps·S·A·k], see fill_ahead; or [S·A·k], the amounts of a single step
    stride: int  # S·A·k, or 0

    def add_step(self, d, w, model, s, a, after, bits):
        add_amounts(d, w, self.values, (s * u64(self.actions) + a) * u64(self.kinds))
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        at = t * u64(self.stride) + (row * u64(self.actions) + a) * u64(self.kinds)
        return cost_ahead(objective, running, self.ahead, at, REACH * w if self.stride == 0 else 1.0)


@record
class TransitionFeatures(TotalsRecord):
    """Amounts that depend on the next state too, of a table."""

    actions: int
    kinds: int
    offsets: Any  # int64 [S·A + 1]
    successors: Any  # int32 [n]
    values: Any  # float64 [n·k]
    ahead: Any  # as in PairFeatures
    stride: int

    def is_late(self):
        return True

    def add_step(self, d, w, model, s, a, after, bits):
        j = u64(self.offsets[s * u64(self.actions) + a])
        while u64(self.successors[j]) != after:
            j += u64(1)
        add_amounts(d, w, self.values, j * u64(self.kinds))
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        at = t * u64(self.stride) + (row * u64(self.actions) + a) * u64(self.kinds)
        return cost_ahead(objective, running, self.ahead, at, REACH * w if self.stride == 0 else 1.0)


@part
def add_tuple(d, w, amounts):
    """Add a tuple of amounts, times ``w``."""
    for k in range(d.size):
        d[k] += w * amounts[k]


@record
class PlainFeatures(TotalsRecord):
    """Amounts that a function makes of the state and the action."""

    kinds: int
    code: Any

    def add_step(self, d, w, model, s, a, after, bits):
        add_tuple(d, w, self.code.call2(s, a))
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        amounts = self.code.call2(s, a)
        for k in range(running.probe.size):
            running.probe[k] = running.d[k] + REACH * w * amounts[k]
        return probe_value(objective, running)


@record
class ArrivalFeatures(TotalsRecord):
    """Amounts that a function makes of the next state too."""

    kinds: int
    code: Any

    def is_late(self):
        return True

    def add_step(self, d, w, model, s, a, after, bits):
        add_tuple(d, w, self.code.call3(s, a, after))
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        return 0.0


@record
class ChanceFeatures(TotalsRecord):
    """Amounts that a function makes of the four numbers of chance too."""

    kinds: int
    code: Any

    def is_late(self):
        return True

    def add_step(self, d, w, model, s, a, after, bits):
        add_tuple(d, w, self.code.call4(s, a, after, four(bits)))
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        return 0.0


def SimulatedFeatures(arity: int, kinds: int, code: Any) -> Any:
    """The record of a function of so many arguments."""
    return {2: PlainFeatures, 3: ArrivalFeatures, 4: ChanceFeatures}[arity](kinds, code)


@record
class RewardFeatures(TotalsRecord):
    """What a cloned environment paid for the step that led to its state."""

    kinds: int
    handle: int

    def is_late(self):
        return True

    def add_step(self, d, w, model, s, a, after, bits):
        python_amounts(self.handle, after[0], w, d)
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        return 0.0


@kernel
def fill_ahead(chain, means, weights, horizon, allowed, rest, ahead):
    """``ahead[t, s, a]`` becomes what to hold against each other when actions are compared at step t, [k] each.

    That is what the steps from t on add on average, if all later ones are uniform, with the difference that the action
    itself makes taken ``REACH`` times. ``means`` [S, A, k]: what a pair adds on average; ``rest`` [2, S, k]: scratch.
    """
    steps, states, actions, kinds = ahead.shape
    for t in range(steps - 1, -1, -1):
        now, later = rest[t % 2], rest[(t + 1) % 2]
        fresh = (t + 1) % horizon == 0
        for s in range(states):
            count = 0
            now[s] = 0.0
            for a in range(actions):
                if not allowed[s, a]:
                    continue
                count += 1
                r = s * actions + a
                for k in range(kinds):
                    ahead[t, s, a, k] = weights[t] * means[s, a, k]
                if t + 1 < steps:
                    begin = 0 if fresh else chain.offsets[r]
                    end = chain.start_states.size if fresh else chain.offsets[r + 1]
                    for j in range(begin, end):
                        p = chain.start_probabilities[j] if fresh else chain.probabilities[j]
                        after = chain.start_states[j] if fresh else chain.successors[j]
                        for k in range(kinds):
                            ahead[t, s, a, k] += p * later[after, k]
                for k in range(kinds):
                    now[s, k] += ahead[t, s, a, k]
            for k in range(kinds):
                now[s, k] /= count
            for a in range(actions):
                for k in range(kinds):
                    ahead[t, s, a, k] = now[s, k] + REACH * (ahead[t, s, a, k] - now[s, k])
