"""The bound over running totals: valid on every grid, and tight on fine ones."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gumdp
from clock import within
from gumdp import Problem, Tabular, lower_bound
from gumdp.bounds.statistics import FewStatistics, NotFew
from gumdp.bounds.totals import TotalsBound
from test_bounds import optimum, random_problem


def wavy(z: np.ndarray) -> float:
    """Neither convex nor concave; no slope in one total is above 3."""
    return np.sin(3.0 * z[0]) + abs(z[0] - z[-1]) * 0.5


OBJECTIVES = {
    "worst case": lambda shape, rng: gumdp.WorstCase(rng.normal(size=(3, *shape))),
    "two are the same": lambda shape, rng: gumdp.WorstCase(rng.normal(size=(3, *shape))[[0, 0, 1, 2]]),
    "and a cost": lambda shape, rng: (
        2.0 * gumdp.WorstCase(rng.normal(size=(3, *shape))) + gumdp.Linear(rng.normal(size=shape))
    ),
    "two budgets": lambda shape, rng: gumdp.Constrained(rng.normal(size=shape), rng.normal(size=(2, *shape)), 0.1, 2.0),
    "hinge and square": lambda shape, rng: (
        gumdp.WorstCase(rng.normal(size=(2, *shape))) + gumdp.MeanVariance(rng.normal(size=shape), 0.7)
    ),
}


def small(kind: str, seed: int, steps: int = 6) -> Problem:
    """A random problem of few statistics: two states, two actions, with chance in everything."""
    rng = np.random.default_rng(seed)
    discount, episodes = (0.7, 0.9, 1.0)[seed % 3], 1 + seed % 2
    model = Tabular(rng.dirichlet(np.ones(2), size=(2, 2)), rng.dirichlet(np.ones(2)))
    return Problem(model, OBJECTIVES[kind]((2, 2), rng), discount, steps // episodes, episodes)


def of_totals(seed: int, kinds: int, horizon: int = 5, whole: bool = False) -> Problem:
    """Totals of which a function is taken that is neither convex nor a sum."""
    rng = np.random.default_rng(seed)
    amounts = rng.integers(-2, 3, (2, 2, kinds)).astype(float) if whole else rng.normal(size=(2, 2, kinds))
    model = Tabular(rng.dirichlet(np.ones(2), size=(2, 2)))
    return Problem(
        model, gumdp.Utility(wavy, lipschitz=4.0), (0.8, 1.0)[seed % 2], horizon, counts=gumdp.Features(amounts)
    )


def check(problem: Problem, truth: float, near: float, fine: int = 400) -> None:
    """The bound is below the truth on coarse grids, and near to it on a fine one."""
    made = TotalsBound(problem)
    for points in (2, 3, 5, 11, 40, 150):
        assert made.bound(made.layers(points)) <= truth + 1e-9, points
    value = made.bound(made.layers(fine))
    assert truth - near <= value <= truth + 1e-9


@pytest.mark.parametrize("kind", OBJECTIVES)
@pytest.mark.parametrize("seed", range(6))
def test_no_grid_gives_a_bound_above_the_optimum(kind, seed) -> None:
    problem = small(kind, seed)
    check(problem, optimum(problem), 0.02)


@pytest.mark.parametrize("seed", range(8))
def test_functions_that_are_not_convex_are_bounded_if_they_say_how_steep_they_are(seed) -> None:
    problem = of_totals(seed, 1 + seed % 2)
    truth = gumdp.solve_exact(problem).value
    check(problem.in_pairs("a test")[0], truth, 0.15)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_no_grid_gives_a_bound_above_the_optimum_on_many_problems(kind) -> None:
    for seed in range(100, 150):
        problem = small(kind, seed)
        check(problem, optimum(problem), 0.03)
    for seed in range(100, 150):
        problem = random_problem("worst case", seed, (0.3, 0.9, 1.0)[seed % 3], 1 + seed % 2)
        try:
            check(problem, optimum(problem), 0.02)
        except NotFew:
            assert problem.shape[0] * problem.shape[1] <= 2


@pytest.mark.slow
def test_longer_runs_whose_totals_merge_are_bounded_too() -> None:
    for seed in range(1, 20, 2):
        problem = of_totals(seed, 2, 14, whole=True)
        check(problem.in_pairs("a test")[0], gumdp.solve_exact(problem).value, 0.2)


@pytest.mark.thorough
def test_the_bound_is_below_the_optimum_where_nothing_is_left_to_chance() -> None:
    bound = lower_bound(gumdp.zoo.load("m3-deterministic"), ["jensen", "totals"], nodes=10_000, time_limit=60.0)
    jensen = {part.method: part.value for part in bound.parts}["jensen"]
    assert jensen + 0.005 < bound.value <= 1.0690985717449


@pytest.mark.thorough
def test_the_adversarial_problem_is_known_to_three_digits() -> None:
    bound = lower_bound(gumdp.zoo.load("m3-adversarial"), "totals", nodes=10_000, time_limit=60.0)
    assert 1.0569 < bound.value < 1.0573  # where the value without any rounding to the safe side converges


def test_a_histories_limit_gives_the_same_bound_each_time_and_time_is_kept() -> None:
    problem = gumdp.zoo.load("m3-adversarial")
    one, two = (lower_bound(problem, "totals", nodes=2000, time_limit=60.0).value for _ in range(2))
    assert one == two
    with within(1.2):
        lower_bound(problem, "totals", time_limit=1.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "objective, why",
    [
        (gumdp.Entropy(), "one or two linear statistics"),
        (gumdp.WorstCase(np.random.default_rng(0).random((4, 3, 2))), "the largest of at most 3 costs, not of 4"),
        (gumdp.WorstCase(np.random.default_rng(0).random((2, 3, 2))), "the same as the decomposition"),
        (gumdp.Function(lambda d: d.max(), bounds=(0.0, 1.0)), "is not known to be one"),
    ],
)
def test_what_is_not_a_function_of_few_statistics_is_left_to_others(objective, why) -> None:
    problem = Problem(gumdp.zoo.load("m1-entropy").model, objective, 0.9, 4)
    with pytest.raises(NotFew, match=why):
        FewStatistics(problem.objective, problem.shape)
    assert why in dict(lower_bound(problem, nodes=20, time_limit=5.0).skipped)["totals"]


SCRIPT = """
import gumdp
from gumdp.bounds.totals import TotalsBound
made = TotalsBound(gumdp.zoo.load("m3-adversarial", horizon=10))
print(made.bound(made.layers(9)).hex())
"""


@pytest.mark.thorough
def test_interpreted_and_compiled_bounds_have_the_same_bits() -> None:
    def run(**settings: str) -> str:
        made = subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, **settings}, capture_output=True, text=True, check=True
        )
        return made.stdout.strip()

    assert run(NUMBA_DISABLE_JIT="1") == run()


# --- totals below 0, and totals that stay 0 ---


@pytest.mark.thorough
@pytest.mark.parametrize(
    "objective",
    [
        gumdp.PMean(1.0),
        gumdp.PMean(0.5) + gumdp.WeightedSum([1.0]),
        2.0 * gumdp.Nash(),
        gumdp.CobbDouglas([0.5]),
        gumdp.GroupEntropy([[0]]),
        gumdp.entropic(gumdp.Nash(), 0.5),
    ],
    ids=repr,
)
def test_what_bends_at_zero_is_not_bounded_by_averages_where_totals_can_be_below(objective) -> None:
    """One step, of which chance decides whether it adds 1 or -1: the value is the mean of both, f(1) and f(-1)."""
    model = Tabular([[[0.5, 0.5]], [[0.5, 0.5]]], [0.5, 0.5])

    def problem(low: float, high: float) -> Problem:
        return Problem(model, objective, 1.0, 1, counts=gumdp.Features([[[low]], [[high]]]), scale="sum")

    signed = problem(-1.0, 1.0)
    truth = 0.5 * (objective.value(np.array([[-1.0]])) + objective.value(np.array([[1.0]])))
    assert gumdp.solve_exact(signed).value == pytest.approx(truth, abs=1e-12)
    with pytest.raises(gumdp.GumdpError, match=r"not known to be convex|no method applies"):
        lower_bound(signed, "jensen")
    if isinstance(objective, gumdp.PMean | gumdp.CobbDouglas):  # which know their range
        assert all(part.value <= truth + 1e-9 for part in lower_bound(signed, nodes=100).parts)
    assert "jensen" in {part.method for part in lower_bound(problem(0.5, 1.0), nodes=100).parts}


@pytest.mark.parametrize("objective", [gumdp.Minimum(), gumdp.Utility(wavy, lipschitz=4.0)], ids=repr)
def test_totals_that_no_step_adds_to_are_known(objective) -> None:
    model = Tabular([[[0.5, 0.5]], [[0.5, 0.5]]])
    problem = Problem(model, objective, 0.9, 3, counts=gumdp.Features(np.zeros((2, 1, 2))))
    truth = objective.value(np.zeros((1, 2)))
    assert truth - 1e-6 <= lower_bound(problem, "totals", nodes=100).value <= truth  # rounding is allowed for
