"""The candidates of the study: our search with one thing changed, and nothing else."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import gumdp
from gumdp import MCTS, GumdpError
from gumdp.counts.running import commit, new_running
from gumdp.experiments.engines.local import Local
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.run import run
from gumdp.search.budget import Budget
from gumdp.search.outcome import GOLDEN
from gumdp.search.policy import Searcher
from gumdp.search.tree import reroot
from gumdp.seeding import streams
from studied import ROOT, candidates, registered

pytestmark = pytest.mark.slow

__all__ = ["registered"]
Candidate = candidates.Candidate
M1 = gumdp.zoo.load("m1-entropy", horizon=5)
FIVE = gumdp.zoo.load("random-small", states=6, actions=5, horizon=16)
CHANGES: tuple[dict[str, Any], ...] = (
    {"root": "halving"}, {"prior": 4.0}, {"backup": 0.5}, {"backup": 1.0}, {"leaf": "average"}, {"rollout": "solver"},
    {"cut": 0.2}, {"stakes": 0.5}, {"widen": 0.5},
)  # fmt: skip


def decide(
    problem: gumdp.Problem, planner: candidates.Candidate, pairs: tuple[tuple[int, int], ...] = (), root: int = 0
) -> Any:
    """The search and the running occupancy after the decision in ``root`` when ``pairs`` have happened."""
    searcher = Searcher(planner, problem, Budget.of(planner, problem))
    running = new_running(problem.record, problem.shape, problem.steps)
    for t, (s, a) in enumerate(pairs):
        commit(problem.record, running, s, a, problem.weights[t])
    searcher.rng = np.uint64(7)
    searcher.run(running, np.uint64(root), len(pairs), planner.iterations, np.zeros(1, np.uint8))
    return searcher, running


@pytest.mark.parametrize("options", [{}, {"episodes": 2, "horizon": 6}], ids=["one episode", "two"])
def test_without_a_change_it_is_the_search_of_the_library(options):
    problem = gumdp.zoo.load("random-small", **{"states": 6, "actions": 5, "horizon": 12, **options})
    planners = (Candidate(60), MCTS(60, **candidates.FORMER))
    ours, theirs = (gumdp.evaluate(problem, planner, trials=8, seed=2).values for planner in planners)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("change", [{}, {"prior": 4.0}, {"backup": 0.5}, {"cut": 0.2}, {"widen": 0.5}], ids=str)
def test_decisions_one_at_a_time_are_those_of_a_whole_trial(change):
    """With a time limit that is never met, and so in portions, with trees that are kept or not."""
    whole, single = (
        gumdp.evaluate(FIVE, Candidate(60, **limit, **change), trials=4, seed=2).values
        for limit in ({}, {"time_limit": 1e6})
    )
    assert whole.tolist() == single.tolist()


def test_the_notes_grow_with_the_tree():
    """A search without a limit on iterations that began with room for few: its values are mixtures all the same."""
    searcher = Searcher(Candidate(10, backup=0.5), FIVE, Budget.of(Candidate(10), FIVE))
    room = searcher.tree.sibling.size
    running = new_running(FIVE.record, FIVE.shape, FIVE.steps)
    searcher.search(running, np.uint64(0), 0, None, time.perf_counter() + 0.05, np.zeros(1, np.uint8))
    assert searcher.tree.sibling.size > 2 * room
    for a in range(5):
        assert searcher.tree.mean[a] == pytest.approx(value_of(searcher.tree, a, 0.5), rel=1e-9)


@pytest.mark.parametrize("change", [change for change in CHANGES if "cut" not in change], ids=str)
def test_a_large_budget_meets_the_optimum(change):
    """The mean of 500 trials is within 4 standard errors of the exact optimum."""
    result = gumdp.evaluate(M1, Candidate(4000, **change), trials=500, seed=11)
    assert abs(result.mean - gumdp.solve_exact(M1).value) <= 4.0 * result.standard_error


def test_a_cut_costs_no_more_than_the_mass_that_it_leaves_out():
    """x·log x changes by at most r·log(1/r) if r is added, and n cells share the mass ε: ε·log(n/ε) in all.

    Returns are off by so much, divided by log n as this objective is; the best plan for them by at most twice that.
    """
    cut, cells = 0.2, 6
    assert M1.weights[-1] < cut < M1.weights[-2:].sum()
    off = cut * math.log(cells / cut) / math.log(cells)
    result = gumdp.evaluate(M1, Candidate(4000, cut=cut), trials=500, seed=11)
    assert result.mean <= gumdp.solve_exact(M1).value + 2.0 * off + 4.0 * result.standard_error


def test_a_simulation_ends_where_the_rest_is_below_the_cut():
    weights = FIVE.weights
    for cut in (0.0, 0.01, 0.3):
        steps = min(t for t in range(FIVE.steps + 1) if weights[t:].sum() < cut or t == FIVE.steps)
        assert candidates.cut_of(FIVE, cut) == steps
    searcher, _ = decide(M1, Candidate(2000, cut=0.4))
    assert searcher.rules.leaf.end == searcher.tree.size[1] == 3


def test_halving_spends_its_iterations_as_its_definition_says():
    """5 actions: 3 rounds of 33 iterations, 6 for each of 5, 11 for each of 3, and what is left for the last 2."""
    searcher, _ = decide(FIVE, Candidate(100, root="halving"))
    tree = searcher.tree
    assert sorted(tree.fresh.tolist()) == [6, 6, 17, 35, 36]
    assert sorted(np.flatnonzero(searcher.rules.select.alive)) == sorted(np.argsort(tree.fresh)[-2:])
    searcher, _ = decide(FIVE, Candidate(3, root="halving"))
    assert searcher.tree.fresh.tolist() == [1, 1, 1, 0, 0]


def test_stakes_scale_the_bounds_to_the_weight_of_the_rest():
    """Of a constant c at step t the bounds are those of the library's search with the constant c·(weight from t on)."""
    pairs = ((0, 1), (0, 3), (0, 3))
    rest = float(FIVE.weights[len(pairs) :].sum())
    searcher, running = decide(FIVE, Candidate(300, stakes=0.5), pairs)
    assert searcher.rules.select.rest[len(pairs)] == pytest.approx(rest, rel=1e-12)
    tree = searcher.tree
    for _ in range(40):
        before = tree.visits[:5].copy()
        bounds = tree.mean[:5] - 0.5 * rest * np.sqrt(np.log(tree.plays[0]) / before)
        searcher.run(running, np.uint64(0), len(pairs), 1, np.zeros(1, np.uint8))
        assert np.flatnonzero(tree.visits[:5] > before).tolist() == [int(np.argmin(bounds))]


def test_widening_meets_the_draws_of_an_outcome_in_turn():
    """n visits of an action have met the first ⌊n^½⌋ draws of its outcome, in turn, and no other."""
    many = gumdp.zoo.load("random-small", states=40, actions=2, branching=30, horizon=10)
    searcher, _ = decide(many, Candidate(400, widen=0.5))
    tree, model = searcher.tree, many.model.compiled()
    for a in range(2):
        n = int(tree.visits[a])
        turns = [k % max(1, math.isqrt(k + 1)) for k in range(n)]
        draws = [np.uint64((int(tree.phase[0]) + k * GOLDEN) % 2**32) for k in range(max(turns) + 1)]
        states = [int(model.step(np.uint64(0), np.uint64(a), draw)) for draw in draws]
        met = Counter(states[k] for k in turns)
        children, child = Counter(), int(tree.child[a])
        while child >= 0:
            children[int(tree.label[child])] = int(tree.plays[child]) + 1
            child = int(tree.sibling[child])
        assert children == met
    assert max(tree.visits[:2]) > 200


def test_priors_are_a_softmax_of_standardised_marginal_costs():
    pairs, root = ((0, 1), (0, 3), (0, 3)), 0
    searcher, running = decide(FIVE, Candidate(50, prior=2.0), pairs, root)
    d, w = running.root[: running.counts.pairs].reshape(FIVE.shape), FIVE.weights[len(pairs)]
    cost = np.zeros(5)
    for a in range(5):
        more = d.copy()
        more[root, a] += w
        cost[a] = FIVE.value(more)
    odds = np.exp(-(cost - cost.mean()) / cost.std())
    assert searcher.tree.notes[:5] == pytest.approx(odds / odds.sum(), rel=1e-9)


def value_of(tree: Any, edge: int, share: float) -> float:
    """The definition of a mixed value, by recursion."""
    actions, total, weight = tree.squares.size, 0.0, 0
    child = int(tree.child[edge])
    while child >= 0:
        tried = [e for e in range(child * actions, (child + 1) * actions) if tree.visits[e] > 0]
        if tried:
            met = 1 + sum(int(tree.visits[e]) for e in tried)
            total += met * min(value_of(tree, e, share) for e in tried)
            weight += met
        child = int(tree.sibling[child])
    noted = float(tree.notes[edge])
    return noted if weight == 0 else (1.0 - share) * noted + share * total / weight


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_values_of_edges_are_mixtures_also_when_the_tree_is_kept(share):
    searcher, _ = decide(FIVE, Candidate(400, backup=share))
    tree, spare = searcher.tree, searcher.spare
    for a in range(5):
        assert tree.mean[a] == pytest.approx(value_of(tree, a, share), rel=1e-12)
        assert tree.notes[a] == pytest.approx(tree.seen[1] + tree.sums[a] / tree.fresh[a], rel=1e-12)
    action = int(tree.visits[:5].argmax())
    start = int(tree.child[action])
    label = np.uint64(tree.label[start])
    spare = spare if spare.sibling.size > 1 else tree._replace(**{k: v.copy() for k, v in tree._asdict().items()})
    reroot(tree, spare, action, label)
    assert spare.plays[0] > 10
    for k in range(int(spare.size[0]) * 5):
        if spare.visits[k]:
            assert spare.mean[k] == pytest.approx(value_of(spare, k, share), rel=1e-12)


def test_the_expected_rest_is_that_of_the_policy():
    rng = np.random.default_rng(0)
    for problem in (FIVE, gumdp.Problem(FIVE.model, gumdp.StateEntropy(), 0.9, 10, episodes=2)):
        policy = rng.dirichlet(np.ones(5), size=6)
        table = candidates.expected_rest(problem, policy)
        whole = gumdp.occupancy.expected_occupancy(problem.model, policy, problem.discount, problem.horizon)
        assert table[0, 0, :30] == pytest.approx(whole.ravel(), abs=1e-12)
        assert table[0, 0, 30:].tolist() == pytest.approx(whole.sum(axis=1)[: table.shape[2] - 30].tolist(), abs=1e-12)
        assert table[:, :, :30].sum(axis=2) == pytest.approx(
            np.repeat(np.cumsum(problem.weights[::-1])[::-1], 6).reshape(-1, 6), abs=1e-12
        )


def test_a_leaf_is_worth_the_objective_at_the_expected_occupancy():
    """A single iteration a decision: the return of its one action, averaged over where the action may lead."""
    policy = gumdp.solve_infinite(FIVE).policy
    rest = candidates.expected_rest(FIVE, policy)
    searcher, _ = decide(FIVE, Candidate(1, leaf="average"))
    action = int(searcher.tree.fresh.argmax())
    state = int(searcher.tree.label[1])
    d = rest[1, state].reshape(FIVE.shape).copy()
    d[0, action] += FIVE.weights[0]
    assert searcher.tree.mean[action] == pytest.approx(FIVE.value(d), rel=1e-9)


def test_rollouts_by_the_solver_are_those_of_its_policy():
    policy = gumdp.solve_infinite(M1).policy
    ours, theirs = (
        gumdp.evaluate(M1, planner, trials=20, seed=3).values
        for planner in (Candidate(50, rollout="solver"), MCTS(50, rollout=policy, **candidates.FORMER))
    )
    assert ours.tolist() == theirs.tolist()


def hexes() -> list[str]:
    """The values of a few trials under each change, to the last bit."""
    stop = np.zeros(1, np.uint8)
    seeds = streams(5, 3)
    return [str([float(x).hex() for x in Candidate(30, **c).trials(M1, seeds, stop)]) for c in CHANGES]


def test_compiled_and_interpreted_candidates_agree_to_the_last_bit():
    script = "import test_candidates; print(*test_candidates.hexes(), sep='\\n')"
    path = os.pathsep.join([str(ROOT / "tests"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == hexes()


@pytest.mark.usefixtures("registered")
def test_an_experiment_file_names_it_and_threads_play_it(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        'trials = 6\nmodules = ["candidates"]\nproblems = [{name = "m1-entropy", horizon = 5}]\n'
        '[[planners]]\nname = "candidate"\niterations = 20\nbackup = [0.5, 1.0]\n'
    )
    plan = read_experiment(file)
    assert [cell.planner_label for cell in plan.arms] == [
        "candidate(iterations=20, backup=0.5)",
        "candidate(iterations=20, backup=1.0)",
    ]
    assert run(plan, tmp_path / "out", Local(2, plan.code)).complete


def test_one_thing_is_changed_at_a_time():
    with pytest.raises(GumdpError, match="one thing at a time, not prior and backup"):
        Candidate(10, prior=1.0, backup=0.5)
    with pytest.raises(GumdpError, match="has to know its iterations"):
        gumdp.evaluate(M1, Candidate(time_limit=0.01, root="halving"), trials=2)
    for wrong in ({"root": "bound"}, {"widen": 2.0}, {"stakes": -1.0}, {"backup": 1.5}, {"cut": -0.1}, {"leaf": 3}):
        with pytest.raises(GumdpError):
            Candidate(10, **wrong)
    with pytest.raises(GumdpError, match="small tables"):
        candidates.future_of(gumdp.zoo.load("taxi-entropy"))
    with pytest.raises(GumdpError, match="one episode"):
        candidates.cut_of(gumdp.zoo.load("random-small", episodes=2), 0.1)
