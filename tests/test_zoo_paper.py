"""The paper's three illustrative problems are the ones that its numbers come from."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gumdp


def test_m2_imitates_the_exact_occupancy_of_its_behaviour():
    problem = gumdp.zoo.load("m2-imitation")
    # The masses m of the two states solve m = 0.1·start + 0.9·m·P, where β moves to the first state with probability
    # 0.8·0.9 + 0.2·0.1 = 0.74 from itself and 0.26 from the second.
    first = (0.1 + 0.9 * 0.26) / (1.0 - 0.9 * (0.74 - 0.26))
    target = np.array([[0.8 * first, 0.2 * first], [0.2 * (1.0 - first), 0.8 * (1.0 - first)]])
    assert problem.objective.inner.target == pytest.approx(target, rel=1e-12)
    assert problem.value(target) == pytest.approx(0.0, abs=1e-24)
    corner = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert problem.value(corner) == pytest.approx(((corner - target) ** 2).sum() / 2.0)


def test_m3_is_not_normalised():
    problem = gumdp.zoo.load("m3-adversarial")
    assert problem.value(np.full((3, 2), 1 / 6)) == pytest.approx(6.5 / 6)
    assert problem.value(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])) == 1.5


def test_the_three_share_discount_and_horizon():
    for name in ("m1-entropy", "m2-imitation", "m3-adversarial"):
        problem = gumdp.zoo.load(name)
        assert (problem.discount, problem.horizon, problem.episodes) == (0.9, 100, 1)


@pytest.mark.parametrize("name, mean, digits", [("m2-imitation", 0.0657, 1e-4), ("m3-adversarial", 1.226, 1e-3)])
def test_random_actions_do_as_badly_as_known(name, mean, digits):
    """The known means are of 20 000 trials, to the digits shown; ours are as many others: 4 standard errors of both."""
    result = gumdp.evaluate(gumdp.zoo.load(name), gumdp.Random(), trials=20_000, seed=7)
    assert abs(result.mean - mean) < 4.0 * math.sqrt(2.0) * result.values.std() / math.sqrt(20_000) + digits / 2
