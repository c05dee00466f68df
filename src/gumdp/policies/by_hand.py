"""A planner with some of its steps taken by hand: what the studio plays when somebody takes the wheel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gumdp.errors import GumdpError, check_int, check_type, show
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem
from gumdp.results import Array, Decision


class ByHand(Planner):
    """Another planner's trial with some steps taken otherwise.

    Args:
        planner: decides at every step, and goes on from where it was led.
        actions: from step to the action that is taken there, whatever the planner says.
        iterations: from step to the iterations that a search has from there on.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=5)
    >>> planner = gumdp.ByHand(gumdp.Greedy(), {0: 1, 3: 1})  # action 1 in steps 0 and 3
    >>> gumdp.run_trial(problem, planner, seed=0).actions[[0, 3]].tolist()
    [1, 1]
    """

    def __init__(
        self,
        planner: Planner,
        actions: Mapping[int, int] | None = None,
        iterations: Mapping[int, int] | None = None,
    ) -> None:
        check_type("ByHand: planner", planner, Planner)
        self.planner = planner
        self.actions = _steps("actions", actions, 0)
        self.iterations = _steps("iterations", iterations, 1)

    def __repr__(self) -> str:
        changed = f", iterations={self.iterations}" if self.iterations else ""
        return f"ByHand({self.planner!r}, {self.actions}{changed})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        for action in self.actions.values():
            problem.model.check_action(action)
        inner = self.planner.bind(problem, dice)
        if self.iterations and not hasattr(inner, "search_for"):
            raise GumdpError(f"ByHand: iterations are for a tree search, and {self.planner!r} is none.")
        return _HandPolicy(problem, inner, self.actions, self.iterations)


class _HandPolicy(Policy):
    """The other planner's policy, told of what was done instead."""

    def __init__(self, problem: Problem, inner: Policy, actions: Mapping[int, int], budgets: Mapping[int, int]) -> None:
        super().__init__(problem, 0)
        self.inner, self.actions, self.budgets = inner, actions, budgets

    def act(self, state: Any) -> Decision:
        t = self.inner.t
        if t in self.budgets:
            self.inner.search_for(self.budgets[t])  # type: ignore[attr-defined]
        self.inner.stop = self.stop
        decision = self.inner.act(state)
        self.t, self.cell = self.inner.t, self.inner.cell
        if t in self.actions:
            self.tell(self.actions[t])
            decision = replace(decision, action=self.actions[t], name=self.problem.model.action_name(self.actions[t]))
        return decision

    def decide(self, state: Any) -> Decision:
        return self.inner.decide(state)

    def tell(self, action: int) -> None:
        self.inner.tell(action)

    def arrived(self, state: Any, added: Any = None, *, bits: int | None = None) -> None:
        self.inner.arrived(state, added, bits=bits)

    @property
    def occupancy(self) -> Array:
        return self.inner.occupancy

    @property
    def totals(self) -> dict[str, float]:
        return self.inner.totals

    def worth(self) -> float:
        return self.inner.worth()


def _steps(what: str, given: Any, least: int) -> dict[int, int]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise GumdpError(f"ByHand: {what} must be a dictionary from step to number, not {show(given)}.")
    return {
        check_int(f"ByHand: a step of {what}", t, 0): check_int(f"ByHand: one of {what}", x, least)
        for t, x in given.items()
    }
