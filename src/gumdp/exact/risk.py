"""Exact solution where the goal is a risk: the mean of the worst outcomes, and exponentials of costs that add up."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from gumdp.counts.features import TableFeatures
from gumdp.errors import GumdpError
from gumdp.exact.planner import Exact, everything
from gumdp.exact.totals import TotalsUnfolding
from gumdp.exact.unfold import Unfolding
from gumdp.objectives.base import Array
from gumdp.objectives.tail import CVaR
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem, check_problem

ATOMS = 200_000  # different outcomes that are asked for their value one by one


class AtThreshold(Planner):
    """A planner that plays a problem with the threshold that was found for it.

    >>> import gumdp
    >>> AtThreshold(gumdp.Greedy(), 0.5)
    AtThreshold(Greedy(), 0.5)
    """

    def __init__(self, planner: Planner, threshold: float) -> None:
        self.planner, self.threshold = planner, threshold

    def __repr__(self) -> str:
        return f"AtThreshold({self.planner!r}, {self.threshold:g})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        objective = problem.objective
        if not isinstance(objective, CVaR):
            raise GumdpError(f"AtThreshold plays problems whose objective is cvar(…), not {objective!r}.")
        return self.planner.bind(problem.replace(objective=objective.at(self.threshold)), dice)


def least_cvar(problem: Problem, limit: int, grid: float | None) -> tuple[float, float, Unfolding]:
    """The least mean of the worst outcomes, its threshold, and the unfolded MDP.

    For a fixed threshold t it is t + min E[max(0, f - t)]/(1 - level) over all policies, by backward induction. The
    best t is an outcome f that can come about. As the expectation falls with t, what it is at the right end of a range
    and t at its left bound all in between: branch and bound over the outcomes, exactly.
    """
    objective = problem.objective
    assert isinstance(objective, CVaR)
    start = problem.replace(objective=objective.at(0.0))
    table = everything(start, limit, "solve_exact", grid)
    atoms = outcomes(table, objective)
    known: dict[int, tuple[float, float]] = {}

    def at(k: int) -> tuple[float, float]:
        """(the risk with the k-th outcome as threshold, its part beyond the threshold)."""
        if k not in known:
            t = float(atoms[k])
            table.problem = problem.replace(objective=objective.at(t))
            risk = table.value(lambda step, states, q: np.nanmin(q, axis=1))
            known[k] = risk, risk - t
        return known[k]

    last = atoms.size - 1
    best = min((0, last), key=lambda k: at(k)[0])
    heap = [(atoms[0] + at(last)[1], 0, last)]
    while heap:
        bound, low, high = heapq.heappop(heap)
        if bound >= at(best)[0] or high - low < 2:
            continue
        middle = (low + high) // 2
        best = min((best, middle), key=lambda k: at(k)[0])
        heapq.heappush(heap, (float(atoms[low]) + at(middle)[1], low, middle))
        heapq.heappush(heap, (float(atoms[middle]) + at(high)[1], middle, high))
    known.pop(best, None)
    return at(best)[0], float(atoms[best]), table  # the table is that of the best threshold again


def outcomes(table: Unfolding, objective: CVaR) -> Array:
    """Every value of the inner objective that can come about, sorted."""
    problem, steps = table.problem, table.problem.steps
    if not isinstance(table, TotalsUnfolding):
        table.problem = problem.replace(objective=objective.inner)
        values = table.final_actions()
        table.problem = problem
        return np.unique(values[~np.isnan(values)])
    z = table.final_totals(steps - 1)
    if len(z) > ATOMS:
        raise GumdpError(
            f"solve_exact: there are {len(z):,} different totals in the end, too many for cvar; use grid=…."
        )
    return np.unique([objective.inner.value(row[None, :]) for row in z])


def linear_costs(problem: Problem, costs: Array) -> tuple[Array, Array]:
    """What linear costs of the pairs [S, A], or of the totals [1, k], are for pairs [S, A] and for transitions [n]."""
    model = check_problem("solve_exact", problem, totals=True)
    rows = np.repeat(np.arange(model.offsets.size - 1), np.diff(model.offsets))
    features = problem.features
    if features is None:
        return costs, costs.ravel()[rows]
    assert isinstance(features, TableFeatures)
    each = features.values @ costs.ravel()
    return (features.means @ costs.ravel()).reshape(model.shape), each if features.late else each[rows]


def least_exponential(problem: Problem, costs: Array, beta: float) -> tuple[float, Array]:
    """The least E[exp(β·costs)] and the policy [H, S, A] that has it, by multiplicative backward induction.

    ``costs`` [n] are those of the transitions. Howard and Matheson (1972), "Risk-sensitive Markov decision processes".
    """
    model = check_problem("solve_exact", problem, totals=True)
    states, actions = model.shape
    lengths = np.diff(model.offsets)
    rows = np.repeat(np.arange(lengths.size), lengths)
    policy = np.zeros((problem.horizon, states, actions))
    ahead = np.ones(states)
    for t in range(problem.horizon - 1, -1, -1):
        each = model.probabilities * np.exp(beta * problem.weights[t] * costs) * ahead[model.successors]
        q = np.where(lengths > 0, np.bincount(rows, each, lengths.size), np.inf).reshape(states, actions)
        policy[t, np.arange(states), q.argmin(axis=1)] = 1.0
        ahead = q.min(axis=1)
    return float(model.start_probabilities @ ahead[model.start_states]) ** problem.episodes, policy


def exact_planner(limit: int, grid: float | None, threshold: float) -> AtThreshold:
    """The optimal policy for the risk, looked up."""
    return AtThreshold(Exact(limit, grid), threshold)
