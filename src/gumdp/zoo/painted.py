"""Worlds that people paint: a grid with walls, slippery floor, one-way doors and places that cost, as JSON text.

The studio (``gumdp studio``) paints them. The text has

==============  ============================================================================================
``format``       ``"gumdp-world"``
``version``      1
``name``         for people
``map``          rows of letters: ``.`` floor, ``#`` wall, ``~`` slippery floor, ``^ > v <`` one-way doors
``starts``       squares [row, column], one of which is drawn
``slip``         the probability of leaving a slippery square to a side, half of it to each
``target``       rows of digits: how much of the time to spend on each square, in any unit
``costs``        up to three times rows of digits: what a step on each square costs, in ninths
``objective``    ``kind``: explore, imitate, worst, budget, cost or function; ``budget`` and ``penalty`` for budget
``discount``     in (0, 1]
``horizon``      steps
==============  ============================================================================================

A door can be entered and left only in the direction of its arrow. The actions are up, right, down, left and stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gumdp
from gumdp.errors import GumdpError, check_float, check_int, one_of, show, unknown
from gumdp.zoo.registry import Entry, register

if TYPE_CHECKING:
    from gumdp.models.tabular import Tabular
    from gumdp.objectives.base import Objective
    from gumdp.problem import Problem

FORMAT, VERSION = "gumdp-world", 1
MOST = 60  # rows and columns
LONGEST = 80  # letters of a name
LETTERS = ".#~^>v<"
KINDS = ("explore", "imitate", "worst", "budget", "cost", "function")
ACTIONS = ("up", "right", "down", "left", "stay")
WAYS = ((-1, 0), (0, 1), (1, 0), (0, -1), (0, 0))
DOORS = {"^": 0, ">": 1, "v": 2, "<": 3}
KEYS = {
    "format": FORMAT, "version": VERSION, "name": "a painted world", "map": None, "starts": None, "slip": 0.2,
    "target": None, "costs": [], "objective": {"kind": "explore"}, "discount": 1.0, "horizon": 60,
}  # fmt: skip
OBJECTIVE = {"kind": "explore", "budget": 0.1, "penalty": 10.0}

EXAMPLE = json.dumps(
    {
        "format": FORMAT,
        "version": VERSION,
        "name": "two rooms",
        "map": ["...#...", "...>...", "...#...", ".~.#.~.", "...<...", "...#..."],
        "starts": [[0, 0]],
        "objective": {"kind": "explore"},
        "horizon": 80,
    }
)


def painted(world: str = EXAMPLE, function: Callable[[Any], float] | None = None) -> Problem:
    """The problem of a painted world. One with a function of its own needs that function: text is never run here."""
    facts = check_world(world)
    shape = (len(facts["map"]) * len(facts["map"][0]), len(ACTIONS))
    objective = _objective(facts, shape, function)
    return gumdp.Problem(model_of(facts), objective, facts["discount"], facts["horizon"], name=facts["name"])


def check_world(world: Any) -> dict[str, Any]:
    """A world with every part that it may have, each as it should be, or a ``GumdpError`` that names the part.

    >>> check_world('{"format": "gumdp-world", "version": 1, "map": ["..", ".#"], "starts": [[0, 0]]}')["slip"]
    0.2
    """
    try:
        given = json.loads(world) if isinstance(world, str) else world
    except (ValueError, RecursionError):
        raise GumdpError("world must be JSON text, and this is none.") from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise GumdpError(f'world must be a JSON object with "format": "{FORMAT}", not {show(given)}.')
    if given.get("version") != VERSION:
        raise GumdpError(f"world: version must be {VERSION}, the one that is known here, not {show(given['version'])}."
                         if "version" in given else f"world: version is missing; it must be {VERSION}.")  # fmt: skip
    for key in given:
        if key not in KEYS:
            raise unknown("part of a world", key, KEYS)
    facts: dict[str, Any] = {**KEYS, **given}
    if not isinstance(facts["name"], str) or not 0 < len(facts["name"]) <= LONGEST:
        raise GumdpError(f"world: name must be a text of at most {LONGEST} letters, not {show(facts['name'])}.")
    facts["map"] = _rows("map", facts["map"], LETTERS)
    size = len(facts["map"]), len(facts["map"][0])
    facts["starts"] = _starts(facts["starts"], facts["map"])
    facts["slip"] = check_float("world: slip", facts["slip"], 0.0, 1.0)
    facts["target"] = None if facts["target"] is None else _rows("target", facts["target"], "0123456789", size)
    if not isinstance(facts["costs"], list) or len(facts["costs"]) > 3:
        raise GumdpError(f"world: costs must be a list of at most three, not {show(facts['costs'])}.")
    facts["costs"] = [_rows("costs", layer, "0123456789", size) for layer in facts["costs"]]
    facts["objective"] = _check_objective(facts)
    facts["discount"] = check_float("world: discount", facts["discount"], 1e-6, 1.0)
    facts["horizon"] = check_int("world: horizon", facts["horizon"], 1, 100_000)
    return facts


def canonical(world: Any) -> str:
    """The text of a world, checked: the same for the same world, whatever the order or the spaces.

    >>> canonical(EXAMPLE) == canonical(json.dumps(json.loads(EXAMPLE), indent=3))
    True
    """
    return json.dumps(check_world(world), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _rows(what: str, rows: Any, letters: str, size: tuple[int, int] | None = None) -> list[str]:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise GumdpError(f"world: {what} must be a list of rows, each a text, not {show(rows)}.")
    found = len(rows), len(rows[0])
    if any(len(row) != found[1] for row in rows) or not (0 < found[1] <= MOST and found[0] <= MOST):
        raise GumdpError(f"world: the rows of {what} must be equally long, at most {MOST} of at most {MOST} letters.")
    if size is not None and found != size:
        raise GumdpError(f"world: {what} must have {size[0]} rows of {size[1]} as the map has, not {found}.")
    for row in rows:
        for letter in row:
            if letter not in letters:
                raise GumdpError(f"world: {what} must consist of the letters {letters}, not {show(letter)}.")
    return list(rows)


def _starts(starts: Any, rows: list[str]) -> list[list[int]]:
    if not isinstance(starts, list) or not starts:
        raise GumdpError(f"world: starts must be a list of squares [row, column], not {show(starts)}.")
    squares = []
    for place in starts:
        if not isinstance(place, list) or len(place) != 2:
            raise GumdpError(f"world: a start must be a square [row, column], not {show(place)}.")
        r, c = (
            check_int("world: a start", x, 0, most - 1)
            for x, most in zip(place, (len(rows), len(rows[0])), strict=True)
        )
        if rows[r][c] == "#":
            raise GumdpError(f"world: a start must not be a wall, as [{r}, {c}] is.")
        if [r, c] not in squares:
            squares.append([r, c])
    return sorted(squares)


def _check_objective(facts: dict[str, Any]) -> dict[str, Any]:
    given = facts["objective"]
    if not isinstance(given, dict):
        raise GumdpError(f"world: objective must be an object with a kind, not {show(given)}.")
    for key in given:
        if key not in OBJECTIVE:
            raise unknown("part of a world's objective", key, OBJECTIVE)
    kind = one_of("kind of a world's objective", given.get("kind"), KINDS)
    if kind == "imitate" and (facts["target"] is None or not any(x != "0" for row in facts["target"] for x in row)):
        raise GumdpError("world: to imitate a target, paint one: at least one square must have a share of the time.")
    if kind in ("worst", "budget", "cost") and not facts["costs"]:
        raise GumdpError(f"world: the objective {kind} needs places that cost; paint some.")
    budget = check_float("world: budget", given.get("budget", OBJECTIVE["budget"]), 0.0, 1.0)
    penalty = check_float("world: penalty", given.get("penalty", OBJECTIVE["penalty"]), 0.0, 1e6)
    return {"kind": kind, **({"budget": budget, "penalty": penalty} if kind == "budget" else {})}


def model_of(facts: dict[str, Any]) -> Tabular:
    """The table of a checked world: all squares are states, walls too, which nobody enters."""
    import numpy as np
    import scipy.sparse as sparse

    rows, columns = len(facts["map"]), len(facts["map"][0])
    entries: dict[tuple[int, int], float] = {}
    for r in range(rows):
        for c in range(columns):
            slip = facts["slip"] if facts["map"][r][c] == "~" else 0.0
            for a in range(len(ACTIONS)):
                sides = ((a - 1) % 4, (a + 1) % 4) if a < 4 else ()
                chances = [(a, 1.0 - slip), *((side, slip / 2.0) for side in sides)] if sides else [(a, 1.0)]
                for way, chance in chances:
                    row, column = (r * columns + c) * len(ACTIONS) + a, _after(facts["map"], r, c, way)
                    if chance > 0.0:
                        entries[row, column] = entries.get((row, column), 0.0) + chance
    places = np.array(list(entries))
    matrix = sparse.csr_array(
        (np.array(list(entries.values())), (places[:, 0], places[:, 1])),
        shape=(rows * columns * len(ACTIONS), rows * columns),
    )
    start = np.zeros(rows * columns)
    start[[r * columns + c for r, c in facts["starts"]]] = 1.0 / len(facts["starts"])
    return gumdp.Tabular(matrix, start, grid=(rows, columns), action_names=ACTIONS)


def _after(rows: list[str], r: int, c: int, way: int) -> int:
    """The square that a step in a direction leads to: the same one where something is in the way."""
    columns, (down, right) = len(rows[0]), WAYS[way]
    to_r, to_c = r + down, c + right
    here = rows[r][c]
    if not (0 <= to_r < len(rows) and 0 <= to_c < columns) or DOORS.get(here, way) != way:
        return r * columns + c
    there = rows[to_r][to_c]
    return r * columns + c if there == "#" or DOORS.get(there, way) != way else to_r * columns + to_c


def _objective(facts: dict[str, Any], shape: tuple[int, int], function: Callable[[Any], float] | None) -> Objective:
    import numpy as np

    kind, ones = facts["objective"]["kind"], np.ones((1, shape[1]))
    costs = [_numbers(layer)[:, None] / 9.0 * ones for layer in facts["costs"]]
    if kind == "function":
        if not callable(function):
            raise GumdpError("world: its objective is a Python function, which is not part of the file; type it in.")
        return gumdp.Function(function)
    if kind == "imitate":
        target = _numbers(facts["target"])
        target /= target.sum()  # ‖m − t‖² = ‖m‖² + Σ m·(‖t‖² − 2t), as m sums to 1
        return gumdp.Quadratic.of_states(np.ones(shape[0])) + gumdp.Linear(
            (target @ target - 2.0 * target)[:, None] * ones
        )
    if kind == "worst":
        return gumdp.WorstCase(np.array(costs))
    if kind == "cost":
        return gumdp.Linear(np.sum(costs, axis=0))
    explore = gumdp.normalized(gumdp.StateEntropy())
    if kind == "budget":
        budget, penalty = facts["objective"]["budget"], facts["objective"]["penalty"]
        return explore + gumdp.Constrained(np.zeros(shape), np.array(costs), budget, penalty)
    return explore


def _numbers(rows: list[str]) -> Any:
    import numpy as np

    return np.array([float(x) for row in rows for x in row])


register(
    Entry(
        "painted",
        "a world painted in the studio: explore, imitate, keep costs or a budget",
        lambda world: painted(world),
        {"world": EXAMPLE},
        shape=(42, 5),
        objective="painted",
    )
)
