"""Any environment with finitely many actions, planned by copying it."""

from typing import Any

import gymnasium
import numpy as np
import pytest

import gumdp
from gumdp.models.compiled import next_state, start_state
from gumdp.models.gymnasium.chance import reseed
from gumdp.models.gymnasium.clone import Clone
from gumdp.models.gymnasium.opening import newest


def step(model: gumdp.models.base.Model, state: Any, action: int, world: int) -> Any:
    return model.public(next_state(model.compiled(), model.state(state), np.uint64(action), np.uint64(world)))


class Counter(gymnasium.Env):
    """Counts to ten; action 1 counts, action 2 fails."""

    observation_space = gymnasium.spaces.Discrete(11)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.n = 0
        return self.n, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if action == 2:
            raise RuntimeError("the counter is stuck")
        self.n += int(action)
        return self.n, 0.0, self.n == 10, False, {}


@pytest.fixture(scope="module")
def blackjack() -> gumdp.Problem:
    return gumdp.Problem(gumdp.from_gymnasium("Blackjack-v1"), gumdp.normalized(gumdp.Entropy()), 0.9, 8)


def test_a_clone_says_that_it_is_slow(blackjack: gumdp.Problem) -> None:
    assert isinstance(blackjack.model, Clone)
    assert blackjack.shape == (704, 2)
    assert "slower" in str(blackjack.model.source)


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_trials_on_any_number_of_threads(blackjack: gumdp.Problem) -> None:
    planner = gumdp.MCTS(iterations=15)
    one = gumdp.evaluate(blackjack, planner, trials=4, seed=1, workers=1)
    three = gumdp.evaluate(blackjack, planner, trials=4, seed=1, workers=3)
    np.testing.assert_array_equal(one.values, three.values)
    by_hand = [gumdp.run_trial(blackjack, planner, seed=1, trial=k).value for k in range(4)]
    np.testing.assert_array_equal(one.values, by_hand)


def test_trees_on_several_threads_share_the_states_to_come_back_to(blackjack: gumdp.Problem) -> None:
    planner = gumdp.MCTS(iterations=16, threads=2)
    one, two = (gumdp.run_trial(blackjack, planner, seed=2) for _ in range(2))
    np.testing.assert_array_equal(one.actions, two.actions)


@pytest.mark.thorough
def test_search_beats_chance_on_blackjack(blackjack: gumdp.Problem) -> None:
    random = gumdp.evaluate(blackjack, gumdp.Random(), trials=300, seed=0)
    search = gumdp.evaluate(blackjack, gumdp.MCTS(iterations=15), trials=8, seed=0)
    assert search.mean + 2 * search.standard_error < random.mean


def test_a_snapshot_can_be_come_back_to_again_and_again(blackjack: gumdp.Problem) -> None:
    model = blackjack.model
    state = model.public(start_state(model.compiled(), np.uint64(7)))
    first = [step(model, state, 1, k).observation for k in range(20)]
    again = [step(model, state, 1, k).observation for k in range(20)]
    assert first == again
    assert len(set(first)) > 1


def test_a_cloned_lake_slips_as_often_as_its_table_says() -> None:
    table = gumdp.from_gymnasium("FrozenLake-v1")
    model = gumdp.from_gymnasium("FrozenLake-v1", method="clone")
    start = model.public(start_state(model.compiled(), np.uint64(0)))
    assert start.observation == 0
    n = 1500
    counts = np.bincount([step(model, start, 2, k).observation for k in range(n)], minlength=16)
    p = table.dense()[0, 2]
    assert (np.abs(counts / n - p) <= 4 * np.sqrt(p * (1 - p) / n)).all()


def test_a_terminal_state_restarts_absorbs_or_goes_on() -> None:
    ends = {}
    for terminal in ("restart", "absorb"):
        model = gumdp.from_gymnasium(Counter(), terminal=terminal)
        state = model.public(start_state(model.compiled(), np.uint64(0)))
        for k in range(11):
            state = step(model, state, 1, k)
        ends[terminal] = state.observation
    assert ends == {"restart": 0, "absorb": 10}
    lake = gumdp.from_gymnasium(newest("CliffWalking"), method="clone", terminal="continue")
    state = lake.public(start_state(lake.compiled(), np.uint64(0)))
    for action in (0, *[1] * 11, 2, 0):  # up, along the cliff, down to the goal, and up again
        state = step(lake, state, action, 0)
    assert state.observation == 35


def test_the_users_own_save_and_restore_are_used_instead_of_copies() -> None:
    def restore(env: Any, saved: int) -> None:
        env.unwrapped.n = saved

    model = gumdp.from_gymnasium(Counter(), save=lambda env: env.unwrapped.n, restore=restore)
    state = model.public(start_state(model.compiled(), np.uint64(0)))
    later = step(model, step(model, state, 1, 0), 1, 0)
    assert later.data == 2
    assert step(model, state, 1, 0).observation == 1
    assert step(model, later, 1, 0).observation == 3
    with pytest.raises(gumdp.GumdpError, match="save and restore go together"):
        gumdp.from_gymnasium(Counter(), save=lambda env: 0)


def test_a_live_environment_is_left_alone_by_a_snapshot_of_it() -> None:
    env = gymnasium.make("Blackjack-v1")
    observation, _ = env.reset(seed=4)
    model = gumdp.from_gymnasium(env)
    before = env.unwrapped.np_random.bit_generator.state
    state = model.snapshot(env, observation)
    hand = list(env.unwrapped.player)
    step(model, state, 1, 0)
    assert env.unwrapped.player == hand
    assert env.unwrapped.np_random.bit_generator.state == before


def test_what_an_environment_raises_comes_out() -> None:
    problem = gumdp.Problem(gumdp.from_gymnasium(Counter()), gumdp.normalized(gumdp.Entropy()), 0.9, 8)
    with pytest.raises(gumdp.GumdpError, match=r"step\(2\) of Counter failed .* RuntimeError: the counter is stuck"):
        gumdp.evaluate(problem, gumdp.Random(), trials=5)
    with pytest.raises(gumdp.GumdpError, match=r"step\(2\) of Counter failed .* RuntimeError: the counter is stuck"):
        gumdp.run_trial(problem, gumdp.Random(), seed=0)
    for threads in (1, 2):
        with pytest.raises(
            gumdp.GumdpError, match=r"step\(2\) of Counter failed .* RuntimeError: the counter is stuck"
        ):
            gumdp.run_trial(problem, gumdp.MCTS(iterations=16, threads=threads), seed=0)


def test_an_environment_that_can_not_be_copied_asks_for_a_function_that_makes_it() -> None:
    env = Counter()
    env.lock = __import__("threading").Lock()
    with pytest.raises(gumdp.GumdpError, match=r"Counter can't be copied .*give a function that makes it"):
        gumdp.from_gymnasium(env)


def test_a_wrapper_that_changes_the_dynamics_leads_to_clones() -> None:
    env = gymnasium.wrappers.StickyAction(gymnasium.make("FrozenLake-v1", is_slippery=False), 0.5)
    model = gumdp.from_gymnasium(env)
    assert isinstance(model, Clone)
    start = model.public(start_state(model.compiled(), np.uint64(0)))
    right = step(model, start, 2, 0)
    n = 600
    down = np.mean([step(model, right, 1, k).observation == 5 for k in range(n)])
    assert abs(down - 0.5) < 4 * np.sqrt(0.25 / n)


def test_a_continuous_action_space_is_refused() -> None:
    with pytest.raises(gumdp.GumdpError, match=r"finitely many to choose from\. Give actions=3"):
        gumdp.from_gymnasium("MountainCarContinuous-v0", bins=5)


def test_continuous_observations_ask_for_bins_and_get_them() -> None:
    env = gymnasium.wrappers.TransformObservation(
        gymnasium.make("MountainCar-v0"), lambda x: x, gymnasium.make("MountainCar-v0").observation_space
    )
    with pytest.raises(gumdp.GumdpError, match=r"are continuous.*give bins=gumdp\.Bins"):
        gumdp.from_gymnasium(env)
    model = gumdp.from_gymnasium(env, bins=10)
    assert (model.shape, model.grid) == ((100, 3), (10, 10))
    state = model.public(start_state(model.compiled(), np.uint64(0)))
    assert state.cell == gumdp.Bins(10, low=(-1.2, -0.07), high=(0.6, 0.07)).index(state.observation)


def test_observations_without_a_numbering_ask_for_one() -> None:
    env = Counter()
    env.observation_space = gymnasium.spaces.Text(5)
    with pytest.raises(gumdp.GumdpError, match=r"have no natural numbering; give index=function"):
        gumdp.from_gymnasium(env)
    model = gumdp.from_gymnasium(env, index=lambda n: min(n, 4), cells=5)
    assert model.shape == (5, 3)
    parity = gumdp.from_gymnasium(env, index=lambda n, env: env.unwrapped.n % 2, cells=2)
    state = parity.public(start_state(parity.compiled(), np.uint64(0)))
    assert step(parity, state, 1, 0).cell == 1
    wrong = gumdp.from_gymnasium(env, index=lambda n: n + 1, cells=2)
    with pytest.raises(gumdp.GumdpError, match="index returned 2 for 1; it must be from 0 to 1"):
        gumdp.run_trial(gumdp.Problem(wrong, gumdp.normalized(gumdp.Entropy()), 0.9, 8), gumdp.Random())


def test_composite_observations_are_numbered_without_a_gap() -> None:
    from gumdp.models.gymnasium.observations import count_of, number_in

    spaces = gymnasium.spaces
    space = spaces.Dict(
        a=spaces.Discrete(3, start=1), b=spaces.Tuple([spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(2)])
    )
    space.seed(0)
    assert count_of(space) == 3 * 6 * 4
    seen = {number_in(space, space.sample()) for _ in range(3000)}
    assert seen == set(range(72))


def test_only_its_own_snapshots_are_states_of_a_clone(blackjack: gumdp.Problem) -> None:
    with pytest.raises(gumdp.GumdpError, match="must be a Snapshot of this model"):
        gumdp.Random().start(blackjack).act((13, 5, 0))


def test_reseeding_makes_uniform_and_uncorrelated_numbers() -> None:
    dice = np.random.Generator(np.random.PCG64(0))
    draws = []
    for bits in range(4000):
        reseed(dice, bits)
        draws.append(dice.random(2))
    sample = np.array(draws)
    assert (np.abs(sample.mean(axis=0) - 0.5) < 4 * np.sqrt(1 / 12 / 4000)).all()
    assert abs(np.corrcoef(sample.T)[0, 1]) < 4 / np.sqrt(4000)
    assert abs(np.corrcoef(sample[:-1, 0], sample[1:, 0])[0, 1]) < 4 / np.sqrt(4000)


def test_an_environment_with_a_screen_is_copied_without_it() -> None:
    pytest.importorskip("pygame", reason="pygame draws Gymnasium's toy environments")
    env = gymnasium.make("FrozenLake-v1", render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    env.render()
    model = gumdp.from_gymnasium(env, method="clone")
    state = model.snapshot(env, observation)
    assert step(model, state, 2, 0).cell in (0, 1, 4)


def test_minigrid_counts_the_squares() -> None:
    pytest.importorskip("minigrid", reason="the extra gumdp[minigrid] is not installed")
    model = gumdp.from_gymnasium("MiniGrid-Empty-5x5-v0")
    assert (model.shape, model.grid) == ((25, 7), (5, 5))
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 8)
    random = gumdp.evaluate(problem, gumdp.Random(), trials=50, seed=0)
    search = gumdp.evaluate(problem, gumdp.MCTS(iterations=15), trials=2, seed=0)
    assert search.values.max() < random.mean
