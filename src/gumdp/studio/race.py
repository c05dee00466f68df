"""Several planners on the same random numbers: one trial side by side, then many, and who is better."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp import statistics
from gumdp.errors import GumdpError
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.results import Array
from gumdp.run.compare import compare
from gumdp.run.evaluate import play_trial
from gumdp.seeding import streams
from gumdp.studio.keep import storing
from gumdp.studio.opening import make_planner
from gumdp.studio.run import Run

Say = Callable[[dict[str, Any]], None]
Stop = NDArray[np.uint8]
PORTION = 0.15  # seconds that trials of one planner take, between two looks
TOLD = 0.2  # seconds between two messages
JUDGED = 1.0  # seconds between two comparisons


def label(spec: dict[str, Any]) -> str:
    """A planner with its options, for people."""
    options = ", ".join(f"{key}={value}" for key, value in spec["options"].items())
    return f"{spec['name']}({options})" if options else str(spec["name"])


def side_by_side(say: Say, problem: Problem, message: dict[str, Any], stop: Stop) -> None:
    """One trial of each planner, told as soon as it is over."""
    from gumdp.studio.scene import scene

    world = message["problem"]["options"].get("world")
    say({"say": "sides", "scene": scene(problem, world), "labels": [label(p) for p in message["planners"]]})

    def play(k: int) -> None:
        run = Run(problem, make_planner(message["planners"][k]), message["seed"], message["trial"], stop)
        steps = []
        while not run.over:
            steps.append(run.take())
        facts: dict[str, Any] = {
            f"{key}s": [step[key] for step in steps] for key in ("cell", "action", "state", "cost")
        }
        facts["states"] = facts["states"] if facts["states"][0] is not None else None
        say({"say": "side", "k": k, **facts, "value": run.end()["value"]})

    for k in range(len(message["planners"])):
        if not stop[0]:
            try:
                play(k)
            except GumdpError as error:  # the others go on
                say({"say": "side", "k": k, "sorry": str(error)})


def race(say: Say, problem: Problem, message: dict[str, Any], stop: Stop, out: Path, own: str) -> None:
    """Many trials of each planner on the same random numbers, stored as they end. ``own``: the problem of a file.

    A planner that can't play the problem is told, and the others go on.
    """
    began = time.perf_counter()
    runners = [Runner(problem, spec) for spec in message["planners"]]
    total, values, racing = message["trials"], [np.zeros(0) for _ in runners], list(range(len(runners)))
    say({"say": "race", "phase": "begin", "labels": [label(p) for p in message["planners"]], "trials": total})
    with storing(message, out, own) as keep, ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        found = keep.found()
        judged = told = 0.0
        fresh: list[list[float]] = [[] for _ in runners]
        while min(values[k].size for k in racing) < total and not stop[0]:
            jobs = [
                (k, pool.submit(runners[k].play, message["seed"], values[k].size, total, stop, found[k]))
                for k in racing
            ]
            for k, job in jobs:
                try:
                    more, seconds = job.result()
                except GumdpError as error:
                    racing.remove(k)
                    if not racing:
                        raise
                    say({"say": "race", "phase": "out", "k": k, "text": str(error)})
                    continue
                keep.add(k, values[k].size, more, seconds)
                values[k] = np.concatenate([values[k], more])
                fresh[k] += more.tolist()
            now = time.perf_counter()
            if now - told > TOLD:
                told, verdict = now, None
                if now - judged > JUDGED:
                    judged, verdict = now, judge(values, racing)
                say(
                    {
                        "say": "race",
                        "phase": "go",
                        "values": fresh,
                        "verdict": verdict,
                        "left": _left(began, [values[k] for k in racing], total),
                    }
                )
                fresh = [[] for _ in runners]
        folder = keep.folder
    say({"say": "race", "phase": "end", "values": fresh, "verdict": judge(values, racing), "left": 0.0,
         "stopped": bool(stop[0]), "folder": str(folder) if folder else None,
         "seconds": time.perf_counter() - began})  # fmt: skip


def _left(began: float, values: list[Array], total: int) -> float:
    done, whole = sum(v.size for v in values), total * len(values)
    return (time.perf_counter() - began) * (whole - done) / max(1, done)


class Runner:
    """A planner in the race: as many trials at a time as take a moment."""

    def __init__(self, problem: Problem, spec: dict[str, Any]) -> None:
        self.problem, self.planner, self.size = problem, make_planner(spec), 1

    def play(self, seed: int, first: int, total: int, stop: Stop, known: dict[int, float]) -> tuple[Array, float]:
        """The values of the next trials, and the seconds that each took; those that are stored are not played again."""
        if first in known:
            last = first
            while last < total and last in known:
                last += 1
            return np.array([known[k] for k in range(first, last)]), 0.0
        count = min(self.size, total - first)
        began = time.perf_counter()
        values = values_of(self.problem, self.planner, seed, first, count, stop)
        spent = time.perf_counter() - began
        self.size = int(min(1000, max(1, 2 * self.size if spent < PORTION / 2 else self.size * PORTION / spent)))
        return values, spent / max(1, values.size)


def values_of(problem: Problem, planner: Planner, seed: int, first: int, count: int, stop: Stop) -> Array:
    """The values of the trials ``first`` … of a seed, without those that ``stop`` cut off."""
    if count <= 0 or stop[0]:
        return np.zeros(0)
    seeds = streams(seed, count, first)
    values = planner.trials(problem, seeds, stop)
    if values is None:
        found = []
        for pair in seeds:
            try:
                found.append(play_trial(problem, planner, pair, stop=stop).value)
            except KeyboardInterrupt:
                break
        values = np.array(found)
    cut = np.flatnonzero(np.isnan(values))
    return values[: cut[0]] if cut.size else values


def judge(values: list[Array], racing: list[int]) -> dict[str, Any] | None:
    """Means with intervals, and how each of those that race does against the one that leads."""
    count = min(values[k].size for k in racing)
    if count < 2:
        return None
    means = [float(v.mean()) if k in racing else None for k, v in enumerate(values)]
    intervals = [_interval(v) if k in racing else None for k, v in enumerate(values)]
    leader = min(racing, key=lambda k: float(values[k][:count].mean()))
    against = []
    for k in racing:
        if k != leader:
            found = compare(values[leader][:count][:2000], values[k][:count][:2000])
            against.append({"k": k, "test": found.test, "p": found.p, "difference": found.difference,
                            "interval": found.interval, "wins": found.wins})  # fmt: skip
    return {"means": means, "intervals": intervals, "leader": leader, "against": against, "trials": count}


def _interval(values: Array) -> tuple[float, float]:
    return statistics.bootstrap(values[:2000], 0.9) if np.ptp(values) > 0.0 else (float(values[0]), float(values[0]))
