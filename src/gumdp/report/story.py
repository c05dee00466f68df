"""What a folder of results says, put in order for tables, figures and the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.identity import called
from gumdp.experiments.store.store import Store
from gumdp.report.published import Published, published
from gumdp.report.results import CellResult
from gumdp.run.compare import Comparison, compare
from gumdp.zoo.registry import Entry, entries

NAMES = {"random": "random", "solver": "solver", "mcts-paper": "MCTS.paper()", "mcts": "MCTS()", "greedy": "greedy"}


@dataclass(frozen=True)
class Line:
    """A planner on a problem, with one result for each budget, the smallest first."""

    planner: str
    name: str  # for people, without the budget
    results: tuple[CellResult, ...]
    numbered: dict[int, float] = field(repr=False)  # of the largest budget: values by (seed and) trial

    @property
    def best(self) -> CellResult:
        """The result of the largest budget: what tables show."""
        return self.results[-1]

    @property
    def curve(self) -> list[CellResult]:
        """The results by budget, if there are several."""
        found = [result for result in self.results if result.iterations is not None and result.values.size]
        return found if len(found) > 1 else []


@dataclass(frozen=True)
class Section:
    """A problem with all that was run on it."""

    label: str
    problem: str
    entry: Entry | None
    lines: tuple[Line, ...]
    bound: dict[str, Any] | None

    @property
    def title(self) -> str:
        """The problem in a few words."""
        return self.entry.summary if self.entry else self.label

    def line(self, planner: str) -> Line | None:
        """The line of a planner, by its name."""
        return next((line for line in self.lines if line.planner == planner and line.best.values.size), None)

    def published(self, line: Line) -> Published | None:
        """What the paper reports for the planner of ``line``, if it has this problem."""
        return published(self.problem, line.planner)

    def comparison(self, a: str, b: str) -> Comparison | None:
        """Planner a against planner b over the trials that both have played; None with fewer than two."""
        x, y = self.line(a), self.line(b)
        if x is None or y is None:
            return None
        common = sorted(set(x.numbered) & set(y.numbered))
        return compare([x.numbered[k] for k in common], [y.numbered[k] for k in common]) if len(common) > 1 else None

    @property
    def gap(self) -> tuple[Line, float, float] | None:
        """(the best line, the upper end of its interval, the gap to the lower bound), where there is a bound."""
        lines = [line for line in self.lines if line.best.values.size]
        if self.bound is None or not lines:
            return None
        best = min(lines, key=lambda line: line.best.mean)
        upper = best.best.interval()[1]
        return best, upper, upper - float(self.bound["value"])


@dataclass(frozen=True)
class Story:
    """All of it."""

    folder: Path
    version: str
    sections: tuple[Section, ...]
    runs: tuple[dict[str, Any], ...]
    failures: tuple[str, ...]

    @property
    def paper(self) -> bool:
        """Whether there is something that the paper reports too."""
        return any(section.published(line) for section in self.sections for line in section.lines)

    @property
    def trials(self) -> int:
        """Trials in all."""
        return sum(r.values.size for section in self.sections for line in section.lines for r in line.results)

    @property
    def seconds(self) -> float:
        """Core seconds that the trials took, without compiling."""
        return sum(r.seconds for section in self.sections for line in section.lines for r in line.results)

    @property
    def planners(self) -> list[tuple[str, str]]:
        """(planner, name) of every line, once, in order."""
        return list({line.name: (line.planner, line.name) for s in self.sections for line in s.lines}.values())


def read_story(folder: str | Path) -> Story:
    """Read a folder of results: those of the version that ran last."""
    with Store.read(folder) as store:
        versions = store.versions()
        latest = versions[0] if versions else ""
        known = {entry.name: entry for entry in entries()}
        groups: dict[str, dict[str, list[tuple[CellResult, dict[int, float]]]]] = {}
        firsts: dict[str, Arm] = {}  # of each problem: keys say what is the same, labels are for people
        for stored in store.arms(latest):
            arm = stored.arm
            result = CellResult(arm, stored.version, store.values(stored), stored.seconds, stored.failures)
            firsts.setdefault(arm.problem_key, arm)
            lines = groups.setdefault(arm.problem_key, {})
            lines.setdefault(arm.line_key, []).append((result, store.numbered(stored)))
        sections = tuple(
            Section(
                (first := firsts[key]).problem_label,
                first.problem,
                known.get(first.problem),
                _lines(lines),
                store.finding("bound", first.problem_digest, latest),
            )
            for key, lines in groups.items()
        )
        failed: dict[tuple[str, str], list[int]] = {}
        for stored, trial, text in store.failures():
            if stored.version == latest:
                failed.setdefault((stored.arm.label, text), []).append(trial)
        runs = tuple(run for run in store.runs() if run["version"] == latest)
    failures = tuple(_failure(label, text, trials) for (label, text), trials in failed.items())
    return Story(Path(folder), latest, _in_order(sections), runs, failures)


def _failure(label: str, text: str, trials: list[int]) -> str:
    numbers = ", ".join(map(str, trials[:5])) + (f" and {len(trials) - 5} more" if len(trials) > 5 else "")
    return f"{label}, trial{'s' if len(trials) > 1 else ''} {numbers}: {text}"


def line_name(arm: Arm) -> str:
    """The planner for people, without its budget."""
    options = {k: v for k, v in arm.planner_options.items() if k != "iterations"}
    name = NAMES.get(arm.planner, arm.planner)
    return called(name.removesuffix("()") if options else name, options)


def _lines(groups: dict[str, list[tuple[CellResult, dict[int, float]]]]) -> tuple[Line, ...]:
    lines = []
    names: dict[str, int] = {}
    for found in groups.values():
        by_budget: dict[int, list[tuple[CellResult, dict[int, float]]]] = {}
        for result, numbered in found:
            by_budget.setdefault(result.iterations or 0, []).append((result, numbered))
        merged = [_merge(by_budget[budget]) for budget in sorted(by_budget)]
        arm = found[0][0].cell
        name = line_name(arm)
        names[name] = names.get(name, 0) + 1
        if names[name] > 1:  # a file of the same name with something else in it
            name = f"{name} #{names[name]}"
        lines.append(Line(arm.planner, name, tuple(m[0] for m in merged), merged[-1][1]))
    order = list(NAMES)
    return tuple(sorted(lines, key=lambda line: order.index(line.planner) if line.planner in order else len(order)))


def _merge(cells: list[tuple[CellResult, dict[int, float]]]) -> tuple[CellResult, dict[int, float]]:
    """One result of the cells that differ in their seed alone; trials are numbered by (seed, trial) in one number."""
    first = cells[0][0]
    numbered = {result.cell.seed << 32 | k: value for result, values in cells for k, value in values.items()}
    values = np.concatenate([result.values for result, _ in cells])
    seconds, failures = sum(r.seconds for r, _ in cells), sum(r.failures for r, _ in cells)
    return CellResult(first.cell, first.version, values, seconds, failures), numbered


def _in_order(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Sections in the order of the zoo's own list of the paper's settings, others as they came."""
    from gumdp.experiments.plan.paper import SETTINGS

    order = list(SETTINGS)
    return tuple(sorted(sections, key=lambda s: order.index(s.problem) if s.problem in order else len(order)))
