"""A robot is switched off in the middle of its round. Does it go on as if nothing had
happened?

    python examples/switched_off_and_on.py

What the round has added up to, the search tree and the generator's state go to a file
of plain arrays; the next morning they are loaded again. The round is the same as
without the break, to the last bit.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot

import gumdp


def main(quick: bool = False) -> bool:
    problem = gumdp.zoo.load("patrol", rows=4, columns=5, horizon=20 if quick else 60)
    planner, half = gumdp.MCTS(iterations=50 if quick else 200), problem.steps // 2
    whole = gumdp.run_trial(problem, planner, seed=0)
    file = Path(tempfile.mkdtemp()) / "round.npz"

    evening = planner.start(problem, seed=0)
    first = [evening.act(state).action for state in whole.states[:half]]
    evening.save(file)
    morning = planner.start(problem).load(file)
    rest = [morning.act(state).action for state in whole.states[half:]]

    same = first + rest == whole.actions.tolist() and morning.worth() == whole.value
    what = "the same" if same else "another"
    print(
        f"switched off after {half} of {problem.steps} steps: "
        f"{what} round, value {whole.value:.6f}"
    )
    ax = gumdp.plot.trajectory(problem, whole)
    ax.axvline(half - 0.5, color="#D55E00", linewidth=1.6)
    ax.text(
        half, ax.get_ylim()[1], " off and on", color="#D55E00", fontsize=9, va="top"
    )
    ax.set_xticks(np.arange(0, problem.steps + 1, max(1, problem.steps // 6)))
    ax.figure.savefig("switched_off_and_on.png", dpi=110)
    return same


if __name__ == "__main__":
    pyplot.switch_backend("Agg")
    main("--quick" in sys.argv)
