"""Comparing two planners on the same trials: common random numbers make small differences visible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gumdp import statistics
from gumdp.errors import GumdpError, array_of_numbers, check_float
from gumdp.results import Array, Evaluation

ROUNDING = 1e-12  # differences below this share of the values are rounding errors: ties
CLEAR = 0.05  # p-values below this count as evidence


@dataclass(frozen=True)
class Comparison:
    """How a does against b, trial by trial. Values are costs: a negative difference is in favour of a.

    Attributes:
        difference: the mean of a − b.
        interval: of that mean, a BCa bootstrap over pairs.
        level: of the interval.
        effect: Cohen's d of paired values: the mean difference in standard deviations of the differences.
        wins: the share of trials in which a is lower than b, ties counted half.
        improvement: the probability that a trial of a is lower than an independent one of b, ties counted half.
        p_better: one-sided p-value against "a is not better than b": small if a is better.
        p_worse: one-sided p-value against "a is not worse than b": small if a is worse.
        trials: how many pairs.
        correlation: of the paired values: what common random numbers gain; NaN where a side is constant.
        test: what the p-values are of: a sign test where all differences are equal.
        differences: a − b in each trial.

    >>> result = compare([0.1, 0.2, 0.3, 0.1], [0.2, 0.4, 0.4, 0.2])
    >>> result.verdict, round(result.effect, 2)
    ('better, p = 0.015 (paired t)', -2.5)
    """

    difference: float
    interval: tuple[float, float]
    level: float
    effect: float
    wins: float
    improvement: float
    p_better: float
    p_worse: float
    trials: int
    correlation: float
    test: str = "paired t"
    differences: Array = field(repr=False, compare=False, default_factory=lambda: np.zeros(0))

    def p_not_worse(self, margin: float = 0.0) -> float:
        """The one-sided p-value against "a is worse than b by ``margin`` or more" (paired t-test).

        A small one lets you say that a is not worse than b, but for the margin.

        >>> compare([1.0, 2.0, 3.0, 4.0], [1.1, 2.0, 3.1, 4.0]).p_not_worse(0.5) < 0.01
        True
        """
        return _t_test(self.differences - check_float("margin", margin, 0.0), "less")

    @property
    def p(self) -> float:
        """The two-sided p-value: how likely so large a difference is, either way, if a and b are equally good."""
        return min(1.0, 2.0 * min(self.p_better, self.p_worse))

    @property
    def verdict(self) -> str:
        """The result in words, for this comparison alone.

        >>> compare([0.1, 0.2, 0.3, 0.1], [0.2, 0.4, 0.4, 0.2]).verdict
        'better, p = 0.015 (paired t)'
        """
        return in_words(self, self.p)

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.verdict}: difference {self.difference:+.4g}, {100 * self.level:g} % interval "
            f"[{low:+.4g}, {high:+.4g}], effect {self.effect:+.3g}, lower in {100 * self.wins:.3g} % of "
            f"{self.trials} trials"
        )


def in_words(comparison: Comparison, p: float) -> str:
    """``better``, ``worse`` or no clear difference, with the p-value that this rests on."""
    if comparison.difference == 0.0:
        return "no difference"
    word = "better" if comparison.difference < 0.0 else "worse"
    return f"{word if p < CLEAR else 'no clear difference'}, p = {p:.2g} ({comparison.test})"


def compare(a: Any, b: Any, level: float = 0.9) -> Comparison:
    """Compare the values of two planners in the same trials of the same seed, or two evaluations.

    The interval is a BCa bootstrap of the mean difference, the tests are paired t-tests, ``improvement`` comes from
    the Mann–Whitney statistic: all of them SciPy's. Differences that are rounding errors count as ties. Where all
    differences are equal there is no spread to test with, and a sign test takes the place of the t-test.

    >>> result = compare([0.1, 0.2, 0.3, 0.1], [0.2, 0.4, 0.3, 0.3])
    >>> result.difference, result.wins
    (-0.125, 0.875)
    """
    from scipy import stats  # takes half a second to import

    x, y = _paired(a, b)
    level = check_float("level", level, 0.0, 1.0)
    d = _differences(x, y)
    spread = float(d.std(ddof=1)) if d.size > 1 else 0.0
    mean = float(d.mean())
    moving = min(np.ptp(x), np.ptp(y)) > 0.0
    return Comparison(
        difference=mean,
        interval=statistics.bootstrap(d, level, "bca"),
        level=level,
        effect=mean / spread if spread > 0.0 else float(np.sign(mean)) * np.inf if mean else 0.0,
        wins=float(np.mean((d < 0.0) + 0.5 * (d == 0.0))),
        improvement=1.0 - float(stats.mannwhitneyu(*_places(x, y), method="asymptotic").statistic) / x.size**2,
        p_better=_t_test(d, "less"),
        p_worse=_t_test(d, "greater"),
        trials=d.size,
        correlation=float(np.corrcoef(x, y)[0, 1]) if moving else float("nan"),
        test="paired t" if np.ptp(d) > 0.0 else "sign test",
        differences=d,
    )


def _paired(a: Any, b: Any) -> tuple[Array, Array]:
    """The two sides as arrays that belong together."""
    if isinstance(a, Evaluation) and isinstance(b, Evaluation) and (a.seed, a.problem) != (b.seed, b.problem):
        raise GumdpError(
            f"compare: the evaluations must share problem and seed, not {a.problem}, seed {a.seed}, and {b.problem}, "
            f"seed {b.seed}: only then are their trials pairs."
        )
    x, y = (
        side.values if isinstance(side, Evaluation) else array_of_numbers(f"compare: {name}", side)
        for name, side in (("a", a), ("b", b))
    )
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise GumdpError(f"compare: a and b must be equally many values, not of shapes {x.shape} and {y.shape}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise GumdpError("compare: a and b must be finite numbers.")
    return x, y


def _differences(x: Array, y: Array) -> Array:
    """x - y, with exact zeros for ties and no spread where there is none but that of rounding."""
    d, least = x - y, _rounding(x, y)
    d[np.abs(d) <= least] = 0.0
    return np.full_like(d, np.median(d)) if np.ptp(d) <= least else d


def _rounding(x: Array, y: Array) -> float:
    """How far apart values are, at most, that differ by rounding alone."""
    return ROUNDING * max(float(np.abs(x).max()), float(np.abs(y).max())) + 1e-15


def _places(x: Array, y: Array) -> tuple[Array, Array]:
    """The places of all values in their common order, those that differ by rounding alone sharing one."""
    values, where = np.unique(np.concatenate([x, y]), return_inverse=True)
    places = np.append(0.0, np.cumsum(np.diff(values) > _rounding(x, y)))[where]
    return places[: x.size], places[x.size :]


def _t_test(d: Array, alternative: str) -> float:
    """The p-value of the mean of ``d`` against 0; 0.5 where there is no evidence either way."""
    from scipy import stats

    if np.ptp(d) == 0.0:  # the sign test: n equal coins
        side = -d[0] if alternative == "less" else d[0]
        return 0.5**d.size if side > 0.0 else 1.0 if side < 0.0 and d.size > 1 else 0.5
    return float(stats.ttest_1samp(d, 0.0, alternative=alternative).pvalue)
