"""Models as kernels see them.

Every model record answers

==================  =====================================================================================
``reset(bits)``      a start state, drawn with 64 random bits
``step(s, a, bits)`` the state after action ``a`` in state ``s``; only the lower 32 bits are free to use
                     (the upper ones chose the action), more come from mixing them again
``cell(s)``          the row of the occupancy that ``s`` belongs to, 0 … cells-1
``key(s)``           the number by which a search tree tells successors apart
``pick(s, draw)``    an available action, uniform, from a 32-bit draw
``allowed(s, a)``    whether the action is available
``restore(s)``       ``s``, ready to be stepped from (an identity, except for cloned environments)
==================  =====================================================================================
"""

from __future__ import annotations

from typing import Any

from gumdp.errors import GumdpError
from gumdp.jit.callback import python_reset, python_restore, python_step
from gumdp.jit.random import advance, below, low, mix, unit
from gumdp.jit.record import kernel, part, record, u64


class TableRecord:
    """What tables have in common.

    Successors are sorted by falling probability; ``limits`` are inclusive upper ends of 32-bit draws, and the last of a
    row is out of reach, so that sampling is one short loop.
    """

    __slots__ = ()

    def reset(self, bits):
        draw = low(bits)
        j = u64(0)
        while draw > self.start_limits[j]:
            j += u64(1)
        return u64(self.start_states[j])

    def cell(self, s):
        return s

    def key(self, s):
        return s

    def pick(self, s, draw):
        return below(draw, self.actions)

    def allowed(self, s, a):
        return True

    def restore(self, s):
        return s


@record
class Table(TableRecord):
    """A tabular model whose row r = s·A + a begins at r << ``shift``: the shorter rows are padded.

    A step has to wait for one look-up less than where rows are of any length.
    """

    actions: int
    shift: int  # rows are 2^shift long
    successors: Any  # int32 [n]
    limits: Any  # uint32 [n]
    start_states: Any  # int32 [m]
    start_limits: Any  # uint32 [m]

    def step(self, s, a, bits):
        draw, j = low(bits), (s * u64(self.actions) + a) << u64(self.shift)
        while draw > self.limits[j]:
            j += u64(1)
        return u64(self.successors[j])


@record
class RaggedTable(TableRecord):
    """A tabular model whose row r = s·A + a begins at ``offsets[r]``, for a few long rows among many short ones."""

    actions: int
    offsets: Any  # uint32 or uint64 [S·A + 1]
    successors: Any  # int32 [n]
    limits: Any  # uint32 [n]
    start_states: Any  # int32 [m]
    start_limits: Any  # uint32 [m]

    def step(self, s, a, bits):
        draw, j = low(bits), u64(self.offsets[s * u64(self.actions) + a])
        while draw > self.limits[j]:
            j += u64(1)
        return u64(self.successors[j])


@record
class MaskedTable:
    """A tabular model in which not every action is available in every state."""

    table: Any  # Table or RaggedTable
    choices: Any  # int32: the available actions, state after state
    choice_offsets: Any  # int64 [S + 1]
    mask: Any  # bool [S·A]

    def reset(self, bits):
        return self.table.reset(bits)

    def step(self, s, a, bits):
        return self.table.step(s, a, bits)

    def cell(self, s):
        return s

    def key(self, s):
        return s

    def pick(self, s, draw):
        first = u64(self.choice_offsets[s])
        return u64(self.choices[first + below(draw, u64(self.choice_offsets[s + u64(1)]) - first)])

    def allowed(self, s, a):
        return self.mask[s * u64(self.table.actions) + a]

    def restore(self, s):
        return s


@part
def four(bits):
    """Four independent numbers in [0, 1) from the lower half of ``bits``."""
    seed = low(bits)
    one = advance(seed)
    two = advance(one)
    three = advance(two)
    return unit(mix(one)), unit(mix(two)), unit(mix(three)), unit(mix(advance(three)))


@record
class Simulation:
    """Dynamics in a continuous state, a tuple of floats; outcomes are told apart by their cell.

    Its parts are records: ``dynamics`` steps, ``begin`` resets, ``where`` says the cell.
    """

    actions: int
    dynamics: Any
    begin: Any
    where: Any

    def reset(self, bits):
        return self.begin.reset(bits)

    def step(self, s, a, bits):
        return self.dynamics.step(s, a, bits)

    def cell(self, s):
        return self.where.cell(s)

    def key(self, s):
        return self.where.cell(s)

    def pick(self, s, draw):
        return below(draw, self.actions)

    def allowed(self, s, a):
        return True

    def restore(self, s):
        return s


# --- dynamics, start and cells given as functions ---


@record
class MaskedSimulation:
    """A simulation in which not every action is available in every state."""

    simulation: Simulation
    mask: Any  # Code: (state, action) → bool

    def reset(self, bits):
        return self.simulation.reset(bits)

    def step(self, s, a, bits):
        return self.simulation.step(s, a, bits)

    def cell(self, s):
        return self.simulation.cell(s)

    def key(self, s):
        return self.simulation.key(s)

    def pick(self, s, draw):
        count = u64(0)
        for a in range(self.simulation.actions):
            if self.mask.call2(s, u64(a)):
                count += u64(1)
        left = below(draw, count)
        for a in range(self.simulation.actions):
            if self.mask.call2(s, u64(a)):
                if left == u64(0):
                    return u64(a)
                left -= u64(1)
        return u64(0)

    def allowed(self, s, a):
        return self.mask.call2(s, u64(a))

    def restore(self, s):
        return s


@record
class Still:
    """Dynamics without randomness."""

    code: Any

    def step(self, s, a, bits):
        return self.code.call2(s, a)


@record
class Noisy:
    """Dynamics with four uniform numbers a step."""

    code: Any

    def step(self, s, a, bits):
        return self.code.call3(s, a, four(bits))


@record
class Fixed:
    """One start state."""

    state: Any

    def reset(self, bits):
        return self.state


@record
class Drawn:
    """A start state drawn with four uniform numbers."""

    code: Any

    def reset(self, bits):
        return self.code.call1(four(bits))


@record
class Indexed:
    """The cell as a function of the state."""

    cells: int
    code: Any

    def cell(self, s):
        c = self.code.call1(s)
        if c < 0 or c >= self.cells:
            raise GumdpError("the simulator's index returned a cell outside 0 … cells-1.")
        return u64(c)


@record
class Ending:
    """Which states end an episode, as a function."""

    code: Any

    def ended(self, s):
        return self.code.call1(s)


# --- what follows a state that ends an episode; ``ending`` says which do ---


@record
class Absorbing:
    """Nothing changes any more."""

    dynamics: Any
    ending: Any

    def step(self, s, a, bits):
        return s if self.ending.ended(s) else self.dynamics.step(s, a, bits)


@record
class Restarting:
    """The next state is a start state, whatever the action."""

    dynamics: Any
    ending: Any
    begin: Any

    def step(self, s, a, bits):
        return self.begin.reset(mix(low(bits))) if self.ending.ended(s) else self.dynamics.step(s, a, bits)


# --- boxes of continuous states ---


@record
class EqualBoxes:
    """Equal bins in each dimension, numbered row by row; what is beyond the ends is in the nearest, or an error."""

    low_ends: Any  # float64 [n]
    high_ends: Any  # float64 [n]
    counts: Any  # int64 [n]; a dimension with one bin is not looked at
    strict: bool

    def cell(self, s):
        at = u64(0)
        k = u64(0)
        while k < u64(self.counts.size):
            n = u64(self.counts[k])
            if n > u64(1):
                x, first, last = s[k], self.low_ends[k], self.high_ends[k]
                j = u64(0)
                if x >= first and x < last:
                    j = min(u64((x - first) / (last - first) * n), n - u64(1))
                elif x != x:
                    raise GumdpError("a state is not a number (NaN), so that it falls into no bin.")
                elif self.strict and x != last:
                    raise GumdpError("a state lies outside the bins; widen their range, or take Bins(outside='clip').")
                elif x >= last:
                    j = n - u64(1)
                at = at * n + j
            k += u64(1)
        return at


@record
class EdgeBoxes:
    """Bins between given edges: bin j of dimension k holds edges[j] ≤ x < edges[j+1]."""

    edges: Any  # float64: the edges of one dimension after another
    firsts: Any  # int64 [n + 1]: where those of each dimension begin
    strict: bool

    def cell(self, s):
        at = u64(0)
        k = u64(0)
        while k < u64(self.firsts.size - 1):
            first, bins = u64(self.firsts[k]), u64(self.firsts[k + u64(1)] - self.firsts[k] - 1)
            if bins > u64(1):
                x = s[k]
                if x != x:
                    raise GumdpError("a state is not a number (NaN), so that it falls into no bin.")
                if self.strict and (x < self.edges[first] or x > self.edges[first + bins]):
                    raise GumdpError("a state lies outside the bins; widen their range, or take Bins(outside='clip').")
                j = u64(0)
                while j + u64(1) < bins and x >= self.edges[first + j + u64(1)]:
                    j += u64(1)
                at = at * bins + j
            k += u64(1)
        return at


@kernel
def cells_of(where, states, cells):
    """Fill ``cells[k]`` with the cell of ``states[k]``."""
    for k in range(cells.size):
        cells[k] = where.cell(states[k])


@record
class Clones:
    """Copies of an environment of the interpreter's; a state is (its number, its cell)."""

    actions: int
    handle: int

    def reset(self, bits):
        return python_reset(self.handle, low(bits))

    def step(self, s, a, bits):
        return python_step(self.handle, s[0], a, low(bits))

    def cell(self, s):
        return s[1]

    def key(self, s):
        return s[1]

    def pick(self, s, draw):
        return below(draw, self.actions)

    def allowed(self, s, a):
        return True

    def restore(self, s):
        return python_restore(self.handle, s[0])


# --- for calls from Python ---


@kernel
def start_state(model, env_rng):
    """A start state from the generator state ``env_rng``."""
    return model.restore(model.reset(mix(u64(env_rng))))


@kernel
def next_state(model, s, a, env_rng):
    """The state after (s, a) with the generator state ``env_rng``."""
    return model.step(model.restore(s), u64(a), mix(u64(env_rng)))
