"""Confidence limits of a mean, with and without assumptions."""

from __future__ import annotations

import math

import numpy as np

from gumdp.objectives.base import Array


def bernstein_margin(values: Array, width: float, delta: float) -> float:
    """How far the mean of values in an interval of this width can be from the true one, but for probability ``delta``.

    On one given side; the empirical Bernstein inequality of Maurer and Pontil (2009): √(2·V·log(2/δ)/n) +
    7·width·log(2/δ)/(3(n-1)), V the sample variance. It holds for any distribution and any n ≥ 2.

    >>> round(bernstein_margin(np.zeros(1001), 1.0, 0.02), 6)
    0.010745
    """
    n, log = values.size, math.log(2.0 / delta)
    if n < 2:
        return math.inf
    return math.sqrt(2.0 * float(values.var(ddof=1)) * log / n) + 7.0 * width * log / (3.0 * (n - 1))


def student_margin(values: Array, delta: float) -> float:
    """The same as Student's t has it: right for many values, whatever their distribution, and exact for normal ones."""
    from scipy import stats

    n = values.size
    if n < 2:
        return math.inf
    return float(stats.t.ppf(1.0 - delta, n - 1) * values.std(ddof=1) / np.sqrt(n))
