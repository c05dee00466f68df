"""Experiments from TOML files, with errors that name the file and the line.

.. code-block:: toml

    name = "budgets"                 # of the folder: results/budgets
    trials = 100                     # of each arm
    seeds = [0]                      # or: seed = 0
    keep = ["occupancy"]             # also "trajectory"; nothing by default
    modules = ["my_problems"]        # Python files beside this one that register problems
    title = "How much search?"       # of the report
    text = "What it is about."       # what the report says first
    baseline = "random"              # the planner that the others are compared with; the first one by default
    candidates = ["mcts"]            # those that are compared with it; all others by default

    [[problems]]
    name = "m1-entropy"
    horizon = [20, 100]              # a list: one problem of each

    [[planners]]
    name = "mcts"
    iterations = [10, 100, 1000]

A problem or planner without options can be written as its name: ``planners = ["random", "greedy"]``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gumdp.errors import GumdpError, check_int, show, unknown
from gumdp.experiments.plan.arm import Arm, check_planner
from gumdp.experiments.plan.code import Code
from gumdp.experiments.plan.experiment import (
    KEEP,
    Experiment,
    list_variants,
    named,
    planner_variants,
    problem_variants,
)
from gumdp.run import registry
from gumdp.seeding import BITS
from gumdp.zoo.registry import find, names

ABOUT = ("title", "text", "baseline", "candidates")  # for the report
KEYS = ("name", "trials", "seed", "seeds", "keep", "modules", *ABOUT, "problems", "planners")


def read_experiment(path: str | Path, trials: int | None = None, *, run_modules: bool = True) -> Experiment:
    """The experiment that a TOML file describes, with every name and option checked; ``trials`` overrides its own.

    The modules that it names are imported, which runs the code in them. Without ``run_modules`` none is: problems and
    planners that are not known without them are then taken as they are written.
    """
    text = _text(Path(path))
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GumdpError(_at_line(path, str(error))) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
        raise GumdpError(f"{path}: {' '.join(str(error).split(';')[0].split())}.") from None
    return _Reader(Path(path), text, table, run_modules).experiment(trials)


class _Reader:
    """A TOML file on the way to an experiment: what it says, and where it says it."""

    def __init__(self, path: Path, text: str, table: dict[str, Any], run_modules: bool = True) -> None:
        self.path, self.lines, self.table, self.run_modules = path, text.splitlines(), table, run_modules

    def experiment(self, trials: int | None) -> Experiment:
        table = self.table
        for key in table:
            if key not in KEYS:
                with self.at(key):
                    raise unknown("key", key, KEYS)
        if "seed" in table and "seeds" in table:
            with self.at("seeds"):
                raise GumdpError("give seed or seeds, not both.")
        with self.at("name"):
            name = table.get("name", self.path.stem)
            if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
                raise GumdpError(f"name must be a word of letters, digits, dots and dashes, not {name!r}.")
        with self.at("trials"):
            count = check_int("trials", table.get("trials", 10), 1, BITS)
        keep, modules = self.words("keep", KEEP), self.words("modules")
        with self.at("modules"):
            code = Code.named(modules if self.run_modules else (), self.path.parent)
        arms = tuple(self.arms(self.seeds()))
        about = self.about()
        with self.at(*about):
            return Experiment(arms, trials or count, name, keep, modules, code=code, **about)

    def about(self) -> dict[str, Any]:
        """Title, text, baseline and candidates, where they are given."""
        given = {key: self.table[key] for key in ABOUT if key in self.table}
        for key in ("title", "text"):
            with self.at(key):
                if not isinstance(given.get(key, ""), str):
                    raise GumdpError(f"{key} must be text, not {given[key]!r}.")
        with self.at("candidates"):
            if not isinstance(given.get("candidates", []), list):
                raise GumdpError(f"candidates must be a list of names or tables, not {given['candidates']!r}.")
        return given

    def seeds(self) -> list[int]:
        key = "seeds" if "seeds" in self.table else "seed"
        with self.at(key):
            given = self.table.get(key, 0)
            if (key == "seeds") != isinstance(given, list):
                raise GumdpError(f"{key} must be {'a list of whole numbers' if key == 'seeds' else 'a whole number'}.")
            return [check_int("seed", seed, 0) for seed in (given if isinstance(given, list) else [given])]

    def arms(self, seeds: list[int]) -> Iterator[Arm]:
        problems, planners = self.entries("problems"), self.entries("planners")
        for i, given in enumerate(planners):
            for name, options in self.variants("planners", i, given):
                with self.at(*options, name, section="planners", index=i):
                    if self.known("planners", name):
                        registry.make(name, **options)
        for i, given in enumerate(problems):
            for name, options in self.variants("problems", i, given):
                with self.at(*options, name, section="problems", index=i):
                    if self.known("problems", name):
                        Arm(name, "random", options).make_problem()
                for j, other in enumerate(planners):
                    for planner, planner_options in self.variants("planners", j, other):
                        known = self.known("problems", name) and self.known("planners", planner)
                        for seed in seeds:
                            with self.at(*planner_options, planner, section="planners", index=j):
                                make = Arm if known else Arm.restored
                                yield make(name, planner, options, planner_options, seed)

    def known(self, key: str, name: str) -> bool:
        """Whether a name stands for something; if all modules have run, one that doesn't is refused elsewhere."""
        if self.run_modules or "modules" not in self.table:
            return True
        return name in (registry.names() if key == "planners" else names())

    def entries(self, key: str) -> list[Any]:
        given = self.table.get(key)
        with self.at(key):
            if given is None:
                raise GumdpError(f'{key} is missing: name at least one, for instance {key} = ["{EXAMPLES[key]}"].')
            if not isinstance(given, list):
                raise GumdpError(f"{key} must be a list of names or tables, not {given!r}.")
            if not given:
                raise GumdpError(f'{key} is empty: name at least one, for instance {key} = ["{EXAMPLES[key]}"].')
        return given

    def variants(self, key: str, index: int, given: Any) -> list[tuple[str, dict[str, Any]]]:
        """The variants of an entry, with each option's name checked where it stands."""
        with self.at(key, section=key, index=index):
            name, options = named(key[:-1], given)
        if not self.known(key, name):
            return list_variants(name, options)
        with self.at(name, section=key, index=index):
            if (file := name.partition(":")[0]).endswith(".py"):
                raise GumdpError(
                    f"an experiment knows what is in files by the names that they register: "
                    f'modules = ["{Path(file).stem}"] and gumdp.register_{key[:-1]}, not {show(name)}.'
                )
            check_planner(name, {}) if key == "planners" else find(name)
        for option, value in options.items():
            with self.at(option, section=key, index=index):
                if value == []:
                    raise GumdpError(f"{option} is an empty list: give at least one value.")
                if key == "planners":
                    check_planner(name, {option: value[0] if isinstance(value, list) else value})
        with self.at(name, section=key, index=index):
            return planner_variants(given) if key == "planners" else problem_variants(given)

    def words(self, key: str, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
        given = self.table.get(key, [])
        with self.at(key):
            if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
                raise GumdpError(f"{key} must be a list of words, not {given!r}.")
            for word in given:
                if known is not None and word not in known:
                    raise unknown(f"word of {key}", word, known)
        return tuple(given)

    @contextmanager
    def at(self, *words: str | None, section: str = "", index: int = 0) -> Iterator[None]:
        """Put the file and the line of the culprit before an error: the first word that is a key or a string there."""
        try:
            yield
        except GumdpError as error:
            message = str(error)
            spelled = message.replace(":", " ")
            ordered = sorted((w for w in words if w), key=lambda w: (f"'{w}'" not in spelled, f" {w} " not in spelled))
            line = next((n for n in (self.line(w, section, index) for w in ordered) if n), None)
            raise GumdpError(f"{self.path}{f', line {line}' if line else ''}: {message}") from None

    def line(self, word: str, section: str, index: int) -> int | None:
        """The line in which ``word`` is a key or a string, from the section's own heading on."""
        headings = [n for n, text in enumerate(self.lines) if re.match(rf"\s*\[\[\s*{section}\s*\]\]", text)]
        first = headings[index] if section and index < len(headings) else 0
        if not section:
            pattern = rf"\s*(\[*\s*)[\"']?{re.escape(word)}[\"']?\s*(=|\])"
        else:
            pattern = rf".*([\"']{re.escape(word)}[\"']|\b{re.escape(word)}\b\s*=)"
        return next((n + 1 for n in range(first, len(self.lines)) if re.match(pattern, self.lines[n])), None)


EXAMPLES = {"problems": "m1-entropy", "planners": "mcts"}


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise GumdpError(f"{path} is not a file; name a TOML file.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise GumdpError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise GumdpError(f"{show(str(path))} can't be read: {reason}.") from None
    except ValueError:
        raise GumdpError(f"{show(str(path))} can't be read: that is no name of a file.") from None


def _at_line(path: str | Path, message: str) -> str:
    """``message`` of tomllib's with its line in front."""
    found = re.search(r" \(at line (\d+), column \d+\)", message)
    if not found:
        return f"{path}: {message}."
    return f"{path}, line {found[1]}: {message.replace(found[0], '')}."
