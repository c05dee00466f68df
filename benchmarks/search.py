"""How close a search comes to the bare rollouts that it contains, and how far it is from plain Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gumdp
from benchmarks.limit import bare, bare_both, in_c, rows_of, start_of
from benchmarks.timing import best
from gumdp.counts.running import new_running
from gumdp.jit.cells import cells
from gumdp.jit.record import copied, kernel, u64
from gumdp.policies.play import Itself, Trial, play
from gumdp.search.budget import Budget
from gumdp.search.loop import Task, search
from gumdp.search.policy import Searcher
from gumdp.search.tree import clear

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs" / "guide"))

ITERATIONS = 4000
PROBLEMS = ("m1-entropy", "frozenlake-entropy", "taxi-entropy", "mountaincar-entropy")


@kernel
def search_both(setup, trials, root, iterations, rngs, stop):
    """A decision of two searches side by side, both at the first step in ``root``."""
    tasks = cells((Task(root, u64(rngs[0]), np.int64(iterations)), Task(root, u64(rngs[1]), np.int64(iterations))))
    return search(setup, cells(trials), tasks, 2, u64(0), stop)


class Bench:
    """One planner on one problem, ready to be timed."""

    def __init__(self, problem: Any, planner: Any) -> None:
        self.problem, self.iterations = problem, planner.iterations
        self.rows = rows_of(problem.model)
        self.searcher = Searcher(planner, problem, Budget.of(planner, problem))
        self.running = new_running(problem.record, problem.shape, problem.steps)
        self.sides = tuple(Trial(copied(self.searcher.decider()), problem.running()) for _ in range(2))
        self.stop = np.zeros(1, np.uint8)
        self.start = start_of(problem)

    def at_root(self) -> None:
        """One decision at the first step."""
        searcher = self.searcher
        clear(searcher.tree)
        searcher.rng = np.uint64(7)
        searcher.run(self.running, self.start, 0, self.iterations, self.stop)

    def whole_trial(self) -> None:
        """A whole trial."""
        setup, seeds = self.searcher.setup, np.array([[1, 2]], np.uint64)
        play(setup, Itself(setup.model), self.sides, 1, seeds, np.zeros(1), self.stop)

    def two_trials(self) -> None:
        """Two trials, side by side."""
        setup, seeds = self.searcher.setup, np.array([[1, 2], [3, 4]], np.uint64)
        play(setup, Itself(setup.model), self.sides, 2, seeds, np.zeros(2), self.stop)

    def bare_root(self) -> None:
        """The rollouts of ``at_root``, bare."""
        bare(self.rows, self.start, self.iterations, np.uint64(self.problem.steps), np.uint64(7))

    def bare_root_both(self) -> None:
        """The same, two side by side."""
        bare_both(self.rows, self.start, self.iterations, np.uint64(self.problem.steps), np.uint64(7))

    def two_roots(self) -> None:
        """Two decisions at the first step, side by side."""
        for side in self.sides:
            clear(side.decider.tree)
        rngs = np.array([7, 11], np.uint64)
        search_both(self.searcher.setup, self.sides, self.start, self.iterations, rngs, self.stop)

    def bare_trial(self) -> None:
        """The rollouts of ``whole_trial``, bare."""
        for left in range(self.problem.steps, 0, -1):
            bare(self.rows, self.start, self.iterations, np.uint64(left), np.uint64(7))


def against_limit(name: str, repeats: int) -> dict[str, Any]:
    """The paper's search and ours at the root and over a trial, with the limit taken in the same rounds."""
    problem = gumdp.zoo.load(name)
    paper, ours = Bench(problem, gumdp.MCTS.paper(ITERATIONS)), Bench(problem, gumdp.MCTS(ITERATIONS))
    root = {"paper": paper.at_root, "ours": ours.at_root, "bare": paper.bare_root, "both": paper.bare_root_both}
    trials = {"paper": paper.whole_trial, "two": paper.two_trials, "ours": ours.whole_trial, "bare": paper.bare_trial}
    if isinstance(problem.model, gumdp.Tabular) and (c := in_c(paper.rows)):
        start = int(paper.start)
        root["C"] = lambda: c(start, ITERATIONS, problem.steps, 7)
        trials["C"] = lambda: [c(start, ITERATIONS, left, 7) for left in range(problem.steps, 0, -1)]
    times, trial = best(root, repeats), best(trials, max(2, repeats // 5))
    row: dict[str, Any] = {
        "problem": name,
        "us_an_iteration": times["paper"] / ITERATIONS * 1e6,
        "bare_us": times["bare"] / ITERATIONS * 1e6,
        "bare_ns_a_step": times["bare"] / ITERATIONS / problem.steps * 1e9,
        "ratio_root": times["paper"] / times["bare"],
        "ratio_bare_both": times["both"] / times["bare"],
        "trial_seconds": trial["paper"],
        "ratio_trial": trial["paper"] / trial["bare"],
        "ratio_two_trials": trial["two"] / 2.0 / trial["bare"],
        "ours_us_an_iteration": times["ours"] / ITERATIONS * 1e6,
        "ours_to_paper_root": times["ours"] / times["paper"],
        "ours_to_paper_trial": trial["ours"] / trial["paper"],
    }
    if "C" in times:
        row["c_us"] = times["C"] / ITERATIONS * 1e6
        row["ratio_root_to_c"] = times["paper"] / times["C"]
        row["ratio_two_trials_to_c"] = trial["two"] / 2.0 / trial["C"]
    return row


def against_python(name: str, repeats: int) -> dict[str, Any]:
    """Iterations a second against the plain-Python search of the guide, at the root."""
    from uct_from_scratch import UCT

    problem, few = gumdp.zoo.load(name), 40
    bench, plain = Bench(problem, gumdp.MCTS.paper(ITERATIONS)), UCT(few).start(problem, seed=0)
    times = best({"compiled": bench.at_root, "python": lambda: plain.decide(bench.start)}, max(3, repeats // 5))
    compiled, python = times["compiled"] / ITERATIONS, times["python"] / few
    return {"problem": name, "python_us": python * 1e6, "compiled_us": compiled * 1e6, "ratio": python / compiled}
