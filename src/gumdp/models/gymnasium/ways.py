"""How an environment is brought back into a state it was in: by copies, by saving and restoring, by replaying."""

from __future__ import annotations

import contextlib
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError
from gumdp.models.gymnasium.chance import Chance, another
from gumdp.models.gymnasium.copying import Memo, deep_copy, pack
from gumdp.models.gymnasium.opening import remake, unwatched

Save = Callable[[Any], Any]
Restore = Callable[[Any, Any], None]


class Maker:
    """Makes environments to plan in: copies of a template, or else new ones, by its registration or a function."""

    def __init__(self, env: Any, function: Callable[[], Any] | None = None) -> None:
        self.function = function
        self.env = env
        self.refusal = ""  # why there are no copies
        if function is None:
            try:
                self.env = bare_copy(env)
            except Exception as error:
                self.refusal = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"env": None if self.function is not None else pack(self.env)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.env = None if self.env is None else pickle.loads(self.env)

    def __call__(self) -> Any:
        if self.function is not None:
            return _bare(self.function())
        if not self.refusal:
            return deep_copy(self.env, {})
        made = remake(self.env)
        if made is None:
            name = type(self.env.unwrapped).__name__
            raise GumdpError(
                f"from_gymnasium: {name} can't be copied ({self.refusal}), and there is no registration to make "
                "another from: give a function that makes it instead of the environment."
            )
        return _bare(made)


class Past:
    """What happened to an environment since it was reset, newest first."""

    __slots__ = ("action", "before", "bits")

    def __init__(self, before: Past | None, action: int, bits: int | None) -> None:
        self.before = before  # None: this is the reset, with the seed ``bits``
        self.action = action
        self.bits = bits  # the chance of the step; None: as the environment's own generators had it


class Live:
    """The environment on which one thread plays."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.dice = np.random.Generator(np.random.PCG64(0))
        self.pool: dict[tuple[int, type], Any] = {}  # generators for copies, by their place
        self.number = 0  # of the state it is in
        self.cell = 0
        self.over = False  # whether the episode has ended
        self.observation: Any = None
        self.reward: Any = 0.0  # for the step that led there
        self.past: Past | None = None
        self.kept: Any = None  # the state that it was last asked to come back to

    def reset(self, way: Way, bits: int) -> Any:
        """Start an episode; return the observation."""
        if way.anew:
            self.env = way.another(self.env)
        way.chance.before_reset(self.env, bits & way.mask)
        with way.chance.borrowed(bits & way.mask):
            self.observation, _ = self.env.reset(seed=bits & way.mask)
        self.over = False
        if way.records:
            self.past = Past(None, -1, bits & way.mask)
        return self.observation

    def step(self, way: Way, action: int, bits: int | None) -> tuple[Any, Any, bool, bool]:
        """Act, with the chance that the bits determine; return (observation, reward, terminated, truncated)."""
        command = way.commands[action]
        if bits is None:
            self.observation, reward, over, cut, _ = self.env.step(command)
        else:
            way.seed(self, bits)
            if way.chance.numpy or way.chance.python:
                with way.chance.borrowed(bits):
                    self.observation, reward, over, cut, _ = self.env.step(command)
            else:
                self.observation, reward, over, cut, _ = self.env.step(command)
        self.over = bool(over)
        if way.records:
            self.past = Past(self.past, action, bits)
        return self.observation, reward, self.over, bool(cut)


class Way(ABC):
    """One way back: ``save`` what it takes, ``load`` it into a live environment."""

    name = ""
    text = ""  # what the model is made of, in a sentence
    records = False  # whether it needs to know what happened since the reset
    anew = False  # whether each episode needs a new environment
    watched = True  # whether its generators can be looked at

    def __init__(self, make: Callable[[], Any], commands: tuple[Any, ...], chance: Chance) -> None:
        self.make = make  # another environment of the kind
        self.commands = commands
        self.chance = chance
        self.mask = 0xFFFFFFFF  # seeds that a reset takes

    def spawn(self) -> Live:
        """An environment to play on."""
        return Live(self.make())

    def another(self, env: Any) -> Any:
        """A new environment in the place of one that has been played."""
        env.close()
        return self.make()

    @abstractmethod
    def save(self, env: Any, past: Past | None) -> Any:
        """What it takes to come back to the state that ``env`` is in."""

    @abstractmethod
    def load(self, live: Live, saved: Any) -> None:
        """Bring the live environment back."""

    def seed(self, live: Live, bits: int) -> None:
        """Set the chance of the next step."""
        self.chance.seed(live.env, live.dice, bits)


class Copy(Way):
    """Copies of the environment."""

    name = "copy"
    text = "copies of the environment itself"

    def another(self, env: Any) -> Any:
        return self.make()  # copies may share what closing one of them would end

    def save(self, env: Any, past: Past | None) -> Any:
        kept = {id(g): g for g in self.chance.generators(env) if g is not None}  # nobody steps what is stored
        return bare_copy(env, kept)

    def load(self, live: Live, saved: Any) -> None:
        memo: Memo = {}
        for k, generator in enumerate(self.chance.generators(saved)):
            if generator is not None:
                key = k, type(generator)
                if key not in live.pool:
                    live.pool[key] = another(generator)
                memo[id(generator)] = live.pool[key]
        live.env = deep_copy(saved, memo)


class Given(Way):
    """The user's own two functions."""

    name = "save"
    text = "the environment itself, brought back by save and restore"

    def __init__(
        self, make: Callable[[], Any], commands: tuple[Any, ...], chance: Chance, save: Save, restore: Restore
    ) -> None:
        super().__init__(make, commands, chance)
        self._save, self._restore = save, restore

    def spawn(self) -> Live:
        live = super().spawn()
        live.env.reset(seed=0)  # what save and restore do may need an environment that has begun
        return live

    def save(self, env: Any, past: Past | None) -> Any:
        return self._save(env)

    def load(self, live: Live, saved: Any) -> None:
        self._restore(live.env, saved)


class Replay(Way):
    """A reset with the same seed, and the same actions again."""

    name = "replay"
    text = "the environment itself, reset with the same seed and played again up to a state to come back to it"
    records = True

    def save(self, env: Any, past: Past | None) -> Any:
        return recorded(past)

    def load(self, live: Live, saved: Any) -> None:
        steps = []
        while saved.before is not None:
            steps.append(saved)
            saved = saved.before
        live.reset(self, saved.bits)
        for step in reversed(steps):
            live.step(self, step.action, step.bits)


class Anew(Replay):
    """As a replay, in a new environment each time: for one whose resets leave something of the last episode."""

    text = "a new environment each time, reset with the same seed and played again up to a state to come back to it"
    anew = True


def recorded(past: Past | None) -> Past:
    """The past, which must be known."""
    if past is None:
        raise GumdpError(
            "a state of this environment is found again by what happened since its reset, which was not recorded: "
            "call env = model.record(env) before env.reset(seed=…)."
        )
    return past


def bare_copy(env: Any, memo: Memo | None = None) -> Any:
    """A copy of an environment to plan in: it draws nothing, and wrappers that only watch are gone."""
    bare = unwatched(env)
    memo = {} if memo is None else memo
    for value in vars(bare.unwrapped).values():
        if type(value).__module__.partition(".")[0] == "pygame":  # a screen or a clock
            memo[id(value)] = None
    return _bare(deep_copy(bare, memo))


def _bare(env: Any) -> Any:
    """An environment of our own, without what watches it, and which draws nothing."""
    bare = unwatched(env)
    with contextlib.suppress(AttributeError):
        bare.unwrapped.render_mode = None
    return bare
