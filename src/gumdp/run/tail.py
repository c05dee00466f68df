"""The threshold of the worst outcomes, found for a planner by playing."""

from __future__ import annotations

import numpy as np

from gumdp import statistics
from gumdp.errors import GumdpError, check_int, check_type
from gumdp.objectives.tail import CVaR
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.run.evaluate import evaluate

SHARES = (0.25, 0.5, 0.75)  # of the way from the least outcome to the worst, where the search begins too


def fit_threshold(
    problem: Problem, planner: Planner, trials: int = 200, seed: int = 0, *, rounds: int = 4, workers: int | None = None
) -> Problem:
    """``problem``, whose objective is ``cvar(f, level)``, with the threshold that suits the planner best.

    It alternates, from several starting points and at most ``rounds`` times: the planner plays with a threshold, and
    the quantile of its outcomes at that level becomes the next threshold. This never makes the mean of the worst
    outcomes larger. All candidates play with the same random numbers. Evaluate with another seed afterwards.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=5)
    >>> risky = problem.replace(objective=gumdp.cvar(problem.objective, 0.8))
    >>> fitted = gumdp.fit_threshold(risky, gumdp.Greedy(), trials=20)
    >>> round(fitted.objective.threshold, 3)
    0.24
    """
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    check_int("fit_threshold: rounds", rounds, 1)
    objective = problem.objective
    if not isinstance(objective, CVaR):
        raise GumdpError(f"fit_threshold: the objective must be cvar(f, level), not {objective!r}.")
    first = _outcomes(problem.replace(objective=objective.inner), objective, planner, trials, seed, workers)
    low, high = float(first.min()), float(first.max())
    beginnings = [statistics.quantile(first, objective.level), *(low + share * (high - low) for share in SHARES)]
    tried: dict[float, float] = {}
    for threshold in beginnings:
        for _ in range(rounds):
            if threshold in tried:
                break
            played = problem.replace(objective=objective.at(threshold))
            found = _outcomes(played, objective, planner, trials, seed, workers)
            tried[threshold] = statistics.cvar(found, objective.level)
            threshold = statistics.quantile(found, objective.level)
    return problem.replace(objective=objective.at(min(tried, key=lambda t: tried[t])))


def _outcomes(
    problem: Problem, objective: CVaR, planner: Planner, trials: int, seed: int, workers: int | None
) -> statistics.Array:
    """What f was in each trial."""
    result = evaluate(problem, planner, trials, seed, workers=workers, measures={"f": objective.inner})
    return np.asarray(result.measures["f"].values)
