"""The occupancy MDP as a Gymnasium environment."""

import subprocess
import sys
from collections import defaultdict

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
    env = gymnasium.make("gumdp/Occupancy-v0", problem=name)
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
    env = gumdp.OccupancyEnv(gumdp.Problem(model, gumdp.Entropy(), 0.9, 4), unavailable="refuse")
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


def test_a_learner_that_sees_observations_and_rewards_only_comes_near_the_optimum() -> None:
    problem = gumdp.zoo.load("m1-entropy", horizon=4)
    env = gumdp.OccupancyEnv(problem)
    rng = np.random.default_rng(0)
    total: dict[tuple[int, int, bytes], np.ndarray] = defaultdict(lambda: np.zeros(2))
    count: dict[tuple[int, int, bytes], np.ndarray] = defaultdict(lambda: np.full(2, 1e-9))

    def episode(randomness: float, seed: int) -> float:
        observation, _ = env.reset(seed=seed)
        path, over = [], False
        while not over:
            key = int(observation["time"]), int(observation["state"]), observation["occupancy"].tobytes()
            best = int((total[key] / count[key]).argmax())
            path.append((key, int(rng.integers(2)) if rng.random() < randomness else best))
            observation, reward, over, _, _ = env.step(path[-1][1])
        for key, action in path:
            total[key][action] += reward
            count[key][action] += 1
        return -reward

    for k in range(4000):
        episode(0.3, k)
    learned = [episode(0.0, 10_000 + k) for k in range(500)]
    error = np.std(learned) / np.sqrt(500)
    best = gumdp.solve_exact(problem).value
    random = gumdp.evaluate(problem, gumdp.Random(), trials=2000, seed=0).mean
    assert best - 4 * error < np.mean(learned) < (best + random) / 2 - 4 * error


@pytest.fixture(scope="module")
def masked() -> gumdp.Problem:
    """Two states; in the first only the last of three actions, which leads to the other and back."""
    rows = np.zeros((2, 3, 2))
    rows[0, :, 1] = rows[1, :, 0] = 1.0
    model = gumdp.Tabular(rows, start=0, available=[[False, False, True], [True, True, True]])
    return gumdp.Problem(model, gumdp.Entropy(), 0.9, 6)


def test_an_action_that_there_is_not_is_replaced_by_the_next_that_there_is(masked: gumdp.Problem) -> None:
    env = gumdp.OccupancyEnv(masked)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [False, False, True]
    observation, _, _, _, info = env.step(0)
    assert info["action"] == 2
    assert observation["occupancy"][0].tolist() == [0.0, 0.0, masked.weights[0]]
    assert env.action_masks().all()
    assert env.step(1)[4]["action"] == 1
    check_env(gumdp.OccupancyEnv(masked), skip_render_check=True)


@pytest.mark.parametrize("name", ["m1-entropy", "mountaincar-entropy"])
@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # of a state without bounds
def test_flat_observations_say_the_same(name: str) -> None:
    whole, flat = gumdp.OccupancyEnv(name), gumdp.OccupancyEnv(name, flat=True)
    check_env(flat, skip_render_check=True)
    one, two = whole.reset(seed=3)[0], flat.reset(seed=3)[0]
    for action in (0, 1, 1):
        states, rest = two[: -one["occupancy"].size - 1], two[-one["occupancy"].size - 1 :]
        known = np.eye(states.size)[one["state"]] if np.ndim(one["state"]) == 0 else one["state"]
        np.testing.assert_allclose(states, known, rtol=1e-6)
        np.testing.assert_allclose(rest[:-1], one["occupancy"].ravel(), rtol=1e-6)
        assert abs(rest[-1] - one["time"] / whole.problem.steps) < 1e-6
        one, two = whole.step(action)[0], flat.step(action)[0]


@pytest.mark.parametrize("order", ["import gumdp, gymnasium", "import gymnasium, gumdp", "import gymnasium"])
def test_gymnasium_knows_the_id_once_both_are_imported(order: str) -> None:
    code = f"{order}; print(gymnasium.spec('gumdp/Occupancy-v0').entry_point)"
    if "gumdp" not in order:  # the name says which package to import
        code = f"{order}; print(gymnasium.make('gumdp:gumdp/Occupancy-v0', problem='m1-entropy').spec.entry_point)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.strip() == "gumdp.run.environment:OccupancyEnv"


def test_importing_gumdp_does_not_import_gymnasium() -> None:
    code = "import gumdp, sys; print('gymnasium' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.strip() == "False"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PPO", "DQN", "MaskablePPO"])
def test_learners_run_with_and_without_a_mask(kind: str, masked: gumdp.Problem) -> None:
    pytest.importorskip("stable_baselines3", reason="the extra gumdp[learning] is not installed")
    library = pytest.importorskip("sb3_contrib" if kind == "MaskablePPO" else "stable_baselines3")
    for problem in (masked, gumdp.zoo.load("m1-entropy", horizon=6)):
        rollout = {} if kind == "DQN" else {"n_steps": 32, "batch_size": 32}
        learner = getattr(library, kind)("MultiInputPolicy", gumdp.OccupancyEnv(problem), seed=0, **rollout)
        learner.learn(128)


def test_vectors_of_environments_run_as_cleanrl_writes_them(masked: gumdp.Problem) -> None:
    for problem in (masked, gumdp.zoo.load("m1-entropy", horizon=6)):
        make = lambda problem=problem: gymnasium.wrappers.RecordEpisodeStatistics(  # noqa: E731
            gymnasium.make("gumdp/Occupancy-v0", problem=problem, flat=True)
        )
        envs = gymnasium.vector.SyncVectorEnv([make] * 3)
        assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
        observations, _ = envs.reset(seed=1)
        assert observations.shape == (3, *envs.single_observation_space.shape)
        assert observations.dtype == np.float32
        envs.action_space.seed(0)
        paid, ended = np.zeros(3), []
        for _ in range(6):
            observations, rewards, over, cut, infos = envs.step(envs.action_space.sample())
            paid += rewards
            ended.append(over | cut)
        assert not np.any(ended[:-1])
        assert np.all(ended[-1])
        np.testing.assert_allclose(infos["episode"]["r"], paid, rtol=1e-6)
        assert (observations[:, -1] == 1.0).all()  # all steps are made
        envs.close()


def test_gymnasium_makes_a_vector_of_it() -> None:
    envs = gymnasium.make_vec("gumdp/Occupancy-v0", num_envs=2, problem="m1-entropy")
    observations, _ = envs.reset(seed=0)
    assert observations["occupancy"].shape == (2, 3, 2)
    envs.close()


def test_all_arguments_can_come_in_one_dictionary_as_rllib_hands_them_over(masked: gumdp.Problem) -> None:
    env = gumdp.OccupancyEnv({"problem": masked, "flat": True})
    assert env.reset(seed=0)[0].shape == env.observation_space.shape == (9,)
    for given, words in (({}, "must have a problem"), ({"problem": "m1-entropy", "flt": True}, "flt")):
        with pytest.raises(gumdp.GumdpError, match=words):
            gumdp.OccupancyEnv(given)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of RLlib's own
def test_rllib_trains_with_and_without_a_mask(masked: gumdp.Problem) -> None:
    ppo = pytest.importorskip("ray.rllib.algorithms.ppo", reason="RLlib is not installed", exc_type=ImportError)
    from ray.rllib.connectors.env_to_module import FlattenObservations

    ways = (
        (masked, "gumdp/Occupancy-v0", {"env_to_module_connector": lambda *_, **__: FlattenObservations()}, False),
        ("m1-entropy", gumdp.OccupancyEnv, {}, True),
    )
    for problem, world, options, flat in ways:
        config = ppo.PPOConfig().environment(world, env_config={"problem": problem, "flat": flat})
        config = config.env_runners(num_env_runners=0, **options).learners(num_learners=0)
        config = config.training(train_batch_size_per_learner=128, minibatch_size=64, num_epochs=1)
        algorithm = config.build_algo()
        assert np.isfinite(algorithm.train()["env_runners"]["episode_return_mean"])
        algorithm.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of RLlib's own
@pytest.mark.parametrize("flat", [False, True])
def test_rllib_encodes_what_it_sees(flat: bool, masked: gumdp.Problem) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    catalog = pytest.importorskip(
        "ray.rllib.core.models.catalog", reason="RLlib is not installed", exc_type=ImportError
    )
    import torch

    for problem in (masked, gumdp.zoo.load("m1-entropy", horizon=6)):
        env = gumdp.OccupancyEnv(problem, flat=flat)
        seen = gymnasium.spaces.utils.flatten(env.observation_space, env.reset(seed=0)[0])
        space = gymnasium.spaces.utils.flatten_space(env.observation_space)  # what RLlib's flattening connector gives
        made = catalog.Catalog(space, env.action_space, {"fcnet_hiddens": [8]})
        encoder = made.build_encoder(framework="torch")
        out = encoder({"obs": torch.as_tensor(seen[None], dtype=torch.float32)})
        assert out["encoder_out"].shape == (1, made.latent_dims[0])
