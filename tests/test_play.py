"""Acting in real Gymnasium environments."""

import pickle
import sys

import gymnasium
import numpy as np
import pytest

import gumdp
from gumdp import GumdpError
from gumdp.models.gymnasium.opening import newest
from gumdp.occupancy import empirical_occupancy

TABLES = ["FrozenLake-v1", "FrozenLake8x8-v1", newest("CliffWalking"), newest("Taxi")]
SIMULATORS = ["MountainCar-v0", "CartPole-v1", "Acrobot-v1", "Pendulum-v1"]
CLONES = ["Blackjack-v1", "MiniGrid-Empty-5x5-v0"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES, *SIMULATORS, *CLONES])
def test_the_round_trip_from_gymnasium_through_search_to_play(name: str) -> None:
    if name.startswith("MiniGrid"):
        pytest.importorskip("minigrid", reason="the extra gumdp[minigrid] is not installed")
    model = gumdp.from_gymnasium(name)
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 12)
    trial = gumdp.play(name, problem, gumdp.MCTS(iterations=15), seed=3)
    assert trial.actions.size == 12
    np.testing.assert_allclose(trial.occupancy, empirical_occupancy(trial.cells, trial.actions, model.shape, 0.9))
    assert abs(trial.value - problem.value(trial.occupancy)) < 1e-12
    assert trial.reality is not None
    assert trial.reality.surprises.size == 0  # the model is the environment
    assert np.isfinite(trial.reality.expected).all()
    again = gumdp.play(name, problem, gumdp.MCTS(iterations=15), seed=3)
    np.testing.assert_array_equal(trial.actions, again.actions)
    assert trial.value == again.value


@pytest.fixture(scope="module")
def lake() -> gumdp.Problem:
    return gumdp.zoo.load("frozenlake-entropy", horizon=30)


def test_play_and_run_trial_agree_in_distribution(lake: gumdp.Problem) -> None:
    env = gymnasium.make("FrozenLake-v1")
    real = np.array([gumdp.play(env, lake, gumdp.Greedy(), seed=0, trial=k).value for k in range(200)])
    model = gumdp.evaluate(lake, gumdp.Greedy(), trials=4000, seed=0)
    error = np.hypot(real.std(ddof=1) / np.sqrt(real.size), model.standard_error)
    assert abs(real.mean() - model.mean) < 4 * error


def test_a_wrong_model_is_surprised(lake: gumdp.Problem) -> None:
    dry = gumdp.from_gymnasium("FrozenLake-v1", is_slippery=False)
    problem = gumdp.Problem(dry, lake.objective, 0.9, 30)
    wet = gymnasium.make("FrozenLake-v1")  # by its id it would be made with the options of the model's
    trial = gumdp.play(wet, problem, gumdp.Random(), seed=1)
    assert trial.reality is not None
    assert trial.reality.surprises.size > 0
    step = int(trial.reality.surprises[0])
    assert trial.cells[step + 1] not in dry.row(int(trial.cells[step]), int(trial.actions[step]))[0]
    assert "led where the model said they can't" in str(trial)


def test_a_time_limit_stops_the_trial_or_restarts_the_environment() -> None:
    problem = gumdp.zoo.load("frozenlake-entropy", horizon=30)
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=10, is_slippery=False)
    stopped = gumdp.play(env, problem, gumdp.Random(), seed=0)
    assert stopped.actions.size == 10
    assert abs(stopped.occupancy.sum() - 1.0) < 1e-12
    assert abs(stopped.value - problem.value(stopped.occupancy)) < 1e-12
    assert stopped.reality is not None
    assert "time limit stopped it after 10 of 30 steps" in stopped.reality.ended
    restarted = gumdp.play(env, problem, gumdp.Random(), seed=0, at_limit="restart")
    assert restarted.actions.size == 30
    assert restarted.reality is not None
    assert restarted.reality.restarts.tolist() == [9, 19]
    assert restarted.states[10] == restarted.states[20] == 0


def test_the_environment_does_after_a_terminal_state_what_the_model_does() -> None:
    for terminal in ("table", "absorb", "restart"):
        model = gumdp.from_gymnasium("FrozenLake-v1", terminal=terminal)
        problem = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 30)
        trial = gumdp.play("FrozenLake-v1", problem, gumdp.Random(), seed=4)
        assert trial.reality is not None
        first = int(trial.reality.terminated[0])
        end = trial.states[first + 1]
        assert end in (5, 7, 11, 12, 15)
        assert trial.states[first + 2] == (0 if terminal == "restart" else end)
        assert trial.reality.surprises.size == 0


def test_several_episodes_reset_the_environment_between_them() -> None:
    model = gumdp.from_gymnasium("FrozenLake-v1")
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 5, episodes=3)
    trial = gumdp.play("FrozenLake-v1", problem, gumdp.Random(), seed=0)
    assert trial.states[[0, 5, 10]].tolist() == [0, 0, 0]


def test_a_model_written_by_hand_takes_observations_as_states() -> None:
    table = gumdp.Tabular(gumdp.from_gymnasium("FrozenLake-v1").dense(), start=0)
    problem = gumdp.Problem(table, gumdp.normalized(gumdp.Entropy()), 0.9, 10)
    assert gumdp.play("FrozenLake-v1", problem, gumdp.Greedy(), seed=0).actions.size == 10


def test_a_learned_model_acts_on_binned_observations() -> None:
    model = gumdp.learn(gumdp.from_gymnasium("MountainCar-v0"), samples=20_000)
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 12)
    trial = gumdp.play("MountainCar-v0", problem, gumdp.Greedy(), seed=0)
    assert trial.cells[0] in (35, 45)


def test_what_the_environment_draws_can_be_kept(lake: gumdp.Problem) -> None:
    env = gymnasium.make("FrozenLake-v1", render_mode="ansi")
    trial = gumdp.play(env, lake, gumdp.Greedy(), seed=0, frames=True)
    assert trial.reality is not None
    assert len(trial.reality.frames) == 31
    assert "SFFF" in trial.reality.frames[0].replace("\x1b[41mS\x1b[0m", "S")


def test_another_environment_than_the_models_is_refused(lake: gumdp.Problem) -> None:
    with pytest.raises(GumdpError, match="is an action of the model but not of Blackjack-v1"):
        gumdp.play("Blackjack-v1", lake, gumdp.Greedy())
    two = gumdp.Problem(gumdp.Tabular([[[1.0], [1.0]]]), gumdp.normalized(gumdp.Entropy()), 0.9, 5)
    with pytest.raises(GumdpError, match="the model has 2 actions, but FrozenLake-v1 has 4"):
        gumdp.play("FrozenLake-v1", two, gumdp.Random())
    with pytest.raises(GumdpError, match="unknown at_limit 'go'"):
        gumdp.play("FrozenLake-v1", lake, gumdp.Greedy(), at_limit="go")


@pytest.mark.parametrize("name", ["FrozenLake-v1", "MountainCar-v0", "Blackjack-v1"])
def test_a_problem_can_be_sent_to_another_process(name: str) -> None:
    problem = gumdp.Problem(gumdp.from_gymnasium(name), gumdp.normalized(gumdp.Entropy()), 0.9, 12)
    twin = pickle.loads(pickle.dumps(problem))
    assert str(twin.model.source) == str(problem.model.source)
    values = [gumdp.evaluate(p, gumdp.Random(), trials=5, seed=0).values for p in (problem, twin)]
    np.testing.assert_array_equal(values[0], values[1])
    assert (
        gumdp.play(name, twin, gumdp.Random(), seed=0).value == gumdp.play(name, problem, gumdp.Random(), seed=0).value
    )


def test_an_id_is_played_with_the_options_of_the_models_environment() -> None:
    model = gumdp.from_gymnasium("FrozenLake-v1", map_name="8x8", is_slippery=False)
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 30)
    trial = gumdp.play("FrozenLake-v1", problem, gumdp.Random(), seed=1)
    assert trial.reality is not None
    assert trial.reality.surprises.size == 0  # on 4 × 4 the first step down leads to another number
    assert trial.states.max() > 15


class Payer(gymnasium.Env):
    """Pays two kinds of reward, ends after three steps, and shows the sum of two dice."""

    observation_space = gymnasium.spaces.Discrete(100)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[int, dict[str, object]]:
        super().reset(seed=seed)
        self.t = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, np.ndarray, bool, bool, dict[str, object]]:
        self.t += 1
        return int(self.np_random.integers(100)), np.array([self.t, action]), self.t == 3, False, {}


@pytest.fixture(scope="module")
def payer() -> gumdp.Problem:
    return gumdp.Problem(gumdp.from_gymnasium(Payer()), gumdp.normalized(gumdp.StateEntropy()), 1.0, 6)


def test_rewards_of_several_kinds_are_kept(payer: gumdp.Problem) -> None:
    trial = gumdp.play(Payer(), payer, gumdp.Random(), seed=0)
    assert trial.rewards is not None
    assert trial.rewards[:, 0].tolist() == [1, 2, 3, 0, 1, 2]  # the fourth step is the restart
    paid = [0, 1, 2, 4, 5]
    np.testing.assert_array_equal(trial.rewards[paid, 1], trial.actions[paid])


def test_without_a_table_nothing_is_called_impossible(payer: gumdp.Problem) -> None:
    trial = gumdp.play(Payer(), payer, gumdp.Random(), seed=0)
    assert trial.reality is not None
    assert trial.reality.surprises.size == 0
    assert trial.reality.samples == 4
    assert trial.reality.unseen.size > 0  # four throws of a die with a hundred sides
    assert "steps led where none of 4 simulated ones did" in str(trial)
    quick = gumdp.play(Payer(), payer, gumdp.Random(), seed=0, samples=0)
    assert np.isnan(quick.reality.likelihood).all()
    assert "none of 6 steps was simulated" in str(quick)
    np.testing.assert_array_equal(quick.actions, trial.actions)


def test_an_unknown_id_names_the_way_through_its_package() -> None:
    with pytest.raises(GumdpError, match=r"unknown Gymnasium environment 'Nowhere-v5'; .*'package:Nowhere-v5'"):
        gumdp.from_gymnasium("Nowhere-v5")
    with pytest.raises(GumdpError, match="did you mean 'FrozenLake-v1'"):
        gumdp.from_gymnasium("FrozenLak-v1")


def test_an_id_of_a_package_that_is_not_installed_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ale_py", "gymnasium_robotics"):
        monkeypatch.setitem(sys.modules, module, None)  # as if it were not there
    for spec in [name for name in gymnasium.registry if name.startswith(("ALE/", "Fetch"))]:
        monkeypatch.delitem(gymnasium.registry, spec)
    with pytest.raises(GumdpError, match=r"ALE/Pong-v5 needs the package ale-py: pip install ale-py"):
        gumdp.from_gymnasium("ALE/Pong-v5")
    with pytest.raises(GumdpError, match=r"FetchReach-v4 needs the package gymnasium-robotics"):
        gumdp.from_gymnasium("FetchReach-v4")
