"""All that the page can say: one table of messages, every part of them checked before anything acts on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gumdp.errors import GumdpError, check_bool, check_float, check_int, one_of, show, unknown
from gumdp.run import registry
from gumdp.zoo.registry import find

LARGEST = 300_000  # bytes of a message
DEEPEST = 8  # objects in lists in objects
MOST_STEPS = 100_000
MOST_ITERATIONS = 2_000_000
MOST_TRIALS = 10_000
MOST_PLANNERS = 6
SIZES = 400  # of what problems are made of: rows, columns, bins
LENGTHS = ("horizon", "episodes", "seed")  # of the options of problems, those that may be longer
CODE = 20_000  # letters of a function that is typed in
GIVEN = "@given"  # the name of the problem that the studio was started with, if that is one in a file

Check = Callable[[str, Any], Any]


def read(text: Any) -> dict[str, Any]:
    """The message in ``text``, complete and checked, or a ``GumdpError`` in a sentence.

    >>> read('{"do": "speed", "value": 4}')
    {'do': 'speed', 'value': 4.0}
    """
    if not isinstance(text, str) or len(text) > LARGEST:
        raise GumdpError(f"a message must be text of at most {LARGEST} letters.")
    try:
        given = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise GumdpError("a message must be JSON.") from None
    if not isinstance(given, dict) or _depth(given) > DEEPEST:
        raise GumdpError("a message must be a JSON object, and not a deep one.")
    parts = MESSAGES[one_of("message", given.get("do"), MESSAGES)]
    return {"do": given["do"], **_object("message", {k: v for k, v in given.items() if k != "do"}, parts)}


def _no_constant(word: str) -> float:
    raise ValueError(word)


def _depth(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


class Optional:
    """A part that may be left out."""

    def __init__(self, check: Check, default: Any = None) -> None:
        self.check, self.default = check, default


def _object(name: str, given: Any, parts: dict[str, Check | Optional]) -> dict[str, Any]:
    """``given`` with every part checked and none too many."""
    if not isinstance(given, dict):
        raise GumdpError(f"{name} must be an object, not {show(given)}.")
    for key in given:
        if key not in parts:
            raise unknown(f"part of {name}", key, parts)
    found = {}
    for key, check in parts.items():
        if isinstance(check, Optional):
            found[key] = check.check(key, given[key]) if given.get(key) is not None else check.default
        elif key not in given:
            raise GumdpError(f"{name}: {key} is missing.")
        else:
            found[key] = check(key, given[key])
    return found


def whole(least: int, most: int) -> Check:
    """A whole number from ``least`` to ``most``."""
    return lambda name, value: check_int(name, value, least, most)


def number(low: float, high: float) -> Check:
    """A number from ``low`` to ``high``."""
    return lambda name, value: check_float(name, value, low, high)


def text(most: int) -> Check:
    """A text of at most so many letters."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise GumdpError(f"{name} must be a text of at most {most} letters, not {show(value)}.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise GumdpError(f"{name} must be a text without half letters.") from None
        return value

    return check


def by_step(most: int) -> Check:
    """From a step, as a text of digits, to a whole number."""

    def check(name: str, value: Any) -> dict[int, int]:
        if not isinstance(value, dict) or len(value) > MOST_STEPS:
            raise GumdpError(f"{name} must be an object from step to number, not {show(value)}.")
        found = {}
        for key, item in value.items():
            if not (key.isascii() and key.isdigit() and len(key) < 8):
                raise GumdpError(f"{name}: a step must be a whole number, not {show(key)}.")
            found[int(key)] = check_int(name, item, 0, most)
        return found

    return check


def problem(name: str, value: Any) -> dict[str, Any]:
    """A named problem with options: numbers of moderate size, words, and no files."""
    parts: dict[str, Check | Optional] = {
        "name": text(100),
        "options": Optional(_mapping, {}),
        "code": Optional(text(CODE), None),
    }
    found = _object(name, value, parts)
    if found["name"] != GIVEN:
        own = find(found["name"]).options
        for key, option in found["options"].items():
            if key not in own:
                raise unknown(f"option of {found['name']}", key, own)
            found["options"][key] = _option(key, option, own[key])
    elif found["options"]:
        raise GumdpError("the problem that was given has no options.")
    return found


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > 40:
        raise GumdpError(f"{name} must be an object, not {show(value)}.")
    return dict(value)


def _option(key: str, value: Any, own: Any) -> Any:
    """An option of a problem, which may be no larger than a page can ask for."""
    if isinstance(own, Path):
        raise GumdpError(f"{key} is a file, and the page reads no files.")
    if key == "world":
        return text(LARGEST)(key, value)
    if isinstance(own, bool):
        return check_bool(key, value)
    if isinstance(own, int):
        return check_int(key, value, -SIZES, MOST_STEPS if key in LENGTHS else SIZES)
    if isinstance(own, float):
        return check_float(key, value, -1e9, 1e9)
    if isinstance(own, str):
        return text(100)(key, value)
    if own is None or isinstance(own, (list, tuple)):
        return _loose(key, value)
    raise GumdpError(f"{key} can't be changed here.")


def _loose(key: str, value: Any) -> Any:
    """A number, a word, or a short list of those: the problem itself knows better."""
    if isinstance(value, list) and len(value) <= 100:
        return [_loose(key, item) for item in value]
    if isinstance(value, str):
        return text(100)(key, value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return check_int(key, value, -MOST_STEPS, MOST_STEPS)
    return check_float(key, value, -1e9, 1e9)


def planner(name: str, value: Any) -> dict[str, Any]:
    """A named planner with options, none of them a file."""
    found = _object(name, value, {"name": text(100), "options": Optional(_mapping, {})})
    kinds = {option.name: option.kind for option in registry.find(found["name"]).options}
    for key, option in found["options"].items():
        if key not in kinds:
            raise unknown(f"option of the planner {found['name']}", key, kinds)
        found["options"][key] = _planner_option(key, option, kinds[key])
    return found


def _planner_option(key: str, value: Any, kind: Any) -> Any:
    if kind is Path:
        raise GumdpError(f"{key} is a file, and the page reads no files.")
    if kind is bool:
        return check_bool(key, value)
    if isinstance(kind, tuple):
        return one_of(key, value, kind)
    if kind is str:
        return text(1000)(key, value)
    if kind is int:
        return check_int(key, value, 0, 64 if key == "threads" else MOST_ITERATIONS)
    return check_float(key, value, -1e9, 3600.0 if key == "time_limit" else 1e9)


def planners(name: str, value: Any) -> list[dict[str, Any]]:
    """A few planners."""
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_PLANNERS:
        raise GumdpError(f"{name} must be a list of one to {MOST_PLANNERS} planners, not {show(value)}.")
    return [planner("planner", item) for item in value]


SEED = whole(0, 2**53)
TRIAL = whole(0, 2**31)
RUN: dict[str, Check | Optional] = {
    "problem": problem,
    "planner": planner,
    "seed": Optional(SEED, 0),
    "trial": Optional(TRIAL, 0),
    "actions": Optional(by_step(100_000), {}),
    "iterations": Optional(by_step(MOST_ITERATIONS), {}),
}
ARM: dict[str, Check | Optional] = {"store": whole(0, 10_000), "arm": whole(0, 100_000)}

MESSAGES: dict[str, dict[str, Check | Optional]] = {
    # one run, watched
    "open": {**RUN, "run": whole(0, 2**53), "until": Optional(whole(0, MOST_STEPS), 0)},
    "play": {},
    "pause": {},
    "step": {},
    "speed": {"value": number(0.1, 1000.0)},
    "wheel": {"on": check_bool},
    "choose": {"step": whole(0, MOST_STEPS), "action": whole(0, 100_000)},
    "back": {"step": whole(0, MOST_STEPS)},
    "budget": {"iterations": whole(1, MOST_ITERATIONS)},
    # the same random numbers for several
    "side": {"problem": problem, "planners": planners, "seed": Optional(SEED, 0), "trial": Optional(TRIAL, 0)},
    "race": {
        "problem": problem,
        "planners": planners,
        "seed": Optional(SEED, 0),
        "trials": whole(1, MOST_TRIALS),
    },
    "stop": {"what": Optional(text(20))},
    "bound": {"problem": problem, "seconds": Optional(number(0.1, 60.0), 20.0), "run": Optional(whole(0, 2**53), 0)},
    "certify": {
        "problem": problem,
        "planner": planner,
        "seed": Optional(SEED, 0),
        "trials": whole(2, MOST_TRIALS),
        "seconds": Optional(number(0.1, 60.0), 20.0),
        "run": Optional(whole(0, 2**53), 0),
    },
    # worlds, scripts, results
    "check": {"world": text(LARGEST)},
    "allow": {"code": text(CODE)},
    "home": {**RUN, "planners": Optional(planners, None), "trials": Optional(whole(1, MOST_TRIALS), 20)},
    "stores": {},
    "arms": {"store": whole(0, 10_000)},
    "compare": {**ARM, "other": whole(0, 100_000)},
    "trials": ARM,
}
