"""The policy that is optimal on average as a planner: once and for all, or solved again at each step."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from gumdp.average.rest_kernels import new_workspace, tighten
from gumdp.errors import GumdpError, check_bool
from gumdp.jit.callback import reraise
from gumdp.models.tabular import Tabular
from gumdp.policies.base import Planner, Policy, Seeds
from gumdp.policies.rule import RulePlanner
from gumdp.problem import Problem, check_problem
from gumdp.results import Array, Decision, Solution

ROUNDS = 30
SAMPLES = 100_000  # random steps of a simulator, to estimate its table from
PRECISION = 1e-6  # of a plan that is made again at each step, relative to the range of the objective


class BestOnAverage(Planner):
    """The infinite-trials policy of ``solve_infinite``, the paper's π_Solver.

    Args:
        resolve: solve again at each step, from the running occupancy and the state, and take the action that the
            new plan most probably takes first: the certainty-equivalent controller. It plans as if the rest of the
            run would be what it is on average, and corrects itself when it is not. For convex objectives.
        horizon: ``"infinite"`` (the default where the discount is below 1) or ``"finite"``, as in ``solve_infinite``.
        method: as in ``solve_infinite``.

    The first trial of a problem solves it. A simulator is first made a table of, by sampling, as the paper does:
    ``gumdp.learn(problem.model, samples=100_000)``. Where the optimal occupancy leaves a state out that a run still
    reaches, the policy takes any available action there.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m2-imitation")
    >>> round(gumdp.evaluate(problem, BestOnAverage(), trials=2000, seed=0).mean, 2)
    0.03
    """

    def __init__(self, *, resolve: bool = False, horizon: str | None = None, method: str = "auto") -> None:
        resolve = check_bool("BestOnAverage: resolve", resolve)
        if resolve and (horizon is not None or method != "auto"):
            raise GumdpError("BestOnAverage: resolve=True has its own horizon and method; leave these two out.")
        self.resolve, self.horizon, self.method = resolve, horizon, method
        self.batch = 1 if resolve else RulePlanner.batch
        self._solved: weakref.WeakKeyDictionary[Problem, Solution] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        given = {"resolve": (self.resolve, False), "horizon": (self.horizon, None), "method": (self.method, "auto")}
        return f"BestOnAverage({', '.join(f'{k}={v!r}' for k, (v, default) in given.items() if v != default)})"

    def __reduce__(self) -> Any:  # solutions are not sent along to other processes
        return _again, (self.resolve, self.horizon, self.method)

    def solve(self, problem: Problem) -> Solution:
        """The solution of ``problem``, the same each time."""
        from gumdp.average.solve import solve_infinite

        with self._lock:
            if problem not in self._solved:
                self._solved[problem] = solve_infinite(tabulated(problem), self.method, horizon=self.horizon)
            return self._solved[problem]

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _Resolving(problem, dice) if self.resolve else self._fixed(problem).bind(problem, dice)

    def trials(self, problem: Problem, seeds: Seeds, stop: Any) -> Array | None:
        return None if self.resolve else self._fixed(problem).trials(problem, seeds, stop)

    def _fixed(self, problem: Problem) -> Planner:
        planner = self.solve(problem).planner
        assert isinstance(planner, Planner)
        return planner


def tabulated(problem: Problem) -> Problem:
    """``problem`` with a table for its model: its own, or one estimated from random walks through a simulator."""
    from gumdp.models.learned import learn

    if not isinstance(problem, Problem) or isinstance(problem.model, Tabular):
        check_problem("BestOnAverage", problem, totals=True)
        return problem
    if problem.counts is not None:  # whose amounts are those of the model's own states, not of cells
        raise GumdpError(f"BestOnAverage needs a Tabular model where {problem.counts!r} count.")
    table = learn(problem.model, samples=SAMPLES, episode=problem.horizon)
    return Problem(table, problem.objective, problem.discount, problem.horizon, problem.episodes, name=problem.name)


def _again(resolve: bool, horizon: str | None, method: str) -> BestOnAverage:
    return BestOnAverage(resolve=resolve, horizon=horizon, method=method)


class _Resolving(Policy):
    def __init__(self, problem: Problem, dice: Any) -> None:
        from gumdp.average.rest import ConvexSetup

        super().__init__(problem, dice)
        self._with = ConvexSetup("BestOnAverage(resolve=True)", problem)
        self._workspace = new_workspace(problem.shape, problem.steps)
        self._with.set_out(self._workspace)

    def decide(self, state: Any) -> Decision:
        problem, workspace, tools = self.problem, self._workspace, self._with
        o = self._running.root[: self._running.counts.pairs].copy()
        bound = tighten(
            tools.tangents.record, tools.task, self.t, int(state), o, workspace, ROUNDS, PRECISION * tools.scale,
            tools.smoothing(self.t),
        )  # fmt: skip
        reraise()
        corners = slice(0, int(workspace.counts[1]))  # of which none is a warm start
        shares = np.bincount(workspace.begins[corners], weights=workspace.shares[corners], minlength=problem.shape[1])
        action = int(shares.argmax())
        values = np.full(shares.size, np.nan)
        values[action] = bound
        return Decision(action, problem.model.action_name(action), values=values)
