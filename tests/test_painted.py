"""Painted worlds: what is on the map is what happens, and what is no world is refused in a sentence."""

import json
from typing import Any

import numpy as np
import pytest

import gumdp
from gumdp.errors import GumdpError
from gumdp.zoo.painted import canonical, check_world, painted

UP, RIGHT, DOWN, LEFT, STAY = range(5)


def world(rows: list[str], **parts: Any) -> str:
    return json.dumps({"format": "gumdp-world", "version": 1, "map": rows, "starts": [[0, 0]], **parts})


def after(model: gumdp.Tabular, state: int, action: int) -> dict[int, float]:
    return {int(s): float(p) for s, p in zip(*model.row(state, action), strict=True)}


def test_walls_and_edges_stop_a_step() -> None:
    model = painted(world([".#", ".."])).model
    assert after(model, 0, RIGHT) == {0: 1.0}
    assert after(model, 0, UP) == {0: 1.0}
    assert after(model, 0, DOWN) == {2: 1.0}
    assert after(model, 3, UP) == {3: 1.0}
    assert after(model, 0, STAY) == {0: 1.0}


def test_a_door_lets_pass_in_its_direction_only() -> None:
    model = painted(world([".>.", "..."])).model
    assert after(model, 0, RIGHT) == {1: 1.0}
    assert after(model, 1, RIGHT) == {2: 1.0}
    assert after(model, 2, LEFT) == {2: 1.0}  # not back through it
    assert after(model, 1, LEFT) == {1: 1.0}
    assert after(model, 4, UP) == {4: 1.0}  # not from the side
    assert after(model, 1, DOWN) == {1: 1.0}


def test_slippery_floor_turns_a_step_to_either_side() -> None:
    model = painted(world(["...", ".~.", "..."], slip=0.3)).model
    assert after(model, 4, UP) == pytest.approx({1: 0.7, 3: 0.15, 5: 0.15})
    assert after(model, 4, STAY) == {4: 1.0}
    assert after(model, 0, RIGHT) == {1: 1.0}  # dry


def test_starts_are_drawn_alike() -> None:
    model = painted(world(["...."], starts=[[0, 3], [0, 1]])).model
    assert model.start.tolist() == [0.0, 0.5, 0.0, 0.5]


OCCUPANCY = np.array([[0.1, 0.0, 0.1, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.3]])
MASS = np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, 1.0 + float((MASS * np.log(MASS)).sum()) / np.log(3.0)),
        ({"objective": {"kind": "imitate"}, "target": ["112"]}, ((MASS - [0.25, 0.25, 0.5]) ** 2).sum()),
        ({"objective": {"kind": "worst"}, "costs": [["900"], ["009"]]}, 0.5),
        ({"objective": {"kind": "cost"}, "costs": [["900"], ["003"]]}, 0.2 + 0.5 / 3.0),
        (
            {"objective": {"kind": "budget", "budget": 0.4, "penalty": 5.0}, "costs": [["009"]]},
            1.0 + float((MASS * np.log(MASS)).sum()) / np.log(3.0) + 5.0 * 0.1,
        ),
    ],
)
def test_goals_are_what_they_say(parts: dict[str, Any], expected: float) -> None:
    problem = painted(world(["..."], **parts))
    assert problem.value(OCCUPANCY) == pytest.approx(expected, abs=1e-12)


def test_a_function_is_given_and_never_read_from_the_file() -> None:
    text = world(["..."], objective={"kind": "function"})
    with pytest.raises(GumdpError, match="not part of the file"):
        painted(text)
    assert painted(text, lambda d: d[2].sum()).value(OCCUPANCY) == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version must be 1"),
        ({"map": ["..", "."]}, "equally long"),
        ({"map": ["." * 61]}, "at most 60"),
        ({"map": ["x"]}, "letters"),
        ({"map": []}, "list of rows"),
        ({"starts": []}, "starts"),
        ({"starts": [[0, 9]]}, "start must be at most"),
        ({"map": ["#."]}, "not be a wall"),
        ({"slip": 2}, "slip"),
        ({"target": ["1"]}, "as the map has"),
        ({"costs": [["00"]] * 4}, "at most three"),
        ({"objective": {"kind": "win"}}, "kind"),
        ({"objective": {"kind": "imitate"}}, "paint one"),
        ({"objective": {"kind": "worst"}}, "paint some"),
        ({"objective": {"kind": "explore", "code": "1"}}, "code"),
        ({"horizon": 0}, "horizon"),
        ({"discount": 0}, "discount"),
        ({"name": ""}, "name"),
        ({"extra": 1}, "extra"),
    ],
)
def test_what_is_no_world_is_refused_in_a_sentence(change: dict[str, Any], message: str) -> None:
    facts = {"format": "gumdp-world", "version": 1, "map": [".."], "starts": [[0, 0]], **change}
    with pytest.raises(GumdpError, match=message):
        check_world(json.dumps(facts))


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(GumdpError, match="JSON"):
        check_world("{")
    with pytest.raises(GumdpError, match="JSON"):
        check_world("[" * 100_000)


def test_a_world_has_one_text() -> None:
    one = world(["..", ".."], slip=0.2)
    assert canonical(one) == canonical(json.dumps(json.loads(canonical(one)), indent=1))
    assert gumdp.zoo.load("painted", world=canonical(one)).horizon == 60


def test_steps_by_hand_are_taken_and_the_planner_goes_on_from_there() -> None:
    problem = gumdp.zoo.load("painted")
    trial = gumdp.run_trial(problem, gumdp.ByHand(gumdp.Greedy(), {0: LEFT, 1: LEFT, 2: LEFT}), seed=1)
    assert trial.cells[:4].tolist() == [0, 0, 0, 0]  # there is an edge
    alone = gumdp.run_trial(problem, gumdp.Greedy(), seed=1)
    assert gumdp.run_trial(problem, gumdp.ByHand(gumdp.Greedy()), seed=1).value == alone.value


def test_by_hand_says_what_is_wrong() -> None:
    problem = gumdp.zoo.load("painted")
    with pytest.raises(GumdpError, match="below 5"):
        gumdp.run_trial(problem, gumdp.ByHand(gumdp.Greedy(), {0: 9}))
    with pytest.raises(GumdpError, match="tree search"):
        gumdp.run_trial(problem, gumdp.ByHand(gumdp.Greedy(), iterations={0: 9}))
    with pytest.raises(GumdpError, match="from step to number"):
        gumdp.ByHand(gumdp.Greedy(), [1])


def test_a_budget_from_the_first_step_is_the_budget() -> None:
    problem = gumdp.zoo.load("m1-entropy", horizon=30)
    changed = gumdp.ByHand(gumdp.MCTS(iterations=300), iterations={0: 40, 10: 80})
    trial = gumdp.run_trial(problem, changed, seed=2)
    for t, decision in enumerate(trial.decisions):  # a search that has proved its choice ends early
        budget = 40 if t < 10 else 80
        assert decision.iterations == budget or (decision.proved and decision.iterations < budget)
    assert [d.iterations for d in trial.decisions[8:12]] == [40, 40, 80, 80]
    same = gumdp.run_trial(problem, gumdp.ByHand(gumdp.MCTS(iterations=300), iterations={0: 300}), seed=2)
    assert same.value == gumdp.run_trial(problem, gumdp.MCTS(iterations=300), seed=2).value


def test_a_search_can_be_watched_and_decides_the_same() -> None:
    problem = gumdp.zoo.load("m1-entropy")
    seen = []
    policy = gumdp.MCTS(iterations=100_000).start(problem, seed=0)
    policy.watch(seen.append)
    decision = policy.act(0)
    assert len(seen) > 2
    assert [d.iterations for d in seen] == sorted(d.iterations for d in seen)
    assert seen[-1].visits.tolist() == decision.visits.tolist()
    assert gumdp.MCTS(iterations=100_000).start(problem, seed=0).act(0).values.tolist() == decision.values.tolist()
