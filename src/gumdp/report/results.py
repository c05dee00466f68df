"""Stored cells with their statistics, for tables, figures and --json."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from gumdp import statistics
from gumdp.experiments.plan.arm import Cell
from gumdp.experiments.store.store import Store
from gumdp.report.listing import number
from gumdp.results import Array


@dataclass(frozen=True)
class CellResult:
    """A cell and the values of its trials."""

    cell: Cell
    version: str
    values: Array
    seconds: float  # of all trials together
    failures: int
    _intervals: dict[tuple[float, str], tuple[float, float]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def mean(self) -> float:
        """The mean value; NaN without a trial."""
        return float(self.values.mean()) if self.values.size else float("nan")

    def interval(self, level: float = 0.9, method: str = "bca") -> tuple[float, float]:
        """A bootstrap interval of the mean: BCa, or ``percentile`` as in the paper."""
        if not self.values.size:
            return float("nan"), float("nan")
        if (level, method) not in self._intervals:  # each is asked for by several tables and figures
            self._intervals[level, method] = statistics.bootstrap(self.values, level, method)
        return self._intervals[level, method]

    @property
    def iterations(self) -> int | None:
        """The search budget, where the cell names one."""
        found = self.cell.planner_options.get("iterations")
        return int(found) if found is not None else None


def read_results(
    store: Store, problem: str | None = None, planner: str | None = None, seed: int | None = None, old: bool = False
) -> list[CellResult]:
    """The cells of a store, of the version that ran last or with ``old`` of all, filtered by parts of names."""
    versions = store.versions()
    latest = versions[0] if versions and not old else None
    return [
        CellResult(stored.cell, stored.version, store.values(stored), stored.seconds, stored.failures)
        for stored in store.cells(latest)
        if (problem is None or problem in stored.cell.problem_label)
        and (planner is None or planner in stored.cell.planner_label)
        and (seed is None or seed == stored.cell.seed)
    ]


def result_data(result: CellResult) -> dict[str, Any]:
    """A cell's result as plain data."""
    return {
        **result.cell.plain(),
        "version": result.version,
        "trials": result.values.size,
        "failures": result.failures,
        "mean": result.mean,
        "ci90": result.interval(),
        "std": float(np.std(result.values, ddof=1)) if result.values.size > 1 else None,
        "seconds": result.seconds,
    }


def result_table(results: Iterable[CellResult]) -> RenderableType:
    """Cells with their means and intervals, for people."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("problem", style="cyan", no_wrap=True)
    table.add_column("planner", overflow="fold")
    for name in ("seed", "trials", "mean", "90 % interval", "s a trial", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in results:
        low, high = r.interval()
        each = f"{r.seconds / r.values.size:.2g}" if r.values.size else "–"
        table.add_row(
            r.cell.problem_label, r.cell.planner_label, str(r.cell.seed), str(r.values.size), number(r.mean),
            f"[{number(low)}, {number(high)}]".replace("[", "\\["), each, str(r.failures or "–"),
        )  # fmt: skip
    return table
