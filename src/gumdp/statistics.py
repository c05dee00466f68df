"""Intervals and risk measures of the values of independent trials."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gumdp.errors import GumdpError, array_of_numbers, check_float, check_int, describe, one_of

Array = NDArray[np.float64]
RESAMPLES = 25_000
ROUNDING = 1e-12  # how far off sums of many numbers can be, relative to them


def allowed(limit: float) -> float:
    """The largest number that counts as no more than ``limit``: sums are off by a few units in the last place.

    >>> 0.1 + 0.1 + 0.1 <= 0.3, 0.1 + 0.1 + 0.1 <= allowed(0.3)
    (False, True)
    """
    return limit + ROUNDING * max(1.0, abs(limit))


def bootstrap(values: ArrayLike, level: float = 0.9, method: str = "percentile") -> tuple[float, float]:
    """A bootstrap confidence interval of the mean: ``percentile`` as in the paper, or ``bca``.

    25 000 resamples from a fixed seed: the same values give the same interval.

    >>> bootstrap([1.0, 1.0, 1.0])
    (1.0, 1.0)
    """
    from scipy import stats  # takes half a second to import, and planning needs none of it

    x = _values(values)
    level = check_float("level", level, 0.0, 1.0)
    method = one_of("bootstrap method", method, ["percentile", "bca"])
    if x.size == 1 or np.ptp(x) == 0.0:
        return float(x.mean()), float(x.mean())
    batch = max(1, min(RESAMPLES, 4_000_000 // x.size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (x,),
            np.mean,
            n_resamples=RESAMPLES if x.size <= 10_000 else 2_000,
            confidence_level=level,
            method="BCa" if method == "bca" else "percentile",
            rng=np.random.default_rng(0),
            batch=batch,
            vectorized=True,
        )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def clopper_pearson(successes: int, trials: int, level: float = 0.9) -> tuple[float, float]:
    """An interval for a probability that holds it at least as often as it says, at any number of trials.

    Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the case of the binomial".

    >>> low, high = clopper_pearson(20, 20, 0.9)
    >>> round(low, 3), high
    (0.861, 1.0)
    """
    from scipy import stats

    n = check_int("trials", trials, 1)
    k = check_int("successes", successes, 0, n)
    tail = (1.0 - check_float("level", level, 0.0, 1.0)) / 2.0
    low = float(stats.beta.ppf(tail, k, n - k + 1)) if k > 0 else 0.0
    high = float(stats.beta.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
    return low, high


def holm(p_values: ArrayLike) -> Array:
    """The p-values of several tests, each as large as it takes for all of them together (Holm, 1979).

    Whoever calls those below 5 % findings makes a false one among them with a probability of at most 5 %, whatever the
    tests have to do with each other. S. Holm, *A simple sequentially rejective multiple test procedure*.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _values(p_values)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, raised)
    return adjusted


def cvar(values: ArrayLike, level: float = 0.9) -> float:
    """The mean of the worst share 1 - level of the values (conditional value at risk, of costs).

    >>> cvar([0.0, 0.0, 0.0, 1.0], 0.75)
    1.0
    """
    x = np.sort(_values(values))[::-1]
    level = check_float("level", level, 0.0, 1.0)
    if level == 1.0:
        return float(x[0])
    share = np.minimum(1.0, np.maximum(0.0, (1.0 - level) * x.size - np.arange(x.size)))
    return float((share * x).sum() / share.sum())


def quantile(values: ArrayLike, q: float) -> float:
    """The q-quantile of the values, interpolated.

    >>> quantile([1.0, 2.0, 3.0], 0.5)
    2.0
    """
    return float(np.quantile(_values(values), check_float("q", q, 0.0, 1.0)))


def entropic_risk(values: ArrayLike, beta: float = 1.0) -> float:
    """log(mean(exp(β·x)))/β: the certainty equivalent of costs x for a risk aversion β; the mean for β = 0.

    >>> entropic_risk([2.0, 2.0], 3.0)
    2.0
    """
    x = _values(values)
    beta = check_float("beta", beta)
    if beta == 0.0:
        return float(x.mean())
    return float((logsumexp(beta * x) - math.log(x.size)) / beta)


def _values(values: ArrayLike) -> Array:
    """``values`` as an array [n] of finite numbers, n ≥ 1."""
    x = array_of_numbers("values", values)
    if x.ndim != 1 or x.size == 0 or not np.isfinite(x).all():
        raise GumdpError(f"values must be a list of at least one finite number, not {describe(values)}.")
    return x
