"""Risk as the goal: the mean of the worst outcomes, the chance of breaking a limit, and the entropic risk."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gumdp
from fishing import fishwood
from gumdp import statistics

LEVEL = 0.7


def four_states(beta: float, horizon: int = 20, pairs: bool = False) -> gumdp.Problem:
    """The four-state MDP of *Entropic Risk-Aware Monte Carlo Tree Search* (2026): safe and dear, or cheap and risky."""
    stay = [[0.1, 0.9, 0.0, 0.0], [0.1, 0.0, 0.9, 0.0], [0.1, 0.0, 0.0, 0.9]]
    model = gumdp.Tabular.from_matrices([[[0.0, 0.0, 0.85, 0.15], *stay], [[0.0, 1.0, 0.0, 0.0], *stay]])
    costs = np.repeat([[0.0], [0.25], [0.05], [1.0]], 2, axis=1)
    if pairs:
        total = (1 - 0.9**horizon) / (1 - 0.9)
        return gumdp.Problem(model, gumdp.entropic(total * gumdp.Linear(costs), beta), 0.9, horizon)
    counts = gumdp.Features(costs, names=["cost"])
    return gumdp.Problem(
        model, gumdp.entropic(gumdp.Linear([1.0]), beta), 0.9, horizon, counts=counts, scale="sum"
    )  # fmt: skip


def tiny(seed: int, level: float = LEVEL) -> gumdp.Problem:
    rng = np.random.default_rng(seed)
    model = gumdp.Tabular(rng.dirichlet(np.ones(2), (2, 2)))
    phi = rng.integers(0, 6, (2, 2, 2, 1)).astype(float)
    objective = gumdp.cvar(gumdp.Linear([1.0]), level)
    return gumdp.Problem(model, objective, 1.0, 3, counts=gumdp.Features(phi), scale="sum")


def least_cvar_of_all_policies(problem: gumdp.Problem, level: float) -> float:
    """Every deterministic policy of the history in turn, its outcomes written out."""
    model, phi = problem.model.dense(), problem.counts.phi[..., 0]
    histories = [h for t in range(3) for h in itertools.product(range(2), repeat=t)]  # the states after the start
    best = np.inf
    for choice in itertools.product(range(2), repeat=len(histories)):
        act = dict(zip(histories, choice, strict=True))
        values, chances = [], []
        for path in itertools.product(range(2), repeat=3):
            s, total, p = 0, 0.0, 1.0
            for t, after in enumerate(path):
                a = act[path[:t]]
                total, p, s = total + phi[s, a, after], p * model[s, a, after], after
            values.append(total)
            chances.append(p)
        best = min(best, cvar_of(np.array(values), np.array(chances), level))
    return best


def cvar_of(values, chances, level: float) -> float:
    """By its definition: the best threshold is an outcome."""
    return min(t + (chances * np.maximum(0.0, values - t)).sum() / (1.0 - level) for t in values)


@pytest.mark.parametrize("beta, value", [(0.5, 1.7792), (1.0, None), (0.1, None)])
def test_the_four_states_are_solved_by_multiplying(beta, value):
    solution = gumdp.solve_exact(four_states(beta))
    risk = np.log(solution.value) / beta
    if value is not None:
        assert risk == pytest.approx(value, abs=5e-5)
    assert gumdp.solve_exact(four_states(beta, pairs=True)).value == pytest.approx(solution.value, rel=1e-12)
    short = four_states(beta, horizon=5)  # where every history can be looked at
    listed = gumdp.Exact().solve(short).expected
    assert gumdp.solve_exact(short).value == pytest.approx(listed, rel=1e-12)


@pytest.mark.slow
def test_search_comes_within_a_hundredth_of_the_entropic_risk():
    problem = four_states(0.5)
    result = gumdp.evaluate(problem, gumdp.MCTS(1000), trials=1000, seed=0)
    error = result.standard_error / result.mean / 0.5
    assert result.certainty_equivalent < 1.7792 * 1.01 + 2.0 * error


@pytest.mark.parametrize("seed", range(50))
def test_cvar_is_solved_exactly(seed):
    problem = tiny(seed)
    truth = least_cvar_of_all_policies(problem, LEVEL)
    assert gumdp.solve_exact(problem).value == pytest.approx(truth, abs=1e-12)


@pytest.mark.slow
def test_the_policy_that_is_best_for_the_worst_plays_to_its_value():
    problem = tiny(3)
    solution = gumdp.solve_exact(problem)
    result = gumdp.evaluate(problem, solution.planner, trials=4000, seed=1)
    assert abs(result.mean - solution.value) < 4.0 * result.standard_error
    at = problem.replace(objective=problem.objective.at(solution.planner.threshold))
    found = gumdp.evaluate(at, gumdp.Exact(), trials=4000, seed=1, measures={"f": [1.0]}).measures["f"].values
    assert statistics.cvar(found, LEVEL) == pytest.approx(solution.value, abs=4.0 * result.standard_error)


@pytest.mark.slow
def test_a_threshold_is_found_for_a_planner():
    problem = tiny(5)
    fitted = gumdp.fit_threshold(problem, gumdp.Exact(), trials=300, seed=0)
    exact = gumdp.solve_exact(problem)
    result = gumdp.evaluate(fitted, gumdp.Exact(), trials=3000, seed=1)
    assert result.mean < exact.value + 4.0 * result.standard_error + 0.1


def test_the_chance_of_breaking_a_limit_is_a_probability_with_its_interval():
    rng = np.random.default_rng(1)
    model = gumdp.Tabular(rng.dirichlet(np.ones(2), (2, 2)))
    problem = gumdp.Problem(model, gumdp.Chance(gumdp.Linear([[0.0, 1.0], [1.0, 0.0]]), 0.5), 1.0, 6)
    assert gumdp.solve_exact(problem).value == pytest.approx(
        gumdp.solve_exact(problem.replace(objective=gumdp.Target([[0.0, 1.0], [1.0, 0.0]], 0.5))).value
    )
    result = gumdp.evaluate(problem, gumdp.Random(), trials=500, seed=0)
    risk = result.risk()
    assert risk.value == result.mean
    assert risk.interval[0] < gumdp.exact_value(problem, gumdp.Random()) < risk.interval[1]


def test_a_limit_that_is_met_exactly_is_kept_whatever_rounding_makes_of_the_sum():
    """Three of ten steps are 0.1 + 0.1 + 0.1 = 0.30000000000000004 of the time."""

    def problem(limit):
        late = gumdp.Chance(gumdp.Linear([[1.0, 0.0]]), limit)
        return gumdp.Problem(gumdp.Tabular([[[1.0], [1.0]]]), late, 1.0, 10)

    three = np.zeros((10, 1, 2))
    three[:3, :, 0] = three[3:, :, 1] = 1.0
    result = gumdp.evaluate(problem(0.3), gumdp.Markov(three), trials=3, measures={"late": lambda d: d[0, 0]})
    assert result.values.tolist() == [0.0] * 3
    assert gumdp.evaluate(problem(0.2999), gumdp.Markov(three), trials=3).values.tolist() == [1.0] * 3
    late = result.measures["late"]
    assert (late.probability(0.3).value, late.probability(0.2999).value) == (1.0, 0.0)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: gumdp.cvar(gumdp.Entropy(), 1.0), "below 1"),
        (lambda: gumdp.cvar(gumdp.Entropy(), -0.1), "at least 0"),
        (lambda: gumdp.cvar(gumdp.Entropy(), 0.5, threshold=np.nan), "threshold"),
        (lambda: gumdp.Chance(gumdp.Entropy(), "much"), "limit"),
        (lambda: gumdp.run_trial(tiny(0), gumdp.Random()), "fit_threshold"),
        (lambda: gumdp.fit_threshold(fishwood(horizon=3), gumdp.Random()), "cvar"),
    ],
)
def test_bad_input_is_met_with_a_sentence(make, words):
    with pytest.raises(gumdp.GumdpError, match=words):
        make()
