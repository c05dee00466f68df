"""What learning in simulations costs: iterations per second on a belief, against the known table."""

from __future__ import annotations

from typing import Any

import numpy as np

import gumdp
from benchmarks.search import Bench
from benchmarks.timing import best
from gumdp.models.tabular import Tabular

ITERATIONS = 4000
PROBLEMS = {"m1-entropy": {}, "frozenlake-entropy": {}, "patrol": {"rows": 6, "columns": 6}, "taxi-entropy": {}}
OPTIONS: dict[str, Any] = {"randomness": 0.3, "reuse": True, "exploration": 2.0, "control_variate": False}  # no tuning


def neighbours(table: Tabular) -> np.ndarray:
    """Which states can follow which, whatever the action, and each itself."""
    support: np.ndarray = (table.dense().sum(axis=1) > 0.0) | np.eye(table.shape[0], dtype=bool)
    return support


def beliefs(table: Tabular) -> dict[str, Any]:
    """Beliefs about one table, from the nearest to it to one that knows little."""
    return {
        "around the table": gumdp.Belief.around(table, strength=20.0),
        "neighbours": _vague(table),
        "one of three": gumdp.Belief.of([table, *(gumdp.Belief.around(table, 20.0).draw(k) for k in range(2))]),
        "the table that is the mean of neighbours": _vague(table).mean,  # as known as the first, as hard to foresee
    }


def _vague(table: Tabular) -> Any:
    return gumdp.Belief(*table.shape, prior=0.5, start=table.start, support=neighbours(table))


def against_table(name: str, repeats: int) -> dict[str, Any]:
    """Iterations a second of a decision at the root, greedy and uniform rollouts, as a share of those on the table."""
    problem = gumdp.zoo.load(name, **PROBLEMS[name])
    row: dict[str, Any] = {"problem": name}
    for word, planner in (
        ("greedy", gumdp.MCTS(ITERATIONS, rollout="greedy", **OPTIONS)),
        ("paper", gumdp.MCTS.paper(ITERATIONS)),
    ):
        models = {"table": problem.model, **beliefs(problem.model)}
        benches = {
            kind: Bench(gumdp.Problem(model, problem.objective, problem.discount, problem.horizon), planner)
            for kind, model in models.items()
        }
        times = best({kind: bench.at_root for kind, bench in benches.items()}, repeats)
        row[word] = {kind: round(times["table"] / seconds, 2) for kind, seconds in times.items()}
        row[word]["µs an iteration on the table"] = round(times["table"] / ITERATIONS * 1e6, 2)
    return row


def measure(repeats: int = 25) -> list[dict[str, Any]]:
    """Iterations a second on beliefs, as a share of those on the table."""
    return [against_table(name, repeats) for name in PROBLEMS]


if __name__ == "__main__":
    for line in measure():
        print(line)
