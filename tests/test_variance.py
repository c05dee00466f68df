"""What takes luck out of the search: paired chance, even outcomes, ordered first tries."""

from __future__ import annotations

import numpy as np
import pytest

import gumdp

pytestmark = pytest.mark.thorough  # most of its time is compiling

FORMER = {"bonus": "logarithmic", "backup": "mean", "solve": False}  # so that iterations go on where all is known
PLAIN = {"rollout": "uniform", "paired": False, "even": False, "ordered": False, "control_variate": False, **FORMER}


def twins():
    """Three states reached by chance, two actions that do the same, a cost in the second state."""
    rows = np.tile(np.array([0.5, 0.3, 0.2]), (3, 2, 1))
    cost = np.zeros((3, 2))
    cost[1] = 1.0
    return gumdp.Problem(gumdp.Tabular(rows, start=0), gumdp.Linear(cost), 1.0, 2)


@pytest.mark.parametrize("seed", range(5))
def test_paired_actions_that_do_the_same_have_the_same_mean(seed):
    planner = gumdp.MCTS(200, **{**PLAIN, "paired": True})
    decision = planner.start(twins(), seed=seed).act(0)
    fewest = int(decision.visits.min())
    assert fewest >= 90
    assert decision.values[0] == pytest.approx(decision.values[1], abs=2.0 / fewest)


def test_unpaired_actions_that_do_the_same_have_different_means():
    spreads = []
    for seed in range(20):
        decision = gumdp.MCTS(200, **PLAIN).start(twins(), seed=seed).act(0)
        spreads.append(abs(decision.values[0] - decision.values[1]))
    assert np.mean(spreads) > 0.01  # their standard deviation is about √(0.21/100 · 2)/2 = 0.03


def outcome_counts(even, seed, iterations=1000):
    planner = gumdp.MCTS(iterations, **{**PLAIN, "even": even}, keep_tree=True)
    tree = planner.start(twins(), seed=seed).act(0).tree
    counts = np.zeros((2, 3))
    for a in range(2):
        for child in tree.children(0, a):
            counts[a, tree.label[child]] = tree.visits[child].sum() + 1  # the visit that made it
    return counts


@pytest.mark.parametrize("seed", range(5))
def test_even_outcomes_keep_to_their_probabilities(seed):
    counts = outcome_counts(True, seed)
    expected = counts.sum(axis=1, keepdims=True) * np.array([0.5, 0.3, 0.2])
    # Multiples of the golden ratio: of n points, an interval misses its share by less than about log n.
    assert np.abs(counts - expected).max() < np.log(1000.0)


def test_even_outcomes_begin_anywhere():
    firsts = {int(outcome_counts(True, seed, 1).argmax() % 3) for seed in range(40)}
    assert firsts == {0, 1, 2}


@pytest.mark.parametrize("seed", range(5))
def test_the_first_try_is_the_cheapest_action(seed):
    cost = np.array([[0.5, 0.9, 0.1, 0.7, 0.3]])
    model = gumdp.Tabular(np.ones((1, 5, 1)), start=0)
    problem = gumdp.Problem(model, gumdp.Linear(cost), 0.9, 5)
    for iterations in range(1, 6):
        decision = (
            gumdp.MCTS(iterations, randomness=0.3, reuse=True, commitment=np.inf, **FORMER)
            .start(problem, seed=seed)
            .act(0)
        )
        assert set(np.flatnonzero(decision.visits)) == set(np.argsort(cost[0])[:iterations])


def test_as_long_as_all_returns_are_equal_the_search_looks_everywhere():
    """A target that random play never meets: nothing to scale exploration to, and no reason to prefer an action."""
    model = gumdp.Tabular(np.ones((1, 4, 1)), start=0)
    problem = gumdp.Problem(model, gumdp.Target(np.ones((1, 4)), budget=0.5), 1.0, 6)
    decision = gumdp.MCTS(400, rollout="uniform", reuse=True).start(problem, seed=0).act(0)
    assert decision.visits.max() - decision.visits.min() <= 1


@pytest.mark.parametrize("option", ["paired", "even", "ordered", "scaled"])
def test_each_switch_wants_a_bool(option):
    with pytest.raises(gumdp.GumdpError, match=f"MCTS: {option}"):
        gumdp.MCTS(10, **{option: "yes"})
