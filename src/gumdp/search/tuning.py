"""Tuning: which rollouts suit a problem, found out by playing it.

Nothing that is cheap to compute says in advance whether greedy or random rollouts make the better decisions: greedy
ones are closer to what good play will be, random ones show a single action's effect more clearly, because nobody makes
up for it afterwards. So each candidate plays a few trials with a small budget, the same ones for all.
"""

from __future__ import annotations

import contextlib
import math
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from gumdp.objectives.base import Array
from gumdp.problem import Problem
from gumdp.seeding import Seeds, streams


class Choice(NamedTuple):
    """What tuning decides."""

    randomness: float  # of random steps in greedy rollouts
    reuse: bool  # keep the part of the tree that the real step led to
    exploration: float


SHARES = (0.3, 1.0, 0.0)
WIDTHS = (2.0, 6.0)  # exploration; the first is the usual one
SEED = 0xA0D1710  # no one's trials
TRIALS = 32
BUDGETS = (100, 25, 10)  # iterations per decision: the first for which there is time for half of the trials
WORK = 37_500_000  # simulated steps, for all candidates together
CANDIDATES = len(SHARES) + len(WIDTHS)  # the usual one, and one for each change
TAIL = 0.001  # the share of the weights, at the end of an episode, that is left out

Given = tuple[float | None, bool | None, float | None]  # what tuning need not decide
Play = Callable[[Problem, Choice, int, Seeds], Array]  # with so many iterations, from seeds to values

_found: weakref.WeakKeyDictionary[Problem, dict[Hashable, Choice]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def tune(
    problem: Problem,
    play: Play,
    key: Hashable,
    randomness: float | None = None,
    reuse: bool | None = None,
    exploration: float | None = None,
    usual: float = SHARES[0],
) -> Choice:
    """The choice that did best; what is given stays as it is, and ``usual`` is the randomness unless others do better.

    The same ``key`` for the same problem gives the first answer again. Everything is seeded: the answer is the same
    in every process.
    """
    given = randomness, reuse, exploration
    with _lock:
        known = _found.setdefault(problem, {})
        if (key, given) not in known:
            known[key, given] = _choose(problem, play, given, usual)
        return known[key, given]


def _choose(problem: Problem, play: Play, given: Given, usual: float) -> Choice:
    randomness, reuse, exploration = given
    choice = Choice(
        usual if randomness is None else randomness,
        reuse is not False,
        WIDTHS[0] if exploration is None else exploration,
    )
    short = shortened(problem)
    trials, iterations = extent(short)
    if trials < 2 or problem.model.interpreted:
        return choice
    changes: list[dict[str, Any]] = [{"randomness": each} for each in SHARES if randomness is None and each != usual]
    changes += [{"reuse": False}] if reuse is None else []
    changes += [{"exploration": each} for each in WIDTHS[1:] if exploration is None]
    with contextlib.suppress(Exception):  # a fault of the problem is reported where the run itself meets it
        return _race(short, play, choice, changes, iterations, streams(SEED, trials))
    return choice


def _race(
    problem: Problem, play: Play, best: Choice, changes: list[dict[str, Any]], iterations: int, seeds: Seeds
) -> Choice:
    """What is better than the usual, one change after the other."""
    values = play(problem, best, iterations, seeds)
    for change in changes:
        other = best._replace(**change)
        theirs = play(problem, other, iterations, seeds)
        quicker = other.randomness == 1.0 and np.array_equal(theirs, values)
        if is_better(theirs, values) or quicker:
            best, values = other, theirs
    return best


def is_better(theirs: Array, ours: Array) -> bool:
    """Whether the paired differences speak for them, by more than their standard error.

    >>> is_better(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 3.5])), is_better(np.ones(3), np.ones(3))
    (True, False)
    """
    gains = ours - theirs
    return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(gains.size))


def shortened(problem: Problem) -> Problem:
    """The problem without the last steps of each episode, where discounting leaves them next to no weight."""
    if problem.discount == 1.0:
        return problem
    steps = math.ceil(math.log(TAIL) / math.log(problem.discount))
    if problem.horizon <= steps:
        return problem
    return Problem(problem.model, problem.objective, problem.discount, steps, problem.episodes)


def extent(problem: Problem) -> tuple[int, int]:
    """How many trials each candidate plays, with how many iterations per decision.

    >>> import gumdp
    >>> extent(gumdp.zoo.load("m1-entropy", horizon=40)), extent(gumdp.zoo.load("m1-entropy", horizon=1000))
    ((32, 100), (1, 10))
    """
    trials = iterations = 0
    for iterations in BUDGETS:
        a_trial = CANDIDATES * iterations * problem.steps**2 // 2
        trials = min(TRIALS, WORK // a_trial)
        if trials >= TRIALS // 2:
            break
    return int(trials), iterations
