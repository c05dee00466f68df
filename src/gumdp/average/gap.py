"""How far a point can be from the optimum of the convex programme: the gap between it and a bound from below.

For every tangent f(e) ≥ c + g·e, no occupancy has a value below c + min g·e, and the minimum is dynamic programming.
Where f has a kink at its optimum, no single tangent there is tight; a mean of several is, and linear programming
finds the shares. A constraint costs·d ≤ limit enters with a price p ≥ 0: g becomes g + p·costs, c becomes c - p·limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from gumdp.average.conic import Constraint
from gumdp.average.point import Point
from gumdp.average.polytope import EPSILON, NOTHING, Corner, Stationary, Truncated, ratios
from gumdp.average.tangents import Tangents
from gumdp.objectives.base import Array

ROUNDS = 30  # of cutting planes
LARGEST = 20_000  # variables of a linear programme that is solved only to certify


class Certifier:
    """The best lower bound so far on f over a polytope, and the tangents that made it."""

    def __init__(
        self, tangents: Tangents, polytope: Stationary | Truncated, constraints: Sequence[Constraint] = ()
    ) -> None:
        self.tangents, self.polytope = tangents, polytope
        self.constraints = list(constraints)
        self.bound = -np.inf
        self.tangent: tuple[float, Array] | None = None  # the one that gave it

    def try_tangent(self, constant: float, slope: Array, prices: Array | None = None) -> float:
        """The bound that a tangent gives, which is remembered if it is the best."""
        prices = np.zeros(len(self.constraints)) if prices is None else prices
        for price, (costs, limit) in zip(prices, self.constraints, strict=True):
            slope, constant = slope + price * costs, constant - price * limit
        return self.note(constant, slope, self.polytope.cheapest(slope))

    def note(self, constant: float, slope: Array, corner: Corner) -> float:
        """The bound of a tangent whose cheapest corner is known."""
        margin = EPSILON * (abs(constant) + float(np.abs(slope).max())) * (slope.size + 8)
        bound = constant + corner.bound - margin
        if bound > self.bound:
            self.bound, self.tangent = bound, (constant, slope)
        return bound

    def look_at(self, d: Array, prices: Array | None = None) -> float:
        """The gap between f(d) and the best bound, after trying the tangents at d, sharp and smoothed."""
        for smoothing in (0.0, 1e-5, 1e-4, 1e-3, 1e-2) if self.tangents.kinked else (0.0,):
            self.try_tangent(*self.tangents.at(d, smoothing), prices)
        return self.tangents.value(d) - self.bound

    def cut(self, point: Point, wanted: float) -> Point:
        """The point, or a better one, with its gap, after Kelley's method.

        Linear programmes over more and more tangents: their optima are new points, and the shares of the tangents
        make a mean of them that bounds f from below. For the largest of linear costs this is exact after a few.
        """
        if _size(self.polytope) > LARGEST:
            return point._replace(gap=min(point.gap, point.value - self.bound))
        cuts, count = [self.tangents.at(point.occupancy)], len(self.constraints)
        for _ in range(ROUNDS):
            made = lowest(self.polytope, cuts, self.constraints)
            if made is None:
                break
            flow, shares, prices = made
            constant = float(sum(s * c for s, (c, _) in zip(shares, cuts, strict=True)))
            slope = sum((s * g for s, (_, g) in zip(shares, cuts, strict=True)), np.zeros(self.polytope.shape))
            self.try_tangent(constant, slope, prices)
            policy = ratios(flow, self.polytope.uniform, NOTHING)
            d = self.polytope.occupancy(policy)
            if self.tangents.value(d) < point.value and not count:
                point = Point(policy, d, self.tangents.value(d), point.gap, point.iterations)
            if point.value - self.bound <= wanted:
                break
            cuts.append(self.tangents.at(d))
        return point._replace(gap=max(0.0, min(point.gap, point.value - self.bound)))


def lowest(
    polytope: Stationary | Truncated, cuts: list[tuple[float, Array]], constraints: Sequence[Constraint]
) -> tuple[Array, Array, Array] | None:
    """The flow where the largest of some tangents is least, the tangents' shares there, the constraints' prices."""
    from scipy.optimize import linprog

    equal, right, spread, weigh = flow_rules(polytope)
    count = equal.shape[1]
    slopes = sparse.csr_array(np.array([g.ravel() for _, g in cuts])) @ weigh
    rows, limits = [sparse.hstack([slopes, -np.ones((len(cuts), 1))])], [-c for c, _ in cuts]
    for costs, limit in constraints:
        rows.append(sparse.hstack([sparse.csr_array(costs.reshape(1, -1)) @ weigh, np.zeros((1, 1))]))
        limits.append(limit)
    result = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=sparse.vstack(rows, format="csr"), b_ub=np.array(limits),
        A_eq=sparse.hstack([equal, np.zeros((equal.shape[0], 1))], format="csr"), b_eq=right,
        bounds=[(0.0, None)] * count + [(None, None)], method="highs",
    )  # fmt: skip
    if result.x is None or not result.success:
        return None
    prices = np.maximum(0.0, -result.ineqlin.marginals)
    shares = prices[: len(cuts)]
    if not shares.sum() > 0.0:
        return None
    flow = (spread @ result.x[:count]).reshape(polytope.uniform.shape)
    return flow, shares / shares.sum(), prices[len(cuts) :]


def flow_rules(
    polytope: Stationary | Truncated,
) -> tuple[sparse.csr_array, Array, sparse.csr_array, sparse.csr_array]:
    """(E, b, F, W): x ≥ 0 with E·x = b are the flows F·x [S·A] or [H·S·A], and make the occupancies W·x [S·A]."""
    model, (states, actions) = polytope.model, polytope.shape
    cells = states * actions
    leave = sparse.kron(sparse.eye_array(states), np.ones((1, actions)), format="csr")
    arrive = model.matrix.T.tocsr()
    keep = np.arange(cells) if model.available is None else np.flatnonzero(model.available.ravel())
    some = sparse.csr_array(sparse.eye_array(cells, format="csr")[:, keep])
    if isinstance(polytope, Stationary):
        rules = sparse.csr_array((leave - polytope.discount * arrive) @ some)
        return rules, (1.0 - polytope.discount) * model.start, some, some
    horizon = polytope.horizon
    later = sparse.kron(sparse.eye_array(horizon, k=-1), -(arrive @ some))
    rules = sparse.csr_array(sparse.kron(sparse.eye_array(horizon), leave @ some) + later)
    right = np.concatenate([model.start, np.zeros(states * (horizon - 1))])
    weights = polytope.weights.reshape(-1, horizon).sum(axis=0)
    spread = sparse.csr_array(sparse.kron(sparse.eye_array(horizon), some))
    return rules, right, spread, sparse.csr_array(sparse.kron(weights[None], some))


def _size(polytope: Stationary | Truncated) -> int:
    cells = polytope.shape[0] * polytope.shape[1]
    return cells if isinstance(polytope, Stationary) else cells * polytope.horizon
