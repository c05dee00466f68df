"""Greedy on the decomposition's value function."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from gumdp.bounds.decomposition import Decomposition, TooLarge
from gumdp.bounds.decomposition_tree import ValueFunction
from gumdp.bounds.separable import NotSeparable
from gumdp.bounds.value_kernels import look_ahead
from gumdp.errors import GumdpError, check_int
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem, check_problem
from gumdp.results import Decision

ITERATIONS = 300


class Dual(Planner):
    """One-step lookahead with the value function of the Lagrangian decomposition.

    ``lower_bound(problem, "decomposition")`` finds prices (multipliers) with which each part of the objective can be
    minimised alone; the sum of the parts' value functions bounds what a history can still reach. The first trial of a
    problem finds the prices, which takes seconds to minutes; afterwards a decision is a few look-ups. For tabular
    models, and objectives that are sums over pairs, states or other linear statistics.

    Args:
        iterations: steps of the ascent that finds the prices.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m2-imitation", horizon=10)
    >>> for planner in (Dual(30), gumdp.Random()):
    ...     print(planner, round(gumdp.evaluate(problem, planner, trials=50).mean, 2))
    Dual(iterations=30) 0.0
    Random() 0.07
    """

    def __init__(self, iterations: int = ITERATIONS) -> None:
        self.iterations = check_int("Dual: iterations", iterations, 0)
        self._made: weakref.WeakKeyDictionary[Problem, ValueFunction] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "Dual()" if self.iterations == ITERATIONS else f"Dual(iterations={self.iterations})"

    def __reduce__(self) -> Any:  # the values are not sent along to other processes
        return Dual, (self.iterations,)

    def solve(self, problem: Problem) -> ValueFunction:
        """The value function of ``problem``, the same each time."""
        check_problem("Dual", problem)
        with self._lock:
            if problem not in self._made:
                try:
                    made = Decomposition(problem, merge=False)
                except (NotSeparable, TooLarge) as error:
                    raise GumdpError(f"Dual: {problem.objective!r} can't be decomposed here: {error}.") from None
                for _ in made.climb(iterations=self.iterations):
                    pass
                self._made[problem] = ValueFunction(made, depth=problem.steps)
            return self._made[problem]

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _DualPolicy(problem, dice, self.solve(problem))


class _DualPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, values: ValueFunction) -> None:
        super().__init__(problem, dice)
        self._values = values

    def decide(self, state: Any) -> Decision:
        values, problem = self._values, self.problem
        o, q = self._running.root[: self._running.counts.pairs].copy(), np.full(problem.shape[1], np.nan)
        look_ahead(
            values.made.run, values.cells, values.tables, problem.shape[0], self.t, int(state), o, values.depth, q
        )
        action = int(np.nanargmin(q))
        return Decision(action, problem.model.action_name(action), values=q)
