"""What a study says of itself: title, text, baseline. It is stored with each run, and may be a stranger's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Named = tuple[str, Mapping[str, Any]]  # a planner's name and some of its options


@dataclass(frozen=True)
class Study:
    """What was asked, in the words of those who asked."""

    title: str = ""
    text: str = ""
    baseline: Named | None = None  # what the others are compared with; the first planner if it is not said
    candidates: tuple[Named, ...] | None = None  # what is compared with it; all others if it is not said
    problems: Mapping[str, str] = field(default_factory=dict)  # their summaries, in the order of the plan
    planners: tuple[str, ...] = ()  # their names, in the order of the plan


def read_study(runs: Sequence[Mapping[str, Any]]) -> Study:
    """The study of the run that began last, as far as it makes sense."""
    machine = runs[-1]["machine"] if runs else {}
    facts = machine.get("study") if isinstance(machine, Mapping) else None
    if not isinstance(facts, Mapping):
        return Study()
    candidates = facts.get("candidates")
    found = [_named(given) for given in candidates] if isinstance(candidates, list) else None
    problems, planners = facts.get("problems"), facts.get("planners")
    return Study(
        _text(facts.get("title")),
        _text(facts.get("text")),
        _named(facts.get("baseline")),
        None if found is None else tuple(named for named in found if named is not None),
        {k: _text(v) for k, v in problems.items()} if isinstance(problems, Mapping) else {},
        tuple(p for p in planners if isinstance(p, str)) if isinstance(planners, list) else (),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _named(given: Any) -> Named | None:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        return None
    return given["name"], {k: v for k, v in given.items() if k != "name"}
