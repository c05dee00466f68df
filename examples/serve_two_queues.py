"""One server, two queues, one day: how unfair does it get?

    python examples/serve_two_queues.py

A minute in the first queue counts twice. The day is as bad as the worse-off queue finds
it. Serving the longer queue is the rule that people would use; the policy that is best
on average is fair over many days; the plan for this day is fair today.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp


def main(quick: bool = False) -> dict[str, float]:
    problem = gumdp.zoo.load("queue-fairness")
    first, second = np.divmod(np.arange(problem.shape[0]), 9)
    longer = np.eye(2)[(second > first).astype(int)]
    planners = {
        "at random": gumdp.Random(),
        "the longer queue first": gumdp.Stationary(longer),
        "best on average": gumdp.BestOnAverage(),
        "planned for this day": gumdp.MCTS(iterations=500),
    }
    trials = 100 if quick else 400
    days = {
        name: gumdp.evaluate(problem, planner, trials=trials, seed=0)
        for name, planner in planners.items()
    }
    ax = gumdp.plot.comparison(days)
    ax.set_xlabel(
        "waiting in the worse-off queue (less is better)\n"
        "one dot a day, diamonds are means"
    )
    pyplot.savefig("serve_two_queues.png", dpi=110)
    for name, day in days.items():
        print(
            f"{name:24} {day.mean:.4f} ± {day.standard_error:.4f}, "
            f"the worst tenth of the days {day.cvar(0.9):.4f}"
        )
    return {name: day.mean for name, day in days.items()}


if __name__ == "__main__":
    main("--quick" in sys.argv)
