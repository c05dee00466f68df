"""Budgets: how many iterations, or how much time, each decision of a trial gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gumdp.problem import Problem
from gumdp.results import Array

if TYPE_CHECKING:
    from gumdp.search.planner import MCTS


class Budget(NamedTuple):
    """What a trial may take: so much for each decision, or so much in all, of which a decision gets a share."""

    iterations: int | None  # per decision
    seconds: float | None  # per decision
    trial_iterations: int | None
    trial_seconds: float | None
    shares: Array  # [steps]: of what is left for the trial, at each step

    @classmethod
    def of(cls, planner: MCTS, problem: Problem) -> Budget:
        """That of ``planner``; on several threads, iterations are those of each."""

        def each(count: int | None) -> int | None:
            return None if count is None else -(-count // planner.threads)

        total = each(planner.trial_iterations)
        return cls(each(planner.iterations), planner.time_limit, total, planner.trial_time, shares(problem))

    @property
    def most(self) -> int | None:
        """The iterations that a decision takes at most, before any are carried over; None if only time limits them."""
        if self.trial_iterations is None:
            return self.iterations
        left, most = float(self.trial_iterations), 1.0
        for share in self.shares:
            most = max(most, left * share)
            left -= left * share
        return int(np.ceil(most))


def shares(problem: Problem) -> Array:
    """The share of what is left of a trial's budget that each step gets: budgets as the root of the weight left.

    What a decision can change is of the order of the weight of the steps that are left, and its error falls with the
    root of its budget.

    >>> import gumdp
    >>> shares(gumdp.zoo.load("m1-entropy", horizon=3, discount=1.0)).round(3)
    array([0.418, 0.586, 1.   ])
    """
    stakes = np.sqrt(np.cumsum(problem.weights[::-1])[::-1])
    rest: Array = np.cumsum(stakes[::-1])[::-1]
    return stakes / rest
