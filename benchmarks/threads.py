"""Two threads: on different trials, and on one decision."""

from __future__ import annotations

from typing import Any

import gumdp
from benchmarks.timing import best


def scaling(name: str = "frozenlake-entropy", repeats: int = 3) -> dict[str, Any]:
    """How much faster two threads are than one."""
    problem = gumdp.zoo.load(name)
    planner = gumdp.MCTS.paper(4000)
    trials = best({str(w): lambda w=w: gumdp.evaluate(problem, planner, trials=4, workers=w) for w in (1, 2)}, repeats)
    state = 0

    def decide(threads: int, iterations: int) -> float:
        policy = gumdp.MCTS.paper(iterations, threads=threads).start(problem)
        decision = policy.act(state)
        return decision.iterations / decision.seconds

    for threads in (1, 2):
        decide(threads, 1000)
    rates = {threads: max(decide(threads, 200_000) for _ in range(repeats)) for threads in (1, 2)}
    return {
        "problem": name,
        "trials_speedup": trials["1"] / trials["2"],
        "root_parallel_speedup": rates[2] / rates[1],
    }
