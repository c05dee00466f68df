"""What objectives say of themselves: true, inherited only with the value it belongs to, and open to those of users."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest

import gumdp
from gumdp.average.tangents import Tangents
from gumdp.distinct import distinct_bound
from gumdp.jit.callback import _callees
from gumdp.jit.record import record
from gumdp.objectives.linear import LinearRecord
from gumdp.objectives.separable import SeparableSum, Terms
from gumdp.objectives.tangent import PythonTangent, Tangent, python_tangent, tangent_of

SHAPE = (3, 2)
RNG = np.random.default_rng(3)
COSTS = RNG.uniform(size=(3, *SHAPE))
TARGET = RNG.dirichlet(np.ones(6)).reshape(SHAPE)
SEPARABLE = {
    "linear": gumdp.Linear(COSTS[0]),
    "entropy": gumdp.Entropy(),
    "state entropy": gumdp.StateEntropy(),
    "groups": gumdp.GroupEntropy([[0, 1], [1, -1], [2, 0]]),
    "imitation": gumdp.Imitation(TARGET),
    "divergence": gumdp.KLImitation(TARGET),
    "residual": gumdp.Quadratic.residual(COSTS[0], 0.3),
    "quadratic": gumdp.Quadratic(RNG.normal(size=(6, 6))),
    "diagonal": gumdp.Quadratic.diagonal(COSTS[0]),
    "diagonal of states": gumdp.Quadratic.of_states([1.0, 2.0, 0.5]),
    "quadratic of states": gumdp.Quadratic.of_states(RNG.normal(size=(3, 3))),
    "budgets": gumdp.Constrained(COSTS[0], COSTS[1:], [0.4, 0.5], [2.0, 3.0]),
    "two costs": gumdp.WorstCase(COSTS[:2]),
    "mean and variance": gumdp.MeanVariance(COSTS[0], 0.7),
    "target": gumdp.Target(COSTS[0], 0.5),
}
CONVEX = {
    **{name: f for name, f in SEPARABLE.items() if f.convex},
    "three costs": gumdp.WorstCase(COSTS),
    "sum": gumdp.Entropy() + 2.0 * gumdp.WorstCase(COSTS),
    "risk": gumdp.entropic(gumdp.normalized(gumdp.Imitation(TARGET)), 2.0),
}


def occupancies(count: int = 30) -> list[np.ndarray]:
    """Full ones, and ones of a single pair."""
    rng = np.random.default_rng(0)
    return [d.reshape(SHAPE) for d in (*rng.dirichlet(np.ones(6), size=count), *np.eye(6))]


@pytest.mark.parametrize("f", SEPARABLE.values(), ids=SEPARABLE.keys())
def test_a_sum_over_statistics_is_the_objective(f):
    total = f.separable(SHAPE)
    for d in occupancies():
        assert total.value(d) == pytest.approx(f.value(d), abs=1e-13)


def test_an_objective_that_is_no_such_sum_says_so():
    for f in (gumdp.WorstCase(COSTS), gumdp.entropic(gumdp.Entropy(), 1.0), gumdp.Function(lambda d: d.max())):
        assert f.separable(SHAPE) is None


@pytest.mark.parametrize("f", CONVEX.values(), ids=CONVEX.keys())
def test_a_tangent_record_has_the_value_of_its_objective(f):
    own = tangent_of(f, SHAPE)
    assert not isinstance(own, PythonTangent)
    for d in occupancies():
        assert own.value(d.ravel()) == pytest.approx(f.value(d), abs=1e-13)


def test_compositions_say_what_they_are_made_of():
    f = gumdp.normalized(gumdp.Entropy())
    (shift, ((factor, inner),)) = f.parts(SHAPE)
    assert (shift, factor, inner) == (1.0, 1.0 / math.log(6), gumdp.Entropy())
    assert (f + f).parts(SHAPE) == (0.0, ((1.0, f), (1.0, f)))
    assert gumdp.entropic(f, 0.5).exponential == (0.5, f)
    assert gumdp.Entropy().parts(SHAPE) is gumdp.Entropy().exponential is None


@pytest.mark.parametrize(
    ("f", "kinked"),
    [
        (gumdp.WorstCase(COSTS), True),
        (gumdp.entropic(gumdp.Entropy() + 2.0 * gumdp.Constrained(COSTS[0], COSTS[1], 0.4, 1.0), 1.0), True),
        (gumdp.normalized(gumdp.Entropy()) + gumdp.Linear(COSTS[0]), False),
    ],
)
def test_kinks_are_seen_through_compositions(f, kinked):
    assert Tangents(f, SHAPE).kinked is kinked


# --- who inherits what ---


class Louder(gumdp.Entropy):
    """Another value, and nothing else of its own."""

    def value(self, d):
        return 3.0 * super().value(d)

    def gradient(self, d):
        return 3.0 * super().gradient(d)


class Mixin:
    def value(self, d):
        return 7.0


class Named(gumdp.Entropy):
    """The same value under another name."""

    def __repr__(self):
        return "Named()"


def test_a_subclass_with_a_value_of_its_own_does_not_inherit_what_another_value_is():
    for cls in (Louder, type("Mixed", (Mixin, gumdp.Entropy), {}), type("Below", (Louder,), {})):
        f = cls()
        assert f.tangent(SHAPE) is f.separable(SHAPE) is f.parts(SHAPE) is f.exponential is None

    class Half(type(gumdp.Entropy() + gumdp.Entropy())):
        def value(self, d):
            return 0.5 * super().value(d)

    assert Half(gumdp.Entropy(), gumdp.Entropy()).parts(SHAPE) is None

    class Squared(type(gumdp.entropic(gumdp.Entropy(), 1.0))):
        def value(self, d):
            return super().value(d) ** 2

    assert Squared(gumdp.Entropy(), 1.0).exponential is None


def test_what_the_value_is_made_of_counts_as_the_value():
    class Lenient(gumdp.Constrained):
        def excess(self, d):
            return super().excess(d) - 0.1

    f = Lenient(COSTS[0], COSTS[1], 0.4, 1.0)
    assert f.tangent(SHAPE) is f.separable(SHAPE) is None

    class Tripled(type(2.0 * gumdp.Entropy())):
        def coefficients(self, shape):  # which the tangent reads as well
            return 3.0, 0.0

    assert Tripled(gumdp.Entropy(), 2.0).parts(SHAPE) == (0.0, ((3.0, gumdp.Entropy()),))
    assert Tripled(gumdp.Entropy(), 2.0).tangent(SHAPE).factor == 3.0


def test_bounds_of_such_a_subclass_rest_on_its_own_value():
    problem = gumdp.Problem(gumdp.Tabular(np.full((2, 2, 2), 0.5)), Louder(), 1.0, 3)
    assert distinct_bound(problem) is None
    constant, slope = Tangents(Louder(), SHAPE).at(np.full(SHAPE, 1 / 6))
    assert constant + slope.sum() / 6 == pytest.approx(3.0 * math.log(1 / 6), abs=1e-7)


def test_a_subclass_with_the_same_value_inherits_all_of_it():
    assert type(Named().tangent(SHAPE)) is type(gumdp.Entropy().tangent(SHAPE))
    assert Named().separable(SHAPE) is not None


def test_a_subclass_that_says_both_is_believed():
    class Both(gumdp.Linear):
        def value(self, d):
            return 2.0 * super().value(d)

        def separable(self, shape):
            return SeparableSum(costs=2.0 * self.costs)

    assert Both(COSTS[0]).separable(SHAPE).costs == pytest.approx(2.0 * COSTS[0])
    assert Both(COSTS[0]).tangent(SHAPE) is None

    class Further(Both):
        pass

    assert Further(COSTS[0]).separable(SHAPE) is not None


# --- objectives of users ---


@record
class PowerTangent(Tangent):
    """Σ x⁴ over all pairs."""

    pairs: int

    def value(self, d: Any) -> float:
        total = 0.0
        for i in range(self.pairs):
            total += d[i] ** 4
        return total

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        total = 0.0
        for i in range(self.pairs):
            g[i] += factor * 4.0 * d[i] ** 3
            total -= 3.0 * d[i] ** 4
        return factor * total


class Power(gumdp.Objective):
    convex = True

    def value(self, d):
        return float((d**4).sum())

    def tangent(self, shape):
        return PowerTangent(shape[0] * shape[1])


def test_solvers_ask_the_tangent_of_an_objective_that_a_user_wrote():
    assert dict(gumdp.check_objective(Power(), SHAPE).findings)["tangent"] == "PowerTangent is below it and touches it"
    problem = gumdp.Problem(gumdp.Tabular(np.ones((1, 4, 1))), 2.0 * Power(), 0.5, 3)  # which has no gradient
    solution = gumdp.solve_infinite(problem, "mirror")
    assert solution.value == pytest.approx(2.0 * 4 * 0.25**4, abs=1e-7)
    assert solution.gap <= 1e-7


class Ginis(gumdp.Objective):
    """Σ d², said as a sum over all pairs."""

    def value(self, d):
        return float((d * d).sum())

    def separable(self, shape):
        return SeparableSum((Terms(of="pairs", square=1.0),))


def test_the_combinatorial_bound_holds_for_any_sum_that_charges_all_pairs_alike():
    # four steps of equal weight on three pairs: at best each has a third, if steps could be split
    problem = gumdp.Problem(gumdp.Tabular(np.ones((1, 3, 1))), Ginis() + gumdp.Linear(np.ones((1, 3))), 1.0, 4)
    assert distinct_bound(problem) == pytest.approx(1 / 3 + 1.0)
    few = gumdp.Problem(gumdp.Tabular(np.ones((1, 3, 1))), Ginis(), 1.0, 2)
    assert distinct_bound(few) == pytest.approx(2 * 0.5**2)


def test_what_calls_python_back_lives_as_long_as_its_record():
    f = gumdp.Function(lambda d: float((d**2).sum()), gradient=lambda d: 2 * d, convex=True)
    made = python_tangent(f, SHAPE)
    gc.collect()
    assert {made.worth, made.slope} <= set(_callees)
    assert made.value(np.full(6, 1 / 6)) == pytest.approx(1 / 6)
    numbers = {made.worth, made.slope}
    del made
    gc.collect()
    assert not numbers & set(_callees)


# --- old names ---


def test_the_old_names_of_methods_work_and_warn():
    with pytest.warns(DeprecationWarning, match=r"Old.score\(shape\) is now record\(shape\)") as seen:

        class Old(gumdp.Linear):
            def score(self, shape):
                return LinearRecord(2.0 * super().score(shape).costs)

            def value(self, d):
                return 2.0 * super().value(d)

    assert seen[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"score\(shape\) of an objective is now record\(shape\)"):
        costs = Old(COSTS[0]).record(SHAPE).costs
    assert costs == pytest.approx(2.0 * COSTS[0].ravel())

    with pytest.warns(DeprecationWarning, match=r"Fussy.fit\(shape\) is now check_shape\(shape\)"):

        class Fussy(gumdp.Entropy):
            def fit(self, shape):
                raise gumdp.GumdpError("never")

    with pytest.raises(gumdp.GumdpError, match="never"):
        gumdp.Problem(gumdp.Tabular(np.ones((1, 3, 1))), Fussy(), 1.0, 4)


def test_old_names_can_still_be_called():
    with pytest.warns(DeprecationWarning, match="record"):
        assert gumdp.Linear(COSTS[0]).score(SHAPE).costs == pytest.approx(COSTS[0].ravel())
    with pytest.warns(DeprecationWarning, match="check_shape"), pytest.raises(gumdp.GumdpError, match="shape"):
        gumdp.Linear(COSTS[0]).fit((2, 2))


def test_new_names_warn_of_nothing(recwarn):
    type("New", (gumdp.Linear,), {"record": lambda self, shape: None, "check_shape": lambda self, shape: None})
    assert not recwarn
