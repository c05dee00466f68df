"""Seconds from a new process to its first answer: nothing compiled yet, all of it on disk, and one function edited."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

SEARCH = """
import gumdp
gumdp.{planner}.start(gumdp.zoo.load("m1-entropy"), seed=0).act(0)
"""
FUNCTION = """
import gumdp
model = gumdp.zoo.load("m1-entropy").model
def cost(d):
    return ((d - {constant}) ** 2).sum()
problem = gumdp.Problem(model, gumdp.Function(cost), discount=0.9, horizon=100)
gumdp.MCTS(100).start(problem, seed=0).act(0)
"""
BOUND = """
import gumdp
gumdp.lower_bound(gumdp.zoo.load("m1-entropy"), nodes=100)
"""
SCRIPTS = {  # what is done first, and once more
    "MCTS(100)": (SEARCH.format(planner="MCTS(100)"),) * 2,
    "MCTS.paper(100)": (SEARCH.format(planner="MCTS.paper(100)"),) * 2,
    "MCTS(100), a function": (FUNCTION.format(constant=0.1),) * 2,
    "the same, edited in between": (FUNCTION.format(constant=0.1), FUNCTION.format(constant=0.2)),
    "lower_bound": (BOUND,) * 2,
}


def rows() -> list[dict[str, str | float]]:
    """The first time and the next time, imports included; of the processor's seconds too."""
    return [{"what": what, **seconds(*scripts)} for what, scripts in SCRIPTS.items()]


def seconds(first: str, again: str) -> dict[str, float]:
    """Of ``first`` with nothing on disk, and of ``again`` after that; and what the processor spent."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "GUMDP_CACHE_DIR": cache, "GUMDP_QUIET": "1"}
        cold, cold_cpu = timed(first, environment)
        warm, warm_cpu = timed(again, environment)
    return {"cold": cold, "cold_cpu": cold_cpu, "warm": warm, "warm_cpu": warm_cpu}


def timed(script: str, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of a process, by the clock and of the processor."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        subprocess.run([sys.executable, file.name], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, used
