"""Beliefs as kernels see them: models whose simulations learn, and that ``restore`` puts back.

Beside what every model record answers (``gumdp.models.compiled``), they answer ``observe(s, a, after)``: action ``a``
in state ``s`` really led to ``after``; 0, or IMPOSSIBLE if that could not be, and then nothing has changed. And
``expect(row, values, at)``: the mean of ``values[at + next state]`` after pair ``row``, by what is believed now;
``scatter(row, mass, target)``: divide ``mass`` among the next states by it; ``unstep()``: forget the last step drawn.

A simulation draws the next state from an urn, and puts another ball of its colour into it. That is the law of drawing a
world from the belief first and then the states from that world (Blackwell and MacQueen 1973, "Ferguson distributions
via Pólya urn schemes"), so that a search over histories is exact: Guez, Silver and Dayan (2012), "Efficient
Bayes-adaptive reinforcement learning using sample-based search", draw the world. Only what a simulation touched is put
back.
"""

from __future__ import annotations

from typing import Any

from gumdp.jit.random import MASK, MIX1, MIX2, high, low, mix
from gumdp.jit.record import kernel, part, record, u64
from gumdp.models.mixture_kernels import HEADER, draw_components, restore_mixtures, units, update_mixture, which_mixture

IMPOSSIBLE = 3  # a transition that the belief gives no probability; beside the statuses of ``gumdp.policies.play``


class OverTable:
    """What both kinds of belief share with the table of what is common to their worlds, ``common``."""

    __slots__ = ()
    common: Any

    def cell(self, s):
        return s

    def key(self, s):
        return s

    def pick(self, s, draw):
        return self.common.pick(s, draw)

    def allowed(self, s, a):
        return self.common.allowed(s, a)


@record
class Urns(OverTable):
    """One urn for each pair of state and action, or for several pairs that are known to be alike.

    Row r = s·A + a has the outcomes ``offsets[r]`` … ``offsets[r+1]``, and its urn begins at ``heads[r]``.
    """

    common: Any  # Table or MaskedTable: the start, and which actions there are
    actions: int
    offsets: Any  # uint32 or int64 [S·A + 1]
    successors: Any  # int32 [n]
    heads: Any  # uint32 or int64 [S·A]
    room: int  # outcomes that each urn has room for, or 0: as many as it has
    stride: int  # the urn of row r begins at r · stride, or 0: where ``heads`` says
    root: Any  # float64: the urns after what really happened
    scales: Any  # float64, like ``root``, at the head of each urn: the units that a ball counts for in ``urns``
    urns: Any  # uint32: the same in whole units, changed by a simulation and restored; a draw is 32 bits wide
    journal: Any  # uint32: the heads and balls that the simulation changed
    length: Any  # int64 [1]: how many those are
    seed: Any  # uint64 [1]: of the world that the simulation plays in
    mixtures: Any  # Mixtures

    def reset(self, bits):
        return self.common.reset(bits)

    def step(self, s, a, bits):
        urns, journal, n = self.urns, self.journal, u64(self.length[0])
        draw = low(bits)
        if n == u64(0):
            self.seed[0] = mix(draw)
            if self.mixtures.open[0] > 0:
                draw_components(self, mix(draw))
        row = s * u64(self.actions) + a
        head, j, others = row * u64(self.stride), u64(self.offsets[row]), u64(self.room)
        if self.stride == 0:
            head = u64(self.heads[row])
        if others == u64(0):
            others = u64(self.offsets[row + u64(1)]) - j
        others -= u64(1)
        more = u64(urns[head + u64(1)])
        if more > u64(0):
            draw = draw_of(u64(self.seed[0]), head, u64(urns[head]))
        left = (draw * u64(urns[head])) >> u64(32)
        ball = head + u64(HEADER)
        so_far, past, i = u64(0), u64(0), u64(0)
        while i < others:  # no branch depends on the draw, nor, with the same room for all, on the row
            so_far += u64(urns[ball + i])
            past += u64(left >= so_far)
            i += u64(1)
        ball += past
        j += past
        journal[n] = head
        journal[n + u64(1)] = ball
        self.length[0] = n + u64(2)
        urns[head] = u64(urns[head]) + more
        urns[ball] = u64(urns[ball]) + more
        return u64(self.successors[j])

    def restore(self, s):
        urns, n = self.urns, u64(self.length[0])
        i = u64(0)
        while i < n:
            head, ball = u64(self.journal[i]), u64(self.journal[i + u64(1)])
            more = u64(urns[head + u64(1)])
            urns[head] = u64(urns[head]) - more
            urns[ball] = u64(urns[ball]) - more
            i += u64(2)
        self.length[0] = 0
        if self.mixtures.open[0] > 0:
            restore_mixtures(self)
        return s

    def unstep(self):
        n = u64(self.length[0]) - u64(2)
        head, ball = u64(self.journal[n]), u64(self.journal[n + u64(1)])
        more = u64(self.urns[head + u64(1)])
        self.urns[head] = u64(self.urns[head]) - more
        self.urns[ball] = u64(self.urns[ball]) - more
        self.length[0] = n
        return 0

    def expect(self, row, values, at):
        head, j, last = u64(self.heads[row]), u64(self.offsets[row]), u64(self.offsets[row + u64(1)])
        ball, sum = head + u64(HEADER), 0.0
        while j < last:
            sum += float(self.urns[ball]) * values[at + u64(self.successors[j])]
            ball += u64(1)
            j += u64(1)
        return sum / float(self.urns[head])

    def scatter(self, row, mass, target):
        head, j, last = u64(self.heads[row]), u64(self.offsets[row]), u64(self.offsets[row + u64(1)])
        ball, share = head + u64(HEADER), mass / float(self.urns[head])
        while j < last:
            target[u64(self.successors[j])] += share * float(self.urns[ball])
            ball += u64(1)
            j += u64(1)
        return 0

    def observe(self, s, a, after):
        self.restore(s)
        row = s * u64(self.actions) + a
        head, j, last = u64(self.heads[row]), u64(self.offsets[row]), u64(self.offsets[row + u64(1)])
        ball, found, ways = head + u64(HEADER), u64(0), 0
        while j < last:
            if u64(self.successors[j]) == after:
                found = ball
                ways += 1
            ball += u64(1)
            j += u64(1)
        if ways == 0:
            return IMPOSSIBLE
        mixed = which_mixture(self.mixtures, head)
        if mixed >= 0 and (ways > 1 or self.mixtures.sizes[mixed] > 1):
            update_mixture(self, mixed, u64(self.offsets[row]), after)
            return 0
        more = self.root[head + u64(1)]
        self.root[head] += more
        self.root[found] += more
        self.urns[head] = units(self, head, self.root[head])
        self.urns[found] = units(self, head, self.root[found])
        return 0


@part
def draw_of(seed, head, balls):
    """32 random bits for the draw from the urn at ``head`` when it holds so many balls, in the simulation of ``seed``.

    What an urn gives in a simulation depends on how often it was drawn from, and not on when: simulations of one seed
    play in one world, whatever is done in them. So that actions are compared in the same worlds.
    """
    z = ((seed ^ (head << u64(32)) ^ balls) * u64(MIX1)) & u64(MASK)
    return high(((z ^ high(z)) * u64(MIX2)) & u64(MASK))


# --- one of several tables ---


@record
class Candidates(OverTable):
    """One of several tables, drawn anew for each simulation.

    Row r = s·A + a of table w holds ``offsets[w·(S·A + 1) + r]`` … of ``successors``, as in ``Table``.
    """

    common: Any  # Table or MaskedTable: the start, and which actions there are
    actions: int
    stride: int  # S·A + 1
    offsets: Any  # uint32 or int64 [W · stride]
    successors: Any  # int32 [n]
    limits: Any  # uint32 [n]
    probabilities: Any  # float64 [n]
    weights: Any  # float64 [W]: of the tables, after what really happened
    ends: Any  # uint64 [W]: exclusive upper ends of the 32-bit draws of each table
    current: Any  # int64 [1]: the table of this simulation; -1: to be drawn

    def reset(self, bits):
        return self.common.reset(bits)

    def step(self, s, a, bits):
        draw = low(bits)
        if self.current[0] < 0:
            chance, w = low(mix(draw)), u64(0)
            while chance >= self.ends[w]:
                w += u64(1)
            self.current[0] = w
        j = u64(self.offsets[u64(self.current[0]) * u64(self.stride) + s * u64(self.actions) + a])
        while draw > self.limits[j]:
            j += u64(1)
        return u64(self.successors[j])

    def restore(self, s):
        self.current[0] = -1
        return s

    def unstep(self):
        return 0

    def expect(self, row, values, at):
        sum = 0.0
        for w in range(self.weights.size):
            share = self.weights[w]
            if self.current[0] >= 0:
                share = 1.0 if self.current[0] == w else 0.0
            if share > 0.0:
                r = u64(w) * u64(self.stride) + row
                j, last = u64(self.offsets[r]), u64(self.offsets[r + u64(1)])
                while j < last:
                    sum += share * self.probabilities[j] * values[at + u64(self.successors[j])]
                    j += u64(1)
        return sum

    def scatter(self, row, mass, target):
        for w in range(self.weights.size):
            if self.weights[w] > 0.0:
                r = u64(w) * u64(self.stride) + row
                j, last = u64(self.offsets[r]), u64(self.offsets[r + u64(1)])
                while j < last:
                    target[u64(self.successors[j])] += mass * self.weights[w] * self.probabilities[j]
                    j += u64(1)
        return 0

    def observe(self, s, a, after):
        self.restore(s)
        total = 0.0
        for w in range(self.weights.size):
            total += self.weights[w] * chance_of(self, w, s, a, after)
        if total == 0.0:
            return IMPOSSIBLE
        for w in range(self.weights.size):
            self.weights[w] *= chance_of(self, w, s, a, after) / total
        fill_ends(self.weights, self.ends)
        return 0


@part
def chance_of(candidates, w, s, a, after):
    """The probability of ``after`` in table ``w``."""
    row = u64(w) * u64(candidates.stride) + s * u64(candidates.actions) + a
    j, last = u64(candidates.offsets[row]), u64(candidates.offsets[row + u64(1)])
    while j < last:
        if u64(candidates.successors[j]) == after:
            return candidates.probabilities[j]
        j += u64(1)
    return 0.0


@kernel
def fill_ends(weights, ends):
    """``ends`` divide the 32-bit draws by ``weights``; a table without any is never drawn."""
    total, last = 0.0, 0
    for w in range(weights.size):
        total += weights[w]
        last = w if weights[w] > 0.0 else last
    so_far = 0.0
    for w in range(weights.size):
        so_far += weights[w]
        ends[w] = 4294967296 if w >= last else round(so_far / total * 4294967296.0)


# --- for calls from Python ---


@kernel
def observe_once(model, s, a, after):
    """``model.observe``: its status."""
    return model.observe(u64(s), u64(a), u64(after))


@kernel
def restore_once(model):
    """The belief holds again what really happened, whatever a search left in it."""
    model.restore(u64(0))
