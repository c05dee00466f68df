"""What a folder of results says, read once and put in order for tables, figures and the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.identity import called
from gumdp.experiments.store.store import Store
from gumdp.report.comparisons import Pair, compare_all
from gumdp.report.published import ROWS, published_for
from gumdp.report.results import ArmResult, read_arms
from gumdp.report.study import Study, read_study
from gumdp.zoo.registry import Entry, Published, entries, paper_settings

NAMES = {"random": "random", "solver": "solver", "mcts-paper": "MCTS.paper()", "mcts": "MCTS()", "greedy": "greedy"}


@dataclass(frozen=True)
class Line:
    """A planner on a problem, with one result for each budget, the smallest first."""

    planner: str
    name: str  # for people, without the budget
    options: Mapping[str, Any]  # without the budget
    results: tuple[ArmResult, ...]
    place: int = 0  # among the planners of the story
    own: int | None = None  # among those that the paper does not have: it decides the colour

    @property
    def best(self) -> ArmResult:
        """The result of the largest budget: what tables show."""
        return self.results[-1]

    @property
    def curve(self) -> list[ArmResult]:
        """The results by budget, if there are several."""
        found = [result for result in self.results if result.iterations is not None and result.trials]
        return found if len(found) > 1 else []

    @property
    def published(self) -> tuple[ArmResult, Published] | None:
        """The result that was got in exactly the paper's way, with what the paper reports for it."""
        found = [(result, theirs) for result in self.results if (theirs := published_for(result.arm))]
        return found[-1] if found and found[-1][0].trials else None


@dataclass(frozen=True)
class Section:
    """A problem with all that was run on it."""

    label: str
    problem: str
    summary: str  # in a few words
    lines: tuple[Line, ...]
    bound: dict[str, Any] | None

    @property
    def played(self) -> list[Line]:
        """The lines that have trials."""
        return [line for line in self.lines if line.best.trials]

    def line(self, planner: str) -> Line | None:
        """The line of a planner, by its name."""
        return next((line for line in self.played if line.planner == planner), None)

    @property
    def gap(self) -> tuple[Line, float, float] | None:
        """(the best line, the upper end of its interval, the gap to the lower bound), where there is a bound."""
        if self.bound is None or not self.played:
            return None
        best = min(self.played, key=lambda line: line.best.mean)
        upper = best.best.interval()[1]
        return best, upper, upper - float(self.bound["value"])


@dataclass(frozen=True)
class Story:
    """All of it."""

    folder: Path
    version: str
    study: Study
    sections: tuple[Section, ...]
    runs: tuple[dict[str, Any], ...]
    failures: tuple[str, ...]

    @property
    def title(self) -> str:
        """What the study is called: by those who made it, or else as its folder is."""
        return self.study.title or f"Results in {self.folder.resolve().name}"

    @property
    def paper(self) -> bool:
        """Whether there is something that the paper reports too."""
        return any(line.published for section in self.sections for line in section.lines)

    @property
    def reproduces(self) -> bool:
        """Whether this is the paper's own comparison: its search in exactly its way."""
        lines = [line for section in self.sections for line in section.lines]
        return any(line.published for line in lines if line.planner == "mcts-paper")

    @property
    def results(self) -> list[ArmResult]:
        """Every result."""
        return [result for section in self.sections for line in section.lines for result in line.results]

    @property
    def trials(self) -> int:
        """Trials in all."""
        return sum(result.trials for result in self.results)

    @property
    def planners(self) -> list[str]:
        """The name of every line, once, in order."""
        lines = sorted((line for section in self.sections for line in section.lines), key=lambda line: line.place)
        return list(dict.fromkeys(line.name for line in lines))

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every candidate against the baseline, on every problem that both have played."""
        return compare_all(self.study, self.sections)


def read_story(folder: str | Path) -> Story:
    """Read a folder of results: those of the version that ran last."""
    with Store.read(folder) as store:
        versions = store.versions()
        latest = versions[0] if versions else ""
        runs = tuple(_sound(run) for run in store.runs() if run["version"] == latest)
        study = read_study(runs)
        groups: dict[str, list[ArmResult]] = {}
        for result in read_arms(store, store.arms(latest)):
            groups.setdefault(result.arm.problem_key, []).append(result)
        known = {entry.name: entry for entry in entries()}
        sections = [_section(store, latest, study, known, results) for results in groups.values()]
        failed: dict[tuple[str, str], list[int]] = {}
        for stored, trial, text in store.failures():
            if stored.version == latest:
                failed.setdefault((stored.arm.label, text), []).append(trial)
    failures = tuple(_failure(label, text, trials) for (label, text), trials in failed.items())
    return Story(Path(folder), latest, study, _in_order(sections, study), runs, failures)


def _sound(run: dict[str, Any]) -> dict[str, Any]:
    """A run with facts of the kinds that they should be: a stranger's folder may have others."""
    machine = run["machine"] if isinstance(run["machine"], dict) else {}
    packages = machine.get("packages")
    seconds = run["seconds"] if isinstance(run["seconds"], int | float) else None
    machine = {**machine, "packages": packages if isinstance(packages, dict) else {}}
    return {**run, "machine": machine, "seconds": seconds, "command": str(run["command"])}


def line_name(arm: Arm) -> str:
    """The planner for people, without its budget."""
    name, options = NAMES.get(arm.planner, arm.planner), _unbudgeted(arm)
    return called(name.removesuffix("()") if options else name, options)


def _unbudgeted(arm: Arm) -> dict[str, Any]:
    return {k: v for k, v in arm.planner_options.items() if k != "iterations"}


def _section(store: Store, version: str, study: Study, known: Mapping[str, Entry], results: list[ArmResult]) -> Section:
    arm = results[0].arm
    summary = study.problems.get(arm.problem) or (known[arm.problem].summary if arm.problem in known else "")
    return Section(arm.problem_label, arm.problem, summary, _lines(results), _bound(store, arm, version))


def _bound(store: Store, arm: Arm, version: str) -> dict[str, Any] | None:
    """The lower bound of the arm's problem, if one was found."""
    bound = store.finding("bound", arm.problem_digest, version)
    value = bound.get("value") if isinstance(bound, dict) else None
    return bound if isinstance(value, int | float) and math.isfinite(value) else None


def _lines(results: list[ArmResult]) -> tuple[Line, ...]:
    groups: dict[str, list[ArmResult]] = {}
    for result in results:
        groups.setdefault(result.arm.line_key, []).append(result)
    lines, names = [], set[str]()
    for found in groups.values():
        by_budget: dict[int, list[ArmResult]] = {}
        for result in found:
            by_budget.setdefault(result.iterations or 0, []).append(result)
        arm = found[0].arm
        name = next(text for text in _numbered(line_name(arm)) if text not in names)  # a file that changed is another
        names.add(name)
        merged = tuple(_merge(by_budget[budget]) for budget in sorted(by_budget))
        lines.append(Line(arm.planner, name, _unbudgeted(arm), merged))
    return tuple(lines)


def _merge(results: list[ArmResult]) -> ArmResult:
    """One result of the arms that differ in their seed alone."""
    numbered = {pair: value for result in results for pair, value in result.numbered.items()}
    seconds, failures = sum(r.seconds for r in results), sum(r.failures for r in results)
    return ArmResult(results[0].arm, results[0].version, numbered, seconds, failures)


def _in_order(sections: list[Section], study: Study) -> tuple[Section, ...]:
    """Problems and planners as the study lists them, or as the paper does; each planner with its place."""
    problems = list(study.problems) or [entry.name for entry in paper_settings()]
    planners = list(study.planners) or list(NAMES)
    every = [line for section in sections for line in section.lines]
    names = dict.fromkeys(line.name for line in sorted(every, key=lambda line: _rank(planners, line.planner)))
    places = {name: k for k, name in enumerate(names)}
    others = dict.fromkeys(name for name in names if any(line.name == name and not _plain(line) for line in every))
    owns = {name: k for k, name in enumerate(others)}
    placed, labels = [], set[str]()
    for section in sorted(sections, key=lambda section: _rank(problems, section.problem)):
        found = [replace(line, place=places[line.name], own=owns.get(line.name)) for line in section.lines]
        lines = sorted(found, key=lambda line: line.place)
        label = next(text for text in _numbered(section.label) if text not in labels)
        labels.add(label)
        placed.append(replace(section, label=label, lines=tuple(lines)))
    return tuple(placed)


def _plain(line: Line) -> bool:
    """Whether the paper has this planner."""
    return line.planner in ROWS and not line.options


def _numbered(label: str) -> Iterator[str]:
    """The label, then with a number: two problems that print alike keep apart."""
    yield label
    yield from (f"{label} ({k})" for k in itertools.count(2))


def _rank(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _failure(label: str, text: str, trials: list[int]) -> str:
    numbers = ", ".join(map(str, trials[:5])) + (f" and {len(trials) - 5} more" if len(trials) > 5 else "")
    return f"{label}, trial{'s' if len(trials) > 1 else ''} {numbers}: {text}"
