"""Every objective against closed forms, differences, second formulations, and its own compiled record."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys

import cvxpy
import numpy as np
import pytest

import gumdp
from gumdp.counts.rehearsal import rehearse
from gumdp.counts.running import new_running

SHAPE = (3, 2)
CELLS = 6
_rng = np.random.default_rng(20)
COSTS = _rng.normal(size=(3, *SHAPE))
TARGET = np.array([[0.3, 0.0], [0.2, 0.1], [0.15, 0.25]])
FULL = _rng.normal(size=(CELLS, CELLS))
STATES = _rng.normal(size=(3, 3))

EVERY = {  # an example of every kind, for occupancies of shape (3, 2)
    "Linear": gumdp.Linear(COSTS[0]),
    "Entropy": gumdp.Entropy(),
    "StateEntropy": gumdp.StateEntropy(),
    "Imitation": gumdp.Imitation(TARGET),
    "KLImitation": gumdp.KLImitation(TARGET, floor=0.01),
    "WorstCase": gumdp.WorstCase(COSTS),
    "GroupEntropy": gumdp.GroupEntropy([[0, 1], [1, 2], [0, 2]]),
    "GroupEntropy, of states": gumdp.GroupEntropy(["left", "right", None]),
    "Ratio": gumdp.Ratio(COSTS[0], np.abs(COSTS[1])),
    "Quadratic, indefinite": gumdp.Quadratic(FULL),
    "Quadratic, convex": gumdp.Quadratic(FULL[:, :3] @ FULL[:, :3].T),
    "Quadratic, diagonal": gumdp.Quadratic(COSTS[1]),
    "Quadratic, of states": gumdp.Quadratic.of_states(STATES @ STATES.T),
    "Quadratic, diagonal of states": gumdp.Quadratic.of_states([0.0, 1.0, 1.0]),
    "Quadratic.residual": gumdp.Quadratic.residual(COSTS[2], 0.25),
    "Constrained": gumdp.Constrained(COSTS[0], COSTS[1:], [0.1, -0.2], [2.0, 5.0]),
    "MeanVariance": gumdp.MeanVariance(COSTS[0], 0.7),
    "Target": gumdp.Target(COSTS[0], 0.1),
}
CONVEX = {name: f for name, f in EVERY.items() if f.convex}
SMOOTH = {name: f for name, f in EVERY.items() if f.gradient(np.full(SHAPE, 1 / 6)) is not None}


def every(objectives: dict[str, gumdp.Objective]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("f", objectives.values(), ids=objectives.keys())


@every(EVERY)
def test_every_objective_can_have_a_name_of_its_own(f):
    twin = f.named("mine")
    assert (twin.label, f.label, repr(twin)) == ("mine", None, repr(f))
    assert twin(TARGET) == f(TARGET)


def occupancies(count: int, seed: int = 0) -> list[np.ndarray]:
    """Full ones, ones of two pairs, and ones of a single pair, in turn."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(count):
        d = np.zeros(CELLS)
        chosen = rng.permutation(CELLS)[: (CELLS, 2, 1)[k % 3]]
        d[chosen] = rng.dirichlet(np.ones(chosen.size))
        made.append(d.reshape(SHAPE))
    return made


def above(floor: float, d: np.ndarray) -> np.ndarray:
    """``d`` moved to where no entry is below ``floor``."""
    return floor + (1.0 - floor * d.size) * d


# --- values ---


def test_linear_is_the_mean_cost():
    assert gumdp.Linear([[1.0, 2.0], [3.0, 4.0]]).value(np.array([[0.1, 0.2], [0.3, 0.4]])) == pytest.approx(3.0)


def test_entropies_are_least_when_spread_evenly_and_zero_on_one_pair():
    one = np.zeros(SHAPE)
    one[1, 1] = 1.0
    even = np.full(SHAPE, 1 / 6)
    assert gumdp.Entropy().value(one) == gumdp.StateEntropy().value(one) == 0.0
    assert gumdp.Entropy().value(even) == pytest.approx(-math.log(6), rel=1e-15)
    assert gumdp.StateEntropy().value(even) == pytest.approx(-math.log(3), rel=1e-15)


def test_imitation_is_zero_at_the_target_and_two_at_most():
    target = np.array([[1.0, 0.0]])
    assert gumdp.Imitation(target).value(target) == 0.0
    assert gumdp.Imitation(target).value(np.array([[0.0, 1.0]])) == 2.0


def test_divergence_is_that_of_the_mixture():
    f = gumdp.KLImitation([[1.0, 0.0]], floor=0.2)  # q = 0.9, 0.1
    assert f.value(np.array([[0.9, 0.1]])) == pytest.approx(0.0, abs=1e-15)
    assert f.value(np.array([[0.0, 1.0]])) == pytest.approx(math.log(10))
    assert f.value(np.array([[0.5, 0.5]])) == pytest.approx(0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1))


def test_the_worst_case_is_the_largest_of_the_costs():
    d = np.array([[0.25, 0.75]])
    assert gumdp.WorstCase([[[1.0, 0.0]], [[0.0, 1.0]], [[2.0, 0.0]]]).value(d) == 0.75


def test_a_quadratic_form_is_the_double_sum():
    d = occupancies(1)[0]
    double = sum(FULL[i, j] * d.ravel()[i] * d.ravel()[j] for i in range(CELLS) for j in range(CELLS))
    assert gumdp.Quadratic(FULL).value(d) == pytest.approx(double, rel=1e-12)
    mass = d.sum(axis=1)
    double = sum(STATES[i, j] * mass[i] * mass[j] for i in range(3) for j in range(3))
    assert gumdp.Quadratic.of_states(STATES).value(d) == pytest.approx(double, rel=1e-12)


def test_the_example_of_theorem_1_is_a_quadratic_form_of_states():
    d = occupancies(1)[0]
    assert gumdp.Quadratic.of_states([0, 1, 1]).value(d) == pytest.approx(d[1].sum() ** 2 + d[2].sum() ** 2)
    assert gumdp.Quadratic.of_states(np.diag([0, 1, 1])).value(d) == gumdp.Quadratic.of_states([0, 1, 1]).value(d)


def test_where_there_are_as_many_states_as_actions_the_diagonal_is_said_to_be_one():
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    d = np.array([[0.1, 0.2], [0.3, 0.4]])
    diagonal = gumdp.Quadratic.diagonal(weights)
    diagonal.check_shape((2, 2))
    assert diagonal.value(d) == pytest.approx((weights * d**2).sum())
    with pytest.raises(gumdp.GumdpError, match=r"takes \[S·A, S·A\], and Quadratic.diagonal \[S, A\]"):
        gumdp.Quadratic(weights).check_shape((2, 2))


def test_a_residual_is_zero_where_the_measurement_hits():
    f = gumdp.Quadratic.residual([[0.0, 4.0]], 1.0)
    assert f.value(np.array([[0.75, 0.25]])) == 0.0
    assert f.value(np.array([[0.0, 1.0]])) == 9.0


def test_only_what_exceeds_a_budget_is_penalised():
    f = gumdp.Constrained([[1.0, 3.0]], [[[1.0, 0.0]], [[0.0, 1.0]]], budgets=[0.5, 0.9], penalty=[10.0, 100.0])
    assert f.value(np.array([[0.5, 0.5]])) == 2.0
    assert f.value(np.array([[0.75, 0.25]])) == 1.5 + 2.5
    assert f.value(np.array([[0.0, 1.0]])) == pytest.approx(3.0 + 10.0)


def test_one_constraint_needs_no_list():
    one = gumdp.Constrained(COSTS[0], COSTS[1], 0.1, 3.0)
    list_of_one = gumdp.Constrained(COSTS[0], COSTS[1:2], [0.1], [3.0])
    assert all(one.value(d) == list_of_one.value(d) for d in occupancies(5))


def test_mean_and_variance_are_those_of_the_cost_of_a_random_step():
    f = gumdp.MeanVariance(COSTS[0], 0.7)
    for d in occupancies(6):
        mean = (COSTS[0] * d).sum()
        assert f.value(d) == pytest.approx(mean + 0.7 * ((COSTS[0] - mean) ** 2 * d).sum(), rel=1e-12)


def test_a_large_shift_of_the_costs_does_not_drown_their_variance():
    shifted = gumdp.MeanVariance(COSTS[0] + 1e6, 0.7)
    for d in occupancies(6):
        assert shifted.value(d) - 1e6 == pytest.approx(gumdp.MeanVariance(COSTS[0], 0.7).value(d), abs=1e-8)


def test_a_budget_that_is_met_up_to_rounding_is_met():
    f = gumdp.Target([[0.1, 0.2]], budget=0.15)
    assert f.value(np.array([[0.5, 0.5]])) == 0.0  # 0.1·0.5 + 0.2·0.5 is 0.15000000000000002
    assert f.value(np.array([[0.49, 0.51]])) == 1.0


def test_a_divergence_is_bounded_from_below_where_its_target_sums_to_a_little_more_than_one():
    target = np.full((1, 2), 0.5 + 4e-9)
    objective = gumdp.KLImitation(target)
    assert objective.bounds((1, 2))[0] <= objective.value(np.full((1, 2), 0.5)) < -7e-9
    assert gumdp.KLImitation([[0.1] * 10]).bounds((1, 10))[0] == 0.0


def test_the_expectation_of_a_target_is_a_probability():
    model = gumdp.Tabular([[[0.5, 0.5]], [[0.5, 0.5]]])
    problem = gumdp.Problem(model, gumdp.Target([[0.0], [1.0]], budget=0.5), discount=1.0, horizon=3)
    result = gumdp.evaluate(problem, gumdp.Random(), trials=4000, seed=1)
    assert set(result.values) == {0.0, 1.0}
    # starting in the first state, both other steps must be in the second: 1/4
    assert abs(result.mean - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 4000)


# --- slopes ---


@every(SMOOTH)
def test_the_gradient_agrees_with_central_differences(f):
    rng = np.random.default_rng(5)
    for d in occupancies(30, seed=4)[::3]:
        d = 0.5 * d + 0.5 / CELLS
        v = rng.dirichlet(np.ones(CELLS)).reshape(SHAPE) - d
        h = 1e-5
        slope = (f.value(d + h * v) - f.value(d - h * v)) / (2 * h)
        assert (f.gradient(d) * v).sum() == pytest.approx(slope, rel=1e-6, abs=1e-7)


@every(CONVEX)
def test_a_subgradient_supports_a_convex_objective_from_below(f):
    for d, e in zip(occupancies(30, seed=6), occupancies(30, seed=7)[::-1], strict=True):
        assert f.value(e) >= f.value(d) + (f.gradient(d) * (e - d)).sum() - 1e-9


@every({name: f for name, f in EVERY.items() if name != "Target"})  # whose price is the cost, as f has no slope
def test_prices_of_actions_differ_as_the_values_that_they_lead_to(f):
    record = f.record(SHAPE)
    w = 0.125
    for d in occupancies(12, seed=8):
        d = 0.75 * d  # a running occupancy, not a full one
        z = statistics(record, d)
        for s in range(3):
            after = []
            for a in range(2):
                more = d.copy()
                more[s, a] += w
                after.append(f.value(more))
            first, second = (record.price(2 * s + a, d[s, a], w, z, 0) for a in range(2))
            assert w * (second - first) == pytest.approx(after[1] - after[0], abs=1e-12)


@every(EVERY)
def test_ranks_order_actions_as_prices_do(f):
    record = f.record(SHAPE)
    for d in occupancies(12, seed=9):
        z = statistics(record, d)
        for s in range(3):
            prices = [record.price(2 * s + a, d[s, a], 0.125, z, 0) for a in range(2)]
            ranks = [record.rank(2 * s + a, d[s, a], 0.125, z, 0) for a in range(2)]
            if abs(prices[1] - prices[0]) > 1e-12:
                assert (prices[1] > prices[0]) == (ranks[1] > ranks[0])


def statistics(record, d):
    """What the kernels keep, by the interpreted text of the record."""
    x = [*d.ravel(), *(d.sum(axis=1) if record.grouped() else [])]
    return np.array([sum(record.term(m, i, x[i]) for i in range(len(x))) for m in range(record.count())])


# --- convexity, bounds, constants ---


@every(CONVEX)
def test_what_is_called_convex_lies_below_its_chords(f):
    for d, e in zip(occupancies(30, seed=1), occupancies(30, seed=2)[::-1], strict=True):
        for t in (0.1, 0.5, 0.8):
            assert f.value(t * d + (1 - t) * e) <= t * f.value(d) + (1 - t) * f.value(e) + 1e-12


def test_what_is_not_convex_does_not_say_so():
    assert not any(f.convex for f in (EVERY["MeanVariance"], EVERY["Target"], EVERY["Quadratic, indefinite"]))
    assert not gumdp.Quadratic.diagonal([[1.0, -1e-9]]).convex
    assert gumdp.MeanVariance(COSTS[0], 0.0).convex
    assert not gumdp.Function(lambda d: d.max()).convex


def test_a_form_of_low_rank_is_convex_although_rounding_makes_its_eigenvalues_negative():
    assert all(gumdp.Quadratic(np.outer(v, v)).convex for v in np.random.default_rng(3).normal(size=(20, CELLS)))


@every(EVERY)
def test_values_stay_within_the_bounds(f):
    low, high = f.bounds(SHAPE)
    for d in occupancies(300, seed=3):
        assert low - 1e-12 <= f.value(d) <= high + 1e-12


@every({name: f for name, f in CONVEX.items() if name != "Imitation"})  # whose bound is that of all targets
def test_the_upper_bound_of_a_convex_objective_is_reached_on_one_pair(f):
    corners = [f.value(corner.reshape(SHAPE)) for corner in np.eye(CELLS)]
    assert f.bounds(SHAPE)[1] == pytest.approx(max(corners), rel=1e-12)


def test_bounds_of_a_diagonal_form_are_exact():
    weights = np.array([[1.0, 2.0], [4.0, 4.0]])
    best = (1 / weights) / (1 / weights).sum()
    assert gumdp.Quadratic.diagonal(weights).bounds((2, 2)) == pytest.approx((float((weights * best**2).sum()), 4.0))
    assert gumdp.Quadratic.diagonal(-weights).bounds((2, 2)) == pytest.approx((-4.0, -0.5))
    assert gumdp.Quadratic.diagonal([[1.0, 0.0]]).bounds((1, 2)) == (0.0, 1.0)
    assert gumdp.Quadratic.diagonal([[1.0, -2.0]]).bounds((1, 2)) == (-2.0, 1.0)


@pytest.mark.parametrize("weight", [0.0, 0.2, 5.0])
def test_the_bounds_of_mean_and_variance_are_reached_on_two_pairs(weight):
    f = gumdp.MeanVariance([[-1.0, 2.0]], weight)
    share = np.linspace(0.0, 1.0, 100_001)
    mean = -1.0 + 3.0 * share
    values = mean + weight * 9.0 * share * (1.0 - share)
    assert f.bounds((1, 2)) == pytest.approx((values.min(), values.max()), abs=1e-8)


@every({name: f for name, f in EVERY.items() if f.lipschitz(SHAPE) is not None})
def test_the_lipschitz_constant_holds(f):
    constant, floor = f.lipschitz(SHAPE), f.lipschitz_floor
    for d, e in zip(occupancies(300, seed=1), occupancies(300, seed=2)[::-1], strict=True):
        d, e = above(floor, d), above(floor, e)
        for other in (e, d + 1e-4 * (e - d)):
            assert abs(f.value(d) - f.value(other)) <= constant * np.abs(d - other).sum() + 1e-12


def test_imitation_keeps_even_half_of_the_papers_constant():
    d, e = np.array([[0.0, 1.0]]), np.array([[1e-6, 1.0 - 1e-6]])
    f = gumdp.Imitation([[1.0, 0.0]])
    steepest = abs(f.value(d) - f.value(e)) / np.abs(d - e).sum()
    assert f.lipschitz((1, 2)) == 4.0
    assert steepest == pytest.approx(2.0, rel=1e-5)  # so 2 can't be improved


def test_a_target_has_no_gradient_and_no_constant():
    f = EVERY["Target"]
    assert f.gradient(np.full(SHAPE, 1 / 6)) is None
    assert f.lipschitz(SHAPE) is None


# --- the other formulations ---


@every(CONVEX)
def test_the_expression_for_cvxpy_is_the_value_and_visibly_convex(f):
    d = cvxpy.Variable(SHAPE)
    expression = f.expression(d)
    assert expression.is_convex()
    for d.value in occupancies(9, seed=12):
        assert expression.value == pytest.approx(f.value(d.value), rel=1e-9, abs=1e-9)


@every({name: f for name, f in EVERY.items() if not f.convex})
def test_what_is_not_convex_offers_cvxpy_nothing(f):
    assert f.expression(cvxpy.Variable(SHAPE)) is None


def test_the_programme_over_the_simplex_finds_the_closed_forms():
    d = cvxpy.Variable(SHAPE, nonneg=True)
    weights = np.array([[1.0, 2.0], [4.0, 4.0], [1.0, 0.5]])
    for f, least in [
        (gumdp.Imitation(TARGET), 0.0),
        (gumdp.KLImitation(TARGET), 0.0),
        (gumdp.Entropy(), -math.log(6)),
        (gumdp.Quadratic(weights), 1 / (1 / weights).sum()),
        (gumdp.WorstCase([np.eye(3)[:, :2], 1.0 - np.eye(3)[:, :2]]), 0.5),
    ]:
        found = cvxpy.Problem(cvxpy.Minimize(f.expression(d)), [cvxpy.sum(d) == 1]).solve(solver="CLARABEL")
        assert found == pytest.approx(least, abs=1e-6)


@every(EVERY)
def test_compiled_scoring_agrees_with_numpy(f):
    slack = 1e-14 * (1.0 + np.abs(f.bounds(SHAPE)).max())  # some fifty roundings of numbers of the values' size
    for d, quick, astray, summed in rehearsals(f):
        assert quick == pytest.approx(f.value(d), rel=0.0, abs=slack)
        assert summed == pytest.approx(f.value(d), rel=0.0, abs=slack)
        assert astray == 0


def rehearsals(f, count=24):
    """Occupancies, built up in random order, with what kernels make of them."""
    record = f.record(SHAPE)
    running = new_running(record, SHAPE, 2 * CELLS)
    rng = np.random.default_rng(30)
    for d in occupancies(count, seed=31):
        pairs = rng.permutation(np.repeat(np.flatnonzero(d), 2)).astype(np.uint64)  # each comes twice
        weights = 0.5 * d.ravel()[pairs.astype(int)]
        yield d, *rehearse(record, running, pairs, weights, int(rng.integers(pairs.size + 1)))


INTERPRETED = """
import json, sys
import test_objectives as here
print(json.dumps({n: [[q.hex(), s.hex()] for _, q, _, s in here.rehearsals(f, 6)] for n, f in here.EVERY.items()}))
"""


def test_interpreted_scoring_is_the_same_to_the_last_bit():
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run([sys.executable, "-c", INTERPRETED], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    interpreted = json.loads(run.stdout)
    for name, f in EVERY.items():
        assert interpreted[name] == [[q.hex(), s.hex()] for _, q, _, s in rehearsals(f, 6)], name


@every(EVERY)
def test_objectives_can_be_pickled(f):
    again = pickle.loads(pickle.dumps(f))
    assert repr(again) == repr(f)
    assert all(again.value(d) == f.value(d) for d in occupancies(3))


@every(EVERY)
def test_the_shape_of_the_model_must_fit(f):
    f.check_shape(SHAPE)
    if not isinstance(f, gumdp.Entropy | gumdp.StateEntropy):
        with pytest.raises(gumdp.GumdpError, match="shape"):
            f.check_shape((4, 2))
