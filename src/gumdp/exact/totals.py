"""The optimum in the space of totals: every (t, s, z) that can come about, equal ones merged.

Whatever the objective is, it sees nothing of a run but its totals z, so that (t, s, z) is all that the best policy
needs to know; with few kinds of amounts there are few z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.counts.features import TableFeatures
from gumdp.errors import GumdpError
from gumdp.exact.totals_kernels import Amounts, final_totals, unfold_totals
from gumdp.exact.unfold import CROWDED, MOST, Level, Mask, Unfolding, rows_of, starts_of
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem

GRAIN = 1e-12  # relative to the largest total: what rounding alone makes different


class TotalsUnfolding(Unfolding):
    """Every (s, z) that can come about while the actions ``taken(t)`` [S, A] are taken, step by step.

    Without discounting totals are summed without weights, so that whole amounts stay whole. Totals that differ by less
    than rounding does are one. ``grid`` rounds totals to its multiples at each step: fewer of them, and ``slack`` says
    how far each can be off at the end.
    """

    def __init__(
        self, problem: Problem, limit: int, name: str, taken: Callable[[int], Mask], grid: float | None = None
    ) -> None:
        model, features = check_problem(name, problem, totals=True), problem.features
        assert isinstance(features, TableFeatures)
        if features.late and problem.episodes > 1:
            raise GumdpError(f"{name}: amounts that depend on the next state can't be solved for several episodes.")
        self.problem, self.merging = problem, True
        self._taken = [np.ascontiguousarray(taken(t)).ravel() for t in range(problem.horizon)]
        self._rows, self._fresh = rows_of(model), starts_of(model)
        self.even = problem.discount == 1.0
        self.scale = float(problem.weights[0]) if self.even else 1.0
        self.slack = 0.0 if grid is None else 0.5 * grid * problem.steps
        most = features.largest * (problem.steps if self.even else float(problem.weights.sum()))
        grain = GRAIN * max(most, 1e-300) if grid is None else grid / self.scale
        if most / grain > 2.0**62:
            raise GumdpError(f"{name}: a grid of {grid:g} is too fine for totals of up to {most * self.scale:g}.")
        self.amounts = Amounts(features.late, features.values, grain, grid is not None)
        self.levels: list[Level] = []
        try:
            self._z = self._unfold(name, min(limit, MOST), features.kinds)
        except MemoryError:
            raise GumdpError(f"{name}: there is not enough memory for the totals; lower the horizon.") from None

    def _weight(self, t: int) -> float:
        return 1.0 if self.even else float(self.problem.weights[t])

    def _unfold(self, name: str, limit: int, kinds: int) -> Array:
        """Unfold level after level; return the totals of the last."""
        steps, states = self.problem.steps, self._fresh.successors
        z, room = np.zeros((states.size, kinds)), limit
        into, code = np.zeros(kinds), np.zeros(kinds, np.int64)
        for t in range(steps):
            room -= states.size
            first, links = np.zeros(states.size, np.int64), np.empty(0, np.int32)
            count = self._links(t, states) if t < steps - 1 else 0
            space = min(count, room)
            if room < 0 or count > CROWDED * limit:
                raise _too_large(name, t, limit)
            following, their_z, made = states, z, states.size
            if t < steps - 1:
                links = np.empty(count, np.int32)
                table = np.full(1 << max(1, 2 * space).bit_length(), -1, np.int32)
                following, their_z = np.empty(space, np.int32), np.empty((space, kinds))
                made = unfold_totals(
                    self.amounts, self.moves(t), self.taken(t), self._weight(t), states, z, table, into, code,
                    first, links, following, their_z, np.empty((space, kinds), np.int64),
                )  # fmt: skip
                if made < 0:
                    raise _too_large(name, t, limit)
            self.levels.append(Level(states, first, links, np.empty(states.size)))
            states, z = following[:made].copy(), their_z[:made].copy()
        return z

    def _final_values(self, t: int, part: slice, q: Any) -> None:
        problem, kinds = self.problem, self._z.shape[1]
        running = problem.running()  # of its own: threads look things up
        final_totals(
            problem.record, running, self.amounts, self._rows, self.taken(t), self._weight(t), self.scale,
            self.levels[t].states[part], self._z[part], np.zeros(kinds), np.zeros(kinds, np.int64), q,
        )  # fmt: skip
        reraise()

    def final_totals(self, t: int) -> Array:
        """The different totals that runs can end with after step ``t``, the last, [n, k]."""
        level, moves, late = self.levels[t], self._rows, self.amounts.late
        found = []
        for a in range(moves.actions):
            rows = level.states.astype(np.int64) * moves.actions + a
            free = self.taken(t)[rows]
            for j in range(int(np.diff(moves.offsets).max()) if late else 1):
                at = moves.offsets[rows] + j if late else rows
                nodes = free & (at < moves.offsets[rows + 1]) if late else free
                found.append(self._z[nodes] + self._weight(t) * self.amounts.values[at[nodes]])
        z = np.concatenate(found)
        if self.amounts.rounds:
            z = np.rint(z / self.amounts.grain) * self.amounts.grain
        return np.asarray(np.unique(self.scale * z, axis=0))


def _too_large(name: str, t: int, limit: int) -> GumdpError:
    return GumdpError(
        f"{name}: there are more than {limit:,} different (step, state, totals), which limit allows, by step {t}; "
        "shorten the horizon, round totals with grid=…, or raise limit if there is memory for it (some 50 bytes each)."
    )
