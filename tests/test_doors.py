"""What people bring: models and planners of their own, checked, named, and old names that go on working."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gumdp
from gumdp import Decision, GumdpError
from gumdp.run import registry

M1 = gumdp.zoo.load("m1-entropy", horizon=6)
SWAP = gumdp.Tabular([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]], available=[[True, True], [True, False]])


SHARED = itertools.count()  # of all policies


class Own(gumdp.Planner):
    """Takes the available actions in turn; its faults are options."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def __repr__(self) -> str:
        return "Own()"

    def bind(self, problem, dice):
        if self.fault == "unbound":
            return None
        if self.fault == "unbegun":
            return OwnPolicy.__new__(OwnPolicy)
        return OwnPolicy(problem, dice, self.fault)


class OwnPolicy(gumdp.Policy):
    """What ``Own`` does."""

    def __init__(self, problem, dice, fault):
        super().__init__(problem, dice)
        self.fault = fault

    def decide(self, state):
        free = self.problem.model.actions(self.problem.model.public(state))
        action = free[self.t % len(free)]
        if self.fault == "dice":
            action = free[int(np.random.default_rng().integers(len(free)))]
        if self.fault == "mask":
            action = self.t % 2
        if self.fault == "shared":
            action = free[next(SHARED) % len(free)]
        if self.fault == "raises":
            raise ZeroDivisionError("by nothing")
        if self.fault == "leaves":
            raise SystemExit(3)
        return action if self.fault == "type" else Decision(action)


def test_a_planner_of_ones_own_plays_and_is_judged_like_ours():
    trial = gumdp.run_trial(M1, Own(), seed=3)
    assert trial.actions.tolist() == [0, 1, 0, 1, 0, 1]
    assert gumdp.evaluate(M1, Own(), trials=4, seed=3, workers=2).values[0] == trial.value


def test_a_sound_planner_passes():
    assert "all in order" in str(gumdp.check_planner(Own(), M1))
    assert "all available" in str(gumdp.check_planner(Own(), gumdp.Problem(SWAP, gumdp.Entropy(), 0.9, 5)))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dice", "other actions for the same seed"),
        ("mask", "not available"),
        ("type", "Decision"),
        ("shared", "when several trials are under way"),
        ("raises", r"decide\(\) of OwnPolicy fails with ZeroDivisionError: by nothing"),
        ("leaves", r"decide\(\) of OwnPolicy fails with SystemExit: 3"),
        ("unbound", r"bind\(\) of Own must return a Policy.*not None"),
        ("unbegun", r"bind\(\) of Own must return a Policy, begun by Policy.__init__"),
    ],
)
def test_an_unsound_planner_is_told_what_is_wrong(fault, said):
    problem = gumdp.Problem(SWAP, gumdp.Entropy(), 0.9, 12)
    with pytest.raises(GumdpError, match=said):
        gumdp.check_planner(Own(fault), problem)


def test_a_planner_gets_a_name_and_options(monkeypatch):
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    gumdp.register_planner("own", Own, {"fault": str}, summary="takes turns")
    assert registry.find("own").summary == "takes turns"
    assert registry.make("own", fault="mask").fault == "mask"
    with pytest.raises(GumdpError, match="has no option 'faults'"):
        registry.make("own", faults=1)
    for wrong in (("mcts", Own), ("two words", Own), ("own", 3), ("own", Own, {"fault": list}), ("own", Own, 3)):
        with pytest.raises(GumdpError, match="register_planner"):
            gumdp.register_planner(*wrong)


def test_a_problem_gets_a_name_and_options(monkeypatch):
    monkeypatch.setattr(gumdp.zoo.registry, "_entries", dict(gumdp.zoo.registry._entries))
    gumdp.register_problem("mine", lambda horizon: gumdp.Problem(SWAP, gumdp.Entropy(), 0.9, horizon), {"horizon": 5})
    problem = gumdp.zoo.load("mine", horizon=7)
    assert (problem.horizon, problem.name) == (7, "mine")
    gumdp.register_problem("bad", lambda: 3)
    with pytest.raises(GumdpError, match="must be a Problem"):
        gumdp.zoo.load("bad")
    for wrong in (("m1-entropy", Own), ("", Own), ("mine", 3), ("mine", Own, 3)):
        with pytest.raises(GumdpError, match="register_problem"):
            gumdp.register_problem(*wrong)


def test_samples_have_the_probabilities_of_the_table():
    """Of 4000 samples the share of each successor is within 5 standard errors of its probability."""
    model, rng = M1.model, np.random.default_rng(0)
    for s in range(3):
        for a in range(2):
            share = np.bincount([model.sample(s, a, rng) for _ in range(4000)], minlength=3) / 4000
            p = model.dense()[s, a]
            assert (np.abs(share - p) <= 5.0 * np.sqrt(p * (1.0 - p) / 4000)).all()


@pytest.mark.parametrize("name", ["m1-entropy", "mountaincar-entropy", "frozenlake-entropy"])
def test_every_kind_of_model_passes_its_check(name):
    assert "all in order" in str(gumdp.check_model(gumdp.zoo.load(name).model, steps=30))


def test_actions_that_are_not_there_are_refused():
    assert SWAP.actions(1) == [0]
    for action, said in ((1, "not available"), (2, "below 2"), (-1, "at least 0"), ("left", "whole number")):
        with pytest.raises(GumdpError, match=said):
            SWAP.sample(1, action, np.random.default_rng(0))
    with pytest.raises(GumdpError, match="below 2"):
        SWAP.row(0, 2)
    with pytest.raises(GumdpError, match="rng must be a Generator"):
        SWAP.sample(0, 0, 7)


@pytest.mark.parametrize("name", gumdp._FORMER)
def test_a_former_name_goes_on_working_and_says_the_new_one(name):
    with pytest.warns(DeprecationWarning, match=f"gumdp.{name} is now gumdp."):
        assert getattr(gumdp, name).__doc__


def test_a_former_option_goes_on_working_and_says_the_new_one():
    with pytest.warns(DeprecationWarning, match="control_variate"):
        assert gumdp.MCTS(10, corrected=False).control_variate is False
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        gumdp.MCTS(10, colour=1)
