"""Models given as tables."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError, array_of_numbers, check_int, describe, items, show
from gumdp.models.base import Model
from gumdp.models.compiled import MaskedTable, RaggedTable, Table
from gumdp.models.table_kernels import TOP, check_rows, draw_limits, pad_rows, sort_rows

TOLERANCE = 1e-8
PADDED = 4096  # entries that a table may always take when its rows are padded; else twice what they hold


class Tabular(Model):
    """A finite model: transition probabilities, a start, and optionally names and a mask of available actions.

    Args:
        transitions: P(s'|s,a) as an array [S, A, S], or as a SciPy sparse matrix [(S·A), S] whose row
            s·A + a is the distribution after action a in state s.
        start: a distribution [S], or one state.
        available: bool [S, A], False where an action can't be taken. Such rows of ``transitions`` are not looked at.
        state_names, action_names: for people.
        grid: (rows, columns) when the states are the squares of a grid, row by row.

    The table is stored once, compactly: 16 bytes a transition. Draws are 32 bits wide, so that a simulated
    probability is within 2⁻³² of the given one; everything exact uses the numbers as given.

    >>> model = Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]], start=0)
    >>> model.shape
    (2, 2)
    """

    def __init__(
        self,
        transitions: ArrayLike | sparse.sparray | sparse.spmatrix,
        start: ArrayLike | int = 0,
        *,
        available: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        grid: tuple[int, int] | None = None,
    ) -> None:
        matrix, self.shape = _as_matrix(transitions)
        self.available = _mask(available, self.shape)
        if self.available is not None:
            matrix = _drop_rows(matrix, ~self.available.ravel())
        self.offsets = matrix.indptr.astype(np.int64)  # [S·A + 1]
        self.successors = matrix.indices.astype(np.int32)  # [n], each row by falling probability
        self.probabilities = matrix.data.astype(np.float64)  # [n]
        self._sort()
        self._check()
        self.start_states, self.start_probabilities = _start(start, self.shape[0])
        self.state_names = _names("state_names", state_names, self.shape[0])
        self.action_names = _names("action_names", action_names, self.shape[1])
        self.grid = _grid(grid, self.shape[0])
        self.deterministic = bool(np.diff(self.offsets).max() == 1)
        self.rewards: NDArray[np.float64] | None = None  # [n, k]: what each transition pays, if an environment said so
        self.looks: NDArray[np.int64] | None = None  # [S]: states that look alike have the same number, where some do

    @classmethod
    def from_matrices(
        cls,
        matrices: Iterable[ArrayLike | sparse.sparray | sparse.spmatrix],
        start: ArrayLike | int = 0,
        **options: Any,
    ) -> Tabular:
        """A model from one matrix P^a [S, S] for each action, as the paper writes it.

        >>> Tabular.from_matrices([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]).shape
        (2, 2)
        """
        given = items(matrices)
        if given is None:
            raise GumdpError(f"Tabular.from_matrices: matrices must be a list of them, not {describe(matrices)}.")
        blocks = [_sparse(f"Tabular.from_matrices: matrix {a}", m) for a, m in enumerate(given)]
        if not blocks:
            raise GumdpError("Tabular.from_matrices: there must be at least one matrix.")
        states = blocks[0].shape[0]
        for a, block in enumerate(blocks):
            if block.shape != (states, states):
                raise GumdpError(
                    f"Tabular.from_matrices: matrix {a} has the shape {block.shape}; "
                    f"all must be square and alike, here {(states, states)}."
                )
        stacked = sparse.vstack(blocks, format="csr")
        order = np.arange(states * len(blocks)).reshape(len(blocks), states).T.ravel()
        return cls(stacked[order], start, **options)

    def __repr__(self) -> str:
        return f"Tabular({self.shape[0]} states, {self.shape[1]} actions, {self.successors.size} transitions)"

    @property
    def start(self) -> NDArray[np.float64]:
        """The start distribution [S]."""
        full = np.zeros(self.shape[0])
        full[self.start_states] = self.start_probabilities
        return full

    @functools.cached_property
    def matrix(self) -> sparse.csr_array:
        """P as a sparse matrix [(S·A), S]; rows of actions that are not available are empty."""
        size = (self.shape[0] * self.shape[1], self.shape[0])
        # A copy: SciPy sorts the rows of its matrices in place whenever it sees fit.
        matrix = sparse.csr_array((self.probabilities, self.successors, self.offsets), shape=size, copy=True)
        matrix.sort_indices()
        return matrix

    def dense(self) -> NDArray[np.float64]:
        """P as an array [S, A, S]."""
        states, actions = self.shape
        table: NDArray[np.float64] = self.matrix.toarray()
        return table.reshape(states, actions, states)

    def row(self, state: int, action: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The successors of (state, action) and their probabilities."""
        pair = int(self.state(state)) * self.shape[1] + self.check_action(action)
        first, last = self.offsets[pair : pair + 2]
        return self.successors[first:last], self.probabilities[first:last]

    @functools.cached_property
    def _compiled(self) -> Any:
        start_limits = np.empty(self.start_states.size, np.uint32)
        draw_limits(np.array([0, self.start_states.size]), self.start_probabilities, start_limits)
        table = self._table(self.start_states, start_limits)
        if self.available is None:
            return table
        choices = np.nonzero(self.available)[1].astype(np.int32)
        counts = np.concatenate([[0], np.cumsum(self.available.sum(axis=1))])
        return MaskedTable(table, choices, counts, self.available.ravel().copy())

    def limits(self) -> NDArray[np.uint32]:
        """The inclusive upper ends of the 32-bit draws that lead to each successor."""
        limits = np.empty(self.probabilities.size, np.uint32)
        draw_limits(self.offsets, self.probabilities, limits)
        return limits

    def _table(self, *start: Any) -> Any:
        """The rows as kernels see them."""
        limits = self.limits()
        rows, longest = self.offsets.size - 1, int(np.diff(self.offsets).max())
        shift = (longest - 1).bit_length()
        if rows << shift > max(PADDED, 2 * limits.size):
            offsets = self.offsets.astype(np.uint32 if limits.size < 2**32 else np.uint64)
            return RaggedTable(self.shape[1], offsets, self.successors, limits, *start)
        successors, padded = np.zeros(rows << shift, np.int32), np.full(rows << shift, TOP, np.uint32)
        pad_rows(self.offsets, self.successors, limits, shift, successors, padded)
        return Table(self.shape[1], shift, successors, padded, *start)

    def compiled(self) -> Any:
        return self._compiled

    @property
    def known(self) -> Tabular:
        return self

    def state(self, state: Any) -> np.uint64:
        number = check_int("state", state, 0)
        if number >= self.shape[0]:
            raise GumdpError(f"state must be below {self.shape[0]}, the number of states, not {show(number)}.")
        return np.uint64(number)

    def public(self, state: Any) -> int:
        return int(state)

    def _sort(self) -> None:
        """Order each row by falling probability, so that sampling mostly ends at its first entry."""
        lengths = np.diff(self.offsets)
        if lengths.max() <= 64:
            sort_rows(self.offsets, self.successors, self.probabilities)
        else:
            rows = np.repeat(np.arange(lengths.size), lengths)
            order = np.lexsort((self.successors, -self.probabilities, rows))
            self.successors, self.probabilities = self.successors[order], self.probabilities[order]

    def _check(self) -> None:
        wanted = np.ones(self.offsets.size - 1, bool) if self.available is None else self.available.ravel()
        row, total = check_rows(self.offsets, self.probabilities, wanted, TOLERANCE)
        if row < 0:
            return
        s, a = divmod(int(row), self.shape[1])
        where = f"Tabular: row (s={s}, a={a}) of transitions"
        if np.isnan(total):
            raise GumdpError(f"{where} has an entry that is negative, above 1 or not a number.")
        raise GumdpError(f"{where} sums to {total:.12g}; each row must sum to 1.")


def _sparse(name: str, matrix: Any) -> sparse.csr_array:
    """A matrix as a sparse one of our own."""
    if not sparse.issparse(matrix):
        table = array_of_numbers(name, matrix)
        if table.ndim != 2:
            raise GumdpError(f"{name} must have two dimensions, not the shape {table.shape}.")
        return sparse.csr_array(table)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise GumdpError(f"{name} must be a matrix of numbers, not {describe(matrix)}.")
    return sparse.csr_array(matrix, dtype=np.float64, copy=True)


def _as_matrix(transitions: Any) -> tuple[sparse.csr_array, tuple[int, int]]:
    """The transitions as a sparse matrix [(S·A), S] of our own, and (S, A)."""
    if sparse.issparse(transitions):
        matrix = _sparse("Tabular: transitions", transitions)
        rows, states = matrix.shape
        if states == 0 or rows == 0 or rows % states:
            raise GumdpError(
                f"Tabular: sparse transitions must have the shape [(S·A), S]; {rows} rows are not a multiple "
                f"of {states} columns."
            )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix, (states, rows // states)
    table = array_of_numbers("Tabular: transitions", transitions)
    if table.ndim != 3 or table.shape[0] != table.shape[2] or table.size == 0:
        raise GumdpError(f"Tabular: transitions must have the shape [S, A, S], not {table.shape}.")
    states, actions, _ = table.shape
    return sparse.csr_array(table.reshape(states * actions, states)), (states, actions)


def _mask(available: ArrayLike | None, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    if available is None:
        return None
    try:
        mask = np.array(available)
    except Exception:  # lists can be nested in any way
        raise GumdpError(f"Tabular: available must be a bool array of shape {shape}.") from None
    if mask.shape != shape or mask.dtype != bool:
        raise GumdpError(f"Tabular: available must be a bool array of shape {shape}, not {mask.dtype} {mask.shape}.")
    if not mask.any(axis=1).all():
        raise GumdpError(f"Tabular: state {int(np.argmin(mask.any(axis=1)))} has no available action.")
    if mask.all():
        return None
    mask.flags.writeable = False
    return mask


def _drop_rows(matrix: sparse.csr_array, drop: NDArray[np.bool_]) -> sparse.csr_array:
    keep = np.repeat(~drop, np.diff(matrix.indptr))
    counts = np.where(drop, 0, np.diff(matrix.indptr))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], offsets), shape=matrix.shape)


def _start(start: Any, states: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The states that a trial can start in, by falling probability, and the probabilities."""
    distribution = array_of_numbers("Tabular: start", start)
    if distribution.ndim == 0:
        state = check_int("Tabular: start", start, 0)
        if state >= states:
            raise GumdpError(f"Tabular: start must be below {states}, the number of states, not {state}.")
        return np.array([state], np.int32), np.ones(1)
    if distribution.shape != (states,):
        raise GumdpError(f"Tabular: start must have the shape ({states},), not {distribution.shape}.")
    if not (np.isfinite(distribution).all() and (distribution >= 0).all()):
        raise GumdpError("Tabular: start has an entry that is negative or not a number.")
    if abs(distribution.sum() - 1.0) > TOLERANCE:
        raise GumdpError(f"Tabular: start sums to {distribution.sum():.12g}; it must sum to 1.")
    order = np.argsort(-distribution, kind="stable")[: np.count_nonzero(distribution)]
    return order.astype(np.int32), distribution[order]


def _names(what: str, names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    given = items(names)
    if given is None or len(given) != count or not all(isinstance(n, str) for n in given):
        raise GumdpError(f"Tabular: {what} must be {count} strings.")
    return tuple(given)


def _grid(grid: tuple[int, int] | None, states: int) -> tuple[int, int] | None:
    if grid is None:
        return None
    if not isinstance(grid, Sequence) or len(grid) != 2:
        raise GumdpError(f"Tabular: grid must be (rows, columns), not {show(grid)}.")
    rows, columns = (check_int("Tabular: grid", g, 1) for g in grid)
    if rows * columns != states:
        raise GumdpError(f"Tabular: a grid of {rows} × {columns} squares does not have {states} states.")
    return rows, columns
