"""A shop needs to make its target this season. Does it help to plan for that rather
than for the mean?

    python examples/meet_a_sales_target.py

Each week it orders, or not, and may advertise: that costs money, and brings either a
crowd or nobody more than usual. The objective is the probability of missing the target,
which is neither convex nor smooth. When the season goes badly, a gamble is what is
left; when it goes well, it should be avoided. A plan for the mean does neither.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from matplotlib import pyplot

import gumdp

WEEKS, ROOM = 8, 8
PRICE, COST, HOLDING, ADVERTISING = 1.0, 0.4, 0.05, 1.6
ACTIONS = ("wait", "order 4", "order 4, advertise")


def demand(advertise: bool) -> np.ndarray:
    """The probability of k customers, k = 0 … ROOM; advertising brings a crowd in
    one week of three.
    """

    def poisson(rate: float) -> np.ndarray:
        chances = np.array(
            [math.exp(-rate) * rate**k / math.factorial(k) for k in range(ROOM)]
        )
        return np.append(chances, 1.0 - chances.sum())

    return 2 / 3 * poisson(2.0) + 1 / 3 * poisson(8.0) if advertise else poisson(2.0)


def shop() -> tuple[gumdp.Tabular, np.ndarray]:
    """The model, with states (stock, sold the week before), and the profit [S, A]."""
    states = [(stock, sold) for stock in range(ROOM + 1) for sold in range(ROOM + 1)]
    number = {state: k for k, state in enumerate(states)}
    table, profit = np.zeros((len(states), 3, len(states))), np.zeros((len(states), 3))
    for k, (stock, sold) in enumerate(states):
        for a in range(3):
            shelf = min(ROOM, stock + (4 if a else 0))
            profit[k, a] = (
                PRICE * sold
                - COST * (shelf - stock)
                - HOLDING * stock
                - ADVERTISING * (a == 2)
            )
            for customers, chance in enumerate(demand(a == 2)):
                bought = min(shelf, customers)
                table[k, a, number[shelf - bought, bought]] += chance
    names = [f"{stock} in stock, {sold} sold" for stock, sold in states]
    return gumdp.Tabular(
        table, number[4, 0], state_names=names, action_names=ACTIONS
    ), profit


def main(quick: bool = False) -> dict[str, float]:
    model, profit = shop()
    mean = gumdp.solve_infinite(
        gumdp.Problem(model, gumdp.Linear(-profit), discount=1.0, horizon=WEEKS)
    )
    goal = 1.2 * -mean.value * WEEKS  # more than can be expected
    problem = gumdp.Problem(
        model, gumdp.Target(-profit, budget=-goal / WEEKS), discount=1.0, horizon=WEEKS
    )
    planners = {
        "for the mean": mean.planner,
        "for the target": gumdp.MCTS(
            iterations=500 if quick else 2000, rollout=mean.policy
        ),
    }
    _, ax = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    missed = {}
    for k, (name, planner) in enumerate(planners.items()):
        runs = [
            gumdp.run_trial(problem, planner, seed=0, trial=t)
            for t in range(300 if quick else 1000)
        ]
        made = np.array([WEEKS * (profit * run.occupancy).sum() for run in runs])
        missed[name] = float(np.mean([run.value for run in runs]))
        share = f"made in {100 * (1 - missed[name]):.0f} % of the seasons"
        print(f"planned {name:15} target {share}, mean profit {made.mean():.2f}")
        label = f"planned {name}: {share}"
        look = {
            "color": ["#D55E00", "#0072B2"][k],
            "histtype": ["step", "stepfilled"][k],
            "alpha": [1.0, 0.45][k],
        }
        ax.hist(
            made,
            bins=np.arange(goal - 14, goal + 10, 1.0),
            label=label,
            linewidth=2,
            **look,
        )
    ax.axvline(goal, color="black", linestyle="--", linewidth=1.2)
    ax.text(goal + 0.4, 0.93 * ax.get_ylim()[1], "target made →", fontsize=9)
    ax.set_xlabel("profit of the season")
    ax.set_ylabel("seasons")
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    pyplot.savefig("meet_a_sales_target.png", dpi=110)
    return missed


if __name__ == "__main__":
    main("--quick" in sys.argv)
