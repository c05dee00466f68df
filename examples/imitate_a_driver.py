"""Can one run be spent as a good driver spends hers, on average over many?

    python examples/imitate_a_driver.py

The driver of MountainCar swings back to gain speed, then drives up; her occupancy of
the phase plane is known. One run of ours should be as close to it as possible, in
squared distance. The dynamics are continuous, only the occupancy is counted in bins.
"""

from __future__ import annotations

import sys

from matplotlib import pyplot

import gumdp
from gumdp.zoo import targets


def main(quick: bool = False) -> dict[str, float]:
    problem = gumdp.zoo.load("mountaincar-imitation")
    runs = {
        "one run at random": gumdp.run_trial(problem, gumdp.Random(), seed=0),
        "one run, planned": gumdp.run_trial(
            problem, gumdp.MCTS(iterations=10 if quick else 200), seed=0
        ),
    }
    pictures = {
        "the driver, on average": targets.target("mountaincar", "same-discount")
    }
    pictures |= {
        f"{name}\ndistance {run.value:.3f}": run.occupancy for name, run in runs.items()
    }
    _, row = pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained", sharey=True)
    for k, (ax, (name, occupancy)) in enumerate(
        zip(row, pictures.items(), strict=True)
    ):
        gumdp.plot.occupancy(problem, occupancy, ax, largest=0.4, colorbar=k == 2)
        ax.set_title(name, fontsize=11)
        ax.set_xticks([-1.0, -0.5, 0.0, 0.5])
        if k:
            ax.set_ylabel("")
    pyplot.savefig("imitate_a_driver.png", dpi=110)
    for name, run in runs.items():
        print(f"{name:18} distance {run.value:.4f}")
    return {name: run.value for name, run in runs.items()}


if __name__ == "__main__":
    main("--quick" in sys.argv)
