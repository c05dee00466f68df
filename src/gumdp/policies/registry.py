"""The planners that have a name, for the command line and for experiments: what they are and what they take.

Importing this is cheap; a planner's module is imported when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gumdp
from gumdp.errors import GumdpError, one_of, show

if TYPE_CHECKING:
    from gumdp.policies.base import Planner


@dataclass(frozen=True)
class Option:
    """A parameter of a planner."""

    name: str
    kind: type[int] | type[float] | type[bool] | type[Path] | tuple[str, ...]  # a tuple: one of these words
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
    except (OSError, TypeError, ValueError, EOFError) as error:
        raise GumdpError(
            f"stationary: policy must name a .npy file; {show(policy)} can't be read: {show(str(error))}."
        ) from None
    return gumdp.Stationary(table)


RANDOMNESS = Option("randomness", float, "share of uniformly random steps (mcts: in greedy rollouts)")
ITERATIONS = Option("iterations", int, "simulated trajectories a decision (dual: steps of its ascent, once)")
SEARCH = (
    ITERATIONS,
    Option("time_limit", float, "seconds a decision"),
    Option("exploration", float, "constant of the confidence bound"),
    Option("rollout", ("uniform", "greedy"), "how simulations go on below the tree"),
    RANDOMNESS,
    Option("reuse", bool, "keep the part of the tree that the real step led to"),
    Option("choice", ("visits", "value"), "act by most visits or by least mean"),
    Option("threads", int, "trees searched at the same time"),
    Option("paired", bool, "let all actions at the root meet the same chance"),
    Option("even", bool, "let outcomes in the tree come in even proportions"),
    Option("corrected", bool, "take the luck of rollouts off their returns, where it can be told"),
    Option("ordered", bool, "first try the actions of least marginal cost"),
    Option("scaled", bool, "scale exploration to the spread of the returns"),
)

PLANNERS = (
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
        lambda **options: gumdp.Solver(**options),
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
        "the least value after the action, as the parts of the objective see it alone",
        lambda **options: gumdp.Dual(**options),
        (ITERATIONS,),
    ),
    PlannerEntry("mcts", "tree search, at its best", lambda **options: gumdp.MCTS(**options), SEARCH),
    PlannerEntry("mcts-paper", "tree search as in the paper", lambda **options: gumdp.MCTS.paper(**options), SEARCH),
)


def names() -> list[str]:
    """The names that ``make`` takes.

    >>> "greedy" in names()
    True
    """
    return [entry.name for entry in PLANNERS]


def options() -> list[Option]:
    """Every option of every planner, once."""
    return list({option.name: option for entry in PLANNERS for option in entry.options}.values())


def make(name: str, **given: Any) -> Planner:
    """The named planner with the options that are given.

    >>> make("greedy", randomness=0.1)
    Greedy(randomness=0.1)
    """
    entry = {entry.name: entry for entry in PLANNERS}[one_of("planner", name, names())]
    known = [option.name for option in entry.options]
    for option in given:
        if option not in known:
            has = f"it takes {', '.join(known)}." if known else "it takes none."
            raise GumdpError(f"the planner {name} has no option {option!r}; {has}")
    return entry.build(**given)
