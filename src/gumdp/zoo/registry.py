"""The list of named problems."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gumdp.errors import GumdpError, check_text, check_type, failures_of, one_of, show

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
    "gumdp.zoo.painted",
)


@dataclass(frozen=True)
class Published:
    """A published mean with its 90 % interval."""

    value: float  # as printed
    minus: float  # from the value to the lower end of the interval
    plus: float
    unrounded: float  # the mean behind the printed one
    note: str = ""  # what is known about a disagreement

    @property
    def decimals(self) -> int:
        """The digits after the point that the table shows."""
        return max(2, len(repr(self.value).partition(".")[2]))

    @property
    def interval(self) -> tuple[float, float]:
        """The published interval, and what rounding may have cut off."""
        half = 0.5 * 10.0**-self.decimals
        return self.value - self.minus - half, self.value + self.plus + half

    def verdict(self, interval: tuple[float, float]) -> str:
        """``agrees``, ``lower`` or ``higher``: our interval against this one.

        >>> Published(0.59, 0.0, 0.0, 0.5947).verdict((0.594, 0.596))
        'agrees'
        """
        low, high = self.interval
        return "lower" if interval[1] < low else "higher" if interval[0] > high else "agrees"

    def __str__(self) -> str:
        text = f"{self.value:.{self.decimals}f}"
        return f"{text} ±{self.minus:g}" if self.minus == self.plus else f"{text} −{self.minus:g} +{self.plus:g}"


@dataclass(frozen=True)
class Publication:
    """A column of the paper's Table 1: what it reports, and for exactly which settings."""

    column: int  # from the left
    values: Mapping[str, Published]  # by row: random, solver, mcts
    options: Mapping[str, Any] = field(default_factory=dict)  # of the problem, where they are not its own
    iterations: int = 4000  # of the search, per decision


@dataclass(frozen=True)
class Entry:
    """A named problem: how to build it, and what is known about it.

    Attributes:
        name: what people type.
        summary: what it is, in a line.
        build: called with the options, it returns a ``Problem``.
        options: keyword arguments that ``build`` takes, with their defaults.
        optimum: the least mean cost of a trial, where it is known exactly.
        publication: what the paper reports of it.
        known: closed forms and the like, by what they are the value of.
        shape: (states, actions) with the default options.
        objective: in a word or two.
        ours: whether it comes with the package.

    >>> import gumdp
    >>> gumdp.zoo.find("m1-entropy").published
    {'random': 0.1159, 'solver': 0.0519, 'mcts': 0.0092}
    """

    name: str
    summary: str
    build: Callable[..., Problem]
    options: Mapping[str, Any] = field(default_factory=dict)
    optimum: float | None = None
    publication: Publication | None = None
    known: Mapping[str, float] = field(default_factory=dict)
    shape: tuple[int, int] | None = None
    objective: str = ""
    ours: bool = True

    @property
    def published(self) -> dict[str, float]:
        """The means behind the paper's Table 1, by row: random, solver, mcts."""
        values = self.publication.values if self.publication else {}
        return {row: published.unrounded for row, published in values.items()}


_entries: dict[str, Entry] = {}


def register(entry: Entry) -> None:
    """Add a problem to the zoo. ``register_problem`` does the same with less to write.

    >>> import gumdp
    >>> def brief():
    ...     return load("m1-entropy", horizon=5)
    >>> register(Entry("brief-m1", "m1 in five steps", brief, ours=False))
    >>> load("brief-m1").horizon
    5
    """
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
    >>> def short(horizon):
    ...     return load("m1-entropy", horizon=horizon)
    >>> gumdp.register_problem("short-m1", short, {"horizon": 8})
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
    _entries[name] = Entry(
        name, check_text("register_problem: summary", summary), build, dict(options or {}), ours=False
    )


def entries() -> list[Entry]:
    """Every named problem, in order: those of the package, as ``MODULES`` has them, then others as they came.

    >>> [entry.name for entry in entries()][:2]
    ['m1-entropy', 'm2-imitation']
    """
    for module in MODULES:
        importlib.import_module(module)
    return sorted(_entries.values(), key=_place)


def _place(entry: Entry) -> int:
    """Where the module of a problem stands in the list, whichever was imported first."""
    home = getattr(entry.build, "__module__", "")
    return MODULES.index(home) if home in MODULES else len(MODULES)


def paper_settings() -> list[Entry]:
    """The problems that the paper reports, in the order of its Table 1."""
    found = [(entry.publication.column, entry) for entry in entries() if entry.publication]
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def names() -> list[str]:
    """The names that ``load`` takes.

    >>> names()[:3]
    ['m1-entropy', 'm2-imitation', 'm3-adversarial']
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
    with contextlib.nullcontext() if entry.ours else failures_of(name):
        problem = entry.build(**{**entry.options, **options})
    if not entry.ours:
        from gumdp.problem import Problem

        check_type(f"what {name} builds", problem, Problem)
    problem.name = name
    return problem
