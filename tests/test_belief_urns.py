"""Urns of any width and with any ties: what they give, and that nothing of a simulation stays in them."""

import threading

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import gumdp
from gumdp.jit.random import advance, mix
from gumdp.jit.record import u64
from gumdp.models.belief_kernels import restore_once
from test_belief import contents, is_at_rest, simulated


def staircase(states: int) -> gumdp.Belief:
    """State s can be followed by the states up to s, with pseudo-counts 1, 2, …: no two urns are equally wide."""
    support = np.tril(np.ones((states, states), bool))
    return gumdp.Belief(states, 2, prior=np.broadcast_to(1.0 + np.arange(states), (states, 2, states)), support=support)


@numba.njit
def draw_first(model, s, count, drawn):
    """Count in ``drawn`` where so many simulations come to from ``s`` with action 0."""
    rng = u64(7)
    for _ in range(count):
        rng = advance(rng)
        drawn[model.step(model.restore(u64(s)), u64(0), mix(rng))] += 1


@pytest.mark.parametrize("states", [3, 8, 9, 12])
def test_urns_of_other_widths_give_their_outcomes_in_proportion(states: int) -> None:
    """Up to 8 outcomes all urns have the same room, and beyond each its own."""
    belief = staircase(states).after([states - 1] * 3, [0] * 3, [0] * 3)
    record, count = belief.simulation(2), 4000
    for s in (states - 1, states // 2, 0):
        following, chances = belief.row(s, 0)
        drawn = np.zeros(states)
        draw_first(record, s, count, drawn)
        assert drawn[following].sum() == count
        spread = np.sqrt(count * chances * (1.0 - chances)) + 1e-9
        assert (np.abs(drawn[following] - count * chances) < 5.0 * spread).all()


@some.composite
def beliefs(draw: some.DrawFn) -> gumdp.Belief:
    """Any small belief: next states or moves, tied or not, with data or without, or a few tables."""
    states, actions = draw(some.integers(1, 4)), draw(some.integers(1, 3))
    rng = np.random.default_rng(draw(some.integers(0, 2**32 - 1)))
    kind = draw(some.sampled_from(["free", "moves", "candidates", "around"]))
    if kind == "candidates":
        tables = [gumdp.Tabular(rng.dirichlet(np.ones(states), (states, actions))) for _ in range(3)]
        return gumdp.Belief.of(tables, rng.dirichlet(np.ones(3)))
    if kind == "around":
        strength = np.where(rng.random((states, actions)) < 0.3, np.inf, 5.0)
        return gumdp.Belief.around(gumdp.Tabular(rng.dirichlet(np.ones(states), (states, actions))), strength)
    prior = float(rng.uniform(0.05, 3.0))
    if kind == "free":
        support = (rng.random((states, actions, states)) < 0.6) | np.eye(states, dtype=bool)[:, None]
        return gumdp.Belief(states, actions, prior, support=support)
    moves = rng.integers(0, states, (states, draw(some.integers(1, 4))))
    return gumdp.Belief(states, actions, prior, moves=moves, tied=rng.integers(0, 2, (states, actions)))


@settings(max_examples=60, deadline=None)
@given(beliefs(), some.integers(0, 30), some.lists(some.integers(1, 30), max_size=5), some.integers(0, 2**20))
def test_whatever_is_simulated_nothing_of_it_stays(
    belief: gumdp.Belief, real: int, lengths: list[int], seed: int
) -> None:
    world, rng, s = belief.draw(seed), np.random.default_rng(seed), 0
    record = belief.simulation(60)
    for _ in range(real):
        a = int(rng.integers(belief.shape[1]))
        following, chances = world.row(s, a)
        after = int(rng.choice(following, p=chances / chances.sum()))
        belief.observe(record, s, a, after)
        s = after
    before = contents(record)
    for k, steps in enumerate(lengths):  # each begins where the last one was cut off
        if belief.shape[1] > 1:
            simulated(record, steps, seed + k)
    restore_once(record)
    assert contents(record) == before


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
def test_a_search_that_is_cut_off_in_the_middle_leaves_nothing_behind(delay: float) -> None:
    """Another thread sets ``stop`` while the search runs."""
    belief = gumdp.Belief(6, 2, prior=0.5)
    problem = gumdp.Problem(belief, gumdp.Entropy(), 1.0, 300)
    policy = gumdp.MCTS(iterations=200_000, randomness=0.3, reuse=False, exploration=2.0).start(problem, seed=3)
    timer = threading.Timer(delay, policy.stop.fill, (1,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        policy.act(0)
    timer.join()
    assert all(is_at_rest(record, belief) for record in policy._beliefs)


@pytest.mark.thorough
def test_the_worlds_of_simulations_do_not_depend_on_how_often_an_action_was_tried() -> None:
    """On a table outcomes in the tree come evenly, by the visits of the edge; visits of a tree that was kept differ."""
    table = gumdp.zoo.load("m1-entropy").model
    for model, same in ((gumdp.Belief.around(table), True), (gumdp.Belief.of([table]), False), (table, False)):
        problem = gumdp.Problem(model, gumdp.Entropy(), 0.9, 5)
        search = gumdp.MCTS(10, rollout="uniform", reuse=True)
        policy = search.start(problem)
        policy.act(0)
        rules, tree = policy._searchers[0].rules, policy._searchers[0].tree
        assert rules.outcome.paired
        drawn = {int(rules.outcome.draw(tree, np.uint64(0), np.uint64(a), np.uint64(77))) for a in range(2)}
        assert (drawn == {77}) == same
