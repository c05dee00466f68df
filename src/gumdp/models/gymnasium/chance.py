"""Where an environment keeps its random number generators, and how each step gets its chance from the planner's.

A copy that keeps the generators of the original has the same future, and a search in it would foresee chance. So every
generator found inside is set anew before each simulated step.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from gumdp.models.gymnasium.copying import ATOMS

WORD = 2**128 - 1
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
OBJECTS = 50_000  # that are looked at in search of generators
INSIDE: dict[type, tuple[str, ...]] = {  # where else a generator, or a method of one, may be kept
    partial: ("func", "args", "keywords"), MethodType: ("__self__",), BuiltinMethodType: ("__self__",),
    FunctionType: ("__closure__",), CellType: ("cell_contents",),
}  # fmt: skip
Key = tuple[str, Any]  # ("attribute", name), ("slot", name) or ("item", key)


@dataclass(frozen=True)
class Chance:
    """The places of the generators inside an environment of one kind."""

    places: tuple[tuple[Key, ...], ...] = ()  # ways from the environment to a generator, without ``np_random`` itself
    numpy: bool = False  # whether it draws from NumPy's global generator
    python: bool = False  # whether it draws from the one of the module random
    keys: tuple[str, ...] = ()  # attributes of the environment that are keys of JAX's generators

    def generators(self, env: Any) -> list[Any]:
        """The generators that are at their places now; the first is ``np_random``, which may be None."""
        found = [getattr(env.unwrapped, "_np_random", None)]
        for place in self.places:
            with contextlib.suppress(AttributeError, KeyError, IndexError, TypeError):
                there = follow(env, place)
                if isinstance(there, GENERATORS) and all(there is not g for g in found):
                    found.append(there)
        return found

    def seed(self, env: Any, dice: np.random.Generator, bits: int) -> None:
        """Set every generator to a state that the bits determine; ``dice`` is used where there is no ``np_random``."""
        first = getattr(env.unwrapped, "_np_random", None)
        if first is None:
            first = env.unwrapped.np_random = dice
        reseed(first, bits)
        self._seed_others(env, bits)

    def before_reset(self, env: Any, bits: int) -> None:
        """Set the generators that a reset may leave as they are, all of them; a first reset may have to make some."""
        if self.places and len(self.generators(env)) == 1:
            env.reset(seed=bits)
        self.seed(env, np.random.Generator(np.random.PCG64(0)), bits)

    def _seed_others(self, env: Any, bits: int) -> None:
        for k, name in enumerate(self.keys):
            setattr(env.unwrapped, name, new_key(bits ^ (k << 64)))
        if self.places:
            for k, generator in enumerate(self.generators(env)[1:], 1):
                reseed(generator, bits ^ (k << 64))

    def marks(self, env: Any) -> list[Any]:
        """What changes when one of the generators is drawn from, quickly."""
        marks = [None if generator is None else mark_of(generator) for generator in self.generators(env)]
        return marks + [np.asarray(getattr(env.unwrapped, name)).tobytes() for name in self.keys]

    @contextlib.contextmanager
    def borrowed(self, bits: int) -> Iterator[None]:
        """The global generators, set by the bits for as long as the environment acts, and then as they were."""
        theirs = np.random.get_state() if self.numpy else None  # noqa: NPY002 (it is the environment's, not ours)
        ours = random.getstate() if self.python else None
        try:
            if theirs is not None:
                np.random.seed(bits & 0xFFFFFFFF)  # noqa: NPY002
            if ours is not None:
                random.seed(bits)
            yield
        finally:
            if theirs is not None:
                np.random.set_state(theirs)  # noqa: NPY002
            if ours is not None:
                random.setstate(ours)

    def __or__(self, other: Chance) -> Chance:
        places = tuple(dict.fromkeys(self.places + other.places))
        keys = tuple(dict.fromkeys(self.keys + other.keys))
        return Chance(places, self.numpy or other.numpy, self.python or other.python, keys)

    def __str__(self) -> str:
        names = ["".join(f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in p) for p in self.places]
        return ", ".join(f"env{name}" for name in names)


def reseed(generator: Any, bits: int) -> None:
    """Set the generator to a state that the bits determine: far quicker than making a new one."""
    if isinstance(generator, np.random.Generator):
        source = generator.bit_generator
        if type(source) is np.random.PCG64:
            source.state = _pcg64(bits)  # type: ignore[assignment]
        else:
            source.state = type(source)(bits & WORD).state
    elif isinstance(generator, np.random.RandomState):
        generator.seed((bits ^ (bits >> 32) ^ (bits >> 64)) & 0xFFFFFFFF)
    else:
        generator.seed(bits)


def _pcg64(bits: int) -> dict[str, Any]:
    z = ((bits + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835) & WORD  # two rounds of multiply and fold, 128 bits wide
    z = ((z ^ (z >> 67)) * 0xBF58476D1CE4E5B994D049BB133111EB) & WORD
    return {
        "bit_generator": "PCG64",
        "state": {"state": z ^ (z >> 59), "inc": 0x5851F42D4C957F2D14057B7EF767814F},
        "has_uint32": 0,
        "uinteger": 0,
    }


def mark_of(generator: Any) -> Any:
    """A part of the state of a generator that no draw leaves alone."""
    if isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
        return state["state"]["state"] if state["bit_generator"] == "PCG64" else repr(state)
    if isinstance(generator, np.random.RandomState):
        _, keys, place, *gauss = generator.get_state()
        return int(keys[0]), place, gauss
    _, words, gauss = generator.getstate()
    return words[0], words[-1], gauss


def another(generator: Any) -> Any:
    """A generator of the same kind, for a copy of the environment."""
    if isinstance(generator, np.random.Generator) and type(generator.bit_generator) is np.random.PCG64:
        return np.random.Generator(np.random.PCG64(0))
    return copy.deepcopy(generator)


def follow(env: Any, place: tuple[Key, ...]) -> Any:
    """What is at a place."""
    there = env
    for kind, key in place:
        there = there[key] if kind == "item" else vars(there)[key] if kind == "attribute" else getattr(there, key)
    return there


def find(env: Any) -> Chance:
    """The places of all generators inside an environment: in attributes, lists, dictionaries, at any depth."""
    first = getattr(env.unwrapped, "_np_random", None)
    seen = {id(first)}
    places: list[tuple[Key, ...]] = []
    queue: list[tuple[Any, tuple[Key, ...]]] = [(env, ())]
    for there, place in queue:  # it grows as it is read
        if isinstance(there, GENERATORS):
            places.append(place)
            continue
        if len(queue) < OBJECTS:
            for key, part in _parts(there):
                if type(part) not in ATOMS and id(part) not in seen:
                    seen.add(id(part))
                    queue.append((part, (*place, key)))
    return Chance(tuple(places), keys=tuple(name for name, part in vars(env.unwrapped).items() if is_key(part)))


def is_key(part: Any) -> bool:
    """Whether it is the state of a generator of JAX's, of the usual kind: two words of 32 bits."""
    return type(part).__module__.startswith("jax") and part.shape == (2,) and str(part.dtype) == "uint32"


def new_key(bits: int) -> Any:
    """A key of JAX's that the bits determine."""
    import jax

    state = _pcg64(bits)["state"]["state"]
    return jax.numpy.asarray(np.array([state & 0xFFFFFFFF, state >> 32 & 0xFFFFFFFF], np.uint32))


def _parts(there: Any) -> list[tuple[Key, Any]]:
    import gymnasium

    if isinstance(there, dict):
        return [(("item", key), part) for key, part in there.items()]
    if isinstance(there, (list, tuple, deque)):
        return [(("item", k), part) for k, part in enumerate(there)]
    if isinstance(there, (gymnasium.Space, np.ndarray, str, bytes, type)):
        return []
    for kind, names in INSIDE.items():
        if isinstance(there, kind):
            with contextlib.suppress(ValueError):  # of a variable that has no value yet
                return [(("slot", name), getattr(there, name)) for name in names]
            return []
    slots = [name for base in type(there).__mro__ for name in _names(vars(base).get("__slots__", ()))]
    found: list[tuple[Key, Any]] = [(("slot", name), getattr(there, name)) for name in slots if hasattr(there, name)]
    return found + [(("attribute", name), part) for name, part in getattr(there, "__dict__", {}).items()]


def _names(slots: Any) -> list[str]:
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if not name.startswith("__")]
