"""The optimum over all history-dependent policies, exactly."""

from __future__ import annotations

import time

from gumdp.errors import whole
from gumdp.planners.exact import LIMIT, Exact
from gumdp.problem import Problem
from gumdp.results import Solution


def solve_exact(problem: Problem, limit: int = LIMIT) -> Solution:
    """The optimal value of a tabular problem and the optimal history-dependent policy.

    Backward induction over the occupancy MDP: all (s, o, t) that can come about are listed, equal ones merged, and
    valued from the last step to the first. Without discounting the order of a history does not matter, and the
    number of states grows with a power of the horizon; with it, as fast as the number of histories does. Problems
    with more than ``limit`` states are refused; a state takes some 30 to 100 bytes.

    ``solution.planner`` is the optimal policy, for ``run_trial`` and ``evaluate``; ``solution.sizes`` has the number
    of states at each step.

    >>> import gumdp
    >>> solution = gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=4))
    >>> round(solution.value, 6), solution.sizes.sum()
    (0.23888, np.int64(259))
    """
    began = time.perf_counter()
    planner = Exact(whole("solve_exact: limit", limit, 1))
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
