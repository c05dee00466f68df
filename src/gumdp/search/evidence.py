"""What one search tree, or several together, have found out about the actions at the root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gumdp.results import Array
from gumdp.search.tree import Tree, new_tree


class Evidence(NamedTuple):
    """About each action at the root."""

    visits: NDArray[np.int64]
    values: Array  # NaN if never tried
    errors: Array  # standard errors of the values; 0 where they are certain
    closed: NDArray[np.bool_]  # whether they are


def evidence_of(trees: list[Tree]) -> Evidence:
    """The evidence of all trees together."""
    actions = trees[0].squares.size
    visits: Any = sum(tree.visits[:actions].astype(np.int64) for tree in trees)
    with np.errstate(invalid="ignore"):
        values = sum(tree.visits[:actions] * tree.mean[:actions] for tree in trees) / visits
    closed = np.any([tree.shut[:actions] != 0 for tree in trees], axis=0)
    for tree in trees:
        exact = tree.shut[:actions] != 0
        values[exact] = tree.mean[:actions][exact]
    return Evidence(visits, values, np.where(closed, 0.0, standard_errors(trees)), closed)


def root_of(trees: list[Tree], found: Evidence) -> Tree:
    """A root with the evidence of all trees: the only one, or a new one."""
    if len(trees) == 1:
        return trees[0]
    summary = new_tree(1, found.visits.size, 1)
    summary.visits[:], summary.mean[:] = found.visits, np.nan_to_num(found.values)
    summary.shut[: found.closed.size] = found.closed
    summary.seen[:] = trees[0].seen
    return summary


def standard_errors(trees: list[Tree]) -> Array:
    """The standard errors of the root's means, from the returns of this decision's own iterations."""
    n = sum(tree.fresh for tree in trees)
    shift = trees[0].seen[1]
    moved = [tree.seen[1] - shift for tree in trees]  # bring all sums to the same shift
    first = sum(tree.sums + tree.fresh * m for tree, m in zip(trees, moved, strict=True))
    second = sum(tree.squares + 2.0 * m * tree.sums + tree.fresh * m * m for tree, m in zip(trees, moved, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.maximum(0.0, second / n - (first / n) ** 2) * n / (n - 1)
        return np.where(n > 1, np.sqrt(variance / n), np.nan)
