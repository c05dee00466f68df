"""Stored arms with their statistics, for tables, figures, frames and --json."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gumdp import statistics
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.reader import StoredArm
from gumdp.experiments.store.store import Store
from gumdp.report.listing import number
from gumdp.results import Array


@dataclass(frozen=True)
class ArmResult:
    """An arm and the values of its trials."""

    arm: Arm
    version: str
    numbered: Mapping[int, float] = field(repr=False)  # values by seed and trial, as ``pair_number`` has them
    seconds: float  # of all trials together
    failures: int
    _intervals: dict[tuple[float, str], tuple[float, float]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def values(self) -> Array:
        """The values of the trials, in their order."""
        return np.array(list(self.numbered.values()), dtype=np.float64)

    @property
    def trials(self) -> int:
        """How many there are."""
        return len(self.numbered)

    @property
    def mean(self) -> float:
        """The mean value; NaN without a trial."""
        return float(self.values.mean()) if self.numbered else float("nan")

    def interval(self, level: float = 0.9, method: str = "bca") -> tuple[float, float]:
        """A bootstrap interval of the mean: BCa, or ``percentile`` as in the paper."""
        if not self.numbered:
            return float("nan"), float("nan")
        if (level, method) not in self._intervals:  # each is asked for by several tables and figures
            self._intervals[level, method] = statistics.bootstrap(self.values, level, method)
        return self._intervals[level, method]

    @property
    def iterations(self) -> int | None:
        """The search budget, where the arm names one."""
        found = self.arm.planner_options.get("iterations")
        return found if isinstance(found, int) else None


def pair_number(seed: int, trial: int) -> int:
    """Seed and trial in one number: equal ones met the same chance."""
    return seed << 32 | trial


def read_arms(store: Store, arms: Iterable[StoredArm]) -> list[ArmResult]:
    """What came of these arms of a store."""
    return [
        ArmResult(
            stored.arm,
            stored.version,
            {pair_number(stored.arm.seed, k): value for k, value in store.numbered(stored).items()},
            stored.seconds,
            stored.failures,
        )
        for stored in arms
    ]


def read_results(
    store: Store, problem: str | None = None, planner: str | None = None, seed: int | None = None, old: bool = False
) -> list[ArmResult]:
    """The arms of a store, of the version that ran last or with ``old`` of all, filtered by parts of names."""
    return read_arms(store, store.chosen(problem, planner, seed, old))


def result_data(result: ArmResult) -> dict[str, Any]:
    """An arm's result as plain data."""
    return {
        **result.arm.plain(),
        "version": result.version,
        "trials": result.trials,
        "failures": result.failures,
        "mean": result.mean,
        "ci90": result.interval(),
        "std": float(np.std(result.values, ddof=1)) if result.trials > 1 else None,
        "seconds": result.seconds,
    }


def result_table(results: Iterable[ArmResult]) -> RenderableType:
    """Arms with their means and intervals, for people: below each problem its planners."""
    results = list(results)
    seeds, failed = len({r.arm.seed for r in results}) > 1, any(r.failures for r in results)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("problem, planner", overflow="fold")
    shown = [*(["seed"] if seeds else []), "trials", "mean", "90 % interval", "s each", *(["failed"] if failed else [])]
    for name in shown:  # numbers are never cut
        width = max([len(name), *(len(_cell(r, name)) for r in results)])
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    for problem, arms in itertools.groupby(results, lambda r: r.arm.problem_label):
        table.add_row(Text(problem, style="cyan"))
        for r in arms:
            table.add_row(Padding(Text(r.arm.planner_label), (0, 0, 0, 2)), *(_cell(r, name) for name in shown))
    return table


def _cell(result: ArmResult, name: str) -> str:
    """What stands in a column of the table."""
    low, high = result.interval()
    return {
        "seed": str(result.arm.seed),
        "trials": str(result.trials),
        "mean": number(result.mean),
        "90 % interval": f"[{number(low)}, {number(high)}]",
        "s each": f"{result.seconds / result.trials:.2g}" if result.trials else "–",
        "failed": str(result.failures or "–"),
    }[name]
