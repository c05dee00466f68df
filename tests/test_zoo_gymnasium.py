"""The paper's Gymnasium settings by name."""

import math

import numpy as np
import pytest

import gumdp
from gumdp.zoo import targets

PAIRS = [(world, kind) for world, kinds in targets.KINDS.items() for kind in kinds]


@pytest.mark.parametrize(("world", "kind"), PAIRS)
def test_the_shipped_targets_are_what_the_recipe_makes(world: str, kind: str) -> None:
    shipped = targets.target(world, kind)
    assert abs(shipped.sum() - 1.0) < 1e-12
    # The last digit of a cosine differs between processors, and may put a run on the other side of an edge: each of
    # the 100 000 runs that it does counts for at most 0.1/100 000, the share of the first step.
    tolerance = 1e-12 if world != "mountaincar" else 10 * 0.1 / targets.RUNS
    np.testing.assert_allclose(targets.make(world, kind), shipped, atol=tolerance)


def test_action_values_of_a_chain_are_powers_of_the_discount() -> None:
    table = {
        0: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 0, 0.0, False)]},
        1: {0: [(1.0, 2, 1.0, True)], 1: [(1.0, 0, 0.0, False)]},
        2: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]},
    }
    np.testing.assert_allclose(targets.action_values(table, 0.5), [[0.5, 0.25], [1.0, 0.25], [0.0, 0.0]], atol=1e-12)


def test_a_target_that_there_is_not_gets_a_suggestion() -> None:
    with pytest.raises(gumdp.GumdpError, match="did you mean 'published'"):
        gumdp.zoo.load("taxi-imitation", target="publish")


@pytest.mark.parametrize(("name", "target"), [("taxi-imitation", "published"), ("frozenlake-imitation", "published")])
def test_the_published_style_targets_give_the_random_policy_what_was_measured(name: str, target: str) -> None:
    """Random policy: 0.081 on Taxi and 0.049 on FrozenLake were measured with prototypes, to three digits."""
    measured = {"taxi-imitation": 0.081, "frozenlake-imitation": 0.049}[name]
    result = gumdp.evaluate(gumdp.zoo.load(name, target=target), gumdp.Random(), trials=4000, seed=0)
    assert abs(result.mean - measured) < 0.0005 + 4 * result.standard_error


def test_all_distinct_pairs_are_the_best_on_taxi() -> None:
    """No trajectory beats all-distinct pairs: 1 - h/log 3000, h the entropy of the weights; greedy gets near."""
    problem = gumdp.zoo.load("taxi-entropy")
    h = -sum(w * math.log(w) for w in problem.weights)
    least = 1.0 - h / math.log(3000)
    assert abs(least - 0.5940) < 5e-5
    result = gumdp.evaluate(problem, gumdp.Greedy(), trials=200, seed=0)
    assert result.values.min() >= least - 1e-12
    assert result.mean < 0.61


@pytest.mark.parametrize("name", ["frozenlake-entropy", "taxi-entropy"])
def test_the_random_policy_is_within_the_published_interval(name: str) -> None:
    published = gumdp.zoo.find(name).published["random"]
    spread = {"frozenlake-entropy": 0.03, "taxi-entropy": 0.01}[name]
    result = gumdp.evaluate(gumdp.zoo.load(name), gumdp.Random(), trials=4000, seed=0)
    assert abs(result.mean - published) < spread + 4 * result.standard_error
