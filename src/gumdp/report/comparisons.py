"""Candidates against a baseline on common random numbers, and what may be said of all of them together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gumdp import statistics
from gumdp.run.compare import CLEAR, ROUNDING, Comparison, compare, in_words

if TYPE_CHECKING:
    from gumdp.report.results import ArmResult
    from gumdp.report.story import Line, Section
    from gumdp.report.study import Named, Study

RULE = (
    "Clearly better or clearly worse is what a two-sided paired t-test finds at 5 %, its p-values raised for the "
    "number of comparisons in this report (Holm, 1979). "
    f"Differences below {ROUNDING:g} of the values are rounding errors and count as ties; where all differences are "
    "equal, a sign test takes the place of the t-test."
)


@dataclass(frozen=True)
class Pair:
    """A candidate against the baseline on one problem."""

    section: Section
    candidate: Line
    baseline: Line
    sides: tuple[ArmResult, ArmResult]  # what is compared: the candidate's and the baseline's
    comparison: Comparison
    p: float  # two-sided, raised for all comparisons of the report

    @property
    def clear(self) -> str:
        """``better`` or ``worse`` where that is beyond doubt, else nothing."""
        if self.p >= CLEAR or self.comparison.difference == 0.0:
            return ""
        return "better" if self.comparison.difference < 0.0 else "worse"

    @property
    def words(self) -> str:
        """The result in words."""
        return (
            f"clearly {text}" if (text := in_words(self.comparison, self.p)).startswith(("better", "worse")) else text
        )


def compare_all(study: Study, sections: Iterable[Section]) -> list[Pair]:
    """Every candidate against the baseline on every problem where they share two trials, corrected for their number."""
    pairs = []
    for section in sections:
        baseline = _baseline(study, section)
        if baseline is None:
            continue
        for line in section.played:
            wanted = study.candidates is None or any(_is(line, named) for named in study.candidates)
            if line is not baseline and wanted:
                theirs = _side(baseline, study.baseline)
                named = next((n for n in study.candidates or () if _is(line, n)), None)
                found = compare_results(ours := _side(line, named), theirs)
                if found is not None:
                    pairs.append(Pair(section, line, baseline, (ours, theirs), found, found.p))
    if not pairs:
        return []
    raised = statistics.holm([pair.p for pair in pairs])
    return [replace(pair, p=float(p)) for pair, p in zip(pairs, raised, strict=True)]


def compare_results(a: ArmResult, b: ArmResult) -> Comparison | None:
    """a against b over the trials that both have played; None with fewer than two."""
    common = [k for k in a.numbered if k in b.numbered]
    x, y = (np.array([side.numbered[k] for k in common]) for side in (a, b))
    return compare(x, y) if len(common) > 1 and np.isfinite(x).all() and np.isfinite(y).all() else None


def _baseline(study: Study, section: Section) -> Line | None:
    if study.baseline is not None:
        found = [line for line in section.played if _is(line, study.baseline)]
        return min(found, key=lambda line: (len(line.options), line.place), default=None)  # the plainest one
    first = min(section.played, key=lambda line: line.place, default=None)
    return first if first is not None and first.place == 0 else None


def _is(line: Line, named: Named) -> bool:
    name, options = named
    same = all(line.options.get(k) == v for k, v in options.items() if k != "iterations")
    return line.planner == name and same


def _side(line: Line, named: Named | None) -> ArmResult:
    """The result of the budget that is named, or of the largest."""
    budget = named[1].get("iterations") if named else None
    return next((result for result in line.results if budget is not None and result.iterations == budget), line.best)
