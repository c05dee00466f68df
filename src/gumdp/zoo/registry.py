"""The list of named problems."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gumdp.errors import GumdpError, check_type, one_of, show

if TYPE_CHECKING:
    from gumdp.problem import Problem

# Each registers its problems when imported. They are imported to list the problems, which should take no time:
# they get at the library by `import gumdp` and at anything else that is heavy inside the functions that build.
MODULES = (
    "gumdp.zoo.paper",
    "gumdp.zoo.gymnasium",
    "gumdp.zoo.theory",
    "gumdp.zoo.small",
    "gumdp.zoo.worlds",
    "gumdp.zoo.operations",
)


@dataclass(frozen=True)
class Entry:
    """A named problem: how to build it, and what is known about it."""

    name: str
    summary: str
    build: Callable[..., Problem]
    options: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments that ``build`` takes, with defaults
    optimum: float | None = None  # of F_{1,H}, where it is known exactly
    published: Mapping[str, float] = field(default_factory=dict)  # Table 1 of the paper: random, solver, mcts
    known: Mapping[str, float] = field(default_factory=dict)  # closed forms and the like, by what they are the value of
    shape: tuple[int, int] | None = None  # (states, actions) with the default options
    objective: str = ""  # in a word or two
    ours: bool = True  # whether it comes with the package


_entries: dict[str, Entry] = {}


def register(entry: Entry) -> None:
    """Add a problem to the zoo."""
    if entry.name in _entries:
        raise GumdpError(f"there is a problem named {entry.name!r} already.")
    _entries[entry.name] = entry


def register_problem(
    name: str, build: Callable[..., Problem], options: Mapping[str, Any] | None = None, *, summary: str = ""
) -> None:
    """Give a problem of your own a name, under which ``zoo.load``, experiments and the shell know it.

    Args:
        name: what people type; the same name again takes the place of the old one, unless that is one of ours.
        build: called with the options, it returns a ``Problem``.
        options: what ``build`` takes, with the default values.
        summary: what it is, in a line.

    >>> import gumdp
    >>> gumdp.register_problem("short-m1", lambda horizon: load("m1-entropy", horizon=horizon), {"horizon": 8})
    >>> load("short-m1").horizon, load("short-m1", horizon=4).horizon
    (8, 4)
    """
    if not isinstance(name, str) or not name or name.split() != [name]:
        raise GumdpError(f"register_problem: name must be a word, not {show(name)}.")
    if not callable(build):
        raise GumdpError(f"register_problem: build must be a function that makes a problem, not {show(build)}.")
    if options is not None and not isinstance(options, Mapping):
        raise GumdpError(f"register_problem: options must be a dictionary from name to default, not {show(options)}.")
    entries()
    if name in _entries and _entries[name].ours:
        raise GumdpError(f"register_problem: {name!r} is the name of a problem of the package; choose another one.")
    _entries[name] = Entry(name, str(summary), build, dict(options or {}), ours=False)


def entries() -> list[Entry]:
    """Every named problem, in order."""
    for module in MODULES:
        importlib.import_module(module)
    return list(_entries.values())


def names() -> list[str]:
    """The names that ``load`` takes.

    >>> "m1-entropy" in names()
    True
    """
    return [entry.name for entry in entries()]


def find(name: str) -> Entry:
    """The entry of that name, or an error that suggests the nearest one.

    >>> find("m1-entropy").options["horizon"]
    100
    """
    return {entry.name: entry for entry in entries()}[one_of("problem", name, names())]


def load(name: str, **options: Any) -> Problem:
    """The named problem, built afresh; ``options`` vary it where its entry says so.

    >>> load("m1-entropy").horizon
    100
    """
    entry = find(name)
    for option in options:
        one_of(f"option of {name}", option, entry.options)
    problem = entry.build(**{**entry.options, **options})
    if not entry.ours:
        from gumdp.problem import Problem

        check_type(f"what {name} builds", problem, Problem)
    problem.name = name
    return problem
