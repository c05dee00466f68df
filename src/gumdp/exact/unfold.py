"""The occupancy MDP of a problem, unfolded: every (s, o, t) that can come about, equal ones merged."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from gumdp.errors import GumdpError
from gumdp.exact.unfold_kernels import Coding, Moves, action_values, final_values, unfold
from gumdp.jit.callback import reraise
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem

Mask = NDArray[np.bool_]
Reduce = Callable[[int, Any, Array], Array]  # (step, states [n], action values [n, A]) → values [n]

BLOCK = 1 << 16  # nodes that are valued in one go
MOST = 2**31 - 1  # nodes of a level, which are numbered with 32 bits
CROWDED = 64  # links that there may be for each node that there may be


class Level(NamedTuple):
    """The occupancy states of one step; ``links[first[n]]`` and on are the children of node n."""

    states: Any  # int32 [n]
    first: Any  # int64 [n]
    links: Any  # int32
    values: Any  # float64 [n]


class Unfolding:
    """Every occupancy state that can come about while the actions ``taken(t)`` [S, A] are taken, step by step.

    Two states of a step are one when they agree in s and o. That o agrees is told by whole numbers: by the visits
    to each pair without discounting, else by the pairs that were visited with each weight. With a discount below 1
    and one episode no two histories agree in this, and nothing is compared. (For a few irrational discounts their
    occupancies are equal all the same, up to rounding. They are then kept apart, which is as right, only larger.)
    """

    def __init__(self, problem: Problem, limit: int, name: str, taken: Callable[[int], Mask]) -> None:
        model = check_problem(name, problem)
        self.problem = problem
        self.merging = problem.discount == 1.0 or problem.episodes > 1
        self.coding, self._width = coding_of(problem)
        self._taken = [np.ascontiguousarray(taken(t)).ravel() for t in range(problem.horizon)]
        self._rows = rows_of(model)
        self._fresh = starts_of(model)
        bound = size_bound(problem, [mask.reshape(problem.shape) for mask in self._taken])
        if not self.merging and bound > limit:
            raise _too_large(name, f"{bound:.3g}" if bound > 1e9 else f"{bound:,.0f}", limit)
        self.levels: list[Level] = []
        try:
            self._codes = self._forward(name, min(limit, MOST), bound)
        except MemoryError:
            raise GumdpError(f"{name}: there is not enough memory for the occupancy MDP; lower the horizon.") from None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of occupancy states at each step, [steps]."""
        return np.array([level.states.size for level in self.levels], dtype=np.int64)

    def taken(self, t: int) -> Mask:
        """The actions that are taken at step ``t``, [S·A]."""
        return self._taken[t % self.problem.horizon]

    def moves(self, t: int) -> Moves:
        """Where the actions of step ``t`` lead: as the model says, or to a new episode."""
        return self._fresh if (t + 1) % self.problem.horizon == 0 else self._rows

    def _forward(self, name: str, limit: int, bound: float) -> Any:
        """Unfold level after level; return the codes of the last."""
        model, steps = self.problem.model, self.problem.steps
        kind = np.uint8 if max(steps, model.shape[0] * model.shape[1]) < 256 else np.uint32
        states = self._fresh.successors
        codes = np.zeros((states.size, self._width), kind)
        room = limit
        for t in range(steps):
            room -= states.size
            if room < 0:
                raise _too_large(name, f"between {limit:,} and {bound:.3g}", limit)
            first, links = np.zeros(states.size, np.int64), np.empty(0, np.int32)
            if t < steps - 1:
                count = self._links(t, states)
                space = min(count, room)
                if count > CROWDED * limit:
                    raise _too_large(name, f"{count:,} links between", limit)
                links = np.empty(count, np.int32)
                table = np.full(1 << max(1, 2 * space).bit_length() if self.merging else 1, -1, np.int32)
                following, their_codes = np.empty(space, np.int32), np.empty((space, self._width), kind)
                made = unfold(
                    self.coding, self.moves(t), self.taken(t), t, states, codes, self.merging, table,
                    np.empty(self._width, kind), first, links, following, their_codes,
                )  # fmt: skip
                if made < 0:
                    raise _too_large(name, f"between {limit:,} and {bound:.3g}", limit)
            self.levels.append(Level(states, first, links, np.empty(states.size)))
            if t < steps - 1:
                states, codes = following[:made].copy(), their_codes[:made].copy()
        return codes

    def _links(self, t: int, states: Any) -> int:
        """How many children, counted once for each parent and action, the nodes of step ``t`` have."""
        moves, shape = self.moves(t), self.problem.shape
        spread = np.diff(moves.offsets)
        per_row = np.where(self.taken(t), spread[0] if moves.fresh else spread, 0)
        return int(per_row.reshape(shape).sum(axis=1)[states].sum())

    def value(self, reduce: Reduce) -> float:
        """Value every node from the last step to the first; return the expectation over the start."""
        for t in range(self.problem.steps - 1, -1, -1):
            level = self.levels[t]
            for first in range(0, level.states.size, BLOCK):
                part = slice(first, first + BLOCK)
                level.values[part] = reduce(t, level.states[part], self._action_values(t, part))
        return self.expected

    @property
    def expected(self) -> float:
        """The expectation over the start of the values last given to the nodes."""
        return float(self._fresh.probabilities @ self.levels[0].values)

    def action_values(self, t: int, node: int) -> Array:
        """What each action in a node leads to on average, [A]; NaN where it is not taken."""
        values: Array = self._action_values(t, slice(node, node + 1))[0]
        return values

    def _action_values(self, t: int, part: slice) -> Array:
        problem, level = self.problem, self.levels[t]
        states = level.states[part]
        q: Array = np.empty((states.size, problem.shape[1]))
        if t < problem.steps - 1:
            after = self.levels[t + 1].values
            action_values(self.moves(t), self.taken(t), states, level.first[part], level.links, after, q)
            return q
        self._final_values(t, part, q)
        if np.isnan(q[self.taken(t).reshape(problem.shape)[states]]).any():
            raise GumdpError(
                f"the objective {problem.objective!r} is not a number at an occupancy that can come about."
            )
        return q

    def _final_values(self, t: int, part: slice, q: Any) -> None:
        """Fill ``q`` with the values of the actions of the last step."""
        problem = self.problem
        running = problem.running()  # of its own: threads look things up
        final_values(
            problem.record, running, self.coding, problem.weights, problem.shape[1], self.taken(t),
            self.levels[t].states[part], self._codes[part], q,
        )  # fmt: skip
        reraise()

    def final_actions(self) -> Array:
        """The objective after each action of each node of the last step, [n, A]; NaN where it is not taken."""
        return self._action_values(self.problem.steps - 1, slice(None))

    def start(self, state: int) -> int | None:
        """The node in which a trial that starts in ``state`` is; None if none does."""
        where = np.flatnonzero(self.levels[0].states == state)
        return int(where[0]) if where.size else None

    def child(self, t: int, node: int, action: int, successor: int) -> int | None:
        """The node after ``action`` at step ``t`` in ``node`` and then ``successor``; None if that can't happen."""
        moves, level, taken = self.moves(t), self.levels[t], self.taken(t)
        k, row = int(level.first[node]), int(level.states[node]) * moves.actions
        if not taken[row + action]:
            return None
        for a in range(action + 1):
            at = 0 if moves.fresh else row + a
            first, last = int(moves.offsets[at]), int(moves.offsets[at + 1])
            if a == action:
                where = np.flatnonzero(moves.successors[first:last] == successor)
                return int(level.links[k + where[0]]) if where.size else None
            k += last - first if taken[row + a] else 0
        return None


def size_bound(problem: Problem, taken: list[Mask]) -> float:
    """An upper bound on the number of occupancy states, the exact number where no two histories merge.

    The histories are counted by the state that they lead to. At step t with n_c visits of weight c so far, there
    are at most (states) · Π_c C(n_c + R - 1, n_c) different (s, o), where R pairs can be visited at all.
    """
    model, total = check_problem("size_bound", problem), 0.0
    ones = np.ones(model.successors.size)
    leads = sparse.csr_array(
        (ones, model.successors.copy(), model.offsets), shape=(model.offsets.size - 1, model.shape[0])
    )
    histories = (model.start > 0.0).astype(np.float64)
    reached, levels = np.zeros(problem.shape, bool), []
    for t in range(problem.steps):
        levels.append((float(histories.sum()), np.count_nonzero(histories)))
        pairs = np.minimum(histories, 1e200)[:, None] * taken[t % problem.horizon]
        reached |= pairs > 0.0
        if (t + 1) % problem.horizon == 0:
            histories = pairs.sum() * (model.start > 0.0)
        else:
            histories = leads.T @ pairs.ravel()
    for t, (count, states) in enumerate(levels):
        total += min(count, states * math.exp(min(600.0, _log_multisets(problem, t, int(reached.sum())))))
    return total


def _log_multisets(problem: Problem, t: int, pairs: int) -> float:
    """The logarithm of how many different codes there can be at step ``t``."""
    episode, h = divmod(t, problem.horizon)
    visits = [(1, t)] if problem.discount == 1.0 else [(h, episode + 1), (problem.horizon - h, episode)]
    return sum(
        classes * (math.lgamma(n + pairs) - math.lgamma(n + 1) - math.lgamma(pairs)) for classes, n in visits if pairs
    )


def coding_of(problem: Problem) -> tuple[Coding, int]:
    """The shorter of the two ways to write down a running occupancy, and how long it is."""
    t = np.arange(problem.steps)
    pairs = problem.shape[0] * problem.shape[1]
    if problem.discount == 1.0:
        counting = pairs <= problem.steps
        return Coding(counting, np.zeros_like(t), t), pairs if counting else problem.steps
    begin = t % problem.horizon * problem.episodes
    return Coding(False, begin, begin + t // problem.horizon), problem.steps


def rows_of(model: Tabular) -> Moves:
    """Where the actions of a table lead."""
    return Moves(model.shape[1], False, model.offsets, model.successors, model.probabilities)


def starts_of(model: Tabular) -> Moves:
    """Where a new episode begins."""
    ends = np.array([0, model.start_states.size], dtype=np.int64)
    return Moves(model.shape[1], True, ends, model.start_states, model.start_probabilities)


def _too_large(name: str, size: str, limit: int) -> GumdpError:
    return GumdpError(
        f"{name}: the occupancy MDP of this problem has {size} states, and limit allows {limit:,}; "
        "shorten the horizon, raise limit if there are time and memory for it (some 30 to 100 bytes per state), or ask "
        "for a bound instead (gumdp.lower_bound, gumdp.certify)."
    )
