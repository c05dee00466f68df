"""Beliefs in another formulation, to compare with: probabilities of whole histories, and all histories one by one."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

Steps = tuple[tuple[int, int, int], ...]  # (state, action, next state)
Marginal = Callable[[Steps], float]  # the probability that these next states follow, over all worlds


def dirichlet_marginal(prior: dict[Any, dict[Any, float]], label: Callable[[int, int], Any], ways: Any) -> Marginal:
    """From the Dirichlet-multinomial formula; ``ways(s, a, after)`` are the outcomes that lead there.

    ``prior[label]`` has the pseudo-counts of the outcomes of one distribution. Where several outcomes lead to the same
    state, all sequences of them are added up.
    """

    def of_outcomes(steps: Steps, outcomes: Sequence[Any]) -> float:
        counts: dict[Any, dict[Any, int]] = {}
        for (s, a, _), outcome in zip(steps, outcomes, strict=True):
            own = counts.setdefault(label(s, a), {})
            own[outcome] = own.get(outcome, 0) + 1
        log = 0.0
        for name, seen in counts.items():
            total, n = sum(prior[name].values()), sum(seen.values())
            log += gammaln(total) - gammaln(total + n)
            log += sum(gammaln(prior[name][k] + c) - gammaln(prior[name][k]) for k, c in seen.items())
        return math.exp(log)

    def marginal(steps: Steps) -> float:
        return sum(of_outcomes(steps, chosen) for chosen in itertools.product(*(ways(*step) for step in steps)))

    return marginal


def candidates_marginal(tables: Sequence[np.ndarray], weights: Sequence[float]) -> Marginal:
    """From the product of the probabilities in each table."""
    return lambda steps: float(
        sum(w * math.prod(table[step] for step in steps) for table, w in zip(tables, weights, strict=True))
    )


def optimum(problem: Any, marginal: Marginal, start: int = 0) -> float:
    """The least expected cost over all policies, from all histories one by one."""
    states, actions = problem.shape

    def value(s: int, pairs: tuple[tuple[int, int], ...], steps: Steps) -> float:
        return min(after(s, a, (*pairs, (s, a)), steps) for a in range(actions))

    def after(s: int, a: int, pairs: tuple[tuple[int, int], ...], steps: Steps) -> float:
        t = len(pairs)
        if t == problem.steps:
            d = np.zeros(problem.shape)
            for w, pair in zip(problem.weights, pairs, strict=True):
                d[pair] += w
            return float(problem.objective(d))
        if t % problem.horizon == 0:
            return value(start, pairs, steps)
        total, before = 0.0, marginal(steps)
        for following in range(states):
            longer = (*steps, (s, a, following))
            p = marginal(longer) / before
            if p > 0.0:
                total += p * value(following, pairs, longer)
        return total

    return value(start, (), ())
