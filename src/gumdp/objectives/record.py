"""Objectives as kernels see them: records that are either *separable* or *dense*.

A separable objective is a function of a few statistics, each a sum over the cells of the occupancy:
``f(d) = combine(z)`` with ``z[m] = Σ_i term(m, i, d[i])``. A dense one answers ``value(d)`` for the whole array.

=========================  ==========================================================================
``count()``                 how many statistics there are
``term(m, i, x)``           what cell ``i`` holding mass ``x`` adds to statistic ``m``
``combine(z, at)``          the value, from the statistics ``z[at], z[at+1], …``
``price(i, x, w, z, at)``   the marginal cost of more mass at cell ``i``, now ``x``, about to get ``w``
``rank(i, x, w, z, at)``    anything that orders actions as ``price`` does, if that is cheaper
``tracks()``                whether ``price`` and ``rank`` read the statistics ``z``
``grouped()``               whether it needs the masses of the states too: cells S·A … S·A+S-1
``dense()``                 whether it is dense
``value(d)``                the value at the cells ``d``
=========================  ==========================================================================

The compiler wants every verb of every objective, hence the two traits with what is common.
"""

from __future__ import annotations

import numpy as np

from gumdp.jit.record import allocating


class Separable:
    """A function of sums over cells. To write: ``term`` and ``price``; as needed: the others."""

    __slots__ = ()

    def count(self):
        return 1

    def combine(self, z, at):
        return z[at]

    def rank(self, i, x, w, z, at):
        return self.price(i, x, w, z, at)

    def tracks(self):
        return False

    def grouped(self):
        return False

    def dense(self):
        return False

    def value(self, d):
        return 0.0


class Dense:
    """A function of the whole occupancy. To write: ``value``."""

    __slots__ = ()

    def count(self):
        return 0

    def term(self, m, i, x):
        return 0.0

    def combine(self, z, at):
        return 0.0

    def price(self, i, x, w, z, at):
        return 0.0

    def rank(self, i, x, w, z, at):
        return 0.0

    def tracks(self):
        return False

    def grouped(self):
        return False

    def dense(self):
        return True


@allocating
def summed_value(objective, d):
    """A separable objective at the cells ``d``, looked at afresh."""
    z = np.zeros(objective.count())
    for m in range(objective.count()):
        for i in range(d.size):
            z[m] += objective.term(m, i, d[i])
    return objective.combine(z, 0)


@allocating
def whole_value(objective, d):
    """The objective at the cells ``d``, looked at afresh."""
    if objective.dense():
        return objective.value(d)
    return summed_value(objective, d)
