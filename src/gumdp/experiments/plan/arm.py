"""A cell: one named planner on one named problem with one seed. Its trials are numbered from 0.

A cell is data: it goes to other processes and machines as JSON, and is built there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumdp.errors import GumdpError, check_int, unknown
from gumdp.run import registry
from gumdp.zoo.registry import find, load

if TYPE_CHECKING:
    from gumdp.policies.base import Planner
    from gumdp.problem import Problem

FORMAT = 1  # of the digest: a change of what a cell means changes every digest


@dataclass(frozen=True)
class Cell:
    """One named planner on one named problem with one seed.

    >>> cell = Cell("m1-entropy", "greedy", planner_options={"randomness": 0.1})
    >>> cell.label
    'm1-entropy · greedy(randomness=0.1)'
    >>> cell.digest == Cell("m1-entropy", "greedy", {"horizon": 100}, {"randomness": 0.1}).digest
    True
    """

    problem: str
    planner: str
    problem_options: Mapping[str, Any] = field(default_factory=dict)  # that differ from the problem's own
    planner_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        check_int("seed", self.seed, 0)
        own = find(self.problem).options
        for name in self.problem_options:
            if name not in own:
                raise unknown(f"option of {self.problem}", name, own)
        changed = {k: v for k, v in self.problem_options.items() if _same(v) != _same(own[k])}
        object.__setattr__(self, "problem_options", changed)
        check_planner(self.planner, self.planner_options)

    @classmethod
    def restored(cls, *facts: Any) -> Cell:
        """A cell as it was stored, also where its problem or planner is not known here."""
        cell = object.__new__(cls)
        for name, value in zip(cls.__dataclass_fields__, facts, strict=True):
            object.__setattr__(cell, name, value)
        return cell

    @property
    def digest(self) -> str:
        """The cell's identity: equal for equal settings, whatever the order or the way they are written in."""
        own = {**find(self.problem).options, **self.problem_options}
        facts = {
            "format": FORMAT,
            "problem": [self.problem, _same(own)],
            "planner": [self.planner, _same(_contents(self.planner, self.planner_options))],
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def problem_label(self) -> str:
        """The problem with the options that are not its own."""
        return _called(self.problem, self.problem_options)

    @property
    def planner_label(self) -> str:
        """The planner with its options."""
        return _called(self.planner, self.planner_options)

    @property
    def label(self) -> str:
        """Problem and planner in a line."""
        seed = f" · seed {self.seed}" if self.seed else ""
        return f"{self.problem_label} · {self.planner_label}{seed}"

    def make_problem(self) -> Problem:
        """The problem, built afresh."""
        return load(self.problem, **self.problem_options)

    def make_planner(self) -> Planner:
        """The planner, built afresh."""
        return registry.make(self.planner, **self.planner_options)

    def plain(self) -> dict[str, Any]:
        """The cell as JSON has it."""
        return {
            "problem": self.problem,
            "planner": self.planner,
            "problem_options": _same(self.problem_options),
            "planner_options": _same(self.planner_options),
            "seed": self.seed,
        }


def check_planner(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the named planner doesn't have, and options of the wrong type."""
    entry = next((entry for entry in registry.entries() if entry.name == name), None)
    if entry is None:
        raise unknown("planner", name, registry.names())
    kinds: dict[str, Any] = {option.name: option.kind for option in entry.options}
    for key, value in options.items():
        if key not in kinds:
            if not kinds:
                raise GumdpError(f"the planner {name} has no option {key!r}; it takes none.")
            raise unknown(f"option of the planner {name}", key, kinds)
        kind = kinds[key]
        if kind is bool and not isinstance(value, bool):
            raise GumdpError(f"{name}: {key} must be true or false, not {value!r}.")
        if isinstance(kind, tuple) and value not in kind:
            raise unknown(f"{key} of the planner {name}", value, kind)
        if kind is Path and not isinstance(value, str | Path):
            raise GumdpError(f"{name}: {key} must name a file, not {value!r}.")


def _contents(planner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` with files replaced by digests of what is in them."""
    files = {o.name for entry in registry.entries() if entry.name == planner for o in entry.options if o.kind is Path}
    return {k: _file_digest(planner, v) if k in files else v for k, v in options.items()}


def _file_digest(planner: str, path: str | Path) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise GumdpError(f"{planner}: {path} can't be read: {error.strerror}.") from None


def _same(value: Any) -> Any:
    """``value`` in the one form that equal values share: lists for tuples, whole numbers without a point."""
    if isinstance(value, Mapping):
        return {str(k): _same(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_same(v) for v in value]
    if isinstance(value, Path):
        return str(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _called(name: str, options: Mapping[str, Any]) -> str:
    inside = ", ".join(f"{k}={v}" for k, v in options.items())
    return f"{name}({inside})" if inside else name
