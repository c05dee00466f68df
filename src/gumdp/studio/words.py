"""What a decision rests on, in a sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.results import Decision

ALIKE = 0.05  # standard errors that are not worth a word
ROUNDING = 1e-12  # of a value


def sentence(decision: Decision, names: list[str]) -> str:
    """Why this action, and how sure that is.

    >>> values, errors = np.array([0.1, 0.2]), np.array([0.01, 0.02])
    >>> sentence(Decision(0, "stay", values, errors, np.array([70, 30]), 100), ["stay", "move"])
    'stay: 4.5 standard errors better than move, after 100 iterations'
    """
    name = names[decision.action]
    proved = "; proved" if decision.proved else ""
    values, errors = decision.values, decision.errors
    if values is None:
        return f"{name}: decided without a search{proved}"
    others = [a for a in range(len(names)) if a != decision.action and math.isfinite(values[a])]
    after = f", after {decision.iterations} iterations" if decision.iterations else ""
    if not others or not math.isfinite(values[decision.action]):
        return f"{name}: nothing else was worth a try{after}{proved}"
    other = min(others, key=lambda a: values[a])
    gap = float(values[other] - values[decision.action])
    noise = _noise(errors, decision.action, other)
    if abs(gap) <= max(ALIKE * noise, ROUNDING * abs(float(values[other]))):
        return f"{name}: just as good as {names[other]}{after}{proved}"
    if noise == 0.0:
        return f"{name}: {'better' if gap > 0 else 'worse'} than {names[other]} by {abs(gap):.2g}{after}{proved}"
    z = gap / noise
    if z < 0.0:
        lower = f"{names[other]} has the lower mean by {-z:.1f} standard errors"
        return f"{name}: {_despite(decision)}; {lower}{after}{proved}"
    if z < 1.0:
        return f"{name}: hardly different from {names[other]}, {z:.1f} standard errors{after}{proved}"
    return f"{name}: {z:.1f} standard errors better than {names[other]}{after}{proved}"


def _despite(decision: Decision) -> str:
    """Why an action was taken although another one has the lower mean."""
    if decision.plan is not None:  # where nothing is left to chance, a trajectory can be played again
        return f"begins the best plan found, which ends with {decision.plan:.4g}"
    most = decision.visits is not None and decision.visits[decision.action] >= decision.visits.max()
    return "tried most" if most else "chosen all the same"


def _noise(errors: Any, one: int, other: int) -> float:
    if errors is None:
        return 0.0
    both = float(errors[one]) ** 2 + float(errors[other]) ** 2
    return math.sqrt(both) if math.isfinite(both) else 0.0


def price(decision: Decision, action: int) -> float:
    """What another action costs more than the best one, by the planner's own estimate; NaN if it has none."""
    if decision.values is None or not np.isfinite(decision.values).any():
        return math.nan
    return float(decision.values[action] - np.nanmin(decision.values))
