"""The occupancy MDP as a Gymnasium environment."""

import runpy
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gumdp
from gumdp.occupancy import empirical_occupancy


def play(env: gymnasium.Env, seed: int) -> tuple[list[int], list[int], list[float]]:
    """The states, actions and rewards of an episode of random actions."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    states, actions, rewards, over = [], [], [], False
    while not over:
        states.append(int(observation["state"]))
        actions.append(int(rng.integers(env.action_space.n)))
        observation, reward, over, _, _ = env.step(actions[-1])
        rewards.append(reward)
    return states, actions, rewards


@pytest.mark.parametrize("name", ["m1-entropy", "frozenlake-imitation", "mountaincar-entropy"])
@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # of a state without bounds
def test_it_passes_gymnasiums_checker(name: str) -> None:
    env = gymnasium.make("gumdp.environment:gumdp/Occupancy-v0", problem=name)
    check_env(env.unwrapped, skip_render_check=True)


def test_the_return_is_the_objective_of_what_was_done() -> None:
    problem = gumdp.zoo.load("m1-entropy", horizon=12)
    env = gumdp.OccupancyEnv(problem)
    for seed in range(5):
        states, actions, rewards = play(env, seed)
        d = empirical_occupancy(states, actions, problem.shape, problem.discount)
        assert rewards[:-1] == [0.0] * 11
        assert abs(rewards[-1] + problem.value(d)) < 1e-12


def test_shaping_adds_up_to_nothing() -> None:
    problem = gumdp.zoo.load("m1-entropy", horizon=12)
    for discount in (1.0, 0.8):
        plain = gumdp.OccupancyEnv(problem)
        shaped = gumdp.OccupancyEnv(problem, shaping="progress", discount=discount)
        weights = discount ** np.arange(12)
        for seed in range(3):
            one, two = play(plain, seed), play(shaped, seed)
            assert one[:2] == two[:2]
            assert abs(weights @ one[2] - weights @ two[2]) < 1e-12
            assert np.count_nonzero(two[2]) > 6


def test_random_play_has_the_value_that_the_kernels_find() -> None:
    problem = gumdp.zoo.load("m1-entropy", horizon=12)
    env = gumdp.OccupancyEnv(problem)
    values = np.array([-play(env, seed)[2][-1] for seed in range(400)])
    kernel = gumdp.evaluate(problem, gumdp.Random(), trials=20_000, seed=0)
    assert abs(values.mean() - kernel.mean) < 4 * values.std(ddof=1) / 20


def test_several_episodes_are_one_trial() -> None:
    env = gumdp.OccupancyEnv(gumdp.Problem(gumdp.zoo.load("m1-entropy").model, gumdp.Entropy(), 0.9, 4, episodes=3))
    states, actions, _ = play(env, 0)
    assert len(actions) == 12
    assert [states[k] for k in (0, 4, 8)] == [0, 0, 0]


def test_forbidden_actions_are_masked_and_refused() -> None:
    stay = np.tile(np.eye(2)[:, None, :], (1, 2, 1))
    model = gumdp.Tabular(stay, available=[[True, False], [True, True]])
    env = gumdp.OccupancyEnv(gumdp.Problem(model, gumdp.Entropy(), 0.9, 4))
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0]
    with pytest.raises(gumdp.GumdpError, match="action 1 is not available in state 0"):
        env.step(1)


def test_bad_use_gets_a_sentence() -> None:
    env = gumdp.OccupancyEnv("m1-entropy")
    with pytest.raises(gumdp.GumdpError, match="call reset first"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(gumdp.GumdpError, match="action must be below 2, not 2"):
        env.step(2)
    with pytest.raises(gumdp.GumdpError, match="did you mean 'm1-entropy'"):
        gumdp.OccupancyEnv("m1-entropi")
    with pytest.raises(gumdp.GumdpError, match="unknown shaping"):
        gumdp.OccupancyEnv("m1-entropy", shaping="yes")
    with pytest.raises(gumdp.GumdpError, match="a Problem or a name"):
        gumdp.OccupancyEnv(3)


def test_the_tabular_learner_of_the_examples_learns() -> None:
    path = Path(__file__).parents[1] / "examples" / "learn_in_the_occupancy_mdp.py"
    example = runpy.run_path(str(path))
    problem = gumdp.zoo.load("m1-entropy", horizon=4)
    env = gumdp.OccupancyEnv(problem)
    values = example["train"](env, 3000)
    learned = []
    for episode in range(200):
        observation, _ = env.reset(seed=episode)
        over = False
        while not over:
            action = int(values[example["situation"](observation)].argmax())
            observation, reward, over, _, _ = env.step(action)
        learned.append(-reward)
    random = gumdp.evaluate(problem, gumdp.Random(), trials=2000, seed=0)
    assert np.mean(learned) + 4 * np.std(learned) / np.sqrt(200) < random.mean
