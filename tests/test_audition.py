"""Auditions: rollouts chosen by playing, and what the choice must keep to."""

from __future__ import annotations

import numpy as np
import pytest

import gumdp
from gumdp.planners import audition as stage
from gumdp.planners.audition import audition, extent, shortened


class Cast:
    """A player who knows beforehand what each candidate is worth, and counts how often it is asked."""

    def __init__(self, worth: dict[tuple[float, bool], float]) -> None:
        self.worth, self.asked = worth, 0

    def __call__(self, problem, share, reuse, iterations, seeds):
        self.asked += 1
        luck = np.random.default_rng(0).normal(size=len(seeds))  # the same for all candidates
        own = np.random.default_rng(round(100 * share) + reuse).normal(size=len(seeds))
        return self.worth[share, reuse] + luck + 0.01 * own


EQUAL = {(share, reuse): 0.0 for share in stage.SHARES for reuse in (False, True)}


def small():
    return gumdp.zoo.load("m1-entropy", horizon=10)


@pytest.mark.parametrize("share", stage.SHARES)
@pytest.mark.parametrize("reuse", [False, True])
def test_the_best_candidate_wins(share, reuse):
    worth = EQUAL | {(share, True): -1.0, (share, False): -0.5 if reuse else -1.5}
    assert audition(small(), Cast(worth), "key") == (share, reuse)


def test_what_is_given_is_not_changed():
    worth = EQUAL | {(0.0, True): -1.0, (0.3, False): -2.0}
    assert audition(small(), Cast(worth), "key", share=1.0)[0] == 1.0
    assert audition(small(), Cast(worth), "key", reuse=True) == (0.0, True)
    assert audition(small(), Cast(worth), "key", 0.3, None) == (0.3, False)


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

    assert audition(small(), fails, "key") == stage.USUAL
    assert audition(small(), fails, "key", share=1.0) == (1.0, True)


def test_too_long_a_problem_has_no_audition():
    cast = Cast(EQUAL)
    assert audition(gumdp.zoo.load("patrol", horizon=5000), cast, "key") == stage.USUAL
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
        assert 4 * trials * iterations * horizon**2 / 2 <= stage.WORK
        assert 0 < trials <= stage.TRIALS


def test_rollouts_that_cannot_tell_actions_apart_are_not_asked_to():
    problem = gumdp.zoo.load("random-small", objective="state-entropy")
    actor, _ = gumdp.MCTS(10).equip(problem)
    assert actor.dice == 2**32


def test_the_choice_is_the_same_each_time():
    chosen = {(actor.dice, rules.reuse) for actor, rules in (gumdp.MCTS(9).equip(small()) for _ in range(3))}
    assert len(chosen) == 1


def test_the_audition_finds_the_better_rollouts():
    problem = gumdp.zoo.load("subset-sum")
    found = gumdp.evaluate(problem, gumdp.MCTS(100), trials=100).values
    for share in stage.SHARES:
        other = gumdp.evaluate(problem, gumdp.MCTS(100, randomness=share), trials=100).values
        gain = other - found
        assert gain.mean() >= -3.0 * gain.std(ddof=1) / 10.0
