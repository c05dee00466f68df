"""The optimal policy, looked up in the unfolded occupancy MDP."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_float, check_int
from gumdp.exact.totals import TotalsUnfolding
from gumdp.exact.unfold import Mask, Unfolding
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem, check_problem
from gumdp.results import Decision

LIMIT = 10_000_000


class Exact(Planner):
    """The optimal history-dependent policy, by backward induction over the occupancy MDP.

    The first trial of a problem solves it, the others look up. It refuses a problem whose occupancy MDP has
    more than ``limit`` states. ``grid`` rounds totals, where the problem counts features: see ``solve_exact``. Every
    history that can come about is in the table, also after actions that the policy itself would not have taken.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=4)
    >>> decision = gumdp.Exact().start(problem).act(0)
    >>> decision.values.round(6)
    array([0.23888, 0.23888])
    """

    def __init__(self, limit: int = LIMIT, grid: float | None = None) -> None:
        self.limit = check_int("Exact: limit", limit, 1)
        self.grid = None if grid is None else check_float("Exact: grid", grid, 0.0)
        if self.grid == 0.0:
            raise GumdpError("Exact: grid must be positive; leave it out for no rounding.")
        self._solved: weakref.WeakKeyDictionary[Problem, Unfolding] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        given = [f"limit={self.limit}"] if self.limit != LIMIT else []
        return f"Exact({', '.join(given + ([f'grid={self.grid:g}'] if self.grid is not None else []))})"

    def __reduce__(self) -> Any:  # the table is not sent along to other processes
        return Exact, (self.limit, self.grid)

    def solve(self, problem: Problem) -> Unfolding:
        """The occupancy MDP of ``problem``, unfolded and with the optimal value of every state."""
        check_problem("Exact", problem, totals=True)
        with self._lock:
            table = self._solved.get(problem)
            if table is None:
                table = unfold_optimally(problem, self.limit, "Exact", self.grid)
                self._solved[problem] = table
            return table

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _ExactPolicy(problem, dice, self.solve(problem))


def unfold_optimally(problem: Problem, limit: int, name: str, grid: float | None = None) -> Unfolding:
    """The unfolded occupancy MDP with the optimal value of every state."""
    table = everything(problem, limit, name, grid)
    table.value(lambda t, states, q: np.nanmin(q, axis=1))
    return table


def everything(problem: Problem, limit: int, name: str, grid: float | None = None) -> Unfolding:
    """The unfolded MDP in which every available action may be taken."""
    available = problem.model.available
    taken = np.ones(problem.shape, bool) if available is None else available
    return unfolding_of(problem, limit, name, lambda t: taken, grid)


def unfolding_of(
    problem: Problem, limit: int, name: str, taken: Callable[[int], Mask], grid: float | None = None
) -> Unfolding:
    """The unfolded MDP of the running occupancy, or of the running totals."""
    if problem.counts is not None:
        return TotalsUnfolding(problem, limit, name, taken, grid)
    if grid is not None:
        raise GumdpError(f"{name}: grid rounds totals, and this problem counts pairs: give it counts=Features(…).")
    return Unfolding(problem, limit, name, taken)


class _ExactPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, table: Unfolding) -> None:
        super().__init__(problem, dice)
        self._table = table
        self._node = 0  # of the last state seen

    def decide(self, state: Any) -> Decision:
        s, table = int(state), self._table
        node = table.child(self.t - 1, self._node, self._last_action, s) if self.t else table.start(s)
        if node is None:
            what = f"follow action {self._last_action}" if self.t else "be the first"
            raise GumdpError(f"state {s} can't {what} in this problem, so that no policy is known for it.")
        self._node = node
        values: Array = table.action_values(self.t, node)
        action = int(np.nanargmin(values))
        return Decision(action, self.problem.model.action_name(action), values=values, proved=True)
