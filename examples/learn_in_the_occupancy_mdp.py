"""Learn in the occupancy MDP with a small tabular learner, and compare it with search and with the optimum.

    python examples/learn_in_the_occupancy_mdp.py

The learner knows nothing of the problem but what the Gymnasium environment shows it: the state, the running occupancy
and the time. It keeps a table of action values for each situation that it met, which is enough for short horizons.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np
from matplotlib import pyplot

import gumdp

HORIZON = 5


def situation(observation: dict[str, Any]) -> tuple[int, int, bytes]:
    return int(observation["time"]), int(observation["state"]), observation["occupancy"].tobytes()


class Learner:
    """Every-visit Monte-Carlo control with running mean returns, exploring less and less."""

    def __init__(self, env: gumdp.OccupancyEnv, episodes: int, seed: int = 0) -> None:
        self.env, self.episodes, self.seed, self.done = env, episodes, seed, 0
        self.rng = np.random.default_rng(seed)
        self.actions = int(env.action_space.n)
        self.values: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros(self.actions))
        self.visits: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros(self.actions))

    def train(self, until: int) -> None:
        """Learn until so many of the episodes are over."""
        for episode in range(self.done, until):
            path, total = self.episode(max(0.05, 1.0 - episode / (0.7 * self.episodes)), episode)
            for key, action in path:
                self.visits[key][action] += 1
                step = max(0.02, 1.0 / self.visits[key][action])
                self.values[key][action] += (total - self.values[key][action]) * step
        self.done = until

    def episode(self, randomness: float, number: int, seed: int | None = None) -> tuple[list[Any], float]:
        """The (situation, action) pairs of an episode, and its return."""
        observation, _ = self.env.reset(seed=self.seed if number == 0 else seed)
        path, total, over = [], 0.0, False
        while not over:
            key = situation(observation)
            chance = self.rng.random() < randomness
            action = int(self.rng.integers(self.actions)) if chance else int(self.values[key].argmax())
            path.append((key, action))
            observation, reward, over, _, _ = self.env.step(action)
            total += reward
        return path, total

    def test(self, episodes: int) -> np.ndarray:
        """The costs of episodes without randomness."""
        return np.array([-self.episode(0.0, 1, seed=10_000 + k)[1] for k in range(episodes)])


def train(env: gumdp.OccupancyEnv, episodes: int, seed: int = 0) -> dict[Any, np.ndarray]:
    """The action values of each situation that was met in so many episodes."""
    learner = Learner(env, episodes, seed)
    learner.train(episodes)
    return learner.values


def main(quick: bool = False) -> dict[str, float]:
    problem = gumdp.zoo.load("m1-entropy", horizon=HORIZON)
    marks = (300, 3000) if quick else (100, 300, 1000, 3000, 10_000, 30_000)
    tests = 500 if quick else 2000
    learner = Learner(gumdp.OccupancyEnv(problem), marks[-1])
    curve = {}
    for mark in marks:
        learner.train(mark)
        curve[mark] = learner.test(tests)
    search = gumdp.evaluate(problem, gumdp.MCTS(iterations=200), trials=tests, seed=0)
    random = gumdp.evaluate(problem, gumdp.Random(), trials=tests, seed=0)
    best = gumdp.solve_exact(problem).value
    print(f"{len(learner.values)} situations met in {marks[-1]} episodes of {HORIZON} steps")
    print(f"random      {random.mean:.4f} ± {random.standard_error:.4f}")
    print(f"learned     {curve[marks[-1]].mean():.4f} ± {curve[marks[-1]].std() / np.sqrt(tests):.4f}")
    print(f"searched    {search.mean:.4f} ± {search.standard_error:.4f}")
    print(f"the optimum {best:.4f}")
    levels = {"random": random.mean, "searched, nothing learned before": search.mean, "the optimum": best}
    ax = gumdp.plot.budget({"learned": curve}, levels=levels)
    ax.set_xlabel("episodes of learning")
    ax.set_ylabel("mean cost of an episode, 90 % interval")
    pyplot.savefig("learn_in_the_occupancy_mdp.png", dpi=110)
    return {
        "learned": float(curve[marks[-1]].mean()),
        "searched": search.mean,
        "random": random.mean,
        "optimum": best,
        "error": search.standard_error,
    }


if __name__ == "__main__":
    main("--quick" in sys.argv)
