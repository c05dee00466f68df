"""Models made of copies of an environment: any environment with finitely many actions, at the speed of Python."""

from __future__ import annotations

import contextlib
import copy
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError
from gumdp.jit.callback import register
from gumdp.models.base import Model
from gumdp.models.compiled import Clones
from gumdp.models.gymnasium.observations import Cells

Save = Callable[[Any], Any]
Restore = Callable[[Any, Any], None]
WORD = 2**128 - 1


class Snapshot:
    """A state of a cloned environment: what was observed, and what it takes to go on from there."""

    __slots__ = ("__weakref__", "cell", "data", "number", "observation", "over", "stage")

    def __init__(self, stage: Stage, number: int, cell: int, observation: Any, over: bool, data: Any) -> None:
        self.stage, self.number, self.cell = stage, number, cell
        self.observation, self.over, self.data = observation, over, data

    def __repr__(self) -> str:
        return f"Snapshot({self.observation!r})"


class Clone(Model):
    """A model that plays copies of a Gymnasium environment; states are ``Snapshot``s.

    The randomness of each step is set from the planner's own (through ``np_random``), so that the same seed gives
    the same answer, on any number of threads. What the environment hides from the player is in the copies: the
    planner sees through it.
    """

    interpreted = True

    def __init__(
        self,
        env: Any,
        commands: tuple[Any, ...],
        cells: Cells,
        terminal: str,
        save: Save | None = None,
        restore: Restore | None = None,
    ) -> None:
        self._parts = (without_screen(env), commands, cells, terminal, save, restore)
        self._set_up()
        self.shape = (cells.count, len(commands))
        self.state_names, self.grid, self.axes = cells.names, cells.grid, cells.axes
        self.action_names, self.available = None, None

    def _set_up(self) -> None:
        self.stage = Stage(*self._parts)
        self._world = Clones(len(self._parts[1]), register(self.stage))

    def __getstate__(self) -> dict[str, Any]:  # another process sets the stage itself
        return {name: value for name, value in vars(self).items() if name not in ("stage", "_world")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def __repr__(self) -> str:
        return f"Clone({self.shape[0]} cells, {self.shape[1]} actions)"

    def compiled(self) -> Any:
        return self._world

    def state(self, state: Any) -> tuple[np.uint64, np.uint64]:
        if not isinstance(state, Snapshot) or state.stage is not self.stage:
            raise GumdpError(
                "state must be a Snapshot of this model: model.snapshot(env, observation) takes one, "
                f"not {type(state).__name__}."
            )
        return np.uint64(state.number), np.uint64(state.cell)

    def public(self, state: Any) -> Snapshot:
        return self.stage.keep(int(state[0]))

    def snapshot(self, env: Any, observation: Any, over: bool = False) -> Snapshot:
        """The state that a live environment is in, which is left alone; ``over`` if its episode has ended."""
        return self.stage.take(env, observation, over)


class Live:
    """The environment on which one thread plays."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.dice = np.random.Generator(np.random.PCG64(0))
        self.number = 0  # of the state it is in
        self.cell = 0
        self.over = False  # whether the episode has ended
        self.observation: Any = None
        self.kept: Snapshot | None = None  # the state that it was last asked to come back to


class Stage:
    """Where copies are played: one live environment for each thread, and the states to come back to.

    Kernels call ``reset``, ``step`` and ``restore`` (see ``gumdp.jit.callback``). A state is saved when it is
    first restored, which must be while the environment is still in it: rollouts save nothing.
    """

    def __init__(
        self,
        env: Any,
        commands: tuple[Any, ...],
        cells: Cells,
        terminal: str,
        save: Save | None,
        restore: Restore | None,
    ) -> None:
        self.commands, self.cells, self.terminal = commands, cells, terminal
        self._save, self._restore = save, restore
        self._numbers = itertools.count(1)
        self._saved: weakref.WeakValueDictionary[int, Snapshot] = weakref.WeakValueDictionary()
        self._local = threading.local()
        self._env = env
        self._lock = threading.Lock()

    def reset(self, bits: int) -> tuple[int, int]:
        """Start an episode."""
        live = self._live()
        observation, _ = live.env.reset(seed=bits)
        live.over = False
        return self._arrive(live, observation)

    def step(self, number: int, action: int, bits: int) -> tuple[int, int]:
        """Act in the state ``number``, in which the environment must be."""
        live = self._live()
        if number != live.number:
            raise GumdpError("a cloned environment was stepped from a state that it is not in.")
        if live.over and self.terminal == "restart":
            return self.reset(bits)
        if live.over and self.terminal == "absorb":
            return live.number, live.cell
        reseed(live.dice, bits)
        live.env.unwrapped.np_random = live.dice
        observation, _, terminated, _, _ = live.env.step(self.commands[action])
        live.over = bool(terminated)
        return self._arrive(live, observation)

    def restore(self, number: int) -> tuple[int, int]:
        """Go back to the state ``number``."""
        live = self._live()
        if number != live.number:
            self._load(live, self._saved[number])
        elif number not in self._saved:
            live.kept = self._put(live.env, live.number, live.cell, live.observation, live.over)
        return live.number, live.cell

    def keep(self, number: int) -> Snapshot:
        """The state ``number`` for somebody outside, who may come back to it at any time."""
        self.restore(number)
        return self._saved[number]

    def take(self, env: Any, observation: Any, over: bool) -> Snapshot:
        """The state of an environment that is not ours."""
        cell = self.cells.number(observation, env)
        return self._put(env, next(self._numbers), cell, observation, over)

    def _arrive(self, live: Live, observation: Any) -> tuple[int, int]:
        live.observation = observation
        live.cell = self.cells.number(observation, live.env)
        live.number = next(self._numbers)
        return live.number, live.cell

    def _put(self, env: Any, number: int, cell: int, observation: Any, over: bool) -> Snapshot:
        data = without_screen(env) if self._save is None else self._save(env)
        snapshot = Snapshot(self, number, cell, observation, over, data)
        self._saved[number] = snapshot
        return snapshot

    def _load(self, live: Live, snapshot: Snapshot) -> None:
        if self._restore is None:
            live.env = duplicate(snapshot.data)
        else:
            self._restore(live.env, snapshot.data)
        live.number, live.cell = snapshot.number, snapshot.cell
        live.observation, live.over = snapshot.observation, snapshot.over

    def _live(self) -> Live:
        live: Live | None = getattr(self._local, "live", None)
        if live is None:
            with self._lock:
                live = self._local.live = Live(duplicate(self._env))
            if self._restore is not None:
                live.env.reset(seed=0)  # what save and restore do may need an environment that has begun
        return live


def reseed(dice: np.random.Generator, bits: int) -> None:
    """Set the generator's state to one that the bits determine: far quicker than making a new generator."""
    z = ((bits + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835) & WORD  # two rounds of multiply and fold, 128 bits wide
    z = ((z ^ (z >> 67)) * 0xBF58476D1CE4E5B994D049BB133111EB) & WORD
    dice.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": z ^ (z >> 59), "inc": 0x5851F42D4C957F2D14057B7EF767814F},
        "has_uint32": 0,
        "uinteger": 0,
    }


def without_screen(env: Any) -> Any:
    """A copy of an environment to plan in: it draws nothing, and wrappers that only watch are gone."""
    from gumdp.models.gymnasium.adapter import unwatched

    bare = unwatched(env)
    world = bare.unwrapped
    screens = {
        id(value): None for value in vars(world).values() if type(value).__module__.partition(".")[0] == "pygame"
    }
    twin = duplicate(bare, screens)
    with contextlib.suppress(AttributeError):
        twin.unwrapped.render_mode = None
    return twin


def duplicate(env: Any, memo: dict[int, Any] | None = None) -> Any:
    """A deep copy that shares what never changes (spaces, specifications) and leaves the generator out."""
    import gymnasium

    memo = {} if memo is None else memo
    layer = env
    while True:
        for value in vars(layer).values():
            if isinstance(value, (gymnasium.Space, gymnasium.envs.registration.EnvSpec)):
                memo[id(value)] = value
        if not isinstance(layer, gymnasium.Wrapper):
            break
        layer = layer.env
    dice = getattr(layer, "_np_random", None)
    try:
        layer._np_random = None
        return copy.deepcopy(env, memo)
    except Exception as error:
        raise GumdpError(
            f"from_gymnasium: {type(layer).__name__} can't be copied ({type(error).__name__}: {error}); "
            "give save=function(env) and restore=function(env, saved)."
        ) from error
    finally:
        layer._np_random = dice
