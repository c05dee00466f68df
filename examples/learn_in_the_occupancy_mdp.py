"""Learn in the occupancy MDP with a small tabular learner, and compare it with search and with the optimum.

    python examples/learn_in_the_occupancy_mdp.py

The learner knows nothing of the problem but what the Gymnasium environment shows it: the state, the running occupancy
and the time. It keeps a table of action values for each situation that it met, which is enough for short horizons.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

import gumdp

HORIZON, EPISODES = 5, 30_000


def situation(observation: dict[str, Any]) -> tuple[int, int, bytes]:
    return int(observation["time"]), int(observation["state"]), observation["occupancy"].tobytes()


def train(env: gumdp.OccupancyEnv, episodes: int, seed: int = 0) -> dict[Any, np.ndarray]:
    """Every-visit Monte-Carlo control with running mean returns, exploring less and less."""
    rng = np.random.default_rng(seed)
    actions = int(env.action_space.n)
    values: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros(actions))
    visits: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros(actions))
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        path, total, over = [], 0.0, False
        randomness = max(0.05, 1.0 - episode / (0.7 * episodes))
        while not over:
            key = situation(observation)
            action = int(rng.integers(actions)) if rng.random() < randomness else int(values[key].argmax())
            path.append((key, action))
            observation, reward, over, _, _ = env.step(action)
            total += reward
        for key, action in path:
            visits[key][action] += 1
            values[key][action] += (total - values[key][action]) * max(0.02, 1.0 / visits[key][action])
    return values


def main() -> None:
    problem = gumdp.zoo.load("m1-entropy", horizon=HORIZON)
    env = gumdp.OccupancyEnv(problem)
    values = train(env, EPISODES)
    returns = []
    for episode in range(2000):
        observation, _ = env.reset(seed=10_000 + episode)
        over, total = False, 0.0
        while not over:
            observation, reward, over, _, _ = env.step(int(values[situation(observation)].argmax()))
            total += reward
        returns.append(-total)
    search = gumdp.evaluate(problem, gumdp.MCTS(iterations=200), trials=2000, seed=0)
    random = gumdp.evaluate(problem, gumdp.Random(), trials=2000, seed=0)
    error = np.std(returns) / np.sqrt(len(returns))
    print(f"{len(values)} situations met in {EPISODES} episodes of {HORIZON} steps")
    print(f"random      {random.mean:.4f} ± {random.standard_error:.4f}")
    print(f"learned     {np.mean(returns):.4f} ± {error:.4f}")
    print(f"searched    {search.mean:.4f} ± {search.standard_error:.4f}")
    print(f"the optimum {gumdp.solve_exact(problem).value:.4f}")


if __name__ == "__main__":
    main()
