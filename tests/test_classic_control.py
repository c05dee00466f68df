"""The compiled simulators do what Gymnasium's own environments do."""

import time

import gymnasium
import numpy as np
import pytest

import gumdp
from gumdp.jit.random import advance, high, mix
from gumdp.jit.record import kernel, u64
from gumdp.models.classic_dynamics import between
from gumdp.models.compiled import four, next_state, start_state

IDS = ["MountainCar-v0", "CartPole-v1", "Acrobot-v1", "Pendulum-v1"]


def walk(env: gymnasium.Env, model: gumdp.Simulator, steps: int, seed: int) -> float:
    """Step both side by side from the same states; return the largest difference after one step."""
    rng, worst = np.random.default_rng(seed), 0.0
    env.reset(seed=seed)
    for k in range(steps):
        if k and k % 250 == 0:
            env.reset()
        before = model.source.read(env, None)
        action = int(rng.integers(model.shape[1]))
        env.step(model.source.commands[action])
        after = next_state(model.compiled(), before, np.uint64(action), np.uint64(k))
        worst = max(worst, np.abs(np.subtract(after, model.source.read(env, None))).max())
    return worst


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*You are calling 'step")
def test_a_simulator_steps_as_gymnasium_does(name: str) -> None:
    """Bit for bit, up to the last digit of sines and cosines, which NumPy and the C library may round apart."""
    env = gymnasium.make(name).unwrapped
    model = gumdp.from_gymnasium(env, terminal="continue")
    assert walk(env, model, 3000, seed=0) <= 8 * np.spacing(8.0)


def test_mountain_car_steps_bit_for_bit() -> None:
    env = gymnasium.make("MountainCar-v0").unwrapped
    assert walk(env, gumdp.from_gymnasium(env), 5000, seed=1) == 0.0


@pytest.mark.filterwarnings("ignore:.*You are calling 'step")
def test_parameters_come_from_the_environment() -> None:
    pole = gymnasium.make("CartPole-v1").unwrapped
    pole.gravity, pole.force_mag, pole.kinematics_integrator = 3.0, 7.0, "semi-implicit euler"
    assert walk(pole, gumdp.from_gymnasium(pole, terminal="continue"), 300, seed=2) < 1e-12
    pendulum = gymnasium.make("Pendulum-v1", g=3.5).unwrapped
    assert walk(pendulum, gumdp.from_gymnasium(pendulum, torques=[-1.7, 0.3]), 300, seed=2) < 1e-12
    swing = gymnasium.make("Acrobot-v1").unwrapped
    swing.book_or_nips, swing.dt = "nips", 0.05
    assert walk(swing, gumdp.from_gymnasium(swing), 300, seed=2) < 1e-12


def test_uniform_draws_are_numpys_own() -> None:
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    for least, most in ((-0.6, -0.4), (-0.05, 0.05), (-np.pi, np.pi)):
        assert between(least, most, ours.random()) == theirs.uniform(least, most)


@pytest.mark.parametrize("name", IDS)
def test_resets_fill_the_range_that_gymnasium_resets_to(name: str) -> None:
    env = gymnasium.make(name).unwrapped
    model = gumdp.from_gymnasium(env)
    ours = np.array([start_state(model.compiled(), np.uint64(k)) for k in range(1000)])
    theirs = []
    for k in range(1000):
        env.reset(seed=k)
        theirs.append(model.source.read(env, None))
    spread = np.ptp(theirs, axis=0)
    np.testing.assert_allclose(ours.min(axis=0), np.min(theirs, axis=0), atol=0.02 * spread.max())
    np.testing.assert_allclose(ours.max(axis=0), np.max(theirs, axis=0), atol=0.02 * spread.max())
    error = np.std(theirs, axis=0) * np.sqrt(2 / 1000)
    assert (np.abs(ours.mean(axis=0) - np.mean(theirs, axis=0)) <= 4 * error).all()


def test_an_acrobot_starts_with_32_bit_numbers_as_gymnasiums_does() -> None:
    state = start_state(gumdp.from_gymnasium("Acrobot-v1").compiled(), np.uint64(5))
    u = four(np.uint64(mix(5)))
    assert state == tuple(float(np.float32(between(-0.1, 0.1, x))) for x in u)


def test_a_car_at_the_goal_goes_on_stays_or_restarts() -> None:
    goal = (0.55, 0.05)
    step = {
        terminal: next_state(
            gumdp.from_gymnasium("MountainCar-v0", terminal=terminal).compiled(), goal, np.uint64(2), np.uint64(0)
        )
        for terminal in ("continue", "absorb", "restart")
    }
    assert step["continue"][0] == 0.6  # clipped at the right end, as Gymnasium does
    assert step["absorb"] == goal
    assert -0.6 <= step["restart"][0] <= -0.4
    assert step["restart"][1] == 0.0


def test_a_simulator_that_ends_where_gymnasium_terminates() -> None:
    rng = np.random.default_rng(0)
    for name in IDS:
        env = gymnasium.make(name).unwrapped
        model = gumdp.from_gymnasium(env, terminal="continue")
        ended = 0
        for episode in range(20):
            env.reset(seed=episode)
            for _ in range(300):
                action = int(rng.integers(model.shape[1]))
                if name in ("MountainCar-v0", "Acrobot-v1"):  # push in the direction of the last joint's motion
                    action = 2 * int(env.state[-1] > 0)
                _, _, terminated, _, _ = env.step(model.source.commands[action])
                assert bool(model.compiled().dynamics.ended(model.source.read(env, None))) == terminated
                ended += terminated
                if terminated:
                    break
        assert (ended > 0) == (name != "Pendulum-v1")


def test_a_subclass_has_no_twin() -> None:
    from gymnasium.envs.classic_control import MountainCarEnv

    class Icy(MountainCarEnv):
        pass

    with pytest.raises(gumdp.GumdpError, match="no compiled simulator of Icy"):
        gumdp.from_gymnasium(Icy(), method="simulator")


def test_torques_are_checked() -> None:
    with pytest.raises(gumdp.GumdpError, match="between -2 and 2"):
        gumdp.from_gymnasium("Pendulum-v1", torques=[3.0])
    with pytest.raises(gumdp.GumdpError, match="at least 2"):
        gumdp.from_gymnasium("Pendulum-v1", torques=1)


def test_the_mountain_car_settings_give_the_random_policy_what_the_paper_reports() -> None:
    for name, spread in (("mountaincar-entropy", 0.02), ("mountaincar-imitation", 0.04)):
        result = gumdp.evaluate(gumdp.zoo.load(name), gumdp.Random(), trials=2000, seed=0)
        assert abs(result.mean - gumdp.zoo.find(name).published["random"]) < spread + 4 * result.standard_error


@pytest.mark.parametrize(
    ("name", "low", "high"), [("mountaincar-entropy", 0.03, 0.03), ("mountaincar-imitation", 0.01, 0.02)]
)
def test_the_solver_baseline_of_a_simulator_is_within_the_published_interval(
    name: str, low: float, high: float
) -> None:
    published = gumdp.zoo.find(name).published["solver"]
    result = gumdp.evaluate(gumdp.zoo.load(name), gumdp.BestOnAverage(), trials=1000, seed=0)
    assert published - low - 4 * result.standard_error < result.mean < published + high + 4 * result.standard_error


@kernel
def bare_rollouts(model, weights, d, rolls, rng):
    """What a trial's search simulates, and nothing else: pick an action, count the pair, step."""
    rng = u64(rng)
    for t in range(weights.size):
        for _ in range(rolls):
            s = model.reset(mix(rng))
            k = u64(t)
            while k < u64(weights.size):
                rng = advance(rng)
                bits = mix(rng)
                a = model.pick(s, high(bits))
                d[model.cell(s) * u64(model.actions) + a] += weights[k]
                s = model.step(s, a, bits)
                k += u64(1)
    return rng


@pytest.mark.thorough
def test_search_takes_at_most_three_times_its_bare_rollouts() -> None:
    problem, rolls = gumdp.zoo.load("mountaincar-entropy"), 100
    d = np.zeros(300)
    bare_rollouts(problem.model.compiled(), problem.weights, d, 1, np.uint64(1))
    gumdp.evaluate(problem, gumdp.MCTS.paper(iterations=2), trials=1, workers=1)
    bare, search = [], []
    for k in range(4):
        began = time.process_time()
        bare_rollouts(problem.model.compiled(), problem.weights, d, rolls, np.uint64(k))
        bare.append(time.process_time() - began)
        began = time.process_time()
        gumdp.evaluate(problem, gumdp.MCTS.paper(iterations=rolls), trials=1, seed=k, workers=1)
        search.append(time.process_time() - began)
    assert min(search) < 3.0 * min(bare)
