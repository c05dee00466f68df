"""The occupancy MDP as it is written in the paper."""

from __future__ import annotations

import numpy as np
import pytest

import gumdp
from gumdp.theory import OccupancyMDP, OccupancyState


def small_problem(discount=0.5, horizon=3, episodes=1, available=None, start=(0.25, 0.75)):
    model = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.125, 0.875]]], list(start), available=available)
    return gumdp.Problem(model, gumdp.Entropy(), discount=discount, horizon=horizon, episodes=episodes)


def reachable(process):
    """Every state that can come about."""
    level = {state for _, state in process.initial()}
    while level:
        yield from level
        level = {then for state in level for a in process.actions(state) for _, then in process.transitions(state, a)}


def test_a_trial_starts_with_an_empty_occupancy_where_the_model_says():
    initial = OccupancyMDP(small_problem()).initial()
    assert sorted((p, state.state) for p, state in initial) == [(0.25, 0), (0.75, 1)]
    assert all(state.running == (0.0,) * 4 and state.step == 0 for _, state in initial)


def test_sigma_adds_the_weight_of_the_step_at_the_pair():
    process = OccupancyMDP(small_problem())
    assert process.sigma(1, (1.0, 0.5, 0.0, 0.0), 0, 2) == (1.0, 0.5, 0.25, 0.0)


def test_the_state_moves_as_in_the_model_and_the_occupancy_for_sure():
    process = OccupancyMDP(small_problem())
    following = process.transitions(OccupancyState(1, (1.0, 0.0, 0.0, 0.0), 1), 1)
    after = (1.0, 0.0, 0.0, 0.5)
    assert sorted(following) == [(0.125, OccupancyState(0, after, 2)), (0.875, OccupancyState(1, after, 2))]


@pytest.mark.parametrize("discount", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("episodes", [1, 2])
def test_chances_sum_to_one_and_final_occupancies_too(discount, episodes):
    process = OccupancyMDP(small_problem(discount, horizon=2, episodes=episodes))
    ends = 0
    for state in reachable(process):
        for a in process.actions(state):
            assert sum(p for p, _ in process.transitions(state, a)) == pytest.approx(1.0, abs=1e-12)
        if process.is_terminal(state):
            ends += 1
            assert process.occupancy(state).sum() == pytest.approx(1.0, abs=1e-12)
            assert process.terminal_cost(state) == pytest.approx(process.problem.value(process.occupancy(state)))
        else:
            assert process.terminal_cost(state) == 0.0
    assert ends > 0


def test_a_new_episode_begins_at_the_start_with_the_first_weight():
    process = OccupancyMDP(small_problem(discount=0.5, horizon=2, episodes=2))
    over = process.transitions(OccupancyState(0, (1.0, 0.0, 0.0, 0.0), 1), 1)
    assert sorted((p, state.state) for p, state in over) == [(0.25, 0), (0.75, 1)]
    (_, again), *_ = process.transitions(over[0][1], 0)
    assert sum(again.running) == 1.0 + 0.5 + 1.0


def test_actions_that_are_not_available_are_not_there():
    process = OccupancyMDP(small_problem(available=[[True, True], [False, True]]))
    state = OccupancyState(1, (0.0,) * 4, 0)
    assert process.actions(state) == [1]
    with pytest.raises(gumdp.GumdpError, match="action 0 is not available in state 1"):
        process.transitions(state, 0)


def test_backing_up_to_the_start_gives_the_optimum():
    problem = small_problem(discount=0.9, horizon=3)
    process = OccupancyMDP(problem)
    dense, weights = problem.model.dense(), 0.9 ** np.arange(3) / (1 + 0.9 + 0.81)

    def best(s, visits):
        if len(visits) == 3:
            d = np.zeros((2, 2))
            for w, pair in zip(weights, visits, strict=True):
                d[pair] += w
            return float((d[d > 0] * np.log(d[d > 0])).sum())
        return min(dense[s, a] @ [best(then, [*visits, (s, a)]) for then in range(2)] for a in range(2))

    def optimal(state):
        return process.backup(state, optimal)

    assert sum(p * optimal(s) for p, s in process.initial()) == pytest.approx(0.25 * best(0, []) + 0.75 * best(1, []))


def test_without_discounting_histories_merge():
    process = OccupancyMDP(small_problem(discount=1.0, horizon=6))
    last = {state for state in reachable(process) if state.step == 5}
    assert len(last) <= 2 * 56  # 5 visits shared out to 4 pairs, and the state; there are far more histories


def test_only_tables_have_an_occupancy_mdp():
    walk = gumdp.Simulator(lambda x, a: (x[0],), (0.5,), lambda x: 0, cells=1, actions=2)
    with pytest.raises(gumdp.GumdpError, match="Tabular"):
        OccupancyMDP(gumdp.Problem(walk, gumdp.Entropy(), discount=0.9, horizon=3))
