"""Beliefs that can't be: each is refused in a sentence that says what came and what to do."""

import numpy as np
import pytest

import gumdp

TABLE = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
OTHER = gumdp.Tabular(np.full((3, 2, 3), 1 / 3))
EMPTY = np.ones((2, 2, 2), bool)
EMPTY[1, 0] = False
NAN = np.zeros((2, 2, 2))
NAN[0, 1, 1] = np.nan
ONE = np.zeros((2, 2, 2))
ONE[0, 0, 1] = 1.0
STAY = np.broadcast_to(np.eye(2, dtype=bool)[:, None], (2, 2, 2))
MIXED = np.ones((2, 2, 2), bool)
MIXED[1, 1, 0] = False


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"prior": 0.0}, "prior must be positive and finite, not 0 at .s=0, a=0.; say with support which"),
        ({"prior": -1.0}, "prior must be positive"),
        ({"prior": np.inf}, "prior must be positive and finite"),
        ({"prior": "much"}, "prior must be an array of numbers"),
        ({"prior": np.ones(3)}, r"prior must be a number or of shape \(2, 2, 2\)"),
        ({"support": EMPTY}, "support has no next state for .s=1, a=0.; each pair needs at least one"),
        ({"support": np.ones((2, 2, 2))}, "support must be a bool array"),
        ({"support": [[True], [True, False]]}, "support must be a bool array"),
        ({"counts": NAN}, r"counts must be finite and not negative, not nan at \(0, 1, 1\)"),
        ({"counts": -ONE}, "counts must be finite and not negative"),
        ({"counts": np.ones((2, 2))}, "counts must have the shape"),
        ({"counts": ONE, "support": STAY}, "the outcome 1 of .s=0, a=0., which support holds for impossible; set it"),
        ({"tied": [[0, 1]]}, "tied must be whole numbers, labels of shape"),
        ({"tied": [[0.5, 1.0], [0.0, 1.0]]}, "tied must be whole numbers"),
        (
            {"tied": [[0, 0], [0, 0]], "support": MIXED},
            "are tied, but have other possible outcomes; give",
        ),
        ({"tied": [[0, 1], [0, 1]], "prior": 1.0 + np.arange(8.0).reshape(2, 2, 2)}, "the same for tied pairs"),
        ({"moves": [[0, 2], [0, 1]]}, "moves must be the next states of each move, whole numbers from 0 to 1"),
        ({"moves": 3}, "moves must be"),
        ({"moves": [[0, 1]]}, "moves must be"),
        ({"start": 2}, "Belief: start must be below 2"),
        ({"available": np.zeros((2, 2), bool)}, "Belief: state 0 has no available action"),
        ({"terminal": "stop"}, "unknown Belief: terminal"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(gumdp.GumdpError, match=sentence):
        gumdp.Belief(states=2, actions=2, **options)


@pytest.mark.slow
def test_states_and_actions_are_whole_numbers() -> None:
    with pytest.raises(gumdp.GumdpError, match="states must be a whole number of at least 1, not 0"):
        gumdp.Belief(states=0, actions=2)
    with pytest.raises(gumdp.GumdpError, match="do not fit into memory; give moves"):
        gumdp.Belief(states=10_000, actions=4)


@pytest.mark.parametrize("strength", [0.0, -1.0, np.nan, "strong", np.ones(3)])
def test_a_strength_is_positive(strength: object) -> None:
    with pytest.raises(gumdp.GumdpError, match=r"Belief\.around: strength must be"):
        gumdp.Belief.around(TABLE, strength=strength)


def test_candidates_agree_in_shape_start_and_actions() -> None:
    with pytest.raises(gumdp.GumdpError, match=r"table 1 has the shape \(3, 2\), and table 0 \(2, 2\)"):
        gumdp.Belief.of([TABLE, OTHER])
    with pytest.raises(gumdp.GumdpError, match="another start"):
        gumdp.Belief.of([TABLE, gumdp.Tabular(TABLE.dense(), start=1)])
    with pytest.raises(gumdp.GumdpError, match="other available actions"):
        gumdp.Belief.of([TABLE, gumdp.Tabular(TABLE.dense(), available=[[True, False], [True, True]])])
    for tables in ([], TABLE, [TABLE, 3], None):
        with pytest.raises(gumdp.GumdpError, match="tables must be a list of Tabular models"):
            gumdp.Belief.of(tables)
    for weights in ([1.0], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]):
        with pytest.raises(gumdp.GumdpError, match="weights must be 2 numbers"):
            gumdp.Belief.of([TABLE, TABLE], weights)


@pytest.mark.parametrize(
    ("belief", "remedy"),
    [
        (gumdp.Belief(2, 2, support=np.eye(2, dtype=bool)), r"allow it with support\[0, 1, 1\] = True"),
        (gumdp.Belief(2, 2, moves=[[0, 0], [0, 1]]), "give moves one that leads from 0 to 1"),
        (gumdp.Belief.of([TABLE]), "no table that is left allows it: add one that does"),
    ],
)
def test_what_really_happened_but_can_not_be_is_said_with_a_way_out(belief: gumdp.Belief, remedy: str) -> None:
    sentence = f"action 1 in state 0 led to state 1, which the belief holds for impossible; {remedy}"
    with pytest.raises(gumdp.GumdpError, match=sentence):
        belief.after([0], [1], [1])
    policy = gumdp.NonMarkov(lambda states, actions: 1).start(gumdp.Problem(belief, gumdp.Entropy(), 0.9, 5))
    policy.act(0)
    with pytest.raises(gumdp.GumdpError, match=sentence):
        policy.act(1)


def test_a_world_must_be_possible_and_goes_with_a_belief() -> None:
    stay = gumdp.Problem(gumdp.Belief(2, 2, support=np.eye(2, dtype=bool)), gumdp.Entropy(), 0.9, 5)
    with pytest.raises(gumdp.GumdpError, match="world can go from state 0 with action 0 to state 1, which the belief"):
        gumdp.evaluate(stay, gumdp.Random(), trials=2, world=TABLE)
    with pytest.raises(gumdp.GumdpError, match=r"must have the shape \(2, 2\)"):
        gumdp.run_trial(stay, gumdp.Random(), world=OTHER)
    with pytest.raises(gumdp.GumdpError, match="must be a Tabular, not str"):
        gumdp.run_trial(stay, gumdp.Random(), world="table")
    with pytest.raises(gumdp.GumdpError, match="world goes with a Belief"):
        gumdp.evaluate(gumdp.Problem(TABLE, gumdp.Entropy(), 0.9, 5), gumdp.Random(), trials=2, world=TABLE)


def test_histories_are_lists_of_the_same_length_within_the_shape() -> None:
    belief = gumdp.Belief(2, 2)
    for history in (([0], [0], []), (0, [0], [1])):
        with pytest.raises(gumdp.GumdpError, match="equally long lists"):
            belief.after(*history)
    with pytest.raises(gumdp.GumdpError, match="state must be below 2"):
        belief.after([0], [0], [2])
    masked = gumdp.Belief(2, 2, available=[[True, False], [True, True]])
    with pytest.raises(gumdp.GumdpError, match="action 1 is not available in state 0, but was taken there"):
        masked.after([0], [1], [1])


def test_the_exact_solution_of_a_large_belief_is_refused() -> None:
    problem = gumdp.Problem(gumdp.Belief(3, 2), gumdp.Entropy(), 0.9, 8)
    with pytest.raises(gumdp.GumdpError, match="more than 1,000 states; lower the horizon"):
        gumdp.solve_exact(problem, limit=1000)
