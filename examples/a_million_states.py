"""Does a decision take longer in a larger world?

    python examples/a_million_states.py

A watchman on grids from a hundred squares to a million: the search keeps one running
occupancy and a tree of counts, so that the time of a decision depends on how far it
looks ahead, and not on how large the world is.
"""

from __future__ import annotations

import sys

from matplotlib import pyplot

import gumdp

STEPS, ITERATIONS = 200, 200


def main(quick: bool = False) -> dict[int, float]:
    sides = (10, 100) if quick else (10, 32, 100, 316, 1000)
    seconds = {}
    for side in sides:
        problem = gumdp.zoo.load(
            "patrol", rows=side, columns=side, slip=0.1, horizon=STEPS
        )
        policy = gumdp.MCTS(iterations=ITERATIONS).start(problem, seed=0)
        state = int(problem.model.start_states[0])
        policy.act(state)  # the first decision compiles, and touches the memory
        times = []
        for _ in range(20):
            decision = policy.act(state)
            times.append(decision.seconds)
            state = int(problem.model.row(state, decision.action)[0][0])
        # the least is what the machine does undisturbed
        seconds[side * side] = min(times)
        least = 1000 * seconds[side * side]
        print(f"{side * side:9,} states: {least:.2f} ms per decision")
    _, ax = pyplot.subplots(figsize=(5.6, 3.4), layout="constrained")
    ax.semilogx(
        list(seconds), [1000 * s for s in seconds.values()], "o-", color="#0072B2"
    )
    ax.set_ylim(0.0, 2000 * max(seconds.values()))
    ax.set_xticks(list(seconds), [f"{states:,}" for states in seconds])
    ax.minorticks_off()
    ax.set_xlabel("states of the world")
    ax.set_ylabel(
        f"milliseconds for a decision\n({ITERATIONS} iterations, {STEPS} steps)"
    )
    ax.grid(color="#d8d8d8", linewidth=0.6)
    pyplot.savefig("a_million_states.png", dpi=110)
    return seconds


if __name__ == "__main__":
    main("--quick" in sys.argv)
