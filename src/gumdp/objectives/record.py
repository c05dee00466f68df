"""Objectives as kernels see them: records that are either *separable* or *dense*.

A separable objective is a function of a few statistics, each a sum over the entries of the occupancy:
``f(d) = combine(z)`` with ``z[m] = Σ_i term(m, i, d[i])``. A dense one answers ``value(d)`` for the whole array.

=========================  ==========================================================================
``count()``                 how many statistics there are
``term(m, i, x)``           what entry ``i`` holding mass ``x`` adds to statistic ``m``
``combine(z, at)``          the value, from the statistics ``z[at], z[at+1], …``
``price(i, x, w, z, at)``   the marginal cost of more mass at entry ``i``, now ``x``, about to get ``w``
``rank(i, x, w, z, at)``    anything that orders actions as ``price`` does, if that is cheaper
``tracks()``                whether ``price`` and ``rank`` read the statistics ``z``
``grouped()``               whether it needs the masses of the states too: entries S·A … S·A+S-1
``dense()``                 whether it is dense
``value(d)``                the value at the entries ``d``
=========================  ==========================================================================

The compiler wants every verb of every objective, hence the traits with what is common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gumdp.jit.record import allocating


class ObjectiveRecord:
    """Every verb, with what most objectives answer."""

    __slots__ = ()

    if TYPE_CHECKING:  # a separable objective must write these two itself

        def term(self, m: int, i: int, x: float) -> float: ...
        def price(self, i: int, x: float, w: float, z: Any, at: int) -> float: ...

    def count(self) -> int:
        return 1

    def combine(self, z: Any, at: int) -> float:
        return float(z[at])

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.price(i, x, w, z, at)

    def tracks(self) -> bool:
        return False

    def grouped(self) -> bool:
        return False

    def dense(self) -> bool:
        return False

    def value(self, d: Any) -> float:
        return 0.0


class Separable(ObjectiveRecord):
    """A function of sums over entries. To write: ``term`` and ``price``; as needed: the others."""

    __slots__ = ()


class Dense(ObjectiveRecord):
    """A function of the whole occupancy. To write: ``value``."""

    __slots__ = ()

    def count(self) -> int:
        return 0

    def term(self, m: int, i: int, x: float) -> float:
        return 0.0

    def combine(self, z: Any, at: int) -> float:
        return 0.0

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return 0.0

    def dense(self) -> bool:
        return True


class Wrapping(ObjectiveRecord):
    """An increasing function of one other objective, ``inner``. To write: ``combine``, ``price`` and ``value``."""

    __slots__ = ()
    inner: ObjectiveRecord

    def count(self) -> int:
        return self.inner.count()

    def term(self, m: int, i: int, x: float) -> float:
        return self.inner.term(m, i, x)

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        return self.inner.rank(i, x, w, z, at)

    def tracks(self) -> bool:
        return self.inner.tracks()

    def grouped(self) -> bool:
        return self.inner.grouped()

    def dense(self) -> bool:
        return self.inner.dense()


@allocating
def summed_value(objective, d):
    """A separable objective at the entries ``d``, looked at afresh."""
    z = np.zeros(objective.count())
    for m in range(objective.count()):
        for i in range(d.size):
            z[m] += objective.term(m, i, d[i])
    return objective.combine(z, 0)


@allocating
def whole_value(objective, d):
    """The objective at the entries ``d``, looked at afresh."""
    if objective.dense():
        return objective.value(d)
    return summed_value(objective, d)
