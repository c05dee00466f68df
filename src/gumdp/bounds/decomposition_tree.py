"""The decomposition's value function, and the tree of histories that grows on it.

V̂_t(s, o) = c₀ + c·o + Σ_i V^i_t(s, v_i·o) is a lower bound on what any policy reaches from state s with the running
occupancy o after t steps, everywhere, by one look-up for each statistic. A tree of histories whose leaves are bounded
by it lifts the bound at its root: what follows a node is the least over the actions of the mean over the outcomes,
and that is never less than V̂ of the node itself.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gumdp.average.rest_kernels import Task
from gumdp.bounds.decomposition import Decomposition
from gumdp.bounds.decomposition_kernels import Scratch, look_back
from gumdp.bounds.history_tree_kernels import add, expand, lead, new_history_tree, occupancy_of, tell
from gumdp.bounds.value_kernels import Tables, branch_out, fortune, lay_grids, set_apart, value_of
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.objectives.entropy import Entropy
from gumdp.problem import Problem

MEMORY = 1 << 28  # bytes that values may take
POINTS, FEWEST = 250, 40  # of a grid, and the fewest with which more steps are remembered
DEPTH, OPEN = 24, 0.01  # steps that are remembered at least, if there is room; and the weight of those that are not
NODES = 12_000_000  # 44 bytes each
CALM = 0.01  # how much there is to be gained in a state that nobody leaves, compared with others
BELOW, MOST, REFINED = (
    1_000_000,
    400,
    1 << 30,
)  # histories below one of a refined tree; how many, and their prices' bytes
AT_ONCE = 2  # trees that grow at the same time, whatever the number of cores
CLIMBS, STEPS, GENTLE = 10, 100, 0.0003  # histories with an ascent of their own, its steps, and the size of the first
PATIENCE = 0.1  # seconds after which a growing tree looks up from its work


class ValueFunction:
    """V̂ at the first ``depth`` steps, and at the end: by default the steps that have nearly all of the weight."""

    def __init__(
        self, made: Decomposition, deadline: float = np.inf, depth: int | None = None, points: int = POINTS
    ) -> None:
        self.made, states = made, made.problem.shape[0]
        wanted = max(DEPTH, int(np.count_nonzero(made.run.open > OPEN))) if depth is None else depth
        depth = max(1, min(wanted, made.run.steps) - made.run.first)
        while points > FEWEST and 8 * depth * states * sum(made.sizes(points)) > MEMORY:
            points = max(FEWEST, points // 2)
        sizes = made.sizes(points)
        self.depth = int(np.clip(MEMORY // (8 * states * max(1, sum(sizes))), 1, depth))
        self.cells = made.cells(points)
        ends = np.cumsum([self.depth * states * n for n in sizes], dtype=np.int64)
        total = int(ends[-1]) if len(sizes) else 0
        places = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.tables = Tables(
            np.full(self.depth * states, made.sum.constant), np.zeros(total),
            np.concatenate([[0], ends])[: len(sizes)].astype(np.int64), np.zeros(places[-1]), np.zeros(places[-1]),
            places, made.sum.constant, made.sum.costs, np.where(made.last, CALM, 1.0),
        )  # fmt: skip
        lay_grids(self.cells, self.tables)
        found = np.zeros((len(sizes), 2))

        def look(i: int, work: Scratch) -> None:
            first = int(self.tables.starts[i])
            part = self.tables.values[first : first + self.depth * states * sizes[i]]
            table = part.reshape(self.depth, states, sizes[i])
            found[i] = look_back(made.run, self.cells, i, made.best[i], work, False, table)

        self.ready = made.each(look, sizes, 0, deadline)  # whether there was time
        for i in range(len(sizes)):
            set_apart(made.run, self.cells, self.tables, states, i)
        left, largest = made.leftover()
        self.margin = largest + made.slack() * (abs(made.known) + largest + float(found[:, 1].sum()))
        self.root = made.known + left + float(found[:, 0].sum())

    @property
    def problem(self) -> Problem:
        """The problem that the values are of."""
        return self.made.problem

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
    """A lower bound that rises as the tree grows, below the history of these states and the actions before them."""

    def __init__(
        self, values: ValueFunction, nodes: int | None = None, history: Sequence[tuple[int, int]] = ((-1, -1),)
    ) -> None:
        self.values, made = values, values.made
        run, shape = made.run, made.problem.shape
        hopes = np.append(np.cumsum(run.weights[::-1] ** 2)[::-1], 0.0)
        end = run.first + values.depth
        if end < run.steps:
            hopes[end - 1 :] = 0.0  # what lies further ahead is not remembered
        self.task = Task(run.chain, run.weights, run.horizon, run.open, np.zeros((0, 0)), hopes)
        children = np.diff(run.chain.offsets).reshape(shape).sum(axis=1).max()
        self.widest = int(max(children, shape[1] * run.chain.start_states.size))
        limit = max(2 * self.widest + 1, NODES if nodes is None else min(nodes, NODES))
        self.tree = new_history_tree(limit, shape[0] * shape[1])._replace(slope=np.empty((1, 1)))
        for k, (state, action) in enumerate(history):
            add(self.task, self.tree, k - 1, state, action, 1.0)
        self.top = len(history) - 1
        self.tree.bound[self.top] = values.root

    @property
    def bound(self) -> float:
        """The root's bound, rounding allowed for."""
        return float(self.tree.bound[self.top]) - self.values.margin

    @property
    def nodes(self) -> int:
        """Histories in the tree."""
        return int(self.tree.size[0])

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be gained."""
        return not self.tree.potential_gain[self.top] > 0.0

    @property
    def reason(self) -> str:
        """What the bound rests on."""
        made = self.values.made
        if self.complete and self.values.depth == made.run.steps - made.run.first and not made.sum.minorant:
            return f"the optimum itself, from {self.nodes:,} histories"
        return f"{made.reason}, below {self.nodes:,} histories"

    def grow(self, deadline: float = np.inf, nodes: int | None = None) -> Iterator[float]:
        """Let the tree grow until the deadline, to about so many nodes, or until there is no room.

        Yields its bound from time to time.
        """
        made, states, limit = self.values.made, self.values.made.problem.shape[0], self.tree.state.size
        times, most = 1, limit if nodes is None else min(nodes, limit)
        while not self.complete and self.nodes + self.widest <= most:
            began = time.perf_counter()
            if began > deadline:
                break
            done = branch_out(
                made.run, self.values.cells, self.values.tables, self.task, self.tree, self.top, times, self.widest,
                states,
            )  # fmt: skip
            yield self.bound
            if done < times:
                break
            spent = time.perf_counter() - began
            times = max(1, min(2 * times, int(times * PATIENCE / max(spent, 1e-9)), (most - self.nodes) // self.widest))


class RefinedTree:
    """A lower bound that rises as histories get multipliers of their own, with a tree of values below each.

    ``tree`` is that of the root. The next history is the one that a history tree would expand; its multipliers begin
    as those of the history before it.
    """

    def __init__(self, tree: ValueTree) -> None:
        self.task, self.widest, self.count = tree.task, tree.widest, 0
        made = tree.values.made
        room = min(MOST, max(2, REFINED // made.best.nbytes)) * tree.widest + 1
        self.tree = new_history_tree(room, tree.tree.o.size)._replace(slope=np.empty((1, 1)))
        self.prices: dict[int, Decomposition] = {}
        self.nodes = tree.nodes
        add(self.task, self.tree, -1, -1, -1, 1.0)
        self.tree.bound[0] = -np.inf
        self._adopt(0, tree, 0)
        if made.run.chain.start_states.size == 1 and tree.tree.child[0] > 0:  # its values are those of the root
            self._adopt(1, tree, int(tree.tree.child[0]))

    @property
    def bound(self) -> float:
        """The root's bound, rounding allowed for."""
        return float(self.tree.bound[0])

    @property
    def reason(self) -> str:
        """What the bound rests on."""
        return f"{self.prices[0].reason}, below {self.nodes:,} histories, {self.count:,} of which have their own prices"

    def grow(self, deadline: float = np.inf, nodes: int | None = None) -> Iterator[float]:
        """Give more histories multipliers, until the deadline or until there are about ``nodes`` below all of them."""
        tree, took = self.tree, 0.0
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while tree.potential_gain[0] > 0.0 and tree.size[0] + AT_ONCE * self.widest <= tree.state.size:
                began = time.perf_counter()
                if began + took > deadline or (nodes is not None and self.nodes + AT_ONCE * BELOW > nodes):
                    break
                leaves = self._leaves()
                made = [self._prices(leaf, deadline) for leaf in leaves]
                found = list(pool.map(self._below, leaves, made, [deadline] * len(leaves)))
                for leaf, below in zip(leaves, found, strict=True):
                    if below is not None:
                        self.count += 1
                        self.nodes += below.nodes
                        self._adopt(leaf, below, below.top)
                took = time.perf_counter() - began
                yield self.bound

    def _leaves(self) -> list[int]:
        """The most promising leaves. As if nothing were to be gained there any more."""
        leaves: list[int] = []
        while len(leaves) < AT_ONCE and self.tree.potential_gain[0] > 0.0:
            leaves.append(int(lead(self.tree, 0)))
            self.tree.potential_gain[leaves[-1]] = 0.0
            tell(self.tree, int(self.tree.parent[leaves[-1]]), 0)
        return leaves

    def _prices(self, leaf: int, deadline: float) -> Decomposition:
        """The decomposition from a leaf on; the first leaves are worth an ascent of their own."""
        occupancy_of(self.task, self.tree, leaf)
        above = self.prices[int(self.tree.parent[leaf])]
        made = above.below(int(self.tree.state[leaf]), self.tree.o, int(self.tree.step[leaf]))
        for _ in made.climb(deadline, STEPS if self.count < CLIMBS else 0, rate=GENTLE):
            pass
        return made

    def _below(self, leaf: int, made: Decomposition, deadline: float) -> ValueTree | None:
        """A tree of values below a leaf; None if there was no time."""
        history = [leaf]
        while history[-1] > 0:
            history.append(int(self.tree.parent[history[-1]]))
        values = ValueFunction(made, deadline)
        if not values.ready:
            return None
        steps = [(int(self.tree.state[k]), int(self.tree.action[k])) for k in reversed(history)]
        below = ValueTree(values, BELOW, steps)
        for _ in below.grow(deadline):
            pass
        return below

    def _adopt(self, node: int, below: ValueTree, top: int) -> None:
        """Take the bounds of ``node`` and its children from the tree below it, where it is called ``top``."""
        tree, theirs, fresh = self.tree, int(below.tree.child[top]), int(self.tree.size[0])
        self.prices[node] = below.values.made
        tree.bound[node] = max(tree.bound[node], below.tree.bound[top] - below.values.margin)
        tree.potential_gain[node] = 0.0
        if theirs >= 0:
            expand(self.task, tree, node)
        for k in range(fresh, int(tree.size[0])):
            tree.bound[k] = below.tree.bound[theirs + k - fresh] - below.values.margin
            tree.potential_gain[k] *= below.values.tables.hopes[tree.state[k]]
        above = node if theirs >= 0 else int(tree.parent[node])
        while above >= 0:
            tell(tree, above, above)
            above = int(tree.parent[above])


@functools.cache
def warm() -> None:
    """Have the kernels compiled, so that no clock counts it."""
    model = Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    made = Decomposition(Problem(model, Entropy(), 0.9, 2))
    for _ in made.climb(iterations=1, points=3):
        made.bound(3)
    tree = ValueTree(ValueFunction(made, points=3), 10)
    next(tree.grow(), None)
    next(RefinedTree(tree).grow(), None)
