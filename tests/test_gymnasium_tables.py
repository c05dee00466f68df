"""Models from the tables that Gymnasium's own environments publish."""

import gymnasium
import numpy as np
import pytest

import gumdp
from gumdp.models.gymnasium.opening import newest
from gumdp.models.gymnasium.table import from_table

IDS = ["FrozenLake-v1", "FrozenLake8x8-v1", newest("CliffWalking"), newest("Taxi")]


@pytest.mark.parametrize("name", IDS)
def test_a_table_becomes_the_model_with_every_probability(name: str) -> None:
    env = gymnasium.make(name)
    model = gumdp.from_gymnasium(env)
    expected = np.zeros((env.observation_space.n, env.action_space.n, env.observation_space.n))
    for s, row in env.unwrapped.P.items():
        for a, entries in row.items():
            for p, successor, _, _ in entries:
                expected[s, a, successor] += p
    np.testing.assert_allclose(model.dense(), expected, atol=1e-15)
    np.testing.assert_allclose(model.start, env.unwrapped.initial_state_distrib, atol=1e-15)
    assert model.source.commands == tuple(range(env.action_space.n))


@pytest.mark.parametrize("name", IDS)
def test_the_real_environment_only_makes_transitions_that_the_model_has(name: str) -> None:
    env = gymnasium.make(name)
    model = gumdp.from_gymnasium(env)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    assert model.start[model.source.read(env, observation)] > 0
    for _ in range(300):
        state, action = model.source.read(env, observation), int(rng.integers(model.shape[1]))
        observation, _, terminated, truncated, _ = env.step(model.source.commands[action])
        assert observation in model.row(state, action)[0]
        if terminated or truncated:
            observation, _ = env.reset()


def test_terminal_states_of_frozenlake_absorb_in_its_own_table_and_those_of_cliffwalking_do_not() -> None:
    lake, cliff = gumdp.from_gymnasium("FrozenLake-v1"), gumdp.from_gymnasium(newest("CliffWalking"))
    assert all(list(lake.row(hole, a)[0]) == [hole] for hole in (5, 7, 11, 12, 15) for a in range(4))
    assert list(cliff.row(47, 0)[0]) == [35]  # up from the goal


def test_absorb_keeps_a_terminal_state_and_restart_leaves_it_for_a_start_state() -> None:
    name = newest("CliffWalking")
    absorb = gumdp.from_gymnasium(name, terminal="absorb")
    restart = gumdp.from_gymnasium(name, terminal="restart")
    for a in range(4):
        assert list(absorb.row(47, a)[0]) == [47]
        assert list(restart.row(47, a)[0]) == [36]
    table = gumdp.from_gymnasium(name)
    others = np.arange(48) != 47
    np.testing.assert_array_equal(absorb.dense()[others], table.dense()[others])
    np.testing.assert_array_equal(restart.dense()[others], table.dense()[others])


def test_a_taxi_that_restarts_draws_from_the_300_starts_after_the_drop_off() -> None:
    model = gumdp.from_gymnasium(newest("Taxi"), terminal="restart")
    delivered = 0  # taxi at red, passenger at red, to red
    np.testing.assert_allclose(model.dense()[delivered], np.tile(model.start, (6, 1)), atol=1e-15)
    assert np.count_nonzero(model.start) == 300


def test_a_state_that_ends_an_episode_on_one_way_only_can_not_absorb() -> None:
    table = {
        0: {0: [(1.0, 1, 0, True)], 1: [(1.0, 1, 0, False)]},
        1: {0: [(1.0, 0, 0, False)], 1: [(1.0, 0, 0, False)]},
    }
    assert from_table(table, [1.0, 0.0], "continue").shape == (2, 2)
    with pytest.raises(gumdp.GumdpError, match=r"state 1 and goes on when \(s=0, a=1\)"):
        from_table(table, [1.0, 0.0], "absorb")


def test_names_and_grids_come_along() -> None:
    lake = gumdp.from_gymnasium("FrozenLake-v1")
    assert lake.grid == (4, 4)
    assert lake.state_name(5) == "row 1 column 1, hole"
    assert lake.action_name(2) == "right"
    assert gumdp.from_gymnasium(newest("CliffWalking")).grid == (4, 12)
    assert gumdp.from_gymnasium(newest("Taxi")).state_name(0) == ("taxi at row 0 column 0, passenger at red, to red")


def test_the_model_says_what_it_was_made_of() -> None:
    text = str(gumdp.from_gymnasium("FrozenLake-v1", terminal="restart").source)
    assert "its own transition table" in text
    assert "the next state is a start state" in text


def test_an_unknown_id_gets_a_suggestion() -> None:
    with pytest.raises(gumdp.GumdpError, match="did you mean 'FrozenLake-v1'"):
        gumdp.from_gymnasium("FrozenLake-v7")
    with pytest.raises(gumdp.GumdpError, match="did you mean 'MountainCar-v0'"):
        gumdp.from_gymnasium("MountenCar-v0")


def test_bad_choices_get_a_sentence() -> None:
    with pytest.raises(gumdp.GumdpError, match="unknown terminal 'absorbing'; did you mean 'absorb'"):
        gumdp.from_gymnasium("FrozenLake-v1", terminal="absorbing")
    with pytest.raises(gumdp.GumdpError, match="unknown method 'tables'; did you mean 'table'"):
        gumdp.from_gymnasium("FrozenLake-v1", method="tables")
    with pytest.raises(gumdp.GumdpError, match="expected a Gymnasium environment"):
        gumdp.from_gymnasium(3)
    with pytest.raises(gumdp.GumdpError, match="map_name is for making an environment"):
        gumdp.from_gymnasium(gymnasium.make("FrozenLake-v1"), map_name="8x8")
    with pytest.raises(gumdp.GumdpError, match=r"gymnasium.make.*failed"):
        gumdp.from_gymnasium("FrozenLake-v1", colour="red")


def test_a_wrapper_that_may_change_the_dynamics_rules_the_table_out() -> None:
    env = gymnasium.wrappers.StickyAction(gymnasium.make("FrozenLake-v1"), 0.2)
    with pytest.raises(gumdp.GumdpError, match="the wrapper StickyAction may change what the table"):
        gumdp.from_gymnasium(env, method="table")
    statistics = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("FrozenLake-v1"))
    assert gumdp.from_gymnasium(statistics, method="table").shape == (16, 4)


def test_a_fickle_passenger_is_not_in_the_table() -> None:
    env = gymnasium.make(newest("Taxi"), fickle_passenger=True)
    with pytest.raises(gumdp.GumdpError, match="no transition table that holds"):
        gumdp.from_gymnasium(env, method="table")
