"""How much of a building does a robot see on one battery, and how evenly?

    python examples/cover_a_building.py

The robot has 150 steps in it and should spend them evenly over the floor. A wheel slips
in one step of ten. The policy that is best on average knows nothing of where it has
been tonight; the plan for this run does.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

PLAN = """\
..........
.####.###.
.#..#...#.
.#......#.
.#..#.#.#.
.####.#.#.
......#...
"""
BATTERY = 150
WAYS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


def building() -> tuple[gumdp.Tabular, np.ndarray]:
    """The model, and which of its squares are floor. Walls are states that nothing
    leads to.
    """
    floor = np.array([[square == "." for square in line] for line in PLAN.splitlines()])
    rows, columns = floor.shape
    table = np.zeros((rows * columns, 4, rows * columns))
    for row, column in np.ndindex(rows, columns):
        for a, (down, right) in enumerate(WAYS.values()):
            r, c = row + down, column + right
            free = 0 <= r < rows and 0 <= c < columns and floor[r, c]
            here, there = (
                row * columns + column,
                (r * columns + c if free else row * columns + column),
            )
            table[here, a, here] += 0.1
            table[here, a, there] += 0.9
    return gumdp.Tabular(table, 0, grid=(rows, columns), action_names=list(WAYS)), floor


def main(quick: bool = False) -> dict[str, float]:
    model, floor = building()
    problem = gumdp.Problem(model, gumdp.StateEntropy(), discount=1.0, horizon=BATTERY)
    planners = {
        "at random": gumdp.Random(),
        "best on average": gumdp.BestOnAverage(),
        "planned for this run": gumdp.MCTS(iterations=20 if quick else 400),
    }
    trials = {
        name: gumdp.run_trial(problem, planner, seed=0)
        for name, planner in planners.items()
    }
    _, row = pyplot.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    seen = {}
    for ax, (name, trial) in zip(row, trials.items(), strict=True):
        time = trial.occupancy.sum(axis=1).reshape(floor.shape)
        seen[name] = float((time[floor] > 0).mean())
        gumdp.plot.occupancy(model, trial.occupancy, ax, largest=0.06, colorbar=False)
        for r, c in np.argwhere(~floor):
            ax.fill([c, c + 1, c + 1, c], [r, r, r + 1, r + 1], color="#555555")
        ax.set_title(f"{name}: {100 * seen[name]:.0f} % of the floor seen", fontsize=10)
        print(
            f"{name:22} {100 * seen[name]:5.1f} % of the floor, cost {trial.value:.3f}"
        )
    row[1].set_xlabel(f"share of the {BATTERY} steps in each square, %")
    pyplot.savefig("cover_a_building.png", dpi=110)
    return seen


if __name__ == "__main__":
    main("--quick" in sys.argv)
