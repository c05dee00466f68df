"""The occupancies that policies have on average: a polytope, asked for its cheapest point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import spsolve

from gumdp.errors import GumdpError
from gumdp.models.chain import (
    chain_of,
    flow_forth,
    improve,
    plan_back,
    plan_forth,
    relax,
    soften,
    soften_back,
)
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem

DIRECT = 5_000  # states up to which linear equations are factorised
SWEEPS = 100_000
EPSILON = float(np.finfo(float).eps)
NOTHING = 1e-8  # the mass of a state that solvers with tolerances leave where there should be none


Plan = NDArray[Any]  # actions of each state, or their probabilities


class Corner(NamedTuple):
    """The cheapest way to live under linear costs."""

    bound: float  # no occupancy of the polytope costs less: rounding is allowed for
    occupancy: Array  # [S, A]: of a plan that costs (nearly) this
    plan: NDArray[np.int32]  # [S] or [H, S]: the actions of that plan


class Stationary:
    """The occupancies of the infinite horizon: d(s') = (1-γ)·start(s') + γ·Σ P(s'|s,a)·d(s,a)."""

    def __init__(self, problem: Problem) -> None:
        model = check_problem("the infinite horizon", problem)
        if problem.discount >= 1.0:
            raise GumdpError("the infinite horizon needs a discount below 1; with discount 1 take horizon='finite'.")
        self.model, self.discount, self.shape = model, problem.discount, model.shape
        self.chain = chain_of(model)
        self._values = np.zeros(model.shape[0])  # of the last costs, to begin with
        self._worth = np.zeros(model.shape[0])
        self._mass = model.start

    @property
    def uniform(self) -> Array:
        """Any available action, [S, A]."""
        allowed = np.ones(self.shape) if self.model.available is None else self.model.available.astype(np.float64)
        return np.asarray(allowed / allowed.sum(axis=1, keepdims=True))

    def cheapest(self, costs: Array, width: float = 0.0) -> Corner:
        """The corner for costs [S, A]; the bound is within ``width`` of the corner's cost, or nearly so."""
        flat, choices = np.ascontiguousarray(costs.ravel()), np.zeros(self.shape[0], np.int32)
        scale = float(np.abs(flat).max()) / (1.0 - self.discount)
        width = max(width, 8.0 * EPSILON * scale)
        small = self.shape[0] <= DIRECT
        for _ in range(50):
            change, left = improve(
                self.chain, self.discount, flat, self._values, choices, 16 if small else SWEEPS, width
            )
            if left <= width or not small:
                break
            follow = self._chain(_one_hot(choices, self.shape[1]))
            at = np.arange(self.shape[0]) * self.shape[1] + choices
            self._values = _solve(sparse.eye_array(self.shape[0]) - self.discount * follow, flat[at])
        total = (1.0 - self.discount) * float(self.model.start @ self._values) + change
        margin = EPSILON * scale * (8 + int(np.diff(self.chain.offsets).max()) + self.chain.start_states.size)
        return Corner(total - margin, self.occupancy(_one_hot(choices, self.shape[1])), choices)

    def occupancy(self, policy: Array) -> Array:
        """The occupancy of a stationary policy [S, A]."""
        follow, start = self._chain(policy), (1.0 - self.discount) * self.model.start
        if self.shape[0] <= DIRECT:
            mass = _solve(sparse.eye_array(self.shape[0]) - self.discount * follow.T, start)
        else:
            matrix = follow.T.tocsr()
            mass = self._mass = self._mass.copy()
            relax(
                matrix.indptr, matrix.indices, matrix.data, self.discount, start, mass,
                SWEEPS, 1e-3 * EPSILON,
            )  # fmt: skip
        mass = np.maximum(mass, 0.0)
        return np.asarray(policy * (mass / mass.sum())[:, None])

    def softer(self, policy: Array, costs: Array, step: float) -> Array:
        """``policy`` after one step of mirror descent: ∝ policy · exp(-step·Q), Q its costs to go."""
        follow, flat = self._chain(policy), np.ascontiguousarray(costs.ravel())
        mean = (policy * costs).sum(axis=1)
        if self.shape[0] <= DIRECT:
            self._worth = _solve(sparse.eye_array(self.shape[0]) - self.discount * follow, mean)
        else:
            tolerance = 1e-9 * max(1.0, float(np.abs(mean).max()))
            relax(
                follow.indptr, follow.indices, follow.data, self.discount, mean, self._worth,
                SWEEPS, tolerance,
            )  # fmt: skip
        softened = policy.copy()
        soften(self.chain, self.discount, flat, self._worth, step, softened.reshape(-1), np.empty(self.shape[1]))
        return softened

    def hold(self, plan: Plan) -> Plan:
        """What to keep of a policy [S, A], or of the plan [S] of a corner: its occupancy, which mixes linearly."""
        return self.occupancy(plan if plan.ndim == 2 else _one_hot(plan, self.shape[1]))

    def mixed(self, shares: Array, plans: Sequence[Plan]) -> Array:
        """The policy [S, A] whose occupancy is the mean of those that were held, weighted by their shares."""
        total = np.zeros(self.shape)
        for share, occupancy in zip(shares, plans, strict=True):
            total += share * occupancy
        return ratios(total, self.uniform)

    def _chain(self, policy: Array) -> sparse.csr_array:
        """The transition matrix [S, S] of a policy."""
        states, actions = self.shape
        rows = sparse.csr_array(
            (np.ascontiguousarray(policy.ravel()), np.arange(states * actions), np.arange(states + 1) * actions),
            shape=(states, states * actions),
        )
        return sparse.csr_array(rows @ self.model.matrix)


class Truncated:
    """The occupancies of the horizon: Σ_t w_t·p_t, p_t(s,a) the probability of the pair at step t."""

    def __init__(self, problem: Problem) -> None:
        model = check_problem("the finite horizon", problem)
        self.model, self.shape = model, model.shape
        self.weights, self.horizon = problem.weights, problem.horizon
        self.chain = chain_of(model)
        self._scratch = (np.zeros(model.shape[0]), np.zeros(model.shape[0]), np.zeros(model.shape[1]))

    @property
    def uniform(self) -> Array:
        """Any available action, [H, S, A]."""
        allowed = np.ones(self.shape) if self.model.available is None else self.model.available.astype(np.float64)
        one = allowed / allowed.sum(axis=1, keepdims=True)
        return np.repeat(one[None], self.horizon, axis=0)

    def cheapest(self, costs: Array, width: float = 0.0) -> Corner:
        """The corner for costs [S, A]. Dynamic programming is exact, up to rounding."""
        flat = np.ascontiguousarray(costs.ravel())
        choices = np.zeros((self.weights.size, self.shape[0]), np.int32)
        values, ahead, _ = self._scratch
        plan_back(self.chain, self.weights, self.horizon, 0, flat, choices, values, ahead)
        bound = float(self.model.start @ values) - rounding(self, float(np.abs(flat).max()))
        d, mass = np.zeros(flat.size), self.model.start
        plan_forth(self.chain, self.weights, self.horizon, 0, choices, mass, ahead, d)
        return Corner(bound, d.reshape(self.shape), choices[: self.horizon])

    def occupancy(self, policy: Array) -> Array:
        """The occupancy of a policy [H, S, A]."""
        d = np.zeros(self.shape[0] * self.shape[1])
        flow_forth(
            self.chain, self.weights, self.horizon, 0, policy.reshape(self.horizon, -1), self.model.start,
            self._scratch[1], d,
        )  # fmt: skip
        return d.reshape(self.shape)

    def softer(self, policy: Array, costs: Array, step: float) -> Array:
        """``policy`` after one step of mirror descent: ∝ policy · exp(-step·Q), Q its costs to go."""
        softened = np.ascontiguousarray(policy.reshape(self.horizon, -1)).copy()
        flat = np.ascontiguousarray(costs.ravel())
        soften_back(self.chain, self.weights, self.horizon, flat, step, softened, *self._scratch)
        return softened.reshape(policy.shape)

    def hold(self, plan: Plan) -> Plan:
        """What to keep of a policy [H, S, A], or of the plan [H, S] of a corner: itself, which is small."""
        return plan

    def mixed(self, shares: Array, plans: Sequence[Plan]) -> Array:
        """The policy [H, S, A] whose occupancy is the mean of those that were held, weighted by their shares.

        What mixes linearly is the probability of each pair at each step. Steps come one by one: all at once, and of
        every plan, they may not fit into memory.
        """
        policy, forward, masses = self.uniform, self.model.matrix.T.tocsr(), [self.model.start] * len(plans)
        for t in range(self.horizon):
            total = np.zeros(self.shape)
            for k, (share, plan) in enumerate(zip(shares, plans, strict=True)):
                now = plan[t] if plan.ndim == 3 else _one_hot(plan[t], self.shape[1])
                flow = masses[k][:, None] * now
                total += share * flow
                masses[k] = forward @ flow.ravel()
            policy[t] = ratios(total, policy[t])
        return policy


def rounding(polytope: Truncated, largest: float) -> float:
    """An upper bound on the rounding error of dynamic programming with costs up to ``largest``.

    Every step adds the products of one row; a sum of n terms is off by at most n·ε of the sum of their sizes.
    """
    row = int(np.diff(polytope.chain.offsets).max())
    terms = polytope.weights.size * (row + 4) + polytope.chain.start_states.size
    return float(2.0 * EPSILON * terms * largest)


def ratios(flow: Array, fallback: Array, nothing: float = 0.0) -> Array:
    """Distributions over actions in proportion to ``flow``, and ``fallback`` where it is ``nothing`` or less."""
    flow = np.maximum(flow, 0.0) * (fallback > 0.0)  # a solver leaves a trace on what is not available
    mass = flow.sum(axis=-1, keepdims=True)
    some = np.where(mass > nothing, mass, 1.0)
    return np.where(mass > nothing, flow / some, fallback)


def _one_hot(choices: NDArray[np.int32], actions: int) -> Array:
    table = np.zeros((choices.size, actions))
    table[np.arange(choices.size), choices] = 1.0
    return table


def _solve(matrix: sparse.sparray, right: Array) -> Array:
    return np.asarray(spsolve(sparse.csc_array(matrix), right)).reshape(-1)
