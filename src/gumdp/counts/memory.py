"""A table whose states remember what the step to them brought, so that amounts depend on pairs alone.

Where what a step adds depends on the next state, an occupancy of states and actions does not say what was added. In
this table a state is a state and the amounts of the step that led to it, paid when it is left: one step later, which is
why trials have one more. Every policy is worth the same here and there, so that bounds for pairs apply.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from gumdp.errors import GumdpError
from gumdp.models.tabular import Tabular

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
MOST = 1_000_000  # transitions of such a table


class Memory(NamedTuple):
    """The table, and how its states follow from what happens."""

    model: Tabular
    amounts: Array  # [X, k]: what a state pays when it is left
    first: Ints  # [S]: the state in which a trial begins; -1 where none does
    follows: Ints  # [transitions]: the state to which each of the original table leads

    def after(self, original: Tabular, state: int, action: int, following: int) -> int:
        """The state that remembers this step."""
        row = state * original.shape[1] + action
        first, last = original.offsets[row : row + 2]
        at = np.flatnonzero(original.successors[first:last] == following)
        if not at.size:
            raise GumdpError(f"state {following} can't follow action {action} in state {state}.")
        return int(self.follows[int(first) + int(at[0])])


def remember(model: Tabular, values: Array) -> Memory | None:
    """The table that remembers the amounts [transitions, k] of ``model``; None if it is too large.

    >>> coin = Tabular([[[0.5, 0.5]], [[0.5, 0.5]]], start=0)
    >>> memory = remember(coin, np.array([[0.0], [1.0], [0.0], [1.0]]))
    >>> memory.model.shape, memory.amounts.ravel().tolist()
    ((2, 1), [0.0, 1.0])
    """
    actions, begins = model.shape[1], np.flatnonzero(model.start)
    steps = np.column_stack([model.successors, values])
    starts = np.column_stack([begins, np.zeros((begins.size, values.shape[1]))])
    states, number = np.unique(np.concatenate([steps, starts]) + 0.0, axis=0, return_inverse=True)  # no minus zeros
    number = number.ravel()
    rows = (states[:, :1].astype(np.intp) * actions + np.arange(actions)).ravel()
    lengths = np.diff(model.offsets)[rows].astype(np.intp)
    if int(lengths.sum()) > MOST:
        return None
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - model.offsets[rows].astype(np.intp), lengths)
    follows = number[: model.successors.size]
    shape = (rows.size, len(states))
    matrix = sparse.csr_array((model.probabilities[at], follows[at], offsets), shape=shape)
    first = np.full(model.shape[0], -1, np.intp)
    first[begins] = number[model.successors.size :]
    start = np.zeros(len(states))
    start[first[begins]] = model.start[begins]
    allowed = None if model.available is None else model.available[states[:, 0].astype(np.intp)]
    return Memory(Tabular(matrix, start, available=allowed), states[:, 1:], first, follows)
