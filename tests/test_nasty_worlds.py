"""Environments that people write: each works right, or is refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import gumdp

SIZE = 7
Step = tuple[Any, Any, bool, bool, dict[str, Any]]


class Ring(gymnasium.Env):
    """A ring of seven places: action 0 goes one on, action 1 three."""

    observation_space = gymnasium.spaces.Discrete(SIZE)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.t = 0
        return self.look(), {}

    def step(self, action: int) -> Step:
        self.t += 1
        self.move(int(action))
        return self.look(), float(self.x), False, False, {}

    def move(self, action: int) -> None:
        self.x = (self.x + 1 + 2 * action) % SIZE

    def look(self) -> Any:
        return self.x


shared = {"x": 0}


class Global(Ring):
    """Where it is, is written in the module; 24 steps of a test may well bring it round the ring."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        shared["x"] = 0
        return super().reset(seed=seed)

    def move(self, action: int) -> None:
        self.x = shared["x"] = (shared["x"] + 1 + 2 * action) % SIZE


class SharedArray(Ring):
    """Its copies share the array that it shows and changes."""

    observation_space = gymnasium.spaces.MultiDiscrete([SIZE, SIZE])

    def __init__(self) -> None:
        self.place = np.zeros(2, np.int64)

    def __deepcopy__(self, memo: Any) -> SharedArray:
        twin = type(self)()
        vars(twin).update(vars(self))
        return twin

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.place[:] = 0
        return super().reset(seed=seed)

    def move(self, action: int) -> None:
        self.place[action] = (self.place[action] + 1) % SIZE

    def look(self) -> Any:
        return self.place


class RarelyShared(SharedArray):
    """Its copies share an array that is written to every 35 steps."""

    observation_space = gymnasium.spaces.Discrete(SIZE)

    def move(self, action: int) -> None:
        self.place[0] += self.t % 35 == 0
        self.x = (self.x + 1 + 2 * action + int(self.place[0])) % SIZE

    def look(self) -> Any:
        return self.x


class Visited(SharedArray):
    """Its copies share marks of where it was: who does the same leaves the same marks."""

    observation_space = gymnasium.spaces.MultiDiscrete([60, 60])

    def __init__(self) -> None:
        self.place = np.zeros(60, np.int64)

    def move(self, action: int) -> None:
        self.x = (self.x + 1 + action) % 60
        self.place[self.x] = 1

    def look(self) -> Any:
        return np.array([self.place.sum(), self.x])


@pytest.mark.parametrize("world", [Global, SharedArray, RarelyShared, Visited])
def test_copies_that_share_something_are_refused(world: type) -> None:
    with pytest.raises(gumdp.GumdpError, match="both share a simulator"):
        gumdp.from_gymnasium(world(), method="copy")


class Closing(Ring):
    """A function of its own moves it, and another one counts, by what they see around them."""

    def __init__(self) -> None:
        count = 0

        def move(action: int) -> None:
            nonlocal count
            count += 1
            self.x = (self.x + 1 + 2 * action + count // 3) % SIZE

        def forget() -> None:
            nonlocal count
            count = 0

        self.go, self.forget = move, forget

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.forget()
        return super().reset(seed=seed)

    def move(self, action: int) -> None:
        self.go(action)


class Dice(Ring):
    """Draws from a generator that only a function knows."""

    def __init__(self) -> None:
        dice = np.random.default_rng(0)
        self.draw = lambda: int(dice.integers(3))

    def move(self, action: int) -> None:
        self.x = (self.x + 1 + self.draw()) % SIZE


@pytest.mark.thorough
def test_functions_are_copied_with_what_they_see_around_them() -> None:
    env = Closing()
    model = gumdp.from_gymnasium(env)
    assert model.way == "copy"
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 12)
    trial = gumdp.play(env, problem, gumdp.MCTS(iterations=10), seed=0)
    assert trial.reality.unseen.size == 0
    again = Closing()
    again.reset(seed=0)
    assert [again.step(a)[0] for a in trial.actions[:-1]] == trial.cells[1:].tolist()


def test_generators_are_found_inside_functions() -> None:
    model = gumdp.from_gymnasium(Dice())
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 12)
    first, second = (gumdp.run_trial(problem, gumdp.Random(), seed=3).cells.tolist() for _ in range(2))
    assert first == second


class Deaf(Ring):
    """Starts anywhere, and does not listen to the seed."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset()
        self.x = int(self.np_random.integers(SIZE))
        return self.x, {}


def test_a_reset_that_forgets_its_seed_is_repeated_all_the_same() -> None:
    model = gumdp.from_gymnasium(Deaf)
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 5)
    starts = [gumdp.run_trial(problem, gumdp.Random(), seed=k).cells[0] for k in range(20)]
    assert starts == [gumdp.run_trial(problem, gumdp.Random(), seed=k).cells[0] for k in range(20)]
    assert len(set(starts)) > 2


class Bare(gymnasium.Env):
    """It says nothing of its spaces."""


class OldReset(Ring):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)[0]


class NoSeed(Ring):
    def reset(self) -> Any:  # type: ignore[override]
        return 0, {}


class NoDisplay(Ring):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        raise OSError("no display")


class Quits(Ring):
    def move(self, action: int) -> None:
        raise SystemExit(3)


class Half(Ring):
    def look(self) -> Any:
        return self.x + 0.5


class Lookup(Ring):
    def __getattr__(self, name: str) -> Any:
        return {}[name]


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (Bare, "observation_space of Bare fails with AttributeError"),
        (OldReset, "reset of OldReset must return \\(observation, info\\)"),
        (NoSeed, "reset\\(seed=7\\) fails with TypeError"),
        (NoDisplay, "reset\\(seed=7\\) fails with OSError: no display"),
        (Quits, "fails at its first step, whatever is done: SystemExit: 3"),
        (Lookup, "the environment fails with KeyError"),
    ],
)
def test_what_is_no_environment_is_refused_with_a_sentence(world: Callable[[], Any], words: str) -> None:
    with pytest.raises(gumdp.GumdpError, match=words):
        gumdp.from_gymnasium(world())


def test_half_a_place_is_not_in_a_space_of_whole_numbers() -> None:
    problem = gumdp.Problem(gumdp.from_gymnasium(Half()), gumdp.normalized(gumdp.StateEntropy()), 1.0, 5)
    with pytest.raises(gumdp.GumdpError, match=r"showed 0\.5, which is not in its observation space"):
        gumdp.run_trial(problem, gumdp.Random(), seed=0)


def test_a_name_is_no_table() -> None:
    class Parts(Ring):
        P = dict  # a class of its own, perhaps

    assert gumdp.from_gymnasium(Parts()).way == "copy"


# --- rewards -----------------------------------------------------------------------------------------------------


def returns(model: Any, env: Any) -> tuple[float, float]:
    """What a trial is said to have brought, and what it did bring."""
    counts = gumdp.Features("reward", names=["pay"])
    problem = gumdp.Problem(model, gumdp.Utility(lambda z: z[0]), 1.0, 6, counts=counts, scale="sum")
    simulated = gumdp.run_trial(problem, gumdp.MCTS(iterations=20), seed=0)
    env.reset(seed=0)
    paid = sum(float(env.step(a)[1]) for a in simulated.actions)
    return simulated.totals["pay"], paid


@pytest.mark.thorough
def test_wrappers_that_change_rewards_change_what_is_planned_for() -> None:
    def make() -> Any:
        return gymnasium.wrappers.TransformReward(Ring(), lambda pay: 10.0 - pay)

    said, paid = returns(gumdp.from_gymnasium(make), make())
    assert said == pytest.approx(paid)


def test_the_rewards_of_a_table_are_not_those_of_a_wrapper() -> None:
    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda pay: -pay)
    model = gumdp.from_gymnasium(env)
    assert model.shape == (16, 4)
    with pytest.raises(gumdp.GumdpError, match="reward"):
        gumdp.Problem(model, gumdp.Utility(lambda z: z[0]), 1.0, 6, counts=gumdp.Features("reward"), scale="sum")


def test_somebodys_own_wrapper_is_not_taken_for_one_of_gymnasiums() -> None:
    class TimeLimit(gymnasium.ObservationWrapper):
        def observation(self, observation: int) -> int:
            return SIZE - 1 - observation

    model = gumdp.from_gymnasium(TimeLimit(Ring()))
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 3)
    assert gumdp.run_trial(problem, gumdp.Random(), seed=0).cells[0] == SIZE - 1


class Pair(Ring):
    """Pays two numbers, and says so nowhere."""

    def step(self, action: int) -> Step:
        seen, pay, *rest = super().step(action)
        return seen, np.array([pay, 1.0]), *rest  # type: ignore[return-value]


def test_vectors_of_rewards_are_found_where_nothing_says_so() -> None:
    model = gumdp.from_gymnasium(Pair())
    counts = gumdp.Features("reward", names=["pay", "time"])
    problem = gumdp.Problem(model, gumdp.Utility(lambda z: z[0]), 1.0, 6, counts=counts, scale="sum")
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    assert trial.totals["time"] == 6.0


@pytest.mark.thorough
def test_one_number_of_a_wrapper_is_not_taken_for_two() -> None:
    class First(gymnasium.RewardWrapper):
        reward_space = gymnasium.spaces.Box(0.0, 7.0, (2,))

        def reward(self, reward: Any) -> float:
            return float(reward[0])

    def make() -> Any:
        env = First(Pair())
        env.unwrapped.reward_space = First.reward_space  # type: ignore[attr-defined]
        return env

    model = gumdp.from_gymnasium(make, method="copy")
    said, paid = returns(model, make())
    assert said == pytest.approx(paid)


class MadeByReset(Ring):
    """Its first reset makes a generator, which later ones leave alone; the start is drawn from it."""

    rng: np.random.Generator | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.rng = self.rng or np.random.default_rng(5)
        self.x = int(self.rng.integers(SIZE))
        return self.x, {}


@pytest.mark.filterwarnings("error")  # that it can't be checked
def test_a_generator_that_the_first_reset_makes_is_set_for_the_first_episode_too() -> None:
    problem = gumdp.Problem(gumdp.from_gymnasium(MadeByReset), gumdp.normalized(gumdp.StateEntropy()), 1.0, 5)
    starts = [gumdp.run_trial(problem, gumdp.Random(), seed=k).cells[0] for k in range(10)]
    other = gumdp.Problem(gumdp.from_gymnasium(MadeByReset), gumdp.normalized(gumdp.StateEntropy()), 1.0, 5)
    assert starts == [gumdp.run_trial(other, gumdp.Random(), seed=k).cells[0] for k in range(10)]


class Started(Ring):
    """As some games have it: the first step of an episode starts it, which its saved states know nothing of."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.started = False
        return super().reset(seed=seed)

    def move(self, action: int) -> None:
        self.x = (self.x + 1 + 2 * action) % SIZE if self.started else 2
        self.started = True


def test_the_start_of_an_episode_is_tried_too() -> None:
    def restore(env: Any, saved: int) -> None:
        env.unwrapped.x = saved

    with pytest.raises(gumdp.GumdpError, match="brought back to the start of an episode differs"):
        gumdp.from_gymnasium(Started, save=lambda env: env.unwrapped.x, restore=restore)


class Lasting(Ring):
    """Begins anywhere but where the last episode ended."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        before = getattr(self, "x", 0)
        super().reset(seed=seed)
        self.x = int(self.np_random.integers(SIZE - 1))
        self.x += self.x >= before
        return self.x, {}


@pytest.mark.filterwarnings("error")  # that it can't be checked
def test_a_start_does_not_depend_on_the_episodes_before_it() -> None:
    problem = gumdp.Problem(gumdp.from_gymnasium(Lasting()), gumdp.normalized(gumdp.StateEntropy()), 1.0, 5)
    assert problem.model.way == "copy"
    starts = [gumdp.run_trial(problem, gumdp.Random(), seed=k).cells[0] for k in range(20)]
    assert starts[::-1] == [gumdp.run_trial(problem, gumdp.Random(), seed=k).cells[0] for k in reversed(range(20))]
