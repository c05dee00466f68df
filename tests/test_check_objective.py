"""The checker passes what keeps its word, and names what doesn't."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gumdp
from gumdp.jit.record import record
from gumdp.objectives.base import Objective
from gumdp.objectives.record import Dense
from gumdp.objectives.separable import SeparableSum
from gumdp.objectives.tangent import PairTangent, Tangent

SHAPE = (3, 2)
COSTS = np.random.default_rng(20).normal(size=(3, *SHAPE))
TARGET = np.array([[0.3, 0.0], [0.2, 0.1], [0.15, 0.25]])

HONEST = {
    "Entropy": gumdp.Entropy(),
    "KLImitation": gumdp.KLImitation(TARGET, floor=0.01),
    "a nested one": gumdp.entropic(gumdp.normalized(gumdp.StateEntropy()) + 0.5 * gumdp.WorstCase(COSTS), 0.5),
    "Constrained": gumdp.Constrained(COSTS[0], COSTS[1:], [0.1, -0.2], [2.0, 5.0]),
    "MeanVariance": gumdp.MeanVariance(COSTS[0], 0.7),
    "GroupEntropy": gumdp.GroupEntropy([[0, 1], [1, -1], [2, 0]]),
    "Target": gumdp.Target(COSTS[0], 0.1),
}


@pytest.mark.parametrize("f", HONEST.values(), ids=HONEST.keys())
def test_the_packages_own_objectives_pass(f):
    report = gumdp.check_objective(f, SHAPE)
    assert [name for name, _ in report.findings] == [
        "value", "bounds", "gradient", "convexity", "Lipschitz constant", "expression", "compiled record", "re-scoring",
        "tangent", "structure",
    ]  # fmt: skip
    assert str(report).startswith(f"{f!r} on 3 × 2 pairs: all in order\n  value ")


def test_the_lipschitz_constant_of_an_entropy_is_tried_above_its_floor_only():
    findings = dict(gumdp.check_objective(gumdp.Entropy(floor=0.05), SHAPE).findings)
    assert "1.99573 holds (entries of at least 0.05)" in findings["Lipschitz constant"]
    alone = dict(gumdp.check_objective(gumdp.Entropy(floor=0.1), (5, 2), samples=5).findings)
    assert "which no occupancy of this shape has" in alone["Lipschitz constant"]


def test_a_plain_function_passes_and_what_it_does_not_say_is_not_asked():
    report = gumdp.check_objective(lambda d: (d[0, 0] - 0.5) ** 2, SHAPE, samples=20)
    assert dict(report.findings)["bounds"] == "none declared"
    assert dict(report.findings)["compiled record"] == "FunctionRecord has the same value"


class Bare(Objective):
    """A value and maybe a gradient, and no record for kernels."""

    def __init__(self, value=lambda d: sum(float(x) ** 2 for x in d.ravel()), gradient=lambda d: None):
        self.functions = value, gradient

    def value(self, d):
        return self.functions[0](d)

    def gradient(self, d):
        return self.functions[1](d)


def test_a_subclass_with_nothing_but_a_value_passes_without_a_warning():
    report = gumdp.check_objective(Bare(), SHAPE, samples=5)
    assert dict(report.findings)["compiled record"] == "InterpretedRecord has the same value"


def test_the_same_seed_tries_the_same_occupancies():
    one, two, other = (gumdp.check_objective(Bare(), SHAPE, samples=5, seed=seed).findings[0] for seed in (1, 1, 2))
    assert one == two != other


# --- liars ---


def check(f: Any) -> None:
    gumdp.check_objective(f, SHAPE)


def test_a_value_that_changes_from_call_to_call_is_found():
    calls = itertools.count()
    with pytest.raises(gumdp.GumdpError, match=r"is not deterministic: it gave .*, and then .* for the same occupancy"):
        check(lambda d: 1e-15 * next(calls))


def test_a_function_that_writes_into_the_occupancy_is_found():
    def careless(d):
        d[0, 0] = 0.0 if d[0, 0] < 1e-3 else d[0, 0]
        return float(d.max())

    def clipping(d):
        np.clip(d, 1e-9, None, out=d)
        return float(d.max())

    with pytest.raises(gumdp.GumdpError, match="changes the occupancy that it is given; it must only read it"):
        check(careless)
    with pytest.raises(gumdp.GumdpError, match="changes the occupancy"):
        check(clipping)


@pytest.mark.parametrize(
    "made, sentence",
    [
        (float("nan"), "is nan; it must be finite"),
        (np.zeros(2), "must return one number, not an array"),
        (None, "NoneT"),
    ],
)
def test_a_value_that_is_no_number_on_sparse_occupancies_is_found(made, sentence):
    with pytest.raises(gumdp.GumdpError, match=sentence):
        check(lambda d: made if d.min() == 0.0 else 1.0)


def test_an_error_on_sparse_occupancies_is_found():
    with pytest.raises(gumdp.GumdpError, match="failed with IndexError"):
        check(lambda d: float(d[d > 0.0][5]))


def square(d):
    return float((d**2).sum())


def test_a_gradient_with_the_wrong_sign_is_found():
    with pytest.raises(gumdp.GumdpError, match=r"has a gradient that says -?[\d.]+ along a direction in which diff"):
        check(gumdp.Function(square, gradient=lambda d: -2.0 * d))


def test_a_gradient_that_is_right_up_to_a_constant_is_right_on_the_simplex():
    f = Bare(lambda d: d[0, 0] ** 2, gradient=lambda d: 2.0 * d[0, 0] * np.outer([1, 0, 0], [1, 0]) + 7.0)
    assert "agrees" in dict(gumdp.check_objective(f, SHAPE, samples=20).findings)["gradient"]


@pytest.mark.parametrize(
    "gradient, sentence",
    [
        (lambda d: d.sum(axis=1), r"must have the shape \(3, 2\), not \(3,\)"),
        (lambda d: d * np.nan, r"has a gradient that is not finite numbers of shape \(3, 2\)"),
        (lambda d: {}[0], r"the gradient of square failed with KeyError: 0"),
    ],
)
def test_a_gradient_of_another_kind_is_found(gradient, sentence):
    with pytest.raises(gumdp.GumdpError, match=sentence):
        check(gumdp.Function(square, gradient=gradient))


def test_a_kink_is_no_fault_of_the_gradient():
    f = Bare(
        lambda d: abs(d[0, 0] - d[0, 1]), gradient=lambda d: np.sign(d[0, 0] - d[0, 1]) * np.outer([1, 0, 0], [1, -1])
    )
    gumdp.check_objective(f, SHAPE, samples=300)


def test_a_false_claim_of_convexity_is_found():
    with pytest.raises(
        gumdp.GumdpError, match=r"says that it is convex, but between two occupancies .* above the chord"
    ):
        check(gumdp.Function(lambda d: -square(d), convex=True))


@pytest.mark.parametrize("bounds", [(0.2, 1.0), (0.0, 0.9)])
def test_bounds_that_do_not_hold_are_found(bounds):
    with pytest.raises(gumdp.GumdpError, match=r"declares the bounds \(.*\), but has the value"):
        check(gumdp.Function(square, bounds=bounds))


def test_a_lipschitz_constant_that_is_too_small_is_found():
    with pytest.raises(gumdp.GumdpError, match=r"declares the Lipschitz constant 0.9, but changes by"):
        check(gumdp.Function(square, lipschitz=0.9))
    with pytest.raises(gumdp.GumdpError, match=r"Lipschitz constant 3, but changes by"):
        check(gumdp.Function(lambda d: float(np.sqrt(d[0, 0])), lipschitz=3.0))  # steep near 0 only


class Liar(gumdp.Linear):
    """A cost that answers one question wrongly."""

    def __init__(self, costs, **answers):
        super().__init__(costs)
        self.answers = answers

    def bounds(self, shape):
        return self.answers.get("bounds", super().bounds(shape))

    def expression(self, d):
        return self.answers["expression"](d) if "expression" in self.answers else super().expression(d)

    def record(self, shape):
        return self.answers["record"] if "record" in self.answers else super().record(shape)

    def tangent(self, shape):
        return self.answers.get("tangent")

    def separable(self, shape):
        return self.answers.get("separable")

    def parts(self, shape):
        return self.answers.get("parts")

    @property
    def exponential(self):
        return self.answers.get("exponential")


def test_answers_that_fail_or_are_malformed_are_found():
    with pytest.raises(gumdp.GumdpError, match=r"declares the bounds \(1, -1\), which are not two finite numbers in"):
        check(Liar(COSTS[0], bounds=(1, -1)))
    with pytest.raises(gumdp.GumdpError, match="fails to say its expression, with ZeroDivisionError"):
        check(Liar(COSTS[0], expression=lambda d: 1 / 0))


def test_another_expression_for_cvxpy_is_found():
    other = gumdp.Linear(COSTS[1])
    with pytest.raises(gumdp.GumdpError, match=r"has an expression for cvxpy that is .* where the value is"):
        check(Liar(COSTS[0], expression=other.expression))


def test_an_expression_that_cvxpy_does_not_see_as_convex_is_found():
    import cvxpy

    with pytest.raises(gumdp.GumdpError, match="cvxpy can't see that of its expression"):
        check(Liar(COSTS[0], expression=lambda d: cvxpy.sqrt(cvxpy.sum(d))))


def test_another_record_is_found():
    with pytest.raises(gumdp.GumdpError, match="where its record, as kernels call it, gives"):
        check(Liar(COSTS[0], record=gumdp.Linear(COSTS[1]).record(SHAPE)))


@record
class Crooked(Tangent):
    """A cost's tangent with one thing wrong."""

    costs: Any
    shift: float
    more: float
    steepness: float

    def value(self, d: Any) -> float:
        return (self.costs * d).sum() + self.shift

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        g += factor * self.costs
        return factor * self.more

    def measures(self) -> Any:
        return self.costs[None, :], self.steepness


def test_another_tangent_is_found():
    costs = COSTS[0].ravel()
    check(Liar(COSTS[0], tangent=Crooked(costs, 0.0, 0.0, 1.0)))
    with pytest.raises(gumdp.GumdpError, match="where its tangent record says"):
        check(Liar(COSTS[0], tangent=Crooked(costs, 0.1, 0.0, 1.0)))
    with pytest.raises(gumdp.GumdpError, match="where a tangent of its record, taken elsewhere, is"):
        check(Liar(COSTS[0], tangent=Crooked(costs, 0.0, 0.1, 1.0)))
    with pytest.raises(gumdp.GumdpError, match="where the tangent of its record at this place is"):
        check(Liar(COSTS[0], tangent=Crooked(costs, 0.0, -0.1, 1.0)))
    with pytest.raises(gumdp.GumdpError, match="which its measures say is at most"):
        check(Liar(COSTS[0], tangent=Crooked(costs, 0.0, 0.0, 0.9)))
    with pytest.raises(gumdp.GumdpError, match="where its tangent record's sum over the pairs does by"):
        check(Liar(COSTS[0], tangent=Doubled(costs)))


@record
class Doubled(PairTangent):
    """A cost that is said to be twice as much, pair by pair."""

    costs: Any

    def value(self, d: Any) -> float:
        return (self.costs * d).sum()

    def own(self, i: int, x: float) -> float:
        return 2.0 * self.costs[i] * x

    def tangent(self, d: Any, g: Any, factor: float, smoothing: float) -> float:
        g += factor * self.costs
        return 0.0


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("separable", SeparableSum(costs=COSTS[1])),
        ("parts", (0.5, ((1.0, gumdp.Linear(COSTS[0])),))),
        ("exponential", (1.0, gumdp.Linear(COSTS[0]))),
    ],
)
def test_another_structure_is_found(question, answer):
    with pytest.raises(gumdp.GumdpError, match=f"where what it answers to {question} is"):
        check(Liar(COSTS[0], **{question: answer}))


@record
class Scribbler(Dense):
    """The right value, and a mark left on the running occupancy."""

    costs: Any

    def value(self, d: Any) -> float:
        total = 0.0
        for i in range(d.size):
            total += self.costs[i] * d[i]
        d[d.size - 1] = 0.0
        return total


def test_a_record_that_writes_into_the_running_occupancy_is_found():
    with pytest.raises(gumdp.GumdpError, match="leaves entries of the running occupancy changed"):
        check(Liar(COSTS[0], record=Scribbler(COSTS[0].ravel().copy())))


@pytest.mark.parametrize(
    "arguments", [{"shape": 3}, {"shape": (0, 2)}, {"shape": (1.5, 2)}, {"samples": 0}, {"seed": -1}]
)
def test_its_own_arguments_are_checked(arguments):
    with pytest.raises(gumdp.GumdpError, match=r"must be a whole number|must be \(S, A\), not 3"):
        gumdp.check_objective(**{"objective": gumdp.Entropy(), "shape": SHAPE, **arguments})


def test_an_objective_for_another_shape_is_refused():
    with pytest.raises(gumdp.GumdpError, match=r"Linear: costs is for occupancies of shape \(3, 2\)"):
        gumdp.check_objective(gumdp.Linear(COSTS[0]), (2, 2))
    with pytest.raises(gumdp.GumdpError, match="must be a function of the occupancy"):
        check("entropy")
