"""Bad input to objectives is met at the door, with one kind of error and a sentence."""

from __future__ import annotations

import contextlib
import threading
import warnings

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import gumdp
from gumdp.jit.callback import reraise
from gumdp.objectives.compose import Scaled, Sum
from gumdp.objectives.record import whole_value

PAIR = [[0.5, 0.5]]
NAN = float("nan")

SENTENCES = [
    (
        lambda: gumdp.Linear([[1.0, NAN]]),
        r"Linear: costs must be finite numbers up to 1e\+100; the entry \[0, 1\] is nan",
    ),
    (lambda: gumdp.Linear(1.0), r"Linear: costs must have the shape \[S, A\], not \(\)"),
    (lambda: gumdp.Linear("cheap"), r"Linear: costs must be an array of numbers, not str"),
    (lambda: gumdp.Linear([[1.0], [1.0, 2.0]]), r"Linear: costs must be an array of numbers, not list"),
    (lambda: gumdp.Linear([[1j]]), r"Linear: costs must be an array of numbers"),
    (lambda: gumdp.Linear([[]]), r"Linear: costs must have at least one entry, not the shape \(1, 0\)"),
    (lambda: gumdp.Entropy(floor=0.5), r"Entropy: floor must be a finite number .* at most 0.135335, not 0.5"),
    (lambda: gumdp.Imitation([[0.5, 0.4]]), r"Imitation: target .* sums to 0.9 instead of 1: divide by its sum"),
    (lambda: gumdp.Imitation([[1.5, -0.5]]), r"Imitation: target .* entry \(s=0, a=1\) is negative: -0.5"),
    (lambda: gumdp.KLImitation([[0.5, NAN]]), r"KLImitation: target must be finite"),
    (lambda: gumdp.KLImitation(PAIR, floor=0.0), r"KLImitation: floor must be .* at least 1e-300"),
    (lambda: gumdp.WorstCase([1.0]), r"WorstCase: costs must have the shape \[K, S, A\], not \(1,\)"),
    (lambda: gumdp.Quadratic([1.0]), r"Quadratic: matrix must have the shape \[S·A, S·A\] or \[S, A\], not \(1,\)"),
    (lambda: gumdp.Quadratic.of_states([[1.0, 2.0]]), r"of_states: matrix must have the shape \[S, S\] or \[S\]"),
    (lambda: gumdp.Quadratic.diagonal([1.0]), r"Quadratic.diagonal: weights must have the shape \[S, A\]"),
    (lambda: gumdp.Quadratic.residual(PAIR, None), r"Quadratic.residual: target must be a finite number"),
    (lambda: gumdp.Constrained(PAIR, [[1.0]], 0, 1), r"constraints must have the shape \[K, S, A\] with .* \(1, 2\)"),
    (lambda: gumdp.Constrained(PAIR, PAIR, [1, 2], 1), r"budgets must be one number, or one for each of the 1 con"),
    (lambda: gumdp.Constrained(PAIR, PAIR, 1, [[1]]), r"penalty must be one number, or one for each of the 1 con"),
    (lambda: gumdp.Constrained(PAIR, PAIR, 1, -2), r"Constrained: penalty must not be negative, not -2"),
    (lambda: gumdp.MeanVariance(PAIR, -1.0), r"MeanVariance: weight must be a finite number at least 0"),
    (lambda: gumdp.Target(PAIR, NAN), r"Target: budget must be a finite number"),
    (lambda: gumdp.Function(3), r"must be a function of the occupancy, not int"),
    (lambda: gumdp.Function(gumdp.Entropy), r"must be an object, not the class Entropy; call it first"),
    (lambda: gumdp.Function(max, gradient=3), r"gradient must be a function of the occupancy, not int"),
    (lambda: gumdp.Function(max, bounds=(1, 0)), r"bounds must be a pair \(low, high\) with low ≤ high, not \(1, 0\)"),
    (lambda: gumdp.Function(max, lipschitz=-1), r"lipschitz must be a finite number at least 0"),
    (lambda: gumdp.normalized(3), r"must be a function of the occupancy, not int"),
    (lambda: gumdp.entropic(gumdp.Entropy(), 0.0), r"entropic: beta must be positive, not 0"),
    (lambda: -1 * gumdp.Entropy(), r"an objective can be multiplied by positive numbers only, not by -1"),
    (lambda: gumdp.Entropy() * NAN, r"the factor of an objective must be a finite number"),
]


@pytest.mark.parametrize("build, sentence", SENTENCES)
def test_the_sentence_names_the_parameter_and_the_rule(build, sentence):
    with pytest.raises(gumdp.GumdpError, match=sentence):
        build()


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dictionaries(st.integers(), st.floats(), max_size=2),
    st.sets(st.integers(), max_size=2),
    st.fractions(),
    st.decimals(),
    st.sampled_from([object(), max, gumdp.Entropy, gumdp.Entropy(), ..., np.datetime64("2001-01-01"), [[1], [2, 3]]]),
    st.recursive(st.floats(-1e5, 1e5), lambda inner: st.lists(inner, max_size=3), max_leaves=8),
    arrays.arrays(
        st.sampled_from([np.float64, np.float32, np.int8, np.uint64, np.bool_, np.complex64, np.dtype("U2"), object]),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
    ),
)
table = st.one_of(
    anything, arrays.arrays(np.float64, st.sampled_from([(2, 2), (1, 2)])), st.just([[0.25, 0.25], [0.5, 0]])
)
pile = st.one_of(anything, arrays.arrays(np.float64, st.sampled_from([(2, 2, 2), (1, 1, 2)])))

DOORS = [
    (gumdp.Linear, (table,)),
    (gumdp.Entropy, (anything,)),
    (gumdp.StateEntropy, (anything,)),
    (gumdp.Imitation, (table,)),
    (gumdp.KLImitation, (table, anything)),
    (gumdp.WorstCase, (pile,)),
    (gumdp.GroupEntropy, (st.one_of(anything, st.just([[0, 1], [1, 0]])), anything)),
    (lambda costs, per, empty: gumdp.Ratio(costs, per, empty=empty), (table, table, anything)),
    (gumdp.Quadratic, (table,)),
    (gumdp.Quadratic.diagonal, (table,)),
    (gumdp.Quadratic.of_states, (table,)),
    (gumdp.Quadratic.residual, (table, anything)),
    (gumdp.Constrained, (table, pile, anything, anything)),
    (gumdp.MeanVariance, (table, anything)),
    (gumdp.Target, (table, anything)),
    (gumdp.Function, (anything,)),
    (lambda bounds, lipschitz: gumdp.Function(max, bounds=bounds, lipschitz=lipschitz), (anything, anything)),
    (gumdp.normalized, (anything,)),
    (gumdp.entropic, (anything, anything)),
    (lambda factor: Scaled(gumdp.Entropy(), factor), (anything,)),
    (lambda one, two: Sum(one, two), (anything, anything)),
]


@pytest.mark.parametrize("door, arguments", DOORS)
@given(data=st.data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_nothing_but_our_error_comes_out_of_a_constructor(door, arguments, data):
    given_arguments = [data.draw(argument) for argument in arguments]
    with contextlib.suppress(gumdp.GumdpError):
        objective = door(*given_arguments)
        objective.check_shape((2, 2))
        objective.bounds((2, 2))
        objective.lipschitz((2, 2))
        assert np.isfinite(objective(np.full((2, 2), 0.25)))


# --- functions ---

MODEL = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
TABLE = {"a": 2.0}  # a dictionary can't be compiled in


def problem(objective):
    return gumdp.Problem(MODEL, objective, discount=0.9, horizon=8)


@pytest.mark.parametrize(
    "made, value",
    [(True, 1.0), (3, 3.0), (np.float32(0.5), 0.5), (np.int64(2), 2.0), (np.bool_(True), 1.0), (np.array(0.25), 0.25)],
)
def test_any_single_number_will_do(made, value):
    result = gumdp.Function(lambda d: made)(np.full((2, 2), 0.25))
    assert result == value
    assert type(result) is float


@pytest.mark.parametrize("made", [None, "1", [1.0], np.ones(2), 1j, np.complex128(1), NAN, float("inf"), {}, 10**400])
def test_anything_else_is_refused_when_the_problem_is_made(made):
    with pytest.raises(gumdp.GumdpError, match=r"must return one number|must be finite"):
        problem(lambda d: made)


def test_an_occupancy_of_another_shape_is_not_stretched_to_fit():
    with pytest.raises(gumdp.GumdpError, match=r"occupancy must have the shape \(2, 2\), not \(1, 2\)"):
        problem(gumdp.Linear([[1.0, 2.0], [3.0, 4.0]])).value(np.array(PAIR))


def test_an_error_of_the_users_comes_back_with_its_words():
    with pytest.raises(gumdp.GumdpError, match="failed with ZeroDivisionError: division by zero"):
        problem(lambda d: 1 / 0)


def test_an_objective_that_changes_the_occupancy_is_refused():
    def careless(d):
        d[0, 0] += 1.0
        return d.max()

    with pytest.raises(gumdp.GumdpError, match="must only read it"):
        problem(careless)


def test_a_function_that_changes_only_some_occupancies_is_told_so_and_changes_none():
    def floored(d):
        for s in range(d.shape[0]):
            d[s, 0] = max(d[s, 0], 1e-9)
        return d.max()

    record, d = problem(floored).record, np.array([0.0, 1.0, 0.0, 0.0])
    assert type(record).__name__ == "FunctionRecord"
    assert np.isnan(whole_value(record, d))
    with pytest.raises(gumdp.GumdpError, match="floored changes the occupancy that it is given; it must only read it"):
        reraise()
    assert np.array_equal(d, [0.0, 1.0, 0.0, 0.0])
    assert whole_value(record, np.array([0.25, 0.0, 0.75, 0.0])) == 0.75
    with pytest.raises(gumdp.GumdpError, match="must only read it"):
        problem(floored).value(np.array([[0.0, 1.0], [0.0, 0.0]]))


@pytest.mark.parametrize(
    "function, first, value",
    [
        (lambda d: d[0, 0] > 0.3, 0.5, 1.0),
        (lambda d: d[0, 0] > 0.3, 0.2, 0.0),
        (lambda d: np.float32(0.5) * np.float32(d[0, 0]), 0.5, 0.25),
        (lambda d: 3, 0.5, 3.0),
    ],
)
def test_what_is_no_float_but_a_number_counts_as_one(function, first, value):
    p, d = problem(function), np.array([first, 0.0, 0.0, 1.0 - first])
    assert p.value(d.reshape(2, 2)) == value
    assert type(p.record).__name__ == "FunctionRecord"
    assert whole_value(p.record, d) == value


@pytest.mark.parametrize("source", ["lambda d: d.max()", "lambda d: scale * d.max()"])
def test_a_function_without_a_module_is_compiled_like_any_other(source):
    function = eval(source, {"scale": 1.0})  # no __name__ among its globals
    assert function.__module__ is None
    p = problem(function)
    assert type(p.record).__name__ == "FunctionRecord"
    assert whole_value(p.record, np.array([0.25, 0.75, 0.0, 0.0])) == 0.75


def test_a_function_whose_helper_wants_an_array_to_write_to_is_compiled():
    @numba.njit("float64(float64[:, ::1])")
    def declared(d):
        return d.max()

    p = problem(lambda d: 2.0 * declared(d))
    assert type(p.record).__name__ == "FunctionRecord"
    assert whole_value(p.record, np.array([0.25, 0.75, 0.0, 0.0])) == 1.5


def test_a_function_that_numba_reads_otherwise_runs_as_python():
    def wraps(d):
        return d.max() + np.int8(100) * np.int8(2)  # Numba widens small integers, NumPy overflows

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = gumdp.Function(lambda d: d.max() if d[5 % d.shape[0], 0] >= 0 else 0).record((2, 2))
        assert not caught
        assert type(record).__name__ == "FunctionRecord"
        with np.errstate(over="ignore"):
            record = gumdp.Function(wraps).record((2, 2))
    assert "compiled, it gives" in str(caught[-1].message)
    assert type(record).__name__ == "InterpretedRecord"


def test_what_reads_an_open_ended_value_runs_as_python_with_one_warning():
    f = gumdp.Function(lambda d: TABLE["a"] * d.max())
    with pytest.warns(
        UserWarning,
        match="runs as plain Python.*Untyped global name .TABLE.: Cannot determine Numba type of <class .dict.>",
    ):
        first = f.record((2, 2))
    assert type(f.record((2, 2))) is type(first)  # no second warning, which would be an error here


NEED = [0.4, 0.6]


def test_a_list_outside_the_function_is_named_with_what_to_make_of_it():
    share = [1.0]
    for f, name in ((lambda d: NEED[0] * d.max(), "NEED"), (lambda d: share[0] * d.max(), "share")):
        with pytest.warns(UserWarning, match=f"can't read the list {name}: make it a tuple or a NumPy array"):
            gumdp.Function(f).record((2, 2))
    need = tuple(NEED)
    gumdp.Function(lambda d: need[0] * d.max()).record((2, 2))  # a warning would be an error here


class Rare(gumdp.Objective):
    """Fails in trials, and not at the even occupancy, where problems try it."""

    def value(self, d):
        if d[0, 0] != 0.25:
            raise RuntimeError("the well is dry")
        return d.max()

    def __repr__(self):
        return "Rare()"


class Peak(gumdp.Objective):
    """Says nothing but its value."""

    def value(self, d):
        return d.max()

    def __repr__(self):
        return "Peak()"


def test_a_subclass_with_nothing_but_a_value_works_and_warns_once():
    asked = problem(Peak())
    with pytest.warns(UserWarning, match=r"the objective Peak\(\) runs as plain Python") as caught:
        result = gumdp.evaluate(asked, gumdp.Random(), trials=40, seed=3, workers=2)
    trial = gumdp.run_trial(asked, gumdp.Random(), seed=3)  # a second warning would be an error
    assert len(caught) == 1
    assert trial.value == trial.occupancy.max() == result.values[0]


def test_an_error_inside_a_kernel_comes_back_as_ours_from_any_thread():
    with pytest.warns(UserWarning, match="plain Python"), pytest.raises(gumdp.GumdpError, match="the well is dry"):
        gumdp.evaluate(problem(Rare()), gumdp.Random(), trials=40, seed=0, workers=2)


def test_errors_stay_in_the_thread_that_made_them():
    bad, good = problem(Rare()), problem(Peak())
    with pytest.warns(UserWarning, match="plain Python"):
        bad.record, good.record  # noqa: B018
    outcomes = []

    def work(asked):
        try:
            outcomes.append(gumdp.run_trial(asked, gumdp.Random(), seed=0).value)
        except gumdp.GumdpError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=work, args=(p,)) for p in [bad, good] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(outcome, float) for outcome in outcomes) == 4
    assert sum("the well is dry" in str(outcome) for outcome in outcomes) == 4


def test_an_error_inside_compiled_code_comes_back_with_its_words():
    def rare(d):
        if 0.4 < d[1, 1] < 1.0:
            raise ValueError("the mill has stopped")
        return d.max()

    with pytest.raises(gumdp.GumdpError, match="failed with ValueError: the mill has stopped"):
        gumdp.evaluate(problem(rare), gumdp.Random(), trials=200, seed=0, workers=2)


@pytest.mark.parametrize(
    "f",
    [
        gumdp.Linear([[-1e100, 1e100]]),
        gumdp.WorstCase([[[-1e100, 1e100]]]),
        gumdp.Quadratic([[1e100, -1e100], [-1e100, 1e100]]),
        gumdp.Quadratic.diagonal([[-1e100, 5e-324]]),
        gumdp.Quadratic.diagonal([[-5e-324, -5e-324]]),
        gumdp.Quadratic.residual([[-1e100, 1e100]], 1e100),
        gumdp.Constrained([[-1e100, 1e100]], [[1e100, -1e100]], -1e100, 1e100),
        gumdp.MeanVariance([[-1e100, 1e100]], 1e100),
        gumdp.Target([[-1e100, 1e100]], 1e100),
    ],
    ids=repr,
)
def test_the_largest_and_smallest_numbers_overflow_nothing(f):
    numbers = [f(np.array(PAIR)), *f.bounds((1, 2)), f.lipschitz((1, 2)) or 0.0]
    assert np.isfinite(numbers).all()
