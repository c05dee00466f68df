"""Paired comparisons, against hand-made samples and SciPy's own tests."""

import numpy as np
import pytest
from scipy import stats

import gumdp
from gumdp.run.compare import compare


def samples(shift: float, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A common part, as of common random numbers, and a small part of its own for each side."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=n)
    return common + 0.1 * rng.normal(size=n) + shift, common + 0.1 * rng.normal(size=n)


def test_pairing_sees_what_independent_samples_hide() -> None:
    a, b = samples(-0.05)
    result = compare(a, b)
    assert result.interval[1] < 0.0
    assert result.p_better < 0.01
    assert result.correlation > 0.95
    assert stats.ttest_ind(a, b, alternative="less").pvalue > 0.2


def test_the_tests_are_the_paired_t_tests() -> None:
    a, b = samples(0.01)
    result = compare(a, b)
    assert result.p_better == pytest.approx(stats.ttest_rel(a, b, alternative="less").pvalue)
    assert result.p_worse == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert result.p_not_worse(0.05) == pytest.approx(stats.ttest_rel(a - 0.05, b, alternative="less").pvalue)


def test_not_worse_needs_a_margin_that_the_difference_keeps_to() -> None:
    a, b = samples(0.0)
    assert compare(a, b).p_not_worse(0.05) < 0.01
    assert compare(a + 0.1, b).p_not_worse(0.05) > 0.5


def test_shares_are_counted_over_pairs_and_over_all_combinations() -> None:
    a, b = np.array([1.0, 5.0, 3.0]), np.array([2.0, 4.0, 3.0])
    result = compare(a, b)
    assert result.wins == 0.5  # one lower, one higher, one tie
    every = [(x < y) + 0.5 * (x == y) for x in a for y in b]
    assert result.improvement == pytest.approx(np.mean(every))


def test_effect_is_the_mean_in_standard_deviations() -> None:
    result = compare([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert result.effect == pytest.approx(-2.0 / np.std([1.0, 2.0, 3.0], ddof=1))


@pytest.mark.parametrize(("a", "p"), [(1.0, 0.125), (2.0, 0.5), (3.0, 1.0)])
def test_constant_sides_are_no_trouble(a: float, p: float) -> None:
    result = compare([a] * 3, [2.0] * 3)
    assert result.p_better == p
    assert result.interval == (a - 2.0, a - 2.0)


def test_values_that_differ_by_rounding_are_ties_for_independent_trials_too() -> None:
    result = compare([0.1 + 0.2, 0.5, 0.7], [0.3, 0.5, 0.6 + 0.1])
    assert result.wins == 0.5
    assert result.improvement == 0.5
    one, two = np.array([0.3, 0.5, 0.9]), np.array([0.4, 0.5, 0.5])
    lower = np.mean([(a < b) + 0.5 * (a == b) for a in one for b in two])
    assert compare(one, two).improvement == pytest.approx(lower, abs=1e-12)


def test_one_trial_is_no_evidence() -> None:
    assert compare([1.0], [2.0]).p_better == 0.5


def test_evaluations_are_compared_when_they_are_paired() -> None:
    problem = gumdp.zoo.load("m1-entropy")
    a = gumdp.evaluate(problem, gumdp.Greedy(), trials=50, seed=1)
    b = gumdp.evaluate(problem, gumdp.Random(), trials=50, seed=1)
    assert compare(a, b).wins > 0.9
    assert "lower in" in str(compare(a, b))
    with pytest.raises(gumdp.GumdpError, match="must share problem and seed"):
        compare(a, gumdp.evaluate(problem, gumdp.Random(), trials=50, seed=2))


@pytest.mark.parametrize("a", [[1.0], [], [[1.0, 2.0]], [1.0, float("nan")]])
def test_what_does_not_pair_is_refused(a: list) -> None:
    with pytest.raises(gumdp.GumdpError, match="compare: a and b must be"):
        compare(a, [1.0, 2.0])
