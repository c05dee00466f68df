"""One contract for bad input: every public callable is listed here once with its parameters, and garbage in any of them
gives a right answer or the package's own error, never another one.

A new public name, or a new parameter, fails the first two tests until it has an entry.
"""

import contextlib
import inspect
import random
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gumdp

# What others make for the user, or what the user fills with life: nobody calls these with arguments of their own.
RESULTS = {"Bound", "Certificate", "Comparison", "Decision", "Evaluation", "GumdpError", "Learned", "Measure",
           "Solution", "Trial"}  # fmt: skip
BASES = {"Model", "Objective", "Planner", "Policy"}

TABLE = np.full((2, 2, 2), 0.5)
MODEL = gumdp.Tabular(TABLE)
PROBLEM = gumdp.Problem(MODEL, gumdp.Entropy(), 0.9, 2)
COSTS = [[0.0, 1.0], [1.0, 0.5]]
POLICY = [[0.5, 0.5], [0.5, 0.5]]
SEARCH = {"iterations": 3}
TINY = {"trials": 2, "seed": 0}
LOG = ([0, 1, 1], [0, 1, 0], [1, 0, 1])


def step(state: tuple[float], action: int) -> tuple[float]:
    return (min(max(state[0] + (1.0 if action else -1.0), 0.0), 1.0),)


def cell(state: tuple[float]) -> int:
    return int(state[0])


CALLS: dict[str, dict[str, Any]] = {
    "Belief": {
        "states": 2, "actions": 2, "prior": 0.5, "start": 0, "support": None, "moves": None, "tied": None,
        "counts": None, "available": None, "state_names": None, "action_names": None, "grid": None,
        "terminal": "restart",
    },
    "BestOnAverage": {"resolve": False, "horizon": None, "method": "auto"},
    "Bins": {"counts": [2, 2], "low": [0.0, 0.0], "high": [1.0, 1.0], "outside": "clip", "names": ["x", "y"]},
    "ByHand": {"planner": gumdp.Random(), "actions": {0: 1}, "iterations": None},
    "CertaintyEquivalent": {"planner": gumdp.MCTS(3)},
    "Chance": {"inner": gumdp.Linear(COSTS), "limit": 0.5},
    "Chebyshev": {"weights": [1.0, 1.0], "ideal": [1.0, 1.0]},
    "CobbDouglas": {"exponents": [0.5, 0.5]},
    "Constrained": {"costs": COSTS, "constraints": [COSTS], "budgets": 0.5, "penalty": 1.0},
    "Dual": {"iterations": 3},
    "Entropy": {"floor": 1e-6},
    "Exact": {"limit": 1000, "grid": None},
    "Features": {"phi": np.ones((2, 2, 1)), "names": ["x"]},
    "Function": {
        "function": lambda d: float(d[0, 0]), "gradient": None, "convex": False, "bounds": (0.0, 1.0), "lipschitz": 1.0,
        "name": "f",
    },
    "Gini": {"weights": [2.0, 1.0]},
    "Greedy": {"randomness": 0.0},
    "GroupEntropy": {"groups": [0, 1], "names": ["a", "b"]},
    "Hashed": {"cell": None},
    "Imitation": {"target": [[0.25, 0.25], [0.25, 0.25]]},
    "KLImitation": {"target": [[0.25, 0.25], [0.25, 0.25]], "floor": 1e-6},
    "Linear": {"costs": COSTS},
    "Markov": {"policy": [POLICY, POLICY]},
    "MeanVariance": {"costs": COSTS, "weight": 1.0},
    "Minimum": {"weights": [1.0, 1.0]},
    "Nash": {},
    "NonMarkov": {"rule": lambda history: 0},
    "OccupancyEnv": {
        "problem": PROBLEM, "shaping": "none", "discount": 1.0, "unavailable": "replace", "flat": False,
        "render_mode": None,
    },
    "Optimistic": {"planner": gumdp.MCTS(3), "worlds": 2},
    "PMean": {"p": 0.5, "weights": [1.0, 1.0]},
    "Problem": {
        "model": MODEL, "objective": gumdp.Entropy(), "discount": 0.9, "horizon": 2, "episodes": 1, "name": "p",
        "counts": None, "scale": "mean",
    },
    "Quadratic": {"matrix": COSTS},
    "Random": {},
    "Ratio": {"costs": COSTS, "per": COSTS, "empty": 0.0},
    "Robust": {"planner": gumdp.MCTS(3), "worlds": 2},
    "Simulator": {
        "step": step, "start": (0.0,), "index": cell, "cells": 2, "actions": 2, "allowed": None, "ended": None,
        "terminal": "absorb", "cell_names": ["a", "b"], "action_names": ["l", "r"], "grid": (2, 1),
    },
    "StateEntropy": {"floor": 1e-6},
    "Stationary": {"policy": POLICY},
    "Tabular": {
        "transitions": TABLE, "start": 0, "available": None, "state_names": ["a", "b"], "action_names": ["l", "r"],
        "grid": (2, 1),
    },
    "Target": {"costs": COSTS, "budget": 0.5},
    "Thompson": {"planner": gumdp.MCTS(3)},
    "Utility": {
        "utility": lambda z: z[0], "maximise": True, "gradient": None, "concave": False, "convex": False,
        "bounds": (0.0, 1.0), "lipschitz": 1.0, "name": "u",
    },
    "WeightedSum": {"weights": [1.0, 1.0]},
    "WorstCase": {"costs": [COSTS, COSTS]},
    "certify": {
        "problem": PROBLEM, "planner": gumdp.Random(), **TINY, "level": 0.99, "interval": "student", "control": None,
        "time_limit": 0.1, "nodes": 100, "bound": None, "workers": 1, "progress": None, "on_bound": None,
    },
    "check_model": {"model": MODEL, "steps": 3, "seed": 0},
    "check_objective": {"objective": gumdp.Entropy(), "shape": (2, 2), "samples": 3, "seed": 0},
    "check_planner": {"planner": gumdp.Random(), "problem": PROBLEM, "trials": 2, "seed": 0},
    "compare": {"a": [0.1, 0.2, 0.4], "b": [0.2, 0.2, 0.5], "level": 0.9},
    "cvar": {"objective": gumdp.Linear(COSTS), "level": 0.9, "threshold": None},
    "entropic": {"objective": gumdp.Entropy(), "beta": 1.0},
    "evaluate": {
        "problem": PROBLEM, "planner": gumdp.Random(), **TINY, "workers": 1, "measures": None, "world": None,
        "progress": None,
    },
    "exact_value": {"problem": PROBLEM, "policy": POLICY, "limit": 1000},
    "fit_threshold": {
        "problem": gumdp.Problem(MODEL, gumdp.cvar(gumdp.Linear(COSTS), 0.9), 0.9, 2), "planner": gumdp.Random(),
        **TINY, "rounds": 1, "workers": 1,
    },
    "from_gymnasium": {
        "env": "FrozenLake-v1", "method": None, "terminal": None, "start": None, "bins": None, "torques": 5,
        "index": None, "cells": None, "save": None, "restore": None, "actions": None,
    },
    "infinite_trials_value": {"problem": PROBLEM, "policy": POLICY, "truncated": True},
    "learn": {
        "data": LOG, "samples": 10, "seed": 0, "shape": (2, 2), "prior": 0.0, "unseen": "loop", "terminal": "absorb",
        "start": 0, "available": None, "bins": None, "terminated": None, "episodes": None, "episode": None,
        "index": None, "cells": None,
    },
    "load_model": {"path": "nowhere.npz"},
    "lower_bound": {
        "problem": PROBLEM, "methods": None, "time_limit": 0.1, "nodes": 100, "level": 0.99, "seed": 0,
        "progress": None,
    },
    "normalized": {"objective": gumdp.Entropy()},
    "play": {
        "env": gymnasium.make("FrozenLake-v1"), "problem": gumdp.zoo.load("frozenlake-entropy", horizon=3),
        "planner": gumdp.Random(), "seed": 0, "trial": 0, "at_limit": "stop", "frames": False, "samples": None,
        "on_decision": None,
    },
    "read_results": {"folder": "nowhere"},
    "register_planner": {"name": "mine", "factory": gumdp.Random, "options": {}, "summary": "mine"},
    "register_problem": {"name": "mine", "build": lambda: PROBLEM, "options": {}, "summary": "mine"},
    "run_trial": {"problem": PROBLEM, "planner": gumdp.Random(), "seed": 0, "trial": 0, "world": None,
        "on_decision": None},
    "save_model": {"model": MODEL, "path": "model.npz"},
    "solve_exact": {
        "problem": PROBLEM, "method": "backward-induction", "limit": 1000, "grid": None, "time_limit": None,
        "nodes": None, "progress": None,
    },
    "solve_infinite": {
        "problem": PROBLEM, "method": "mirror", "horizon": None, "constraints": (), "start": None, "tolerance": None,
        "iterations": 20, "time_limit": None, "progress": None,
    },
}  # fmt: skip
# Whose parameters stand elsewhere: the table of the search's options, and what files of experiments are made of.
ELSEWHERE = {"MCTS": "tests/test_bad_input.py", "Experiment": "tests/test_experiments.py",
             "run_experiment": "tests/test_experiments.py"}  # fmt: skip

GARBAGE: list[Any] = [
    None, True, -1, 0, 1, 3, 2**63, 10**30, 0.5, -0.5, float("nan"), float("inf"), 1e-300, 1.0 - 1e-12, 1j, "", "x",
    "a\0b", "ü" * 300, b"x", [], [[]], [1, [2]], [None], ["a", 1], {}, {"a": 1}, {1: 2}, set(), object(), len, int,
    np.array(3.0), np.zeros(0), np.full((2, 2), np.nan), np.full((2, 2), -1.0), np.ones((3, 3, 3)),
    np.array(["a", "b"]), np.array([object()]), np.datetime64("2020-01-01"), gumdp.Entropy,
    gumdp.Entropy(), PROBLEM, MODEL, gumdp.Random(),
    Path("nowhere"), range(3), (1, 2), (2.5, 1), slice(1), iter([1]), "lambda d: 0", NotImplemented, 10**5000,
]  # fmt: skip
CALLBACKS = {"progress", "on_decision", "on_bound"}  # functions of the user's: what they raise is theirs
SLOW = 30.0  # seconds that a call may take, with what it compiles


def test_every_public_name_has_an_entry() -> None:
    modules = {name for name in gumdp.__all__ if inspect.ismodule(getattr(gumdp, name))}
    listed = [*CALLS, *RESULTS, *BASES, *ELSEWHERE, *modules]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(gumdp.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_an_entry_names_every_parameter(name: str) -> None:
    parameters = inspect.signature(getattr(gumdp, name)).parameters.values()
    named = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
    assert list(CALLS[name]) == named


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Fail if it takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def attack(name: str, parameter: str, value: Any) -> None:
    """Call with one parameter spoilt; anything but an answer or the package's error is a failure."""
    if callable(value) and (parameter in CALLBACKS or (name, parameter) == ("exact_value", "policy")):
        return
    with warnings.catch_warnings(), limited(SLOW):
        warnings.simplefilter("ignore")
        try:
            getattr(gumdp, name)(**{**CALLS[name], parameter: value})
        except gumdp.GumdpError as error:
            sentence = str(error)
        else:
            return
    assert sentence
    assert "\n" not in sentence


METHODS: dict[str, tuple[Any, dict[str, Any]]] = {  # of what the calls above return or take
    "Evaluation.ci": (lambda: RESULT.ci, {"level": 0.9}),
    "Evaluation.quantile": (lambda: RESULT.quantile, {"q": 0.5}),
    "Objective": (lambda: gumdp.Entropy(), {"d": POLICY}),
    "Policy.act": (lambda: gumdp.Random().start(PROBLEM, seed=0).act, {"state": 0}),
    "Planner.start": (lambda: gumdp.Random().start, {"problem": PROBLEM, "seed": 0}),
    "Problem.replace": (lambda: PROBLEM.replace, {"discount": 0.9, "horizon": 2, "objective": gumdp.Entropy()}),
    "Problem.value": (lambda: PROBLEM.value, {"occupancy": POLICY}),
    "Tabular.row": (lambda: MODEL.row, {"state": 0, "action": 0}),
    "zoo.load": (lambda: gumdp.zoo.load, {"name": "m1-entropy"}),
}
RESULT = gumdp.evaluate(PROBLEM, gumdp.Random(), trials=3, seed=0)


@pytest.mark.parametrize("name", METHODS)
def test_garbage_for_a_method_meets_nothing_but_our_error(name: str, count) -> None:
    make, call = METHODS[name]
    for parameter in call:
        for value in GARBAGE:
            with warnings.catch_warnings(), contextlib.suppress(gumdp.GumdpError):
                warnings.simplefilter("ignore")
                given = {**call, parameter: value}
                make()(*given.values()) if name != "Problem.replace" else make()(**given)
            count("calls of methods", "answered or refused")


def attacks(every: int) -> list[tuple[str, str, int]]:
    found = [(name, parameter, k) for name, call in CALLS.items() for parameter in call for k in range(len(GARBAGE))]
    random.Random(0).shuffle(found)
    return found[::every]


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def failures(every: int, count: Any) -> list[str]:
    for name, call in CALLS.items():  # what it takes to compile does not count
        with warnings.catch_warnings(), contextlib.suppress(gumdp.GumdpError):
            warnings.simplefilter("ignore")
            getattr(gumdp, name)(**call)
    wrong = []
    for name, parameter, k in attacks(every):
        try:
            attack(name, parameter, GARBAGE[k])
            count("calls of the API", "answered or refused")
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            shown = repr(GARBAGE[k])[:40] if k < len(GARBAGE) - 1 else "10**5000"
            wrong.append(f"{name}({parameter}={shown}): {type(error).__name__}: {str(error)[:120]}")
    return wrong


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs SIGALRM")
@pytest.mark.usefixtures("_elsewhere")
def test_garbage_meets_nothing_but_our_error(count) -> None:
    assert failures(12, count) == []


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs SIGALRM")
@pytest.mark.usefixtures("_elsewhere")
def test_ten_thousand_calls_with_garbage_meet_nothing_but_our_error(count) -> None:
    assert failures(1, count) == []
