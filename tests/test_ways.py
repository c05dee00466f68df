"""Every way back into a state of an environment leads there, or is refused with what differs."""

import pickle
import random
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import EzPickle

import gumdp
from gumdp.models.compiled import next_state, start_state
from gumdp.models.gymnasium.chance import find
from gumdp.models.gymnasium.copying import deep_copy

Step = tuple[int, float, bool, bool, dict[str, Any]]


def start(model: Any, bits: int = 0) -> Any:
    return model.public(start_state(model.compiled(), np.uint64(bits)))


def step(model: Any, state: Any, action: int, bits: int = 0) -> Any:
    return model.public(next_state(model.compiled(), model.state(state), np.uint64(action), np.uint64(bits)))


class Walk(gymnasium.Env):
    """A walk on a line of 40: action 1 goes on, action 0 stays; with ``noise`` a die is thrown at each step."""

    observation_space = gymnasium.spaces.Discrete(40)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.n = self.first
        return self.n, {}

    def roll(self) -> int:
        return 0

    def step(self, action: int) -> Step:
        self.n = min(39, self.n + int(action) + self.roll())
        return self.n, float(self.n), False, False, {}


class Easy(Walk, EzPickle):
    """As most packages have it: a deep copy is a new environment, not even reset."""

    def __init__(self, first: int = 0) -> None:
        Walk.__init__(self, first)
        EzPickle.__init__(self, first)


class Nested(Walk):
    """The environment that matters is inside another that is not a wrapper."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Easy()

    def reset(self, **options: Any) -> tuple[int, dict[str, Any]]:
        return self.inner.reset(**options)

    def step(self, action: int) -> Step:
        return self.inner.step(action)


class Uncopyable(Walk):
    """It holds a lock, as a connection to a simulator would."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Offering(Uncopyable):
    """It can't be copied either, but offers its state."""

    def get_state(self) -> int:
        return self.n

    def set_state(self, state: int) -> None:
        self.n = state


class Forgetful(Walk):
    """Its copies start afresh, whatever anybody does."""

    def __deepcopy__(self, memo: Any) -> Any:
        twin = type(self)()
        twin.reset()
        return twin


class Shared(Walk):
    """All of them are one simulator."""

    world: list[int] = [0]  # noqa: RUF012

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.world[0] = 0
        return 0, {}

    def step(self, action: int) -> Step:
        self.world[0] = min(39, self.world[0] + int(action))
        return self.world[0], 0.0, False, False, {}


class Dealer:
    def __init__(self) -> None:
        self.shoes = [{"rng": random.Random(5)}, {"rng": np.random.RandomState(5)}]


class Own(Walk):
    """Its generators are its own, and no reset seeds them."""

    def __init__(self) -> None:
        super().__init__()
        self.dealer = Dealer()

    def roll(self) -> int:
        return self.dealer.shoes[0]["rng"].randrange(2) + int(self.dealer.shoes[1]["rng"].randint(2))


class Global(Walk):
    """It draws from NumPy's global generator, as one should not."""

    def roll(self) -> int:
        return int(np.random.randint(3))  # noqa: NPY002


class Worn(Uncopyable):
    """A reset leaves something of what was before, from the third on."""

    episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.episodes += 1
        return super().reset(seed=seed)

    def roll(self) -> int:
        return int(self.episodes > 1)


def hidden() -> Any:
    """A class whose generator nobody can find."""
    rolls: dict[int, Any] = {}

    class Hidden(Uncopyable):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
            rolls[id(self)] = random.Random(seed)
            return super().reset(seed=seed)

        def roll(self) -> int:
            return rolls[id(self)].randrange(2)

    return Hidden


@pytest.mark.parametrize("kind", [Walk, Easy, Nested])
def test_a_copy_is_in_the_state_of_the_original(kind: Any) -> None:
    model = gumdp.from_gymnasium(kind())
    assert model.way == "copy"
    env = kind()
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        observation, *_ = env.step(1)
    state = model.snapshot(env, observation)
    assert step(model, state, 1).observation == 6
    assert step(model, step(model, state, 1), 1).observation == 7
    assert step(model, state, 0).observation == 5
    assert env.step(1)[0] == 6  # the original was left alone


def test_what_the_user_changed_in_an_environment_is_in_its_copies() -> None:
    env = Easy()
    env.first = 20
    model = gumdp.from_gymnasium(env)
    assert start(model).observation == 20


def test_copies_keep_what_points_to_the_same_thing_together() -> None:
    one = Walk()
    one.rows = [[1, 2], {3}, (4, [5])]
    one.again, one.itself, one.method = one.rows, one, one.roll
    one.numbers = np.arange(3)
    two = deep_copy(one, {})
    assert two.rows == one.rows
    assert two.rows is two.again
    assert two.rows[0] is not one.rows[0]
    assert two.rows[2][1] is not one.rows[2][1]
    assert two.itself is two
    assert two.method.__self__ is two
    two.numbers[0] = 7
    assert one.numbers[0] == 0


def test_what_can_not_be_copied_is_saved_and_restored_by_its_own_methods() -> None:
    model = gumdp.from_gymnasium(Offering)
    assert model.way == "save"
    assert "brought back by its methods get_state and set_state" in str(model.source)
    assert "no copies, as TypeError: cannot pickle '_thread.lock' object" in str(model.source)
    later = step(model, step(model, start(model), 1), 1)
    assert step(model, start(model), 1).observation == 1
    assert step(model, later, 1).observation == 3


def test_what_offers_nothing_is_replayed() -> None:
    model = gumdp.from_gymnasium(Uncopyable)
    assert model.way == "replay"
    assert "reset with the same seed and played again" in str(model.source)
    later = step(model, step(model, start(model), 1), 1)
    assert step(model, start(model), 1).observation == 1
    assert step(model, later, 1).observation == 3
    env = Uncopyable()
    observation, _ = env.reset(seed=0)
    with pytest.raises(gumdp.GumdpError, match=r"call env = model.record\(env\) before"):
        model.snapshot(env, observation)
    env = model.record(env)
    env.reset(seed=3)
    for _ in range(4):
        observation, *_ = env.step(1)
    assert step(model, model.snapshot(env, observation), 1).observation == 5


def test_an_environment_that_wears_out_is_replayed_in_a_new_one_each_time() -> None:
    model = gumdp.from_gymnasium(Worn)
    assert model.way == "replay"
    assert "a new environment each time" in str(model.source)
    assert "no replay, as the same seed and the same actions do not" in str(model.source)
    later = step(model, step(model, start(model), 1), 1)
    assert step(model, start(model), 1).observation == 1
    assert step(model, later, 1).observation == 3


def test_a_replayed_environment_can_be_played() -> None:
    problem = gumdp.Problem(gumdp.from_gymnasium(Uncopyable), gumdp.normalized(gumdp.StateEntropy()), 1.0, 6)
    trial = gumdp.play(Uncopyable(), problem, gumdp.Random(), seed=2)
    assert trial.cells.tolist() == [0, *np.cumsum(trial.actions)[:-1]]


@pytest.mark.parametrize("kind", [Easy, Offering, Uncopyable])
def test_wrappers_that_only_watch_are_in_nobodys_way(kind: Any) -> None:
    model = gumdp.from_gymnasium(kind)
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 6)
    env = gymnasium.wrappers.TimeLimit(gymnasium.wrappers.OrderEnforcing(kind()), 50)
    trial = gumdp.play(env, problem, gumdp.Random(), seed=2)
    assert trial.cells.tolist() == [0, *np.cumsum(trial.actions)[:-1]]
    assert np.all(trial.reality.likelihood == 1.0)  # no chance: every simulated step goes where the real one went


def test_a_copy_that_differs_is_refused_with_what_differs() -> None:
    model = gumdp.from_gymnasium(Forgetful)
    assert model.way == "replay"
    assert "no copies, as what is brought back differs: the observation after 0 steps is" in str(model.source)
    with pytest.raises(gumdp.GumdpError, match=r"no way back into a state of Forgetful: no copies.*Give save="):
        gumdp.from_gymnasium(Forgetful, method="copy")


def test_environments_that_share_a_simulator_are_refused() -> None:
    with pytest.raises(gumdp.GumdpError, match="the original moves when what was brought back is stepped"):
        gumdp.from_gymnasium(Shared(), method="copy")


def test_the_users_save_and_restore_are_tested_too() -> None:
    def restore(env: Any, saved: int) -> None:
        env.unwrapped.n = saved + 1

    with pytest.raises(gumdp.GumdpError, match=r"what is brought back differs.*Correct save\(env\)"):
        gumdp.from_gymnasium(Walk(), save=lambda env: env.unwrapped.n, restore=restore)


def test_generators_at_any_depth_are_found_and_set_for_each_step() -> None:
    env = Own()
    assert str(find(env)) == "env.dealer.shoes[0]['rng'], env.dealer.shoes[1]['rng']"
    model = gumdp.from_gymnasium(env)
    state = start(model)
    seen = [step(model, state, 0, k).observation for k in range(400)]
    assert seen == [step(model, state, 0, k).observation for k in range(400)]
    shares = np.bincount(seen, minlength=3) / 400
    expected = np.array([0.25, 0.5, 0.25])  # of two dice of 0 and 1
    assert (np.abs(shares - expected) < 4 * np.sqrt(expected * (1 - expected) / 400)).all()


def test_two_names_of_one_generator_stay_one_in_a_copy() -> None:
    class Aliased(Walk):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
            answer = super().reset(seed=seed)
            self.road = {"rng": self.np_random}
            return answer

        def roll(self) -> int:
            return int(self.road["rng"].integers(3))

    model = gumdp.from_gymnasium(Aliased())
    state = start(model)
    later = step(model, state, 0, 1)
    seen = {step(model, later, 0, k).observation - later.observation for k in range(40)}
    assert seen == {0, 1, 2}  # the copy does not carry the future of the original


def test_the_global_generator_is_borrowed_and_given_back() -> None:
    model = gumdp.from_gymnasium(Global())
    np.random.seed(3)  # noqa: NPY002
    state = start(model)
    seen = [step(model, state, 0, k).observation for k in range(30)]
    assert seen == [step(model, state, 0, k).observation for k in range(30)]
    assert len(set(seen)) == 3
    after = np.random.rand()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    assert np.random.rand() == after  # noqa: NPY002


def test_a_plan_that_knows_the_future_is_told() -> None:
    with pytest.warns(UserWarning, match="so that the plan knows the future"):
        model = gumdp.from_gymnasium(hidden())
    assert "knows the future" in str(model.source)


def test_a_model_of_copies_goes_to_another_process_as_it_is() -> None:
    env = Easy()
    env.first = 20
    twin = pickle.loads(pickle.dumps(gumdp.from_gymnasium(env)))
    assert start(twin).observation == 20


def test_continuous_and_composite_actions_are_chosen_from() -> None:
    env = Walk()
    env.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    env.step = lambda action: (int(np.sum(action) > 0), 0.0, False, False, {})
    model = gumdp.from_gymnasium(lambda: env, actions=3)
    assert model.shape[1] == 9
    assert gumdp.from_gymnasium(lambda: env, actions=[[0, 0], [1, 1]]).shape[1] == 2
    with pytest.raises(gumdp.GumdpError, match="is no action of Walk"):
        gumdp.from_gymnasium(lambda: env, actions=[[0, 2]])
    with pytest.raises(gumdp.GumdpError, match="make 40,000 actions"):
        gumdp.from_gymnasium(lambda: env, actions=200)
    env.action_space = gymnasium.spaces.MultiDiscrete([2, 3])
    assert gumdp.from_gymnasium(lambda: env).shape[1] == 6


def test_an_environment_that_always_fails_is_refused_with_its_own_words() -> None:
    class Broken(Walk):
        def step(self, action: int) -> Step:
            raise RuntimeError("no power")

    with pytest.raises(gumdp.GumdpError, match="fails at its first step, whatever is done: RuntimeError: no power"):
        gumdp.from_gymnasium(Broken())
