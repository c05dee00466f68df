"""Occupancies without a table."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

import gumdp


def separable() -> list[str]:
    """The named problems whose objective is a sum over cells, and whose model is compiled."""
    return [name for name in gumdp.zoo.names() if not gumdp.zoo.load(name).record.dense()]


def pair(name: str, horizon: int = 25) -> tuple[gumdp.Problem, gumdp.Problem]:
    problem = gumdp.zoo.load(name)
    problem = problem.replace(horizon=min(horizon, problem.horizon))
    return problem, problem.replace(counts=gumdp.Hashed())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["taxi-entropy", pytest.param("patrol", marks=pytest.mark.slow)])
def test_hashed_cells_give_the_same_bits_as_a_table(name):
    table, hashed = pair(name)
    assert hasattr(hashed.running().counts, "keys")
    for planner in (gumdp.Random(), gumdp.Greedy(randomness=0.2), gumdp.MCTS.paper(40)):
        values = gumdp.evaluate(hashed, planner, trials=3, seed=1).values
        assert values.tolist() == gumdp.evaluate(table, planner, trials=3, seed=1).values.tolist()
    trial, other = (gumdp.run_trial(each, gumdp.Greedy(), seed=2) for each in (hashed, table))
    assert trial.value == other.value
    assert trial.cells.tolist() == other.cells.tolist()
    rows = list(dict.fromkeys(trial.cells.tolist()))
    assert trial.occupancy == pytest.approx(other.occupancy[rows], abs=1e-15)


@pytest.mark.slow
def test_hashed_cells_give_the_same_bits_on_every_named_problem():
    for name in separable():
        table, hashed = pair(name)
        for planner in (gumdp.Greedy(), gumdp.MCTS.paper(30), gumdp.MCTS(30, control_variate=False)):
            values = gumdp.evaluate(hashed, planner, trials=2, seed=1).values.tolist()
            assert values == gumdp.evaluate(table, planner, trials=2, seed=1).values.tolist(), name


def wide(cells: int) -> gumdp.Problem:
    """A walk on a line of so many cells, each step as long as a tenth of it."""

    def step(x, a, u):
        return ((x[0] + (0.1 if a == 1 else 0.07) * u[0] + 0.3) % 1.0,)

    model = gumdp.Simulator(step, (0.5,), lambda x: int(x[0] * cells) % cells, cells=cells, actions=2)
    return gumdp.Problem(model, gumdp.Entropy(), 0.95, 60, counts=gumdp.Hashed())


@pytest.mark.slow
def test_neither_memory_nor_time_depend_on_how_many_cells_there_are():
    seconds, bytes_ = [], []
    for cells in (10**3, 10**6, 10**12):
        problem = wide(cells)
        gumdp.evaluate(problem, gumdp.MCTS.paper(500), trials=1)  # compiled
        tracemalloc.start()
        running = problem.running()
        bytes_.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert running.d.size < 10_000
        best = min(timed(problem) for _ in range(3))
        seconds.append(best)
    assert max(seconds) < 2.0 * min(seconds)
    assert max(bytes_) < 1.1 * min(bytes_)


def timed(problem: gumdp.Problem) -> float:
    began = time.process_time()
    gumdp.evaluate(problem, gumdp.MCTS.paper(500), trials=1, workers=1)
    return time.process_time() - began


def test_a_function_says_what_a_cell_is():
    model = gumdp.Simulator(
        lambda x, a: ((x[0] + 1.0 + a) % 7.0,), (0.0,), lambda x: 0, cells=1, actions=2
    )  # fmt: skip
    problem = gumdp.Problem(model, gumdp.StateEntropy(), 1.0, 12, counts=gumdp.Hashed(lambda x: int(x[0]) - (1 << 62)))
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    _, counts = np.unique(trial.states[:, 0], return_counts=True)
    shares = counts / 12
    assert trial.value == pytest.approx(float((shares * np.log(shares)).sum()), abs=1e-12)
    assert trial.occupancy.shape == (counts.size, 2)
    assert trial.cells.tolist() == [(int(x) - (1 << 62)) % (1 << 64) for x in trial.states[:, 0]]


def test_clones_hash_what_they_observe():
    model = gumdp.from_gymnasium("CartPole-v1", method="clone", index="hash")
    problem = gumdp.Problem(model, gumdp.Entropy(), 1.0, 8, counts=gumdp.Hashed())
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    assert trial.value == pytest.approx(-np.log(8))  # no state comes twice
    assert trial.occupancy.shape == (8, 2)


def test_a_search_plans_on_hashed_observations():
    model = gumdp.from_gymnasium("CartPole-v1", method="clone", index="hash")
    problem = gumdp.Problem(model, gumdp.Entropy(), 1.0, 8, counts=gumdp.Hashed())
    assert gumdp.run_trial(problem, gumdp.MCTS(iterations=5), seed=0).value == pytest.approx(-np.log(8))


@pytest.mark.thorough
def test_nothing_is_proved_by_how_many_cells_the_model_has_where_a_function_makes_others():
    stay_or_go = gumdp.Simulator(lambda x, a: (x[0] + a,), (0.0,), lambda x: 0, cells=1, actions=2)
    cells = gumdp.Hashed(lambda x: int(x[0]))
    problem = gumdp.Problem(stay_or_go, gumdp.StateEntropy(), 1.0, 6, counts=cells)
    trial = gumdp.run_trial(problem, gumdp.MCTS(iterations=300), seed=0)
    assert trial.value == pytest.approx(-np.log(6))  # a new cell at every step


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda p: gumdp.Hashed(3), "function of the state"),
        (lambda p: p.replace(counts=gumdp.Hashed(lambda s: 0.5)), "whole number"),
        (lambda p: p.replace(counts=gumdp.Hashed(lambda s: s.name)), "can't be compiled"),
        (lambda p: p.replace(counts=gumdp.Hashed(lambda s: np.random.randint(1 << 30))), "for the same state"),  # noqa: NPY002
        (lambda p: p.replace(counts=gumdp.Hashed(), scale="sum"), "is for counts=Features"),
        (lambda p: p.replace(counts=gumdp.Hashed(), objective=lambda d: d.max()).running(), "sum over cells"),
        (lambda p: gumdp.solve_exact(p.replace(counts=gumdp.Hashed(), horizon=3)), "table"),
        (lambda p: gumdp.lower_bound(p.replace(counts=gumdp.Hashed(), horizon=3)), "tables with features"),
        (
            lambda p: p.replace(
                counts=gumdp.Hashed(lambda s: 1), objective=gumdp.Imitation([[0.25] * 4])).running(), "never met",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_met_with_a_sentence(make, words):
    problem = gumdp.zoo.load("frozenlake-entropy")
    with pytest.raises(gumdp.GumdpError, match=words):
        make(problem)
