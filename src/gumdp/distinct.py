"""The combinatorial bound: how evenly steps of given weights can be spread over so many pairs at best."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array, Objective
from gumdp.problem import Problem

EPSILON = float(np.finfo(float).eps)


def distinct_bound(problem: Problem) -> float | None:
    """A number that the value of no single trajectory is below, for entropies and what is made of them.

    So too for every objective that says that it charges all pairs, or all states, alike (``separable``), and convexly.
    None where that says nothing beyond the objective's own range.
    """
    shape, counts = problem.shape, dict(zip(("pairs", "states"), reachable(problem), strict=True))
    found = False

    def least(f: Objective) -> float | None:
        nonlocal found
        if made := f.parts(shape):
            shift, parts = made
            inner = [(factor, least(part)) for factor, part in parts]
            known = [factor * value for factor, value in inner if value is not None]
            return sum(known[1:], known[0]) + shift if len(known) == len(inner) else None
        if f.exponential:
            beta, part = f.exponential
            value = least(part)
            return None if value is None else math.exp(beta * value)
        total = f.separable(shape)
        if total and np.ndim(total.costs) == 0 and all(terms.even for terms in total.terms):
            found = True
            charges = [spread(problem.weights, counts[str(terms.of)], terms.costs) for terms in total.terms]
            return sum(charges, float(total.costs) + total.constant)
        ends = f.bounds(shape)
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


def reachable(problem: Problem) -> tuple[int, int]:
    """How many pairs and how many states a trajectory can visit at all."""
    if not isinstance(problem.model, Tabular):  # there may be more than fit into a table
        return math.prod(problem.shape), problem.shape[0]
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
