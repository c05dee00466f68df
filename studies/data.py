"""Results of the study, read from the folders that ``gumdp run`` fills, and compared trial by trial."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from gumdp import statistics
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.database import FILE
from gumdp.experiments.store.store import COLUMNS, Store

NINE = (
    "m1-entropy", "m2-imitation", "m3-adversarial", "frozenlake-entropy", "frozenlake-imitation", "taxi-entropy",
    "taxi-imitation", "mountaincar-entropy", "mountaincar-imitation",
)  # fmt: skip
SAME = 1e-9  # values closer than this are equal: they differ by the order of additions
LEVEL = 0.9  # of two-sided intervals: each end is a one-sided bound at 95 %
ERROR = 0.05  # of a one-sided test


@dataclass
class Played:
    """A cell with its trials by number."""

    arm: Arm
    values: dict[int, float] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean value of a trial."""
        return float(np.mean(list(self.values.values())))

    def interval(self) -> tuple[float, float]:
        """Of the mean: BCa bootstrap."""
        return statistics.bootstrap(list(self.values.values()), LEVEL, "bca")

    @property
    def decision(self) -> float:
        """Seconds a decision, in the trial in the middle: a pause of the machine does not count."""
        return float(np.median(self.seconds)) / self.arm.make_problem().steps


class Folder:
    """The cells in folders of results; none if there are none.

    Of a cell that several versions of the code have run, the trials of the version that began last count: to measure a
    new search, its own cells are run again, not those of the published one.
    """

    def __init__(self, *paths: Path) -> None:
        self.arms: list[Played] = []
        self.versions: set[str] = set()
        for path in paths:
            if (path / FILE).is_file():
                self._read(path)

    def _read(self, path: Path) -> None:
        with Store.read(path) as store:
            age = {version: k for k, version in enumerate(store.versions())}
            rows = [dict(zip(COLUMNS, numbers, strict=True)) for numbers in store.rows()]
        newest: dict[tuple[Any, ...], int] = {}
        for row in rows:
            newest[_key(row)] = min(age[row["version"]], newest.get(_key(row), len(age)))
        found: dict[tuple[Any, ...], Played] = {}
        for row in rows:
            if age[row["version"]] == newest[_key(row)]:
                played = found.setdefault(_key(row), Played(_arm(row)))
                played.values[row["trial"]] = row["value"]
                played.seconds.append(row["seconds"])
                self.versions.add(row["version"])
        self.arms += [played for played in found.values() if len(played.values) > 1]

    def find(self, problem: str, planner: str, **options: Any) -> Played | None:
        """The cell of exactly these options, by the label of its problem."""
        for played in self.arms:
            arm = played.arm
            if (arm.problem_label, arm.planner) == (problem, planner) and arm.planner_options == options:
                return played
        return None

    def clocked(self, other: Folder) -> Folder:
        """The same trials, with the times that the same cells took in ``other``, where it has them."""
        for played in self.arms:
            arm = played.arm
            timed = other.find(arm.problem_label, arm.planner, **arm.planner_options)
            played.seconds = played.seconds if timed is None else timed.seconds
        return self

    def problems(self) -> list[str]:
        """Labels of problems: the paper's first, in their usual order, then others as they come."""
        found = list(dict.fromkeys(played.arm.problem_label for played in self.arms))
        return [name for name in NINE if name in found] + [name for name in found if name not in NINE]

    def pairs(self, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[Played, Played]]:
        """(ours, the paper's) of each problem that has both, with these options: the trials that both have played."""
        both = [(self.find(p, "mcts", **ours), self.find(p, "mcts-paper", **theirs)) for p in self.problems()]
        found = [shared(a, b) for a, b in both if a is not None and b is not None]
        return [(a, b) for a, b in found if len(a.values) > 1]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes a cell, whoever ran it."""
    return tuple(row[name] for name in ("problem", "planner", "problem_options", "planner_options", "seed"))


def _arm(row: Mapping[str, Any]) -> Arm:
    options = json.loads(row["problem_options"]), json.loads(row["planner_options"])
    return Arm.restored(row["problem"], row["planner"], *options, int(row["seed"]))


def shared(a: Played, b: Played) -> tuple[Played, Played]:
    """The two cells with no more than the trials that both have played."""
    both = sorted(a.values.keys() & b.values.keys())
    x, y = (Played(side.arm, {k: side.values[k] for k in both}, side.seconds) for side in (a, b))
    return x, y


def compare(a: Played, b: Played) -> gumdp.Comparison:
    """a against b in the trials that both have played."""
    x, y = (np.array(list(side.values.values())) for side in shared(a, b))
    return gumdp.compare(np.where(np.abs(x - y) < SAME, y, x), y, LEVEL)


def verdict(result: gumdp.Comparison) -> str:
    """better or worse if a one-sided test at 95 % says so; not worse if it says neither."""
    if result.p_better < ERROR:
        return "better"
    return "worse" if result.p_worse < ERROR else "not worse"


def verdicts(pairs: Sequence[tuple[Played, Played]]) -> list[str]:
    """The verdicts on all pairs together: with Holm's correction for their number, on either side."""
    if not pairs:
        return []
    results = [compare(a, b) for a, b in pairs]
    better, worse = (
        statistics.holm(np.nan_to_num([getattr(result, side) for result in results], nan=1.0))
        for side in ("p_better", "p_worse")
    )
    words = {(True, False): "better", (False, True): "worse"}
    return [words.get((x < ERROR, y < ERROR), "not worse") for x, y in zip(better, worse, strict=True)]


def is_certain(arm: Arm) -> bool:
    """Whether the problem leaves nothing to chance, but for where a trial begins."""
    model = arm.make_problem().model
    return bool((model if model.known is None else model.known).deterministic)


def tally(verdicts: Iterable[str]) -> str:
    """How often each was the case, in a sentence."""
    found = list(verdicts)
    counts = [f"{word} on {found.count(word) or 'none'}" for word in ("better", "not worse", "worse")]
    return f"{', '.join(counts)} of {len(found)}"
