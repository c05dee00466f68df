"""Occupancies against sums over all histories, and histories read back from running occupancies."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gumdp
from gumdp import occupancy

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def random_model(seed: int, states: int = 3, actions: int = 2, masked: bool = False) -> gumdp.Tabular:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    available = None
    if masked:
        available = np.ones((states, actions), bool)
        available[1, 0] = False
    return gumdp.Tabular(transitions, rng.dirichlet(np.ones(states)), available=available)


def random_policy(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def every_history(model, policy, steps):
    """All (probability, states, actions), straight from the definition."""
    dense, start = model.dense(), model.start
    states, actions = model.shape
    for s in itertools.product(range(states), repeat=steps):
        for a in itertools.product(range(actions), repeat=steps):
            p = start[s[0]]
            for t in range(steps):
                table = policy if policy.ndim == 2 else policy[t]
                p *= table[s[t], a[t]]
                if t + 1 < steps:
                    p *= dense[s[t], a[t], s[t + 1]]
            if p > 0.0:
                yield p, s, a


def occupancy_of(s, a, shape, discount):
    """d(s,a) = (1-γ)/(1-γ^H) Σ γ^t 1(s_t = s, a_t = a), term by term."""
    steps = len(s)
    scale = 1.0 / steps if discount == 1.0 else (1.0 - discount) / (1.0 - discount**steps)
    d = np.zeros(shape)
    for t in range(steps):
        d[s[t], a[t]] += scale * discount**t
    return d


@pytest.mark.parametrize("discount", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("horizon", [1, 3, 100])
@pytest.mark.parametrize("episodes", [1, 2])
def test_step_weights_sum_to_one(discount, horizon, episodes):
    weights = gumdp.occupancy.step_weights(discount, horizon, episodes)
    assert weights.shape == (horizon * episodes,)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights[1 % horizon] == pytest.approx(weights[0] * discount ** (1 % horizon), rel=1e-12)


def test_the_last_action_counts():
    d = gumdp.occupancy.empirical_occupancy([0, 0, 1], [0, 0, 1], (2, 2), discount=0.5)
    assert d[1, 1] == pytest.approx(0.25 / 1.75)
    assert d.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("discount", [0.7, 1.0])
def test_the_empirical_occupancy_is_its_definition(discount):
    rng = np.random.default_rng(0)
    s, a = rng.integers(0, 3, 7), rng.integers(0, 2, 7)
    assert np.allclose(
        gumdp.occupancy.empirical_occupancy(s, a, (3, 2), discount), occupancy_of(s, a, (3, 2), discount)
    )


def test_the_occupancy_of_two_episodes_is_the_mean_of_theirs():
    s, a = np.array([0, 1, 2, 2]), np.array([1, 1, 0, 1])
    both = gumdp.occupancy.empirical_occupancy(s, a, (3, 2), 0.9, episodes=2)
    parts = [gumdp.occupancy.empirical_occupancy(s[k : k + 2], a[k : k + 2], (3, 2), 0.9) for k in (0, 2)]
    assert np.allclose(both, np.mean(parts, axis=0))


@pytest.mark.parametrize("discount", [0.6, 1.0])
@pytest.mark.parametrize("shape", [(3, 2), (4, 3, 2)])
def test_the_expected_occupancy_is_the_mean_over_all_histories(discount, shape):
    model, policy = random_model(1), random_policy(2, *shape)
    mean = sum(p * occupancy_of(s, a, (3, 2), discount) for p, s, a in every_history(model, policy, 4))
    assert np.allclose(gumdp.occupancy.expected_occupancy(model, policy, discount, horizon=4), mean, atol=1e-12)


def test_the_covariance_is_that_over_all_histories():
    for discount, shape in ((0.6, (3, 2)), (1.0, (3, 3, 2))):
        model, policy = random_model(3), random_policy(4, *shape)
        rows = [(p, occupancy_of(s, a, (3, 2), discount).ravel()) for p, s, a in every_history(model, policy, 3)]
        mean = sum(p * d for p, d in rows)
        spread = sum(p * np.outer(d - mean, d - mean) for p, d in rows)
        assert np.allclose(gumdp.occupancy.occupancy_covariance(model, policy, discount, 3), spread, atol=1e-12)


@pytest.mark.parametrize("direct", [0, 1000])
def test_the_infinite_horizon_is_the_limit_of_long_ones(monkeypatch, direct):
    monkeypatch.setattr(occupancy, "DIRECT", direct)
    model, policy = random_model(5, masked=True), np.array([[0.3, 0.7], [0.0, 1.0], [0.5, 0.5]])
    endless = gumdp.occupancy.expected_occupancy(model, policy, 0.9)
    assert endless.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.allclose(endless, gumdp.occupancy.expected_occupancy(model, policy, 0.9, horizon=400), atol=1e-12)


def test_empirical_occupancies_average_to_the_expected_one():
    model, policy, trials = random_model(6), random_policy(7, 3, 2), 1500
    problem = gumdp.Problem(model, gumdp.Linear(np.zeros((3, 2))), discount=0.9, horizon=15)
    planner = gumdp.Stationary(policy)
    mean = np.mean([gumdp.run_trial(problem, planner, seed=0, trial=k).occupancy for k in range(trials)], axis=0)
    # Hoeffding: each of 6 entries lies in [0, 1]; all six within this with a probability of 1 - 1e-6
    width = math.sqrt(math.log(2 * 6 / 1e-6) / (2 * trials))
    assert np.abs(mean - gumdp.occupancy.expected_occupancy(model, policy, 0.9, horizon=15)).max() < width


def test_a_model_survives_what_is_done_to_its_matrix():
    model = random_model(8)
    before = model.dense().copy()
    model.matrix.data[:] = 0.0
    successors, probabilities = model.row(0, 0)
    assert np.allclose(probabilities, before[0, 0, successors])
    fresh = random_model(8)
    _ = (fresh.matrix != 0.0) @ np.ones(3)
    assert np.allclose([fresh.row(s, a)[1].max() for s in range(3) for a in range(2)], before.max(axis=2).ravel())


def test_horizon_and_tolerance_are_inverse():
    for tolerance in (1.0, 1e-3, 1e-9):
        horizon = gumdp.occupancy.horizon_for(tolerance, lipschitz=4.0, discount=0.9)
        assert gumdp.occupancy.truncation_gap(4.0, 0.9, horizon) <= tolerance
        assert gumdp.occupancy.truncation_gap(4.0, 0.9, horizon - 1) > tolerance


@given(
    discount=st.sampled_from([0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.99]),
    pairs=st.lists(st.integers(0, 5), min_size=1, max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_a_history_is_read_back_from_its_occupancy(discount, pairs):
    s, a = np.array(pairs) // 2, np.array(pairs) % 2
    running = gumdp.theory.running_occupancy(s, a, (3, 2), discount)
    assert gumdp.theory.history_of(running, discount) == tuple(zip(s.tolist(), a.tolist(), strict=True))


def test_a_longer_history_is_read_back_too():
    rng = np.random.default_rng(0)
    s, a = rng.integers(0, 3, 32), rng.integers(0, 2, 32)
    running = gumdp.theory.running_occupancy(s, a, (3, 2), 0.9)
    assert gumdp.theory.history_of(running, 0.9, steps=32) == tuple(zip(s.tolist(), a.tolist(), strict=True))


def test_at_the_golden_ratio_two_histories_leave_the_same_occupancy():
    x, y = (0, 0), (1, 1)
    one = gumdp.theory.running_occupancy([0, 1, 1], [0, 1, 1], (2, 2), GOLDEN)
    other = gumdp.theory.running_occupancy([1, 0, 0], [1, 0, 0], (2, 2), GOLDEN)
    assert np.abs(one - other).max() < 1e-15
    assert gumdp.theory.histories_of(one, GOLDEN) == [(x, y, y), (y, x, x)]
    with pytest.raises(gumdp.GumdpError, match="several histories"):
        gumdp.theory.history_of(one, GOLDEN)
    assert gumdp.theory.history_of(gumdp.theory.running_occupancy([0, 1], [0, 1], (2, 2), GOLDEN), GOLDEN) == (x, y)


def test_without_discounting_the_order_is_lost():
    running = gumdp.theory.running_occupancy([0, 0, 1, 1], [0, 0, 1, 1], (2, 2), 1.0)
    assert len(gumdp.theory.histories_of(running, 1.0)) == math.comb(4, 2)
    assert len(gumdp.theory.histories_of(running, 1.0, most=3)) == 3
    with pytest.raises(gumdp.GumdpError, match="several histories"):
        gumdp.theory.history_of(running, 1.0)
    assert gumdp.theory.history_of([[0.0, 3.0]], 1.0) == ((0, 1),) * 3


def test_nothing_happened_is_a_history():
    assert gumdp.theory.history_of(np.zeros((2, 2)), 0.9) == ()
    assert gumdp.theory.history_of(np.zeros((2, 2)), 1.0) == ()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: gumdp.theory.history_of([[0.5, 0.6]], 0.9), "not the occupancy of any history"),
        (lambda: gumdp.theory.history_of([[1.5, 0.5]], 1.0), "not the occupancy of any history"),
        (lambda: gumdp.theory.history_of([[1.0, -1.0]], 0.9), "at least 0"),
        (lambda: gumdp.theory.history_of([1.0, 1.0], 0.9), r"\[S, A\]"),
        (lambda: gumdp.theory.history_of("no", 0.9), r"\[S, A\]"),
        (lambda: gumdp.theory.history_of([[1.0, 0.5]], 0.0), "discount"),
        (lambda: gumdp.theory.history_of(np.full((2, 2), 100.0), 0.9), "give steps"),
        (lambda: gumdp.theory.history_of(np.full((2, 2), 2.4), 0.9, steps=50), "at most 40"),
        (lambda: gumdp.theory.histories_of([[1.0]], 0.9, most=0), "most"),
        (lambda: gumdp.theory.running_occupancy([0, 3], [0, 0], (2, 2), 0.9), "from 0 to 1"),
        (lambda: gumdp.theory.running_occupancy([0], [0, 1], (2, 2), 0.9), "one action for each state"),
        (lambda: gumdp.occupancy.empirical_occupancy([], [], (2, 2), 0.9), "0 steps"),
        (lambda: gumdp.occupancy.empirical_occupancy([0, 0, 1], [0, 0, 0], (2, 2), 0.9, episodes=2), "3 steps"),
        (lambda: gumdp.occupancy.empirical_occupancy([0.5], [0], (2, 2), 0.9), "whole numbers"),
        (lambda: gumdp.occupancy.empirical_occupancy([0], [0], (2, 2), 1.5), "discount"),
        (lambda: gumdp.occupancy.empirical_occupancy([0], [0], 4, 0.9), "shape must be a pair"),
        (lambda: gumdp.theory.running_occupancy([0], [0], ("a", 2), 0.9), "states of shape"),
        (lambda: gumdp.occupancy.step_weights(0.0, 3), "discount"),
        (lambda: gumdp.occupancy.step_weights(0.9, 0), "horizon"),
        (lambda: gumdp.occupancy.horizon_for(0.1, 1.0, 1.0), "below 1"),
        (lambda: gumdp.occupancy.horizon_for(0.0, 1.0, 0.9), "positive"),
        (lambda: gumdp.occupancy.expected_occupancy(random_model(0), np.full((3, 2), 0.5), 1.0), "below 1"),
        (lambda: gumdp.occupancy.expected_occupancy(random_model(0), np.full((3, 2), 0.6), 0.9), "sums to 1.2"),
        (lambda: gumdp.occupancy.expected_occupancy(random_model(0), np.full((4, 3, 2), 0.5), 0.9, 3), "4 steps"),
        (
            lambda: gumdp.occupancy.expected_occupancy(random_model(0), np.full((4, 3, 2), 0.5), 0.9),
            "needs its horizon",
        ),
        (
            lambda: gumdp.occupancy.expected_occupancy(random_model(0, masked=True), np.full((3, 2), 0.5), 0.9),
            "not available",
        ),
        (lambda: gumdp.occupancy.expected_occupancy(None, np.full((3, 2), 0.5), 0.9), "Tabular"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(gumdp.GumdpError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
