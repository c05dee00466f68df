"""The policy that is optimal on average: min f(d) over the occupancy polytope, from three states to a million."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.average.conic import Constraint, Optimum, solve_programme
from gumdp.average.frank_wolfe import frank_wolfe
from gumdp.average.gap import Certifier
from gumdp.average.mirror import mirror_descent
from gumdp.average.point import Point, Progress
from gumdp.average.polytope import Stationary, Truncated
from gumdp.average.tangents import Tangents
from gumdp.errors import GumdpError, check_call, check_float, check_int, items, one_of, show
from gumdp.objectives.base import Array
from gumdp.objectives.tables import cost_table, match
from gumdp.occupancy import check_policy
from gumdp.policies.fixed import Markov
from gumdp.policies.fixed import Stationary as StationaryPlanner
from gumdp.problem import Problem, check_problem
from gumdp.results import Solution

METHODS = ("auto", "cvxpy", "mirror", "frank-wolfe")
HORIZONS = ("infinite", "finite")
LARGEST = 20_000  # variables up to which "auto" takes cvxpy
STUCK = 1e-3  # relative gap that first-order methods leave only where there is a kink that nobody spoke of
ENOUGH = 500  # iterations of mirror descent, where Frank–Wolfe can take over


def solve_infinite(
    problem: Problem,
    method: str = "auto",
    *,
    horizon: str | None = None,
    constraints: Sequence[tuple[ArrayLike, float]] = (),
    start: ArrayLike | None = None,
    tolerance: float | None = None,
    iterations: int = 5_000,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The infinite-trials policy: the one whose *expected* occupancy has the least f.

    Args:
        problem: a tabular one.
        method: ``"cvxpy"`` (Clarabel, or HiGHS where all is linear), ``"mirror"`` (policy mirror descent) or
            ``"frank-wolfe"``; the last two need a gradient only, and handle a million states. ``"auto"`` takes cvxpy
            up to 20 000 variables, if the objective has an expression for it.
        horizon: ``"infinite"``: stationary policies, as the paper does, the default with a discount below 1;
            ``"finite"``: the truncated occupancy of the problem's own horizon, and a policy for each step.
        constraints: pairs (costs [S, A], limit): costs·d must not exceed the limit on average. For cvxpy.
        start: a policy to start from, for the first-order methods.
        tolerance: the gap at which a first-order method stops, 1e-7 by default, or 1e-3 above 20 000 pairs.
        iterations, time_limit: what a first-order method may use at most.
        progress: called now and then with (iterations, value, gap).

    ``solution.gap`` is how far the value can be from the optimum, certified by dynamic programming, whatever method
    found it. Where the optimal occupancy leaves a state out, the policy takes any available action there.

    >>> import gumdp
    >>> solution = gumdp.solve_infinite(gumdp.zoo.load("m3-adversarial"))
    >>> round(solution.value, 4), solution.gap < 1e-6
    (1.0565, True)
    """
    began = time.perf_counter()
    check_call("solve_infinite: progress", progress)
    if isinstance(problem, Problem) and problem.counts is not None:
        problem = problem.over_pairs("solve_infinite")
    job = Job(problem, method, horizon, constraints, start, tolerance)
    limit = math.inf if time_limit is None else began + check_float("solve_infinite: time_limit", time_limit, 0.0)
    point, label = job.run(check_int("solve_infinite: iterations", iterations, 1), limit, progress)
    planner = StationaryPlanner(point.policy) if point.policy.ndim == 2 else Markov(point.policy)
    return Solution(
        value=point.value,
        method=label,
        status=job.status(point),
        gap=point.gap,
        policy=point.policy,
        occupancy=point.occupancy,
        planner=planner,
        iterations=point.iterations,
        seconds=time.perf_counter() - began,
        maximised=problem.objective.maximises,
    )


class Job:
    """A convex programme to solve, checked."""

    def __init__(
        self,
        problem: Problem,
        method: str,
        horizon: str | None,
        constraints: Sequence[tuple[ArrayLike, float]],
        start: ArrayLike | None,
        tolerance: float | None,
    ) -> None:
        model = check_problem("solve_infinite", problem)
        self.problem = problem
        one_of("method of solve_infinite", method, METHODS)
        if horizon is None:
            horizon = "infinite" if problem.discount < 1.0 else "finite"
        one_of("horizon of solve_infinite", horizon, HORIZONS)
        self.polytope: Any = (Stationary if horizon == "infinite" else Truncated)(problem)
        self.tangents = Tangents(problem.objective, model.shape)
        pairs = items(constraints)
        if pairs is None:
            raise GumdpError(f"solve_infinite: constraints must be a list of (costs, limit), not {show(constraints)}.")
        self.constraints = [_constraint(k, pair, model.shape) for k, pair in enumerate(pairs)]
        self.method = self._choose(method)
        size = model.shape[0] * model.shape[1]
        self.tolerance = (1e-7 if size <= LARGEST else 1e-3) if tolerance is None else tolerance
        self.tolerance = check_float("solve_infinite: tolerance", self.tolerance, 0.0)
        self.start = self.polytope.uniform if start is None else self._start(start)

    def _choose(self, method: str) -> str:
        problem = self.problem
        expressible = problem.objective.convex and _expression(problem) is not None
        if method == "auto":
            variables = self.polytope.uniform.size
            if expressible and (variables <= LARGEST or self.constraints):
                return "cvxpy"
            method = "frank-wolfe" if self.tangents.kinked else "mirror"
        if method == "cvxpy" and not expressible:
            raise GumdpError(
                f"solve_infinite: cvxpy can't express {problem.objective!r}, which "
                + ("is not convex; " if not problem.objective.convex else "has no expression; ")
                + "take method='mirror', which needs only its gradient."
            )
        if method != "cvxpy" and self.constraints:
            raise GumdpError(
                "solve_infinite: constraints need method='cvxpy'; with a first-order method, put them into the "
                "objective: objective + Constrained(zeros, costs, limit, penalty)."
            )
        return method

    def _start(self, start: ArrayLike) -> Array:
        shape = self.polytope.uniform.shape
        table = check_policy("solve_infinite: start", start, self.problem.shape)
        if table.shape != shape:
            if table.ndim == 3:
                raise GumdpError(f"solve_infinite: start must have the shape {shape}, not {table.shape}.")
            table = np.repeat(table[None], shape[0], axis=0)
        # Mirror descent never takes up an action whose probability is 0.
        return np.asarray((1.0 - 1e-3) * table + 1e-3 * self.polytope.uniform)

    def run(self, iterations: int, deadline: float, progress: Progress | None) -> tuple[Point, str]:
        """The best point found, and by what."""
        if self.method == "cvxpy":
            made = solve_programme(self.problem, self.polytope, self.constraints)
            if made is not None:
                return self._judge(made, deadline), f"cvxpy with {made.solver}"
            if self.constraints:
                raise GumdpError(
                    "solve_infinite: the solver did not converge on the programme with these constraints; "
                    "try looser limits, or put them into the objective with Constrained."
                )
            self.method = "frank-wolfe" if self.tangents.kinked else "mirror"
        point: Point | None = None
        names: list[str] = []
        limits: dict[str, Any] = {"deadline": deadline, "progress": progress, "tolerance": self.tolerance}
        for search, name in ((mirror_descent, "mirror descent"), (frank_wolfe, "Frank–Wolfe")):
            if search is mirror_descent and self.method != "mirror":
                continue
            if point is not None and (point.gap <= self.tolerance or not self._small):
                break
            most = min(iterations, ENOUGH) if self._small and (self.tangents.kinked or not names) else iterations
            start, done = (self.start, 0) if point is None else (point.policy, point.iterations)
            point = search(self.tangents, self.polytope, start, iterations=most, **limits)
            iterations = max(1, iterations - point.iterations)
            point = point._replace(iterations=done + point.iterations)
            names.append(name)
        assert point is not None
        if self._small and (better := self._cut(point, Certifier(self.tangents, self.polytope))) is not None:
            return better, ", then ".join([*names, "cutting planes"])
        return point, ", then ".join(names)

    @property
    def _small(self) -> bool:
        """Whether other methods can take over for the last digits, which mirror descent can be slow to find."""
        return self.problem.objective.convex and self.polytope.uniform.size <= LARGEST

    def _judge(self, made: Optimum, deadline: float) -> Point:
        """The exact occupancy of the solver's policy, its value and its certified gap."""
        d = self.polytope.occupancy(made.policy)
        certifier = Certifier(self.tangents, self.polytope, self.constraints)
        gap = certifier.look_at(d, made.prices)
        point = Point(made.policy, d, self.tangents.value(d), max(0.0, gap), 0)
        if gap <= self.tolerance:
            return point
        if not self.tangents.kinked and not self.constraints:  # a few steps find the digits that the solver left out
            better = mirror_descent(
                self.tangents, self.polytope, made.policy, tolerance=self.tolerance, iterations=50, deadline=deadline
            )
            if better.gap < gap and better.value <= point.value + self.tolerance:
                point = better
        point = self._cut(point, certifier) or point
        if point.gap <= self.tolerance or self.constraints or not self.tangents.kinked:
            return point
        # Kinks and curves together: the tangents on a way to the optimum tell more than those at it.
        other = frank_wolfe(
            self.tangents, self.polytope, point.policy, tolerance=self.tolerance, iterations=ENOUGH, deadline=deadline
        )
        bound = max(point.value - point.gap, other.value - other.gap)
        best = min(point, other, key=lambda each: each.value)
        return best._replace(gap=max(0.0, best.value - bound))

    def _cut(self, point: Point, certifier: Certifier) -> Point | None:
        """A better point by cutting planes, where a kink keeps other methods away from the optimum."""
        kinked = self.tangents.kinked or bool(self.constraints)
        if point.gap <= (self.tolerance if kinked else STUCK * (1.0 + abs(point.value))):
            return None
        return certifier.cut(point, self.tolerance)

    def status(self, point: Point) -> str:
        """What was found, in a sentence."""
        if not self.problem.objective.convex:
            return "a local solution: the objective is not convex, so a better one may exist."
        if point.gap <= max(self.tolerance, 1e-6):
            return f"optimal to within {point.gap:.2g}."
        more = "more iterations or time" if self.method != "cvxpy" else "method='mirror' with this policy as its start"
        return f"within {point.gap:.2g} of the optimum, more than the {self.tolerance:.2g} asked for; try {more}."


def _expression(problem: Problem) -> Any:
    import cvxpy

    return problem.objective.expression(cvxpy.Variable(problem.shape, nonneg=True))


def _constraint(k: int, pair: Any, shape: tuple[int, int]) -> Constraint:
    name = f"solve_infinite: constraint {k}"
    try:
        costs, limit = pair
    except (TypeError, ValueError):
        raise GumdpError(f"{name} must be a pair (costs [S, A], limit), not {type(pair).__name__}.") from None
    table = cost_table(f"{name}: costs", costs)
    match(f"{name}: costs", table, shape)
    return table, check_float(f"{name}: limit", limit)
