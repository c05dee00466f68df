"""Certificates: how far a planner can be from the best possible policy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gumdp.bounds.bound import lower_bound
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.intervals import bernstein_margin, student_margin
from gumdp.errors import GumdpError, check_bool, check_call, check_float, check_int, check_type, one_of
from gumdp.jit.compiling import clock
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner
from gumdp.policies.rule import RulePlanner
from gumdp.problem import Problem
from gumdp.results import Bound, Certificate, Evaluation
from gumdp.run.control_variate import Controlled
from gumdp.run.evaluate import MOST, Progress, evaluate
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
        control: use control variates. At each step of a trial the outcome is compared with the average over outcomes,
            valued by Jensen's bound, or by the decomposition's if that is the best bound. These differences have
            mean 0 for every planner, and without them trials differ far less. By default where it applies: a
            tabular model, an objective that is convex or can be decomposed, a planner that searches, and the interval
            ``"student"``. For a simulator in which only the start is random, the control variate is of the start.
        time_limit, nodes, on_bound: for ``lower_bound``, as there.
        bound: a lower bound that is known already.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m2-imitation", horizon=8)
    >>> planner = gumdp.MCTS(iterations=100)
    >>> certificate = gumdp.certify(problem, planner, trials=50, nodes=2000)
    >>> print(f"at most {certificate.upper:.3f}, at least {certificate.lower:.3f}")
    at most 0.005, at least 0.005
    """
    began = clock.whole()
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    doubt = 1.0 - check_float("certify: level", level, 0.0, 1.0)
    if not 0.0 < doubt < 1.0:
        raise GumdpError(f"certify: level must be between 0 and 1, not {level:g}.")
    one_of("interval of certify", interval, INTERVALS)
    check_int("certify: trials", trials, 2, MOST)
    check_call("progress", progress)
    control = None if control is None else check_bool("certify: control", control)
    check_call("on_bound", on_bound)
    if bound is None:
        sampled = 1.0 - doubt / 2.0
        bound = lower_bound(
            problem, time_limit=time_limit, nodes=nodes, level=sampled, seed=seed, progress=on_bound
        )  # fmt: skip
    check_type("bound", bound, Bound)
    if not doubt - (1.0 - bound.level) > 0.0:
        raise GumdpError(f"certify: the bound holds with {100 * bound.level:g} % only; ask for a lower level.")
    actor = controlled(problem, planner, bound, interval, control)
    result = evaluate(problem, actor, trials, seed, workers=workers, progress=progress)
    return conclude(problem, actor, result, bound, doubt, interval, began)


def conclude(
    problem: Problem,
    actor: Planner,
    result: Evaluation,
    bound: Bound,
    doubt: float = 0.01,
    interval: str = "student",
    began: float = 0.0,
) -> Certificate:
    """The certificate that trials of the ``controlled`` planner and a lower bound make together."""
    values = result.values
    if isinstance(actor, Controlled):  # threads end in any order
        values = np.array([actor.raw[int(world)] for world, _ in streams(result.seed, values.size)])
    return Certificate(
        upper=_upper(problem, result.values, interval, doubt - (1.0 - bound.level)),
        lower=bound.value,
        level=1.0 - doubt,
        mean=result.mean,
        standard_error=result.standard_error,
        planner=actor.name,
        problem=problem.name or repr(problem),
        trials=result.values.size,
        seed=result.seed,
        interval=interval,
        controlled=isinstance(actor, Controlled),
        bound=bound,
        values=values,
        seconds=clock.whole() - began,
    )


def controlled(
    problem: Problem,
    planner: Planner,
    bound: Bound,
    interval: str = "student",
    control: bool | None = None,
    seconds: float = np.inf,
) -> Planner:
    """The planner, if possible with the luck taken out of its trials; to learn how gets about ``seconds``."""
    known = bound.values is not None and bound.values.problem is problem
    convex = problem.objective.convex and isinstance(problem.model, Tabular)
    possible = problem.counts is None and (known or convex) and interval == "student"
    if control and not possible:
        raise GumdpError(
            "certify: control needs the interval 'student' and a tabular model, with a convex objective or one that "
            "lower_bound can decompose; or a simulator whose start lower_bound can divide into pieces."
        )
    if control is None:
        control = possible and planner.batch < RulePlanner.batch
    if not control:
        return planner
    best = known and (bound.method == "decomposition" or not convex)
    return Controlled(planner, bound.values if best else JensenTree(problem, "certify", seconds))


def _upper(problem: Problem, values: Array, interval: str, doubt: float) -> float:
    mean = float(values.mean())
    if interval == "student":
        return mean + student_margin(values, doubt)
    pairs = problem if problem.counts is None else problem.over_pairs("certify")
    ends = pairs.objective.bounds(pairs.shape)
    if ends is None:
        raise GumdpError("certify: the interval 'bernstein' needs the objective's bounds, and it has none.")
    return mean + bernstein_margin(values, ends[1] - ends[0], doubt)
