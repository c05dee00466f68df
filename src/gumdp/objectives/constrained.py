"""Budgets that hold in this run: a cost, and penalties for what is spent beyond."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError
from gumdp.jit.record import record, u64
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tables import cost_table, match, number_table
from gumdp.objectives.tangent import Tangent, add_to, added


class Constrained(Objective):
    """f(d) = c·d + Σ_k p_k·max(0, c_k·d − b_k): every run keeps its own budgets b_k, or pays for the excess.

    Args:
        costs: c [S, A]; zeros where only the budgets matter, as in ``Entropy() + Constrained(zeros, …)``.
        constraints: c_k, [K, S, A], or [S, A] for a single one.
        budgets: b_k, [K], or one number for all.
        penalty: p_k ≥ 0, [K], or one number for all.

    Convex. Upper bound: the largest value on one pair, where a convex function is largest. Lower bound:
    min c + Σ p_k·max(0, min c_k − b_k), each part at its least. Lipschitz constant: max |c| + Σ p_k·max |c_k|, as
    max(0, ·) doesn't stretch. The gradient counts the budgets that are exceeded.

    >>> import numpy as np
    >>> f = Constrained([[0.0, 1.0]], [[1.0, 0.0]], budgets=0.5, penalty=10.0)
    >>> f.value(np.array([[0.75, 0.25]]))  # 0.25, and 10 times the excess of 0.25
    2.75
    """

    convex = True

    def __init__(self, costs: ArrayLike, constraints: ArrayLike, budgets: ArrayLike, penalty: ArrayLike) -> None:
        self.costs = cost_table("Constrained: costs", costs)
        table = number_table("Constrained: constraints", constraints)
        if np.ndim(costs) == 1 and table.ndim in (1, 2):  # of totals, which are a table of one row
            table = table[..., None, :]
        if table.ndim not in (2, 3) or table.shape[-2:] != self.costs.shape:
            rule = f"[K, S, A] with (S, A) = {self.costs.shape} as the costs have"
            raise GumdpError(f"Constrained: constraints must have the shape {rule}, not {table.shape}.")
        self.constraints = table.reshape(-1, *self.costs.shape)
        self.budgets = self._one_each("budgets", budgets)
        self.penalty = self._one_each("penalty", penalty)
        if self.penalty.min() < 0.0:
            raise GumdpError(f"Constrained: penalty must not be negative, not {self.penalty.min():g}.")

    def _one_each(self, what: str, values: ArrayLike) -> Array:
        table = number_table(f"Constrained: {what}", values)
        count = len(self.constraints)
        if table.shape not in ((), (count,)):
            raise GumdpError(
                f"Constrained: {what} must be one number, or one for each of the {count} constraints, "
                f"not an array of shape {table.shape}."
            )
        return np.full(count, table)

    def __repr__(self) -> str:
        return f"Constrained(costs of shape {self.costs.shape}, {len(self.budgets)} budgets)"

    def value(self, d: Array) -> float:
        return float((self.costs * d).sum() + self.penalty @ np.maximum(0.0, self.excess(d)))

    def excess(self, d: Array) -> Array:
        """c_k·d − b_k [K]: by how much each budget is exceeded, negative where something is left."""
        return np.asarray((self.constraints * d).sum(axis=(1, 2)) - self.budgets)

    def gradient(self, d: Array) -> Array:
        over = self.penalty * (self.excess(d) > 0.0)
        return self.costs + np.tensordot(over, self.constraints, axes=1)

    def bounds(self, shape: Shape) -> tuple[float, float]:
        beyond = np.maximum(0.0, self.constraints - self.budgets[:, None, None])  # [K, S, A], all mass on one pair
        low = self.costs.min() + self.penalty @ beyond.min(axis=(1, 2))
        return float(low), float((self.costs + np.tensordot(self.penalty, beyond, axes=1)).max())

    def lipschitz(self, shape: Shape) -> float:
        return float(np.abs(self.costs).max() + self.penalty @ np.abs(self.constraints).max(axis=(1, 2)))

    def expression(self, d: Any) -> Any:
        import cvxpy

        x = cvxpy.vec(d, order="C")
        excess = self._rows @ x - self.budgets
        return self.costs.ravel() @ x + self.penalty @ cvxpy.pos(excess)

    def check_shape(self, shape: Shape) -> None:
        match("Constrained: costs", self.costs, shape)

    def record(self, shape: Shape) -> Any:
        rows = np.concatenate([self.costs.reshape(1, -1), self._rows])
        return ConstrainedRecord(rows.ravel(), self.budgets, self.penalty, len(self.budgets), self.costs.size)

    def tangent(self, shape: Shape) -> Any:
        span = float(np.abs(self._rows - self.budgets[:, None]).max())
        return BudgetTangent(self.costs.ravel(), self._rows, self.budgets, self.penalty, span)

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum((Terms(of=self._rows, hinge=self.penalty, kink=self.budgets),), self.costs)

    @property
    def _rows(self) -> Array:
        """c_k [K, S·A]."""
        return self.constraints.reshape(len(self.budgets), -1)


@record
class ConstrainedRecord(Separable):
    """z₀ + Σ p·max(0, z_k − b). The price of a pair is what all of it would grow by."""

    rows: Any  # float64 [(1 + K) · S·A]: the cost, then the constraints
    budgets: Any  # float64 [K]
    penalties: Any  # float64 [K]
    kinds: int  # K
    pairs: int  # S·A

    def count(self) -> int:
        return self.kinds + 1

    def term(self, m: int, i: int, x: float) -> float:
        return float(self.rows[u64(m) * u64(self.pairs) + u64(i)] * x) if i < self.pairs else 0.0

    def combine(self, z: Any, at: int) -> float:
        total = float(z[at])
        for k in range(self.kinds):
            total += float(self.penalties[k]) * max(0.0, float(z[at + 1 + k] - self.budgets[k]))
        return total

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        total = float(self.rows[u64(i)])
        for k in range(self.kinds):
            before = float(z[at + 1 + k] - self.budgets[k])
            after = before + w * float(self.rows[u64(k + 1) * u64(self.pairs) + u64(i)])
            total += float(self.penalties[k]) * (max(0.0, after) - max(0.0, before)) / w
        return total

    def tracks(self) -> bool:
        return True


@record
class BudgetTangent(Tangent):
    """c·d + Σ p_k·max(0, c_k·d - b_k): max(0, y) ≥ q·y for every q in [0, 1]."""

    costs: Any  # float64 [S·A]
    rows: Any  # float64 [K, S·A]
    budgets: Any  # float64 [K]
    penalties: Any  # float64 [K]
    span: float  # of the measurements

    def value(self, d: Any) -> float:
        value = added(0.0, self.costs, d)
        for k in range(self.budgets.size):
            value += self.penalties[k] * max(0.0, added(-self.budgets[k], self.rows[k], d))
        return float(value)

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        constant, width = 0.0, smoothing * self.span
        add_to(g, factor, self.costs)
        for k in range(self.budgets.size):
            over = added(-self.budgets[k], self.rows[k], d)
            share = 1.0 if over > 0.0 else 0.0
            if width > 0.0:
                share = 1.0 / (1.0 + math.exp(min(700.0, max(-700.0, -over / width))))
            share *= factor * self.penalties[k]
            add_to(g, share, self.rows[k])
            constant -= share * self.budgets[k]
        return constant

    def kinked(self) -> bool:
        return True

    def measures(self) -> tuple[Array, float]:
        return np.vstack([self.costs[None, :], self.rows]), 1.0 + float(np.sum(self.penalties))
