"""An arm of an experiment: one named planner on one named problem with one seed. Its trials are numbered from 0.

An arm is data: it goes to other processes and machines, and its problem and its planner are built there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumdp.errors import GumdpError, check_int, unknown
from gumdp.experiments.plan.identity import BITS, called, canonical, digest, dumps, file_digest
from gumdp.run import registry
from gumdp.zoo.registry import find, load

if TYPE_CHECKING:
    from gumdp.policies.base import Planner
    from gumdp.problem import Problem

FORMAT = 2  # of the identity: a change of what an arm means changes every digest


@dataclass(frozen=True)
class Arm:
    """One named planner on one named problem with one seed.

    >>> arm = Arm("m1-entropy", "greedy", planner_options={"randomness": 0.1})
    >>> arm.label
    'm1-entropy · greedy(randomness=0.1)'
    >>> arm.digest == Arm("m1-entropy", "greedy", {"horizon": 100}, {"randomness": 0.1}).digest
    True
    """

    problem: str
    planner: str
    problem_options: Mapping[str, Any] = field(default_factory=dict)  # that differ from the problem's own
    planner_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    identity: Mapping[str, Any] = field(init=False, repr=False, compare=False)  # canonical, with files by their content

    def __post_init__(self) -> None:
        if check_int("seed", self.seed, 0).bit_length() > BITS:
            raise GumdpError(f"seed must be a number of at most {BITS} bits, not of {self.seed.bit_length()}.")
        own = find(self.problem).options
        for name in self.problem_options:
            if name not in own:
                raise unknown(f"option of {self.problem}", name, own)
        given = {key: _typed(value, own[key]) for key, value in self.problem_options.items()}
        changed = {k: v for k, v in given.items() if _plain(self.problem, k, v) != _plain(self.problem, k, own[k])}
        object.__setattr__(self, "problem_options", changed)
        check_planner(self.planner, self.planner_options)
        object.__setattr__(self, "identity", self._identify({**own, **changed}))

    def _identify(self, problem_options: Mapping[str, Any]) -> dict[str, Any]:
        problem = {k: _content(self.problem, k, v, isinstance(v, Path)) for k, v in problem_options.items()}
        files = _files(self.planner)
        planner = {k: _content(self.planner, k, v, k in files) for k, v in self.planner_options.items()}
        return {
            "format": FORMAT,
            "problem": [self.problem, problem],
            "planner": [self.planner, planner],
            "seed": int(self.seed),
        }

    @classmethod
    def restored(cls, *facts: Any, identity: Mapping[str, Any] | None = None) -> Arm:
        """An arm as it was stored, also where its problem or planner is not known here."""
        arm = object.__new__(cls)
        names = ("problem", "planner", "problem_options", "planner_options", "seed")
        for name, value in zip(names, facts, strict=True):
            object.__setattr__(arm, name, value)
        plain = {"problem": [arm.problem, arm.problem_options], "planner": [arm.planner, arm.planner_options]}
        object.__setattr__(arm, "identity", identity or {**plain, "seed": arm.seed})
        return arm

    @property
    def digest(self) -> str:
        """The arm's identity: equal for equal settings, whatever the order or the way they are written in."""
        return digest(self.identity)

    @property
    def problem_key(self) -> str:
        """What arms of the same problem share, and no others."""
        return dumps(self.identity["problem"])

    @property
    def planner_key(self) -> str:
        """What arms of the same planner share, and no others: files count by what is in them."""
        return dumps(self.identity["planner"])

    @property
    def line_key(self) -> str:
        """What arms of the same planner share whatever its ``iterations``: a line of a report."""
        name, options = self.identity["planner"]
        return dumps([name, {key: value for key, value in options.items() if key != "iterations"}])

    @property
    def problem_digest(self) -> str:
        """The problem's identity: what is known of the problem is kept under it."""
        return digest(self.identity["problem"])

    @property
    def problem_label(self) -> str:
        """The problem with the options that are not its own, for people."""
        return called(self.problem, self.problem_options)

    @property
    def planner_label(self) -> str:
        """The planner with its options, for people."""
        return called(self.planner, self.planner_options)

    @property
    def label(self) -> str:
        """Problem and planner in a line."""
        seed = f" · seed {self.seed}" if self.seed else ""
        return f"{self.problem_label} · {self.planner_label}{seed}"

    def make_problem(self) -> Problem:
        """The problem, built afresh."""
        self._check_files("problem", self.problem, {**find(self.problem).options, **self.problem_options})
        return load(self.problem, **self.problem_options)

    def make_planner(self) -> Planner:
        """The planner, built afresh."""
        self._check_files("planner", self.planner, self.planner_options)
        return registry.make(self.planner, **self.planner_options)

    def _check_files(self, part: str, name: str, options: Mapping[str, Any]) -> None:
        """Refuse a file that is not what it was: trials of two contents must not share an arm."""
        for key, known in self.identity[part][1].items():
            is_file = isinstance(known, dict) and known.keys() == {"file"} and key in options
            if is_file and file_digest(f"{name}: {key}", options[key]) != known["file"]:
                raise GumdpError(f"{name}: {key}: {options[key]} has changed since the run began; start it again.")

    def plain(self) -> dict[str, Any]:
        """The arm as JSON has it."""
        return {
            "problem": self.problem,
            "planner": self.planner,
            "problem_options": canonical(self.problem_options),
            "planner_options": canonical(self.planner_options),
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


def _typed(value: Any, own: Any) -> Any:
    """An option whose own value is a path takes words as paths: what is in the file then belongs to the problem."""
    return Path(value) if isinstance(own, Path) and isinstance(value, str) else value


def _plain(problem: str, key: str, value: Any) -> str:
    return dumps(canonical(value, f"{problem}: {key}"))  # as text: Python takes True for 1


def _files(planner: str) -> set[str]:
    return {o.name for entry in registry.entries() if entry.name == planner for o in entry.options if o.kind is Path}


def _content(name: str, key: str, value: Any, is_file: bool) -> Any:
    """An option as it counts: a file by what is in it."""
    return {"file": file_digest(f"{name}: {key}", value)} if is_file else canonical(value, f"{name}: {key}")
