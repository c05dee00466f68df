"""Spread the time evenly over groups of states and actions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, describe, items
from gumdp.jit.record import record, u64
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.record import Separable
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tangent import LEAST, Tangent

MOST = 4096  # groups


class GroupEntropy(Objective):
    """f(d) = Σ_g d(g) log d(g), where d(g) is the share of the time in group g: the least when all are alike.

    Args:
        groups: a label for each pair [S, A], or for each state [S]: whole numbers from 0, or texts. What has a negative
            label, or ``None``, belongs to no group, and its time does not count.
        names: of the groups, where labels are numbers.

    Bounds: f is between -log K and 0, with all groups alike and with one alone. Where not all time counts, one or two
    groups can reach -1/e each.

    >>> import numpy as np
    >>> rooms = GroupEntropy(["hall", "hall", "kitchen"])
    >>> rooms.shares(np.array([[0.25], [0.25], [0.5]]))
    {'hall': 0.5, 'kitchen': 0.5}
    """

    convex = True
    signed = False

    def __init__(self, groups: ArrayLike, names: Sequence[str] | None = None) -> None:
        self.labels, found = _numbered(groups)
        self.count = int(self.labels.max()) + 1
        if self.count < 1:
            raise GumdpError("GroupEntropy: groups must put at least one pair into a group; all labels are negative.")
        if self.count > MOST:
            raise GumdpError(f"GroupEntropy: there can be {MOST} groups at most, not {self.count}.")
        given = found if names is None else items(names)
        if names is not None and (
            given is None or len(given) != self.count or not all(isinstance(n, str) for n in given)
        ):
            raise GumdpError(f"GroupEntropy: names must be {self.count} texts, one for each group.")
        self.names = tuple(given) if given else tuple(str(k) for k in range(self.count))

    def __repr__(self) -> str:
        return f"GroupEntropy({self.count} groups)"

    def shares(self, d: ArrayLike) -> dict[str, float]:
        """The share of the time in each group, by name."""
        table = np.asarray(d, dtype=np.float64)
        self.check_shape(table.shape)
        return dict(zip(self.names, self._masses(table).tolist(), strict=True))

    def value(self, d: Array) -> float:
        mass = self._masses(d)
        return float((mass * np.log(np.where(mass > 0.0, mass, 1.0))).sum())

    def gradient(self, d: Array) -> Array:
        slopes = np.append(np.log(np.maximum(self._masses(d), LEAST)) + 1.0, 0.0)  # the last one: of no group
        return np.asarray(slopes[self._pairs(d.shape)])

    def bounds(self, shape: Shape) -> tuple[float, float]:
        whole = (self.labels >= 0).all()
        return (-self.count / math.e if self.count <= 2 and not whole else -math.log(self.count)), 0.0

    def expression(self, d: Any) -> Any:
        import cvxpy

        return -cvxpy.sum(cvxpy.entr(self._indicators(d.shape) @ cvxpy.vec(d, order="C")))

    def check_shape(self, shape: Any) -> None:
        if tuple(shape)[: self.labels.ndim] != self.labels.shape:
            raise GumdpError(
                f"GroupEntropy: groups has the shape {self.labels.shape}, but the model has shape {tuple(shape)}."
            )

    def record(self, shape: Shape) -> Any:
        return GroupEntropyRecord(self._pairs(shape).ravel().astype(np.int32), self.count)

    def tangent(self, shape: Shape) -> Any:
        labels = self._pairs(shape).ravel()
        order = np.argsort(labels, kind="stable")
        return GroupEntropyTangent(order, np.searchsorted(labels[order], np.arange(self.count + 1)))

    def separable(self, shape: Shape) -> SeparableSum:
        return SeparableSum((Terms(of=self._indicators(shape), entropy=1.0),))

    def _pairs(self, shape: Any) -> Any:
        """The label of each pair [S, A]."""
        return self.labels if self.labels.ndim == 2 else np.broadcast_to(self.labels[:, None], shape)

    def _masses(self, d: Array) -> Array:
        labels = self._pairs(d.shape)
        inside = labels >= 0
        return np.asarray(np.bincount(labels[inside], weights=d[inside], minlength=self.count))

    def _indicators(self, shape: Any) -> Array:
        return np.asarray(self._pairs(shape).ravel() == np.arange(self.count)[:, None], dtype=np.float64)


def _numbered(groups: Any) -> tuple[Any, list[str] | None]:
    """Labels as whole numbers, and the names of those that were texts, by first occurrence."""
    try:
        given = np.array(groups, dtype=object)
    except ValueError:
        given = np.array(None)
    flat = given.ravel().tolist()
    if given.ndim not in (1, 2) or not flat:
        raise GumdpError(f"GroupEntropy: groups must be labels of shape [S] or [S, A], not {describe(groups)}.")
    if all(x is None or isinstance(x, str) for x in flat):
        names = list(dict.fromkeys(x for x in flat if x is not None))
        numbers = [-1 if x is None else names.index(x) for x in flat]
        return np.array(numbers, np.int64).reshape(given.shape), names
    if not all(x is None or (isinstance(x, (int, np.integer)) and not isinstance(x, bool)) for x in flat):
        raise GumdpError("GroupEntropy: groups must be whole numbers or texts, one label for each state or pair.")
    numbers = [-1 if x is None else max(-1, min(int(x), MOST + 1)) for x in flat]
    return np.array(numbers, np.int64).reshape(given.shape), None


@record
class GroupEntropyRecord(Separable):
    """The sum of z·log z over the masses z of the groups."""

    labels: Any  # int32 [S·A]
    groups: int

    def count(self) -> int:
        return self.groups

    def term(self, m: int, i: int, x: float) -> float:
        return x if i < self.labels.size and self.labels[u64(i)] == m else 0.0

    def combine(self, z: Any, at: int) -> float:
        total = 0.0
        for k in range(self.groups):
            x = float(z[at + k])
            if x > 0.0:
                total += x * math.log(x)
        return total

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        label = self.labels[u64(i)]
        if label < 0:
            return 0.0
        now = max(float(z[at + label]), 0.0)
        before = now * math.log(now) if now > 0.0 else 0.0
        return ((now + w) * math.log(now + w) - before) / w

    def tracks(self) -> bool:
        return True


@record
class GroupEntropyTangent(Tangent):
    """Σ z·log z over the masses of the groups."""

    order: Any  # int64 [S·A]: the pairs, group after group, those of no group first
    firsts: Any  # int64 [K + 1]

    def value(self, d: Any) -> float:
        total = 0.0
        for k in range(self.firsts.size - 1):
            m = 0.0
            for j in range(self.firsts[k], self.firsts[k + 1]):
                m += d[self.order[j]]
            if m > 0.0:
                total += m * math.log(m)
        return total

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        total = 0.0
        for k in range(self.firsts.size - 1):
            m = 0.0
            for j in range(self.firsts[k], self.firsts[k + 1]):
                m += d[self.order[j]]
            m = max(m, LEAST)
            slope = factor * (math.log(m) + 1.0)
            for j in range(self.firsts[k], self.firsts[k + 1]):
                g[self.order[j]] += slope
            total += m
        return -factor * total
