"""Whether a way back into a state leads there: tried once on the user's own environment, before anything is planned.

The environment is played for a few steps without any copies (the reference); then again, with a state saved half way.
From there the environment goes on with the same actions and the same chance, while what was brought back does something
else in between its steps; then what is brought back does what the environment did. All must see the same. Then the
generators are set differently, to see whether the future can be drawn anew.
"""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, failures_of, show
from gumdp.models.gymnasium.chance import Chance, find
from gumdp.models.gymnasium.copying import deep_copy
from gumdp.models.gymnasium.differences import difference as difference
from gumdp.models.gymnasium.ways import Live, Way

STEPS, LONG, LONGER = 6, 24, 120  # before the state that is come back to, and after it where steps are quick
PATIENCE, QUICK, QUICKER = 0.05, 0.002, 0.0002  # seconds that a step may take, or there are fewer; below which more
HORIZON = 30  # for which iterations per second are told
TRIES = 6
SEEDS = 64  # of resets, in search of two that look the same
WALK = 300  # steps without any chance, or so many as 0.3 seconds allow: then there is none
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
    kinds: int = 1  # how many numbers a reward is made of


@dataclass(frozen=True)
class Verdict:
    """What came of trying one way."""

    fault: str = ""  # why it can't be used, or nothing
    note: str = ""  # what the user should know of it
    seconds: tuple[float, float] = (0.0, 0.0)  # of coming back, of a step
    certain: bool = False  # whether nothing that was seen was left to chance, but for the start of an episode

    @property
    def rate(self) -> float:
        """Iterations per second at a horizon of 30, roughly."""
        back, step = self.seconds
        return 1.0 / max(1e-9, back + HORIZON * step)


# --- the script -------------------------------------------------------------------------------------------------


def rehearse(env: Any, commands: tuple[Any, ...], seed: int) -> Script:
    """A script for this environment: one that leads away from the start, if some do."""
    rng = np.random.default_rng(seed)
    _check_reset(env, seed)
    mask = _mask(env, seed)
    chance, drawn = Chance(), False
    best: tuple[int, list[int], int] = (-1, [], seed)
    kinds = 1
    before, total = _steps(env, commands, seed & mask)
    for k in range(TRIES):
        numpy, python = _globals()
        first = deep_copy(env.reset(seed=(seed + k) & mask)[0], {})
        chance |= find(env)
        states = _states(chance, env)
        played, moved, failure, paid = _wander(env, commands, first, rng, total)
        drawn |= states != _states(chance, env)
        chance |= find(env)
        after = _globals()
        chance |= Chance((), numpy != after[0], python != after[1])
        score = len(played) + (total if 0 < moved < len(played) else 0)
        if score > best[0]:
            best, kinds = (score, played, (seed + k) & mask), max(1, int(np.size(paid)))
        if score == 2 * total:
            break
    _, played, chosen = best
    if not played:
        name = type(env.unwrapped).__name__
        raise GumdpError(
            f"from_gymnasium: {name} fails at its first step, whatever is done: {failure.rstrip('.')}. If only some "
            "actions are allowed, give actions=[…], a list of those."
        )
    half = max(0, min(before, len(played) - 1))
    drawn |= chance.numpy or chance.python
    return Script(chosen, tuple(played[:half]), tuple(played[half:]), chance, drawn, mask, kinds)


def _check_reset(env: Any, seed: int) -> None:
    """See that an episode can begin."""
    name = type(env.unwrapped).__name__
    with failures_of(f"from_gymnasium: {name}: reset(seed={seed})"):
        made = env.reset(seed=seed)
    if not isinstance(made, tuple) or len(made) != 2:
        raise GumdpError(
            f"from_gymnasium: reset of {name} must return (observation, info), as Gymnasium has it, not {show(made)}."
        )


def _wander(
    env: Any, commands: tuple[Any, ...], first: Any, rng: np.random.Generator, steps: int
) -> tuple[list[int], int, str, Any]:
    """Random actions until an episode ends or fails, the first step that shows something new, the failure, a reward."""
    played: list[int] = []
    moved, failure, paid = 0, "", 0.0
    for _ in range(steps):
        action = int(rng.integers(len(commands)))
        try:
            observation, paid, over, cut, _ = env.step(commands[action])
        except (Exception, SystemExit) as error:  # whatever it is, it comes out when somebody plans with that action
            failure = f"{type(error).__name__}: {_first_line(error)}"
            break
        played.append(action)
        if not moved and difference(first, observation):
            moved = len(played)
        if over or cut:
            break
    return played, moved, failure, paid


def _steps(env: Any, commands: tuple[Any, ...], seed: int) -> tuple[int, int]:
    """How many steps to play up to the state that is come back to, and in all: fewer where they take their time."""
    env.reset(seed=seed)
    began = time.perf_counter()
    try:
        env.step(commands[0])
        env.step(commands[0])
    except (Exception, SystemExit):  # see _wander
        return STEPS, 2 * STEPS
    each = (time.perf_counter() - began) / 2
    before = STEPS if each < PATIENCE else 2
    return before, before + (LONGER if each < QUICKER else LONG if each < QUICK else before)


def _mask(env: Any, seed: int) -> int:
    """The seeds that a reset takes: of 32 bits, or only of 31."""
    try:
        env.reset(seed=0xFFFFFFFF - seed)
    except Exception:
        return 0x7FFFFFFF
    return 0xFFFFFFFF


def _globals() -> tuple[str, str]:
    return repr(np.random.get_state()), repr(random.getstate())  # noqa: NPY002 (to see whether the environment draws)


def _states(chance: Chance, env: Any) -> list[Any]:
    return [mark for mark in chance.marks(env) if mark is not None]


# --- the examination ----------------------------------------------------------------------------------------------


def examine(way: Way, env: Any, script: Script) -> Verdict:
    """What came of coming back to a state by ``way``; ``env`` is ours to play with."""
    way.mask = script.mask
    try:
        return _examined(way, Live(env), script)
    except (Exception, SystemExit) as error:  # it can be anything that an environment does
        return Verdict(f"{type(error).__name__}: {_first_line(error)}")


def _examined(way: Way, live: Live, script: Script) -> Verdict:
    reference, unsteady = _twice(way, live, script)
    if unsteady and way.name == "copy":
        way.anew = True  # each episode gets a copy of the environment as it was made
        other, way.anew = _twice(way, live, script), False
        if not other[1]:
            (reference, unsteady), way.anew = other, True
    if unsteady and way.name == "replay":
        return Verdict(f"the same seed and the same actions do not lead to the same: {unsteady}")
    spare = way.spawn()
    before = len(_begin(way, live, script))
    saved = way.save(live.env, live.past)
    original = _go_on(way, live, script, meanwhile=_Stray(way, spare, saved))
    backs, steps = [_load(way, spare, saved)], list[float]()
    there = _go_on(way, spare, script, seconds=steps)
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
        if (found := _compare(*_from_the_start(way, live, spare, script))) is not None:
            return Verdict(f"what is brought back to the start of an episode differs: {found}")
    seconds = min(backs), float(np.median(steps))
    if unsteady:
        return Verdict(
            "", f"it can't be checked, as the same seed and actions do not lead to the same: {unsteady}", seconds
        )
    note = _foresight(way, spare, live, saved, script)
    return Verdict("", note, seconds, certain=not note and _is_certain(way, spare, saved, script))


def _twice(way: Way, live: Live, script: Script) -> tuple[list[Record], str | None]:
    """What is seen, and how it differs the second time, or after other episodes; None if it does not."""
    reference, again = (_begin(way, live, script) + _go_on(way, live, script) for _ in range(2))
    began, seeds, starts = time.perf_counter(), list[int](), list[Record]()
    while len(seeds) < TRIES and time.perf_counter() - began < TRIES * QUICK:
        seeds.append((script.seed + len(seeds)) & script.mask)
        starts.append(_kept((live.reset(way, seeds[-1]), 0.0, False, False)))
    later = [_kept((live.reset(way, seed), 0.0, False, False)) for seed in reversed(seeds)]
    for one, two in zip([reference, *([x] for x in starts)], [again, *([x] for x in reversed(later))], strict=True):
        if (found := _compare(one, two)) is not None:
            return reference, found
    return reference, None


def _begin(way: Way, live: Live, script: Script) -> list[Record]:
    """Reset and play up to the state that is come back to: half of the steps as they come, half with given chance."""
    records = [_kept((live.reset(way, script.seed), 0.0, False, False))]
    steady = way.chance.numpy or way.chance.python  # of a global generator nobody knows where it is
    for k, action in enumerate(script.before):
        records.append(_kept(live.step(way, action, k if steady or 2 * k >= len(script.before) else None)))
    return records


def _kept(record: Record) -> Record:
    """What was seen, also where the environment shows an array of its own, which changes."""
    return deep_copy(record[0], {}), deep_copy(record[1], {}), record[2], record[3]


class _Stray:
    """What was brought back, doing something else while the original goes on."""

    def __init__(self, way: Way, live: Live, saved: Any) -> None:
        self.way, self.live, self.saved = way, live, saved
        self.rng = np.random.default_rng(1)
        way.load(live, saved)

    def step(self) -> None:
        """Act at random; come back again where an episode ends."""
        action, bits = (int(x) for x in self.rng.integers((len(self.way.commands), 1 << 32)))
        try:
            *_, over, cut = self.live.step(self.way, action, bits)
        except (Exception, SystemExit):  # see _wander
            over, cut = True, False
        if over or cut:
            self.way.load(self.live, self.saved)


def _from_the_start(way: Way, live: Live, spare: Live, script: Script) -> tuple[list[Record], list[Record]]:
    """What follows a reset, and what follows once that state is brought back, after something else was done."""
    live.reset(way, script.seed)
    saved = way.save(live.env, live.past)
    _Stray(way, spare, saved).step()
    way.load(spare, saved)
    return _with_chance(way, live, script), _with_chance(way, spare, script)


def _load(way: Way, live: Live, saved: Any) -> float:
    """Come back, and return the seconds that it took."""
    began = time.perf_counter()
    way.load(live, saved)
    return time.perf_counter() - began


def _go_on(
    way: Way,
    live: Live,
    script: Script,
    bits: int = 100,
    seconds: list[float] | None = None,
    meanwhile: _Stray | None = None,
) -> list[Record]:
    """Play on from there, until the episode ends."""
    records: list[Record] = []
    for k, action in enumerate(script.after):
        if meanwhile is not None:
            meanwhile.step()
        began = time.perf_counter()
        seen = live.step(way, action, bits + k)
        if seconds is not None:
            seconds.append(time.perf_counter() - began)
        records.append(_kept(seen))
        if records[-1][2]:
            break
    return records


def _foresight(way: Way, spare: Live, live: Live, saved: Any, script: Script) -> str:
    """A warning if the future that the copies have is the one that will come, or nothing."""
    if not script.drawn and not _has_one_future(way, spare, saved, script):
        return ""
    looks = deep_copy(live.reset(way, script.seed), {})
    first = _with_chance(way, live, script)
    began, alike = time.perf_counter(), 0
    for k in range(1, SEEDS):
        if alike == TRIES or (k >= TRIES and time.perf_counter() - began > SEEDS * QUICK):
            break
        if difference(looks, live.reset(way, (script.seed + k) & script.mask)) is None:
            alike += 1
            if _compare(first, _with_chance(way, live, script)) is not None:
                return FORESEEN
    return ""


def _with_chance(way: Way, live: Live, script: Script) -> list[Record]:
    """Play from a reset, with the same chance whatever its seed was, until the episode ends."""
    records: list[Record] = []
    with contextlib.suppress(Exception):  # as in a walk
        for k, action in enumerate(script.before + script.after):
            records.append(_kept(live.step(way, action, k)))
            if records[-1][2]:
                break
    return records


def _has_one_future(way: Way, spare: Live, saved: Any, script: Script) -> bool:
    """Whether the same follows, however the generators are set."""
    futures = []
    for bits in (100, 7_000):
        way.load(spare, saved)
        futures.append(_go_on(way, spare, script, bits))
    return _compare(*futures) is None


def _is_certain(way: Way, spare: Live, saved: Any, script: Script) -> bool:
    """Whether nothing is left to chance, as far as a walk shows."""
    if script.drawn or not way.watched or not _has_one_future(way, spare, saved, script):
        return False
    rng = np.random.default_rng(script.seed)
    began, shared = time.perf_counter(), _globals()
    for k in range(WALK):
        if time.perf_counter() - began > WALK / 1000.0:
            break
        if k == 0 or spare.over:
            way.load(spare, saved)
        marks = way.chance.marks(spare.env)
        try:
            _, _, over, cut = spare.step(way, int(rng.integers(len(way.commands))), None)
        except Exception:  # it comes out when somebody plans with that action
            over, cut = True, False
        if marks != way.chance.marks(spare.env):
            return False
        spare.over = over or cut
    return shared == _globals()


FORESEEN = (
    "what happens depends on the seed of its reset, beyond what it shows and the generators that were found in it, so "
    "that the plan knows the future, or what is hidden: give save and restore that draw it anew, or mind that it does"
)


# --- comparing ----------------------------------------------------------------------------------------------------


def _compare(one: list[Record], two: list[Record]) -> str | None:
    """What differs first, in words, or None."""
    for k, (a, b) in enumerate(zip(one, two, strict=False)):
        for what, x, y in zip(("observation", "reward", "end", "time limit"), a, b, strict=True):
            if (found := difference(x, y)) is not None:
                return f"the {what} after {k} steps is {found}"
    return None if len(one) == len(two) else "the episode is not equally long"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["without a word"])[0]
