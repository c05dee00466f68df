"""A meal takes a fish and two logs: which policy brings the most meals home from one
day?

    python examples/a_fair_meal.py

Fishwood, of Roijers, Steckelmacher and Nowé (2018): at the river a step brings a fish
with probability 0.1, in the woods a log with probability 0.9. What counts is min(fish,
⌊logs/2⌋) of *this* day, not of the average day: the utility of what one run brings. The
day ends balanced only for someone who looks at what is in the basket.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

STEPS = 200


def meals(z):
    """A meal takes a fish and two logs."""
    return min(z[0], np.floor(z[1] / 2))


def fishwood(steps: int = STEPS) -> gumdp.Problem:
    """States are (river or woods, whether the last step brought something); amounts
    are seen in the next state.
    """
    transitions, brought = np.zeros((4, 2, 4)), np.zeros((4, 2, 4, 2))
    for place, chance in ((0, 0.1), (1, 0.9)):
        for state in (2 * place, 2 * place + 1):
            for go in (0, 1):
                transitions[state, go, 2 * go : 2 * go + 2] = 1.0 - chance, chance
                brought[state, go, 1::2, place] = 1.0
    model = gumdp.Tabular(
        transitions, start=2, action_names=["to the river", "to the woods"]
    )
    counts = gumdp.Features(brought, names=["fish", "logs"])
    return gumdp.Problem(
        model,
        gumdp.Utility(meals),
        discount=1.0,
        horizon=steps,
        counts=counts,
        scale="sum",
    )


def main(quick: bool = False) -> dict[str, float]:
    problem = fishwood(60 if quick else STEPS)
    average = problem.replace(objective=gumdp.Minimum([1.0, 0.5]))
    planners = {
        "best on average": gumdp.solve_infinite(average, horizon="finite").planner,
        "planned for this day": gumdp.MCTS(iterations=100),
    }
    optimum = gumdp.solve_exact(problem).utility
    _, ax = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    found = {}
    for k, (name, planner) in enumerate(planners.items()):
        result = gumdp.evaluate(problem, planner, trials=60 if quick else 400, seed=0)
        found[name] = result.utility
        print(f"{name:22} {result.utility:.2f} meals on average")
        values, counts = np.unique(-result.values, return_counts=True)
        label = f"{name}: {result.utility:.2f} meals"
        ax.bar(
            values + 0.4 * k - 0.2,
            counts / counts.sum(),
            0.4,
            color=["#D55E00", "#0072B2"][k],
            label=label,
        )
    found["the optimum"] = optimum
    print(f"{'the optimum':22} {optimum:.4f}")
    ax.axvline(
        optimum,
        color="black",
        linestyle="--",
        linewidth=1.2,
        label=f"the best possible mean: {optimum:.2f}",
    )
    ax.set_xlabel("meals in a day")
    ax.set_ylabel("share of the days")
    ax.legend(frameon=False, fontsize=9)
    pyplot.savefig("a_fair_meal.png", dpi=110)
    return found


if __name__ == "__main__":
    main("--quick" in sys.argv)
