"""The policy that branch and bound found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.average.rest_kernels import new_workspace
from gumdp.counts.memory import Memory
from gumdp.errors import GumdpError
from gumdp.exact.branch_and_bound import BranchAndBound
from gumdp.exact.branch_kernels import lay_plan
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem, check_problem
from gumdp.results import Decision


class Branched(Planner):
    """The best policy that a branch-and-bound search found: optimal, if the search came to its end.

    Where the search looked, it takes the action of the least upper bound; beyond, it follows the plan on which the
    upper bound there rests. ``solve_exact(problem, method="branch-and-bound").planner`` is one.
    """

    def __init__(self, found: BranchAndBound) -> None:
        self.found = found

    def __repr__(self) -> str:
        return "Branched()"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        known = self.found.problem
        if problem is not known and (problem.steps, problem.shape, repr(problem)) != (
            known.steps, known.shape, repr(known),
        ):  # fmt: skip
            raise GumdpError(f"this policy was found for {known!r}, and knows nothing of {problem!r}.")
        return _BranchedPolicy(problem, dice, self.found)


def best_planner(found: BranchAndBound) -> Planner:
    """The policy whose value the search reports: its own, or the one that it started from, if none is better."""
    known = found.incumbent
    return Branched(found) if known is None or found.upper < known[0] else known[1]


class OverPairs(Planner):
    """A planner that knows a problem of totals as one of occupancies, where both are the same.

    Its trials have the same values, and occupancies instead of totals.
    """

    def __init__(self, planner: Planner) -> None:
        self.planner = planner

    def __repr__(self) -> str:
        return repr(self.planner)

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return self.planner.bind(problem if problem.counts is None else problem.over_pairs(repr(self)), dice)


class Remembering(Planner):
    """A planner that knows a problem of totals as ``pairs``, whose states remember what the step to them added."""

    def __init__(self, planner: Planner, pairs: Problem, memory: Memory) -> None:
        self.planner, self.pairs, self.memory = planner, pairs, memory

    def __repr__(self) -> str:
        return repr(self.planner)

    def bind(self, problem: Problem, dice: Any) -> Policy:
        pairs, memory = problem.in_pairs(repr(self))
        same = memory is not None and np.array_equal(memory.amounts, self.memory.amounts)
        if not same or (pairs.steps, repr(pairs)) != (self.pairs.steps, repr(self.pairs)):
            raise GumdpError(f"this policy was found for another problem, and knows nothing of {problem!r}.")
        return _RememberingPolicy(problem, dice, self.planner.bind(self.pairs, dice), self.memory)


class _RememberingPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, inner: Policy, memory: Memory) -> None:
        super().__init__(problem, dice)
        self._inner, self._memory, self._table = inner, memory, check_problem("a policy", problem, totals=True)

    def decide(self, state: Any) -> Decision:
        s = int(state)
        if self.t:
            at = self._memory.after(self._table, int(self._left), self._last_action, s)
        else:
            at = int(self._memory.first[s])
        return self._inner.act(at)


class _BranchedPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, found: BranchAndBound) -> None:
        super().__init__(problem, dice)
        self._found = found
        self._node = 0  # of the last state seen
        self._plan: NDArray[np.int32] | None = None  # what is followed once the graph is left

    def decide(self, state: Any) -> Decision:
        s = int(state)
        if self._plan is None:
            self._node = self._next(s)
        values, final = self._values(s), self.t == self.problem.steps - 1
        if self._plan is None and not final and np.nanmin(values) > self._found.graph.upper[self._node]:
            self._plan = self._made(s)
        if self._plan is None or final:
            action = int(np.nanargmin(values))
        else:
            action, values = int(self._plan[self.t, s]), np.full(values.size, np.nan)
        return Decision(action, self.problem.model.action_name(action), values=values)

    def _next(self, s: int) -> int:
        """The node that the trial is in now."""
        graph, before = self._found.graph, self._node
        action = self._last_action if self.t else -1
        for k in range(graph.first[before], graph.last[before]):
            if graph.edge_action[k] == action and graph.state[graph.edge_node[k]] == s:
                return int(graph.edge_node[k])
        what = f"follow action {action}" if self.t else "be the first"
        raise GumdpError(f"state {s} can't {what} in this problem, so that no policy is known for it.")

    def _values(self, s: int) -> Array:
        """What each action is worth at most; NaN if it is not available, infinite if that is not known."""
        graph, values = self._found.graph, np.full(self.problem.shape[1], np.inf)
        allowed = self.problem.model.available
        if allowed is not None:
            values[~allowed[s]] = np.nan
        if self.t == self.problem.steps - 1:
            for a in np.flatnonzero(~np.isnan(values)):
                d = self._running.root[: self._running.counts.pairs].reshape(self.problem.shape).copy()
                d[s, a] += self.problem.weights[self.t]
                values[a] = self.problem.value(d)
        elif self._plan is None and graph.first[self._node] >= 0:
            edges = slice(graph.first[self._node], graph.last[self._node])
            values[graph.edge_action[edges]] = 0.0
            np.add.at(values, graph.edge_action[edges], graph.edge_chance[edges] * graph.upper[graph.edge_node[edges]])
        return values

    def _made(self, s: int) -> NDArray[np.int32]:
        setup, workspace = self._found.setup, new_workspace(self.problem.shape, self.problem.steps)
        o = self._running.root[: self._running.counts.pairs].copy()
        slope = self._found.graph.slope[self._node]
        lay_plan(setup.record, setup.task, workspace, setup.limits.kind, self.t, s, o, slope)
        reraise()
        plan: NDArray[np.int32] = workspace.choices
        return plan
