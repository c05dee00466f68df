"""Auditions: which rollouts suit a problem, found out by playing it.

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

import numpy as np

from gumdp.models.clone import Clone
from gumdp.objectives.base import Array
from gumdp.problem import Problem
from gumdp.seeding import Seeds, streams

SHARES = (0.3, 1.0, 0.0)  # of random steps in greedy rollouts
USUAL = (0.3, True)  # the share and whether to reuse, unless others do better
SEED = 0xA0D1710  # no one's trials
TRIALS = 32
BUDGETS = (100, 25, 10)  # iterations a decision: the first for which there is time for half of the trials
WORK = 30_000_000  # simulated steps, for all candidates together
TAIL = 0.001  # the share of the weights, at the end of an episode, that is left out

Play = Callable[[Problem, float, bool, int, Seeds], Array]  # a share, whether to reuse, iterations, seeds to values

_found: weakref.WeakKeyDictionary[Problem, dict[Hashable, tuple[float, bool]]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def audition(
    problem: Problem, play: Play, key: Hashable, share: float | None = None, reuse: bool | None = None
) -> tuple[float, bool]:
    """The share of random steps and whether to reuse the tree that did best; what is given stays as it is.

    The same ``key`` for the same problem gives the first answer again. Everything is seeded: the answer is the same
    in every process.
    """
    with _lock:
        known = _found.setdefault(problem, {})
        if (key, share, reuse) not in known:
            known[key, share, reuse] = _hold(problem, play, share, reuse)
        return known[key, share, reuse]


def _hold(problem: Problem, play: Play, share: float | None, reuse: bool | None) -> tuple[float, bool]:
    trials, iterations = extent(shortened(problem))
    if trials >= 2 and not isinstance(problem.model, Clone):
        with contextlib.suppress(Exception):  # a fault of the problem is reported where the run itself meets it
            return _contest(shortened(problem), play, share, reuse, iterations, streams(SEED, trials))
    return (USUAL[0] if share is None else share), (USUAL[1] if reuse is None else reuse)


def _contest(
    problem: Problem, play: Play, share: float | None, reuse: bool | None, iterations: int, seeds: Seeds
) -> tuple[float, bool]:
    """What is better than the usual, one change after the other."""
    shares = SHARES if share is None else (share,)
    best = shares[0], reuse is not False
    values = play(problem, *best, iterations, seeds)
    for each in shares[1:]:
        theirs = play(problem, each, best[1], iterations, seeds)
        if is_better(theirs, values) or (each == 1.0 and np.array_equal(theirs, values)):  # equal, but quicker
            best, values = (each, best[1]), theirs
    if reuse is None and is_better(play(problem, best[0], False, iterations, seeds), values):
        best = best[0], False
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
    """How many trials each candidate plays, with how many iterations a decision.

    >>> import gumdp
    >>> extent(gumdp.zoo.load("m1-entropy", horizon=40)), extent(gumdp.zoo.load("m1-entropy", horizon=1000))
    ((32, 100), (1, 10))
    """
    trials = iterations = 0
    for iterations in BUDGETS:
        a_trial = (len(SHARES) + 1) * iterations * problem.steps**2 // 2
        trials = min(TRIALS, WORK // a_trial)
        if trials >= TRIALS // 2:
            break
    return int(trials), iterations
