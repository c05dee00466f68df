"""A search tree as arrays, for people who want to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SearchTree:
    """The nodes of a search tree, breadth first; node 0 is the root.

    A node is reached from ``parent`` by ``action`` and the outcome ``label`` (a state, or a cell). ``visits``
    and ``values`` are [nodes, A]: how often each action was tried there, and its mean return (NaN if never).
    """

    parent: Ints  # [nodes], -1 at the root
    action: Ints  # [nodes], -1 at the root
    label: Ints  # [nodes]
    depth: Ints  # [nodes]
    visits: Ints  # [nodes, A]
    values: NDArray[np.float64]  # [nodes, A]

    @classmethod
    def read(cls, tree: Any, label: int) -> SearchTree:
        """The tree that the kernels hold, whose root is the state or cell ``label``."""
        actions, size = tree.squares.size, int(tree.size[0])
        order, parent, action, depth = [0], [-1], [-1], [0]
        for k in range(size):
            if k >= len(order):
                break
            for a in range(actions):
                child = int(tree.child[order[k] * actions + a])
                while child >= 0:
                    order.append(child)
                    parent.append(k)
                    action.append(a)
                    depth.append(depth[k] + 1)
                    child = int(tree.sibling[child])
        rows = np.array(order)
        labels = tree.label[rows].astype(np.int64)
        labels[0] = label
        visits = tree.visits[: size * actions].reshape(size, actions)[rows].astype(np.int64)
        values = tree.mean[: size * actions].reshape(size, actions)[rows]
        values = np.where(visits > 0, values, np.nan)
        return cls(np.array(parent), np.array(action), labels, np.array(depth), visits, values)

    def children(self, node: int, action: int) -> Ints:
        """The nodes under (node, action), most visited first."""
        found = np.flatnonzero((self.parent == node) & (self.action == action))
        return found[np.argsort(-self.visits[found].sum(axis=1), kind="stable")]

    def __len__(self) -> int:
        return self.parent.size
