"""Folders of results without playing: values from a fixed generator, for tests of reports."""

from pathlib import Path

import numpy as np

from gumdp.experiments.plan.paper import reproduction
from gumdp.experiments.plan.version import machine
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.report.published import published

LEVELS = {"random": 1.0, "solver": 0.9, "mcts-paper": 0.5, "mcts": 0.45}


def paper_folder(folder: Path, settings: list[str] | None = None, trials: int = 10, bounds: bool = True) -> Path:
    """What ``gumdp reproduce`` leaves behind, with values near the published ones."""
    rng = np.random.default_rng(0)
    plan = reproduction(settings, trials, (10, 100, 4000))
    with Store.open(folder) as store:
        store.begin("local", {**machine(), "study": plan.study()}, "gumdp reproduce --out results")
        for arm in plan.arms:
            base = published(arm.problem, arm.planner).unrounded
            budget = arm.planner_options.get("iterations", 4000)
            values = base * (1.0 + 0.02 * np.log10(4000 / budget) + 0.01 * rng.normal(size=trials))
            store.add(arm, [Outcome(k, float(v), 0.25) for k, v in enumerate(values)])
            if bounds:
                store.note("bound", arm.problem_digest, {"value": 0.8 * base, "method": "Jensen", "seconds": 0.1})
        store.end("complete", 12.5)
    return folder
