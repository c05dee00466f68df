"""How much of a building does a robot see on one battery, if nobody gave it a map?

    python examples/explore_an_unknown_building.py

There are walls between some rooms, and the floor is slippery. The robot knows only that
a step leads to one of the neighbouring rooms or nowhere. What it learns while it goes
is all that it will ever know.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp

SIDE, BATTERY = 6, 150
WAYS = ((-1, 0), (0, 1), (1, 0), (0, -1))
WALLS = {
    frozenset(w)
    for w in [
        (2, 3),
        (8, 9),
        (14, 15),
        (18, 24),
        (19, 25),
        (20, 26),
        (27, 28),
        (33, 34),
    ]
}


def building() -> gumdp.Tabular:
    """The true building: a step goes where it should in 8 of 10 cases, else to a
    side; walls stop it.
    """
    to = np.zeros((SIDE * SIDE, 4, SIDE * SIDE))
    for room in range(SIDE * SIDE):
        for a in range(4):
            for turn, p in ((0, 0.8), (1, 0.1), (3, 0.1)):
                row, column = divmod(room, SIDE)
                row, column = (
                    row + WAYS[(a + turn) % 4][0],
                    column + WAYS[(a + turn) % 4][1],
                )
                inside = 0 <= row < SIDE and 0 <= column < SIDE
                after = row * SIDE + column if inside else room
                to[room, a, room if frozenset((room, after)) in WALLS else after] += p
    return gumdp.Tabular(to, grid=(SIDE, SIDE))


def unknown() -> gumdp.Belief:
    """What the robot knows: which rooms are neighbours."""
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    near = np.abs(row[:, None] - row) + np.abs(column[:, None] - column) <= 1
    return gumdp.Belief(SIDE * SIDE, 4, prior=0.3, support=near, grid=(SIDE, SIDE))


def main(quick: bool = False) -> dict[str, float]:
    world, objective = building(), gumdp.normalized(gumdp.StateEntropy())
    problem = gumdp.Problem(unknown(), objective, discount=1.0, horizon=BATTERY)
    search, trials = gumdp.MCTS(iterations=100 if quick else 500), 8 if quick else 40
    costs = {
        "at random": gumdp.evaluate(problem, gumdp.Random(), trials, world=world).mean,
        "planning to learn": gumdp.evaluate(problem, search, trials, world=world).mean,
        "with the map": gumdp.evaluate(
            gumdp.Problem(world, objective, 1.0, BATTERY), search, trials
        ).mean,
    }
    for name, cost in costs.items():
        print(f"{name}: unevenness {cost:.3f}")
    trial = gumdp.run_trial(problem, search, seed=0, world=world)
    draw(problem, trial)
    pyplot.savefig("explore_an_unknown_building.png", dpi=110)
    return costs


def draw(problem: gumdp.Problem, trial: gumdp.Trial) -> None:
    """What is not known yet in each room, on the way, and where the run went."""
    _, row = pyplot.subplots(1, 4, figsize=(12.0, 3.6), layout="constrained")
    stages, maps = (0, 30, BATTERY - 1), []
    for steps in stages:
        way = trial.states[: steps + 1]
        belief = problem.model.after(way[:-1], trial.actions[:steps], way[1:])
        maps.append(belief.uncertainty().mean(axis=1).reshape(SIDE, SIDE))
    least, most = np.min(maps), np.max(maps)
    for ax, steps, unknown_part in zip(row, stages, maps, strict=False):
        ax.imshow(unknown_part, cmap="YlOrBr", vmin=least, vmax=most)
        ax.set_title(f"dark: not known, after {steps} steps", fontsize=11)
        ax.set_xticks([])
        ax.set_yticks([])
    gumdp.plot.occupancy(problem, trial.occupancy, row[3], colorbar=False)
    row[3].set_title("where the run went, % of the time", fontsize=11)


if __name__ == "__main__":
    main("--quick" in sys.argv)
