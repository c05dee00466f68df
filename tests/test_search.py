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
from gumdp.search.budget import Budget
from gumdp.search.choose import recommend_once
from gumdp.search.policy import Searcher
from gumdp.search.tree import bytes_per_node, clear, new_tree, reroot
from gumdp.search.view import SearchTree

PROBLEM = gumdp.zoo.load("m1-entropy")

SCRIPT = """
import gumdp, numpy as np
from gumdp.search import tuning
tuning.BLOCKS = (4,)  # interpreted, 32 would take a minute
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


def searcher_of(planner: gumdp.MCTS) -> Searcher:
    return Searcher(planner, PROBLEM, Budget.of(planner, PROBLEM))


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
    searcher = searcher_of(planner)
    running = new_running(PROBLEM.record, PROBLEM.shape, PROBLEM.steps)
    running.root[:] = masses
    running.d[:] = masses
    before = running.d.tobytes()
    assert run_search(searcher, running, iterations, t, rng) == DONE
    assert running.d.tobytes() == before
    assert running.root.tobytes() == before
    if planner.options["solve"]:  # what is proved gets no more iterations
        assert searcher.tree.visits[:2].sum() == searcher.tree.plays[0] <= iterations
    else:
        assert searcher.tree.visits[:2].sum() == searcher.tree.plays[0] == iterations


def test_visits_flow_through_the_tree():
    """Each visit of an edge is a visit of the child below it, but for the first one, which made the child."""
    searcher = searcher_of(gumdp.MCTS.paper(500))
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
    searcher = searcher_of(gumdp.MCTS(400, reuse=True))
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
    searcher = searcher_of(gumdp.MCTS(10, reuse=True))
    reroot(searcher.tree, searcher.spare, 0, np.uint64(2))
    assert searcher.spare.size[0] == 1
    assert searcher.spare.plays[0] == 0


@pytest.mark.parametrize("actions", [2, 6, 64])
@pytest.mark.parametrize("kept", [{}, {"values": True, "notes": True, "phases": True}], ids=["paper", "default"])
def test_a_node_takes_16_bytes_and_16_an_action_and_what_parts_keep(actions, kept):
    small, large = new_tree(100, actions, 50, **kept), new_tree(1100, actions, 50, **kept)
    extra = sum(a.nbytes for a in large) - sum(a.nbytes for a in small)
    assert extra == 1000 * (37 + 25 * actions if kept else 16 + 16 * actions)
    assert extra == 1000 * bytes_per_node(actions, **kept)


def chosen(by_value: bool, visits: list[int], means: list[float], closed: tuple[int, ...] = ()) -> int:
    """The action that is taken at a root with these edges."""
    planner = gumdp.MCTS.paper(1, choice="value" if by_value else "visits")
    tree = new_tree(1, len(visits), 1)
    tree.visits[:], tree.mean[:] = visits, means
    tree.shut[list(closed)] = 1
    return int(recommend_once(planner.rules(PROBLEM)[0], tree))


def test_the_most_visited_action_wins_and_ties_go_to_the_lower_mean_then_the_lower_number():
    visits, means = [3, 5, 5, 5, 0], [0.0, 0.4, 0.3, 0.3, -1.0]
    assert chosen(False, visits, means) == 2
    assert chosen(True, visits, means) == 0
    assert chosen(False, [1, 1], [0.5, 0.5]) == 0
    assert chosen(True, [1, 2], [0.5, 0.5]) == 1


def test_an_action_whose_value_is_certain_wins_if_the_open_one_that_would_be_taken_is_no_better():
    assert chosen(False, [3, 9, 5], [0.2, 0.4, 0.1], closed=(0,)) == 0
    assert chosen(False, [3, 9, 5], [0.5, 0.4, 0.1], closed=(0,)) == 1
    assert chosen(False, [9, 3, 5], [0.5, 0.4, 0.1], closed=(0,)) == 2
    assert chosen(False, [9, 3, 5], [0.5, 0.4, 0.1], closed=(0, 1, 2)) == 2


def test_clearing_a_tree_leaves_nothing_but_the_root():
    searcher = searcher_of(gumdp.MCTS.paper(50))
    run_search(searcher, new_running(PROBLEM.record, PROBLEM.shape, PROBLEM.steps), 50, 0, 1)
    clear(searcher.tree)
    assert searcher.tree.size[0] == 1
    assert searcher.tree.visits[:2].tolist() == [0, 0]
    assert searcher.tree.child[:2].tolist() == [-1, -1]
