"""Problems and planners in people's own files: ``path/to/file.py:name`` wherever a command takes a name.

Naming a file runs it, as ``python file.py`` would: that, and ``--module``, are the only ways in which a command runs
code that did not come with the package.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from gumdp.errors import GumdpError, check_float, failures_of, show, unknown
from gumdp.experiments.plan.source import file_of, is_own
from gumdp.run import registry
from gumdp.statistics import allowed
from gumdp.zoo.registry import Entry, find

FILE = re.compile(r"(?s)(?P<path>.+\.py)(?::(?P<name>[^:/\\]*))?")
MODEL_OPTIONS = ("objective", "discount", "horizon")


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
        if not equals or not key:
            raise GumdpError(f"{flag} takes NAME=VALUE, for instance {flag} horizon=20, not {show(change)}.")
        try:
            options[key] = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            options[key] = text
    return options


def load_problem(name: str, changes: Iterable[str] = ()) -> gumdp.Problem:
    """The problem of that name: a named one, or one in a file, with the options that are given."""
    options = read_changes("--set", changes)
    if is_model(name):
        if wrong := sorted(options.keys() - MODEL_OPTIONS):
            raise unknown(f"option of {name}", wrong[0], MODEL_OPTIONS)
        return _in_model(name, **options)
    if not is_file(name):
        for key in options:
            if key not in find(name).options:
                raise unknown(f"option of {name}", key, find(name).options)
        return gumdp.zoo.load(name, **options)
    problem: gumdp.Problem = _made(name, "problem", gumdp.Problem, options)
    if problem.name is None:
        path, _, inside = name.rpartition(".py")
        problem.name = Path(path).name if inside in ("", ":", ":problem") else inside[1:]
    return problem


def find_entry(name: str) -> Entry:
    """What there is to say of a named problem, or of one in a file."""
    if not is_file(name) and not is_model(name):
        return find(name)
    problem = load_problem(name)
    kind, about = f"{type(problem.model).__name__}, ", f"discount {problem.discount:g}, horizon {problem.horizon}"
    return Entry(
        str(problem.name), kind + about, lambda: problem, shape=problem.shape, objective=repr(problem.objective)
    )


def heading(name: str, changes: Iterable[str], problem: gumdp.Problem, *more: str) -> str:
    """What a command prints above its results: the problem by its own name, if it has one, what was changed, and more.

    >>> heading("m1-entropy", ["horizon=8"], gumdp.zoo.load("m1-entropy"), "seed 0")
    'm1-entropy · horizon=8 · seed 0'
    """
    own = problem.name if is_file(name) or is_model(name) else None
    return " · ".join([own or name, *changes, *more])


def is_model(name: str) -> bool:
    """Whether a name is that of a model file."""
    return name.endswith(".npz")


def _in_model(name: str, objective: Any = "state-entropy", discount: Any = 1.0, horizon: Any = 100) -> gumdp.Problem:
    """A problem in the world of a model file."""
    kinds = {"entropy": gumdp.Entropy, "state-entropy": gumdp.StateEntropy}
    if objective not in kinds:
        raise unknown("objective", objective, kinds)
    problem = gumdp.Problem(gumdp.load_model(name), gumdp.normalized(kinds[objective]()), discount, horizon)
    problem.name = Path(name).stem
    return problem


def register(name: str) -> str:
    """The name under which experiments know the problem of a file: its trials belong to what is in that file."""
    match = FILE.fullmatch(name)
    path = Path(match["path"] if match else name)

    def build(file: Path) -> gumdp.Problem:
        return load_problem(name)

    if match:
        build.__module__ = path.stem  # whose code, with all that it imports, decides what the trials are worth
    own = "-".join(f"{path.name}:{match['name'] or 'problem'}".split() if match else path.name.split())
    gumdp.register_problem(own, build, {"file": path}, summary=f"from {path.name}")
    return own


class Measures:
    """What else to know of a run: functions in files, by name, and the limits that they should keep."""

    def __init__(self, problem: gumdp.Problem, measures: Iterable[str], limits: Iterable[str]) -> None:
        self.functions: dict[str, Any] = {}
        for text in measures:
            name, equals, where = text.partition("=")
            if not equals or not name or not is_file(where):
                raise GumdpError(f"--measure takes NAME=FILE.py:NAME, not {show(text)}.")
            self.functions[name] = _attribute(where, "measure", np.ndarray)
        self._fitted = _fitted(self.functions, problem) if self.functions else {}
        self.limits = read_changes("--at-most", limits)
        for name, limit in self.limits.items():
            if name not in self.functions:
                raise unknown("--measure", name, self.functions)
            self.limits[name] = check_float(f"--at-most {name}", limit)

    def of(self, trial: gumdp.Trial) -> dict[str, float]:
        """Each measure of one trial."""
        counted = np.array([[*trial.totals.values()]]) if trial.totals else trial.occupancy
        return {name: float(measure(counted)) for name, measure in self._fitted.items()}

    def lines(self, trial: gumdp.Trial) -> list[str]:
        """Each measure of one trial, and whether it kept its limit."""
        return [f"{name} {value:.4g}{self._verdict(name, value)}" for name, value in self.of(trial).items()]

    def _verdict(self, name: str, value: float) -> str:
        if name not in self.limits:
            return ""
        return f", {'within' if value <= allowed(self.limits[name]) else 'above'} the limit {self.limits[name]:g}"

    def over(self, result: gumdp.Evaluation) -> dict[str, Any]:
        """Each measure over many trials, for machines."""
        return {name: self._facts(found) for name, found in result.measures.items()}

    def _facts(self, found: gumdp.Measure) -> dict[str, Any]:
        facts: dict[str, Any] = {"mean": found.mean, "q05": found.quantile(0.05), "q95": found.quantile(0.95)}
        if found.name in self.limits:
            kept = found.probability(self.limits[found.name])
            facts |= {"limit": self.limits[found.name], "probability": kept.value, "interval": list(kept.interval)}
        return facts

    def summaries(self, result: gumdp.Evaluation) -> list[str]:
        """Each measure over many trials, for people."""
        limits = [str(result.measures[name].probability(limit)) for name, limit in self.limits.items()]
        return [*map(str, result.measures.values()), *limits]


def _fitted(functions: dict[str, Any], problem: gumdp.Problem) -> dict[str, Any]:
    from gumdp.run.evaluate import check_measures

    return check_measures(functions, problem)


def load_planner(name: str, options: dict[str, Any]) -> gumdp.Planner:
    """The planner of that name: a registered one, or one in a file, with the options that are given."""
    if is_file(name):
        planner: gumdp.Planner = _made(name, "planner", gumdp.Planner, options)
        return planner
    return registry.make(name, **options)


def _made(name: str, what: str, kind: type, options: dict[str, Any]) -> Any:
    """What ``file.py:name`` is, or makes of the options."""
    found = _attribute(name, what, kind)
    if isinstance(found, kind):
        if options:
            raise GumdpError(f"{name} is a {what} already and takes no options; make it a function to give it some.")
        return found
    if not callable(found):
        raise GumdpError(f"{name} must be a {what}, or a function that makes one, not {show(found)}.")
    with failures_of(name):
        made = found(**options)
    if not isinstance(made, kind):
        raise GumdpError(f"{name} must make a {kind.__name__}, not {show(made)}.")
    return made


def _attribute(text: str, what: str, kind: type) -> Any:
    match = FILE.fullmatch(text)
    assert match is not None
    module, name = run_file(Path(match["path"])), match["name"] or what
    if not hasattr(module, name):
        raise unknown(f"{what} in {match['path']}:", name, _candidates(module, kind))
    return getattr(module, name)


def _candidates(module: Any, kind: type) -> list[str]:
    """The names in a file that may be meant: what is of that kind, and the functions and classes that it defines."""
    own = {name: found for name, found in vars(module).items() if not name.startswith("_")}
    made = [name for name, found in own.items() if callable(found) and found.__module__ == module.__name__]
    return [*(name for name, found in own.items() if isinstance(found, kind)), *made]


def run_file(path: Path) -> Any:
    """The module that a file makes; what it imports may stand beside it."""
    try:
        exists = path.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise GumdpError(f"there is no file {show(str(path))}.")
    name, folder = path.stem, str(path.resolve().parent)
    other = file_of(name, sys.path) if name.isidentifier() else None
    if name in sys.stdlib_module_names or (other is not None and not is_own(other)):
        raise GumdpError(
            f"{show(str(path))} has the name of a module of Python's or of a package: give it another one."
        )
    if folder not in sys.path:
        sys.path.append(folder)  # last: what stands beside the file can't take the place of a package
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise GumdpError(f"{show(str(path))} can't be run as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where pickle and dataclasses look for what it defines
    with failures_of(str(path)), contextlib.redirect_stdout(sys.stderr):
        spec.loader.exec_module(module)
    return module


def import_named(modules: Iterable[str]) -> None:
    """Import modules, or run files, that register problems and planners."""
    for name in modules:
        if is_file(name):
            run_file(Path(name))
            continue
        with failures_of(f"--module {show(name)}"), contextlib.redirect_stdout(sys.stderr):
            importlib.import_module(name)
