"""The optimum over all history-dependent policies, exactly."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gumdp.errors import GumdpError, check_float, check_int, unknown
from gumdp.exact.branch_and_bound import BranchAndBound
from gumdp.exact.branch_planner import Branched
from gumdp.exact.linear import least_total, linear_part
from gumdp.exact.planner import LIMIT, Exact
from gumdp.objectives.base import Array
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
    time_limit: float | None = None,
    nodes: int | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> Solution:
    """The optimal value of a tabular problem and the optimal history-dependent policy.

    Args:
        method: ``"backward-induction"`` lists all (s, o, t) that can come about, merges equal ones, and values them
            from the last step to the first. Without discounting the order of a history does not matter, and the
            number of states grows with a power of the horizon; with it, as fast as the number of histories does.
            Linear objectives are solved over (step, state) alone, whatever the horizon.

            ``"branch-and-bound"`` looks only at the states that bounds can't rule out: Jensen's bound from below for
            a convex objective (for any other its own ``bounds``), and from above the value of a policy that can be
            followed. States that the objective can't tell apart are merged. It can be stopped at any time, and says
            how much is open then: ``solution.value`` is what the best policy found is worth at most, and no
            policy is below ``solution.value - solution.gap``.
        limit: for backward induction: problems with more states are refused, by default above ten million; a state
            takes some 30 to 100 bytes.
        time_limit, nodes: for branch and bound: seconds, 60 by default, compiling not counted, and states to look at.
        progress: called by branch and bound now and then with (nodes, value, gap).

    ``solution.planner`` is the optimal policy, or else the best one found, for ``run_trial`` and ``evaluate``;
    ``solution.sizes`` has the number of states at each step.

    >>> import gumdp
    >>> solution = gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=4))
    >>> round(solution.value, 6), solution.sizes.sum()
    (0.23888, np.int64(259))
    >>> numbers = tuple(range(31, 71, 2))  # twenty odd ones
    >>> proved = gumdp.solve_exact(gumdp.zoo.load("subset-sum", numbers=numbers, target=501), "branch-and-bound")
    >>> round(proved.value, 6), proved.gap < 1e-6
    (0.0, True)
    """
    if method not in METHODS:
        raise unknown("method of solve_exact", method, METHODS)
    if method == "backward-induction":
        if time_limit is not None or nodes is not None:
            raise GumdpError("solve_exact: time_limit and nodes go with method='branch-and-bound'; this one has limit.")
        return _by_induction(problem, check_int("solve_exact: limit", LIMIT if limit is None else limit, 1))
    if limit is not None:
        raise GumdpError("solve_exact: limit goes with method='backward-induction'; this one has nodes and time_limit.")
    seconds = check_float("solve_exact: time_limit", SECONDS if time_limit is None else time_limit, 0.0)
    return _by_bounds(problem, seconds, None if nodes is None else check_int("solve_exact: nodes", nodes, 1), progress)


def _by_induction(problem: Problem, limit: int) -> Solution:
    check_problem("solve_exact", problem)
    began = time.perf_counter()
    added = linear_part(problem.objective, problem.shape)
    if added is not None:
        return _by_totals(problem, *added, began)
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


def _by_totals(problem: Problem, costs: Array, constant: float, began: float) -> Solution:
    value, policy = least_total(problem, costs)
    return Solution(
        value=value + constant,
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
    found = BranchAndBound(problem)
    next(found.run(nodes, float("inf")), None)  # after which all is compiled
    for count in found.run(nodes, time.perf_counter() + seconds):
        if progress:
            progress(count, found.upper, found.upper - found.lower)
    return Solution(
        value=found.upper,
        method="branch and bound",
        status=_status(found, nodes),
        gap=found.upper - found.lower,
        planner=Branched(found),
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
