"""Tuning: rollouts chosen by playing, and what the choice must keep to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gumdp
from gumdp.search import tuning as stage
from gumdp.search.tuning import Choice, extent, shortened, tune


class Cast:
    """A player who knows beforehand what each candidate is worth, and counts how often it is asked."""

    def __init__(self, worth: dict[Choice, float]) -> None:
        self.worth, self.asked = worth, 0

    def __call__(self, problem, choice, iterations, seeds):
        self.asked += 1
        luck = np.random.default_rng(0).normal(size=len(seeds))  # the same for all candidates
        own = np.random.default_rng(list(self.worth).index(choice)).normal(size=len(seeds))
        return self.worth[choice] + luck + 0.01 * own


EQUAL = {Choice(*each): 0.0 for each in itertools.product(stage.SHARES, (False, True), stage.WIDTHS)}
USUAL = Choice(0.3, True, 2.0)


def small():
    return gumdp.zoo.load("m1-entropy", horizon=10)


@pytest.mark.parametrize("share", stage.SHARES)
@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("width", stage.WIDTHS)
@pytest.mark.parametrize("usual", [0.3, 1.0])
def test_the_best_candidate_wins(share, reuse, width, usual):
    wanted = Choice(share, reuse, width)
    worth = {each: -float(sum(a == b for a, b in zip(each, wanted, strict=True))) for each in EQUAL}
    assert tune(small(), Cast(worth), "key", usual=usual) == wanted


def test_who_is_no_better_does_not_replace_the_usual():
    level = {each: 0.0 if each == USUAL else 0.5 for each in EQUAL}
    assert tune(small(), Cast(level), "key") == USUAL


def test_what_is_given_is_not_changed():
    wanted = Choice(0.0, False, 6.0)
    worth = {each: -float(sum(a == b for a, b in zip(each, wanted, strict=True))) for each in EQUAL}
    assert tune(small(), Cast(worth), "key", randomness=1.0) == (1.0, False, 6.0)
    assert tune(small(), Cast(worth), "key", reuse=True) == (0.0, True, 6.0)
    assert tune(small(), Cast(worth), "key", exploration=2.0) == (0.0, False, 2.0)
    assert tune(small(), Cast(worth), "key", 0.3, None, 2.0) == (0.3, False, 2.0)


def test_a_problem_is_tuned_once_for_each_kind_of_search():
    problem, cast = small(), Cast(EQUAL)
    first = tune(problem, cast, "key")
    asked = cast.asked
    assert tune(problem, cast, "key") == first
    assert cast.asked == asked
    tune(problem, cast, "other key")
    assert cast.asked == 2 * asked


def test_a_fault_in_tuning_leaves_the_usual_choice():
    def fails(*args):
        raise gumdp.GumdpError("the objective has failed.")

    assert tune(small(), fails, "key") == USUAL
    assert tune(small(), fails, "key", randomness=1.0) == (1.0, True, 2.0)


def test_too_long_a_problem_is_not_tuned():
    cast = Cast(EQUAL)
    assert tune(gumdp.zoo.load("patrol", horizon=5000), cast, "key") == USUAL
    assert cast.asked == 0


def test_the_end_of_a_discounted_run_is_left_out_but_no_more_than_its_share():
    problem = gumdp.zoo.load("m1-entropy")
    short = shortened(problem)
    tail = problem.weights[short.horizon :].sum()
    assert 0.0 < tail < stage.TAIL
    assert tail / problem.discount**2 > stage.TAIL / 2
    assert shortened(small()).horizon == 10
    assert shortened(gumdp.zoo.load("patrol")).horizon == 200


def test_the_work_of_tuning_is_limited():
    for horizon in (5, 40, 100, 200, 400, 700):
        problem = gumdp.zoo.load("m1-entropy", horizon=horizon)
        trials, iterations = extent(problem)
        assert stage.CANDIDATES * trials * iterations * horizon**2 / 2 <= stage.WORK
        assert 0 < trials <= stage.TRIALS


def test_rollouts_that_cannot_tell_actions_apart_are_not_asked_to():
    problem = gumdp.zoo.load("random-small", objective="state-entropy")
    rules, _ = gumdp.MCTS(10).rules(problem)
    assert rules.leaf.policy.dice == 2**32


def test_the_choice_is_the_same_each_time():
    found = [gumdp.MCTS(9).rules(small()) for _ in range(3)]
    chosen = {(rules.leaf.policy.dice, reuse, rules.select.exploration) for rules, reuse in found}
    assert len(chosen) == 1


def test_tuning_finds_the_better_rollouts():
    problem = gumdp.zoo.load("subset-sum")
    found = gumdp.evaluate(problem, gumdp.MCTS(100), trials=100).values
    for share in stage.SHARES:
        other = gumdp.evaluate(problem, gumdp.MCTS(100, randomness=share), trials=100).values
        gain = other - found
        assert gain.mean() >= -3.0 * gain.std(ddof=1) / 10.0
