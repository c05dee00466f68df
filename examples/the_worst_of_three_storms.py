"""Three storms are possible, and only one crew: where should it be, so that the worst
storm is not too bad?

    python examples/the_worst_of_three_storms.py

A crew drives between three districts; roads are blocked now and then. Each storm does
its damage in the time that the crew is elsewhere, in each district as much as the storm
hits it. Which storm it was is known only afterwards: the season is as bad as the worst
of them would have found it.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

# [storm, district]
HITS = np.array([[1.0, 0.2, 0.2], [0.3, 0.9, 0.2], [0.1, 0.3, 1.1]])
SEASON = 40


def region() -> gumdp.Tabular:
    """A crew in one of three districts; a drive succeeds with probability 0.7."""
    drive = np.zeros((3, 3, 3))
    for here, there in np.ndindex(3, 3):
        drive[here, there, here] += 0.3
        drive[here, there, there] += 0.7
    names = ["coast", "valley", "hills"]
    return gumdp.Tabular(
        drive, 0, state_names=names, action_names=[f"to the {name}" for name in names]
    )


def main(quick: bool = False) -> dict[str, float]:
    # of each storm, while the crew is in each district
    damage = HITS.sum(axis=1, keepdims=True) - HITS
    costs = np.repeat(damage[:, :, None], 3, axis=2)
    problem = gumdp.Problem(
        region(), gumdp.WorstCase(costs), discount=1.0, horizon=SEASON
    )
    average = gumdp.solve_infinite(problem)
    planners = {
        "at random": gumdp.Random(),
        "best on average": average.planner,
        "planned for this season": gumdp.MCTS(iterations=100 if quick else 400),
    }
    trials = 40 if quick else 300
    seasons = {
        name: gumdp.evaluate(problem, planner, trials=trials, seed=0)
        for name, planner in planners.items()
    }
    ax = gumdp.plot.comparison(
        seasons, levels={"no plan has a lower mean": average.value - average.gap}
    )
    ax.set_xlabel("damage of the worst storm\none dot a season, diamonds are means")
    pyplot.savefig("the_worst_of_three_storms.png", dpi=110)
    for name, season in seasons.items():
        print(f"{name:24} {season.mean:.4f} ± {season.standard_error:.4f}")
    print(f"{'at least':24} {average.value - average.gap:.4f}")
    return {
        **{name: season.mean for name, season in seasons.items()},
        "bound": average.value - average.gap,
    }


if __name__ == "__main__":
    main("--quick" in sys.argv)
