"""Draw the pictures of the documentation: ``python docs/figures.py [NAME …]``, all of them without a name.

Each is drawn a second time for phones (``docs/narrow.py``). The pictures of snippets are made by ``docs/snippets.py``.
"""

from __future__ import annotations

import contextlib
import functools
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from narrow import also_narrow

import gumdp
from gumdp.zoo import theory

IMAGES = Path(__file__).parent / "images"


def one_run() -> None:
    """The same patrol, once each: by chance, by the policy that is best on average, and planned for this run."""
    problem = gumdp.zoo.load("patrol", rows=8, columns=8, slip=0.1, horizon=128)
    planners = {
        "at random": gumdp.Random(),
        "the policy that is best on average": gumdp.BestOnAverage(),
        "planned for this run": gumdp.MCTS(iterations=400),
    }
    trials = {
        name: gumdp.run_trial(problem, planner, seed=1)
        for name, planner in planners.items()
    }
    largest = max(
        trial.occupancy.sum(axis=1).max() for trial in list(trials.values())[1:]
    )
    _, row = pyplot.subplots(1, 3, figsize=(10.2, 4.4), layout="constrained")
    for ax, (name, trial) in zip(row, trials.items(), strict=True):
        gumdp.plot.occupancy(
            problem, trial.occupancy, ax, largest=largest, colorbar=False
        )
        seen = int((trial.occupancy.sum(axis=1) > 0).sum())
        mean = gumdp.evaluate(problem, planners[name], trials=100, seed=0).mean
        ax.set_title(name, fontsize=12, weight="bold")
        ax.set_xlabel(
            f"{seen} of 64 squares seen, cost {trial.value:.2f}\n(mean of 100 runs {mean:.2f})",
            fontsize=11,
        )
    save("one-run")


def memory() -> None:
    """The coin-flip example: the distribution of the cost under three kinds of policy."""
    problem = theory.theorem1(horizon=200)
    planners = {
        "stationary\n(a coin each time)": theory.stationary_planner(),
        "Markov\n(looks at the clock)": theory.markov_planner(problem),
        "remembers\nhow it began": theory.nonmarkov_planner(),
    }
    results = {
        name: gumdp.evaluate(problem, planner, trials=400, seed=0)
        for name, planner in planners.items()
    }
    gumdp.plot.comparison(results)
    save("memory")


def search() -> None:
    """What a search looked at before its first step."""
    problem = gumdp.zoo.load("m1-entropy")
    decision = gumdp.MCTS(iterations=2000, keep_tree=True).start(problem, seed=0).act(0)
    ax = gumdp.plot.tree(decision.tree, problem.model, depth=2)
    ax.set_title("")  # the page says it below
    ax.set_xlim(-0.2, 4.15)
    save("search")


def budget() -> None:
    """What more iterations buy, for the paper's search and for ours: a world of many states, and one of three."""
    taxi, three = (
        gumdp.zoo.load("taxi-entropy", horizon=100),
        gumdp.zoo.load("m1-entropy"),
    )
    _, row = pyplot.subplots(1, 2, figsize=(10.2, 3.9), layout="constrained")
    for ax, problem, trials, title in (
        (row[0], taxi, 20, "Taxi, 500 states: explore evenly"),
        (row[1], three, 200, "three states: explore evenly"),
    ):
        bound = gumdp.lower_bound(
            problem, ["distinct", "jensen-tree"][problem is three :], nodes=100_000
        ).value
        gumdp.plot.budget(
            budget_curves(problem, trials), ax, levels={"no policy is below": bound}
        )
        ax.set_ylim(bottom=bound - 0.06 * (ax.get_ylim()[1] - bound))
        ax.set_title(f"{title} ({trials} trials)", fontsize=11)
    row[1].set_ylabel("")
    save("budget")


def budget_curves(
    problem: gumdp.Problem, trials: int
) -> dict[str, dict[int, gumdp.Evaluation]]:
    """Evaluations of both searches by budget."""
    searches = {"the paper's search": gumdp.MCTS.paper, "ours": gumdp.MCTS}
    budgets = (3, 10, 30, 100, 300)
    return {
        name: {
            n: gumdp.evaluate(problem, make(iterations=n), trials=trials, seed=0)
            for n in budgets
        }
        for name, make in searches.items()
    }


def certificate() -> None:
    """A lower bound that rises as its tree grows, and the planner's value above."""
    problem = gumdp.zoo.load("m1-entropy")
    sizes = [1, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    bounds = [gumdp.lower_bound(problem, "jensen").value]
    bounds += [
        gumdp.lower_bound(problem, "jensen-tree", nodes=n, time_limit=600.0).value
        for n in sizes[1:]
    ]
    known = gumdp.lower_bound(problem, "jensen-tree", nodes=sizes[-1], time_limit=600.0)
    found = gumdp.certify(problem, gumdp.MCTS(iterations=400), trials=100, bound=known)
    _, ax = pyplot.subplots(figsize=(7.0, 3.9), layout="constrained")
    ax.fill_between(
        sizes, bounds, found.upper, color="#56B4E9", alpha=0.25, linewidth=0
    )
    ax.axhline(
        found.upper,
        color="#D55E00",
        label="the search costs at most this, with 99 % confidence (100 trials)",
    )
    ax.plot(
        sizes,
        bounds,
        color="#0072B2",
        marker="o",
        markersize=5,
        label="no policy costs less than this",
    )
    ax.annotate(f"gap {found.gap:.2g}", (sizes[-1], (found.upper + bounds[-1]) / 2), (-14, 0), ha="right", va="center",
                textcoords="offset points", arrowprops={"arrowstyle": "-"})  # fmt: skip
    ax.text(
        1.3,
        0.78 * found.upper,
        "the best possible policy is somewhere here",
        fontsize=10,
    )
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.12 * found.upper)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("histories that the bound looks at")
    ax.set_ylabel("mean cost of a trial")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    save("certificate")


def decomposition() -> None:
    """Prices that make the parts agree: the bound rises as they are found, from below Jensen's to near the search."""
    problem = gumdp.zoo.load("frozenlake-entropy")
    steps = [3, 10, 30, 100, 300]
    bounds = [
        gumdp.lower_bound(
            problem, "decomposition", nodes=20 * n, time_limit=900.0
        ).value
        for n in steps
    ]
    jensen = gumdp.lower_bound(problem, "jensen").value
    found = gumdp.evaluate(problem, gumdp.MCTS(iterations=400), trials=100, seed=0)
    _, ax = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")
    ax.axhline(
        found.mean,
        color="#D55E00",
        label="mean cost of the search, 400 iterations for each decision",
    )
    ax.plot(
        steps,
        bounds,
        color="#0072B2",
        marker="o",
        markersize=5,
        label="one part at a time: no policy costs less",
    )
    ax.axhline(
        jensen,
        color="0.4",
        linestyle="--",
        label="Jensen's bound: no policy costs less",
    )
    ax.set_xscale("log")
    ax.set_xticks(steps, [str(n) for n in steps])
    ax.minorticks_off()
    ax.set_ylim(0.0, 1.15 * found.mean)
    ax.set_xlabel("steps of the search for prices")
    ax.set_ylabel("mean cost of a trial")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    save("decomposition")


def save(name: str) -> None:
    """Write the picture that was drawn last."""
    pyplot.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})
    pyplot.close("all")


def example(path: Path) -> None:
    """The picture of an example, in full."""
    (IMAGES / "gallery").mkdir(exist_ok=True)
    with contextlib.chdir(IMAGES / "gallery"):
        try:
            runpy.run_path(str(path), run_name="example")["main"]()
        except ModuleNotFoundError as error:
            print(f"{path.stem}: the picture stays as it is: {error}")
        pyplot.close("all")


EXAMPLES = sorted((IMAGES.parents[1] / "examples").glob("*.py"))
PICTURES = {
    "one-run": one_run,
    "memory": memory,
    "search": search,
    "budget": budget,
    "certificate": certificate,
    "decomposition": decomposition,
    **{path.stem: functools.partial(example, path) for path in EXAMPLES},
}

if __name__ == "__main__":
    with also_narrow():
        for name in sys.argv[1:] or PICTURES:
            PICTURES[name]()
