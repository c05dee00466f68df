"""The lower bound along a trial: below the optimum from each step on, by brute force, and the value at the end."""

import numpy as np
import pytest

import gumdp
from gumdp.bounds.along import Along

pytestmark = pytest.mark.thorough  # most of its time is compiling

NOISE = 2e-5  # a bound may stay 1e-5 of the objective's range below the best one, twice


@pytest.fixture(scope="module", params=["m1-entropy", "m2-imitation", "m3-adversarial"])
def problem(request) -> gumdp.Problem:
    return gumdp.zoo.load(request.param, horizon=5)


def optimum(problem: gumdp.Problem, t: int, state: int, occupancy: np.ndarray) -> float:
    """The least expected cost from here on, by trying everything."""
    if t == problem.steps:
        return float(problem.value(occupancy))
    return min(
        sum(p * optimum(problem, t + 1, s, o) for s, p, o in after(problem, t, state, a, occupancy))
        for a in problem.model.actions(state)
    )


def after(problem: gumdp.Problem, t: int, state: int, action: int, occupancy: np.ndarray) -> list:
    """(state, probability, running occupancy) of what can come next."""
    occupancy = occupancy.copy()
    occupancy[state, action] += problem.weights[t]
    return [(int(s), float(p), occupancy) for s, p in zip(*problem.model.row(state, action), strict=True)]


def histories(problem: gumdp.Problem) -> list:
    """The places along a few trials: (step, state, running occupancy)."""
    found = []
    for seed in range(3):
        trial, occupancy = gumdp.run_trial(problem, gumdp.Random(), seed=seed), np.zeros(problem.shape)
        for t in range(problem.steps):
            found.append((t, int(trial.states[t]), occupancy.copy()))
            occupancy[trial.states[t], trial.actions[t]] += problem.weights[t]
        found.append((problem.steps, 0, occupancy))
    return found


def test_no_policy_ends_below_it(problem: gumdp.Problem) -> None:
    along = Along(problem)
    for t, state, occupancy in histories(problem):
        bound, best = along(t, state, occupancy), optimum(problem, t, state, occupancy)
        assert bound <= best + 1e-9
        if t == problem.steps:
            assert bound == problem.value(occupancy)


def test_looking_a_step_ahead_never_lowers_it(problem: gumdp.Problem) -> None:
    along = Along(problem)
    for t, state, occupancy in histories(problem):
        if t < problem.steps:
            here = along(t, state, occupancy)
            ahead = min(
                sum(p * along(t + 1, s, o) for s, p, o in after(problem, t, state, a, occupancy))
                for a in problem.model.actions(state)
            )
            assert here <= ahead + NOISE


def test_it_is_for_tables_and_convex_objectives() -> None:
    assert Along.applies(gumdp.zoo.load("m1-entropy"))
    assert not Along.applies(gumdp.zoo.load("mountaincar-entropy"))
    model = gumdp.zoo.load("m1-entropy").model
    assert not Along.applies(gumdp.Problem(model, gumdp.Function(lambda d: float(d[0, 0])), 0.9, 5))
    totals = gumdp.Features(np.ones((3, 2, 1)), names=["steps"])
    assert not Along.applies(gumdp.Problem(model, gumdp.Linear([1.0]), 0.9, 5, counts=totals))
