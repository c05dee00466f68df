"""Auditions: rollouts chosen by playing, and what the choice must keep to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gumdp
from gumdp.search import tuning as stage
from gumdp.search.tuning import Choice, audition, extent, shortened


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
    assert audition(small(), Cast(worth), "key", usual=usual) == wanted


def test_who_is_no_better_does_not_replace_the_usual():
    level = {each: 0.0 if each == USUAL else 0.5 for each in EQUAL}
    assert audition(small(), Cast(level), "key") == USUAL


def test_what_is_given_is_not_changed():
    wanted = Choice(0.0, False, 6.0)
    worth = {each: -float(sum(a == b for a, b in zip(each, wanted, strict=True))) for each in EQUAL}
    assert audition(small(), Cast(worth), "key", share=1.0) == (1.0, False, 6.0)
    assert audition(small(), Cast(worth), "key", reuse=True) == (0.0, True, 6.0)
    assert audition(small(), Cast(worth), "key", exploration=2.0) == (0.0, False, 2.0)
    assert audition(small(), Cast(worth), "key", 0.3, None, 2.0) == (0.3, False, 2.0)


def test_a_problem_is_auditioned_once_for_each_kind_of_search():
    problem, cast = small(), Cast(EQUAL)
    first = audition(problem, cast, "key")
    asked = cast.asked
    assert audition(problem, cast, "key") == first
    assert cast.asked == asked
    audition(problem, cast, "other key")
    assert cast.asked == 2 * asked


def test_a_fault_in_the_audition_leaves_the_usual_choice():
    def fails(*args):
        raise gumdp.GumdpError("the objective has failed.")

    assert audition(small(), fails, "key") == USUAL
    assert audition(small(), fails, "key", share=1.0) == (1.0, True, 2.0)


def test_too_long_a_problem_has_no_audition():
    cast = Cast(EQUAL)
    assert audition(gumdp.zoo.load("patrol", horizon=5000), cast, "key") == USUAL
    assert cast.asked == 0


def test_the_end_of_a_discounted_run_is_left_out_but_no_more_than_its_share():
    problem = gumdp.zoo.load("m1-entropy")
    short = shortened(problem)
    tail = problem.weights[short.horizon :].sum()
    assert 0.0 < tail < stage.TAIL
    assert tail / problem.discount**2 > stage.TAIL / 2
    assert shortened(small()).horizon == 10
    assert shortened(gumdp.zoo.load("patrol")).horizon == 200


def test_the_work_of_an_audition_is_limited():
    for horizon in (5, 40, 100, 200, 400, 700):
        problem = gumdp.zoo.load("m1-entropy", horizon=horizon)
        trials, iterations = extent(problem)
        assert stage.CANDIDATES * trials * iterations * horizon**2 / 2 <= stage.WORK
        assert 0 < trials <= stage.TRIALS


def test_rollouts_that_cannot_tell_actions_apart_are_not_asked_to():
    problem = gumdp.zoo.load("random-small", objective="state-entropy")
    actor, _, _ = gumdp.MCTS(10).equip(problem)
    assert actor.dice == 2**32


def test_the_choice_is_the_same_each_time():
    equipped = [gumdp.MCTS(9).equip(small()) for _ in range(3)]
    chosen = {(actor.dice, rules.reuse, rules.exploration) for actor, _, rules in equipped}
    assert len(chosen) == 1


def test_the_audition_finds_the_better_rollouts():
    problem = gumdp.zoo.load("subset-sum")
    found = gumdp.evaluate(problem, gumdp.MCTS(100), trials=100).values
    for share in stage.SHARES:
        other = gumdp.evaluate(problem, gumdp.MCTS(100, randomness=share), trials=100).values
        gain = other - found
        assert gain.mean() >= -3.0 * gain.std(ddof=1) / 10.0
