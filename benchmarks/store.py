"""What certainty costs: a stored row with its checksum beside its trial, and the digest of a user's code.

All of it is processor time, so that other work on the machine counts for little.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.code import Code as Modules
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.jit.code import Code
from gumdp.seeding import streams

CHEAPEST = "m1-entropy"  # of the nine settings: its trials are the shortest, so that rows weigh most
FUNCTION = """
import numpy as np
from part{next} import table as beyond

TABLE = np.arange(60.0).reshape(20, 3) + {k}

def table(d, x):
    total = 0.0
    for i in range(d.size):
        total += x * d.flat[i] * TABLE[i % 20, i % 3]
    return total + beyond(d, 0.5 * x)
"""
LAST = "def table(d, x):\n    return 0.0\n"
OBJECTIVE = "from part0 import table\n\ndef cost(d):\n    return table(d, 1.0)\n"


def least(what: Callable[[int], Any], repeats: int) -> float:
    """Processor seconds, the least of several."""
    times = []
    for k in range(repeats):
        began = time.process_time()
        what(k)
        times.append(time.process_time() - began)
    return min(times)


def row(iterations: int = 4000, repeats: int = 5) -> dict[str, Any]:
    """A trial, and what it takes to store it in a transaction of its own, as a run does when trials take long."""
    problem, planner = gumdp.zoo.load(CHEAPEST), gumdp.MCTS(iterations)
    arm, stop, count = Arm(CHEAPEST, "mcts", {}, {"iterations": iterations}), np.zeros(1, np.uint8), 100
    planner.trials(problem, streams(0, 1), np.ones(1, np.uint8))  # compiled now
    trial = least(lambda k: planner.trials(problem, streams(k, 1), stop), repeats)
    with tempfile.TemporaryDirectory() as folder, Store.open(folder) as store:
        store.begin("local", {}, "benchmark")

        def add(block: int) -> None:
            for k in range(block * count, (block + 1) * count):
                store.add(arm, [Outcome(k, 0.1 * k, 0.5)])
                store.check()

        stored = least(add, repeats) / count

        def read(_: int) -> None:
            with Store.read(folder) as other:
                other.done(arm)

        verified = least(read, repeats) / (count * repeats)
    return {
        "problem": CHEAPEST,
        "iterations": iterations,
        "trial_ms": trial * 1e3,
        "row_ms": stored * 1e3,
        "verified_ms": verified * 1e3,
        "percent": 100.0 * (stored + verified) / trial,
    }


def digest(modules: int = 20, repeats: int = 5) -> dict[str, Any]:
    """A user's objective that reaches through many modules: known again for the store, and for compiled code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k in range(modules):
            text = FUNCTION.format(next=k + 1, k=k) if k + 1 < modules else LAST
            (folder / f"part{k}.py").write_text(text)
        (folder / "objective.py").write_text(OBJECTIVE)
        sys.path.insert(0, name)
        try:
            cost = importlib.import_module("objective").cost
            named = Modules.named(["objective"], folder)
            stored = least(lambda k: named.digest(), repeats)
            compiled = least(lambda k: Code(cost), repeats)
        finally:
            sys.path.remove(name)
            for module in ("objective", *(f"part{k}" for k in range(modules))):
                sys.modules.pop(module, None)
    return {"modules": modules + 1, "stored_ms": stored * 1e3, "compiled_ms": compiled * 1e3}


def rows(repeats: int = 5) -> list[dict[str, Any]]:
    """Both."""
    return [row(repeats=repeats), digest(repeats=repeats)]
