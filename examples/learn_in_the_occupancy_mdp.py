"""Learn in the occupancy MDP with an RL library, and compare it with search and with
the optimum.

    pip install 'gumdp[learning]'
    python examples/learn_in_the_occupancy_mdp.py

PPO of Stable-Baselines3 knows nothing of the problem but what the Gymnasium environment
shows it: the state, the running occupancy and the time. The search has the model
instead, and has learned nothing before its first step.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib import pyplot

import gumdp

HORIZON = 8
# PPO learns from so many at a time, after so many steps of each
ENVIRONMENTS, STEPS = 8, 256


def learner(problem: gumdp.Problem, seed: int = 0) -> Any:
    """PPO with a small network, on the environment that the occupancy MDP is."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)  # the networks are tiny
    environments = make_vec_env(
        lambda: gumdp.OccupancyEnv(problem), ENVIRONMENTS, seed=seed
    )
    return PPO(
        "MultiInputPolicy",
        environments,
        gamma=1.0,
        n_steps=STEPS,
        batch_size=256,
        learning_rate=1e-3,
        ent_coef=0.001,
        seed=seed,
        device="cpu",
    )


def costs(problem: gumdp.Problem, model: Any, episodes: int) -> np.ndarray:
    """What fresh episodes cost, if the learned policy always takes its likeliest
    action.
    """
    env, found = gumdp.OccupancyEnv(problem), []
    for k in range(episodes):
        observation, _ = env.reset(seed=10_000 + k)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, over, _, _ = env.step(int(action))
        found.append(-reward)
    return np.array(found)


def main(quick: bool = False) -> dict[str, float]:
    problem = gumdp.zoo.load("m1-entropy", horizon=HORIZON)
    rounds = (1, 8) if quick else (1, 2, 4, 8, 16, 32, 64)
    tests = 100 if quick else 1000
    model, curve = learner(problem), {}
    for number in rounds:
        model.learn(
            number * ENVIRONMENTS * STEPS - model.num_timesteps,
            reset_num_timesteps=False,
        )
        curve[model.num_timesteps // HORIZON] = costs(problem, model, tests)
    episodes = max(curve)
    search = gumdp.evaluate(
        problem, gumdp.MCTS(iterations=200), trials=10 * tests, seed=0
    )
    random = gumdp.evaluate(problem, gumdp.Random(), trials=10 * tests, seed=0)
    best = gumdp.solve_exact(problem).value
    error = curve[episodes].std(ddof=1) / np.sqrt(tests)
    print(f"random      {random.mean:.4f} ± {random.standard_error:.4f}")
    print(
        f"learned     {curve[episodes].mean():.4f} ± {error:.4f}, "
        f"from {episodes} episodes of {HORIZON} steps"
    )
    print(f"searched    {search.mean:.4f} ± {search.standard_error:.4f}, from none")
    print(f"the optimum {best:.4f}")
    levels = {
        "random": random.mean,
        "searched, nothing learned before": search.mean,
        "the optimum": best,
    }
    ax = gumdp.plot.budget({"learned by PPO": curve}, levels=levels)
    ax.set_xlabel("episodes of learning")
    ax.set_ylabel("mean cost of an episode, 90 % interval")
    pyplot.savefig("learn_in_the_occupancy_mdp.png", dpi=110)
    return {
        "learned": float(curve[episodes].mean()),
        "searched": search.mean,
        "random": random.mean,
        "optimum": best,
        "learned error": float(error),
        "searched error": search.standard_error,
    }


if __name__ == "__main__":
    main("--quick" in sys.argv)
