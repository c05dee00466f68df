"""From what the page names to problems and planners."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from gumdp.errors import GumdpError
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.run import registry
from gumdp.studio.messages import GIVEN
from gumdp.zoo.painted import painted

FUNCTION = "cost"  # what a function that is typed in is called


def make_problem(spec: dict[str, Any], given: Problem | None, allowed: Container[str]) -> Problem:
    """The problem of a checked ``spec``. Code in it is run only if it is among those ``allowed``."""
    if spec["name"] == GIVEN:
        if given is None:
            raise GumdpError("the studio was started without a problem of your own; start it with file.py:problem.")
        return given
    if spec["code"] is None:
        return gumdp.zoo.load(spec["name"], **spec["options"])
    if spec["name"] != "painted":
        raise GumdpError("a function can be typed in for painted worlds only.")
    if spec["code"] not in allowed:
        raise GumdpError("this function was not confirmed: look at it, and allow it to run on this machine.")
    problem = painted(spec["options"]["world"], run_code(spec["code"])) if "world" in spec["options"] else None
    if problem is None:
        raise GumdpError("a function needs the world that it is for.")
    problem.name = "painted"
    return problem


def run_code(code: str) -> Callable[..., Any]:
    """The function ``cost`` that the text ``code`` defines: it is run, with the rights of who started the studio."""
    place = f"<typed into the studio, {abs(hash(code)):x}>"
    linecache.cache[place] = (len(code), None, code.splitlines(keepends=True), place)
    names: dict[str, Any] = {"np": np, "math": math, "__name__": "typed_in"}
    try:
        exec(compile(code, place, "exec"), names)
    except Exception as error:  # what people type can fail in any way at all
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise GumdpError(f"the function fails with {type(error).__name__}{where}: {error}") from None
    function = names.get(FUNCTION)
    if not callable(function):
        raise GumdpError(
            f"the text must define a function {FUNCTION}(d) of the occupancy d, an array [squares, actions]."
        )
    return function  # type: ignore[no-any-return]


def make_planner(spec: dict[str, Any]) -> Planner:
    """The planner of a checked ``spec``."""
    return registry.make(spec["name"], **spec["options"])


def menu(own: str = "") -> dict[str, Any]:
    """The problems and planners that there are, for the page to choose from; ``own`` it knows as the given one."""
    problems = [
        {
            "name": entry.name,
            "summary": entry.summary,
            "objective": entry.objective,
            "options": {key: value for key, value in entry.options.items() if _plain(value) and key != "world"},
        }
        for entry in gumdp.zoo.entries()
        if entry.name != own
    ]
    planners = [
        {
            "name": entry.name,
            "summary": entry.summary,
            "options": [
                {"name": o.name, "kind": list(o.kind) if isinstance(o.kind, tuple) else o.kind.__name__, "help": o.help}
                for o in entry.options
                if o.kind is not Path
            ],
        }
        for entry in registry.entries()
        if not any(o.kind is Path for o in entry.options)
    ]
    return {"problems": problems, "planners": planners, "world": gumdp.zoo.find("painted").options["world"]}


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
