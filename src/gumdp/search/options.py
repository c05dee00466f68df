"""The options of tree search, declared once: for the class and its ``repr``, the registry, the shell and the docs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.errors import check_bool, check_float, check_int, one_of, unknown

ROLLOUTS = ("uniform", "greedy")
CHOICES = ("visits", "value")
BONUSES = ("polynomial", "logarithmic")
BACKUPS = ("growing", "mean")


@dataclass(frozen=True)
class SearchOption:
    """An option: what it takes, what it is in ``MCTS()`` and in ``MCTS.paper()``, and what it does, in a line."""

    name: str
    kind: type[int] | type[float] | type[bool] | tuple[str, ...]  # a tuple: one of these words
    default: Any  # None: not given, or found out by tuning
    paper: Any
    help: str
    check: Callable[[str, Any], Any]
    shell: bool = True  # whether it can be said in a word, on the command line and in a file


def _optional(check: Callable[..., Any], *limits: Any) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else check(name, value, *limits)


def _rollout(name: str, value: Any) -> Any:
    if isinstance(value, str) and value not in ROLLOUTS:
        raise unknown("rollout", value, ROLLOUTS)
    return value


def _commitment(name: str, value: Any) -> Any:
    unlimited = value is None or (isinstance(value, float) and value == math.inf)
    return value if unlimited else check_float(name, value, 0.0)


OPTIONS = (
    SearchOption(
        "iterations", int, None, None, "simulated trajectories per decision", _optional(check_int, 1)
    ),
    SearchOption("time_limit", float, None, None, "seconds per decision", _optional(check_float, 0.0)),
    SearchOption(
        "trial_iterations", int, None, None, "simulated trajectories per trial, more where more is at stake",
        _optional(check_int, 1),
    ),
    SearchOption(
        "trial_time", float, None, None, "seconds per trial, more where more is at stake", _optional(check_float, 0.0)
    ),
    SearchOption(
        "exploration", float, None, math.sqrt(2.0), "constant of the confidence bound", _optional(check_float, 0.0)
    ),
    SearchOption(
        "bonus", BONUSES, "polynomial", "logarithmic", "how exploration grows with the visits of a node",
        lambda name, value: one_of("bonus", value, BONUSES),
    ),
    SearchOption("scaled", bool, True, False, "scale exploration to the spread of the returns", check_bool),
    SearchOption("rollout", ROLLOUTS, None, "uniform", "how simulations go on below the tree", _rollout),
    SearchOption(
        "randomness", float, None, None, "share of uniformly random steps (mcts: in greedy rollouts)",
        _optional(check_float, 0.0, 1.0),
    ),
    SearchOption(
        "depth", int, None, None, "steps that a simulation looks ahead; the rest is assumed to go on as the run did",
        _optional(check_int, 1),
    ),
    SearchOption(
        "reuse", bool, None, False, "keep the part of the tree that the real step led to", _optional(check_bool)
    ),
    SearchOption(
        "choice", CHOICES, "visits", "visits", "act by most visits or by least mean",
        lambda name, value: one_of("choice", value, CHOICES),
    ),
    SearchOption(
        "backup", BACKUPS, "growing", "mean", "value actions by their mean, or increasingly by the best action below",
        lambda name, value: one_of("backup", value, BACKUPS),
    ),
    SearchOption("solve", bool, True, False, "search no further below what is solved exactly, on tables", check_bool),
    SearchOption(
        "variations", bool, True, False, "improve plans by varying them, in deterministic problems", check_bool
    ),
    SearchOption(
        "commitment", float, None, math.inf,
        "in deterministic problems: by how many standard deviations a plan may be worse than the best", _commitment,
    ),
    SearchOption("paired", bool, True, False, "give all actions at the root the same random numbers", check_bool),
    SearchOption(
        "even", bool, True, False, "draw outcomes in the tree in the proportions of their probabilities", check_bool
    ),
    SearchOption("ordered", bool, True, False, "first try the actions of least marginal cost", check_bool),
    SearchOption(
        "control_variate", bool, True, False, "subtract rollout noise from returns, on tables and beliefs", check_bool
    ),
    SearchOption("threads", int, 1, 1, "trees searched at the same time", _optional(check_int, 1, 1024)),
    SearchOption("keep_tree", bool, False, False, "attach the tree to each decision", check_bool, shell=False),
    SearchOption(
        "information", bool, False, False, "on a belief, say how much of a decision's value is information", check_bool,
        shell=False,
    ),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}
DEFAULTS = {option.name: option.default for option in OPTIONS}
PAPER = {option.name: option.paper for option in OPTIONS}


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """The options that are given, each as it should be, or an error that names it."""
    return {name: BY_NAME[name].check(f"MCTS: {name}", value) for name, value in given.items()}


def differing(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The options that are not at their defaults, in order; ``iterations`` first."""

    def same(name: str) -> bool:
        value, default = values[name], defaults[name]
        return not isinstance(value, np.ndarray | list | tuple) and bool(value == default)

    return {name: values[name] for name in defaults if not same(name)}
