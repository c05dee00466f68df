"""Cell-wise Lagrangian decomposition: a lower bound for costs that are sums over statistics, convex or not.

Let f(d) = c₀ + c·d + Σ_i φ_i(z_i), each z_i = v_i·d a linear statistic of the run's occupancy: the share of a pair, of
a state, or any other. Take multipliers λ^i_t(s,a) with Σ_i λ^i_t = w_t·c. For every policy, however much it remembers,

    E f(d) = c₀ + Σ_i E[ Σ_t λ^i_t(s_t, a_t) + φ_i(z_i) ] ≥ c₀ + Σ_i min over policies of that term,

and the state together with the cell's own share so far is all that the i-th minimum depends on: it is dynamic
programming. So every λ gives a bound, and none of the φ_i need be convex. The bound is concave in λ; its supergradient
is where the i-th optimal policy goes, less where the others go on average. Adam climbs it. These are weakly coupled
dynamic programs (Hawkins 2003; Adelman and Mersereau 2008), whose coupling is that all cells must be filled by one
and the same run. With λ^i = w_t·(c + Σ_j φ_j'·v_j)/N - w_t·φ_i'·v_i, slopes at the mean occupancy, the ascent begins at
Jensen's bound or above.

How shares are rounded to a grid, on the safe side, is in ``gumdp.bounds.decomposition_kernels``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gumdp.average.polytope import EPSILON, Truncated
from gumdp.bounds.decomposition_kernels import Cells, Run, Scratch, ascend, look_back, look_forth
from gumdp.bounds.separable import Separable
from gumdp.distinct import visitable
from gumdp.models.chain import chain_of
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem

COARSE, MIDDLE, FINE = 80, 400, 1000  # points of the grid while climbing, at least and at most, and at the end
WIDER, FINEST = 20, 20_000  # how many times more for a statistic that is not a share of pairs, and how many at most
LAST = 0.2  # of the time that the last look may take
BUSY = 6e7  # additions of an iteration that has no more points than the least
ROUGH, ROUGH_OPEN, ROUGHLY = 32, 1e-3, 0.6  # points, steps left out, and how long it goes, where that is not cheap
BLOCKS = 128  # multipliers in time at most
OPEN = 1e-6  # while climbing, the steps are left out that weigh less together
ITERATIONS = 1000
RATE = 0.004  # the first step of the ascent, relative to how much the slopes of the φ_i differ
FADES = (0.97, 0.99)  # of the mean flow and its square: flows jump, hence the long memory
MEMORY = 1 << 30  # bytes that multipliers may take
ADDITION, LOOKS = 1e-9, 4  # seconds of an addition, roughly; and looks at all statistics that are worth the trouble
NOTHING = np.zeros((0, 0, 0))


class TooLarge(Exception):
    """Why there is neither time nor memory for a decomposition."""


class Stage(NamedTuple):
    """How closely cells are looked at."""

    run: Run
    sizes: list[int]  # of their grids
    cells: Cells


class Decomposition:
    """A lower bound that rises as its multipliers are improved.

    ``at`` [S, A] is a mean occupancy to begin with, best the one where f is least; ``slope`` [S·A], a gradient there.
    With ``merge``, the pairs of a state that nobody leaves count as one: a better bound, but no advice there.
    """

    def __init__(
        self, problem: Problem, at: Array | None = None, slope: Array | None = None, merge: bool = True
    ) -> None:
        self.model, self.problem = check_problem("decomposition", problem), problem
        if at is None:
            polytope = Truncated(problem)
            at = polytope.occupancy(polytope.uniform)
        self.last = final(self.model)
        self.sum = Separable(problem.objective, problem.shape, at, visitable(problem), self.last if merge else None)
        weights = problem.weights
        self.even = bool(np.ptp(weights) < 1e-12 * weights[0])
        opens = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        block, short = _blocks(weights, opens, self._most_blocks())
        self.run = Run(chain_of(self.model), weights, problem.horizon, opens, block, problem.steps, 0, -1)
        self.begin, self.past = np.zeros(self.sum.count), 0.0  # what there is of each statistic already, and its cost
        self.short = self.run._replace(steps=short)
        self.iterations, self.pace = 0, np.inf  # seconds of a step, on average
        self.workers = min(os.cpu_count() or 1, self.sum.count)
        self._begin(self.sum.steepness if slope is None else self.sum.matched(slope))

    def _most_blocks(self) -> int:
        pairs, count = self.problem.shape[0] * self.problem.shape[1], self.sum.count
        most = MEMORY // (5 * 8 * pairs * count)
        if count > 1 and most < 2:
            raise TooLarge(f"multipliers for {count:,} statistics × {pairs:,} pairs don't fit into memory")
        return int(min(BLOCKS, most)) if count > 1 else 1

    def _begin(self, slopes: Array) -> None:
        """The multipliers that give Jensen's bound, from the slopes of the φ_i."""
        rows = self.sum.rows
        blocks, pull, sizes = int(self.run.block[-1]) + 1, self.sum.costs.copy(), np.zeros(len(rows))
        for i, row in enumerate(rows):
            pull[row.where] += slopes[i] * row.amounts
            sizes[i] = slopes[i] * float(np.abs(row.amounts).max())
        self.lam = np.tile(pull / len(rows), (len(rows), blocks, 1))  # [N, blocks, S·A]
        for i, row in enumerate(rows):
            self.lam[i][:, row.where] -= slopes[i] * row.amounts
        self.best = self.lam.copy()
        self.spread = max(float(np.ptp(sizes)), 1e-3)
        self._moments = (np.zeros_like(self.lam), np.zeros_like(self.lam)) if len(rows) > 1 else ()
        self._flow = np.zeros_like(self.lam)

    def below(self, state: int, occupancy: Array, step: int) -> Decomposition:
        """The same for what follows a history, beginning with the best multipliers so far."""
        node, flat = copy(self), occupancy.ravel()
        node.begin, node.past = np.array([row.of(flat) for row in self.sum.rows]), float(self.sum.costs @ flat)
        node.run = self.run._replace(first=step, origin=state)
        node.short = node.run._replace(steps=max(step + 1, self.short.steps))
        node.best = self.best.copy()  # an ascent needs the rest only while it lasts
        return node

    @property
    def reason(self) -> str:
        """What the bound rests on."""
        count = self.sum.count
        if count == 1 and not self.sum.minorant:
            return "the optimum itself, but for the grid on which the statistic is looked at"
        about = f"{count} parts of the objective, each at its best alone"
        return f"{about}, with prices after {self.iterations} steps" if self.iterations else about

    def check_time(self, seconds: float) -> None:
        """Raise ``TooLarge`` if not even a few looks at all statistics fit into so many seconds."""
        additions = sum(self.sizes(COARSE)) * self.run.steps * int(self.model.successors.size)
        one = ADDITION * additions / self.workers
        if LOOKS * one > seconds:
            raise TooLarge(f"a single look at its {self.sum.count:,} statistics would take about {one:.2g} s")

    def scratch(self, points: int, steps: int = 0) -> Scratch:
        """What one thread works with, on a grid of so many points; with choices for so many steps."""
        (states, actions), n = self.problem.shape, points
        return Scratch(
            x=np.zeros(n), own=np.zeros(n), v=np.zeros(states * actions), now=np.zeros(states * n),
            ahead=np.zeros(states * n), q=np.zeros(n), moved=np.zeros(n), to=np.zeros(n, np.int32), share=np.zeros(n),
            loss=np.zeros(n), choices=np.zeros(max(1, steps * states * n), np.uint16),
        )  # fmt: skip

    def sizes(self, wanted: int, steps: int = 0) -> list[int]:
        """How many points each cell's grid gets.

        A share of pairs gets one for each number of visits there can be, where steps weigh the same and that is not too
        many. Other statistics move at every step, and get as many more as there are fewer of them.
        """
        simple = [row.simple for row in self.sum.rows]
        shares = self.run.steps + 1 if self._exact(wanted) else wanted
        more = wanted * max(WIDER, sum(simple) // max(1, len(simple) - sum(simple)))
        room = MEMORY // (16 * self.problem.shape[0] * max(1, steps))  # for choices
        return [shares if one else max(wanted, min(more, FINEST, room)) for one in simple]

    def _exact(self, wanted: int) -> bool:
        return self.even and self.run.steps <= 4 * wanted

    def cells(self, wanted: int) -> Cells:
        """The statistics on such grids."""
        rest = float(self.run.open[self.run.first])
        return self.sum.cells(1.0 / (wanted - 1), self.run.steps, self._exact(wanted), self.begin, rest)

    # --- the bound ---

    @property
    def known(self) -> float:
        """What is known already of the cost."""
        return self.sum.constant + self.past

    def bound(self, points: int = FINE, deadline: float = np.inf) -> float | None:
        """The bound of the best multipliers so far, rounding allowed for; None if there is no time for it."""
        cells = self.cells(points)
        found = np.zeros((self.sum.count, 2))

        def look(i: int, work: Scratch) -> None:
            found[i] = look_back(self.run, cells, i, self.best[i], work, False, NOTHING)

        if not self.each(look, self.sizes(points), 0, deadline):
            return None
        left, largest = self.leftover()
        total = self.known + left + float(found[:, 0].sum())
        sizes = abs(self.known) + largest + float(found[:, 1].sum())
        return total - self.slack() * sizes

    def slack(self) -> float:
        """What rounding can add at most to a value, relative to the largest number met on the way.

        Each step adds the products of one row, which need not sum to exactly 1.
        """
        lengths = np.diff(self.model.offsets)
        sums = np.add.reduceat(self.model.probabilities, self.model.offsets[:-1][lengths > 0])
        row = EPSILON * (int(lengths.max()) + 64) + float(np.abs(sums - 1.0).max())
        return 2.0 * self.run.steps * row + EPSILON * (self.model.start_states.size + 4 * self.sum.count)

    def leftover(self) -> tuple[float, float]:
        """(the least mean of Σ w_t·(c - Σ_i λ^i) over policies, the largest number met): 0, but for rounding."""
        rest = self.sum.costs - self.best.sum(axis=0)  # [blocks, S·A]
        allowed = np.diff(self.model.offsets) > 0
        ahead, largest = np.zeros(self.problem.shape[0]), 0.0
        for t in range(self.run.steps - 1, self.run.first - 1, -1):
            q = self.run.weights[t] * rest[self.run.block[t]] + self.model.matrix @ ahead
            ahead = np.where(allowed, q, np.inf).reshape(self.problem.shape).min(axis=1)
            largest = max(largest, float(np.abs(ahead).max()))
            if t % self.run.horizon == 0 and t > self.run.first:
                ahead = np.full(ahead.size, float(self.model.start @ ahead))
        return float(ahead[self.run.origin] if self.run.origin >= 0 else self.model.start @ ahead), largest

    def each(self, look: Callable[[int, Scratch], None], sizes: list[int], steps: int, deadline: float) -> bool:
        """Whether there was time to look at every cell; the cores share them."""

        def some(first: int) -> bool:
            work: dict[int, Scratch] = {}
            for i in range(first, self.sum.count, self.workers):
                if time.perf_counter() > deadline:
                    return False
                if sizes[i] not in work:
                    work[sizes[i]] = self.scratch(sizes[i], steps)
                look(i, work[sizes[i]])
            return True

        with ThreadPoolExecutor(self.workers) as pool:
            return all(list(pool.map(some, range(self.workers))))

    # --- the ascent ---

    def climb(
        self, deadline: float = np.inf, iterations: int = ITERATIONS, points: int = 0, rate: float = RATE
    ) -> Iterator[float]:
        """Improve the multipliers; yield a rough value of the bound after each step.

        The steps shrink to nothing as iterations or time run out. With the same iterations, if time does not run out,
        the multipliers are the same.
        """
        if self.sum.count < 2:
            return
        began, best, rough = time.perf_counter(), -np.inf, np.zeros(self.sum.count)
        self.lam[:] = self.best
        self._flow[:] = 0.0
        for moment in self._moments[:1]:
            moment[:] = 0.0  # what is kept is how much flows vary
        size, width = self.lam[0].size, self.lam.shape[2]
        mean = np.zeros(size)
        flat = [array.reshape(self.sum.count, size) for array in (self.lam, self._flow, *self._moments)]
        stages = self._stages(points)
        for k in range(iterations):
            gone = max(k / iterations, (time.perf_counter() - began) / max(deadline - began, 1e-9))
            if len(stages) > 1 and gone >= ROUGHLY:
                steps = stages.pop(0).run.steps
                self.lam[:, self.run.block[steps - 1] + 1 :] = self.lam[:, [self.run.block[steps - 1]]]
                best = -np.inf  # values on another grid
            if gone >= 1.0 or not self.each(
                self._look(stages[0], rough), stages[0].sizes, stages[0].run.steps, deadline
            ):
                break
            self.iterations += 1
            value = self.known + float(rough.sum())
            if value > best:
                best = value
                self.best[:] = self.lam
            corrections = 1.0 - FADES[0] ** (k + 1), 1.0 - FADES[1] ** self.iterations
            ascend(*flat, width, rate * self.spread * (1.0 - gone), FADES, corrections, mean)
            self.pace = (time.perf_counter() - began) / (k + 1)
            yield value
        self.lam[:] = self.best

    def _stages(self, points: int) -> list[Stage]:
        """How closely to look while climbing: where that is much work, at first only roughly."""
        additions = self.sum.count * self.short.steps * int(self.model.successors.size)
        close = points or int(np.clip(BUSY / additions, COARSE, MIDDLE))
        stages = [Stage(self.short, self.sizes(close, self.short.steps), self.cells(close))]
        if close == COARSE and not points and self.run.origin < 0:
            steps = max(1, int(np.count_nonzero(self.run.open[:-1] > ROUGH_OPEN)))
            brief = self.run._replace(steps=min(steps, self.short.steps))
            stages.insert(0, Stage(brief, self.sizes(ROUGH, steps), self.cells(ROUGH)))
        return stages

    def _look(self, stage: Stage, rough: Array) -> Callable[[int, Scratch], None]:
        def look(i: int, work: Scratch) -> None:
            rough[i] = look_back(stage.run, stage.cells, i, self.lam[i], work, True, NOTHING)[0]
            look_forth(stage.run, stage.cells, i, work, self._flow[i])

        return look


def final(model: Tabular) -> NDArray[np.bool_]:
    """Which states nobody leaves, [S]."""
    states, actions = model.shape
    rows = np.repeat(np.arange(states * actions), np.diff(model.offsets))
    last = np.ones(states, bool)
    last[rows[model.successors != rows // actions] // actions] = False
    return last


def tighten(made: Decomposition, deadline: float, iterations: int = ITERATIONS) -> Iterator[float]:
    """Bounds that hold, as they rise: at the beginning, during the ascent, and at its end on a finer grid."""
    began = time.perf_counter()
    value = made.bound(COARSE, deadline)
    if value is None:
        return
    yield value
    each = time.perf_counter() - began
    last = LAST * max(0.0, deadline - began - each)
    points = int(np.clip(COARSE * last / max(each, 1e-6), COARSE, FINE))
    told = began
    for _ in made.climb(deadline - each * (1.0 + points / COARSE), iterations):
        now = time.perf_counter()
        if now - told > max(0.5, 20.0 * each, told - began):
            told = now
            if (value := made.bound(COARSE, deadline)) is not None:
                yield value
    for size in dict.fromkeys((COARSE, points)):  # the ascent must not be in vain because a fine grid takes too long
        if (value := made.bound(size, np.inf if size == COARSE else deadline + each)) is not None:
            yield value


def _blocks(weights: Array, opens: Array, most: int) -> tuple[NDArray[np.int32], int]:
    """(which multipliers each step has, how many steps are worth a look while climbing).

    Where not every step can have its own, light steps share: a block ends when it weighs enough.
    """
    short = int(np.count_nonzero(opens[:-1] > OPEN))
    low, high = 0.0, 2.0
    for _ in range(50):
        enough = 0.5 * (low + high)
        low, high = (low, enough) if _shared(weights[:short], enough)[-1] < most else (enough, high)
    number = _shared(weights[:short], high) if short > most else list(range(short))
    return np.array(number + [number[-1]] * (weights.size - short), np.int32), short


def _shared(weights: Array, enough: float) -> list[int]:
    """The number of each step's block, if a block ends as soon as it weighs enough."""
    numbers, block, held = [], 0, 0.0
    for w in weights:
        numbers.append(block)
        held += float(w)
        if held >= enough:
            block, held = block + 1, 0.0
    return numbers
