"""Draw the pictures of the documentation: ``python docs/figures.py [NAME …]``, all of them without a name."""

from __future__ import annotations

import contextlib
import runpy
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot

import gumdp
from gumdp.zoo import theory

IMAGES = Path(__file__).parent / "images"


def one_run() -> None:
    """The same patrol, once each: by chance, by the policy that is best on average, and planned for this run."""
    problem = gumdp.zoo.load("patrol", rows=8, columns=8, slip=0.1, horizon=128)
    planners = {
        "at random": gumdp.Random(),
        "the policy that is best on average": gumdp.Solver(),
        "planned for this run": gumdp.MCTS(iterations=400),
    }
    trials = {name: gumdp.run_trial(problem, planner, seed=1) for name, planner in planners.items()}
    largest = max(trial.occupancy.sum(axis=1).max() for trial in list(trials.values())[1:])
    _, row = pyplot.subplots(1, 3, figsize=(10.2, 4.4), layout="constrained")
    for ax, (name, trial) in zip(row, trials.items(), strict=True):
        gumdp.plot.occupancy(problem, trial.occupancy, ax, largest=largest, colorbar=False)
        seen = int((trial.occupancy.sum(axis=1) > 0).sum())
        mean = gumdp.evaluate(problem, planners[name], trials=100, seed=0).mean
        ax.set_title(name, fontsize=12, weight="bold")
        ax.set_xlabel(f"{seen} of 64 squares seen, cost {trial.value:.2f}\n(mean of 100 runs {mean:.2f})", fontsize=11)
    save("one-run")


def memory() -> None:
    """The coin-flip example: the distribution of the cost under three kinds of policy."""
    problem = theory.theorem1(horizon=200)
    planners = {
        "stationary\n(a coin each time)": theory.stationary_planner(),
        "Markov\n(looks at the clock)": theory.markov_planner(problem),
        "remembers\nhow it began": theory.nonmarkov_planner(),
    }
    results = {name: gumdp.evaluate(problem, planner, trials=400, seed=0) for name, planner in planners.items()}
    gumdp.plot.comparison(results)
    save("memory")


def search() -> None:
    """What a search looked at before its first step."""
    problem = gumdp.zoo.load("m1-entropy")
    decision = gumdp.MCTS(iterations=2000, keep_tree=True).start(problem, seed=0).act(0)
    gumdp.plot.tree(decision.tree, problem.model, depth=2)
    save("search")


def budget() -> None:
    """What more iterations buy, for the paper's search and for ours."""
    problem = gumdp.zoo.load("taxi-entropy", horizon=100)
    budgets = (3, 10, 30, 100, 300)
    curves = {
        name: {n: gumdp.evaluate(problem, make(iterations=n), trials=20, seed=0) for n in budgets}
        for name, make in (("the paper's search", gumdp.MCTS.paper), ("ours", gumdp.MCTS))
    }
    # No run beats one that never does the same thing in the same place twice.
    best = np.zeros(problem.shape)
    best.ravel()[:100] = problem.weights
    random = gumdp.evaluate(problem, gumdp.Random(), trials=1000, seed=0)
    gumdp.plot.budget(curves, levels={"random": random.mean, "no run can be better": problem.value(best)})
    save("budget")


def save(name: str) -> None:
    """Write the picture that was drawn last."""
    pyplot.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})
    pyplot.close("all")


def gallery() -> None:
    """The pictures of the examples, in full."""
    (IMAGES / "gallery").mkdir(exist_ok=True)
    with contextlib.chdir(IMAGES / "gallery"):
        for path in sorted((IMAGES.parents[1] / "examples").glob("*.py")):
            runpy.run_path(str(path), run_name="example")["main"]()
            pyplot.close("all")


PICTURES = {"one-run": one_run, "memory": memory, "search": search, "budget": budget, "gallery": gallery}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
