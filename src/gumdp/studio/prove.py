"""What can be proved beside a run: a value that no policy is below, and how far a planner is from the best at most."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gumdp.bounds.along import Along
from gumdp.bounds.bound import lower_bound
from gumdp.experiments.engines.work import prepare
from gumdp.jit.compiling import clock
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.results import Array, Bound, Evaluation
from gumdp.run.certify import conclude, controlled
from gumdp.studio.opening import make_planner
from gumdp.studio.race import Say, Stop, values_of

QUICK = 0.02  # seconds that the bound at a step may take: the run waits for it
QUIET = 0.5  # seconds for what can't be interrupted
DOUBT = 0.01  # of a certificate; half of it is for the bound
PARTS = 16  # in which trials are played, if they come in large numbers
TOLD = 0.2  # seconds between two messages


def find_bound(say: Say, problem: Problem, message: dict[str, Any], stop: Stop) -> Along | None:
    """Tell a value that no policy is below as it tightens; return the bound along a run, where there is a quick one."""
    say({"say": "status", "text": "looking for a lower bound; the first time, compiling takes up to a minute"})
    best = lower_bound(problem, time_limit=message["seconds"], progress=_teller(say, stop))
    say(_bound(best, True))
    along = Along(problem, QUIET) if Along.applies(problem) else None
    say({"say": "status", "text": ""})
    return along if along is not None and along.seconds < QUICK else None


def _teller(say: Say, stop: Stop) -> Callable[[Bound], None]:
    def tell(bound: Bound) -> None:
        if stop[0]:
            raise KeyboardInterrupt
        say(_bound(bound, False))

    return tell


def _bound(bound: Bound, last: bool) -> dict[str, Any]:
    return {"say": "bound", "value": bound.value, "level": bound.level, "text": str(bound), "last": last}


def certificate(say: Say, problem: Problem, message: dict[str, Any], stop: Stop) -> None:
    """Tell how far the planner's value can be from the best possible: a lower bound, then trials, then the gap."""
    began, trials, seed = clock.whole(), message["trials"], message["seed"]
    planner = make_planner(message["planner"])
    say({"say": "certificate", "phase": "bound", "trials": trials})
    bound = lower_bound(
        problem, time_limit=message["seconds"], level=1.0 - DOUBT / 2.0, seed=seed, progress=_teller(say, stop)
    )
    say(_bound(bound, True))
    actor = controlled(problem, planner, bound, seconds=QUIET)
    values = _play(say, problem, actor, seed, trials, stop)
    result = Evaluation(values=values, planner=planner.name, problem=problem.name or "", seed=seed, seconds=0.0)
    found = conclude(problem, actor, result, bound, DOUBT, began=began)
    facts = {key: getattr(found, key) for key in ("lower", "upper", "mean", "gap", "level", "trials", "seconds")}
    say({"say": "certificate", "phase": "end", "text": str(found), "reason": bound.reason, **facts})


def _play(say: Say, problem: Problem, actor: Planner, seed: int, trials: int, stop: Stop) -> Array:
    say({"say": "certificate", "phase": "compile", "trials": trials})
    with contextlib.suppress(KeyboardInterrupt):  # so ends a trial that is stopped before it begins
        prepare(problem, actor)
    if stop[0]:
        raise KeyboardInterrupt
    began, told = time.perf_counter(), 0.0
    size = max(1, min(actor.batch, trials // PARTS))
    say({"say": "certificate", "phase": "trials", "done": 0, "trials": trials, "left": None})
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        jobs = [
            pool.submit(values_of, problem, actor, seed, k, min(size, trials - k), stop) for k in range(0, trials, size)
        ]
        parts: list[Array] = []
        for k, job in enumerate(jobs):
            parts.append(job.result())
            if stop[0]:
                raise KeyboardInterrupt
            if (now := time.perf_counter()) - told > TOLD:
                told, done = now, min(trials, (k + 1) * size)
                say({"say": "certificate", "phase": "trials", "done": done, "trials": trials,
                     "left": (now - began) * (trials - done) / done})  # fmt: skip
    return np.concatenate(parts)
