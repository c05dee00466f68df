"""Sums, positive multiples, normalising and risk aversion, nested in each other."""

from __future__ import annotations

import math
import pickle
import warnings

import cvxpy
import numpy as np
import pytest

import gumdp
from gumdp.counts.rehearsal import rehearse
from gumdp.counts.running import new_running

SHAPE = (3, 2)
CELLS = 6
COSTS = np.random.default_rng(21).normal(size=(3, *SHAPE))
TARGET = np.array([[0.3, 0.0], [0.2, 0.1], [0.15, 0.25]])


class Peak(gumdp.Objective):
    """A user's objective that kernels must call back for."""

    def value(self, d):
        return float(d.max())

    def __repr__(self):
        return "Peak()"


NESTED = {
    "a sum of three": gumdp.Imitation(TARGET) + gumdp.Linear(COSTS[0]) + 2.0 * gumdp.WorstCase(COSTS),
    "pairs and states": gumdp.StateEntropy() + (gumdp.Entropy() + gumdp.Quadratic.of_states([0.0, 1.0, 2.0])),
    "normalised, risk-averse": gumdp.entropic(
        gumdp.normalized(gumdp.StateEntropy()) + 0.5 * gumdp.MeanVariance(COSTS[0], 0.3), 0.7
    ),
    "risk-averse twice, scaled": 3.0
    * gumdp.entropic(gumdp.normalized(gumdp.entropic(gumdp.Linear(COSTS[1]), 0.5)), 2.0),
    "a budget on top": gumdp.normalized(gumdp.Entropy() + gumdp.Constrained(np.zeros(SHAPE), COSTS[2], 0.1, 4.0)),
    "a function inside": gumdp.entropic(gumdp.StateEntropy() + gumdp.Function(lambda d: d.max(), convex=True), 0.5),
    "a callback inside": 2.0 * (gumdp.StateEntropy() + Peak()) + gumdp.Linear(COSTS[0]),
}
CONVEX = {name: f for name, f in NESTED.items() if f.convex}


def every(objectives):
    return pytest.mark.parametrize("f", objectives.values(), ids=objectives.keys())


def occupancies(count, seed=0):
    """Full ones, ones of two pairs, and ones of a single pair, in turn."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        d = np.zeros(CELLS)
        chosen = rng.permutation(CELLS)[: (CELLS, 2, 1)[k % 3]]
        d[chosen] = rng.dirichlet(np.ones(chosen.size))
        yield d.reshape(SHAPE)


def quietly(f):
    """The record of an objective of which we know that Python has to be asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f.record(SHAPE)


# --- values ---


def test_a_composition_is_the_formula_that_it_reads_as():
    imitate, cost, worst = gumdp.Imitation(TARGET), gumdp.Linear(COSTS[0]), gumdp.WorstCase(COSTS)
    for d in occupancies(6):
        total = ((d - TARGET) ** 2).sum() + (COSTS[0] * d).sum() + 2.0 * max((c * d).sum() for c in COSTS)
        assert (imitate + cost + 2.0 * worst).value(d) == pytest.approx(total, rel=1e-13)
        assert gumdp.entropic(cost, 0.5).value(d) == pytest.approx(math.exp(0.5 * (COSTS[0] * d).sum()))
        assert gumdp.normalized(imitate).value(d) == pytest.approx(((d - TARGET) ** 2).sum() / 2.0)


def test_normalised_entropy_is_the_papers():
    for d in occupancies(6):
        h = sum(x * math.log(x) for x in d.ravel() if x > 0.0)
        assert gumdp.normalized(gumdp.Entropy()).value(d) == pytest.approx((h + math.log(6)) / math.log(6))


def test_everything_with_bounds_normalises_to_between_0_and_1():
    for f in (gumdp.WorstCase(COSTS), gumdp.MeanVariance(COSTS[0], 2.0), gumdp.Target(COSTS[0], 0.1), *CONVEX.values()):
        if f.bounds(SHAPE) is not None:
            scaled = gumdp.normalized(f)
            assert scaled.bounds(SHAPE) == pytest.approx((0.0, 1.0), abs=1e-12)
            assert all(-1e-12 <= scaled.value(d) <= 1.0 + 1e-12 for d in occupancies(30))


def test_plain_functions_compose_too():
    d = np.array([[0.25, 0.75]])
    for f in (gumdp.Entropy() + max_of, max_of + gumdp.Entropy()):
        assert f.value(d) == gumdp.Entropy().value(d) + 0.75
    assert gumdp.entropic(max_of, 2.0).value(d) == math.exp(1.5)
    assert gumdp.normalized(gumdp.Function(max_of, bounds=(0.5, 1.0))).value(d) == 0.5


def max_of(d):
    return d.max()


def test_the_builtin_sum_adds_objectives():
    parts = [gumdp.Linear(c) for c in COSTS]
    assert all(sum(parts).value(d) == pytest.approx((COSTS.sum(axis=0) * d).sum()) for d in occupancies(3))


def test_numbers_of_numpy_multiply_from_either_side():
    d = np.full(SHAPE, 1 / 6)
    two = 2.0 * gumdp.Imitation(TARGET).value(d)
    for f in (np.float64(2.0) * gumdp.Imitation(TARGET), gumdp.Imitation(TARGET) * np.int64(2)):
        assert f.value(d) == two


@pytest.mark.parametrize("other", [np.ones(2), "2", None, 1 + 1j])
def test_other_things_neither_add_nor_multiply(other):
    for combine in (lambda: gumdp.Entropy() * other, lambda: other * gumdp.Entropy(), lambda: other + gumdp.Entropy()):
        with pytest.raises(TypeError):
            combine()


def test_a_composition_reads_as_it_was_written():
    entropy, cost = gumdp.Entropy(), gumdp.Linear(COSTS[0])
    assert repr(2 * (entropy + cost)) == "2 * (Entropy(floor=1e-06) + Linear(costs of shape (3, 2)))"
    assert repr(2 * entropy + cost) == "2 * Entropy(floor=1e-06) + Linear(costs of shape (3, 2))"
    assert repr(gumdp.entropic(gumdp.normalized(entropy), 3)) == "entropic(normalized(Entropy(floor=1e-06)), 3)"


# --- what compositions know ---


@every(NESTED)
def test_the_gradient_agrees_with_central_differences(f):
    rng = np.random.default_rng(5)
    for d in [0.5 * d + 0.5 / CELLS for d in occupancies(10, seed=4)]:
        slope = f.gradient(d)
        if slope is None:  # a part has none
            assert "Peak" in repr(f) or "Function" in repr(f)
            return
        v = rng.dirichlet(np.ones(CELLS)).reshape(SHAPE) - d
        h = 1e-5
        assert (slope * v).sum() == pytest.approx(
            (f.value(d + h * v) - f.value(d - h * v)) / (2 * h), rel=1e-6, abs=1e-7
        )


@every(CONVEX)
def test_what_is_made_of_convex_parts_is_convex(f):
    for d, e in zip(occupancies(60, seed=1), list(occupancies(60, seed=2))[::-1], strict=True):
        chord = 0.3 * f.value(d) + 0.7 * f.value(e)
        assert f.value(0.3 * d + 0.7 * e) <= chord + 1e-12 * (1.0 + abs(chord))


def test_one_part_that_is_not_convex_spoils_the_sum():
    assert (gumdp.Entropy() + gumdp.Linear(COSTS[0])).convex
    assert not (gumdp.Entropy() + gumdp.MeanVariance(COSTS[0], 0.3)).convex
    assert not gumdp.entropic(gumdp.normalized(gumdp.Target(COSTS[0], 0.1)), 1.0).convex


@every({name: f for name, f in NESTED.items() if f.bounds(SHAPE) is not None})
def test_bounds_and_lipschitz_constants_hold(f):
    low, high = f.bounds(SHAPE)
    constant, floor = f.lipschitz(SHAPE), f.lipschitz_floor
    slack = 1e-12 * (1.0 + abs(high))
    for d, e in zip(occupancies(90, seed=1), list(occupancies(90, seed=2))[::-1], strict=True):
        assert low - slack <= f.value(d) <= high + slack
        d, e = (floor + (1.0 - floor * CELLS) * x for x in (d, e))
        for other in (e, d + 1e-4 * (e - d)):
            assert abs(f.value(d) - f.value(other)) <= constant * np.abs(d - other).sum() + slack


def test_the_floor_of_a_composition_is_the_highest_of_its_parts():
    f = gumdp.entropic(gumdp.normalized(gumdp.Entropy(floor=1e-3)) + 2.0 * gumdp.KLImitation(TARGET, floor=0.01), 0.1)
    assert f.lipschitz_floor == 0.01
    assert (gumdp.Linear(COSTS[0]) + gumdp.Imitation(TARGET)).lipschitz_floor == 0.0


def test_what_a_part_does_not_know_the_whole_does_not_claim():
    unknown = gumdp.Entropy() + Peak()
    assert unknown.bounds(SHAPE) is unknown.lipschitz(SHAPE) is unknown.gradient(np.full(SHAPE, 1 / 6)) is None
    assert unknown.expression(cvxpy.Variable(SHAPE)) is None
    assert gumdp.entropic(Peak(), 1.0).lipschitz(SHAPE) is None


@every({name: f for name, f in CONVEX.items() if "Function" not in repr(f)})
def test_the_expression_for_cvxpy_is_the_value_and_visibly_convex(f):
    d = cvxpy.Variable(SHAPE)
    expression = f.expression(d)
    assert expression.is_convex()
    for d.value in occupancies(9, seed=12):
        assert expression.value == pytest.approx(f.value(d.value), rel=1e-9)


# --- kernels ---


@every(NESTED)
def test_compiled_scoring_agrees_with_numpy(f):
    record = quietly(f)
    running = new_running(record, SHAPE, CELLS)
    rng = np.random.default_rng(30)
    for d in occupancies(18, seed=31):
        pairs = rng.permutation(np.flatnonzero(d)).astype(np.uint64)
        known = int(rng.integers(pairs.size + 1))
        quick, astray, summed = rehearse(record, running, pairs, d.ravel()[pairs.astype(int)], known)
        assert quick == pytest.approx(f.value(d), rel=1e-12, abs=1e-12)
        assert summed == pytest.approx(f.value(d), rel=1e-12, abs=1e-12)
        assert astray == 0


@every({name: f for name, f in NESTED.items() if not quietly(f).dense()})
def test_prices_lead_where_the_values_do(f):
    record, w = f.record(SHAPE), 1e-6
    for d in occupancies(12, seed=8):
        d = 0.75 * d + 0.02  # a running occupancy, without empty pairs, where entropies are too steep for differences
        cells = [*d.ravel(), *(d.sum(axis=1) if record.grouped() else [])]
        z = np.array([sum(record.term(m, i, x) for i, x in enumerate(cells)) for m in range(record.count())])
        for s in range(3):
            after = []
            for a in range(2):
                more = d.copy()
                more[s, a] += w
                after.append(f.value(more))
            first, second = (record.price(2 * s + a, d[s, a], w, z, 0) for a in range(2))
            assert second - first == pytest.approx((after[1] - after[0]) / w, rel=1e-4, abs=1e-6)


# --- limits ---


def test_what_has_no_bounds_or_is_constant_does_not_normalise():
    with pytest.raises(gumdp.GumdpError, match=r"normalized: Peak\(\) does not say between which bounds it lies"):
        gumdp.normalized(Peak()).check_shape(SHAPE)
    with pytest.raises(gumdp.GumdpError, match="has the same value for every occupancy"):
        gumdp.normalized(gumdp.Linear(np.ones(SHAPE))).check_shape(SHAPE)


def test_exponentials_that_overflow_are_refused_where_that_can_be_seen():
    with pytest.raises(
        gumdp.GumdpError, match=r"exp\(1e\+06·f\) leaves the range .* take a smaller beta, or normalized"
    ):
        gumdp.entropic(gumdp.Linear(COSTS[0]), 1e6).check_shape(SHAPE)
    with pytest.raises(gumdp.GumdpError, match="leaves the range"):
        gumdp.entropic(gumdp.entropic(gumdp.Linear([[0.0, 600.0]]), 1.0), 1.0).check_shape((1, 2))
    with pytest.raises(gumdp.GumdpError, match=r"exp\(1000\) overflows"):
        gumdp.entropic(Peak(), 1000.0).value(np.array([[1.0, 0.0]]))


def test_shapes_are_checked_inside_compositions():
    for f in (gumdp.Entropy() + gumdp.Linear(COSTS[0]), gumdp.entropic(gumdp.normalized(gumdp.Imitation(TARGET)), 1.0)):
        with pytest.raises(gumdp.GumdpError, match=r"is for occupancies of shape \(3, 2\)"):
            f.check_shape((2, 2))


@every({name: f for name, f in NESTED.items() if "Function" not in repr(f)})
def test_compositions_can_be_pickled(f):
    again = pickle.loads(pickle.dumps(f))
    assert all(again.value(d) == f.value(d) for d in occupancies(3))


def test_the_certainty_equivalent_of_a_sure_thing_is_its_value():
    model = gumdp.Tabular([[[1.0]]])
    problem = gumdp.Problem(model, gumdp.entropic(gumdp.Linear([[0.25]]), 2.0), discount=0.9, horizon=5)
    result = gumdp.evaluate(problem, gumdp.Random(), trials=10, seed=0)
    assert result.mean == pytest.approx(math.exp(0.5))
    assert result.certainty_equivalent == pytest.approx(0.25)
