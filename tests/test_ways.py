"""Every way back into a state of an environment leads there, or is refused with what differs."""

import pickle
import random
import threading
import warnings
from collections import deque
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.utils import EzPickle

import gumdp
from gumdp.models.compiled import next_state, start_state
from gumdp.models.gymnasium.chance import find
from gumdp.models.gymnasium.copying import deep_copy
from gumdp.models.gymnasium.examine import difference

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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages' own
@pytest.mark.parametrize(
    ("name", "package", "options"),
    [
        ("LunarLander-v3", "Box2D", {"bins": {"x0": (5, -1.0, 1.0), "x1": (5, 0.0, 1.5)}}),
        ("Ant-v5", "mujoco", {"bins": {"x0": (5, 0.2, 1.0), "x5": (5, -0.6, 0.6)}, "actions": [[-0.5] * 8, [0.5] * 8]}),
    ],
)
def test_nothing_surprises_a_plan_whose_world_leaves_nothing_to_chance(
    name: str, package: str, options: dict[str, Any]
) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    if "actions" in options:
        options = options | {"actions": [np.array(action, np.float32) for action in options["actions"]]}
    model = gumdp.from_gymnasium(name, **options)
    problem = gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), 1.0, 12)
    trial = gumdp.play(name, problem, gumdp.MCTS(10, depth=4), seed=0, at_limit="restart")
    assert trial.reality.surprises.size == 0
    assert trial.reality.unseen.size == 0  # the simulated steps led where the real ones did, all of them


class Slotted:
    __slots__ = ("rng",)

    def __init__(self, seed: int | None) -> None:
        self.rng = np.random.default_rng(seed)


HOLDERS = {  # where an environment may keep a generator: what holds it, and how it is drawn from
    "slot": (Slotted, lambda held: held.rng.random()),
    "deque": (lambda seed: deque([np.random.default_rng(seed)]), lambda held: held[0].random()),
    "method": (lambda seed: np.random.default_rng(seed).random, lambda held: held()),
    "built-in method": (lambda seed: random.Random(seed).random, lambda held: held()),
    "partial": (lambda seed: partial(np.random.default_rng(seed).uniform, 0.0, high=1.0), lambda held: held()),
}


@pytest.mark.parametrize("place", HOLDERS)
def test_generators_are_found_wherever_they_are_held(place: str) -> None:
    make, draw = HOLDERS[place]

    class Holder(Walk):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
            self.held = make(seed)
            return super().reset(seed=seed)

        def roll(self) -> int:
            return int(draw(self.held) < 0.5)

    model = gumdp.from_gymnasium(Holder())
    env = Holder()
    env.reset(seed=3)
    alone = [env.step(0)[0] for _ in range(12)]
    observation, _ = env.reset(seed=3)
    state = model.snapshot(env, observation)
    assert {step(model, state, 0, k).observation for k in range(40)} == {0, 1}  # not the one future of the original
    assert [env.step(0)[0] for _ in range(12)] == alone  # which is left alone


def test_chance_that_is_hidden_beside_a_generator_that_is_not_is_told() -> None:
    class Mixed(Walk):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
            self.last = 7919 * (seed or 1) + 1
            return super().reset(seed=seed)

        def roll(self) -> int:  # a generator by hand, which nobody can find, decides as well
            self.last = (self.last * 1103515245 + 12345) % 2**31
            return int(self.last / 2**31 < 0.5) + int(self.np_random.random() < 0.5)

    with pytest.warns(UserWarning, match="so that the plan knows the future"):
        gumdp.from_gymnasium(Mixed())


def test_keys_of_jax_are_generators() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")

    class Keyed(Walk):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
            self.rng = jax.random.PRNGKey(seed or 0)
            return super().reset(seed=seed)

        def roll(self) -> int:
            self.rng, key = jax.random.split(self.rng)
            return int(jax.random.bernoulli(key))

    model = gumdp.from_gymnasium(Keyed())
    state = start(model)
    assert {step(model, state, 0, k).observation for k in range(20)} == {0, 1}


# --- nothing left to chance ---------------------------------------------------------------------------------------


class Late(Walk):
    """A die is thrown only at the far end, where no random walk of a few hundred steps gets."""

    back = 39

    def step(self, action: int) -> Step:
        self.n = self.n + 1 if action else 0
        if self.n >= self.back:
            self.n = 38 + int(self.np_random.integers(2))
        return self.n, 0.0, False, False, {}


@pytest.mark.parametrize("kind", [Walk, Easy, Nested])
def test_a_world_without_chance_is_known_as_one(kind: Any) -> None:
    model = gumdp.from_gymnasium(kind(), terminal="absorb")
    assert model.deterministic
    assert "nothing was left to chance" in str(model.source)
    assert pickle.loads(pickle.dumps(model)).deterministic
    assert not gumdp.from_gymnasium(kind(), terminal="restart").deterministic  # a new episode may begin elsewhere


@pytest.mark.parametrize("kind", [Own, Global])
def test_a_world_with_chance_is_not(kind: Any) -> None:
    assert not gumdp.from_gymnasium(kind(), terminal="absorb").deterministic


def test_chance_that_comes_late_is_told_when_it_comes() -> None:
    model = gumdp.from_gymnasium(Late(), terminal="absorb")
    assert model.deterministic
    state = start(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(38):
            state = step(model, state, 1)
    with pytest.warns(UserWarning, match="Late leaves something to chance after all"):
        step(model, state, 1)
    assert not model.deterministic
    assert {step(model, state, 1, k).observation for k in range(40)} == {38, 39}


WRAPPERS = {
    "time limit": lambda env: wrappers.TimeLimit(env, 20),
    "stacked frames": lambda env: wrappers.FrameStackObservation(env, 3),
    "sticky actions": lambda env: wrappers.StickyAction(env, 0.3),
    "time": wrappers.TimeAwareObservation,
    "delay": lambda env: wrappers.DelayObservation(env, 2),
    "twice scaled": lambda env: wrappers.TransformObservation(wrappers.DtypeObservation(env, np.float64), twice, None),
}


def twice(observation: Any) -> Any:
    return 2.0 * observation


@pytest.mark.filterwarnings("ignore:.*what is hidden")  # of a delay: where the pole is at first
@pytest.mark.parametrize("name", WRAPPERS)
def test_wrapped_environments_do_what_the_copies_say(name: str) -> None:
    make = lambda: WRAPPERS[name](gymnasium.make("CartPole-v1"))  # noqa: E731
    model = gumdp.from_gymnasium(make(), method="clone", index="hash", terminal="absorb")
    env, rng = make(), np.random.default_rng(0)
    observation, _ = env.reset(seed=5)
    for _ in range(8):
        state, action = model.snapshot(env, observation), int(rng.integers(2))
        foretold = [step(model, state, action, k) for k in range(30)]  # 0.7^30 that a sticky one never moves
        step(model, foretold[0], action)
        observation, _, over, _, _ = env.step(action)
        assert any(difference(each.observation, observation) is None for each in foretold)
        if over:
            break


def test_a_constructor_that_fails_without_a_word_says_where() -> None:
    def failing() -> Any:
        raise AssertionError

    with pytest.raises(gumdp.GumdpError, match=r"AssertionError in .*test_ways.py, line \d+: raise AssertionError"):
        gumdp.from_gymnasium(failing)
