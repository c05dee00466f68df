"""The decomposition's value function, and the tree of histories that grows on it.

V̂_t(s, o) = c₀ + c·o + Σ_i V^i_t(s, v_i·o) is a lower bound on what any policy reaches from state s with the running
occupancy o after t steps, everywhere, by one look-up for each statistic. A tree of histories whose leaves are bounded
by it lifts the bound at its root: what follows a node is the least over the actions of the mean over the outcomes,
and that is never less than V̂ of the node itself.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from gumdp.average.rest_kernels import Task
from gumdp.bounds.decomposition import Decomposition
from gumdp.bounds.decomposition_kernels import Scratch, look_back
from gumdp.bounds.history_tree_kernels import add, new_history_tree
from gumdp.bounds.value_kernels import Tables, branch_out, fortune, lay_grids, value_of
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.objectives.entropy import Entropy
from gumdp.problem import Problem

MEMORY = 1 << 28  # bytes that values may take
POINTS, FEWEST = 250, 40  # of a grid, and the fewest with which more steps are remembered
DEPTH, OPEN = 24, 0.01  # steps that are remembered at least, if there is room; and the weight of those that are not
NODES = 5_000_000  # 52 bytes each
PATIENCE = 0.1  # seconds after which a growing tree looks up from its work


class ValueFunction:
    """V̂ at the first ``depth`` steps, and at the end: by default the steps that have nearly all of the weight."""

    def __init__(
        self, made: Decomposition, deadline: float = np.inf, depth: int | None = None, points: int = POINTS
    ) -> None:
        self.made, states = made, made.problem.shape[0]
        wanted = max(DEPTH, int(np.count_nonzero(made.run.open > OPEN))) if depth is None else depth
        depth = min(wanted, made.run.steps)
        while points > FEWEST and 8 * depth * states * sum(made.sizes(points)) > MEMORY:
            points = max(FEWEST, points // 2)
        sizes = made.sizes(points)
        self.depth = int(np.clip(MEMORY // (8 * states * max(1, sum(sizes))), 1, depth))
        self.cells = made.cells(points)
        ends = np.cumsum([self.depth * states * n for n in sizes], dtype=np.int64)
        total = int(ends[-1]) if len(sizes) else 0
        places = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.tables = Tables(
            np.zeros(total), np.concatenate([[0], ends])[: len(sizes)].astype(np.int64), np.zeros(places[-1]),
            np.zeros(places[-1]), places, made.sum.constant, made.sum.costs,
        )  # fmt: skip
        lay_grids(self.cells, self.tables)
        found = np.zeros((len(sizes), 2))

        def look(i: int, work: Scratch) -> None:
            first = int(self.tables.starts[i])
            part = self.tables.values[first : first + self.depth * states * sizes[i]]
            table = part.reshape(self.depth, states, sizes[i])
            found[i] = look_back(made.run, self.cells, i, made.best[i], work, False, table)

        self.ready = made.each(look, sizes, 0, deadline)  # whether there was time
        left, largest = made.leftover()
        self.margin = largest + made.slack() * (abs(made.sum.constant) + largest + float(found[:, 1].sum()))
        self.root = made.sum.constant + left + float(found[:, 0].sum())

    def __call__(self, state: int, occupancy: Array, step: int) -> float:
        """The bound, rounding allowed for, of a history that led to ``state`` with this running occupancy [S, A]."""
        states = self.made.problem.shape[0]
        flat = np.ascontiguousarray(occupancy, dtype=np.float64).ravel()
        return float(value_of(self.made.run, self.cells, self.tables, states, step, state, flat)) - self.margin

    def luck(self, states: Any, actions: Any) -> float:
        """What chance did in a trial beyond what it does on average, as far as is remembered: its mean is 0."""
        pairs = self.made.problem.shape[0] * self.made.problem.shape[1]
        run, count = self.made.run, self.made.problem.shape[0]
        return float(fortune(run, self.cells, self.tables, count, states, actions, np.zeros(pairs), self.depth))


class ValueTree:
    """A lower bound that rises as the tree grows."""

    def __init__(self, values: ValueFunction, nodes: int | None = None) -> None:
        self.values, made = values, values.made
        run, shape = made.run, made.problem.shape
        hopes = np.append(np.cumsum(run.weights[::-1] ** 2)[::-1], 0.0)
        if values.depth < run.steps:
            hopes[values.depth - 1 :] = 0.0  # what lies further ahead is not remembered
        self.task = Task(run.chain, run.weights, run.horizon, run.open, np.zeros((0, 0)), hopes)
        children = np.diff(run.chain.offsets).reshape(shape).sum(axis=1).max()
        self.widest = int(max(children, shape[1] * run.chain.start_states.size))
        limit = max(2 * self.widest + 1, NODES if nodes is None else min(nodes, NODES))
        self.tree = new_history_tree(limit, shape[0] * shape[1])._replace(slope=np.empty((1, 1)))
        add(self.task, self.tree, -1, -1, -1, 1.0)
        self.tree.bound[0] = values.root

    @property
    def bound(self) -> float:
        """The root's bound, rounding allowed for."""
        return float(self.tree.bound[0]) - self.values.margin

    @property
    def nodes(self) -> int:
        """Histories in the tree."""
        return int(self.tree.size[0])

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be gained."""
        return not self.tree.potential_gain[0] > 0.0

    @property
    def reason(self) -> str:
        """What the bound rests on."""
        made = self.values.made
        if self.complete and self.values.depth == made.run.steps and not made.sum.minorant:
            return f"the optimum itself, from {self.nodes:,} histories"
        return f"{made.reason}, below {self.nodes:,} histories"

    def grow(self, deadline: float = np.inf) -> Iterator[float]:
        """Let the tree grow until the deadline, or until there is no room; yield its bound from time to time."""
        made, times, states = self.values.made, 1, self.values.made.problem.shape[0]
        while not self.complete and self.nodes + self.widest <= self.tree.state.size:
            began = time.perf_counter()
            if began > deadline:
                break
            done = branch_out(
                made.run, self.values.cells, self.values.tables, self.task, self.tree, times, self.widest, states
            )
            yield self.bound
            if done < times:
                break
            spent = time.perf_counter() - began
            times = max(1, min(2 * times, int(times * PATIENCE / max(spent, 1e-9))))


@functools.cache
def warm() -> None:
    """Have the kernels compiled, so that no clock counts it."""
    model = Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    made = Decomposition(Problem(model, Entropy(), 0.9, 2))
    for _ in made.climb(iterations=1, points=3):
        made.bound(3)
    next(ValueTree(ValueFunction(made, points=3), 10).grow(), None)
