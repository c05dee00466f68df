"""A policy to begin with: the one that is best on average, made certain, and what it is worth in a single trial."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.average.solve import solve_infinite
from gumdp.errors import GumdpError
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem, check_problem
from gumdp.results import Decision

PAIRS = 2_000  # (with steps, where the policy has one for each) up to which the best policy on average is looked for
STATES, ENTRIES = 20_000, 4_000_000  # of the occupancy MDP, and their pairs, up to which a policy is valued
LEAST = 1e-6  # a share below this is none


class Shares(Planner):
    """In each state the action that is furthest behind its share of the time there, by a policy [S, A] or [H, S, A].

    It takes no chances: of a policy that tosses coins it is what the coins would come to, in even proportions.
    """

    def __init__(self, policy: Array) -> None:
        self.policy = policy

    def __repr__(self) -> str:
        return "Shares()"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _SharesPolicy(problem, dice, self)

    def choose(self, s: int, o: Array, t: int, weight: float) -> int:
        """The action in ``s`` at step ``t`` of an episode, which counts ``weight``, after the occupancy ``o``."""
        shares = self.policy[s] if self.policy.ndim == 2 else self.policy[t, s]
        behind = np.where(shares > LEAST, shares * (o[s].sum() + weight) - o[s], -np.inf)
        return int(behind.argmax())


class _SharesPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, planner: Shares) -> None:
        super().__init__(problem, dice)
        self._planner = planner

    def decide(self, state: Any) -> Decision:
        problem, t = self.problem, self.t
        o = self._running.root[: self._running.counts.pairs].reshape(problem.shape)
        action = self._planner.choose(int(state), o, t % problem.horizon, float(problem.weights[t]))
        return Decision(action, problem.model.action_name(action))


def first_policy(problem: Problem) -> tuple[float, Shares] | None:
    """What a policy is worth, and that policy: the best on average, or an even one where that is not known.

    None where too much can happen for a value without sampling.

    >>> import gumdp
    >>> value, planner = first_policy(gumdp.zoo.load("m1-entropy", horizon=4))
    >>> gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=4)).value <= value
    True
    """
    planner = Shares(_shares(problem))
    value = _worth(problem, planner)
    return None if value is None else (value, planner)


def _shares(problem: Problem) -> Array:
    available = check_problem("solve_exact", problem).available
    even: Array = np.ones(problem.shape) if available is None else available.astype(float)
    size = even.size * (1 if problem.discount < 1.0 else problem.horizon)
    if problem.objective.convex and size <= PAIRS:
        try:
            return np.asarray(solve_infinite(problem, iterations=500).policy)
        except GumdpError:  # which says what is wrong to those who ask for it
            pass
    even /= even.sum(axis=1, keepdims=True)
    return even


def _worth(problem: Problem, planner: Shares) -> float | None:
    """E[f(d)] of the planner, by following all that can happen; equal (state, occupancy) are one."""
    model = check_problem("solve_exact", problem)
    starts = list(zip(model.start_states.tolist(), model.start_probabilities.tolist(), strict=True))
    empty = np.zeros(problem.shape)
    level: dict[tuple[int, bytes], float] = {(s, empty.tobytes()): p for s, p in starts}
    room = min(STATES, ENTRIES // empty.size)
    for t, weight in enumerate(problem.weights.tolist()):
        room -= len(level)
        if room < 0:
            return None
        after: dict[tuple[int, bytes], float] = {}
        for (s, held), p in level.items():
            o = np.frombuffer(held).reshape(problem.shape).copy()
            a = planner.choose(s, o, t % problem.horizon, weight)
            o[s, a] += weight
            begins = (t + 1) % problem.horizon == 0  # an episode
            moves = starts if begins else zip(*(x.tolist() for x in model.row(s, a)), strict=True)
            key = o.tobytes()
            for following, q in moves if t + 1 < problem.steps else [(0, 1.0)]:
                after[following, key] = after.get((following, key), 0.0) + p * q
        level = after
    return math.fsum(p * problem.value(np.frombuffer(o).reshape(problem.shape)) for (_, o), p in level.items())
