"""The optimum over all history-dependent policies, exactly."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gumdp.errors import GumdpError, check_float, check_int, one_of
from gumdp.exact.belief import solve_belief
from gumdp.exact.branch_and_bound import BranchAndBound
from gumdp.exact.branch_planner import OverPairs, Remembering, best_planner
from gumdp.exact.first_policy import first_policy
from gumdp.exact.linear import least_total, linear_part
from gumdp.exact.planner import LIMIT, Exact
from gumdp.exact.risk import exact_planner, least_cvar, least_exponential, linear_costs
from gumdp.exact.totals import TotalsUnfolding
from gumdp.models.belief import Belief
from gumdp.objectives.base import Array
from gumdp.objectives.tail import CVaR
from gumdp.objectives.through import steepness_of
from gumdp.policies.fixed import Markov
from gumdp.problem import Problem, check_problem
from gumdp.results import Solution

METHODS = ("backward-induction", "branch-and-bound")
SECONDS = 60.0


def solve_exact(
    problem: Problem,
    method: str = "backward-induction",
    *,
    limit: int | None = None,
    grid: float | None = None,
    time_limit: float | None = None,
    nodes: int | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> Solution:
    """The optimal value of a tabular problem and the optimal history-dependent policy.

    Args:
        method: ``"backward-induction"`` lists all (s, o, t) that can come about, merges equal ones, and values them
            from the last step to the first. Without discounting the order of a history does not matter, and the
            number of states grows with a power of the horizon; with it, as fast as the number of histories does.
            Linear objectives are solved over (step, state) alone, whatever the horizon. Where the model is a
            ``Belief``, what is known is part of the state, and only tiny problems can be solved.

            ``"branch-and-bound"`` looks only at the states that bounds can't rule out: Jensen's bound from below for
            a convex objective (for any other its own ``bounds``), and from above the value of a policy that can be
            followed, at first the one that is best on average, where that can be valued. States that the objective
            can't tell apart are merged. It can be stopped at any time, and says how much is open then:
            ``solution.value`` is what the best policy found is worth at most, and no policy is below
            ``solution.value - solution.gap``.
        limit: for backward induction: problems with more states are refused, by default above ten million (on a
            ``Belief`` a hundred thousand); a state takes some 30 to 100 bytes.
        grid: for totals (``counts=Features(…)``) and backward induction: round them to multiples of this at each step.
            There are fewer then, and the value is within ``solution.gap`` of the optimum: L·k·T·grid/2 for an objective
            with Lipschitz constant L, k totals and T steps.
        time_limit, nodes: for branch and bound: seconds, 60 by default, compiling not counted, and states to look at.
        progress: called by branch and bound now and then with (nodes, value, gap).

    ``solution.planner`` is the optimal policy, or else the best one found, for ``run_trial`` and ``evaluate``;
    ``solution.sizes`` has the number of states at each step.

    >>> import gumdp
    >>> solution = gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=4))
    >>> print(round(solution.value, 6), solution.sizes.sum())
    0.23888 259
    >>> numbers = tuple(range(31, 71, 2))  # twenty odd ones
    >>> sums = gumdp.zoo.load("subset-sum", numbers=numbers, target=501)
    >>> proved = gumdp.solve_exact(sums, "branch-and-bound")
    >>> round(proved.value, 6), round(proved.gap, 6)
    (0.0, 0.0)
    """
    one_of("method of solve_exact", method, METHODS)
    if method == "backward-induction":
        if time_limit is not None or nodes is not None:
            raise GumdpError("solve_exact: time_limit and nodes go with method='branch-and-bound'; this one has limit.")
        if isinstance(problem, Problem) and isinstance(problem.model, Belief):
            return solve_belief(problem, limit)
        return _by_induction(problem, check_int("solve_exact: limit", LIMIT if limit is None else limit, 1), grid)
    if limit is not None or grid is not None:
        raise GumdpError(
            "solve_exact: limit and grid go with method='backward-induction'; this one has nodes and time_limit."
        )
    seconds = check_float("solve_exact: time_limit", SECONDS if time_limit is None else time_limit, 0.0)
    return _by_bounds(problem, seconds, None if nodes is None else check_int("solve_exact: nodes", nodes, 1), progress)


def _by_induction(problem: Problem, limit: int, grid: float | None) -> Solution:
    check_problem("solve_exact", problem, totals=True)
    began = time.perf_counter()
    if isinstance(problem.objective, CVaR) and problem.objective.threshold is None:
        return _by_thresholds(problem, limit, grid, began)
    if problem.objective.exponential is not None:
        beta, inner = problem.objective.exponential
        if (added := linear_part(inner, problem.counted)) is not None and grid is None:
            _, each = linear_costs(problem, added[0])
            value, policy = least_exponential(problem, each, beta)
            return _markov(problem, value * math.exp(beta * added[1]), policy, began)
    if problem.counts is not None:
        added = linear_part(problem.objective, problem.counted)
        if added is not None and grid is None:
            value, policy = least_total(problem, linear_costs(problem, added[0])[0])
            return _markov(problem, value + added[1], policy, began)
        return _in_total_space(problem, Exact(limit, grid), began)
    if grid is not None:
        raise GumdpError("solve_exact: grid rounds totals, and this problem counts pairs: give it counts=Features(…).")
    added = linear_part(problem.objective, problem.shape)
    if added is not None:
        value, policy = least_total(problem, added[0])
        return _markov(problem, value + added[1], policy, began)
    planner = Exact(limit)
    table = planner.solve(problem)
    sizes = table.sizes
    return Solution(
        value=table.expected,
        method="exact",
        status=f"the optimum over all policies, from {sizes.sum():,} states of the occupancy MDP.",
        planner=planner,
        sizes=sizes,
        seconds=time.perf_counter() - began,
    )


def _in_total_space(problem: Problem, planner: Exact, began: float) -> Solution:
    steepness = 0.0
    if planner.grid is not None:
        constant = steepness_of(problem.objective, problem.counted)
        if constant is None:
            raise GumdpError(
                f"solve_exact: grid needs a Lipschitz constant of the objective to say how far off it is, and "
                f"{problem.objective!r} knows none; say Utility(u, lipschitz=…)."
            )
        steepness = constant
    table = planner.solve(problem)
    assert isinstance(table, TotalsUnfolding)
    count, gap = f"{table.sizes.sum():,} different (step, state, totals)", steepness * table.slack * len(problem.names)
    found = "the optimum over all policies" if gap == 0.0 else f"within {gap:.3g} of the optimum over all policies"
    return Solution(
        value=table.expected,
        method="exact" if gap == 0.0 else f"totals rounded to {planner.grid:g}",
        status=f"{found}, from {count}.",
        gap=gap,
        planner=planner,
        sizes=table.sizes,
        seconds=time.perf_counter() - began,
        maximised=problem.objective.maximises,
    )


def _by_thresholds(problem: Problem, limit: int, grid: float | None, began: float) -> Solution:
    value, threshold, table = least_cvar(problem, limit, grid)
    return Solution(
        value=value,
        method="exact" if grid is None else f"totals rounded to {grid:g}",
        status=f"the least mean of the worst outcomes over all policies, those beyond {threshold:.6g}.",
        gap=0.0 if grid is None else math.nan,
        planner=exact_planner(limit, grid, threshold),
        sizes=table.sizes,
        seconds=time.perf_counter() - began,
    )


def _markov(problem: Problem, value: float, policy: Array, began: float) -> Solution:
    return Solution(
        value=value,
        maximised=problem.objective.maximises,
        method="exact",
        status="the optimum over all policies, by dynamic programming: costs that add up need no memory.",
        planner=Markov(policy),
        sizes=np.full(problem.steps, problem.shape[0]),
        seconds=time.perf_counter() - began,
    )


def _by_bounds(
    problem: Problem, seconds: float, nodes: int | None, progress: Callable[[int, float, float], None] | None
) -> Solution:
    began = time.perf_counter()
    if isinstance(problem, Problem) and problem.features is not None:
        pairs, memory = problem.in_pairs("solve_exact")
        solution = _by_bounds(pairs, seconds, nodes, progress)
        planner = OverPairs(solution.planner) if memory is None else Remembering(solution.planner, pairs, memory)
        return replace(solution, planner=planner, maximised=problem.objective.maximises)
    found = BranchAndBound(problem)
    next(found.run(nodes, float("inf")), None)  # after which all is compiled
    if not found.optimal:
        found.start_from(first_policy(problem))
    for count in found.run(nodes, time.perf_counter() + seconds):
        if progress:
            progress(count, found.upper, found.upper - found.lower)
    return Solution(
        value=found.upper,
        method="branch and bound",
        status=_status(found, nodes),
        gap=found.upper - found.lower,
        planner=best_planner(found),
        sizes=found.sizes,
        iterations=found.expanded,
        seconds=time.perf_counter() - began,
    )


def _status(found: BranchAndBound, nodes: int | None) -> str:
    seen = f"{found.nodes:,} states of the occupancy MDP"
    if found.optimal:
        return f"the optimum over all policies to within {found.upper - found.lower:.1g}, proved with {seen}."
    full = found.nodes + found.widest > (found.most if nodes is None else min(nodes, found.most))
    more = ("a larger nodes" if nodes is not None else "a shorter horizon") if full else "a larger time_limit"
    return (
        f"stopped at {seen}: a policy that is worth at most {found.upper:.6g} is known, and none is below"
        f" {found.lower:.6g}; {more} may close the gap."
    )
