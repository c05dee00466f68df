"""Playing trials of an arm in this process: the same on a thread, in a worker process and on a cluster."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.experiments.engines.job import Done, Job
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.outcome import Outcome
from gumdp.jit.compiling import clock
from gumdp.objectives.interpreted import InterpretedRecord
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.run.evaluate import play_trial
from gumdp.seeding import streams

BOUNDING = 3.0  # seconds for the lower bound of a problem
BUILT = 64  # problems and planners kept for the next trials of the same arms: more than are prepared ahead


class Slot:
    """Room for something that is made once, by whoever comes first, while others wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made = False
        self.value: Any = None


class BuildCache:
    """Problems and planners as they are built, kept for the arms that share them."""

    def __init__(self) -> None:
        self._problems: OrderedDict[str, Slot] = OrderedDict()
        self._planners: OrderedDict[str, Slot] = OrderedDict()
        self._compiled: OrderedDict[str, Slot] = OrderedDict()
        self._lock = threading.Lock()

    def problem(self, arm: Arm) -> Problem:
        """The problem of ``arm``; arms of the same problem get the same one."""
        problem: Problem = self._get(self._problems, arm.problem_key, arm.make_problem)
        return problem

    def planner(self, arm: Arm) -> Planner:
        """The planner of ``arm``, which may remember what it has solved."""
        planner: Planner = self._get(self._planners, arm.planner_key, arm.make_planner)
        return planner

    def compiled(self, arm: Arm) -> bool:
        """Whether trials of ``arm`` run without the interpreter; if so all that they need is compiled now."""
        problem, planner = self.problem(arm), self.planner(arm)
        key = f"{arm.problem_key} {arm.planner_key}"
        return bool(self._get(self._compiled, key, lambda: prepare(problem, planner)))

    def interpreted(self, arm: Arm) -> bool:
        """Whether the objective of ``arm`` runs as plain Python, as far as can be told."""
        try:
            return _uses_interpreter(self.problem(arm).record)
        except Exception:  # it is met again, and reported, by whoever does the job
            return True

    def _get(self, kept: OrderedDict[str, Slot], key: str, make: Callable[[], Any]) -> Any:
        with self._lock:
            slot = kept.setdefault(key, Slot())
            kept.move_to_end(key)
            while len(kept) > BUILT:
                kept.popitem(last=False)
        with slot.lock:
            if not slot.made:
                slot.value = make()
                slot.made = True
        return slot.value


def prepare(problem: Problem, planner: Planner) -> bool:
    """Compile and solve what trials need, if they run without the interpreter; return whether they do."""
    if _uses_interpreter(problem.record):
        return False
    stopped = np.ones(1, np.uint8)  # a trial that is stopped before it begins compiles everything and plays nothing
    try:
        return planner.trials(problem, streams(0, 1), stopped) is not None
    except Exception:  # it will be met again, and reported, when a trial is played
        return True


def _uses_interpreter(record: Any) -> bool:
    parts = record if isinstance(record, tuple) else ()
    return isinstance(record, InterpretedRecord) or any(_uses_interpreter(part) for part in parts)


def perform(build_cache: BuildCache, job: Job, stop: NDArray[np.uint8]) -> Done:
    """Do a job, whatever it is, on this thread."""
    if not job.trials:
        return _bound(build_cache, job)
    problem, planner = build_cache.problem(job.arm), build_cache.planner(job.arm)
    build_cache.compiled(job.arm)  # so that compiling does not count as playing
    return Done(job, play(problem, planner, job.arm.seed, job.trials, stop, job.keep))


def play(
    problem: Problem,
    planner: Planner,
    seed: int,
    trials: Sequence[int],
    stop: NDArray[np.uint8],
    keep: Sequence[str] = (),
) -> list[Outcome]:
    """The outcomes of ``trials``, consecutive numbers, in their order; fewer if ``stop[0]`` was set meanwhile.

    Trial k depends on (problem, planner, seed, k) only. If some of them fail, those are found by playing each alone.
    """
    if keep:
        try:
            return [_play_kept(problem, planner, seed, k, stop, keep) for k in trials]
        except _Stopped:
            return []
    began = clock()
    try:
        seeds = streams(seed, len(trials), first=trials[0])
        values = planner.trials(problem, seeds, stop)
        if values is None:
            values = np.array([play_trial(problem, planner, pair, stop=stop).value for pair in seeds])
    except BaseException as error:  # an objective can raise anything, also what Ctrl-C raises; that comes elsewhere
        return _one_by_one(problem, planner, seed, trials, stop, error)
    if stop[0]:
        return []
    if not np.isfinite(values).all():
        return _one_by_one(problem, planner, seed, trials, stop, None)
    each = (clock() - began) / len(trials)
    return [Outcome(k, float(value), each) for k, value in zip(trials, values, strict=True)]


def _one_by_one(
    problem: Problem,
    planner: Planner,
    seed: int,
    trials: Sequence[int],
    stop: NDArray[np.uint8],
    error: BaseException | None,
) -> list[Outcome]:
    """Play each trial alone, so that one that fails takes no other with it."""
    if stop[0]:
        return []
    if len(trials) > 1:
        return [outcome for k in trials for outcome in play(problem, planner, seed, [k], stop)]
    return [Outcome(trials[0], float("nan"), 0.0, sentence(error))]


def _play_kept(
    problem: Problem, planner: Planner, seed: int, k: int, stop: NDArray[np.uint8], keep: Sequence[str]
) -> Outcome:
    """Play a trial a decision at a time, and keep what is asked for."""
    try:
        trial = play_trial(problem, planner, streams(seed, first=k)[0], seed=seed, trial=k, stop=stop)
    except BaseException as error:
        if stop[0]:
            raise _Stopped from None
        return Outcome(k, float("nan"), 0.0, sentence(error))
    if not np.isfinite(trial.value):
        return Outcome(k, float("nan"), 0.0, sentence(None))
    kept: dict[str, Any] = {"occupancy": trial.occupancy} if "occupancy" in keep else {}
    if "totals" in keep:
        kept["totals"] = np.array([*trial.totals.values()], dtype=np.float64)
    if "trajectory" in keep:
        kept |= {"states": np.asarray(trial.states), "actions": np.asarray(trial.actions)}
    return Outcome(k, trial.value, trial.seconds, kept=kept)


def _bound(build_cache: BuildCache, job: Job) -> Done:
    """A certified lower bound of what any policy can attain, as plain data."""
    import gumdp

    try:
        problem = build_cache.problem(job.arm)
        began = clock()
        found = gumdp.lower_bound(problem, time_limit=BOUNDING)
        spent = clock() - began
    except BaseException as error:
        return Done(job, error=f"{type(error).__name__}: {error}")
    finding = {"value": float(found.value), "method": found.method, "level": float(found.level), "seconds": spent}
    return Done(job, finding=finding)


class _Stopped(Exception):
    """The run is over; the trial is not."""


def sentence(error: BaseException | None) -> str:
    """Why a trial has no value."""
    if error is None:
        return "the objective is not finite."
    return f"{type(error).__name__}: {error}" if type(error).__module__ == "builtins" else str(error)
