"""The policy that is best on average, and the one whose worst runs are best.

    python examples/the_worst_returns.py

The four states of *Entropic Risk-Aware Monte Carlo Tree Search* (2026): from the first,
one action leads to a middling cost for sure, the other mostly to a small one and
sometimes to a large one. Minimised is the mean cost of a run, or the mean of its worst
tenth (the conditional value at risk), exactly, over all policies that remember what
they spent.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

LEVEL = 0.9


def main(quick: bool = False) -> dict[str, tuple[float, float]]:
    stay = [[0.1, 0.9, 0.0, 0.0], [0.1, 0.0, 0.9, 0.0], [0.1, 0.0, 0.0, 0.9]]
    model = gumdp.Tabular.from_matrices(
        [[[0.0, 0.0, 0.85, 0.15], *stay], [[0.0, 1.0, 0.0, 0.0], *stay]]
    )
    costs = np.repeat([[0.0], [5.0], [1.0], [20.0]], 2, axis=1)
    counts = gumdp.Features(costs, names=["cost"])
    total = gumdp.Linear([1.0])
    mean = gumdp.Problem(
        model, total, discount=1.0, horizon=20, counts=counts, scale="sum"
    )
    worst = mean.replace(objective=gumdp.cvar(total, LEVEL))
    planners = {"least mean": (mean, gumdp.solve_exact(mean).planner)}
    planners["least mean of the worst tenth"] = (
        worst,
        gumdp.solve_exact(worst).planner,
    )
    _, ax = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    found = {}
    for k, (name, (problem, planner)) in enumerate(planners.items()):
        trials = 300 if quick else 2000
        result = gumdp.evaluate(
            problem, planner, trials=trials, seed=0, measures={"cost": [1.0]}
        )
        cost = result.measures["cost"].values
        found[name] = (
            float(cost.mean()),
            gumdp.Evaluation(cost, name, "", 0, 0.0).cvar(LEVEL),
        )
        print(
            f"{name:30} mean cost {found[name][0]:.1f}, "
            f"of the worst tenth {found[name][1]:.1f}"
        )
        label = f"{name}: {found[name][0]:.0f}, worst tenth {found[name][1]:.0f}"
        ax.hist(
            cost,
            bins=40,
            range=(0, 400),
            histtype="step",
            linewidth=1.8,
            color=["#D55E00", "#0072B2"][k],
            label=label,
        )
    ax.set_xlabel("cost of a run")
    ax.set_ylabel("runs")
    ax.legend(frameon=False, fontsize=9)
    pyplot.savefig("the_worst_returns.png", dpi=110)
    return found


if __name__ == "__main__":
    main("--quick" in sys.argv)
