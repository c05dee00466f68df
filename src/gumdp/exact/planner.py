"""The optimal policy, looked up in the unfolded occupancy MDP."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int
from gumdp.exact.unfold import Unfolding
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem, check_problem
from gumdp.results import Decision

LIMIT = 10_000_000


class Exact(Planner):
    """The optimal history-dependent policy, by backward induction over the occupancy MDP.

    The first trial of a problem solves it, the others look up. It refuses a problem whose occupancy MDP has
    more than ``limit`` states. Every history that can come about is in the table, also after actions that the
    policy itself would not have taken.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=4)
    >>> decision = gumdp.Exact().start(problem).act(0)
    >>> decision.values.round(6)
    array([0.23888, 0.23888])
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = check_int("Exact: limit", limit, 1)
        self._solved: weakref.WeakKeyDictionary[Problem, Unfolding] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "Exact()" if self.limit == LIMIT else f"Exact(limit={self.limit})"

    def __reduce__(self) -> Any:  # the table is not sent along to other processes
        return Exact, (self.limit,)

    def solve(self, problem: Problem) -> Unfolding:
        """The occupancy MDP of ``problem``, unfolded and with the optimal value of every state."""
        check_problem("Exact", problem)
        with self._lock:
            table = self._solved.get(problem)
            if table is None:
                table = unfold_optimally(problem, self.limit, "Exact")
                self._solved[problem] = table
            return table

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _ExactPolicy(problem, dice, self.solve(problem))


def unfold_optimally(problem: Problem, limit: int, name: str) -> Unfolding:
    """The unfolded occupancy MDP with the optimal value of every state."""
    available = problem.model.available
    everything = np.ones(problem.shape, bool) if available is None else available
    table = Unfolding(problem, limit, name, lambda t: everything)
    table.value(lambda t, states, q: np.nanmin(q, axis=1))
    return table


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
        return Decision(action, self.problem.model.action_name(action), values=values)
