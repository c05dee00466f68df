"""The methods of ``lower_bound``, and what each of them needs."""

from __future__ import annotations

from collections.abc import Sequence

from gumdp.bounds.paths import unfit
from gumdp.errors import GumdpError, check_float, items, one_of, show
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Objective, Shape
from gumdp.problem import Problem

METHODS = ("range", "distinct", "jensen", "clairvoyant", "jensen-tree", "decomposition", "totals", "paths")
AVERAGES = ("range", "jensen")  # those that hold where only mean totals are known
CONVEX = METHODS[2:5]  # those that rest on Jensen's inequality
TABLES = METHODS[2:7]  # those that need every probability


def chosen(problem: Problem, methods: Sequence[str] | str | None) -> list[str]:
    """The names of the methods to try."""
    if not isinstance(problem, Problem):
        raise GumdpError(f"lower_bound: problem must be a gumdp.Problem, not {type(problem).__name__}.")
    if methods is None:
        return list(METHODS)
    names = [methods] if isinstance(methods, str) else items(methods)
    if not names:
        raise GumdpError(f"lower_bound: methods must be a list of names, not {show(methods)}.")
    for name in names:
        one_of("method of lower_bound", name, METHODS)
        if why := obstacle(problem, name):
            raise GumdpError(f"lower_bound: the method {name} {why}; leave it out, and the others are tried.")
    return names


def obstacle(problem: Problem, name: str) -> str | None:
    """Why a method can't be applied to a problem, as far as that is known at once."""
    if name in TABLES and not isinstance(problem.model, Tabular):
        return "needs a tabular model"
    if name == "paths":
        return unfit(problem)
    if name in CONVEX and not problem.objective.convex:
        return f"needs a convex objective, and {bent(problem.objective, problem.shape)!r} is not known to be convex"
    return None


def bent(f: Objective, shape: Shape) -> Objective:
    """The part of an objective for whose sake it is not known to be convex."""
    if f.exponential is not None:
        return bent(f.exponential[1], shape)
    parts = [part for _, part in (f.parts(shape) or (0.0, ()))[1] if not part.convex]
    return bent(parts[0], shape) if parts else f


def check_level(level: float) -> float:
    """``level``, if it is a confidence between 0 and 1."""
    given = check_float("lower_bound: level", level, 0.0, 1.0)
    if not 0.0 < given < 1.0:
        raise GumdpError(f"lower_bound: level must be between 0 and 1, not {given:g}.")
    return given
