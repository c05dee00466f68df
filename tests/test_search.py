"""The search kernels: what they leave behind, what they cost, and that compiling changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gumdp
from gumdp.counts.running import new_running
from gumdp.policies.play import DONE
from gumdp.search.choose import Best, recommend_once
from gumdp.search.policy import Searcher
from gumdp.search.tree import clear, new_tree, reroot
from gumdp.search.view import SearchTree

PROBLEM = gumdp.zoo.load("m1-entropy")

SCRIPT = """
import gumdp, numpy as np
from gumdp.search import tuning
tuning.TRIALS = 4  # interpreted, 32 would take a minute
m1 = gumdp.zoo.load("m1-entropy", horizon=12)
m3 = gumdp.zoo.load("m3-adversarial", horizon=8)
states = gumdp.Problem(m1.model, gumdp.StateEntropy() + gumdp.Entropy(), 0.9, 6, episodes=2)
squares = gumdp.Problem(m1.model, lambda d: (d * d).sum(), 1.0, 6)
for problem, planner in (
    (m1, gumdp.MCTS.paper(60)), (m1, gumdp.MCTS(60)), (m1, gumdp.MCTS(40, rollout=np.full((3, 2), 0.5))),
    (m3, gumdp.MCTS(40)), (states, gumdp.MCTS(40)), (squares, gumdp.MCTS(25, choice="value")),
):
    trial = gumdp.run_trial(problem, planner, seed=3)
    print(trial.value.hex(), trial.actions.tolist())
    for decision in trial.decisions:
        print(decision.visits.tolist(), [x.hex() for x in decision.values], decision.nodes, decision.depth)
"""


def output_of(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_compiled_and_interpreted_searches_agree_to_the_last_bit():
    compiled = output_of(SCRIPT)
    assert compiled.count("\n") > 50
    assert compiled == output_of(SCRIPT, NUMBA_DISABLE_JIT="1")


def run_search(searcher: Searcher, running, iterations: int, t: int, rng: int) -> int:
    searcher.rng = np.uint64(rng)
    status, _ = searcher.run(running, np.uint64(1), t, iterations, np.zeros(1, np.uint8))
    return status


@given(
    iterations=st.integers(0, 300),
    t=st.integers(0, 99),
    rng=st.integers(0, 2**64 - 1),
    masses=st.lists(st.floats(0.0, 0.1), min_size=6, max_size=6),
    planner=st.sampled_from([gumdp.MCTS.paper(300), gumdp.MCTS(300)]),
)
@settings(max_examples=60, deadline=None)
def test_the_running_occupancy_is_restored_bit_for_bit(iterations, t, rng, masses, planner):
    searcher = Searcher(planner, PROBLEM, 300)
    running = new_running(PROBLEM.record, PROBLEM.shape, PROBLEM.steps)
    running.root[:] = masses
    running.d[:] = masses
    before = running.d.tobytes()
    assert run_search(searcher, running, iterations, t, rng) == DONE
    assert running.d.tobytes() == before
    assert running.root.tobytes() == before
    assert searcher.tree.visits[:2].sum() == iterations
    assert searcher.tree.plays[0] == iterations


def test_visits_flow_through_the_tree():
    """Each visit of an edge is a visit of the child below it, but for the first one, which made the child."""
    searcher = Searcher(gumdp.MCTS.paper(500), PROBLEM, 500)
    run_search(searcher, new_running(PROBLEM.record, PROBLEM.shape, PROBLEM.steps), 500, 0, 5)
    tree = searcher.tree
    for node in range(int(tree.size[0])):
        assert tree.plays[node] == tree.visits[node * 2 : node * 2 + 2].sum()
        for edge in (node * 2, node * 2 + 1):
            below, child = 0, int(tree.child[edge])
            while child >= 0:
                below += int(tree.plays[child]) + 1
                child = int(tree.sibling[child])
            assert below == tree.visits[edge]


def test_a_reused_subtree_is_the_subtree():
    searcher = Searcher(gumdp.MCTS(400, reuse=True), PROBLEM, 400)
    run_search(searcher, new_running(PROBLEM.record, PROBLEM.shape, PROBLEM.steps), 400, 0, 5)
    before = SearchTree.read(searcher.tree, 1)
    child = before.children(0, 0)[0]
    reroot(searcher.tree, searcher.spare, 0, np.uint64(before.label[child]))
    after = SearchTree.read(searcher.spare, int(before.label[child]))

    def shape_of(tree, node):
        return (
            int(tree.label[node]),
            tree.visits[node].tolist(),
            np.nan_to_num(tree.values[node], nan=-1.0).tolist(),
            sorted(
                (a, shape_of(tree, k))
                for a in (0, 1)
                for k in np.flatnonzero((tree.parent == node) & (tree.action == a))
            ),
        )

    assert len(after) < len(before)
    assert shape_of(after, 0) == shape_of(before, child)


def test_an_outcome_that_the_search_never_met_starts_a_fresh_tree():
    searcher = Searcher(gumdp.MCTS(10, reuse=True), PROBLEM, 10)
    reroot(searcher.tree, searcher.spare, 0, np.uint64(2))
    assert searcher.spare.size[0] == 1
    assert searcher.spare.plays[0] == 0


@pytest.mark.parametrize("actions", [2, 6, 64])
def test_a_node_takes_at_most_40_bytes_and_24_an_action(actions):
    small, large = new_tree(100, actions, 50), new_tree(1100, actions, 50)
    extra = sum(a.nbytes for a in large) - sum(a.nbytes for a in small)
    assert extra <= 1000 * (40 + 24 * actions)


def test_the_most_visited_action_wins_and_ties_go_to_the_lower_mean_then_the_lower_number():
    visits, mean = np.array([3, 5, 5, 5, 0]), np.array([0.0, 0.4, 0.3, 0.3, -1.0])
    assert recommend_once(Best(False), visits, mean) == 2
    assert recommend_once(Best(True), visits, mean) == 0
    assert recommend_once(Best(False), np.array([1, 1]), np.array([0.5, 0.5])) == 0
    assert recommend_once(Best(True), np.array([1, 2]), np.array([0.5, 0.5])) == 1


def test_clearing_a_tree_leaves_nothing_but_the_root():
    searcher = Searcher(gumdp.MCTS.paper(50), PROBLEM, 50)
    run_search(searcher, new_running(PROBLEM.record, PROBLEM.shape, PROBLEM.steps), 50, 0, 1)
    clear(searcher.tree)
    assert searcher.tree.size[0] == 1
    assert searcher.tree.visits[:2].tolist() == [0, 0]
    assert searcher.tree.child[:2].tolist() == [-1, -1]
