"""Fishwood as a table, and its optimum by plain dynamic programming over (fish, wood), written independently."""

from __future__ import annotations

import numpy as np

import gumdp


def meals(z):
    """A meal takes a fish and two logs."""
    return min(z[0], np.floor(z[1] / 2))


def fishwood(fish=0.1, wood=0.9, horizon=200, utility=meals, **options) -> gumdp.Problem:
    """States are (place, whether the step before brought something); who is at the river fishes, else gathers wood."""
    transitions, phi = np.zeros((4, 2, 4)), np.zeros((4, 2, 4, 2))
    for place, chance in ((0, fish), (1, wood)):
        for state in (2 * place, 2 * place + 1):
            for action in (0, 1):
                transitions[state, action, 2 * action : 2 * action + 2] = 1.0 - chance, chance
                phi[state, action, 1::2, place] = 1.0
    objective = utility if isinstance(utility, gumdp.Objective) else gumdp.Utility(utility)
    counts = gumdp.Features(phi, names=["fish", "wood"])
    model = gumdp.Tabular(transitions, start=2)
    return gumdp.Problem(model, objective, 1.0, horizon, counts=counts, scale="sum", **options)


def best_meals(fish: float, wood: float, horizon: int, halves: bool = False) -> float:
    """The greatest expected number of meals: V(t, place, fish, logs) backwards, all (fish, logs) at once.

    ``halves``: half a meal counts too.
    """
    caught, logs = np.meshgrid(np.arange(horizon + 1), np.arange(horizon + 1), indexing="ij")
    river = woods = np.minimum(caught, logs / 2 if halves else logs // 2).astype(float)
    for _ in range(horizon):
        ahead = river, woods  # where to go next is said before it is seen what this step brings
        river = np.maximum(*(fish * np.vstack([v[1:], v[-1:]]) + (1 - fish) * v for v in ahead))
        woods = np.maximum(*(wood * np.hstack([v[:, 1:], v[:, -1:]]) + (1 - wood) * v for v in ahead))
    return float(woods[0, 0])


def regrets(trials, fish: float, wood: float, horizon: int) -> tuple[float, np.ndarray]:
    """The greatest expected number of meals, and by how much the actions of each trial fell short of it.

    The expected value of a policy is the optimum less the mean of what its actions lose:
    V* − E[Σ_t max Q_t − Q_t(a_t)]. What is lost at a decision has no luck in it: few trials say how good a policy is.
    """
    caught, logs = np.meshgrid(np.arange(horizon + 1), np.arange(horizon + 1), indexing="ij")
    ahead = [np.minimum(caught, logs // 2).astype(float)] * 2  # of who is at the river next, and in the woods
    lost = np.zeros(len(trials))
    brought = [_brought(trial) for trial in trials]
    for t in reversed(range(horizon)):
        river = [fish * np.vstack([v[1:], v[-1:]]) + (1 - fish) * v for v in ahead]
        woods = [wood * np.hstack([v[:, 1:], v[:, -1:]]) + (1 - wood) * v for v in ahead]
        for k, trial in enumerate(trials):
            choices = [v[tuple(brought[k][t])] for v in (woods if trial.states[t] >= 2 else river)]
            lost[k] += max(choices) - choices[int(trial.actions[t])]
        ahead = [np.maximum(*river), np.maximum(*woods)]
    return float(ahead[1][0, 0]), lost


def _brought(trial) -> np.ndarray:
    """[steps, 2]: fish and logs before each step; a state says whether the step before brought something."""
    states = np.asarray(trial.states)
    gains = np.zeros((states.size, 2), int)
    gains[np.arange(1, states.size), states[:-1] // 2] = states[1:] % 2
    return gains.cumsum(axis=0)
