"""Exploring evenly in a space of 10¹² cells: what does an iteration cost, and how much
memory?

    python examples/a_trillion_cells.py

A table of so many cells does not fit into any memory. A run of 60 steps meets 60 of
them: ``Hashed`` holds those, and forgets after each simulation what only that one met.
"""

from __future__ import annotations

import sys
import time

from matplotlib import pyplot

import gumdp

STEPS = 60


def step(x, action, u):
    """A step of 0.07 in one of four directions, with gusts of wind; the last number
    is how many cells a side has.
    """
    dx, dy = ((0.07, 0.0), (-0.07, 0.0), (0.0, 0.07), (0.0, -0.07))[action]
    return (
        (x[0] + dx + 0.02 * (u[0] - 0.5)) % 1.0,
        (x[1] + dy + 0.02 * (u[1] - 0.5)) % 1.0,
        x[2],
    )


def cell(x):
    """The cells are small squares, numbered row by row."""
    return int(x[0] * x[2]) * int(x[2]) + int(x[1] * x[2])


def wanderer(side: int) -> gumdp.Problem:
    """A walk on a square of side × side cells."""
    model = gumdp.Simulator(
        step, (0.5, 0.5, float(side)), lambda x: 0, cells=1, actions=4
    )
    return gumdp.Problem(
        model,
        gumdp.StateEntropy(),
        discount=1.0,
        horizon=STEPS,
        counts=gumdp.Hashed(cell),
    )


def main(quick: bool = False) -> dict[int, tuple[float, float]]:
    iterations, found = 200 if quick else 1000, {}
    for power in (3, 12) if quick else (3, 6, 9, 12):
        problem = wanderer(round(10 ** (power / 2)))
        planner = gumdp.MCTS.paper(iterations)
        gumdp.evaluate(problem, planner, trials=1, workers=1)  # compiled
        began = time.perf_counter()
        gumdp.evaluate(problem, planner, trials=1, workers=1)
        microseconds = (time.perf_counter() - began) / (iterations * STEPS) * 1e6
        running = problem.running()
        kilobytes = (
            sum(
                array.nbytes for array in (running.d, running.root, *running.counts[5:])
            )
            / 1024
        )
        found[power] = microseconds, kilobytes
        print(
            f"10^{power:<2} cells: {microseconds:.2f} µs per iteration, "
            f"{kilobytes:.0f} KB"
        )
    _, ax = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
    ax.plot(
        list(found),
        [time for time, _ in found.values()],
        "o-",
        color="#0072B2",
        label="µs per iteration",
    )
    ax.plot(
        list(found),
        [size / 10 for _, size in found.values()],
        "s--",
        color="#D55E00",
        label="memory, in 10 KB",
    )
    ax.set_xticks(list(found), [f"$10^{{{power}}}$" for power in found])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("cells")
    ax.legend(frameon=False, fontsize=9)
    pyplot.savefig("a_trillion_cells.png", dpi=110)
    return found


if __name__ == "__main__":
    main("--quick" in sys.argv)
