"""There is no simulator, only a log. How much of it is needed to plan well?

    python examples/plan_from_a_log.py

Somebody walked over the frozen lake at random and wrote down every step. A table is
estimated from the first n steps of that log, plans are made in it, and carried out on
the real lake.
"""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot

import gumdp

HORIZON = 50


def walk(
    steps: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The log: states, actions, next states, and whether an episode ended."""
    env = gymnasium.make("FrozenLake-v1")
    rng = np.random.default_rng(seed)
    log, (state, _) = [], env.reset(seed=seed)
    for _ in range(steps):
        action = int(rng.integers(4))
        following, _, over, cut, _ = env.step(action)
        log.append((state, action, following, over))
        state = env.reset()[0] if over or cut else following
    states, actions, after, over = (
        np.array(column) for column in zip(*log, strict=True)
    )
    return states, actions, after, over


def main(quick: bool = False) -> dict[int, float]:
    sizes = (10, 3000) if quick else (10, 30, 100, 300, 1000, 3000, 10_000)
    states, actions, after, over = walk(sizes[-1])
    objective = gumdp.normalized(gumdp.Entropy())
    planner, trials = gumdp.MCTS(iterations=20 if quick else 100), 30 if quick else 200
    values: dict[int, list[float]] = {}
    for n in sizes:
        log = (states[:n], actions[:n], after[:n])
        model = gumdp.learn(
            log,
            shape=(16, 4),
            terminated=over[:n],
            terminal="restart",
            start=0,
            prior=0.05,
        )
        problem = gumdp.Problem(model, objective, discount=0.95, horizon=HORIZON)
        values[n] = [
            gumdp.play("FrozenLake-v1", problem, planner, seed=0, trial=k).value
            for k in range(trials)
        ]
        print(
            f"{n:6} steps: {np.count_nonzero(model.samples):2} of 64 pairs seen, "
            f"cost {np.mean(values[n]):.4f}"
        )
    truth = gumdp.Problem(
        gumdp.from_gymnasium("FrozenLake-v1", terminal="restart"),
        objective,
        0.95,
        HORIZON,
    )
    levels = {
        "at random": gumdp.evaluate(truth, gumdp.Random(), trials=2000, seed=0).mean,
        "planned with the true table": gumdp.evaluate(
            truth, planner, trials=trials, seed=0
        ).mean,
    }
    for name, level in levels.items():
        print(f"{name}: cost {level:.4f}")
    ax = gumdp.plot.budget({"planned from the log": values}, levels=levels)
    ax.set_xlabel("steps in the log")
    ax.set_ylabel("mean unevenness of real runs, 90 % interval")
    pyplot.savefig("plan_from_a_log.png", dpi=110)
    return {n: float(np.mean(row)) for n, row in values.items()}


if __name__ == "__main__":
    main("--quick" in sys.argv)
