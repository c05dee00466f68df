"""Results in Python: every trial of a folder as columns, or as a data frame."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gumdp.errors import check_path
from gumdp.experiments.store.store import Store
from gumdp.report.results import ArmResult, pair_number
from gumdp.report.results import read_results as choose


@dataclass(frozen=True)
class Results:
    """The results in a folder, to work on in Python. ``len`` is the number of trials.

    >>> import gumdp, tempfile
    >>> plan = gumdp.Experiment.grid(["m1-entropy"], ["random", {"name": "greedy", "randomness": 0.1}], trials=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = gumdp.run_experiment(plan, folder)
    ...     results = gumdp.read_results(folder)
    >>> len(results), [arm.mean < 0.2 for arm in results.arms]
    (6, [True, True])
    >>> list(results.columns())
    ['problem', 'planner', 'planner.randomness', 'seed', 'trial', 'value']
    """

    folder: Path
    arms: tuple[ArmResult, ...]

    def __len__(self) -> int:
        return sum(arm.trials for arm in self.arms)

    def columns(self) -> dict[str, list[Any]]:
        """A row a trial, as lists by column: problem, planner, their options, seed, trial and value."""
        rows = []
        for result in self.arms:
            arm = result.arm
            options = {f"problem.{k}": _plain(v) for k, v in arm.problem_options.items()}
            options |= {f"planner.{k}": _plain(v) for k, v in arm.planner_options.items()}
            for pair, value in result.numbered.items():
                place = {"seed": arm.seed, "trial": pair - pair_number(arm.seed, 0), "value": value}
                rows.append({"problem": arm.problem, "planner": arm.planner, **options, **place})
        found = dict.fromkeys(name for row in rows for name in row)
        order = ["problem", *(n for n in found if n.startswith("problem."))]
        order += ["planner", *(n for n in found if n.startswith("planner.")), "seed", "trial", "value"]
        return {name: [row.get(name) for row in rows] for name in order}

    def frame(self) -> Any:
        """``columns`` as a pandas data frame where pandas is there, else as they are."""
        try:
            import pandas
        except ImportError:
            return self.columns()
        return pandas.DataFrame(self.columns())


def _plain(value: Any) -> Any:
    """A value that can be an entry of a column: lists and tables as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def read_results(folder: str | Path) -> Results:
    """The results in a folder: those of the version that ran last.

    >>> import gumdp, tempfile
    >>> plan = gumdp.Experiment.grid(["m1-entropy"], ["random"], trials=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = gumdp.run_experiment(plan, folder)
    ...     results = gumdp.read_results(folder)
    >>> len(results), list(results.frame())
    (20, ['problem', 'planner', 'seed', 'trial', 'value'])
    """
    path = check_path("read_results: folder", folder)
    with Store.read(path) as store:
        return Results(path, tuple(choose(store)))
