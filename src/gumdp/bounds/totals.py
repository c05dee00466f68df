"""A lower bound for objectives of one or two linear statistics, convex or not: dynamic programming over their values.

Let f(d) = c + costs·d + Φ(y), y = rows·d. The step, the state and the running totals y are all that a policy needs to
know: V_t(s, y) = min_a { w_t·costs + E V_{t+1}(s', y + w_t·rows) }, with V_T = Φ. The totals are looked at on a grid.
At each step, the values at its points are made so small that their bilinear interpolation L_t is nowhere above V_t,
not even between the points. Suppose L_{t+1} ≤ V_{t+1}. For each action, the cost to go with L_{t+1} is bilinear between
the points of a shifted grid. How far it can be below what is interpolated from its values is known from its second
differences (``gumdp.bounds.totals_kernels``), and is taken off. So the loss is of second order in the width of the
grid, except at kinks. By induction, L_0 is a lower bound.

Where Φ is the largest of several linear functions, any mean g·y of these gives a bound by dynamic programming with
linear costs alone: V_t(s, y) ≥ g·y + J_t(s). Such bounds stand for the last steps, and for totals far from where the
optimum leads. So the grid has to cover less and less as the steps still to come lose weight, and can be finer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gumdp.average.polytope import EPSILON
from gumdp.bounds.statistics import FewStatistics
from gumdp.bounds.totals_kernels import Moves, Planes, back_up, fill_rim, from_start, look_ahead
from gumdp.models.chain import chain_of
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem

Whole = NDArray[np.int64]
FIRST, FINEST = 48, 1 << 16  # points across the grid, at first and at most
MEMORY = 1 << 29  # bytes that the values of two steps may take
ROWS = 32  # that a thread looks at at once
CUT = 1e-3  # where linear bounds are known, the steps are left to them that weigh less together
FINER = 0.7  # the width of the grid goes with this power of what it covers
NEAR = 1e-9  # of the width: so near to a point, totals are taken to be there
WORK, SAFE = 4e-9, 1.3  # seconds for a point and a pair, at first; and how much longer it may take than expected


class Layer(NamedTuple):
    """The grid of a step: the points low … high, of which first … last are looked at, in multiples of its width."""

    width: Array  # [2]
    low: Whole
    high: Whole
    first: Whole
    last: Whole
    scale: int = 1  # points of the next grid to a point of this one
    whole: Whole = np.zeros((2, 0), np.int64)  # [2, S·A]: how far each pair leads, in points of the next grid,
    share: Array = np.zeros((2, 0))  # [2, S·A]: and in parts of its width

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.high - self.low + 1
        return int(rows), int(columns)

    @property
    def core(self) -> Whole:
        """The first and the last row and column that are looked at, counted from the first point."""
        begin, end = self.first - self.low, self.last - self.low + 1
        return np.array([begin[0], end[0], begin[1], end[1]])

    @property
    def inner(self) -> Whole:
        """The same without those next to a point that is not looked at."""
        begin, end = self.core[::2], self.core[1::2]
        begin, end = begin + (self.first > self.low), end - (self.last < self.high)
        return np.array([begin[0], end[0], begin[1], end[1]])


class TotalsBound:
    """A lower bound that rises as its grid gets finer.

    ``at`` [S, A] is the mean occupancy where f is least, if known: then the grid is laid around it.
    """

    def __init__(self, problem: Problem, at: Array | None = None) -> None:
        self.model, self.problem = check_problem("totals", problem), problem
        self.made = FewStatistics(problem.objective, problem.shape)
        self.chain, self.weights = chain_of(self.model), problem.weights
        self.open = np.append(np.cumsum(self.weights[::-1])[::-1], 0.0)
        self.reach = np.abs(self.made.rows).max(axis=1)  # of a statistic for each unit of weight
        slopes = self.made.slopes
        self.planes = Planes(slopes, np.zeros((problem.steps + 1, len(slopes), problem.shape[0])))
        look_ahead(self.chain, self.weights, problem.horizon, self.made.costs, self.made.rows, self.planes)
        self.centre = None if at is None else self.made.rows @ at.ravel()
        self.steps = problem.steps
        if len(slopes):
            self.steps = int(np.count_nonzero(self.open[:-1] > CUT * self.open[0]))
        self.workers = os.cpu_count() or 1
        self.points, self.pace = 0, WORK * self.chain.actions * problem.shape[0]

    @property
    def reason(self) -> str:
        """What the bound rests on."""
        what = "a statistic" if self.made.count == 1 else f"{self.made.count} statistics"
        return f"the optimum itself, but for a grid of {self.points:,} points across {what}"

    # --- grids ---

    def layers(self, points: int) -> list[Layer]:
        """The grids of all steps, with so many points across at first."""
        across = 2.0 * self.reach * self.open[0] / points
        width = np.where(across > 0.0, across, 1.0)
        low = high = np.zeros(2, np.int64)
        made: list[Layer] = []
        finest, largest = width, 0.0
        for t in range(self.steps):
            first, last = self._core(t, width, low, high)
            covered = float(np.max((last - first + 1) * width / np.where(across > 0.0, across, np.inf)))
            covered = covered or 1.0  # of nothing, where no step adds to any statistic
            largest = max(largest, covered)
            wanted = finest * (covered / largest) ** FINER
            scale = 2 if len(self.planes.slopes) and covered < 0.9 * largest and (width > wanted).all() else 1
            whole, share = self._moves(t, width / scale)
            more = 1 if scale == 1 else 3
            made.append(Layer(width, low, high, first, last, scale, whole, share))
            low, high = scale * first + whole.min(axis=1) - more, scale * last + whole.max(axis=1) + more + 1
            width = width / scale
        return [*made, Layer(width, low, high, low, low - 1)]

    def _core(self, t: int, width: Array, low: Whole, high: Whole) -> tuple[Whole, Whole]:
        """The first and the last points that are worth a look at step ``t``."""
        first, last = low, high
        if len(self.planes.slopes) and self.centre is not None:
            middle, half = (1.0 - self.open[t] / self.open[0]) * self.centre, self.open[t] * self.reach
            first = np.maximum(low, np.ceil((middle - half) / width).astype(np.int64))
            last = np.minimum(high, np.floor((middle + half) / width).astype(np.int64))
            first, last = np.minimum(first, high), np.maximum(last, low)
            first, last = np.minimum(first, last), np.maximum(first, last)
        flat = self.reach == 0.0  # a statistic that never moves, or none
        return np.where(flat, 0, first), np.where(flat, 0, last)

    def _moves(self, t: int, width: Array) -> tuple[Whole, Array]:
        """(how many points each pair leads on, [2, S·A]; and how much further, in parts of the width)."""
        far = self.weights[t] * self.made.rows / width[:, None]
        near = np.abs(far - np.rint(far)) < NEAR
        whole = np.where(near, np.rint(far), np.floor(far))
        return whole.astype(np.int64), np.where(near, 0.0, far - whole)

    def work(self, layers: list[Layer]) -> float:
        """Points that are looked at, in all."""
        return float(sum(np.prod(layer.last - layer.first + 1.0) for layer in layers))

    def fits(self, layers: list[Layer]) -> bool:
        """Whether there is memory for so fine a grid."""
        most = max(float(np.prod(layer.high - layer.low + 1.0)) for layer in layers)
        return 16.0 * self.problem.shape[0] * most <= MEMORY

    # --- the bound ---

    def bound(self, layers: list[Layer], deadline: float = np.inf) -> float | None:
        """The bound on these grids, rounding allowed for; None if there is no time for it."""
        states, horizon = self.problem.shape[0], self.problem.horizon
        ahead = self._at_the_end(layers[-1])
        with ThreadPoolExecutor(self.workers) as pool:
            for t in range(self.steps - 1, -1, -1):
                if time.perf_counter() > deadline:
                    return None
                if (t + 1) % horizon == 0 and t + 1 < self.problem.steps:
                    from_start(self.chain, ahead)
                now = np.zeros((states, *layers[t].shape))
                self._step(t, layers[t], layers[t + 1], ahead, now, pool)
                if len(self.planes.slopes) and t > 0:
                    loss = self._plane_loss(layers[t].width)
                    fill_rim(self.planes, t, layers[t].low, layers[t].width, loss, now, layers[t].core, layers[t].inner)
                ahead = now
        origin = -layers[0].low
        least = float(self.model.start @ ahead[:, origin[0], origin[1]])
        return self.made.constant + least - self._slack(layers)

    def _at_the_end(self, layer: Layer) -> Array:
        """Values after the last step that is looked at."""
        now = np.zeros((self.problem.shape[0], *layer.shape))
        if len(self.planes.slopes):
            loss, none = self._plane_loss(layer.width), np.zeros(4, np.int64)
            fill_rim(self.planes, self.steps, layer.low, layer.width, loss, now, none, none)
            return now
        width = np.where(self.reach > 0.0, layer.width, 0.0)
        x, y = (width[k] * np.arange(layer.low[k], layer.high[k] + 1) for k in range(2))
        grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        now[:] = self.made.value(grid).reshape(layer.shape) - self.made.above(width)
        return now

    def _plane_loss(self, width: Array) -> float:
        """How far the largest of the linear bounds is below its interpolation at most."""
        return float(np.ptp(self.planes.slopes, axis=0) @ width) / 4.0

    def _step(self, t: int, layer: Layer, after: Layer, ahead: Array, now: Array, pool: ThreadPoolExecutor) -> None:
        """Fill the core of ``now``; the cores share the rows."""
        core = layer.core
        rows, columns = layer.scale * layer.low[:, None] + layer.whole - after.low[:, None]
        below, beside = layer.share
        moves = Moves(self.weights[t] * self.made.costs, rows, columns, below, beside, layer.scale)

        def some(first: int) -> None:
            one, two = np.empty((2, 2 * ROWS + 8, ahead.shape[2] + 8))
            for start in range(first, int(core[1]), ROWS * self.workers):
                back_up(self.chain, moves, ahead, now, core, one, two, start, min(int(core[1]), start + ROWS))

        list(pool.map(some, [int(core[0]) + ROWS * k for k in range(self.workers)]))

    def _slack(self, layers: list[Layer]) -> float:
        """What rounding can add at most: to values, and to where totals are."""
        lengths = np.diff(self.model.offsets)
        sums = np.add.reduceat(self.model.probabilities, self.model.offsets[:-1][lengths > 0])
        row = EPSILON * (int(lengths.max()) + 128) + float(np.abs(sums - 1.0).max())
        total = float(self.open[0])
        moved = float(self.made.steep @ self.reach)
        ends = np.abs(self.made.value(np.zeros((1, 2))))[0] + abs(self.made.constant)
        largest = float(ends) + 2.0 * total * (moved + float(np.abs(self.made.costs).max()))
        shifts = NEAR * float(sum(self.made.steep @ layer.width for layer in layers))
        return 4.0 * self.problem.steps * row * largest + shifts

    def warm(self) -> None:
        """Have the kernels compiled for this problem, so that no clock counts it."""
        self.bound(self.layers(2))

    def grow(self, deadline: float = np.inf, most: float = np.inf) -> Iterator[float]:
        """Bounds on finer and finer grids, of about ``most`` points in all, as long as there is time."""
        points, work = FIRST, 0.0
        while points <= FINEST:
            layers = self.layers(points)
            work, began = self.work(layers), time.perf_counter()
            if not self.fits(layers) or work > most or began + SAFE * work * self.pace > deadline:
                break
            value = self.bound(layers, deadline)
            if value is None:
                break
            self.points, self.pace = points, (time.perf_counter() - began) / max(work, 1.0)
            yield value
            points *= 2
