"""Can some of these numbers add up to that? The hard case, solved by search and proved.

    python examples/solve_subset_sum.py

Subset sum hides in single-trial planning: each step includes a number or not, and the
cost is the squared distance of the sum from the target. A cost cannot be below 0, so
that a run that costs 0 proves itself the best. Where no subset fits, branch and bound
proves how close one can get: it rules out what bounds rule out, and tells choices apart
only by their sum so far.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib import pyplot

import gumdp
from gumdp.zoo import theory


def main(quick: bool = False) -> dict[str, float]:
    count, runs = (10, 20) if quick else (18, 100)
    numbers = (
        2 * np.random.default_rng(5).integers(5, 100, count)
    ).tolist()  # all even
    target = sum(numbers[::3])
    problem = theory.subset_sum(numbers, target, discount=1.0)
    planners = {
        "a coin for each": gumdp.Random(),
        "search, 30 iterations": gumdp.MCTS(iterations=30),
        "search, 1000 iterations": gumdp.MCTS(iterations=1000),
    }
    rows, answer = {}, {}
    for name, planner in planners.items():
        distance = np.sqrt(
            np.maximum(
                0.0, gumdp.evaluate(problem, planner, trials=runs, seed=0).values
            )
        ).round(6)
        answer[name] = float(np.median(distance))
        rows[f"{name}:\nexact in {(distance == 0).sum()} of {runs}"] = distance
    for kind, goal in (("even", target), ("odd", target + 1)):
        proof = gumdp.solve_exact(
            theory.subset_sum(numbers, goal, discount=1.0), method="branch-and-bound"
        )
        answer[kind] = round(proof.value, 6) ** 0.5
        print(
            f"{count} even numbers, target {goal}: {answer[kind]:.0f} away "
            f"is the best of {2**count:,} subsets,"
        )
        print(f"    proved by looking at {proof.sizes.sum():,} partial sums")
    ax = gumdp.plot.comparison(rows, levels={"proved best": answer["even"]})
    ax.set_xscale("symlog", linthresh=1.0)
    ax.set_xlim(left=-0.2)
    ax.set_xlabel(
        f"distance of the sum from {target}\none dot a run, diamonds are means"
    )
    ax.xaxis.set_major_formatter("{x:g}")
    pyplot.savefig("solve_subset_sum.png", dpi=110)
    for name in planners:
        print(f"{name:26} half of the runs are within {answer[name]:.0f} of {target}")
    return answer


if __name__ == "__main__":
    main("--quick" in sys.argv)
