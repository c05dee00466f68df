"""Planners that don't plan to learn: at each step they search in tables that the belief makes likely.

They are what Bayes-adaptive planning is compared with. All of them learn from what they see; but in their simulations
nothing is learned, so that no action is taken for what it would teach.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int, check_type
from gumdp.models.belief import Belief
from gumdp.models.tabular import Tabular
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem
from gumdp.results import Array, Decision
from gumdp.search.budget import Budget
from gumdp.search.choose import recommend_once
from gumdp.search.evidence import standard_errors
from gumdp.search.outcome import spread
from gumdp.search.planner import MCTS
from gumdp.search.policy import Searcher

WORLDS = 5


class InWorlds(Planner):
    """Search at each step in known tables, made of what the belief is by then; the iterations are shared among them."""

    worlds = 1  # tables for each decision

    def __init__(self, planner: MCTS | None = None) -> None:
        self.planner = MCTS() if planner is None else planner
        check_type(f"{type(self).__name__}: planner", self.planner, MCTS)
        if self.planner.iterations is None or self.planner.time_limit is not None or self.planner.threads > 1:
            raise GumdpError(
                f"{type(self).__name__}: planner must have a number of iterations, no time_limit and one thread, "
                f"not {self.planner!r}."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.planner!r})"

    @abstractmethod
    def tables(self, belief: Belief, seeds: list[int]) -> list[Tabular]:
        """The tables to search in; a seed for each."""

    def combined(self, values: Array) -> Array:
        """One value for each action, from those in each table, [worlds, A]."""
        one: Array = values[0]
        return one

    def bind(self, problem: Problem, dice: Any) -> Policy:
        if not isinstance(problem.model, Belief):
            raise GumdpError(f"{self!r} plans with a Belief, and this problem's model is {problem.model!r}.")
        return _WorldsPolicy(self, problem, dice)


class CertaintyEquivalent(InWorlds):
    """Plan at each step as if the mean of the belief were the world.

    >>> import gumdp
    >>> CertaintyEquivalent(gumdp.MCTS(iterations=50))
    CertaintyEquivalent(MCTS(iterations=50))
    """

    def tables(self, belief: Belief, seeds: list[int]) -> list[Tabular]:
        return [belief.mean]


class Thompson(InWorlds):
    """Plan at each step as if a world that is drawn from the belief were the true one: posterior sampling.

    Thompson (1933), "On the likelihood that one unknown probability exceeds another in view of the evidence of two
    samples"; Strens (2000), "A Bayesian framework for reinforcement learning".

    >>> import gumdp
    >>> Thompson(gumdp.MCTS(iterations=50))
    Thompson(MCTS(iterations=50))
    """

    def tables(self, belief: Belief, seeds: list[int]) -> list[Tabular]:
        return [belief.draw(seed) for seed in seeds]


class Optimistic(Thompson):
    """Take the action that is best in the best of ``worlds`` worlds that are drawn at each step.

    Asmuth, Li, Littman, Nouri and Wingate (2009), "A Bayesian sampling approach to exploration in reinforcement
    learning".

    >>> import gumdp
    >>> Optimistic(gumdp.MCTS(iterations=50), worlds=3)
    Optimistic(MCTS(iterations=50), worlds=3)
    """

    def __init__(self, planner: MCTS | None = None, worlds: int = WORLDS) -> None:
        super().__init__(planner)
        self.worlds = check_int(f"{type(self).__name__}: worlds", worlds, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.planner!r}, worlds={self.worlds})"

    def combined(self, values: Array) -> Array:
        least: Array = np.fmin.reduce(values, axis=0)
        return least


class Robust(Optimistic):
    """Take the action that does best in the worst of ``worlds`` worlds that are drawn at each step.

    >>> import gumdp
    >>> Robust(gumdp.MCTS(iterations=50))
    Robust(MCTS(iterations=50), worlds=5)
    """

    def combined(self, values: Array) -> Array:
        most: Array = np.fmax.reduce(values, axis=0)
        return most


class _WorldsPolicy(Policy):
    """One search after another, in the tables of a decision."""

    def __init__(self, how: InWorlds, problem: Problem, dice: Any) -> None:
        super().__init__(problem, dice)
        self.how = how
        share = -(-(how.planner.iterations or 1) // how.worlds)
        self._searcher = Searcher(how.planner, problem, Budget.of(how.planner, problem)._replace(iterations=share))
        self._searcher.rng = np.uint64(dice)

    def decide(self, state: Any) -> Decision:
        began, belief, searcher = time.perf_counter(), self.belief, self._searcher
        assert belief is not None
        seeds = [int(spread(self.rng, np.uint64(self.t * self.how.worlds + k + 1))) for k in range(self.how.worlds)]
        actions = self.problem.shape[1]
        found, visits, errors, done = [], np.zeros(actions, np.int64), np.zeros(actions), 0
        for table in self.how.tables(belief, seeds):
            done += searcher.search_in(table, self._running, state, self.t, self.stop)
            seen = searcher.tree.visits[:actions].astype(np.int64)
            found.append(np.where(seen > 0, searcher.tree.mean[:actions], np.nan))
            visits, errors = visits + seen, standard_errors([searcher.tree])
        values = self.how.combined(np.array(found))
        one = len(found) == 1
        action = int(recommend_once(searcher.rules, searcher.tree)) if one else int(np.nanargmin(values))
        return Decision(
            action=action,
            name=self.problem.model.action_name(action),
            values=values,
            errors=errors if one else None,
            visits=visits,
            iterations=done,
            seconds=time.perf_counter() - began,
        )
