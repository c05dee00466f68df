"""The planners that have a name, for the command line, experiments and reports: what they are and what they take.

Importing this is cheap; a planner's module is imported when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gumdp
from gumdp.errors import GumdpError, check_text, check_type, failures_of, one_of, show
from gumdp.search.options import OPTIONS

if TYPE_CHECKING:
    from gumdp.policies.base import Planner

KINDS = (int, float, bool, str, Path)  # what an option may take, beside one of several words


@dataclass(frozen=True)
class Option:
    """A parameter of a planner."""

    name: str
    kind: type[int] | type[float] | type[bool] | type[str] | type[Path] | tuple[str, ...]  # a tuple: one of these words
    help: str


@dataclass(frozen=True)
class PlannerEntry:
    """A named planner. Options that are not given have the default of what ``build`` calls."""

    name: str
    summary: str
    build: Callable[..., Planner]
    options: tuple[Option, ...] = ()


def _stationary(policy: Path | None = None) -> Planner:
    import numpy as np

    if policy is None:
        raise GumdpError("stationary: policy must name a .npy file with an array [S, A] of action probabilities.")
    try:
        table = np.load(policy, allow_pickle=False)
    except Exception as error:  # what is damaged, or was never one, fails in many ways
        raise GumdpError(
            f"stationary: policy must name a .npy file; {show(policy)} can't be read: {show(str(error))}."
        ) from None
    return gumdp.Stationary(table)


RANDOMNESS = Option("randomness", float, "share of uniformly random steps (mcts: in greedy rollouts)")
SEARCH = tuple(Option(option.name, option.kind, option.help) for option in OPTIONS if option.shell)

_entries = {
    entry.name: entry
    for entry in (
        PlannerEntry("random", "any available action", lambda: gumdp.Random()),
        PlannerEntry(
            "greedy",
            "the action of least marginal cost at the running occupancy",
            lambda **options: gumdp.Greedy(**options),
            (RANDOMNESS,),
        ),
        PlannerEntry(
            "stationary",
            "a policy [S, A] from a file",
            _stationary,
            (Option("policy", Path, "a .npy file with an array [S, A]"),),
        ),
        PlannerEntry(
            "solver",
            "the policy that is optimal on average",
            lambda **options: gumdp.BestOnAverage(**options),
            (Option("resolve", bool, "solve again at each step, from the running occupancy"),),
        ),
        PlannerEntry(
            "exact",
            "the optimal policy, where the problem is small enough",
            lambda **options: gumdp.Exact(**options),
            (Option("limit", int, "states of the occupancy MDP, at most"),),
        ),
        PlannerEntry(
            "dual",
            "one step ahead, with the value function of a lower bound",
            lambda **options: gumdp.Dual(**options),
            (Option("iterations", int, "simulated trajectories per decision (dual: steps of its ascent, once)"),),
        ),
        PlannerEntry("mcts", "tree search, at its best", lambda **options: gumdp.MCTS(**options), SEARCH),
        PlannerEntry("mcts-paper", "tree search as in the paper", lambda **o: gumdp.MCTS.paper(**o), SEARCH),
    )
}


def register_planner(
    name: str,
    factory: Callable[..., Planner],
    options: Mapping[str, Any] | Iterable[Option] = (),
    *,
    summary: str = "",
) -> None:
    """Give a planner a name, under which experiments, the shell and reports know it.

    Args:
        name: what people type; the same name again takes the place of the old one, unless that is one of ours.
        factory: called with the options that are given, it returns a ``Planner``.
        options: what it takes: from name to type (``int``, ``float``, ``bool``, ``str``, ``Path``, or a tuple of
            words), or a list of ``Option`` with a line of help each.
        summary: what it does, in a few words.

    >>> import gumdp
    >>> def lazy(action=0):
    ...     return gumdp.NonMarkov(lambda states, actions: action)
    >>> gumdp.register_planner("lazy", lazy, {"action": int})
    >>> make("lazy", action=1)
    NonMarkov(<lambda>)
    """
    if not isinstance(name, str) or not name or name.split() != [name]:
        raise GumdpError(f"register_planner: name must be a word, not {show(name)}.")
    if name in _OURS:
        raise GumdpError(f"register_planner: {name!r} is the name of a planner of the package; choose another one.")
    if not callable(factory):
        raise GumdpError(f"register_planner: factory must be a function that makes a planner, not {show(factory)}.")
    _entries[name] = PlannerEntry(name, check_text("register_planner: summary", summary), factory, _options(options))


def _options(options: Any) -> tuple[Option, ...]:
    try:
        pairs = options.items() if isinstance(options, Mapping) else [(o.name, o) for o in options]
        made = tuple(o if isinstance(o, Option) else Option(str(name), o, "") for name, o in pairs)
    except (AttributeError, TypeError):
        raise GumdpError(
            f"register_planner: options must be a dictionary from name to type, not {show(options)}."
        ) from None
    for option in made:
        words = isinstance(option.kind, tuple) and all(isinstance(word, str) for word in option.kind)
        if not words and option.kind not in KINDS:
            raise GumdpError(
                f"register_planner: option {option.name!r} must be int, float, bool, str, Path or a tuple of words, "
                f"not {show(option.kind)}."
            )
    return made


_OURS = frozenset(_entries)


def entries() -> list[PlannerEntry]:
    """Every named planner."""
    return list(_entries.values())


def names() -> list[str]:
    """The names that ``make`` takes.

    >>> "greedy" in names()
    True
    """
    return list(_entries)


def find(name: str) -> PlannerEntry:
    """The entry of that name, or an error that suggests the nearest one."""
    return _entries[one_of("planner", name, names())]


def options() -> list[Option]:
    """Every option of every planner, once."""
    return list({option.name: option for entry in entries() for option in entry.options}.values())


def make(name: str, **given: Any) -> Planner:
    """The named planner with the options that are given.

    >>> make("greedy", randomness=0.1)
    Greedy(randomness=0.1)
    """
    entry = find(name)
    known = [option.name for option in entry.options]
    for option in given:
        if option not in known:
            has = f"it takes {', '.join(known)}." if known else "it takes none."
            raise GumdpError(f"the planner {name} has no option {option!r}; {has}")
    if name in _OURS:
        return entry.build(**given)
    with failures_of(name):
        made = entry.build(**given)
    check_type(f"what {name} makes", made, gumdp.Planner)
    return made
