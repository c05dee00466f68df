"""Planners that are one compiled rule, without any search."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.policies.base import Planner, Policy
from gumdp.policies.play import Rule, decide_once, setup_of
from gumdp.policies.trials import play_trials
from gumdp.problem import Problem
from gumdp.results import Array, Decision
from gumdp.seeding import Seeds


class RulePlanner(Planner):
    """A planner that is one compiled rule."""

    batch = 5_000

    @abstractmethod
    def rule(self, problem: Problem) -> Any:
        """The record that kernels call: see ``gumdp.policies.rollout``."""

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _RulePolicy(problem, dice, self.rule(problem))

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array:
        return play_trials(problem, [Rule(self.rule(problem))], seeds, stop)


class _RulePolicy(Policy):
    resumes = True

    def __init__(self, problem: Problem, dice: Any, rule: Any) -> None:
        super().__init__(problem, dice)
        self._setup, self._decider = setup_of(problem), Rule(rule)

    def decide(self, state: Any) -> Decision:
        rng, action = decide_once(
            self._setup, self._decider, self._running, state, np.uint64(self.t), self.rng, self.stop
        )
        self.rng = np.uint64(rng)
        return Decision(int(action), self.problem.model.action_name(int(action)))
