"""Control variates of rollouts: their moments by enumeration, the expectation, and returns without the luck."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import gumdp
from gumdp.counts.running import commit, new_running, settle
from gumdp.jit.record import type_of
from gumdp.policies.play import setup_of
from gumdp.search.belief_variate_kernels import BeliefControlVariate
from gumdp.search.control_variate import control_variate, span, uniform
from gumdp.search.control_variate_kernels import ControlVariate, NoControlVariate, knots
from gumdp.search.total_variate_kernels import TotalsControlVariate

pytestmark = pytest.mark.thorough  # most of its time is compiling

ROLLOUTS = {"randomness": 1.0, "reuse": True, "exploration": 2.0}  # without an audition


def random_problem(
    objective=None, seed=0, states=3, actions=2, horizon=3, episodes=2, discount=0.8, available=None
) -> gumdp.Problem:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(states), size=(states, actions))
    start = rng.dirichlet(np.ones(states))
    model = gumdp.Tabular(rows, start=start, available=available)
    return gumdp.Problem(model, objective or gumdp.Entropy(), discount, horizon, episodes)


def futures(problem, policy, s, t):
    """All that can happen from ``s`` at step ``t`` on, by brute force: probabilities [N] and added masses [N, S, A]."""
    if t == problem.steps:
        return np.ones(1), np.zeros((1, *problem.shape))
    chances, masses = [], []
    rows = problem.model.dense()
    table = policy if policy.ndim == 2 else policy[t % problem.horizon]
    fresh = (t + 1) % problem.horizon == 0
    for a in np.flatnonzero(table[s]):
        after = problem.model.start if fresh else rows[s, a]
        for state in np.flatnonzero(after):
            q, added = futures(problem, policy, state, t + 1)
            added[:, s, a] += problem.weights[t]
            chances.append(table[s, a] * after[state] * q)
            masses.append(added)
    return np.concatenate(chances), np.concatenate(masses)


def cells_of(problem, d):
    """Occupancies [..., S, A] as kernels have them: pairs, then states if the objective looks at them."""
    pairs = d.reshape(*d.shape[:-2], -1)
    return np.concatenate([pairs, d.sum(axis=-1)], axis=-1) if problem.record.grouped() else pairs


STATES = gumdp.StateEntropy()
MASK = np.array([[True, True], [False, True], [True, True]])
PROBLEMS = {
    "pairs": random_problem(),
    "states": random_problem(STATES, seed=1),
    "both": random_problem(gumdp.Entropy() + 0.5 * STATES, seed=2),
    "masked": random_problem(seed=3, available=MASK),
    "undiscounted": random_problem(seed=4, discount=1.0, horizon=4, episodes=1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("kind", ["uniform", "policy", "by step"])
def test_the_moments_are_those_of_all_that_can_happen(name, kind):
    problem = PROBLEMS[name]
    shape = (problem.horizon, *problem.shape) if kind == "by step" else problem.shape
    policy = np.random.default_rng(5).dirichlet(np.ones(2), size=shape[:-1])
    if kind == "uniform" or name == "masked":
        policy = uniform(problem.model)
    found = control_variate(problem, None if kind == "uniform" else policy)
    first, second = (x.reshape(problem.steps + 1, problem.shape[0], found.cells) for x in (found.first, found.second))
    seen = slice(found.start, found.start + found.cells)
    for t in range(problem.steps + 1):
        for s in range(problem.shape[0]):
            chances, masses = futures(problem, policy, s, t)
            assert chances.sum() == pytest.approx(1.0)
            added = cells_of(problem, masses)[:, seen]
            assert first[t, s] == pytest.approx(chances @ added, abs=1e-12)
            assert second[t, s] == pytest.approx(chances @ added**2, abs=1e-12)


def at(problem, done, taken):
    """A running occupancy after the pairs ``done`` have happened and a search has gone down the pairs ``taken``."""
    running = new_running(problem.record, problem.shape, problem.steps)
    actions = problem.shape[1]
    for t, (s, a) in enumerate(done):
        commit(problem.record, running, s, a, problem.weights[t])
    length = 0
    for k, (s, a) in enumerate(taken):
        places = [s * actions + a] + ([problem.shape[0] * actions + s] if problem.record.grouped() else [])
        for c in places:
            running.d[c] += problem.weights[len(done) + k]
            running.path[length] = c
            length += 1
    return running, length


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_expectation_is_that_of_the_quadratics_over_all_that_can_happen(name):
    problem, policy = PROBLEMS[name], uniform(PROBLEMS[name].model)
    done, taken, s = [(0, 1)], [(2, 0), (2, 0)], 2  # a pair twice: its quadratic does not add up
    running, length = at(problem, done, taken)
    found, t0, t = control_variate(problem), np.uint64(1), np.uint64(3)
    with np.errstate(over="ignore"):
        found.prepare(setup_of(problem), running, np.uint64(2), t0)
        expected = found.expectation(problem.record, running, problem.weights, t0, np.uint64(s), t, np.uint64(length))
    before = running.d - running.root
    total = 0.0
    for p, d in zip(*futures(problem, policy, s, int(t)), strict=True):
        y = (before + cells_of(problem, d))[found.start : found.start + found.cells]
        total += p * float(np.sum(found.slope * y + found.curve * y * y))
    assert np.any(found.curve != 0.0)
    assert expected == pytest.approx(total, abs=1e-12)


def play_on(problem, running, length, s, t, rng):
    """A random rollout by hand; returns the value, how many cells changed and the path's length."""
    rows, actions = problem.model.dense(), problem.shape[1]
    while t < problem.steps:
        a = rng.integers(actions)
        places = [s * actions + a] + ([problem.shape[0] * actions + s] if problem.record.grouped() else [])
        for c in places:
            running.d[c] += problem.weights[t]
            running.path[length] = c
            length += 1
        t += 1
        s = rng.choice(problem.shape[0], p=problem.model.start if t % problem.horizon == 0 else rows[s, a])
    return settle(problem.record, running, np.uint64(length))


def adjusted(problem, returns, seed=0):
    """So many returns of rollouts from one place, as they are and without their luck."""
    rng, found = np.random.default_rng(seed), control_variate(problem)
    t0 = np.uint64(1)
    values = np.empty((returns, 2))
    with np.errstate(over="ignore"):
        for k in range(returns):
            running, length = at(problem, [(0, 1)], [(2, 0)])
            if k == 0:
                found.prepare(setup_of(problem), running, np.uint64(2), t0)
            expected = found.expectation(
                problem.record, running, problem.weights, t0, np.uint64(1), np.uint64(2), np.uint64(length)
            )
            value, changed = play_on(problem, running, length, 1, 2, rng)
            span = (t0, np.uint64(2), np.uint64(problem.steps), np.uint64(0))
            values[k] = value, found.adjust(setup_of(problem), running, span, changed, expected, value)
    return values


def test_what_is_quadratic_has_no_luck_left():
    target = np.random.default_rng(1).dirichlet(np.ones(6)).reshape(3, 2)
    problem = random_problem(gumdp.Imitation(target), seed=6, horizon=6)
    raw, rest = adjusted(problem, 300).T
    assert rest[100:].std() < 0.02 * raw.std()


@pytest.mark.parametrize("objective", [gumdp.Entropy(), STATES, gumdp.Entropy() + 0.5 * STATES], ids=str)
def test_the_mean_stays_and_most_of_the_noise_goes(objective):
    problem = random_problem(objective, seed=7, horizon=10, discount=0.95)
    raw, rest = adjusted(problem, 4000).T
    difference = rest - raw
    assert abs(difference.mean()) < 4.0 * difference.std(ddof=1) / np.sqrt(difference.size)
    assert rest[100:].std() < 0.5 * raw.std()


def test_means_of_the_search_are_those_of_uniform_play():
    """Each action tried once: what it costs on average is known by enumeration, correction or not."""
    problem = random_problem(seed=8, horizon=5, episodes=1)
    policy, exact = uniform(problem.model), np.zeros(2)
    for a in range(2):
        for after, p in enumerate(problem.model.dense()[0, a]):
            for q, d in zip(*futures(problem, policy, after, 1), strict=True):
                d[0, a] += problem.weights[0]
                exact[a] += p * q * problem.objective.value(d)
    seen = {}
    for corrected in (False, True):
        planner = gumdp.MCTS(2, **ROLLOUTS, control_variate=corrected, paired=False, even=False)
        seen[corrected] = np.array([planner.start(problem, seed=k).act(0).values for k in range(1500)])
        error = seen[corrected].std(axis=0, ddof=1) / np.sqrt(len(seen[corrected]))
        assert np.all(np.abs(seen[corrected].mean(axis=0) - exact) < 4.0 * error)
    assert np.all(seen[True].std(axis=0) < seen[False].std(axis=0))


def uniform_cost(problem, labels, counts, s, t, d):
    """The mean cost of uniform play from ``s`` at ``t`` on, and that of its square, over all that can be seen.

    Urns by hand, one for each label.
    """
    if t == problem.steps:
        return problem.objective.value(d) ** np.arange(1, 3)
    pairs = [after_pair(problem, labels, counts, s, a, t, d) for a in range(problem.shape[1])]
    return np.mean(pairs, axis=0)


def after_pair(problem, labels, counts, s, a, t, d):
    own, total, last = labels[s, a], np.zeros(2), (t + 1) % problem.horizon == 0
    added = d.copy()
    added[s, a] += problem.weights[t]
    for after in np.flatnonzero(counts[own]):
        learned = counts.copy()
        learned[own, after] += 1.0
        p = counts[own, after] / counts[own].sum()
        total += p * uniform_cost(problem, labels, learned, 0 if last else after, t + 1, added)
    return total


UNKNOWN = {"alone": np.arange(6).reshape(3, 2), "tied": np.array([[0, 1], [0, 1], [2, 2]])}
KINDS = [("alone", STATES, 1), ("tied", STATES, 2), ("tied", gumdp.Entropy(), 1), ("one of two", STATES, 1)]


@pytest.mark.parametrize(("kind", "objective", "episodes"), KINDS)
def test_means_of_the_search_are_those_of_uniform_play_where_simulations_learn(kind, objective, episodes):
    rng, horizon, empty = np.random.default_rng(3), 4 // episodes, np.zeros((3, 2))
    if kind == "one of two":
        tables = [gumdp.Tabular(rng.dirichlet(np.full(3, 0.5), size=(3, 2)), start=0) for _ in range(2)]
        problem = gumdp.Problem(gumdp.Belief.of(tables, [0.3, 0.7]), objective, 0.9, horizon, episodes)
        certain = [1e12 * table.dense().reshape(6, 3) for table in tables]  # nothing is learned
        costs = [[after_pair(problem, UNKNOWN["alone"], each, 0, a, 0, empty) for a in range(2)] for each in certain]
        exact = np.tensordot([0.3, 0.7], costs, axes=1)
    else:
        labels = UNKNOWN[kind]
        belief = gumdp.Belief(3, 2, prior=0.5, start=0, tied=labels)
        problem = gumdp.Problem(belief, objective, 0.9, horizon, episodes)
        counts = np.full((labels.max() + 1, 3), 0.5)
        exact = np.array([after_pair(problem, labels, counts, 0, a, 0, empty) for a in range(2)])
    planner = gumdp.MCTS(2, **ROLLOUTS, solve=False)
    assert isinstance(planner.rules(problem)[0].leaf.control, BeliefControlVariate)
    seen = np.array([planner.start(problem, seed=k).act(0).values for k in range(2000)])
    error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    assert np.all(np.abs(seen.mean(axis=0) - exact[:, 0]) < 4.0 * error)
    if kind != "one of two":  # where much is decided by the table, which is not luck
        assert np.all(seen.std(axis=0) < np.sqrt(exact[:, 1] - exact[:, 0] ** 2))


def test_the_mean_stays_where_nobody_saw_which_move_it_was():
    """In a corner several moves lead to the same square: urns are mixtures, drawn anew for each simulation."""
    row, column = np.divmod(np.arange(4), 2)
    ways = [(-1, 0), (0, 1), (1, 0), (0, -1), (0, 0)]
    moves = np.stack([np.clip(row + r, 0, 1) * 2 + np.clip(column + c, 0, 1) for r, c in ways], axis=1)
    belief = gumdp.Belief(4, 2, prior=0.5, moves=moves, tied=np.tile(np.arange(2), (4, 1)))
    seen = belief.after([0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1])
    assert seen._mixtures.sizes.max() > 1
    problem, values = gumdp.Problem(seen, STATES, 0.95, 8), {}
    for corrected in (False, True):
        planner = gumdp.MCTS(2, **ROLLOUTS, control_variate=corrected, solve=False)
        values[corrected] = np.array([planner.start(problem, seed=k).act(0).values for k in range(2000)])
    difference = values[True] - values[False]
    assert np.all(np.abs(difference.mean(axis=0)) < 4.0 * difference.std(axis=0, ddof=1) / np.sqrt(len(difference)))
    assert np.all(values[True].std(axis=0) < values[False].std(axis=0))


def test_a_simulation_that_is_corrected_leaves_the_belief_as_it_was():
    belief = gumdp.Belief(3, 2, prior=0.5, start=0, tied=UNKNOWN["tied"])
    problem = gumdp.Problem(belief, STATES, 0.9, 6)
    policy = gumdp.MCTS(50, **ROLLOUTS).start(problem, seed=0)
    policy.act(0)
    model = policy._searchers[0].setup.model
    model.restore(np.uint64(0))
    fresh = setup_of(problem).model
    assert np.array_equal(model.urns, fresh.urns)
    assert np.array_equal(model.root, fresh.root)


@pytest.mark.parametrize("mean, square", [(0.3, 0.0901), (0.3, 0.09), (0.01, 0.01), (0.2, 0.05), (1e-9, 1e-12)])
def test_quadratics_meet_the_objective_at_three_different_masses(mean, square):
    low, middle, high = knots(mean, square)
    assert 0.0 <= low < middle < high
    assert high - middle == pytest.approx(middle - low)


def test_there_is_none_where_the_moments_are_not_known():
    small = gumdp.zoo.load("m1-entropy")
    assert isinstance(control_variate(small), ControlVariate)
    dense = gumdp.Problem(small.model, gumdp.Function(lambda d: float(np.max(d))), 0.9, 20)
    assert isinstance(control_variate(dense), NoControlVariate)
    assert isinstance(control_variate(gumdp.zoo.load("mountaincar-entropy")), NoControlVariate)
    assert isinstance(control_variate(gumdp.zoo.load("patrol", rows=60, columns=60)), NoControlVariate)
    for planner, known in (
        (gumdp.MCTS(5, **ROLLOUTS), True), (gumdp.MCTS(5, rollout="uniform"), True), (gumdp.MCTS.paper(5), False),
        (gumdp.MCTS(5, rollout=np.full(small.shape, 0.5)), True),
        (gumdp.MCTS(5, **ROLLOUTS, control_variate=False), False),
        (gumdp.MCTS(5, **{**ROLLOUTS, "randomness": 0.3}), False),
    ):  # fmt: skip
        control = planner.rules(small)[0].leaf.control
        assert known == (isinstance(control, ControlVariate) and control.cells > 0)


def test_a_search_that_tries_two_rollout_policies_is_compiled_once():
    for name in ("m1-entropy", "mountaincar-entropy", "queue-fairness"):
        problem = gumdp.zoo.load(name)
        kinds = {
            type_of(gumdp.MCTS(5, randomness=share, commitment=0.0).rules(problem)[0]) for share in (0.0, 0.3, 1.0)
        }
        assert len(kinds) == 1


def test_tables_are_computed_once_and_scratch_is_not_shared():
    problem = gumdp.zoo.load("m1-entropy")
    one, two = control_variate(problem), control_variate(problem)
    assert one.first is two.first
    assert one.slope is not two.slope
    assert span(problem) == (0, 6)


def test_trials_at_once_and_step_by_step_are_the_same():
    problem = random_problem(seed=9, states=5, actions=3, horizon=12)
    planner = gumdp.MCTS(90, **ROLLOUTS)  # several portions of a search, when it is asked step by step
    values = gumdp.evaluate(problem, planner, trials=4, seed=2).values
    assert [gumdp.run_trial(problem, planner, seed=2, trial=k).value for k in range(4)] == values.tolist()


def test_compiled_and_interpreted_searches_agree_to_the_last_bit():
    code = (
        "import gumdp\n"
        "problem = gumdp.zoo.load('random-small', states=4, actions=3, horizon=5, episodes=2)\n"
        "planner = gumdp.MCTS(20, randomness=1.0, reuse=True, exploration=2.0)\n"
        "print([v.hex() for v in gumdp.evaluate(problem, planner, trials=2, seed=3).values.tolist()])"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **extra}
        ).stdout
        for extra in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert answers[0] == answers[1]


def test_a_watchman_decides_better_without_luck():
    problem = gumdp.zoo.load("patrol", rows=4, columns=4, slip=0.3, horizon=40)
    with_luck, without = (
        gumdp.evaluate(problem, gumdp.MCTS(100, **ROLLOUTS, control_variate=corrected), trials=100).values
        for corrected in (False, True)
    )
    gain = with_luck - without
    assert gain.mean() > 3.0 * gain.std(ddof=1) / 10.0


# --- totals ---


def total_problem(late: bool, horizon=3, episodes=1, actions=2, seed=7, utility=None) -> gumdp.Problem:
    rng = np.random.default_rng(seed)
    model = gumdp.Tabular(rng.dirichlet(np.ones(3), size=(3, actions)), start=rng.dirichlet(np.ones(3)))
    phi = rng.integers(0, 4, size=(3, actions, 3, 2) if late else (3, actions, 2)).astype(float)
    objective = utility or gumdp.Minimum()
    return gumdp.Problem(model, objective, 0.9, horizon, episodes, counts=gumdp.Features(phi), scale="sum")


def additions(problem, s, t, first=None):
    """All that uniform play can add from ``s`` at step ``t`` on, by brute force: probabilities and totals."""
    if t == problem.steps:
        return [(1.0, np.zeros(2))]
    rows, phi, found = problem.model.dense(), problem.counts.phi, []
    fresh = (t + 1) % problem.horizon == 0
    for a in range(problem.shape[1]) if first is None else [first]:
        chance = 1.0 / problem.shape[1] if first is None else 1.0
        for after in range(3):
            gain = problem.weights[t] * (phi[s, a, after] if phi.ndim == 4 else phi[s, a])
            for state, p in enumerate(problem.model.start) if fresh else [(after, 1.0)]:
                later = additions(problem, state, t + 1)
                found += [(chance * rows[s, a, after] * p * q, gain + more) for q, more in later]
    return found


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("horizon, episodes", [(3, 1), (2, 2)])
def test_the_moments_of_totals_are_those_of_all_that_can_happen(late, horizon, episodes):
    problem = total_problem(late, horizon, episodes)
    found = control_variate(problem)
    assert isinstance(found, TotalsControlVariate)
    shape = (problem.steps, 3, 2)
    first, second = (x.reshape(problem.steps + 1, 3, 2) for x in (found.first, found.second))
    taken = found.taken.reshape(*shape, 2)
    assert (found.luck.size > 0) == (late and episodes == 1)
    for t in range(problem.steps):
        for s in range(3):
            chances, added = (np.array(x) for x in zip(*additions(problem, s, t), strict=True))
            assert first[t, s] == pytest.approx(chances @ added, abs=1e-12)
            assert second[t, s] == pytest.approx(chances @ added**2, abs=1e-12)
            for a in range(2):
                chances, added = (np.array(x) for x in zip(*additions(problem, s, t, a), strict=True))
                assert taken[t, s, a] == pytest.approx(chances @ added, abs=1e-12)
    assert not first[problem.steps].any()


@pytest.mark.slow
@pytest.mark.parametrize("late", [True, False])
def test_without_the_luck_of_totals_a_search_finds_the_same_value_with_smaller_errors(late):
    """With a single action there is nothing to choose, and what a search says is the mean of its returns."""
    problem = total_problem(late, horizon=12, actions=1, utility=gumdp.Utility(lambda z: z[0] ** 0.5 + 0.2 * z[1]))
    exact = sum(
        p * gumdp.exact_value(problem.replace(model=_from(problem.model, s)), gumdp.Random())
        for s, p in enumerate(problem.model.start)
    )
    found = {}
    for with_it in (True, False):
        options = {**ROLLOUTS, "control_variate": with_it, "backup": "growing", "solve": False}
        tried = [
            gumdp.MCTS(60, **options).start(problem, seed=k).act(int(s))
            for k, s in enumerate(np.random.default_rng(0).choice(3, 400, p=problem.model.start))
        ]
        found[with_it] = np.array([(d.values[0], d.errors[0]) for d in tried])
    for values in found.values():
        assert abs(values[:, 0].mean() - exact) < 4.0 * values[:, 0].std() / 20.0
    with_it, without = found[True][:, 1].mean(), found[False][:, 1].mean()
    assert with_it < (0.7 if late else 0.95) * without  # where the next state adds nothing, luck in the tree stays


def _from(model, state):
    return gumdp.Tabular(model.dense(), start=state)
