"""Problems and planners in people's own files: ``path/to/file.py:name`` wherever a command takes a name.

Naming a file runs it, as ``python file.py`` would: that, and ``--module``, are the only ways in which a command runs
code that did not come with the package.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gumdp
from gumdp.errors import GumdpError, show, unknown
from gumdp.run import registry
from gumdp.zoo.registry import find

FILE = re.compile(r"(?s)(?P<path>.+\.py)(?::(?P<name>[^:/\\]*))?")


def is_file(name: str) -> bool:
    """Whether a name stands for something in a file."""
    return FILE.fullmatch(name) is not None


def read_changes(flag: str, changes: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE, each, as a dictionary; values are Python's literals, or texts.

    >>> read_changes("--set", ["horizon=20", "mode=fast"])
    {'horizon': 20, 'mode': 'fast'}
    """
    options: dict[str, Any] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise GumdpError(f"{flag} takes NAME=VALUE, for instance {flag} horizon=20, not {show(change)}.")
        try:
            options[key] = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            options[key] = text
    return options


def load_problem(name: str, changes: Iterable[str] = ()) -> gumdp.Problem:
    """The problem of that name: a named one, or one in a file, with the options that are given."""
    options = read_changes("--set", changes)
    if not is_file(name):
        for key in options:
            if key not in find(name).options:
                raise unknown(f"option of {name}", key, find(name).options)
        return gumdp.zoo.load(name, **options)
    problem: gumdp.Problem = _made(name, "problem", gumdp.Problem, options)
    if problem.name is None:
        problem.name = Path(name.rpartition(".py")[0]).name
    return problem


def load_planner(name: str, options: dict[str, Any]) -> gumdp.Planner:
    """The planner of that name: a registered one, or one in a file, with the options that are given."""
    if is_file(name):
        planner: gumdp.Planner = _made(name, "planner", gumdp.Planner, options)
        return planner
    return registry.make(name, **options)


def _made(name: str, what: str, kind: type, options: dict[str, Any]) -> Any:
    """What ``file.py:name`` is, or makes of the options."""
    found = _attribute(name, what)
    if isinstance(found, kind):
        if options:
            raise GumdpError(f"{name} is a {what} already and takes no options; make it a function to give it some.")
        return found
    if not callable(found):
        raise GumdpError(f"{name} must be a {what}, or a function that makes one, not {show(found)}.")
    try:
        made = found(**options)
    except GumdpError:
        raise
    except Exception as error:
        raise GumdpError(f"{name} fails with {type(error).__name__}: {_line(error)}") from error
    if not isinstance(made, kind):
        raise GumdpError(f"{name} must make a {kind.__name__}, not {show(made)}.")
    return made


def _attribute(text: str, what: str) -> Any:
    match = FILE.fullmatch(text)
    assert match is not None
    module, name = run_file(Path(match["path"])), match["name"] or what
    if not hasattr(module, name):
        names = [each for each in vars(module) if not each.startswith("_")]
        raise unknown(f"{what} in {match['path']}:", name, names)
    return getattr(module, name)


def run_file(path: Path) -> Any:
    """The module that a file makes; what it imports may stand beside it."""
    try:
        exists = path.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise GumdpError(f"there is no file {show(str(path))}.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise GumdpError(f"{show(str(path))} can't be run as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where pickle and dataclasses look for what it defines
    try:
        spec.loader.exec_module(module)
    except GumdpError:
        raise
    except Exception as error:
        raise GumdpError(f"{path} fails with {type(error).__name__}: {_line(error)}") from error
    return module


def import_named(modules: Iterable[str]) -> None:
    """Import modules, or run files, that register problems and planners."""
    for name in modules:
        if is_file(name):
            run_file(Path(name))
            continue
        try:
            importlib.import_module(name)
        except GumdpError:
            raise
        except Exception as error:
            raise GumdpError(f"--module {show(name)} fails with {type(error).__name__}: {_line(error)}") from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or "without a message"
