"""Models given as functions."""

import os

import numpy as np
import pytest

import gumdp
from gumdp.models.compiled import next_state, start_state

TENTH = 0.1


def drift(x, a):
    return (min(max(x[0] + (TENTH if a else -TENTH), 0.0), 1.0),)


def tenth(x):
    return int(min(x[0], 0.999) * 10)


def test_a_simulator_steps_as_its_function_does() -> None:
    model = gumdp.Simulator(drift, (0.55,), tenth, cells=10, actions=2)
    trial = gumdp.run_trial(gumdp.Problem(model, gumdp.Entropy(), 1.0, 30), gumdp.Random(), seed=3)
    state = (0.55,)
    for shown, cell, action in zip(trial.states, trial.cells, trial.actions, strict=True):
        assert tuple(shown) == state
        assert cell == tenth(state)
        state = drift(state, action)


def test_bins_can_stand_for_the_index() -> None:
    by_function = gumdp.Simulator(drift, (0.55,), tenth, cells=10, actions=2)
    by_bins = gumdp.Simulator(drift, (0.55,), gumdp.Bins((10,), low=0.0, high=1.0), actions=2)
    assert by_bins.shape == (10, 2)
    one = gumdp.run_trial(gumdp.Problem(by_function, gumdp.Entropy(), 0.9, 40), gumdp.Random(), seed=0)
    two = gumdp.run_trial(gumdp.Problem(by_bins, gumdp.Entropy(), 0.9, 40), gumdp.Random(), seed=0)
    np.testing.assert_array_equal(one.actions, two.actions)
    assert by_bins.state_name(0) == "x0 0.05"


def test_randomness_comes_as_four_uniform_numbers() -> None:
    model = gumdp.Simulator(lambda x, a, u: (u[0], u[3]), lambda u: (u[1], u[2]), lambda x: int(x[0] * 4), 4, 1)
    states = np.array([start_state(model.compiled(), np.uint64(k)) for k in range(2000)])
    moved = np.array([next_state(model.compiled(), (0.0, 0.0), np.uint64(0), np.uint64(k)) for k in range(2000)])
    for sample in (states, moved):
        assert sample.min() >= 0.0
        assert sample.max() < 1.0
        assert (np.abs(sample.mean(axis=0) - 0.5) < 4 * np.sqrt(1 / 12 / 2000)).all()
        assert abs(np.corrcoef(sample.T)[0, 1]) < 4 / np.sqrt(2000)


def test_an_ended_state_absorbs_or_restarts() -> None:
    def over(x):
        return x[0] >= 0.95

    absorb = gumdp.Simulator(drift, (0.55,), tenth, 10, 2, ended=over)
    restart = gumdp.Simulator(drift, (0.55,), tenth, 10, 2, ended=over, terminal="restart")
    for seed in range(3):
        assert next_state(absorb.compiled(), (0.97,), np.uint64(0), np.uint64(seed)) == (0.97,)
        assert next_state(restart.compiled(), (0.97,), np.uint64(0), np.uint64(seed)) == (0.55,)
        assert next_state(restart.compiled(), (0.5,), np.uint64(1), np.uint64(seed)) == (0.6,)


def test_memory_does_not_grow_with_the_search() -> None:
    """Neither a step nor a reset may leave anything behind: hundreds of millions of them make a search."""
    model = gumdp.Simulator(drift, (0.55,), gumdp.Bins((10,), low=0.0, high=1.0), actions=2)
    problem = gumdp.Problem(model, gumdp.Entropy(), 0.9, 40)

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc to read the memory of the process")
    gumdp.evaluate(problem, gumdp.Random(), trials=5_000, workers=1)
    before = resident()
    gumdp.evaluate(problem, gumdp.Random(), trials=50_000, seed=1, workers=1)
    assert resident() - before < 16_000_000  # 2 million steps; 8 bytes left behind by each would show


def test_a_state_has_the_form_of_the_start() -> None:
    model = gumdp.Simulator(drift, (0.55,), tenth, cells=10, actions=2)
    policy = gumdp.Random().start(gumdp.Problem(model, gumdp.Entropy(), 0.9, 10), seed=0)
    assert policy.act([0.3]).action in (0, 1)
    with pytest.raises(gumdp.GumdpError, match=r"state must be like \(0.55,\)"):
        policy.act((0.3, 0.4))
    with pytest.raises(gumdp.GumdpError, match="a tuple of floats"):
        policy.act("here")


def test_bad_simulators_get_a_sentence() -> None:
    with pytest.raises(gumdp.GumdpError, match="step must be a function"):
        gumdp.Simulator(3, (0.0,), tenth, 10, 2)
    with pytest.raises(gumdp.GumdpError, match=r"write 0\.0 instead of 0"):
        gumdp.Simulator(lambda x, a: (0,), (0.0,), tenth, 10, 2)
    with pytest.raises(gumdp.GumdpError, match="step must return a tuple of floats"):
        gumdp.Simulator(lambda x, a: np.array([0.0]), (0.0,), tenth, 10, 2)
    with pytest.raises(gumdp.GumdpError, match="index must return a whole number from 0 to 4, not 7"):
        gumdp.Simulator(drift, (0.0,), lambda x: 7, 5, 2)
    with pytest.raises(gumdp.GumdpError, match="ended must return True or False"):
        gumdp.Simulator(drift, (0.0,), tenth, 10, 2, ended=lambda x: x[0])
    with pytest.raises(gumdp.GumdpError, match="unknown terminal 'stop'"):
        gumdp.Simulator(drift, (0.0,), tenth, 10, 2, ended=lambda x: True, terminal="stop")
    with pytest.raises(gumdp.GumdpError, match="must have 1 dimensions, as the states have"):
        gumdp.Simulator(drift, (0.0,), gumdp.Bins((2, 2), low=0.0, high=1.0), actions=2)
    with pytest.raises(gumdp.GumdpError, match="actions must be a whole number of at least 1"):
        gumdp.Simulator(drift, (0.0,), tenth, 10)
    with pytest.raises(gumdp.GumdpError, match="cells must be a whole number"):
        gumdp.Simulator(drift, (0.0,), tenth, actions=2)
    with pytest.raises(gumdp.GumdpError, match="take all chance from u"):
        gumdp.Simulator(lambda x, a: (np.random.rand(),), (0.0,), tenth, 10, 2)  # noqa: NPY002


def test_a_cell_outside_the_occupancy_is_noticed_in_the_middle_of_a_trial() -> None:
    model = gumdp.Simulator(lambda x, a: (x[0] + 1.0,), (0.0,), lambda x: int(x[0]), 5, 2)
    with pytest.raises(gumdp.GumdpError, match="outside 0 … cells-1"):
        gumdp.evaluate(gumdp.Problem(model, gumdp.Entropy(), 0.9, 10), gumdp.Random(), trials=2)
