"""Environments that offer the state of their simulator: by methods of their own, or as MuJoCo has it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.models.gymnasium.chance import Chance
from gumdp.models.gymnasium.copying import Memo, deep_copy
from gumdp.models.gymnasium.opening import unwatched
from gumdp.models.gymnasium.ways import Live, Past, Restore, Save, Way, recorded

FUTURES = 64  # states of the emulator's generator to choose from
PAIRS = (  # methods by which environments offer their whole state; ALE has the first
    ("clone_state", "restore_state"), ("get_state", "set_state"), ("save_state", "load_state"),
    ("save_state", "restore_state"), ("get_snapshot", "set_snapshot"),
)  # fmt: skip


class Preset(Way):
    """The environment's own methods for its simulator's state, and copies of its other attributes."""

    name = "save"

    def __init__(
        self, make: Callable[[], Any], commands: tuple[Any, ...], chance: Chance, pair: tuple[Save, Restore], text: str
    ) -> None:
        super().__init__(make, commands, chance)
        self._pair = pair
        self.text = f"the environment itself, brought back by {text}"

    def spawn(self) -> Live:
        live = super().spawn()
        live.env.reset(seed=0)
        return live

    def save(self, env: Any, past: Past | None) -> Any:
        memo: Memo = {id(g): g for g in self.chance.generators(env) if g is not None}
        places: list[Any] = []
        stack = layers(unwatched(env))
        for layer in stack:
            memo[id(layer)] = stand_in = object()  # for whatever points back to the environment
            places.append(stand_in)
        attributes = [_attributes(layer, memo) for layer in stack]
        return self._pair[0](env), attributes, places

    def load(self, live: Live, saved: Any) -> None:
        core, attributes, places = saved
        stack = layers(live.env)
        memo = {id(stand_in): layer for stand_in, layer in zip(places, stack, strict=True)}
        memo |= {id(g): g for g in self.chance.generators(live.env) if g is not None}
        for layer, values in zip(stack, attributes, strict=True):
            vars(layer).update(deep_copy(values, memo))
        self._pair[1](live.env, core)


class Arcade(Preset):
    """The Arcade Learning Environment, whose generator is inside the emulator: each step gets one of its states."""

    records = True

    def __init__(
        self, make: Callable[[], Any], commands: tuple[Any, ...], chance: Chance, pair: tuple[Save, Restore], text: str
    ) -> None:
        super().__init__(make, commands, chance, pair, text)
        self._futures: list[Any] = []

    def save(self, env: Any, past: Past | None) -> Any:
        return super().save(env, past), recorded(past)

    def load(self, live: Live, saved: Any) -> None:
        state, past = saved
        if past.before is None:  # of some games a reset leaves more than a state holds
            live.env.reset(seed=past.bits)
        else:
            for _ in range(2):  # the emulator may repeat the action before, which no state of it holds
                live.env.step(self.commands[past.action])
        live.past = past
        super().load(live, state)

    def _collect(self) -> list[Any]:
        env = self.make()
        env.reset(seed=0)
        states: list[Any] = []
        while len(states) < FUTURES:
            _, _, over, cut, _ = env.step(self.commands[0])
            states.append(env.unwrapped.clone_state(include_rng=True))
            if over or cut:
                env.reset()
        return states

    def seed(self, live: Live, bits: int) -> None:
        super().seed(live, bits)
        if not self._futures:
            self._futures = self._collect()
        world = live.env.unwrapped
        here = world.clone_state()  # without the generator
        world.restore_state(self._futures[bits % FUTURES])
        world.restore_state(here)


def preset_of(env: Any, make: Callable[[], Any], commands: tuple[Any, ...], chance: Chance) -> Preset | None:
    """The way back for an environment that offers its state, or None."""
    world = env.unwrapped
    parts = make, commands, chance
    if type(getattr(world, "data", None)).__name__ == "MjData" and hasattr(world, "model"):
        physics = (_save_physics, _restore_physics)
        return Preset(*parts, physics, "MuJoCo's own state (qpos, qvel, time and the rest of it)")
    for save, restore in PAIRS:
        if hasattr(world, save) and hasattr(world, restore) and _takes(world, save, 0) and _takes(world, restore, 1):
            kind = Arcade if hasattr(world, "ale") else Preset
            return kind(*parts, (_By(save), _By(restore)), f"its methods {save} and {restore}")
    return None


class _By:
    """A call of one of the environment's own methods."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __call__(self, env: Any, *args: Any) -> Any:
        return getattr(env.unwrapped, self.method)(*args)


def _takes(world: Any, method: str, count: int) -> bool:
    """Whether a method can be called with so many arguments."""
    try:
        inspect.signature(getattr(world, method)).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _save_physics(env: Any) -> Any:
    import mujoco

    world, kind = env.unwrapped, mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(world.model, kind))
    mujoco.mj_getState(world.model, world.data, state, kind)
    return state


def _restore_physics(env: Any, state: Any) -> None:
    import mujoco

    world = env.unwrapped
    mujoco.mj_setState(world.model, world.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_forward(world.model, world.data)


def layers(env: Any) -> list[Any]:
    """The wrappers and the environment itself, from the outermost on."""
    import gymnasium

    found = [env]
    while isinstance(found[-1], gymnasium.Wrapper):
        found.append(found[-1].env)
    return found


def _attributes(layer: Any, memo: Memo) -> dict[str, Any]:
    """Copies of the attributes that can be copied: what can't is a part of the simulator, which has its own way."""
    values = {}
    for name, value in vars(layer).items():
        if name != "env":
            with contextlib.suppress(Exception):
                values[name] = deep_copy(value, memo)
    return values
