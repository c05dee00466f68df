"""Planner = parameters; bound to a problem it becomes a policy, which remembers what it did."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.counts.running import commit, new_running, refresh, worth
from gumdp.errors import GumdpError, check_type, show
from gumdp.jit.callback import reraise
from gumdp.policies.play import NOT_A_NUMBER, Rule, decide_once, play, setup_of
from gumdp.problem import Problem
from gumdp.results import Array, Decision
from gumdp.seeding import Seeds as Seeds
from gumdp.seeding import streams


class Policy(ABC):
    """A planner at work on one trial: ``act(state)`` again and again.

    The policy remembers the states it was shown and the actions it gave. If something else was done than it
    said, tell it before the next step: ``policy.tell(action)``.
    """

    def __init__(self, problem: Problem, dice: int) -> None:
        self.problem = problem
        self.rng = np.uint64(dice)
        self.t = 0
        self.cell = 0  # of the last state seen
        self._pending: tuple[int, int] | None = None  # (cell, action) of the last step
        self._last_action = -1  # of the last step that is settled
        self._running = new_running(problem.record, problem.shape, problem.steps)
        self._runnings = [self._running]  # a search on several threads has one for each
        self.stop = np.zeros(1, np.uint8)  # set from outside, it ends a decision early, with a KeyboardInterrupt

    def act(self, state: Any) -> Decision:
        """The decision in ``state``, which is remembered as taken."""
        if self.t >= self.problem.steps:
            raise GumdpError(f"the trial is over after {self.problem.steps} steps; start a new policy.")
        s = self.problem.model.state(state)
        self._settle_pending()
        self.cell = int(self.problem.model.compiled().cell(s))
        try:
            decision = self._checked(self.decide(s), s)
            reraise()
            if self.stop[0]:
                raise KeyboardInterrupt
        except BaseException:
            for running in self._runnings:
                refresh(self.problem.record, running)
            reraise()
            raise
        self._pending = (self.cell, decision.action)
        self.t += 1
        return decision

    def _checked(self, decision: Any, s: Any) -> Decision:
        """``decision``, if it is one that can be carried out in ``s``."""
        if not isinstance(decision, Decision):
            raise GumdpError(f"decide() of {type(self).__name__} must return a Decision, not {show(decision)}.")
        action = self.problem.model.check_action(decision.action)
        if not self.problem.model.compiled().allowed(s, action):
            raise GumdpError(f"{type(self).__name__} chose action {action}, which is not available in this state.")
        return decision

    @abstractmethod
    def decide(self, state: Any) -> Decision:
        """The decision in a state as kernels have it, at step ``self.t`` with ``self._ledger`` up to date."""

    def tell(self, action: int) -> None:
        """The action that was really taken in the last step was ``action``."""
        if self._pending is None:
            raise GumdpError("nothing was done yet: call act(state) first.")
        number = self.problem.model.check_action(action)
        allowed = self.problem.model.available
        if allowed is not None and not allowed[self._pending[0], number]:
            raise GumdpError(f"action {number} is not available in state {self._pending[0]}.")
        self._pending = (self._pending[0], number)

    @property
    def occupancy(self) -> Array:
        """The running occupancy [S, A] of what happened so far, summing to the weight of the steps made."""
        self._settle_pending()
        pairs: Array = self._running.root[: self._running.counts.pairs]
        return pairs.reshape(self.problem.shape).copy()

    def worth(self) -> float:
        """The objective at the running occupancy: the trial's value, once it is over."""
        self._settle_pending()
        value = float(worth(self.problem.record, self._running))
        reraise()
        return value

    def _settle_pending(self) -> None:
        if self._pending is not None:
            cell, action = self._pending
            weight = self.problem.weights[self.t - 1]
            for running in self._runnings:
                commit(self.problem.record, running, cell, action, weight)
            self._pending, self._last_action = None, action


class Planner(ABC):
    """Parameters of a way to act. ``start`` binds it to a problem."""

    batch = 1  # trials that a thread plays in one go

    @property
    def name(self) -> str:
        """A short name for tables."""
        return repr(self)

    def start(self, problem: Problem, seed: int = 0) -> Policy:
        """A policy for one trial of ``problem``, for people who run their own loop.

        >>> import gumdp
        >>> problem = gumdp.zoo.load("m1-entropy")
        >>> policy = gumdp.Random().start(problem, seed=0)
        >>> policy.act(0).action in (0, 1)
        True
        """
        check_type("problem", problem, Problem)
        return self.bind(problem, streams(seed)[0, 1])

    @abstractmethod
    def bind(self, problem: Problem, dice: Any) -> Policy:
        """A policy that draws from the generator state ``dice``."""

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array | None:
        """The values of the trials of ``seeds``, compiled as a whole; None if that can't be done."""
        return None


class RulePlanner(Planner):
    """A planner that is one compiled rule, without any search."""

    batch = 5_000

    @abstractmethod
    def rule(self, problem: Problem) -> Any:
        """The record that kernels call: see ``gumdp.policies.rollout``."""

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _RulePolicy(problem, dice, self.rule(problem))

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array:
        return play_trials(problem, Rule(self.rule(problem)), seeds, stop)


def play_trials(problem: Problem, decider: Any, seeds: Seeds, stop: NDArray[np.uint8]) -> Array:
    """The values of the trials of ``seeds``, played by a compiled decider; NaN for those that ``stop`` cut off."""
    running = new_running(problem.record, problem.shape, problem.steps)
    values = np.full(len(seeds), np.nan)
    status = play(setup_of(problem), decider, running, seeds, values, stop)
    reraise()
    if status == NOT_A_NUMBER:
        raise not_finite()
    return values


def not_finite() -> GumdpError:
    """The error for an objective that is NaN or infinite in the middle of a search."""
    return GumdpError(
        "the objective is not finite at an occupancy that the search met; it must be finite at every occupancy."
    )


class _RulePolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, rule: Any) -> None:
        super().__init__(problem, dice)
        self._setup, self._decider = setup_of(problem), Rule(rule)

    def decide(self, state: Any) -> Decision:
        rng, action = decide_once(
            self._setup, self._decider, self._running, state, np.uint64(self.t), self.rng, self.stop
        )
        self.rng = np.uint64(rng)
        return Decision(int(action), self.problem.model.action_name(int(action)))
