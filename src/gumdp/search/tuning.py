"""Tuning: which rollouts suit a problem, and whether to commit to plans, found out by playing it.

Nothing that is cheap to compute says in advance whether greedy or random rollouts make the better decisions: greedy
ones are closer to what good play will be, random ones show a single action's effect more clearly, because nobody makes
up for it afterwards. So candidates race: they play the same trials, a few at a time, as long as it takes to tell.
The safe choice (uniform rollouts, no commitment, the tree kept) stays unless another one is better by two standard
errors of the paired differences. Where both play the same trials to the same end, the race is run again with few
iterations, where the difference shows. If there is none then either, plans are kept: a trial is never worse than the
plan that was found, and rare losses don't show in a race.

Maron and Moore (1994), "Hoeffding races: accelerating model selection search for classification and function
approximation".
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.digest import digest_of, sources_digest
from gumdp.jit.folder import Folder
from gumdp.objectives.base import Array
from gumdp.policies.play import setup_of
from gumdp.problem import Problem
from gumdp.seeding import Seeds, streams


class Choice(NamedTuple):
    """What tuning decides."""

    randomness: float  # of random steps in greedy rollouts: 1 is uniform
    reuse: bool  # keep the part of the tree that the real step led to
    exploration: float
    commitment: float  # infinite: none; see ``gumdp.search.incumbent``


@dataclass(frozen=True)
class Duel:
    """One comparison: what was tried, and the evidence."""

    change: str  # in a few words
    gain: float  # by how much its trials were better, on average
    error: float  # the standard error of that
    trials: int
    taken: bool

    def __str__(self) -> str:
        cost = f"cost {'lower' if self.gain >= 0.0 else 'higher'} by {abs(self.gain):.3g} ± {self.error:.2g}"
        return f"{self.change}: {cost} in {self.trials} trials, {'taken' if self.taken else 'not taken'}"


@dataclass(frozen=True)
class Tuned:
    """What tuning chose, and why."""

    choice: Choice
    duels: tuple[Duel, ...] = ()
    iterations: int = 0  # per decision of the trials it played
    seconds: float = 0.0  # compiling not counted
    reason: str = ""  # why there was none, if there was none

    def __str__(self) -> str:
        if self.reason:
            return f"{described(self.choice)} ({self.reason})"
        evidence = "; ".join(map(str, self.duels))
        played = f"{self.iterations} iterations per decision, {self.seconds:.2g} s"
        return f"{described(self.choice)} (tried {evidence}; {played})"


SAFE = Choice(1.0, True, 2.0, math.inf)
SHARES = (0.3, 0.0)  # of random steps
PLANS = (0.0,)  # commitment
SEED = 0xA0D1710  # no one's trials
BLOCKS = (8, 16, 32)  # trials after which a race may end
LEAST = 25  # iterations per decision
MOST = 100
EACH = 6  # iterations for each action, at least
WORK = 6_000_000  # simulated steps of one candidate
CLEAR = 2.0  # standard errors
SCARCE = 2  # iterations for each action where more of them make no difference
KEPT = 1000  # answers on disk
TAIL = 0.001  # the share of the weights, at the end of an episode, that is left out

NONE: Array = np.empty(0)
Play = Callable[[Problem, Choice, int, Seeds], Array]  # with so many iterations, from seeds to values

_found: weakref.WeakKeyDictionary[Problem, dict[Hashable, Tuned]] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def tune(
    problem: Problem, play: Play, key: tuple[Any, ...], usual: Choice, changes: list[dict[str, Any]], keep: bool = False
) -> Tuned:
    """The choice that did best: ``usual``, with those of the ``changes`` that are better.

    The same ``key`` for the same problem gives the first answer again. Everything is seeded: the answer is the same
    in every process. So it can be kept on disk for the next one, which then need not wait.
    """
    whole = (key, usual, tuple(tuple(change.items()) for change in changes))
    with _lock:
        known = _found.setdefault(problem, {})
        if whole not in known:
            name = _name_on_disk(problem, whole) if keep and changes else None
            found = None if name is None else _read(name)
            known[whole] = found or _choose(problem, play, usual, changes)
            if found is None and name is not None and known[whole].duels:
                _write(name, known[whole])
        return known[whole]


@functools.cache
def _code() -> str:
    """What may change the outcome of a race, but for the problem."""
    return sources_digest("search", "policies", "counts", "objectives", "models", "problem", "occupancy", "seeding")


def _name_on_disk(problem: Problem, key: tuple[Any, ...]) -> str | None:
    """That of all that a race depends on; None where Python is called back, which can be anything."""
    table, running = problem.model.known, problem.running()
    rows = None if table is None else (table.offsets, table.successors, table.probabilities, table.start)
    shape = (problem.shape, problem.discount, problem.horizon, problem.episodes, problem.model.deterministic)
    found = digest_of(_code(), key, setup_of(problem), running.counts, running.z_empty, rows, shape)
    return None if found is None else f"tuning-{found}"


def _write(name: str, found: Tuned) -> None:
    folder = Folder.standard()
    folder.write(name, json.dumps(asdict(found)).encode())
    folder.tidy("tuning-", KEPT)


def _read(name: str) -> Tuned | None:
    """What an earlier process found; None if there is nothing, or not what there should be."""
    text = Folder.standard().read(name)
    if text is None:
        return None
    try:
        told = json.loads(text)
        choice, duels = Choice(*told.pop("choice")), tuple(Duel(**duel) for duel in told.pop("duels"))
        return Tuned(choice, duels, **told)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _choose(problem: Problem, play: Play, usual: Choice, changes: list[dict[str, Any]]) -> Tuned:
    if not changes:
        return Tuned(usual, reason="all is given")
    if problem.model.interpreted:
        return Tuned(usual, reason="trying out would take too long in Python")
    short = shortened(problem)
    trials, iterations = extent(short)
    if trials < BLOCKS[0]:
        return Tuned(usual, reason="trying out would take too long at this horizon")
    with contextlib.suppress(Exception):  # a fault of the problem is reported where the run itself meets it
        for choice in (usual, *(usual._replace(**change) for change in changes)):
            play(short, choice, 1, streams(SEED, 1))  # compiled before the clock starts
        return _race(short, play, usual, changes, iterations, streams(SEED, trials))
    return Tuned(usual, reason="trying out has failed")


def _race(
    problem: Problem, play: Play, best: Choice, changes: list[dict[str, Any]], iterations: int, seeds: Seeds
) -> Tuned:
    """What is better than the usual, one change after the other."""
    began = time.perf_counter()
    duels: list[Duel] = []
    values = NONE
    for change in changes:
        other = best._replace(**change)
        duel, values, theirs = _duel(problem, play, (best, other), iterations, seeds, values)
        if duel.gain == duel.error == 0.0:
            few = SCARCE * problem.shape[1]
            duel, _, _ = _duel(problem, play, (best, other), few, seeds)
            level = duel.gain == duel.error == 0.0
            duel = replace(
                duel, change=f"with {few} iterations, ", taken=duel.taken or (level and "commitment" in change)
            )
        duels.append(replace(duel, change=duel.change + _words(change)))
        if duel.taken:
            best, values = other, theirs
    return Tuned(best, tuple(duels), iterations, time.perf_counter() - began)


def _duel(
    problem: Problem, play: Play, pair: tuple[Choice, Choice], iterations: int, seeds: Seeds, ours: Array = NONE
) -> tuple[Duel, Array, Array]:
    """The evidence for the second of a ``pair``, and both sides' trials, the first of which are there as ``ours``."""
    best, other = pair
    theirs = NONE
    gain, error = 0.0, math.inf
    for count in (n for n in BLOCKS if n <= len(seeds)):
        ours = _extended(ours, play, (problem, best, iterations), seeds[:count])
        theirs = _extended(theirs, play, (problem, other, iterations), seeds[:count])
        gain, error = advantage(theirs, ours)
        if gain > (CLEAR + 1.0) * error or gain <= -error:  # clear, or hardly to become so
            break
    return Duel("", gain, error, theirs.size, gain > CLEAR * error and gain > 0.0), ours, theirs


def _extended(values: Array, play: Play, candidate: tuple[Problem, Choice, int], seeds: Seeds) -> Array:
    """The values of the trials of ``seeds``, the first of which are there already."""
    return values if values.size >= len(seeds) else np.concatenate([values, play(*candidate, seeds[values.size :])])


def advantage(theirs: Array, ours: Array) -> tuple[float, float]:
    """By how much their trials are better than ours, with its standard error.

    >>> advantage(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]))
    (1.0, 0.0)
    """
    gains = ours[: theirs.size] - theirs
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(gains.size))


def described(choice: Choice) -> str:
    """A choice in words.

    >>> described(SAFE), described(Choice(0.3, False, 2.0, 0.0))
    ('uniform rollouts', 'greedy rollouts with 0.3 at random, plans kept, no tree kept')
    """
    share = choice.randomness
    rollouts = (
        "uniform rollouts" if share == 1.0 else "greedy rollouts" + (f" with {share:g} at random" if share else "")
    )
    more = [] if math.isinf(choice.commitment) else [_words({"commitment": choice.commitment})]
    more += [] if choice.reuse else ["no tree kept"]
    more += [] if choice.exploration == SAFE.exploration else [f"exploration {choice.exploration:g}"]
    return ", ".join([rollouts, *more])


def _words(change: dict[str, Any]) -> str:
    ((name, value),) = change.items()
    if name == "randomness":
        return "greedy rollouts" + (f" with {value:g} at random" if value else "")
    if name == "commitment":
        return "plans kept" + (f" to within {value:g} deviations" if value else "")
    return "no tree kept" if name == "reuse" else f"{name} {value:g}"


def shortened(problem: Problem) -> Problem:
    """The problem without the last steps of each episode, where discounting leaves them next to no weight."""
    if problem.discount == 1.0:
        return problem
    steps = math.ceil(math.log(TAIL) / math.log(problem.discount))
    if problem.horizon <= steps:
        return problem
    return problem.replace(horizon=steps, name=None)


def extent(problem: Problem) -> tuple[int, int]:
    """How many trials a candidate plays at most, with how many iterations per decision: some for each action.

    >>> import gumdp
    >>> extent(gumdp.zoo.load("m1-entropy", horizon=40)), extent(gumdp.zoo.load("m1-entropy", horizon=2000))
    ((32, 100), (0, 25))
    """
    least = max(LEAST, EACH * problem.shape[1])
    a_step = max(1, problem.steps**2 // 2)
    iterations = int(np.clip(WORK // (BLOCKS[-1] * a_step), least, max(least, MOST)))
    trials = WORK // (iterations * a_step)
    return max((n for n in BLOCKS if n <= trials), default=0), iterations
