"""Policies that don't look ahead: random, stationary, time-dependent, greedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, array_of_numbers, check_float
from gumdp.occupancy import check_policy
from gumdp.policies.rollout import Cheapest, Lottery, Uniform
from gumdp.policies.rule import RulePlanner
from gumdp.problem import Problem


class Random(RulePlanner):
    """Any available action, with the same probability: the paper's π_Random.

    >>> import gumdp
    >>> gumdp.evaluate(gumdp.zoo.load("m1-entropy"), Random(), trials=50, seed=0).values.size
    50
    """

    def __repr__(self) -> str:
        return "Random()"

    def rule(self, problem: Problem) -> Any:
        return Uniform(problem.shape[1])


class Stationary(RulePlanner):
    """The policy π(a|s), an array [S, A], at every step.

    >>> Stationary([[0.5, 0.5], [1.0, 0.0]])
    Stationary(policy of shape (2, 2))
    """

    def __init__(self, policy: ArrayLike) -> None:
        table = array_of_numbers("Stationary: policy", policy)
        if table.ndim != 2:
            raise GumdpError(f"Stationary: policy must have the shape [S, A], not {table.shape}.")
        self.policy = check_policy("Stationary: policy", table, (table.shape[0], table.shape[1]))

    def __repr__(self) -> str:
        return f"Stationary(policy of shape {self.policy.shape})"

    def rule(self, problem: Problem) -> Any:
        return lottery("Stationary: policy", self.policy, problem)


class Markov(RulePlanner):
    """The policy π_t(a|s), an array [H, S, A]: what to do depends on the step of the episode too.

    >>> Markov([[[1.0, 0.0]], [[0.0, 1.0]]])  # one state: first action 0, then action 1
    Markov(policy of shape (2, 1, 2))
    """

    def __init__(self, policy: ArrayLike) -> None:
        table = array_of_numbers("Markov: policy", policy)
        if table.ndim != 3:
            raise GumdpError(f"Markov: policy must have the shape [H, S, A], not {table.shape}.")
        self.policy = check_policy("Markov: policy", table, (table.shape[1], table.shape[2]))

    def __repr__(self) -> str:
        return f"Markov(policy of shape {self.policy.shape})"

    def rule(self, problem: Problem) -> Any:
        return lottery("Markov: policy", self.policy, problem)


class Greedy(RulePlanner):
    """The action of least marginal cost at the running occupancy, ties at random.

    With ``randomness`` ε it takes any available action in a share ε of the steps.

    >>> Greedy(randomness=0.1)
    Greedy(randomness=0.1)
    """

    def __init__(self, randomness: float = 0.0) -> None:
        self.randomness = check_float("Greedy: randomness", randomness, 0.0, 1.0)

    def __repr__(self) -> str:
        return f"Greedy(randomness={self.randomness:g})" if self.randomness else "Greedy()"

    def rule(self, problem: Problem) -> Any:
        return Cheapest(problem.shape[1], round(self.randomness * 2**32))


def lottery(name: str, policy: ArrayLike, problem: Problem) -> Lottery:
    """The actor that draws from ``policy``, [S, A] or [H, S, A]."""
    table = check_policy(name, policy, problem.shape, problem.horizon, problem.model.available)
    sums = np.cumsum(table, axis=-1)
    last = table.shape[-1] - 1 - np.argmax(table[..., ::-1] > 0.0, axis=-1)
    limits = np.where(np.arange(table.shape[-1]) >= last[..., None], 2**32, np.rint(sums * 2**32))
    stride = table.shape[-1] * table.shape[-2] if table.ndim == 3 else 0
    return Lottery(table.shape[-1], stride, limits.astype(np.uint64).ravel())
