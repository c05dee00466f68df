"""A machine whose failure rate is not known, and that should not fail in this run: how
fast may it go?

    python examples/an_unknown_failure_rate.py

Slow work leaves something undone. Fast work shakes the machine: a shaken machine may
break when it goes fast, and a broken one is broken for the rest of the run. How often
fast work shakes it, nobody knows: it may be harmless, or not. What happens in the first
steps is all that there is to learn from.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

CALM, SHAKEN, BROKEN = range(3)
SLOW, FAST = range(2)
STEPS = 40


def machine(shaking: float) -> gumdp.Tabular:
    """The machine, if fast work shakes it with this probability."""
    to = np.zeros((3, 2, 3))
    to[CALM, SLOW, CALM] = to[SHAKEN, SLOW, CALM] = to[BROKEN, :, BROKEN] = 1.0
    to[CALM, FAST] = [1.0 - shaking, shaking, 0.0]
    to[SHAKEN, FAST] = [0.0, 0.7, 0.3]
    return gumdp.Tabular(
        to, state_names=["calm", "shaken", "broken"], action_names=["slow", "fast"]
    )


def main(quick: bool = False) -> dict[str, float]:
    strength = np.full((3, 2), np.inf)
    strength[CALM, FAST] = strength[SHAKEN, FAST] = (
        2.0  # as if each had been seen twice
    )
    belief = gumdp.Belief.around(machine(0.5), strength)
    costs = np.array([[1.0, 0.0], [1.0, 0.0], [4.0, 4.0]])  # the work that is not done
    problem = gumdp.Problem(belief, gumdp.Linear(costs), discount=1.0, horizon=STEPS)
    search, trials = gumdp.MCTS(iterations=200 if quick else 2000), 60 if quick else 400
    planners = {
        "planning to learn": search,
        "as if the mean were the machine": gumdp.CertaintyEquivalent(search),
        "as if a drawn machine were the one": gumdp.Thompson(search),
        "for the worst of five": gumdp.Robust(search, worlds=5),
    }
    broken = {"broken": lambda d: float(d[2].sum())}
    results = {
        name: gumdp.evaluate(problem, planner, trials, measures=broken)
        for name, planner in planners.items()
    }
    for name, result in results.items():
        failed = 1.0 - result.measures["broken"].probability(0.0).value
        cost = f"cost {result.mean:.3f}"
        print(f"{name}: {cost}, breaks in {100 * failed:.0f} % of the runs")
    gumdp.plot.comparison(results)
    pyplot.savefig("an_unknown_failure_rate.png", dpi=110, bbox_inches="tight")
    return {name: result.mean for name, result in results.items()}


if __name__ == "__main__":
    main("--quick" in sys.argv)
