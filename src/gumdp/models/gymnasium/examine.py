"""Whether a way back into a state leads there: tried once on the user's own environment, before anything is planned.

The environment is played for a few steps without any copies (the reference); then again, with a state saved half way,
in which both the environment and what was brought back go on with the same actions and the same chance. All must see
the same. Then the generators are set differently, to see whether the future can be drawn anew.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, show
from gumdp.models.gymnasium.chance import Chance, find, state_of
from gumdp.models.gymnasium.ways import Live, Way

STEPS = 6  # before the state that is come back to, and after it
PATIENCE = 0.05  # seconds that a step may take, or there are fewer
HORIZON = 30  # for which iterations a second are told
TRIES = 6
TOLERANCE = 1e-9  # of numbers that should be the same
Record = tuple[Any, Any, bool, bool]


@dataclass(frozen=True)
class Script:
    """What is played: actions up to the state that is come back to, and on from there."""

    seed: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    chance: Chance  # the generators that were found
    drawn: bool  # whether one of them was drawn from
    mask: int  # seeds that a reset takes


@dataclass(frozen=True)
class Verdict:
    """What came of trying one way."""

    fault: str = ""  # why it can't be used, or nothing
    note: str = ""  # what the user should know of it
    seconds: tuple[float, float] = (0.0, 0.0)  # of coming back, of a step

    @property
    def rate(self) -> float:
        """Iterations a second at a horizon of 30, roughly."""
        back, step = self.seconds
        return 1.0 / max(1e-9, back + HORIZON * step)


# --- the script -------------------------------------------------------------------------------------------------


def rehearse(env: Any, commands: tuple[Any, ...], seed: int) -> Script:
    """A script for this environment: one that leads away from the start, if some do."""
    rng = np.random.default_rng(seed)
    mask = _mask(env, seed)
    chance, drawn = Chance(), False
    best: tuple[int, list[int], int] = (-1, [], seed)
    steps = _steps(env, commands, seed & mask)
    for k in range(TRIES):
        numpy, python = _globals()
        first, _ = env.reset(seed=(seed + k) & mask)
        chance |= find(env)
        states = _states(chance, env)
        played, moved, failure = _wander(env, commands, first, rng, 2 * steps)
        drawn |= states != _states(chance, env)
        chance |= find(env)
        after = _globals()
        chance |= Chance((), numpy != after[0], python != after[1])
        score = len(played) + (2 * steps if 0 < moved < len(played) else 0)
        if score > best[0]:
            best = score, played, (seed + k) & mask
        if score == 4 * steps:
            break
    _, played, chosen = best
    if not played:
        name = type(env.unwrapped).__name__
        raise GumdpError(f"from_gymnasium: {name} fails at its first step, whatever is done: {failure}")
    half = max(0, min(steps, len(played) - 1))
    return Script(
        chosen, tuple(played[:half]), tuple(played[half:]), chance, drawn or chance.numpy or chance.python, mask
    )


def _wander(
    env: Any, commands: tuple[Any, ...], first: Any, rng: np.random.Generator, steps: int
) -> tuple[list[int], int, str]:
    """Random actions until an episode ends or fails, and the first step at which there is something new to see."""
    played: list[int] = []
    moved, failure = 0, ""
    for _ in range(steps):
        action = int(rng.integers(len(commands)))
        try:
            observation, _, over, cut, _ = env.step(commands[action])
        except Exception as error:  # whatever it is, it comes out when somebody plans with that action
            failure = f"{type(error).__name__}: {_first_line(error)}"
            break
        played.append(action)
        if not moved and difference(first, observation):
            moved = len(played)
        if over or cut:
            break
    return played, moved, failure


def _steps(env: Any, commands: tuple[Any, ...], seed: int) -> int:
    """How many steps to play: fewer in an environment that takes its time."""
    env.reset(seed=seed)
    began = time.perf_counter()
    try:
        env.step(commands[0])
        env.step(commands[0])
    except Exception:  # see _wander
        return STEPS
    return STEPS if time.perf_counter() - began < 2 * PATIENCE else 2


def _mask(env: Any, seed: int) -> int:
    """The seeds that a reset takes: of 32 bits, or only of 31."""
    try:
        env.reset(seed=0xFFFFFFFF - seed)
    except Exception:
        return 0x7FFFFFFF
    return 0xFFFFFFFF


def _globals() -> tuple[str, str]:
    return repr(np.random.get_state()), repr(random.getstate())  # noqa: NPY002 (to see whether the environment draws)


def _states(chance: Chance, env: Any) -> list[str]:
    return [state_of(g) for g in chance.generators(env) if g is not None]


# --- the examination ----------------------------------------------------------------------------------------------


def examine(way: Way, env: Any, script: Script) -> Verdict:
    """What came of coming back to a state by ``way``; ``env`` is ours to play with."""
    way.mask = script.mask
    try:
        return _examined(way, Live(env), script)
    except Exception as error:  # it can be anything that an environment does
        return Verdict(f"{type(error).__name__}: {_first_line(error)}")


def _examined(way: Way, live: Live, script: Script) -> Verdict:
    reference, again = (_begin(way, live, script) + _go_on(way, live, script) for _ in range(2))
    unsteady = _compare(reference, again)
    if unsteady and way.name == "replay":
        return Verdict(f"the same seed and the same actions do not lead to the same: {unsteady}")
    spare = way.spawn()
    before = len(_begin(way, live, script))
    saved = way.save(live.env, live.past)
    backs, steps = [_load(way, spare, saved)], list[float]()
    there = _go_on(way, spare, script, seconds=steps)
    original = _go_on(way, live, script, seconds=steps)
    backs.append(_load(way, spare, saved))
    twice = _go_on(way, spare, script, seconds=steps)
    if _compare(reference[before:], original) is not None:  # was it the other that moved it?
        unsteady = unsteady or _compare(reference, _begin(way, live, script) + _go_on(way, live, script))
        if unsteady and way.name == "replay":
            return Verdict(f"the same seed and the same actions do not always lead to the same: {unsteady}")
    if not unsteady:
        for what, records in (
            ("the original moves when what was brought back is stepped, so that both share a simulator", original),
            ("what is brought back differs", there),
            ("what is brought back a second time differs", twice),
        ):
            if (found := _compare(reference[before:], records)) is not None:
                return Verdict(f"{what}: {found}")
    seconds = min(backs), float(np.median(steps))
    if unsteady:
        return Verdict(
            "", f"it can't be checked, as the same seed and actions do not lead to the same: {unsteady}", seconds
        )
    return Verdict("", _foresight(way, spare, live, saved, script), seconds)


def _begin(way: Way, live: Live, script: Script, seed: int | None = None) -> list[Record]:
    """Reset and play up to the state that is come back to: half of the steps as they come, half with given chance."""
    records: list[Record] = [(live.reset(way, script.seed if seed is None else seed), 0.0, False, False)]
    steady = way.chance.numpy or way.chance.python  # of a global generator nobody knows where it is
    for k, action in enumerate(script.before):
        records.append(live.step(way, action, k if steady or 2 * k >= len(script.before) else None))
    return records


def _load(way: Way, live: Live, saved: Any) -> float:
    """Come back, and return the seconds that it took."""
    began = time.perf_counter()
    way.load(live, saved)
    return time.perf_counter() - began


def _go_on(way: Way, live: Live, script: Script, bits: int = 100, seconds: list[float] | None = None) -> list[Record]:
    """Play on from there, until the episode ends."""
    records: list[Record] = []
    for k, action in enumerate(script.after):
        began = time.perf_counter()
        records.append(live.step(way, action, bits + k))
        if seconds is not None:
            seconds.append(time.perf_counter() - began)
        if records[-1][2]:
            break
    return records


def _foresight(way: Way, spare: Live, live: Live, saved: Any, script: Script) -> str:
    """A warning if the future that the copies have is the one that will come, or nothing."""
    if script.drawn:
        return ""
    futures = []
    for bits in (100, 7_000):
        way.load(spare, saved)
        futures.append(_go_on(way, spare, script, bits))
    if _compare(*futures) is not None:
        return ""
    first = _begin(way, live, script)
    for k in range(1, TRIES):
        other = _begin(way, live, script, (script.seed + k) & script.mask)
        if difference(first[0][0], other[0][0]) is None and _compare(first, other) is not None:
            return FORESEEN
    return ""


FORESEEN = (
    "what happens depends on the seed of its reset but not on any generator that was found in it, so that the plan "
    "knows the future (or what is hidden): give save and restore that set its generator anew, or mind that it does"
)


# --- comparing ----------------------------------------------------------------------------------------------------


def _compare(one: list[Record], two: list[Record]) -> str | None:
    """What differs first, in words, or None."""
    for k, (a, b) in enumerate(zip(one, two, strict=False)):
        for what, x, y in zip(("observation", "reward", "end", "time limit"), a, b, strict=True):
            if (found := difference(x, y)) is not None:
                return f"the {what} after {k} steps is {found}"
    return None if len(one) == len(two) else "the episode is not equally long"


def difference(x: Any, y: Any) -> str | None:
    """How two observations differ, or None: of arrays, numbers, strings, and of what is made of those."""
    if isinstance(x, dict) and isinstance(y, dict):
        return next((f"{found} in {k!r}" for k in x if (found := difference(x[k], y.get(k))) is not None), None)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if len(x) != len(y):
            return f"{len(x)} long and {len(y)} long"
        return next((found for a, b in zip(x, y, strict=True) if (found := difference(a, b)) is not None), None)
    if hasattr(x, "nodes") and hasattr(y, "nodes"):  # a graph
        return difference((x.nodes, x.edges, x.edge_links), (y.nodes, y.edges, y.edge_links))
    try:
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype.kind in "biufc" and b.dtype.kind in "biufc":
            same = a.shape == b.shape and bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
            return None if same else _numbers(a, b)
        return None if bool(np.all(a == b)) else f"{show(x)} and {show(y)}"
    except Exception:  # observations can be anything
        return None if type(x) is type(y) else f"{show(x)} and {show(y)}"


def _numbers(a: Any, b: Any) -> str:
    if a.shape != b.shape or a.ndim == 0:
        return f"{show(a[()])} and {show(b[()])}"
    k = int(np.argmax(~np.isclose(a.ravel(), b.ravel(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)))
    return f"{a.ravel()[k]:g} and {b.ravel()[k]:g} in place {k}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["without a word"])[0]
