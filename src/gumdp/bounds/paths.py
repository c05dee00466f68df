"""A bound for simulators in which nothing is left to chance but the start: the best paths from each piece of it.

Bounds of single starts have the mean of the start as a bound. Where the start is known to lie in narrow boxes that are
equally likely, the mean is over these, and certain; else starts are drawn, and it holds with a confidence.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from gumdp.average.polytope import EPSILON
from gumdp.bounds.decomposition import TooLarge
from gumdp.bounds.intervals import bernstein_margin
from gumdp.bounds.paths_kernels import LENGTH, Ahead, Items, Work, grow
from gumdp.bounds.priced import PricedPaths, new_tree, path_length
from gumdp.bounds.separable import NotSeparable, Separable
from gumdp.models.classic_dynamics import boxes_of, start_pieces
from gumdp.models.compiled import Fixed, MaskedSimulation, start_state
from gumdp.models.simulator import Simulator
from gumdp.objectives.base import Array
from gumdp.problem import Problem
from gumdp.seeding import streams

PER_SECOND, MOST, DRAWN = 8, 64, 256  # pieces of the start for each second there is; at most, and if they are drawn
NODES = 24_000_000  # paths in all, 21 bytes each
PATHS = 10_000  # that are taken to be a second's, where their number is given
TABLE = 20_000_000  # entries of a table of steps and items
AT_ONCE, PATIENCE = 64, 0.2  # paths that are looked at in one go at first, and seconds for a go
PILOT = 4  # of so many drawn starts, one only settles where bounds are cut off


class PathBound:
    """A lower bound that rises as more paths are looked at."""

    def __init__(
        self, problem: Problem, seconds: float, level: float = 0.99, seed: int = 0, nodes: int | None = None
    ) -> None:
        if why := unfit(problem):
            raise NotSeparable(why)
        assert isinstance(problem.model, Simulator)
        self.problem, self.items, compiled = problem, items_of(problem), problem.model.compiled()
        bare = compiled.simulation if isinstance(compiled, MaskedSimulation) else compiled
        bins = (problem.model.bins.shape if problem.model.bins is not None else None) or ()
        boxes = boxes_of(bare.dynamics) if compiled is bare and len(bins) == 2 else None
        if boxes is not None and nodes is not None:
            seconds = min(seconds, nodes / PATHS)
        about = 2.0 ** round(np.log2(max(seconds, 0.1)))  # so that it does not depend on how long other methods took
        count = int(np.clip(PER_SECOND * about, 4, DRAWN))
        pieces = [(bare.begin.state,) * 2] if isinstance(bare.begin, Fixed) else None
        if pieces is None and boxes is not None:
            pieces = start_pieces(bare.begin, min(count, MOST))
        self.level = 1.0 if pieces is not None else level
        if pieces is None:
            pieces = [(s, s) for s in (start_state(compiled, pair[0]) for pair in streams(seed, count))]
            if problem.objective.bounds(problem.shape) is None:
                raise NotSeparable("the start is drawn, and the objective does not say between which bounds it lies")
        self.pieces, self.workers = pieces, min(os.cpu_count() or 1, len(pieces))
        known = compiled, self.items, steps_of(problem, self.items)
        self.search: Any  # PricedPaths or PlainPaths
        if boxes is not None:
            self.search = PricedPaths(boxes, bins, *known, pieces, about, NODES // self.workers)
        else:
            self.search = PlainPaths(bare.dynamics, *known, [low for low, _ in pieces], NODES // len(pieces))
        sizes = abs(self.items.constant) + float(np.abs(known[2].fresh).max(axis=1).sum())
        self.margin = 8.0 * EPSILON * (problem.steps + 64 + self.items.least.size) * max(1.0, sizes)

    # --- the bound ---

    @property
    def bounds(self) -> Array:
        """The bound of each piece, rounding allowed for."""
        return np.asarray(self.search.bounds - self.margin)

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
        return int(self.search.paths)

    @property
    def complete(self) -> bool:
        """Whether the bound of each piece is the value of a whole path."""
        return bool(self.search.complete)

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
        workspaces = [self.search.workspace() for _ in range(self.workers)]
        count = len(self.pieces)
        share, full = (np.inf if most is None else most / count), [False] * count

        def some(first: int) -> None:
            for k in turn[first :: self.workers]:
                if not full[k] and time.perf_counter() < deadline:
                    full[k] = self.search.go(k, workspaces[first], deadline, share)

        with ThreadPoolExecutor(self.workers) as pool:
            for number in itertools.count():
                if all(full) or time.perf_counter() > deadline:
                    break
                turn = self.search.turn(number)
                list(pool.map(some, range(self.workers)))
                if not np.isneginf(self.bounds).any():
                    yield self.value

    def fortune(self) -> Starts | None:
        """What the pieces say about single starts, if they are pieces of all starts there are."""
        if self.level < 1.0 or len(self.pieces) == 1:
            return None
        return Starts(self.problem, np.array([low[0] for low, _ in self.pieces]), self.bounds)


class PlainPaths:
    """Bounds of single starts: a tree of paths from each, where the rest of a path may be anywhere."""

    def __init__(self, dynamics: Any, compiled: Any, items: Items, ahead: Ahead, starts: Any, nodes: int) -> None:
        self.dynamics, self.compiled, self.items, self.ahead, self.starts = dynamics, compiled, items, ahead, starts
        self.trees = [new_tree(nodes) for _ in starts]
        self.times = [AT_ONCE] * len(starts)

    @property
    def bounds(self) -> Array:
        """The bound of each start."""
        return np.array([tree.bound[tree.heap[0]] for tree in self.trees])

    @property
    def paths(self) -> int:
        """How many were looked at."""
        return int(sum(tree.size[0] for tree in self.trees))

    @property
    def complete(self) -> bool:
        """Whether the bound of each start is the value of a whole path."""
        return all(path_length(tree) == self.ahead.weights.size for tree in self.trees)

    def workspace(self) -> Work:
        """What one thread works with."""
        n, (steps, cells) = self.items.least.size, self.ahead.cheapest.shape
        whole = {name: np.zeros(n, np.int32) for name in ("visited", "active", "untouched")}
        real = {name: np.zeros(n) for name in ("z", "own", "reached", "y", "xi", "lacks", "slope", "small", "large")}
        return Work(
            trail=np.zeros(steps, np.int32), release=np.zeros(cells, np.int32), near=np.zeros(cells, np.int32),
            alone=np.zeros((n, LENGTH)), open=np.zeros(LENGTH), **whole, **real,
        )  # fmt: skip

    def turn(self, number: int) -> range:
        """The starts whose turn it is."""
        return range(len(self.starts))

    def go(self, k: int, workspace: Any, deadline: float, most: float) -> bool:
        """Look at some more paths from start ``k``; whether nothing is left to do."""
        tree, times, began = self.trees[k], self.times[k], time.perf_counter()
        done = grow(self.dynamics, self.compiled, self.items, self.ahead, tree, self.starts[k], workspace, times)
        if most == np.inf:
            rate = PATIENCE / max(time.perf_counter() - began, 1e-9)
            self.times[k] = int(np.clip(times * rate, 1, 2 * times))
        return bool(done < times or tree.size[0] >= most)


def steps_of(problem: Problem, items: Items) -> Ahead:
    """What each step costs where nobody was."""
    w, cells = problem.weights[:, None], problem.shape[0]
    fresh = items.entropy * (w * np.log(w)) + items.square * w * w + items.least * w
    fresh += items.hinge * (np.maximum(0.0, w - items.kink) - np.maximum(0.0, -items.kink))
    cheapest = np.ascontiguousarray(fresh.reshape(len(w), cells, -1).min(axis=2))
    beyond = np.append(np.cumsum(fresh.min(axis=1)[::-1])[::-1], 0.0)
    return Ahead(problem.weights, fresh, cheapest, beyond)


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
