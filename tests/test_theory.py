"""The paper's theorems, run: closed forms against exact evaluation, subset sums against all subsets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gumdp
from gumdp.zoo import theory

LONG = 400  # steps, after which 0.9^400 < 1e-18 of the mass is missing


def value_at(x, discount):
    """f as a function of x = d(s1), over an infinite horizon."""
    return x**2 + (1.0 / (1.0 + discount) - x) ** 2


def test_the_markov_policy_has_the_value_of_the_corrected_closed_form():
    problem = gumdp.zoo.load("theorem1", horizon=LONG)
    exact = gumdp.exact_value(problem, theory.markov_planner(problem))
    assert exact == pytest.approx(0.144505, abs=5e-7)
    assert exact == pytest.approx(theory.markov_value(0.9), abs=1e-9)
    x = (1 - 0.9) / (1 - 0.9**4)
    assert exact == pytest.approx(0.5 * value_at(x, 0.9) + 0.5 * value_at(0.9**4 * x, 0.9), abs=1e-9)
    misprinted = (1 + 0.9**2 - 0.9**6 + 0.9**8) / ((1 - 0.9) ** 2 * (1 + 0.9**2) ** 2)
    assert misprinted > 50.0  # no occupancy has a value above 1


def test_the_non_markov_policy_has_the_value_of_its_closed_form():
    problem = gumdp.zoo.load("theorem1", horizon=LONG)
    exact = gumdp.exact_value(problem, theory.nonmarkov_planner())
    assert exact == pytest.approx(theory.nonmarkov_value(0.9), abs=1e-9)
    x = (1 - 0.9) / (1 - 0.9**4)
    assert exact == pytest.approx(0.5 * value_at(x, 0.9) + 0.5 * value_at(0.9**2 * x, 0.9), abs=1e-9)


def test_the_stationary_bound_is_jensen_after_five_steps():
    # Exactly the expression of appendix B.1: what came before step 5 as it was, and the rest as expected.
    problem = gumdp.zoo.load("theorem1", horizon=LONG)
    process = gumdp.theory.OccupancyMDP(problem)
    policy = theory.stationary_planner(0.5).policy
    level = [(p, state) for p, state in process.initial()]
    for _ in range(5):
        level = [
            (p * policy[state.state, a] * q, then)
            for p, state in level
            for a in process.actions(state)
            if policy[state.state, a] > 0.0
            for q, then in process.transitions(state, a)
        ]
    assert {state.state for _, state in level} == {0}
    later = gumdp.Tabular(problem.model.dense(), start=0)
    rest = (
        gumdp.occupancy.expected_occupancy(later, policy, 0.9, horizon=LONG - 5)
        * process.weights[5:].sum()
        * process.scale
    )
    bound = sum(p * problem.value(process.occupancy(state) + rest) for p, state in level)
    assert bound == pytest.approx(theory.stationary_bound(0.9), abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_stationary_policies_have_the_value_of_their_closed_form(share):
    problem = gumdp.zoo.load("theorem1", horizon=LONG)
    policy = theory.stationary_planner(share).policy
    mean = gumdp.occupancy.expected_occupancy(problem.model, policy, 0.9, LONG)
    spread = gumdp.occupancy.occupancy_covariance(problem.model, policy, 0.9, LONG)
    by_state = spread.reshape(3, 2, 3, 2).sum(axis=(1, 3))
    exact = problem.value(mean) + by_state[1, 1] + by_state[2, 2]  # f is quadratic
    assert exact == pytest.approx(theory.stationary_value(0.9, share), abs=1e-9)
    assert exact > theory.stationary_bound(0.9)


def test_exact_evaluation_of_a_stationary_policy_agrees_with_its_moments():
    problem = gumdp.zoo.load("theorem1", horizon=20)  # 2^11 histories
    policy = theory.stationary_planner(0.5).policy
    spread = gumdp.occupancy.occupancy_covariance(problem.model, policy, 0.9, 20).reshape(3, 2, 3, 2).sum(axis=(1, 3))
    mean = gumdp.occupancy.expected_occupancy(problem.model, policy, 0.9, 20)
    assert gumdp.exact_value(problem, policy) == pytest.approx(
        problem.value(mean) + spread[1, 1] + spread[2, 2], abs=1e-12
    )


@pytest.mark.parametrize("discount", [0.05, 0.3, 0.5, 0.9, 0.99])
def test_memory_helps_and_the_clock_does_too(discount):
    # the order of Theorem 1, and no stationary policy below its bound
    assert theory.nonmarkov_value(discount) < theory.markov_value(discount) < theory.stationary_bound(discount)
    assert all(
        theory.stationary_value(discount, p) >= theory.stationary_bound(discount) for p in np.linspace(0.0, 1.0, 101)
    )
    assert theory.stationary_value(discount, 0.5) <= min(
        theory.stationary_value(discount, p) for p in np.linspace(0.0, 1.0, 101)
    )


def test_the_optimum_is_below_every_policy_of_the_proof():
    problem = gumdp.zoo.load("theorem1", horizon=16)
    optimum = gumdp.solve_exact(problem).value
    values = [
        gumdp.exact_value(problem, policy)
        for policy in (theory.nonmarkov_planner(), theory.markov_planner(problem), theory.stationary_planner())
    ]
    assert optimum <= values[0] < values[1] < values[2]


def test_the_policies_of_the_proof_can_be_played():
    problem = gumdp.zoo.load("theorem1", horizon=12)
    for planner in (theory.nonmarkov_planner(), theory.markov_planner(problem)):
        seen = {round(gumdp.run_trial(problem, planner, seed=k).value, 12) for k in range(10)}
        assert len(seen) <= 2  # only the start is random
    trial = gumdp.run_trial(problem, theory.nonmarkov_planner(), seed=0)
    visits = trial.states[::2]
    assert (visits[1:] != visits[:-1]).all()


@pytest.mark.parametrize("discount", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("extra", [0, 3])
def test_subset_sum_is_solved_exactly_when_a_subset_exists(discount, extra):
    rng = np.random.default_rng(0)
    answers = set()
    for _ in range(12):
        numbers = rng.integers(0, 20, size=5).tolist()
        target = int(rng.integers(0, 40))
        sums = [sum(chosen) for k in range(6) for chosen in itertools.combinations(numbers, k)]
        nearest = min((total - target) ** 2 for total in sums)
        problem = theory.subset_sum(numbers, target, discount, horizon=5 + extra)
        solution = gumdp.solve_exact(problem)
        assert solution.value == pytest.approx(nearest, abs=1e-9)
        chosen = gumdp.run_trial(problem, solution.planner).actions[:5] == 0
        assert (np.array(numbers)[chosen].sum() - target) ** 2 == nearest
        answers.add(nearest == 0)
    assert answers == {True, False}


@pytest.mark.parametrize("name", ["m1-deterministic", "m2-deterministic", "m3-deterministic"])
def test_deterministic_variants_have_the_optimum_of_their_entry(name):
    problem = gumdp.zoo.load(name)
    follow = problem.model.dense().argmax(axis=2)
    assert np.array_equal(problem.model.dense().max(axis=2), np.ones(problem.shape))
    weights = 0.9 ** np.arange(12) / (0.9 ** np.arange(12)).sum()
    best = np.inf
    for actions in itertools.product(range(2), repeat=12):
        s, d = 0, np.zeros(problem.shape)
        for w, a in zip(weights, actions, strict=True):
            d[s, a] += w
            s = follow[s, a]
        best = min(best, problem.value(d))
    assert gumdp.zoo.find(name).optimum == pytest.approx(best, abs=1e-12)
    assert gumdp.solve_exact(problem).value == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("kind", ["entropy", "state-entropy", "imitation", "worst-case", "quadratic", "linear"])
def test_random_problems_repeat(kind):
    one, two, other = (gumdp.zoo.load("random-small", objective=kind, seed=seed, horizon=2) for seed in (1, 1, 2))
    assert np.array_equal(one.model.dense(), two.model.dense())
    assert not np.array_equal(one.model.dense(), other.model.dense())
    d = np.random.default_rng(0).dirichlet(np.ones(6)).reshape(3, 2)
    assert one.value(d) == two.value(d)


def test_the_default_random_problem_has_the_optimum_of_its_entry():
    assert gumdp.solve_exact(gumdp.zoo.load("random-small")).value == pytest.approx(
        gumdp.zoo.find("random-small").optimum, abs=1e-12
    )


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: theory.subset_sum([], 3), "at least one"),
        (lambda: theory.subset_sum("123", 3), "list"),
        (lambda: theory.subset_sum(5, 3), "list"),
        (lambda: theory.subset_sum([1, -2], 3), "number 1"),
        (lambda: theory.subset_sum([1, 2.5], 3), "number 1"),
        (lambda: theory.subset_sum([1, 2], -3), "target"),
        (lambda: theory.subset_sum([1, 2], 3, horizon=1), "horizon"),
        (lambda: theory.subset_sum([1, 2], 3, discount=0.0), "discount"),
        (lambda: theory.markov_value(1.0), "below 1"),
        (lambda: theory.stationary_value(0.9, 1.5), "share"),
        (lambda: gumdp.zoo.load("random-small", branching=4), "branching"),
        (lambda: gumdp.zoo.load("random-small", objective="entropie"), "did you mean 'entropy'"),
        (lambda: gumdp.zoo.load("random-small", seed="x"), "seed"),
        (lambda: gumdp.zoo.load("random-small", episode=2), "did you mean 'episodes'"),
        (lambda: gumdp.zoo.load("theorem-1"), "did you mean 'theorem1'"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(gumdp.GumdpError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
