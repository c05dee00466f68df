"""Continuous observations fall into cells."""

import numpy as np
import pytest

import gumdp
from gumdp import Bins, GumdpError

CAR = Bins((10, 10), low=(-1.2, -0.07), high=(0.6, 0.07))


def test_equal_bins_agree_with_numpy_digitize_away_from_the_edges() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform((-1.2, -0.07), (0.6, 0.07), (5000, 2))
    rows = np.digitize(points[:, 0], np.linspace(-1.2, 0.6, 11)) - 1
    columns = np.digitize(points[:, 1], np.linspace(-0.07, 0.07, 11)) - 1
    np.testing.assert_array_equal(CAR.index(points), rows * 10 + columns)


def test_rest_is_at_the_lower_end_of_its_bin() -> None:
    assert CAR.index([-0.5, 0.0]) == 35  # velocity 0 is the first of the upper half


def test_both_ends_of_a_range_belong_to_it() -> None:
    strict = Bins(10, low=(-1.2, -0.07), high=(0.6, 0.07), outside="error")
    assert strict.index([[-1.2, -0.07], [0.6, 0.07]]).tolist() == [0, 99]


def test_what_lies_outside_is_clipped_and_counted_or_refused() -> None:
    far = [[-9.0, 0.0], [0.0, 9.0], [0.0, 0.0]]
    assert CAR.index(far).tolist() == [5, 69, 65]
    assert CAR.outside(far) == 2
    strict = Bins(10, low=(-1.2, -0.07), high=(0.6, 0.07), outside="error")
    with pytest.raises(GumdpError, match="outside the bins; widen their range"):
        strict.index(far)
    edges = Bins.at([[0.0, 1.0, 3.0]], outside="error")
    with pytest.raises(GumdpError, match="outside the bins"):
        edges.index([[4.0]])
    assert Bins.at([[0.0, 1.0, 3.0]]).index([[4.0], [-1.0]]).tolist() == [1, 0]


def test_nan_falls_into_no_bin() -> None:
    for bins in (CAR, Bins.at([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])):
        with pytest.raises(GumdpError, match="NaN"):
            bins.index([[np.nan, 0.0]])


def test_bins_between_edges_agree_with_numpy_digitize() -> None:
    edges = [[-1.0, -0.2, 0.5, 3.0], [0.0, 1.0, 1.5]]
    rng = np.random.default_rng(1)
    points = rng.uniform((-1.0, 0.0), (3.0, 1.5), (2000, 2))
    cells = (np.digitize(points[:, 0], edges[0]) - 1) * 2 + np.digitize(points[:, 1], edges[1]) - 1
    np.testing.assert_array_equal(Bins.at(edges).index(points), cells)


def test_quantile_bins_hold_equally_many_samples() -> None:
    samples = np.random.default_rng(0).standard_normal((1000, 2)) ** 3
    bins = Bins.quantiles(samples, (4, 5))
    counts = np.bincount(bins.index(samples), minlength=20).reshape(4, 5)
    assert counts.sum(axis=1).tolist() == [250] * 4
    assert counts.sum(axis=0).tolist() == [200] * 5


def test_quantile_bins_of_repeated_values_are_fewer() -> None:
    assert Bins.quantiles([[0.0]] * 9 + [[1.0]], 4).cells < 4
    assert Bins.quantiles([[2.0]] * 5, 3).cells == 1


def test_a_dimension_with_one_bin_needs_no_range_and_does_not_count() -> None:
    bins = Bins((3, 1), low=(0.0, None), high=(3.0, None)).over([0.0, -np.inf], [3.0, np.inf])
    assert bins.cells == 3
    assert bins.index([[1.5, 1e9]]).tolist() == [1]
    assert bins.outside([[1.5, 1e9]]) == 0


def test_an_unbounded_dimension_asks_for_a_range() -> None:
    with pytest.raises(GumdpError, match=r"dimension velocity is not bounded .*give low and high"):
        gumdp.from_gymnasium("CartPole-v1", bins=10)
    ranged = Bins(3, low=(None, -3, None, -3), high=(None, 3, None, 3))
    assert gumdp.from_gymnasium("CartPole-v1", bins=ranged).shape == (81, 2)


def test_bad_bins_get_a_sentence() -> None:
    with pytest.raises(GumdpError, match="counts must be a whole number of at least 1, not 0"):
        Bins(0)
    with pytest.raises(GumdpError, match="equally many entries"):
        Bins((2, 2), low=(0.0, 0.0, 0.0))
    with pytest.raises(GumdpError, match="low must be below high in dimension 1"):
        Bins(2, low=(0.0, 1.0), high=(1.0, 1.0))
    with pytest.raises(GumdpError, match="the ranges are not known yet"):
        Bins(3).index([[0.0]])
    with pytest.raises(GumdpError, match="unknown outside 'clap'; did you mean 'clip'"):
        Bins(3, outside="clap")
    with pytest.raises(GumdpError, match="rising"):
        Bins.at([[0.0, 0.0]])
    with pytest.raises(GumdpError, match=r"\[n, 2\]"):
        CAR.index([[0.0, 0.0, 0.0]])
    with pytest.raises(GumdpError, match="there are 3 dimensions, but a state of MountainCar-v0 has 2"):
        gumdp.from_gymnasium("MountainCar-v0", bins=(2, 2, 2))
    with pytest.raises(GumdpError, match="finite numbers"):
        Bins.quantiles([[np.nan]], 2)


def test_cells_have_names_and_two_dimensions_a_grid() -> None:
    model = gumdp.from_gymnasium("MountainCar-v0")
    assert model.grid == (10, 10)
    assert model.axes == ("position", "velocity")
    assert model.state_name(35) == "position -0.57, velocity 0.007"
    assert Bins((2, 1, 3), low=0.0, high=1.0).grid == (2, 3)
