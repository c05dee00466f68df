"""Certificates: how far a planner can be from the best possible policy."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gumdp.bounds.bound import lower_bound
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.intervals import bernstein_margin, student_margin
from gumdp.errors import GumdpError, check_float, check_int, check_type, unknown
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, RulePlanner
from gumdp.problem import Problem
from gumdp.results import Bound, Certificate
from gumdp.run.control_variate import Controlled
from gumdp.run.evaluate import Progress, evaluate
from gumdp.seeding import streams

INTERVALS = ("student", "bernstein")


def certify(
    problem: Problem,
    planner: Planner,
    trials: int = 1000,
    seed: int = 0,
    *,
    level: float = 0.99,
    interval: str = "student",
    control: bool | None = None,
    time_limit: float = 30.0,
    nodes: int | None = None,
    bound: Bound | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    on_bound: Callable[[Bound], None] | None = None,
) -> Certificate:
    """An upper confidence limit of the planner's value, a lower bound on every policy's, and the gap between them.

    Args:
        trials, seed, workers, progress: as in ``evaluate``.
        level: the confidence in the gap. A sampled lower bound takes half of what is left to 1.
        interval: what the upper limit rests on: ``"student"``, the t distribution, right when there are many trials;
            ``"bernstein"``, the empirical Bernstein inequality, which assumes nothing but the objective's range, and
            needs many more trials for the same width.
        control: take the luck out of each trial. What chance did at each step is compared with what it does on
            average, by Jensen's bound there, or by the decomposition's if that is the best bound; the differences
            have mean 0 for every planner, and without them trials differ far less. By default where it applies: a
            tabular model, an objective that is convex or can be decomposed, a planner that searches, and the interval
            ``"student"``.
        time_limit, nodes, on_bound: for ``lower_bound``, as there.
        bound: a lower bound that is known already.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m2-imitation", horizon=8)
    >>> certificate = gumdp.certify(problem, gumdp.MCTS(iterations=100), trials=50, nodes=2000)
    >>> bool(certificate.lower <= certificate.upper), certificate.gap < 0.01
    (True, True)
    """
    began = time.perf_counter()
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    doubt = 1.0 - check_float("certify: level", level, 0.0, 1.0)
    if not 0.0 < doubt < 1.0:
        raise GumdpError(f"certify: level must be between 0 and 1, not {level:g}.")
    if interval not in INTERVALS:
        raise unknown("interval of certify", interval, INTERVALS)
    check_int("certify: trials", trials, 2)
    if bound is None:
        sampled = 1.0 - doubt / 2.0
        bound = lower_bound(
            problem, time_limit=time_limit, nodes=nodes, level=sampled, seed=seed, progress=on_bound
        )  # fmt: skip
    check_type("bound", bound, Bound)
    left = doubt - (1.0 - bound.level)
    if not left > 0.0:
        raise GumdpError(f"certify: the bound holds with {100 * bound.level:g} % only; ask for a lower level.")
    actor = _controlled(problem, planner, interval, control, bound)
    result = evaluate(problem, actor, trials, seed, workers=workers, progress=progress)
    values = result.values
    if isinstance(actor, Controlled):  # threads end in any order
        values = np.array([actor.raw[int(world)] for world, _ in streams(seed, trials)])
    return Certificate(
        upper=_upper(problem, result.values, interval, left),
        lower=bound.value,
        level=1.0 - doubt,
        mean=result.mean,
        standard_error=result.standard_error,
        planner=planner.name,
        problem=problem.name or repr(problem),
        trials=result.values.size,
        seed=result.seed,
        interval=interval,
        controlled=isinstance(actor, Controlled),
        bound=bound,
        values=values,
        seconds=time.perf_counter() - began,
    )


def _controlled(problem: Problem, planner: Planner, interval: str, control: bool | None, bound: Bound) -> Planner:
    """The planner, if possible with the luck taken out of its trials."""
    known = bound.values is not None and bound.values.made.problem is problem
    possible = (known or (problem.objective.convex and isinstance(problem.model, Tabular))) and interval == "student"
    if control and not possible:
        raise GumdpError(
            "certify: control needs the interval 'student' and a tabular model, with a convex objective or one that "
            "lower_bound can decompose."
        )
    if control is None:
        control = possible and planner.batch < RulePlanner.batch
    if not control:
        return planner
    best = known and (bound.method == "decomposition" or not problem.objective.convex)
    return Controlled(planner, bound.values if best else JensenTree(problem, "certify"))


def _upper(problem: Problem, values: Array, interval: str, doubt: float) -> float:
    mean = float(values.mean())
    if interval == "student":
        return mean + student_margin(values, doubt)
    ends = problem.objective.bounds(problem.shape)
    if ends is None:
        raise GumdpError("certify: the interval 'bernstein' needs the objective's bounds, and it has none.")
    return mean + bernstein_margin(values, ends[1] - ends[0], doubt)
