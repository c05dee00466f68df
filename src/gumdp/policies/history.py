"""Policies that look at the whole history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gumdp.errors import GumdpError
from gumdp.jit.random import advance, mix, unit
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem
from gumdp.results import Decision

Rule = Callable[[Sequence[Any], Sequence[int]], Any]  # (states so far, actions so far) → an action or [A]


class NonMarkov(Planner):
    """Whatever ``rule(states, actions)`` makes of the history: an action, or a distribution [A] over actions.

    ``states`` are those seen so far, the present one last; ``actions`` those taken so far, one fewer. Over several
    episodes the history goes on.

    >>> import gumdp
    >>> alternate = NonMarkov(lambda states, actions: len(actions) % 2)
    >>> gumdp.run_trial(gumdp.zoo.load("m1-entropy", horizon=4), alternate).actions
    array([0, 1, 0, 1])
    """

    def __init__(self, rule: Rule) -> None:
        if not callable(rule):
            raise GumdpError(f"NonMarkov: rule must be a function (states, actions), not {type(rule).__name__}.")
        self.rule = rule

    def __repr__(self) -> str:
        return f"NonMarkov({getattr(self.rule, '__name__', type(self.rule).__name__)})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _HistoryPolicy(problem, dice, self.rule)


class _HistoryPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, rule: Rule) -> None:
        super().__init__(problem, dice)
        self._rule = rule
        self._states: list[Any] = []
        self._actions: list[int] = []

    def decide(self, state: Any) -> Decision:
        model = self.problem.model
        if len(self._actions) < self.t:
            self._actions.append(self._last_action)
        seen = [*self._states, model.public(state)]
        chances = action_chances(self.problem, self._rule(tuple(seen), tuple(self._actions)), self.cell)
        self.rng = np.uint64(advance(self.rng))
        draw = float(unit(np.uint64(mix(self.rng))))
        action = int(np.searchsorted(np.cumsum(chances), draw, side="right"))
        action = min(action, int(np.flatnonzero(chances)[-1]))
        self._states = seen
        return Decision(action, model.action_name(action))


def action_chances(problem: Problem, choice: Any, cell: int) -> Array:
    """What a rule returned in a state of ``cell``, as a distribution [A] over the available actions."""
    actions = problem.shape[1]
    chances = np.zeros(actions)
    if isinstance(choice, (int, np.integer)) and not isinstance(choice, bool):
        if not 0 <= choice < actions:
            raise GumdpError(f"the rule chose the action {choice}; there are {actions}, from 0 to {actions - 1}.")
        chances[choice] = 1.0
    else:
        try:
            chances = np.array(choice, dtype=np.float64)
        except (TypeError, ValueError):
            chances = np.full(1, np.nan)
        if chances.shape != (actions,) or not (chances >= 0.0).all() or abs(chances.sum() - 1.0) > 1e-6:
            raise GumdpError(
                f"the rule must return an action or a distribution over {actions} actions, not {choice!r}."
            )
    available = problem.model.available
    if available is not None and (chances[~available[cell]] > 0.0).any():
        raise GumdpError(f"the rule chose an action that is not available in state {cell}: {choice!r}.")
    chances /= chances.sum()
    return chances
