"""Planners on beliefs: what they are compared with, what information is worth, and acting in real environments."""

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import gumdp

pytestmark = pytest.mark.thorough  # most of its time is compiling

FIXED = {"randomness": 0.3, "reuse": True, "exploration": 2.0}  # no tuning
TABLE = gumdp.zoo.load("m1-entropy").model
PLANNERS = [gumdp.CertaintyEquivalent, gumdp.Thompson, gumdp.Optimistic, gumdp.Robust]


@pytest.mark.parametrize("kind", PLANNERS)
def test_a_planner_in_worlds_keeps_its_word(kind: type) -> None:
    problem = gumdp.Problem(gumdp.Belief.around(TABLE, strength=3), gumdp.Entropy(), 0.9, 6)
    gumdp.check_planner(kind(gumdp.MCTS(20, **FIXED)), problem)


@pytest.mark.parametrize("kind", [gumdp.CertaintyEquivalent, gumdp.Thompson])
def test_where_the_world_is_known_they_search_in_it(kind: type) -> None:
    """The first decision is that of the search itself, to the bit (its values are rounded once more)."""
    search = gumdp.MCTS(60, **FIXED)
    known, believed = (gumdp.Problem(m, gumdp.Entropy(), 0.9, 20) for m in (TABLE, gumdp.Belief.of([TABLE])))
    one, two = search.start(known, seed=2).act(0), kind(search).start(believed, seed=2).act(0)
    assert one.values == pytest.approx(two.values, rel=1e-15)
    assert (one.action, one.visits.tolist(), one.errors.tolist()) == (
        two.action,
        two.visits.tolist(),
        two.errors.tolist(),
    )


def gamble(chance: float) -> gumdp.Tabular:
    """Action 0 costs 0.4 for sure, action 1 leads to a state of cost 1 with this chance, else to one of cost 0."""
    to = np.zeros((4, 2, 4))
    to[0, 0, 3] = to[1, :, 1] = to[2, :, 2] = to[3, :, 3] = 1.0
    to[0, 1, 1], to[0, 1, 2] = chance, 1.0 - chance
    return gumdp.Tabular(to)


def test_optimists_gamble_and_the_cautious_do_not() -> None:
    """Whether it is bad for sure or good for sure is not known; on average the gamble is a bad one."""
    belief = gumdp.Belief.of([gamble(0.0), gamble(1.0)], [0.4, 0.6])
    problem = gumdp.Problem(belief, gumdp.Linear([[0, 0], [2, 2], [0, 0], [0.8, 0.8]]), 1.0, 2)
    search = gumdp.MCTS(100, **FIXED)
    actions = {
        kind.__name__: kind(search, **options).start(problem, seed=1).act(0).action
        for kind, options in [
            (gumdp.CertaintyEquivalent, {}),
            (gumdp.Optimistic, {"worlds": 20}),
            (gumdp.Robust, {"worlds": 20}),
        ]
    }
    assert actions == {"CertaintyEquivalent": 0, "Optimistic": 1, "Robust": 0}
    assert {gumdp.Thompson(search).start(problem, seed=k).act(0).action for k in range(12)} == {0, 1}


def unknown_switch() -> gumdp.Problem:
    """One of two levers opens the door for good, and nobody knows which; the first step can look at a label.

    States: a hall with the label unread, the two signs that it can show, the open door, the wall. It is better to
    look first: then the lever is known. On average over worlds looking is worthless, because signs mean nothing there.
    """
    tables = []
    for right in (0, 1):
        to = np.zeros((5, 3, 5))
        to[0, 2, 1 + right] = 1.0  # look: the sign tells
        for state in (0, 1, 2):
            for lever in (0, 1):
                to[state, lever, 3 if lever == right else 4] = 1.0
        to[1, 2, 1] = to[2, 2, 2] = 1.0
        to[3, :, 3] = to[4, :, 4] = 1.0
        tables.append(gumdp.Tabular(to))
    costs = np.array([0.3, 0.3, 0.3, 0.0, 1.0])[:, None] * np.ones(3) * 6
    return gumdp.Problem(gumdp.Belief.of(tables), gumdp.Linear(costs), 1.0, 6)


def test_only_who_plans_to_learn_looks_first() -> None:
    """Looking costs 0.3 twice, and then nothing; a lever at once costs 0.3 and then 0 or 5: 2.8 on average."""
    problem = unknown_switch()
    assert gumdp.solve_exact(problem).value == pytest.approx(0.6, abs=1e-12)
    search = gumdp.MCTS(2000, **FIXED)
    decision = search.start(problem).act(0)
    assert decision.action == 2
    assert decision.value == pytest.approx(0.6, abs=0.15)
    assert gumdp.evaluate(problem, search, trials=20).mean == pytest.approx(0.6, abs=1e-12)
    levers = gumdp.evaluate(problem, gumdp.Thompson(search), trials=60)
    assert levers.mean > 2.8 - 4 * levers.standard_error


def test_information_is_what_learning_in_simulations_is_worth() -> None:
    """In the mean table no sign means anything: 1.8 by never trying, 2.8 with a lever. With learning it is 0.6."""
    problem = unknown_switch()
    decision = gumdp.MCTS(2000, **FIXED, information=True).start(problem).act(0)
    assert 1.8 - 0.75 < decision.information < 2.8 - 0.6
    assert gumdp.MCTS(50, **FIXED).start(problem).act(0).information is None
    known = gumdp.Problem(TABLE, gumdp.Entropy(), 0.9, 5)
    assert gumdp.MCTS(50, **FIXED, information=True).start(known).act(0).information is None


def test_they_need_a_belief_and_a_search_with_a_number_of_iterations() -> None:
    with pytest.raises(gumdp.GumdpError, match="plans with a Belief, and this problem's model is Tabular"):
        gumdp.Thompson().start(gumdp.Problem(TABLE, gumdp.Entropy(), 0.9, 5))
    for planner in (gumdp.MCTS(time_limit=0.1), gumdp.MCTS(10, threads=2)):
        with pytest.raises(gumdp.GumdpError, match="must have a number of iterations, no time_limit and one thread"):
            gumdp.CertaintyEquivalent(planner)
    with pytest.raises(gumdp.GumdpError, match="planner must be a MCTS"):
        gumdp.Thompson(gumdp.Random())
    with pytest.raises(gumdp.GumdpError, match="worlds must be a whole number of at least 1"):
        gumdp.Robust(worlds=0)


# --- models ---


def test_a_belief_is_a_model_like_any_other() -> None:
    for belief in (gumdp.Belief(3, 2), gumdp.Belief.of([TABLE, TABLE]), gumdp.Belief.around(TABLE)):
        gumdp.check_model(belief)
        again = pickle.loads(pickle.dumps(belief.after([0], [0], [1])))
        assert again.mean.dense().tolist() == belief.after([0], [0], [1]).mean.dense().tolist()


def test_actions_that_are_not_available_are_not_taken() -> None:
    mask = np.array([[True, False, True], [True, True, False], [False, True, True]])
    problem = gumdp.Problem(gumdp.Belief(3, 3, available=mask, tied=np.zeros((3, 3), int)), gumdp.Entropy(), 1.0, 40)
    for planner in (gumdp.Random(), gumdp.MCTS(15, **FIXED)):
        trial = gumdp.run_trial(problem, planner, seed=0)
        assert mask[trial.states, trial.actions].all()
        assert trial.belief.uncertainty()[~mask].tolist() == [0.0, 0.0, 0.0]


SCRIPT = """
import gumdp
moving = gumdp.Belief(2, 2, prior=0.4, moves=[[0, 1, 0], [0, 1, 1]], tied=[[0, 1], [0, 1]])
table = gumdp.zoo.load("m2-imitation").model
for belief in (moving, gumdp.Belief.of([table, gumdp.Belief.around(table, 3).draw(1)])):
    problem = gumdp.Problem(belief, gumdp.Entropy(), 0.9, 6)
    planner = gumdp.MCTS(12, randomness=0.3, reuse=True, exploration=2.0)
    print([value.hex() for value in gumdp.evaluate(problem, planner, trials=3, seed=1, workers=1).values.tolist()])
"""


def test_interpreted_and_compiled_beliefs_agree_to_the_bit() -> None:
    path = os.pathsep.join([str(Path(gumdp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    one, two = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": path, **extra},
        ).stdout
        for extra in ({}, {"NUMBA_DISABLE_JIT": "1"})
    )  # fmt: skip
    assert one == two
    assert one.count("0x") == 6


# --- logs and environments ---


def test_a_belief_from_a_log_has_its_counts_and_knows_what_follows_an_end() -> None:
    log = gumdp.learn(([0, 0, 1, 0], [0, 0, 1, 1], [1, 1, 2, 0]), shape=(3, 2), terminated=[False, False, True, False])
    belief = log.belief(prior=0.5)
    assert belief.mean.dense()[0, 0].tolist() == [0.5 / 3.5, 2.5 / 3.5, 0.5 / 3.5]
    assert belief.mean.dense()[2].tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    assert belief.uncertainty()[2].tolist() == [0.0, 0.0]
    near = log.belief(prior=1.0, support=np.eye(3, dtype=bool))
    assert near.mean.dense()[0, 0] == pytest.approx([1 / 4, 3 / 4, 0.0])  # what was logged is possible
    assert near.mean.dense()[1, 0].tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(gumdp.GumdpError, match="prior must be positive"):
        log.belief(prior=0.0)


def test_play_learns_from_a_real_environment() -> None:
    """The frozen lake with nothing known but that a step leads to a neighbour; the belief is what happened."""
    lake = gumdp.from_gymnasium("FrozenLake-v1")
    near = (lake.dense().sum(axis=1) > 0.0) | np.eye(16, dtype=bool)
    belief = gumdp.Belief(16, 4, prior=0.5, support=near, terminal="absorb")
    problem = gumdp.Problem(belief, gumdp.StateEntropy(), 1.0, 30)
    trial = gumdp.play(gymnasium.make("FrozenLake-v1"), problem, gumdp.MCTS(20, **FIXED), seed=1)
    taught = belief.after(trial.states[:-1], trial.actions[:-1], trial.states[1:])
    assert trial.belief.mean.dense().tolist() == taught.mean.dense().tolist()
    first = belief.row(int(trial.states[0]), int(trial.actions[0]))
    assert trial.reality.likelihood[0] == first[1][first[0] == trial.states[1]][0]
    assert trial.reality.surprises.size == 0


def test_a_step_that_the_belief_rules_out_ends_play_with_a_sentence() -> None:
    stay = gumdp.Belief(16, 4, support=np.eye(16, dtype=bool), terminal="absorb")
    with pytest.raises(gumdp.GumdpError, match=r"which the belief holds for impossible; allow it with support\["):
        gumdp.play("FrozenLake-v1", gumdp.Problem(stay, gumdp.StateEntropy(), 1.0, 30), gumdp.Random(), seed=0)


def test_a_policy_that_is_saved_goes_on_with_what_it_has_learnt(tmp_path: Path) -> None:
    problem = gumdp.Problem(gumdp.Belief(3, 2, prior=0.5), gumdp.Entropy(), 1.0, 12)
    planner, states = gumdp.MCTS(20, **FIXED), [0, 1, 2, 0, 0, 1]
    policy = planner.start(problem, seed=3)
    for state in states[:3]:
        policy.act(state)
    policy.save(tmp_path / "policy.npz")
    again = planner.start(problem, seed=3).load(tmp_path / "policy.npz")
    for state in states[3:]:
        one, two = policy.act(state), again.act(state)
        assert one.values.tolist() == two.values.tolist()
    assert policy.belief.mean.dense().tolist() == again.belief.mean.dense().tolist()


# --- totals ---


def best_totals(phi: np.ndarray, discount: float, horizon: int, prior: float, cost: Any) -> float:
    """The least expected cost of totals, by counting what has been seen, over all histories."""
    states, actions = phi.shape[:2]

    def value(t: int, s: int, totals: np.ndarray, seen: np.ndarray) -> float:
        if t == horizon:
            return float(cost(totals))
        return min(after(t, s, a, totals, seen) for a in range(actions))

    def after(t: int, s: int, a: int, totals: np.ndarray, seen: np.ndarray) -> float:
        expected = 0.0
        for s2 in range(states):
            more = seen.copy()
            more[s, a, s2] += 1.0
            added = phi[s, a, s2] if phi.ndim == 4 else phi[s, a]
            chance = seen[s, a, s2] / seen[s, a].sum()
            expected += chance * value(t + 1, s2, totals + discount**t * added, more)
        return expected

    return value(0, 0, np.zeros(phi.shape[-1]), np.full((states, actions, states), prior))


def cost_of_totals(z: Any) -> Any:
    return z[1] * z[1] - z[0]


def problem_of_totals(phi: np.ndarray) -> gumdp.Problem:
    belief = gumdp.Belief(states=2, actions=2, prior=0.5, start=0)
    counts = gumdp.Features(phi, names=["x", "y"])
    known = {"gradient": lambda z: np.array([-1.0, 2.0 * z[1]]), "convex": True, "bounds": (-3.0, 8.0)}
    cost = gumdp.Function(cost_of_totals, **known)
    return gumdp.Problem(belief, cost, discount=0.9, horizon=3, counts=counts, scale="sum")


SHAPES = pytest.mark.parametrize("shape", [(2, 2, 2), (2, 2, 2, 2)], ids=["of pairs", "of transitions"])


@SHAPES
def test_totals_are_planned_for_in_a_world_that_is_not_known(shape: tuple[int, ...]) -> None:
    phi = np.random.default_rng(3).random(shape)
    problem = problem_of_totals(phi)
    planner = gumdp.MCTS(50_000, randomness=1.0, reuse=True, commitment=math.inf)
    decision = planner.start(problem, seed=0).act(0)
    best = best_totals(phi, 0.9, 3, 0.5, cost_of_totals)
    assert decision.value == pytest.approx(best, abs=4.0 * decision.errors.min())
    if phi.ndim == 3:
        solution = gumdp.solve_exact(problem)
        assert solution.value == pytest.approx(best, abs=1e-12)
        found = gumdp.evaluate(problem, solution.planner, trials=400, seed=0)
        assert abs(found.mean - best) < 4.0 * found.standard_error
    else:
        with pytest.raises(gumdp.GumdpError, match="don't depend on the next state"):
            gumdp.solve_exact(problem)
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=3)
    steps = zip(trial.states[:-1], trial.actions[:-1], trial.states[1:], strict=True)
    told = sum(0.9**t * (phi[s, a, s2] if phi.ndim == 4 else phi[s, a]) for t, (s, a, s2) in enumerate(steps))
    rest = 0.81 * phi[trial.states[-1], trial.actions[-1]]  # of every next state, where it depends on that
    assert any(np.allclose(list(trial.totals.values()), told + last) for last in rest.reshape(-1, 2))


@SHAPES
def test_no_policy_that_has_to_learn_has_totals_below_the_bound(shape: tuple[int, ...]) -> None:
    phi = np.random.default_rng(3).random(shape)
    bound = gumdp.lower_bound(problem_of_totals(phi), time_limit=4.0)
    assert bound.value <= best_totals(phi, 0.9, 3, 0.5, cost_of_totals)


def test_bounds_of_a_belief_leave_out_what_does_not_apply() -> None:
    belief = gumdp.Belief(states=2, actions=2, start=0)
    cost = gumdp.Function(lambda d: d[0, 0] * d[1, 1], bounds=(0.0, 0.25))
    bound = gumdp.lower_bound(gumdp.Problem(belief, cost, discount=1.0, horizon=3), time_limit=0.1)
    assert bound.value == 0.0
