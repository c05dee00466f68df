"""One of three maps is right, and there is one walk. Is it worth going out of one's way
to find out which?

    python examples/which_of_three_maps.py

A hut can be reached by two bridges. In each of three maps other bridges stand; a sign
at the fork tells, but reading it takes a step. Every step outside the hut costs 1, and
who crosses a bridge that is not there is wet for good.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

FORK, SIGNS, HUT, WET = 0, (1, 2, 3), 4, 5
LEFT, RIGHT, WADE, READ = range(4)
STEPS = 6
MAPS = {"only the left bridge": (LEFT,), "only the right bridge": (RIGHT,), "none": ()}


def table(sign: int, bridges: tuple[int, ...]) -> gumdp.Tabular:
    """One map. Wading through the river gets there once in four times, and else
    nowhere.
    """
    to = np.zeros((6, 4, 6))
    for place in (FORK, *SIGNS):
        for bridge in (LEFT, RIGHT):
            to[place, bridge, HUT if bridge in bridges else WET] = 1.0
        to[place, WADE, HUT], to[place, WADE, place] = 0.25, 0.75
        to[place, READ, SIGNS[sign] if place == FORK else place] = 1.0
    to[HUT, :, HUT] = to[WET, :, WET] = 1.0
    names = ["the fork", *(f"the sign says {name}" for name in MAPS), "the hut", "wet"]
    return gumdp.Tabular(
        to, state_names=names, action_names=["left", "right", "wade", "read"]
    )


def main(quick: bool = False) -> dict[str, float]:
    belief = gumdp.Belief.of(
        [table(k, bridges) for k, bridges in enumerate(MAPS.values())],
        [0.45, 0.45, 0.1],
    )
    costs = np.zeros((6, 4))
    costs[[FORK, *SIGNS]], costs[WET] = STEPS, 2 * STEPS
    problem = gumdp.Problem(belief, gumdp.Linear(costs), discount=1.0, horizon=STEPS)
    search, trials = gumdp.MCTS(iterations=300 if quick else 2000), 60 if quick else 400
    results = {
        "planning to learn": gumdp.evaluate(problem, search, trials),
        "as if the mean were the map": gumdp.evaluate(
            problem, gumdp.CertaintyEquivalent(search), trials
        ),
        "as if one map were right": gumdp.evaluate(
            problem, gumdp.Thompson(search), trials
        ),
    }
    best = gumdp.solve_exact(problem).value
    for name, result in results.items():
        print(f"{name}: cost {result.mean:.2f}")
    print(f"the best possible: cost {best:.2f}")
    ax = gumdp.plot.comparison(results)
    ax.axvline(best, color="black", linestyle=":", linewidth=1)
    pyplot.savefig("which_of_three_maps.png", dpi=110, bbox_inches="tight")
    return {
        "the best possible": best,
        **{name: result.mean for name, result in results.items()},
    }


if __name__ == "__main__":
    main("--quick" in sys.argv)
