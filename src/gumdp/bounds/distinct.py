"""The combinatorial bound: how evenly steps of given weights can be spread over so many pairs at best."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order
from scipy.special import xlogy

from gumdp.average.polytope import EPSILON
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array, Objective
from gumdp.objectives.compose import Sum, _Affine
from gumdp.objectives.entropy import Entropy, StateEntropy
from gumdp.objectives.risk import Entropic
from gumdp.problem import Problem


def distinct_bound(problem: Problem) -> float | None:
    """A number that the value of no single trajectory is below, for entropies and what is made of them.

    None where that says nothing beyond the objective's own range.
    """
    pairs, states = reachable(problem)
    found = False

    def least(f: Objective) -> float | None:
        nonlocal found
        if type(f) in (Entropy, StateEntropy):
            found = True
            return spread(problem.weights, pairs if type(f) is Entropy else states, xlogy_itself)
        if isinstance(f, _Affine):
            inner = least(f.inner)
            factor, shift = f.coefficients(problem.shape)
            return None if inner is None else factor * inner + shift
        if isinstance(f, Entropic):
            inner = least(f.inner)
            return None if inner is None else math.exp(f.beta * inner)
        if isinstance(f, Sum):
            one, two = least(f.first), least(f.second)
            return None if one is None or two is None else one + two
        ends = f.bounds(problem.shape)
        return None if ends is None else ends[0]

    value = least(problem.objective)
    if value is None or not found:
        return None
    return value - 4.0 * EPSILON * problem.steps * max(1.0, abs(value))


def spread(weights: Array, cells: int, cost: Callable[[Array], Array]) -> float:
    """The least Σ cost(mass of a cell), cost convex with cost(0) = 0, over all ways to put the weights into cells.

    A weight can't be split. The j heaviest steps lie in at most j cells, so the j largest masses add up to at least
    their weights: every way of filling majorises the one in which the k heaviest steps have a cell each and the
    other cells share the rest evenly, for every k for which that is not more than those weights. A sum of convex
    functions is least for what is majorised by the others. For k = 0 this is the even spread; where there are as
    many cells as steps, no step shares a cell with another.

    >>> spread(np.full(4, 0.25), 2, np.square), round(spread(np.array([0.6, 0.4]), 9, np.square), 6)
    (0.5, 0.52)
    """
    order = np.sort(weights)[::-1]
    rest = np.append(np.cumsum(order[::-1])[::-1], 0.0)  # rest[k]: without the k heaviest
    best = -np.inf
    for k in range(min(cells, order.size) + 1):
        if k == order.size:
            best = max(best, float(cost(order).sum()))
        elif k < cells:
            level = rest[k] / (cells - k)
            if k == 0 or level <= order[k - 1]:
                best = max(best, float(cost(order[:k]).sum() + (cells - k) * cost(np.array([level]))[0]))
    return best


def xlogy_itself(x: Array) -> Array:
    """x·log x."""
    return np.asarray(xlogy(x, x))


def reachable(problem: Problem) -> tuple[int, int]:
    """How many pairs and how many states a trajectory can visit at all."""
    alive = visitable(problem)
    return int(alive.sum()), int(alive.any(axis=1).sum())


def visitable(problem: Problem) -> NDArray[np.bool_]:
    """Which pairs a trajectory can visit at all, [S, A]."""
    model = problem.model
    states, actions = problem.shape
    if not isinstance(model, Tabular):
        return np.ones(problem.shape, bool)
    pairs = model.matrix.tocoo()
    graph = type(model.matrix)((np.ones(pairs.data.size), (pairs.row // actions, pairs.col)), shape=(states, states))
    seen = np.zeros(states, bool)
    for start in model.start_states:
        if not seen[start]:
            seen[breadth_first_order(graph, int(start), return_predecessors=False)] = True
    allowed = np.ones(problem.shape, bool) if model.available is None else model.available
    return np.asarray(allowed & seen[:, None])
