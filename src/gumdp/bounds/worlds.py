"""A bound for worlds that are not known: nobody does better than who is told, before the trial, which one it is.

The mean over the belief of the bound for each world. For a few candidate tables it is exact; else worlds are drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gumdp.bounds.intervals import bernstein_margin
from gumdp.errors import GumdpError
from gumdp.models.belief import Belief
from gumdp.models.candidates import OneOf
from gumdp.models.tabular import Tabular
from gumdp.problem import Problem
from gumdp.results import Bound

Each = Callable[[Tabular, float, float], Bound]  # (world, seconds, level) → a bound for it
METHODS = ("range", "distinct", "jensen")  # for each of many worlds: the quick ones
SAMPLES, PILOT = 1000, 50  # worlds at most, and those that only settle where bounds are cut off
LEAST = 0.005  # seconds for a world


def bound_of_worlds(problem: Problem, each: Each, time_limit: float, level: float, seed: int) -> Bound:
    """The mean over worlds of the bound ``each`` gives: a bound on every policy that has to learn which world it is."""
    belief, began = problem.model, time.perf_counter()
    if isinstance(belief, OneOf):
        return _of_candidates(belief, each, time_limit, level, began)
    assert isinstance(belief, Belief)
    pairs = problem if problem.counts is None else problem.over_pairs("lower_bound")
    ends = pairs.objective.bounds(pairs.shape)
    if ends is None:
        raise GumdpError(
            f"lower_bound: on a belief it must be known between which bounds {problem.objective!r} lies; "
            "say Function(f, bounds=(low, high))."
        )
    return _of_samples(belief, each, ends[0], (time_limit, level, seed), began)


def _of_candidates(belief: OneOf, each: Each, time_limit: float, level: float, began: float) -> Bound:
    live = np.flatnonzero(belief.weights)
    sure = 1.0 - (1.0 - level) / live.size
    bounds = [each(belief.tables[k], time_limit * float(belief.weights[k]), sure) for k in live]
    value = float(sum(belief.weights[k] * bound.value for k, bound in zip(live, bounds, strict=True)))
    reason = f"who is told which of {live.size} tables it is does no better, table by table"
    held = 1.0 - sum(1.0 - bound.level for bound in bounds)
    return Bound(value, "worlds", reason, held, time.perf_counter() - began, parts=tuple(bounds))


def _of_samples(belief: Belief, each: Each, floor: float, limits: tuple[float, float, int], began: float) -> Bound:
    """No bound is below ``floor``, and cutting them off above lowers their mean: the Bernstein inequality holds."""
    time_limit, level, seed = limits
    chance = (1.0 - level) / 2.0 if level < 1.0 else 0.0
    seconds = max(LEAST, time_limit / (SAMPLES + PILOT))
    seeds = iter(np.random.SeedSequence(seed).generate_state(SAMPLES + PILOT + 1, np.uint64))

    def bound() -> float:
        return max(floor, each(belief.draw(int(next(seeds))), seconds, 1.0 - chance / SAMPLES).value)

    bound()  # after which all is compiled
    deadline = time.perf_counter() + time_limit
    pilot = [bound() for _ in range(PILOT)]
    cap = floor + 2.0 * max(max(pilot) - floor, 1e-12)
    values = [bound()]
    while len(values) < SAMPLES and time.perf_counter() < deadline:
        values.append(bound())
    kept = np.minimum(values, cap)
    value = max(floor, float(kept.mean()) - bernstein_margin(kept, cap - floor, chance))
    told = f"who is told the world reaches {float(kept.mean()):.6g} at best on average ({len(values):,} worlds)"
    return Bound(value, "worlds", told, level, time.perf_counter() - began)
