"""Occupancies without a table: a cell for each value that a function makes of the state, found by its hash.

A trial touches no more cells than it has steps, and a simulation no more either. A small hash table holds those, and
forgets after each simulation what only that one met: memory and time don't depend on how many cells there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.counts.pairs import CountsRecord, counts_of
from gumdp.errors import GumdpError, describe
from gumdp.jit.code import Code, reason
from gumdp.jit.random import MASK, mix
from gumdp.jit.record import kernel, record, u64
from gumdp.models.base import Model

COUNTED = 20_000_000  # cells up to which what empty ones are worth is added up
SAMPLES = 4096  # cells that are asked for it beyond


@record
class OwnCells:
    """The cells of the model."""

    nothing: int  # a record needs a field

    def row_of(self, model, s):
        return u64(model.cell(s))


@record
class FunctionCells:
    """A cell for each number that a function makes of the state."""

    code: Any

    def row_of(self, model, s):
        return u64(self.code.call1(s)) & u64(MASK)


@record
class HashedPairs(CountsRecord):
    """A step counts for its pair of cell and action, and for its cell if states count too; rows are places in a table.

    Places are taken in order and given back in the opposite order, so that no search for a cell meets a hole.
    """

    pairs: int  # of the model: where the names of its states begin
    actions: int
    each: int  # entries that a step changes: 1, or 2
    named: int  # whether cells have the names that the objective knows: the model's own
    where: Any  # OwnCells or FunctionCells
    keys: Any  # uint64 [places]: the cell at each place
    used: Any  # uint8 [places]
    order: Any  # uint64 [places]: the places that are taken, in order
    marks: Any  # int64 [2]: how many are taken, and how many of them for good

    def entries(self):
        return self.each

    def entry(self, k, row, a):
        return row * u64(self.actions) + a if k == 0 else u64(self.keys.size) * u64(self.actions) + row

    def row_of(self, model, s):
        key, last = self.where.row_of(model, s), u64(self.keys.size - 1)
        place = mix(key) & last
        while self.used[place] != 0 and u64(self.keys[place]) != key:
            place = (place + u64(1)) & last
        if self.used[place] == 0:
            self.used[place] = 1
            self.keys[place] = key
            self.order[self.marks[0]] = place
            self.marks[0] += 1
        return place

    def name_of(self, i):
        actions = u64(self.actions)
        of_state = i >= u64(self.keys.size) * actions
        place = i - u64(self.keys.size) * actions if of_state else i // actions
        cell = u64(self.keys[place]) if self.named != 0 else u64(0)
        return u64(self.pairs) + cell if of_state else cell * actions + i % actions

    def settled(self):
        return False

    def free_rows(self, all):
        least = 0 if all else self.marks[1]
        while self.marks[0] > least:
            self.marks[0] -= 1
            self.used[self.order[self.marks[0]]] = 0
        self.marks[1] = least
        return 0

    def keep_rows(self):
        self.marks[1] = self.marks[0]
        return 0

    def cost_at(self, objective, running, z, model, s, row, a, w, t):
        i = row * u64(self.actions) + a
        return objective.rank(self.name_of(i), running.d[i], w, z, 0)


class Hashed:
    """Count cells without a table of them: ``Problem(…, counts=Hashed(cell))``.

    ``cell(state)`` is compiled and returns any 64-bit integer: two states with the same one are in the same cell.
    Without it cells are the model's own, of which there may be any number. The objective must be a sum over the cells
    (entropies, and what is made of them; with the model's own cells everything that knows its terms). The numbers are
    those of a table, to the last bit; what needs a table of the whole space (control variates, bounds, exact solution)
    is not for them. ``trial.cells`` has the cells that were met, ``trial.occupancy`` a row for each of them, in the
    order in which they came.

    >>> Hashed(lambda state: int(state[0] * 1e9))
    Hashed(<lambda>)
    """

    def __init__(self, cell: Any = None) -> None:
        if cell is not None and not callable(cell):
            raise GumdpError(f"Hashed: cell must be a function of the state, not {describe(cell)}.")
        self.cell = cell

    def __repr__(self) -> str:
        return f"Hashed({'' if self.cell is None else getattr(self.cell, '__name__', describe(self.cell))})"

    def bind(self, model: Model, weights: Any, horizon: int) -> BoundCells:
        """The cells of one model."""
        if self.cell is None:
            return BoundCells(OwnCells(0), model.shape, True)
        if model.interpreted:
            raise GumdpError(
                "Hashed: a cloned environment numbers its observations itself: Hashed() without a function."
            )
        first = getattr(model, "first", np.uint64(0))
        try:
            code = Code(self.cell)
            answer, again = code.compiled(first), code.compiled(first)
        except Exception as error:
            raise GumdpError(
                f"Hashed: cell can't be compiled or fails: {type(error).__name__}: {reason(error)}."
            ) from error
        if isinstance(answer, (bool, np.bool_)) or not isinstance(answer, (int, np.integer)):
            raise GumdpError(f"Hashed: cell must return a whole number, not {describe(answer)}.")
        if answer != again:
            raise GumdpError("Hashed: cell gives different numbers for the same state.")
        return BoundCells(FunctionCells(code), (1, model.shape[1]), False)


class BoundCells:
    """Cells of one model, found by their hash."""

    def __init__(self, where: Any, shape: tuple[int, int], named: bool) -> None:
        self.where, self.shape, self.named = where, shape, named

    def cell(self, model: Model, s: Any) -> int:
        """The cell of a state as kernels have it: a number of 64 bits."""
        return int(np.uint64(cell_once(self.where, model.compiled(), s)))

    def record(self, objective: Any, shape: tuple[int, int], steps: int) -> tuple[Any, int]:
        """What a step adds as kernels call it, and how many entries there are.

        A space that a trial could fill has a table all the same: then that is smaller.
        """
        if objective.dense():
            raise GumdpError(
                "Hashed: the objective must be a sum over cells, and this one looks at the whole occupancy."
            )
        each, (states, actions) = 2 if objective.grouped() else 1, self.shape
        if self.named and states * (actions + each - 1) <= each * steps:
            return counts_of(objective, self.shape)  # type: ignore[no-any-return]
        places = 1 << (2 * (steps + 2)).bit_length()
        made = HashedPairs(
            states * actions, actions, each, int(self.named), self.where, np.zeros(places, np.uint64),
            np.zeros(places, np.uint8), np.zeros(places, np.uint64), np.zeros(2, np.int64),
        )  # fmt: skip
        return made, places * (actions + each - 1)

    def fill_empty(self, objective: Any, z: Any) -> None:
        """``z`` becomes the statistics of the empty occupancy."""
        states, actions = self.shape
        count = states * (actions + (1 if objective.grouped() else 0))
        if count <= COUNTED and self.named:
            add_empty(objective, count, z)
            return
        some = np.random.default_rng(0).integers(0, count, SAMPLES).astype(np.uint64)
        if any(
            objective.term(m, i, 0.0) != 0.0
            for m in range(objective.count())
            for i in some[: 64 if states == 1 else None]
        ):
            raise GumdpError(
                "Hashed: the objective is not 0 in cells that were never met, and there is no end of them."
            )


@kernel
def cell_once(where, model, s):
    """``where.row_of``, for calls from Python."""
    return where.row_of(model, s)


@kernel
def add_empty(objective, count, z):
    """``z[m]`` becomes the sum of what ``count`` empty entries add to statistic m."""
    for m in range(z.size):
        total = 0.0
        for i in range(count):
            total += objective.term(m, u64(i), 0.0)
        z[m] = total
