"""The belief that the world is one of several tables."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import scipy.sparse as sparse

from gumdp.errors import GumdpError, array_of_numbers, describe, items
from gumdp.models.belief import Belief, table_like, world_rng
from gumdp.models.belief_kernels import Candidates, fill_ends
from gumdp.models.tabular import Tabular
from gumdp.models.urns import Floats


class OneOf(Belief):
    """The world is one of ``tables``, with the probabilities ``weights``: see ``Belief.of``."""

    def __init__(self, tables: Any, weights: Any = None) -> None:
        given = items(tables)
        if not given or not all(isinstance(table, Tabular) for table in given):
            raise GumdpError(
                f"Belief.of: tables must be a list of Tabular models, at least one, not {describe(tables)}."
            )
        first = given[0]
        for k, table in enumerate(given):
            _check_alike(k, table, first)
        self.tables: tuple[Tabular, ...] = tuple(given)
        self.weights = _weights(weights, len(given))
        self.shape, self.available, self.grid, self.axes = first.shape, first.available, first.grid, first.axes
        self.state_names, self.action_names, self.source = first.state_names, first.action_names, first.source
        self._free = first

    def __repr__(self) -> str:
        return f"Belief.of({len(self.tables)} tables of {self.shape[0]} states and {self.shape[1]} actions)"

    @functools.cached_property
    def mean(self) -> Tabular:
        if len(self.tables) == 1:
            return self.tables[0]
        total = sum(w * table.matrix for w, table in zip(self.weights, self.tables, strict=True) if w > 0.0)
        return table_like(self._free, sparse.csr_array(total))

    def row(self, state: int, action: int) -> tuple[Any, Floats]:
        return self.mean.row(state, action)

    def draw(self, seed: int = 0) -> Tabular:
        return self.tables[world_rng(seed).choice(len(self.tables), p=self.weights)]

    def uncertainty(self) -> Floats:
        second = sum(
            w * table.matrix.multiply(table.matrix).sum(axis=1)
            for w, table in zip(self.weights, self.tables, strict=True)
        )
        first = self.mean.matrix.multiply(self.mean.matrix).sum(axis=1)
        distance: Floats = np.sqrt(np.maximum(second - first, 0.0)).reshape(self.shape)
        return distance

    def simulation(self, steps: int) -> Any:
        stacked = self._stacked
        ends = np.zeros(self.weights.size, np.uint64)
        fill_ends(self.weights, ends)
        return Candidates(
            common=self._free.compiled(), actions=self.shape[1], weights=self.weights.copy(), ends=ends,
            current=np.full(1, -1, np.int64), **stacked,
        )  # fmt: skip

    @functools.cached_property
    def _stacked(self) -> dict[str, Any]:
        """The tables, one after another."""
        sizes = np.cumsum([0, *(table.successors.size for table in self.tables)])
        offsets = np.concatenate([table.offsets + n for table, n in zip(self.tables, sizes, strict=False)])
        return {
            "stride": self.shape[0] * self.shape[1] + 1,
            "offsets": offsets.astype(np.uint32) if sizes[-1] < 2**32 else offsets,
            "successors": np.concatenate([table.successors for table in self.tables]),
            "limits": np.concatenate([table.limits() for table in self.tables]),
            "probabilities": np.concatenate([table.probabilities for table in self.tables]),
        }

    def read(self, record: Any) -> Belief:
        belief = copy.copy(self)
        if len(self.tables) > 1:
            belief.__dict__.pop("mean", None)
        belief.weights = record.weights.copy()
        return belief

    @property
    def known(self) -> Tabular | None:
        return self.tables[0] if len(self.tables) == 1 else None

    def _remedy(self, s: int, a: int, after: int) -> str:
        return "no table that is left allows it: add one that does"


def _check_alike(k: int, table: Tabular, first: Tabular) -> None:
    """All tables must be about the same states and actions, and begin alike: only what follows is not known."""
    if table.shape != first.shape:
        raise GumdpError(
            f"Belief.of: table {k} has the shape {table.shape}, and table 0 {first.shape}; they must agree."
        )
    mine, theirs = (np.ones(t.shape, bool) if t.available is None else t.available for t in (table, first))
    if not np.array_equal(mine, theirs):
        raise GumdpError(f"Belief.of: table {k} has other available actions than table 0; they must agree.")
    if not np.array_equal(table.start, first.start):
        raise GumdpError(f"Belief.of: table {k} has another start than table 0; they must agree.")


def _weights(weights: Any, count: int) -> Floats:
    given = np.full(count, 1.0 / count) if weights is None else array_of_numbers("Belief.of: weights", weights)
    if given.shape != (count,) or not (np.isfinite(given).all() and (given >= 0.0).all() and given.sum() > 0.0):
        raise GumdpError(
            f"Belief.of: weights must be {count} numbers that are not negative and not all 0, not {describe(weights)}."
        )
    shares: Floats = given / given.sum()
    return shares
