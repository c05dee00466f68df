"""A bound for simulators in which nothing is left to chance but the start: the best paths from each piece of it.

Bounds of single starts have the mean of the start as a bound. Where the start is known to lie in narrow boxes that are
equally likely, the mean is over these, and certain; else starts are drawn, and it holds with a confidence.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from gumdp.average.polytope import EPSILON
from gumdp.bounds.decomposition import TooLarge
from gumdp.bounds.intervals import bernstein_margin
from gumdp.bounds.paths_kernels import Items, Paths, Points, Work, grow, plant
from gumdp.bounds.reach_kernels import FAR, LENGTH, Ahead, lay_boxes, release_cells
from gumdp.bounds.separable import NotSeparable, Separable
from gumdp.models.classic_dynamics import boxes_of, start_pieces
from gumdp.models.compiled import Fixed, MaskedSimulation, start_state
from gumdp.models.simulator import Simulator
from gumdp.objectives.base import Array
from gumdp.problem import Problem
from gumdp.seeding import streams

PER_SECOND, MOST, DRAWN = 8, 64, 256  # pieces of the start for each second there is; at most, and if they are drawn
NODES = 24_000_000  # paths in all, 21 bytes each
FINE = (900, 800)  # boxes in each dimension, at most: how far one may drift for nothing is what loosens the bound
BOXES, RELEASES = (80_000, 40_000), 1 << 27  # in all, at least and for each second; and bytes of releases
TABLE = 20_000_000  # entries of a table of steps and items
AT_ONCE, PATIENCE = 64, 0.2  # paths that are looked at in one go at first, and seconds for a go
PILOT = 4  # of so many drawn starts, one only settles where bounds are cut off


class PathBound:
    """A lower bound that rises as more paths are looked at."""

    def __init__(self, problem: Problem, seconds: float, level: float = 0.99, seed: int = 0) -> None:
        if why := unfit(problem):
            raise NotSeparable(why)
        assert isinstance(problem.model, Simulator)
        self.problem, self.model = problem, problem.model
        compiled = self.model.compiled()
        self.compiled, bare = compiled, compiled.simulation if isinstance(compiled, MaskedSimulation) else compiled
        self.items = items_of(problem)
        about = 2.0 ** round(np.log2(max(seconds, 0.1)))  # so that it does not depend on how long other methods took
        count = int(np.clip(PER_SECOND * about, 4, DRAWN))
        boxes = boxes_of(bare.dynamics) if compiled is bare else None
        pieces = [(bare.begin.state,) * 2] if isinstance(bare.begin, Fixed) else None
        if pieces is None and boxes is not None and self.model.bins is not None:
            pieces = start_pieces(bare.begin, min(count, MOST))
        self.level = 1.0 if pieces is not None else level
        if pieces is None:
            pieces = [(s, s) for s in (start_state(compiled, pair[0]) for pair in streams(seed, count))]
            if problem.objective.bounds(problem.shape) is None:
                raise NotSeparable("the start is drawn, and the objective does not say between which bounds it lies")
        self.pieces = pieces
        self.world, self.ahead = self._look_ahead(bare, boxes, about)
        self.trees = [self._tree(NODES // len(pieces)) for _ in pieces]
        self.workers = min(os.cpu_count() or 1, len(pieces))
        sizes = abs(self.items.constant) + float(np.abs(self.ahead.fresh).max(axis=1).sum())
        self.margin = 8.0 * EPSILON * (problem.steps + 64) * max(1.0, sizes)

    def _look_ahead(self, bare: Any, boxes: Any, seconds: float) -> tuple[Any, Ahead]:
        """What moves boxes, and when cells can be reached."""
        weights, items, cells = self.problem.weights, self.items, self.problem.shape[0]
        w = weights[:, None]
        fresh = items.entropy * (w * np.log(w)) + items.square * w * w + items.least * w
        fresh += items.hinge * (np.maximum(0.0, w - items.kink) - np.maximum(0.0, -items.kink))
        cheapest = np.ascontiguousarray(fresh.reshape(len(weights), cells, -1).min(axis=2))
        beyond = np.append(np.cumsum(fresh.min(axis=1)[::-1])[::-1], 0.0)
        shape = bins.shape if (bins := self.model.bins) is not None else None
        nothing = np.zeros((0, 0), np.uint8), np.zeros(2), np.ones(2), np.ones(2, np.int64), np.array([1, cells])
        if boxes is None or shape is None or len(shape) != 2:
            return Points(bare.dynamics), Ahead(weights, fresh, cheapest, beyond, *nothing)
        world, low, high = boxes
        most = min(max(BOXES[0], BOXES[1] * seconds), RELEASES / cells)
        part = min(1.0, np.sqrt(most / np.prod(FINE)))
        counts = np.array([n * max(1, int(part * fine) // n) for n, fine in zip(shape, FINE, strict=True)])
        width = (np.array(high) - low) / counts
        release = np.full((int(counts.prod()), cells), FAR, np.uint8)
        ahead = Ahead(
            weights, fresh, cheapest, beyond, release, np.array(low), width, counts, np.array(shape, np.int64)
        )
        spans = np.zeros((len(release) * items.actions, 4), np.int32)
        now = np.zeros((len(release), (cells + 63) // 64), np.uint64)
        lay_boxes(world, bare.where, items.actions, ahead, spans, now)
        release_cells(items.actions, ahead, spans, now, np.zeros_like(now))
        return world, ahead

    def _tree(self, nodes: int) -> Paths:
        paths = Paths(
            np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes), np.empty(nodes, bool),
            np.empty(nodes, np.int32), np.zeros(2, np.int64),
        )  # fmt: skip
        plant(paths)
        return paths

    def _work(self) -> Work:
        n, (cells, _) = self.items.least.size, self.problem.shape
        whole = {name: np.zeros(n, np.int32) for name in ("visited", "active", "untouched")}
        real = {name: np.zeros(n) for name in ("z", "own", "reached", "y", "xi", "lacks", "slope", "small", "large")}
        return Work(
            trail=np.zeros(self.problem.steps, np.int32), release=np.zeros(cells, np.int32),
            near=np.zeros(cells, np.int32), alone=np.zeros((n, LENGTH)), open=np.zeros(LENGTH), **whole, **real,
        )  # fmt: skip

    # --- the bound ---

    @property
    def bounds(self) -> Array:
        """The bound of each piece, rounding allowed for."""
        return np.array([tree.bound[tree.heap[0]] for tree in self.trees]) - self.margin

    @property
    def value(self) -> float:
        """The bound."""
        if self.level == 1.0:
            return float(self.bounds.mean())
        ends = self.problem.objective.bounds(self.problem.shape)
        assert ends is not None
        found = np.maximum(self.bounds, ends[0])
        first = len(found) // PILOT
        cap = max(float(found[:first].max()), ends[0])
        kept = np.minimum(found[first:], cap)
        return max(ends[0], float(kept.mean()) - bernstein_margin(kept, cap - ends[0], 1.0 - self.level))

    @property
    def paths(self) -> int:
        """How many were looked at."""
        return int(sum(tree.size[0] for tree in self.trees))

    @property
    def complete(self) -> bool:
        """Whether the bound of each piece is the value of a whole path."""
        return all(self._whole(tree) for tree in self.trees)

    def _whole(self, tree: Paths) -> bool:
        node, length = int(tree.heap[0]), 0
        while tree.parent[node] >= 0:
            node, length = int(tree.parent[node]), length + 1
        return length == self.problem.steps

    @property
    def reason(self) -> str:
        """What the bound rests on."""
        count, paths = len(self.pieces), f"{self.paths:,} paths"
        if count == 1:
            return f"the optimum itself, from {paths}" if self.complete else f"the best of {paths}, and of what follows"
        how = "pieces of the start" if self.level == 1.0 else "starts that were drawn"
        return f"the best of {paths} from {count} {how}, and of what follows"

    def grow(self, deadline: float = np.inf, most: int | None = None) -> Iterator[float]:
        """Look at more paths until the deadline, or until about ``most`` were; yield the bound from time to time."""
        work = [self._work() for _ in range(self.workers)]
        times, share = [AT_ONCE] * len(self.trees), (most or 0) / len(self.trees)
        full = [False] * len(self.trees)

        def some(first: int) -> None:
            for k in range(first, len(self.trees), self.workers):
                tree, began = self.trees[k], time.perf_counter()
                if not full[k] and began < deadline:
                    done = grow(
                        self.world, self.compiled, self.items, self.ahead, tree, *self.pieces[k], work[first], times[k]
                    )
                    full[k] = done < times[k] or (most is not None and tree.size[0] >= share)
                    if most is None:
                        rate = PATIENCE / max(time.perf_counter() - began, 1e-9)
                        times[k] = int(np.clip(times[k] * rate, 1, 2 * times[k]))

        with ThreadPoolExecutor(self.workers) as pool:
            while not all(full) and time.perf_counter() < deadline:
                list(pool.map(some, range(self.workers)))
                if not np.isneginf(self.bounds).any():
                    yield self.value

    def fortune(self) -> Starts | None:
        """What the pieces say about single starts, if they are pieces of all starts there are."""
        if self.level < 1.0 or len(self.pieces) == 1:
            return None
        return Starts(self.problem, np.array([low[0] for low, _ in self.pieces]), self.bounds)


class Starts(NamedTuple):
    """How good the start of a trial was."""

    problem: Problem
    firsts: Array  # where each piece of the start begins
    bounds: Array

    def luck(self, states: Any, actions: Any) -> float:
        """How much dearer a trial's start is than starts are on average, as far as is known: its mean is 0."""
        piece = int(np.searchsorted(self.firsts, states[0][0], side="right")) - 1
        return float(self.bounds[max(0, piece)] - self.bounds.mean())


def unfit(problem: Problem) -> str | None:
    """Why paths say nothing about a problem."""
    if not isinstance(problem.model, Simulator) or not problem.model.deterministic:
        return "needs a simulator whose steps leave nothing to chance"
    if problem.episodes > 1:
        return "needs a single episode"
    return None


def items_of(problem: Problem) -> Items:
    """The objective as a convex sum over pairs, or over states."""
    (cells, actions), shape = problem.shape, problem.shape
    if problem.steps * cells * actions > TABLE:
        raise TooLarge(f"{problem.steps} steps × {cells * actions:,} pairs don't fit into memory")
    made = Separable(problem.objective, shape, np.full(shape, 1.0 / (cells * actions)), np.ones(shape, bool))
    rows = [] if made.linear else made.rows
    sizes = {row.where.size for row in rows}
    shared = actions if sizes == {actions} else 1
    whole = all(row.simple and row.where[0] % shared == 0 and np.ptp(row.where) < shared for row in rows)
    columns = made.cells()
    if len(sizes) > 1 or not whole or columns.square.min() < 0.0 or columns.jump.max() > 0.0:
        raise NotSeparable("is for convex sums over the pairs, or over the states")
    where = np.array([row.where[0] // shared for row in rows], int)
    parts = {name: np.zeros(cells * actions // shared) for name in ("entropy", "square", "hinge", "kink")}
    for name, part in parts.items():
        part[where] = getattr(columns, name)[: where.size]
    least = made.costs.reshape(-1, shared).min(axis=1)
    return Items(**parts, least=least, costs=made.costs, actions=actions, shared=shared, constant=made.constant)
