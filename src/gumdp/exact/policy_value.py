"""What a given policy is worth, without sampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_bool, check_int
from gumdp.exact.planner import LIMIT, Exact, unfolding_of
from gumdp.objectives.base import Array
from gumdp.occupancy import check_policy, empirical_occupancy, expected_occupancy
from gumdp.policies.base import Planner
from gumdp.policies.fixed import Markov, Random, Stationary
from gumdp.policies.history import NonMarkov, Rule, action_chances
from gumdp.problem import Problem, check_problem


def exact_value(problem: Problem, policy: Any, limit: int = LIMIT) -> float:
    """The exact single-trial value E[f(d)] of a policy: F₁ of the paper, or F_K in a problem of K episodes.

    ``policy`` is an array [S, A] or [H, S, A], one of the planners ``Random``, ``Stationary``, ``Markov``,
    ``NonMarkov`` and ``Exact``, or a function of the history, as for ``NonMarkov``. Equal occupancy states are merged
    unless the policy looks at the history; more than ``limit`` of them are refused.

    >>> import gumdp
    >>> round(gumdp.exact_value(gumdp.zoo.load("m1-entropy", horizon=4), gumdp.Random()), 6)
    0.405084
    """
    check_problem("exact_value", problem, totals=True)
    limit = check_int("exact_value: limit", limit, 1)
    if isinstance(policy, Exact):
        return float(policy.solve(problem).expected)
    if isinstance(policy, NonMarkov):
        return _over_histories(problem, policy.rule, limit)
    if callable(policy):
        return _over_histories(problem, policy, limit)
    table = policy_table("exact_value", problem, policy)
    tables = np.broadcast_to(table, (problem.horizon, *problem.shape))
    unfolding = unfolding_of(problem, limit, "exact_value", lambda t: tables[t] > 0.0)

    def follow(t: int, states: Any, q: Array) -> Array:
        chances = tables[t % problem.horizon][states]
        total: Array = np.where(chances > 0.0, q * chances, 0.0).sum(axis=1)
        return total

    return unfolding.value(follow)


def infinite_trials_value(problem: Problem, policy: Any, truncated: bool = True) -> float:
    """F_∞ of a Markov policy: f of its *expected* occupancy, which infinitely many trials would average to.

    The occupancy is truncated at the problem's horizon, or not at all with ``truncated=False``, which takes a
    stationary policy and a discount below 1. Policies are given as for ``exact_value``.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=4)
    >>> round(gumdp.infinite_trials_value(problem, gumdp.Random()), 6)
    0.022445
    """
    model = check_problem("infinite_trials_value", problem)
    table = policy_table("infinite_trials_value", problem, policy)
    horizon = problem.horizon if check_bool("infinite_trials_value: truncated", truncated) else None
    return problem.value(expected_occupancy(model, table, problem.discount, horizon))


def policy_table(name: str, problem: Problem, policy: Any) -> Array:
    """A Markov policy as an array [S, A] or [H, S, A], whichever way it was given."""
    available = problem.model.available
    if isinstance(policy, Random):
        table: Array = np.ones(problem.shape) if available is None else available.astype(np.float64)
        table /= table.sum(axis=1, keepdims=True)
        return table
    if isinstance(policy, Planner) and not isinstance(policy, (Stationary, Markov)):
        raise GumdpError(f"{name}: policy must be Random(), Stationary, Markov or an array, not {policy!r}.")
    given = policy.policy if isinstance(policy, (Stationary, Markov)) else policy
    return check_policy(f"{name}: policy", given, problem.shape, problem.horizon, available)


def _over_histories(problem: Problem, rule: Rule, limit: int) -> float:
    """The expectation over all histories of a policy that may look at any part of them; nothing is merged."""
    model = check_problem("exact_value", problem)
    starts = list(zip(model.start_states.tolist(), model.start_probabilities.tolist(), strict=True))
    histories: list[tuple[float, tuple[int, ...], tuple[int, ...]]] = [(p, (s,), ()) for s, p in starts]
    made = 0
    for t in range(problem.steps):
        made += len(histories)
        if made > limit:
            raise GumdpError(
                f"exact_value: more than {limit:,} histories can come about under this policy; "
                "shorten the horizon, or raise limit if there are time and memory for it."
            )
        grown = []
        for p, states, actions in histories:
            chances = action_chances(problem, rule(states, actions), states[-1])
            for a in np.flatnonzero(chances).tolist():
                if (t + 1) % problem.horizon == 0:
                    following = starts if t + 1 < problem.steps else [(-1, 1.0)]
                else:
                    following = list(zip(*(x.tolist() for x in model.row(states[-1], a)), strict=True))
                grown += [(p * chances[a] * q, (*states, s), (*actions, a)) for s, q in following]
        histories = grown
    return math.fsum(
        p * problem.value(empirical_occupancy(states[:-1], actions, problem.shape, problem.discount, problem.episodes))
        for p, states, actions in histories
    )
