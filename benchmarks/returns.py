"""How close planning for the utility of one run's rewards comes to the best possible, on MO-Gymnasium's worlds.

``python -m benchmarks returns``. Against EUPG of morl-baselines, the one learner for this goal that one can install,
where it is there: trained for ``--minutes`` each, unless ``--quick``.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import gumdp


def meals(z):
    """A meal takes a fish and two logs."""
    return min(z[0], np.floor(z[1] / 2))


def worlds() -> dict[str, dict[str, Any]]:
    """A utility for each world, a horizon, and how many iterations and trials are affordable."""
    return {
        "fishwood-v0": {"utility": gumdp.Utility(meals), "horizon": 200, "iterations": 100, "trials": 400},
        "deep-sea-treasure-v0": {
            "utility": gumdp.Chebyshev([1.0, 1.0], ideal=[23.7, -1.0]), "horizon": 20, "iterations": 1000, "trials": 20,
        },
        "resource-gathering-v0": {
            "utility": gumdp.Utility(lambda z: min(z[1], z[2]) + 2.0 * z[0]), "horizon": 20, "iterations": 1000,
            "trials": 100,
        },
        "four-room-v0": {"utility": gumdp.Minimum(), "horizon": 60, "iterations": 200, "trials": 3},
        "minecart-deterministic-v0": {
            "utility": gumdp.Chebyshev([1.0, 1.0, 1.0], ideal=[1.5, 1.5, 0.0]), "horizon": 40, "iterations": 100,
            "trials": 3,
        },
    }  # fmt: skip


def rows(quick: bool, minutes: float = 10.0) -> list[dict[str, Any]]:
    """A row for each world."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the worlds' own
        return [row(name, quick=quick, minutes=minutes, **given) for name, given in worlds().items()]


def row(
    name: str, utility: Any, horizon: int, iterations: int, trials: int, quick: bool, minutes: float
) -> dict[str, Any]:
    """The exact optimum where there is a table, our search, the paper's, and chance."""
    model = gumdp.from_gymnasium(name, terminal="absorb")
    counts = gumdp.Features("reward")
    problem = gumdp.Problem(model, utility, 1.0, horizon, counts=counts, scale="sum", name=name)
    found: dict[str, Any] = {"world": name, "model": type(model).__name__, "horizon": horizon}
    if isinstance(model, gumdp.Tabular):
        solution = gumdp.solve_exact(problem)
        found |= {"optimum": solution.utility, "solved_in": solution.seconds}
    if quick:
        trials = max(2, trials // 10)
    planners = {"random": gumdp.Random(), "mcts": gumdp.MCTS(iterations)}
    if isinstance(model, gumdp.Tabular):
        planners["mcts_paper"] = gumdp.MCTS.paper(400 if quick else 4000)
    for label, planner in planners.items():
        result = gumdp.evaluate(problem, planner, trials=trials, seed=0)
        found |= {label: result.utility, f"{label}_error": result.standard_error, f"{label}_seconds": result.seconds}
    return found if quick else found | eupg(name, utility, horizon, trials, minutes)


def eupg(name: str, utility: Any, horizon: int, trials: int, minutes: float) -> dict[str, Any]:
    """What a policy that EUPG learned in so many minutes is worth; nothing where morl-baselines is not installed.

    It is used as it is, with its network, learning rate and default options, but for two things that would be unfair:
    returns are not discounted, as ours are not, and observations are kept as they are, not cut to whole numbers.
    """
    try:
        import mo_gymnasium
        import torch
        from morl_baselines.common.accrued_reward_buffer import AccruedRewardReplayBuffer
        from morl_baselines.single_policy.esr.eupg import EUPG
    except ImportError:
        return {}

    def scalar(z: Any, weights: Any = None) -> Any:
        """Of one vector of returns, or of one for each step of an episode."""
        rows = np.atleast_2d(np.asarray(z, float))
        return torch.tensor([-utility.value(row[None, :]) for row in rows], dtype=torch.float32).squeeze()

    torch.set_num_threads(1)
    env = mo_gymnasium.make(name, max_episode_steps=horizon)
    rewards = env.unwrapped.reward_space.shape[0]
    agent = EUPG(env, scalarization=scalar, weights=np.ones(rewards), gamma=1.0, log=False, seed=0, device="cpu")
    torch.manual_seed(0)
    kind, shape = np.float32, agent.observation_shape
    agent.buffer = AccruedRewardReplayBuffer(
        shape, agent.action_shape, rew_dim=rewards, max_size=10_000, obs_dtype=kind
    )
    until = time.process_time() + 60.0 * minutes  # of one core, whatever else the machine does
    while time.process_time() < until:
        agent.buffer.cleanup()  # of an episode that the last round began
        agent.train(total_timesteps=10 * horizon)
    values = np.array([-utility.value(_episode(env, agent, seed)[None, :]) for seed in range(max(100, trials))])
    error = values.std(ddof=1) / np.sqrt(values.size)
    return {"eupg": values.mean(), "eupg_error": error, "eupg_steps": agent.global_step, "eupg_minutes": minutes}


def _episode(env: Any, agent: Any, seed: int) -> Any:
    """What one episode brings."""
    observation, _ = env.reset(seed=seed)
    total, over = np.zeros(env.unwrapped.reward_space.shape[0]), False
    while not over:
        observation, reward, ended, cut, _ = env.step(agent.eval(observation, total))
        total, over = total + reward, ended or cut
    return total
