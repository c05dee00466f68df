"""Costs that add up: the optimum by plain dynamic programming over (step, state).

Bellman (1957), "Dynamic Programming". The order of a history does not matter when every step has its own cost, so that
no occupancy has to be remembered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.objectives.base import Array, Objective, Shape
from gumdp.problem import Problem, check_problem


def linear_part(objective: Objective, shape: Shape) -> tuple[Array, float] | None:
    """(costs [S, A], constant) of a linear objective, also of a sum, a multiple or a normalised one; else None.

    >>> import gumdp
    >>> costs, constant = linear_part(2.0 * gumdp.Linear([[1.0, 3.0]]) + gumdp.Linear([[0.0, 1.0]]), (1, 2))
    >>> costs.tolist(), constant
    ([[2.0, 7.0]], 0.0)
    """
    if (parts := objective.parts(shape)) is not None:
        constant, terms = parts
        costs = np.zeros(shape)
        for factor, part in terms:
            if (inner := linear_part(part, shape)) is None:
                return None
            costs, constant = costs + factor * inner[0], constant + factor * inner[1]
        return costs, constant
    known = objective.separable(shape)
    if known is None or known.terms:
        return None
    return np.broadcast_to(np.asarray(known.costs, float), shape), known.constant


def least_total(problem: Problem, costs: Array) -> tuple[float, Array]:
    """The least expected total of the costs, and the policy [H, S, A] that has it."""
    model = check_problem("solve_exact", problem, totals=True)
    allowed: Any = True if model.available is None else model.available
    states, actions = problem.shape
    weights = problem.weights[: problem.horizon]  # those of every episode
    policy = np.zeros((problem.horizon, states, actions))
    ahead = np.zeros(states)
    for t in range(problem.horizon - 1, -1, -1):
        q = np.where(allowed, weights[t] * costs + (model.matrix @ ahead).reshape(states, actions), np.inf)
        best = q.argmin(axis=1)
        policy[t, np.arange(states), best] = 1.0
        ahead = q.min(axis=1)
    return problem.episodes * float(model.start_probabilities @ ahead[model.start_states]), policy
