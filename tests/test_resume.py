"""Going on from the middle of a trial: from a file, or from what was counted so far."""

from __future__ import annotations

import numpy as np
import pytest

import gumdp
from fishing import fishwood

PLANNERS = [gumdp.Greedy(randomness=0.3), gumdp.MCTS.paper(40), gumdp.MCTS(40, reuse=True), gumdp.MCTS(40, threads=2)]


def walk(problem, policy, state, steps, rng):
    """Play so many steps; return the actions and the state after them."""
    actions = []
    for _ in range(steps):
        actions.append(policy.act(state).action)
        state = problem.model.sample(state, actions[-1], rng)
    return actions, state


@pytest.mark.parametrize("planner", PLANNERS, ids=repr)
def test_a_saved_policy_goes_on_with_the_same_bits(planner, tmp_path):
    problem = gumdp.zoo.load("m1-entropy", horizon=24)
    whole = planner.start(problem, seed=3)
    expected, _ = walk(problem, whole, 0, 24, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    broken = planner.start(problem, seed=3)
    first, state = walk(problem, broken, 0, 11, rng)
    broken.save(tmp_path / "policy.npz")
    resumed = planner.start(problem).load(tmp_path / "policy.npz")
    rest, _ = walk(problem, resumed, state, 13, rng)
    assert first + rest == expected
    assert resumed.worth() == whole.worth()
    assert np.array_equal(resumed.occupancy, whole.occupancy)


def test_totals_and_hashed_cells_are_saved_too(tmp_path):
    hashed = gumdp.zoo.load("taxi-entropy", horizon=12).replace(counts=gumdp.Hashed())
    for problem, start in ((fishwood(0.25, 0.65, 12), 2), (hashed, None)):
        planner = gumdp.Greedy(randomness=0.5)
        state = problem.model.start_state(np.random.default_rng(1)) if start is None else start
        whole, broken = planner.start(problem, seed=1), planner.start(problem, seed=1)
        expected, last = walk(problem, whole, state, 12, np.random.default_rng(2))
        rng = np.random.default_rng(2)
        first, middle = walk(problem, broken, state, 5, rng)
        broken.save(tmp_path / "policy.npz")
        resumed = planner.start(problem).load(tmp_path / "policy.npz")
        rest, _ = walk(problem, resumed, middle, 7, rng)
        assert first + rest == expected
        for policy in (whole, resumed):
            policy.arrived(last)
        assert resumed.worth() == whole.worth()
        assert resumed.totals == whole.totals


def test_a_trial_can_begin_with_what_was_counted_so_far():
    problem = gumdp.zoo.load("m1-entropy", horizon=10)
    d = np.zeros(problem.shape)
    d[0, 1] = problem.weights[:4].sum()
    policy = gumdp.Greedy().start(problem, occupancy=d, t=4)
    walk(problem, policy, 0, 6, np.random.default_rng(0))
    assert policy.occupancy.sum() == pytest.approx(1.0, abs=1e-12)
    assert policy.occupancy[0, 1] >= d[0, 1]
    assert policy.worth() == pytest.approx(problem.value(policy.occupancy), abs=1e-12)
    with pytest.raises(gumdp.GumdpError, match="over after 10 steps"):
        policy.act(0)
    states = gumdp.zoo.load("patrol", rows=2, columns=2, horizon=8)  # whose objective looks at states
    share = np.zeros(states.shape)
    share[1, 0] = states.weights[:3].sum()
    other = gumdp.Greedy().start(states, occupancy=share, t=3)
    assert other.worth() == pytest.approx(states.value(share), abs=1e-12)


@pytest.mark.thorough
def test_search_looks_ahead_from_the_totals_it_is_given():
    problem = fishwood(fish=1.0, wood=1.0, horizon=6)
    policy = gumdp.MCTS(200, randomness=1.0, reuse=True).start(problem, occupancy=[0.0, 4.0], t=3)
    assert policy.act(2).action == 0  # wood there is enough
    # two meals take four logs, and there are four steps left: no time to fish
    assert gumdp.MCTS(200, randomness=1.0, reuse=True).start(problem, occupancy=[2.0, 0.0], t=2).act(2).action == 1


@pytest.mark.parametrize(
    "act, words",
    [
        (lambda p, f: gumdp.Greedy().start(p, t=3), "give the occupancy"),
        (lambda p, f: gumdp.Greedy().start(p, occupancy=np.zeros((3, 2)), t=10), "at most 9"),
        (lambda p, f: gumdp.Greedy().start(p, occupancy=np.zeros((2, 2)), t=0), "shape"),
        (lambda p, f: gumdp.Greedy().start(p, occupancy=np.ones((3, 2)), t=2), "must sum to"),
        (lambda p, f: gumdp.Exact().start(p.replace(horizon=3)).save(f), "can't be saved"),
        (lambda p, f: gumdp.Exact().start(p.replace(horizon=3), occupancy=np.zeros((3, 2)), t=0), "in the middle"),
        (lambda p, f: gumdp.Greedy().start(p).load(f.with_name("none.npz")), "can't be read"),
        (lambda p, f: (f.write_bytes(b"nothing"), gumdp.Greedy().start(p).load(f)), "not a file that"),
        (lambda p, f: (gumdp.Greedy().start(p).save(f), gumdp.Random().start(p).load(f)), "another planner"),
        (lambda p, f: (gumdp.Greedy().start(p).save(f), gumdp.Greedy().start(p.replace(horizon=5)).load(f)), "another"),
        (lambda p, f: gumdp.Greedy().start(p).save(f.with_name("no folder") / "file"), "can't be written"),
    ],
)  # fmt: skip
def test_bad_input_is_met_with_a_sentence(act, words, tmp_path):
    problem = gumdp.zoo.load("m1-entropy", horizon=10)
    with pytest.raises(gumdp.GumdpError, match=words):
        act(problem, tmp_path / "policy.npz")
