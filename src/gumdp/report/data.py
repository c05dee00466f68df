"""Results as plain dictionaries: what the commands print with ``--json``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gumdp.results import Bound, Certificate, Decision, Evaluation, Solution, Trial


def plain(value: Any) -> Any:
    """``value`` as JSON has it: lists for arrays, null for numbers that are not finite, text for all that it lacks.

    >>> import numpy as np
    >>> plain({"a": np.array([1.0, np.nan]), "b": np.int64(2)})
    {'a': [1.0, None], 'b': 2}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of NumPy's
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def evaluation_data(setting: str, planner: str, result: Evaluation) -> dict[str, Any]:
    """An evaluation of the named planner in the named setting."""
    return {
        "setting": setting,
        "planner": planner,
        "parameters": result.planner,
        "trials": result.values.size,
        "seed": result.seed,
        "values": result.values,
        "mean": result.mean,
        **({"utility": result.utility} if result.maximised else {}),
        "standard_error": result.standard_error,
        "ci90": result.ci(0.9),
        "cvar90": result.cvar(0.9),
        "certainty_equivalent": result.certainty_equivalent,
        "seconds": result.seconds,
        "setup": result.setup,
    }


def trial_data(setting: str, planner: str, trial: Trial) -> dict[str, Any]:
    """A trial of the named planner in the named setting."""
    return {
        "setting": setting,
        "planner": planner,
        "parameters": trial.planner,
        "seed": trial.seed,
        "value": trial.value,
        **({"utility": trial.utility} if trial.maximised else {}),
        "states": trial.states,
        "actions": trial.actions,
        "cells": trial.cells,
        "occupancy": trial.occupancy,
        "totals": dict(trial.totals),
        "decisions": [decision_data(d) for d in trial.decisions if d.values is not None],
        "seconds": trial.seconds,
    }


def solution_data(setting: str, solution: Solution) -> dict[str, Any]:
    """What a solver found in the named setting."""
    return {
        "setting": setting,
        "method": solution.method,
        "value": solution.value,
        **({"utility": solution.utility} if solution.maximised else {}),
        "gap": solution.gap,
        "status": solution.status,
        "policy": solution.policy,
        "occupancy": solution.occupancy,
        "sizes": solution.sizes,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
    }


def bound_data(setting: str, bound: Bound) -> dict[str, Any]:
    """A lower bound in the named setting, with all that were tried."""
    return {
        "setting": setting,
        "value": bound.value,
        "method": bound.method,
        "reason": bound.reason,
        "level": bound.level,
        "seconds": bound.seconds,
        "parts": [
            {"method": part.method, "value": part.value, "level": part.level, "reason": part.reason}
            for part in bound.parts
        ],
        "skipped": dict(bound.skipped),
    }


def certificate_data(setting: str, planner: str, certificate: Certificate) -> dict[str, Any]:
    """How far the named planner can be from optimal in the named setting."""
    return {
        "setting": setting,
        "planner": planner,
        "parameters": certificate.planner,
        "gap": certificate.gap,
        "upper": certificate.upper,
        "lower": certificate.lower,
        "level": certificate.level,
        "mean": certificate.mean,
        "standard_error": certificate.standard_error,
        "interval": certificate.interval,
        "controlled": certificate.controlled,
        "trials": certificate.trials,
        "seed": certificate.seed,
        "bound": bound_data(setting, certificate.bound),
        "values": certificate.values,
        "seconds": certificate.seconds,
    }


def decision_data(decision: Decision) -> dict[str, Any]:
    """A decision with its evidence."""
    return {
        "action": decision.action,
        "values": decision.values,
        "errors": decision.errors,
        "visits": decision.visits,
        "iterations": decision.iterations,
        "depth": decision.depth,
        "nodes": decision.nodes,
        "seconds": decision.seconds,
        "proved": decision.proved,
        "plan": decision.plan,
        "setup": decision.setup,
    }
