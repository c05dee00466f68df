"""A limit that holds on average: in how many runs is it broken?

    python examples/keep_the_budget.py

A van can go fast or slow. Going fast, it breaks down with probability 0.15 a step, and then stands still for two
steps on average. Its contract says: broken down for at most 12 % of *this* trip. The usual constrained MDP keeps such
a limit on average over trips, and uses it up entirely. A plan for this run looks at what this trip has used already.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

LIMIT, STEPS = 0.12, 60


def trip() -> tuple[gumdp.Tabular, np.ndarray, np.ndarray]:
    """The model, the cost of going slow [S, A], and the time broken down [S, A]."""
    slow = [[1.0, 0.0], [0.5, 0.5]]
    fast = [[0.85, 0.15], [0.5, 0.5]]
    model = gumdp.Tabular.from_matrices(
        [slow, fast], start=0, state_names=["driving", "broken down"], action_names=["slow", "fast"]
    )
    return model, np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])


def main(quick: bool = False) -> dict[str, float]:
    model, lost, broken = trip()
    usual = gumdp.Problem(model, gumdp.Linear(lost), discount=1.0, horizon=STEPS)
    average = gumdp.solve_infinite(usual, constraints=[(broken, LIMIT)]).planner
    ours = gumdp.Problem(model, gumdp.Constrained(lost, broken, LIMIT, penalty=30.0), discount=1.0, horizon=STEPS)
    planners = {"constrained on average": average, "planned for this run": gumdp.MCTS(iterations=300)}
    _, ax = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    failures = {}
    for k, (name, planner) in enumerate(planners.items()):
        runs = [gumdp.run_trial(ours, planner, seed=0, trial=t).occupancy for t in range(40 if quick else 300)]
        spent = np.array([(broken * d).sum() for d in runs])
        progress = 1.0 - np.array([(lost * d).sum() for d in runs])
        failures[name] = float((spent > LIMIT + 1e-9).mean())
        print(f"{name:24} broken down {100 * spent.mean():.1f} % of the time on average, over the limit in "
              f"{100 * failures[name]:.0f} % of the trips; fast {100 * progress.mean():.0f} % of the time")  # fmt: skip
        jitter = np.random.default_rng(k).uniform(-0.4, 0.4, (2, spent.size))  # shares are multiples of 1/60
        label = f"{name}: over the limit in {100 * failures[name]:.0f} % of the trips"
        x, y = 100 * spent + jitter[0], 100 * progress + jitter[1]
        ax.plot(x, y, "os"[k], color=["#D55E00", "#0072B2"][k], alpha=0.5, markersize=5, label=label)
    ax.axvline(100 * LIMIT + 0.6, color="black", linestyle="--", linewidth=1.2)
    ax.text(100 * LIMIT + 1.2, ax.get_ylim()[1] - 2.5, "over the limit →", fontsize=9)
    ax.set_xlabel("broken down, % of the trip")
    ax.set_ylabel("fast, % of the trip")
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    pyplot.savefig("keep_the_budget.png", dpi=110)
    return failures


if __name__ == "__main__":
    main("--quick" in sys.argv)
