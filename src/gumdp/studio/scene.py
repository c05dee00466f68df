"""What a problem looks like: everything that the page needs to draw it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.models.base import Model
from gumdp.models.classic_dynamics import Acrobot, CartPole, MountainCar, Pendulum
from gumdp.models.tabular import Tabular
from gumdp.problem import Problem
from gumdp.zoo.painted import check_world

MOST_DRAWN = 10_000  # cells
MOST_NODES = 40  # of a graph
MOVERS = {MountainCar: "mountaincar", CartPole: "cartpole", Acrobot: "acrobot", Pendulum: "pendulum"}
UNNAMED = "your problem"
MARKS = {"start": "S", "goal": "G", "hole": "O"}  # what names of squares tell


def scene(problem: Problem, world: str | None = None) -> dict[str, Any]:
    """A problem as the page draws it: its shape, its names, and the kind of picture."""
    model = problem.model
    cells = problem.shape[0]
    drawn = cells <= MOST_DRAWN
    return {
        "title": check_world(world)["name"] if world is not None else problem.name or UNNAMED,
        "about": repr(problem).removeprefix("Problem(").removesuffix(")"),
        "cells": cells,
        "actions": action_names(model),
        "names": [model.state_name(s) for s in range(cells)] if drawn and model.state_names else None,
        "steps": problem.steps,
        "horizon": problem.horizon,
        "episodes": problem.episodes,
        "weights": problem.weights[:20_000],
        "grid": model.grid if drawn else None,
        "axes": model.axes,
        "ranges": _ranges(model),
        "mover": _mover(model),
        "marks": _marks(model) if drawn else None,
        "walls": _walls(world),
        "edges": _edges(model) if cells <= MOST_NODES else None,
        "totals": list(problem.names) if problem.features is not None else [],
        "maximised": bool(problem.objective.maximises),
        "layers": _layers(problem) if drawn else [],
    }


def action_names(model: Model) -> list[str]:
    """The names of the actions; those that have none are numbered."""
    return [model.action_name(a) if model.action_names else f"action {a}" for a in range(model.shape[1])]


def _mover(model: Model) -> dict[str, Any] | None:
    """The picture of a model that moves like one of the classics, with the numbers that it takes."""
    record = getattr(model.compiled(), "dynamics", None)
    while record is not None:
        if type(record) in MOVERS:
            kind = MOVERS[type(record)]
            facts = {
                "mountaincar": ("min_position", "max_position", "goal_position"),
                "cartpole": ("x_threshold", "length"),
            }
            return {"kind": kind, **{name: float(getattr(record, name)) for name in facts.get(kind, ())}}
        record = getattr(record, "dynamics", None)
    return None


def _ranges(model: Model) -> list[dict[str, Any]] | None:
    """The dimensions of the bins: name, ends, and how many there are."""
    bins = getattr(model, "bins", None)
    if bins is None or bins.shape is None:
        return None
    names = bins.names or [f"x{k}" for k in range(len(bins.shape))]
    found = []
    for k, (name, count) in enumerate(zip(names, bins.shape, strict=True)):
        lines = bins.lines(k) if count > 1 else np.array([np.nan, np.nan])
        found.append({"name": name, "low": lines[0], "high": lines[-1], "bins": count})
    return found


def _marks(model: Model) -> dict[str, str] | None:
    """Letters for the squares whose names tell what they are."""
    if model.grid is None or not model.state_names:
        return None
    found = {}
    for cell, name in enumerate(model.state_names):
        word = name.rpartition(", ")[2]
        if word in MARKS:
            found[str(cell)] = MARKS[word]
    return found or None


def _walls(world: str | None) -> list[str] | None:
    return None if world is None else list(check_world(world)["map"])


def _edges(model: Model) -> list[list[float]] | None:
    """The transitions of a small table: [from, action, to, probability]."""
    if not isinstance(model, Tabular):
        return None
    found = []
    for s in range(model.shape[0]):
        for a in model.actions(s):
            successors, probabilities = model.row(s, a)
            found += [[s, a, int(n), float(p)] for n, p in zip(successors, probabilities, strict=True)]
    return found if len(found) <= 2000 else None


def _layers(problem: Problem) -> list[dict[str, Any]]:
    """What the objective wants of each cell, where it is a table: a target, or costs."""
    objective: Any = problem.objective
    found = []
    for part in _parts(objective):
        for name in ("target", "costs", "constraints"):
            table = getattr(part, name, None)
            if isinstance(table, np.ndarray) and table.shape[-2:] == problem.shape:
                for k, layer in enumerate(table.reshape(-1, *problem.shape)):
                    values = layer.sum(axis=1) if name == "target" else layer.mean(axis=1)
                    if np.ptp(values) > 0.0:
                        title = {"target": "target", "costs": "cost", "constraints": "budgeted cost"}[name]
                        found.append({"name": f"{title} {k + 1}" if table.ndim == 3 else title, "values": values})
    return found[:4]


def _parts(objective: Any) -> list[Any]:
    inner = [getattr(objective, name) for name in ("first", "second", "inner") if hasattr(objective, name)]
    return [objective, *(part for one in inner for part in _parts(one))]
