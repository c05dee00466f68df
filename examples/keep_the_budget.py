"""A limit that holds on average: in how many runs is it broken?

    python examples/keep_the_budget.py

A van can go fast or slow. Going fast, it breaks down with probability 0.15 a step, and
then stands still for two steps on average. Its contract says: broken down for at most
12 % of *this* trip. The usual constrained MDP keeps such a limit on average over trips,
and uses it up entirely. A plan for this run looks at what this trip has used already.
Going over the limit costs 30 for each unit, so that the best plan takes a small risk of
it too.
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
        [slow, fast],
        start=0,
        state_names=["driving", "broken down"],
        action_names=["slow", "fast"],
    )
    return model, np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])


def main(quick: bool = False) -> dict[str, float]:
    model, lost, broken = trip()
    usual = gumdp.Problem(model, gumdp.Linear(lost), discount=1.0, horizon=STEPS)
    average = gumdp.solve_infinite(usual, constraints=[(broken, LIMIT)]).planner
    goal = gumdp.Constrained(lost, broken, LIMIT, penalty=30.0)
    ours = gumdp.Problem(model, goal, discount=1.0, horizon=STEPS)
    planners = {
        "constrained on average": average,
        "planned for this run": gumdp.MCTS(iterations=300),
        "the best plan there is": gumdp.Exact(),
    }
    _, ax = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    failures = {}
    for k, (name, planner) in enumerate(planners.items()):
        result = gumdp.evaluate(
            ours,
            planner,
            trials=40 if quick else 1500,
            measures={"broken": broken, "slow": lost},
        )
        spent, slow = result.measures["broken"], result.measures["slow"]
        kept = spent.probability(LIMIT + 1e-9)
        failures[name] = 1.0 - kept.value
        low, high = (100 - 100 * end for end in reversed(kept.interval))
        print(
            f"{name:24} cost {result.mean:.3f}, fast {100 - 100 * slow.mean:.0f} % and "
            f"broken down {100 * spent.mean:.1f} % of the time, over the limit in "
            f"{100 * failures[name]:.1f} % of the trips "
            f"(90 % interval {low:.1f} to {high:.1f})"
        )
        x, y = 100 * spent.values[:300], 100 - 100 * slow.values[:300]
        # shares are multiples of 1/60
        jitter = np.random.default_rng(k).uniform(-0.4, 0.4, (2, x.size))
        label = f"{name}: over the limit in {100 * failures[name]:.0f} % of trips"
        ax.plot(
            x + jitter[0],
            y + jitter[1],
            "os^"[k],
            color=["#D55E00", "#0072B2", "#009E73"][k],
            alpha=0.5,
            markersize=5,
            label=label,
        )
    ax.axvline(100 * LIMIT + 0.6, color="black", linestyle="--", linewidth=1.2)
    ax.text(100 * LIMIT + 1.2, ax.get_ylim()[1] - 2.5, "over the limit →", fontsize=9)
    ax.set_xlabel("broken down, % of the trip")
    ax.set_ylabel("fast, % of the trip")
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    pyplot.savefig("keep_the_budget.png", dpi=110)
    return failures


if __name__ == "__main__":
    main("--quick" in sys.argv)
