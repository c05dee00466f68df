"""Garbage at the public edge: whatever comes in, nothing but a GumdpError comes out."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import gumdp
from gumdp import statistics
from gumdp.errors import GumdpError
from gumdp.run import registry
from gumdp.search.options import BY_NAME as OPTIONS

FLOATS = st.floats() | st.sampled_from([0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), 1e308, 5e-324])
WHOLE = st.integers(-3, 6) | st.sampled_from([2**31, 2**32, 2**63, 2**64, 10**30])
SCALARS = (
    st.none()
    | st.booleans()
    | WHOLE
    | FLOATS
    | st.complex_numbers()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.sampled_from([np.int64(3), np.float32(0.5), np.bool_(True), np.datetime64("2020-01-01"), object(), len, int])
)
KINDS = ["f8", "f4", "f2", "c16", "i8", "u8", "i1", "?", "U3", "S2", "O", "M8[s]"]


def shapes(least: int = 0, most: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return arrays.array_shapes(min_dims=least, max_dims=most, min_side=0, max_side=3)


@st.composite
def any_array(draw: Callable[..., Any]) -> Any:
    kind = draw(st.sampled_from(KINDS))
    shape = draw(shapes(1))
    if kind == "O":
        return np.full(shape, draw(SCALARS), dtype=object)
    return draw(arrays.arrays(np.dtype(kind), shape))


@st.composite
def nearly_right(draw: Callable[..., Any], *dims: int) -> Any:
    """Distributions along the last axis, with one entry spoilt or none."""
    table = np.random.default_rng(draw(st.integers(0, 99))).dirichlet(np.ones(dims[-1]), size=dims[:-1])
    if draw(st.booleans()):
        table[tuple(draw(st.integers(0, n - 1)) for n in dims)] = draw(FLOATS)
    return table


@st.composite
def any_sparse(draw: Callable[..., Any]) -> Any:
    form = draw(
        st.sampled_from([sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.dok_array, sparse.lil_matrix])
    )
    kind = draw(st.sampled_from(["f8", "f4", "i8", "c16", "?"]))
    rows, columns = draw(st.integers(0, 6)), draw(st.integers(0, 3))
    dense = draw(arrays.arrays(np.dtype(kind), (rows, columns)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's own, about formats
        return form(dense)


NESTED = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner), max_leaves=8)
ANYTHING = NESTED | any_array() | any_sparse() | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)

garbage = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def only_our_error(call: Callable[[], Any]) -> Any:
    """The result of ``call``, or None where it raised a GumdpError; anything else is a failure."""
    try:
        return call()
    except GumdpError as error:
        sentence = str(error)
        assert sentence
        assert "\n" not in sentence
        assert len(sentence) < 1000
        return None


MODEL = gumdp.Tabular(np.full((3, 2, 3), 1 / 3))
PROBLEM = gumdp.Problem(MODEL, gumdp.Entropy(), 0.9, 4)


@garbage
@given(ANYTHING | nearly_right(3, 2, 3), ANYTHING | nearly_right(3), ANYTHING | st.none())
def test_tabular(transitions: Any, start: Any, available: Any) -> None:
    only_our_error(lambda: gumdp.Tabular(transitions, start))
    only_our_error(lambda: gumdp.Tabular(MODEL.dense(), start, available=available))


@garbage
@given(st.lists(any_array() | any_sparse() | nearly_right(3, 3) | NESTED, max_size=3) | ANYTHING)
def test_from_matrices(matrices: Any) -> None:
    only_our_error(lambda: gumdp.Tabular.from_matrices(matrices))


@garbage
@given(ANYTHING, ANYTHING, ANYTHING)
def test_names_and_grids(states: Any, actions: Any, grid: Any) -> None:
    only_our_error(lambda: gumdp.Tabular(MODEL.dense(), state_names=states))
    only_our_error(lambda: gumdp.Tabular(MODEL.dense(), action_names=actions))
    only_our_error(lambda: gumdp.Tabular(MODEL.dense(), grid=grid))


@garbage
@given(ANYTHING, ANYTHING, SCALARS | ANYTHING, SCALARS | ANYTHING, SCALARS | ANYTHING)
def test_problem(model: Any, objective: Any, discount: Any, horizon: Any, episodes: Any) -> None:
    only_our_error(lambda: gumdp.Problem(model, gumdp.Entropy(), 0.9, 4))
    only_our_error(lambda: gumdp.Problem(MODEL, objective, 0.9, 4))
    only_our_error(lambda: gumdp.Problem(MODEL, gumdp.Entropy(), discount, 4))
    only_our_error(lambda: gumdp.Problem(MODEL, gumdp.Entropy(), 0.9, horizon))
    only_our_error(lambda: gumdp.Problem(MODEL, gumdp.Entropy(), 0.9, 4, episodes))


@garbage
@given(ANYTHING)
def test_an_objective_that_returns_anything(answer: Any) -> None:
    only_our_error(lambda: gumdp.Problem(MODEL, lambda d: answer, 0.9, 4))


@garbage
@given(ANYTHING | nearly_right(3, 2) | nearly_right(2, 2))
def test_stationary(policy: Any) -> None:
    planner = only_our_error(lambda: gumdp.Stationary(policy))
    if planner is not None:
        only_our_error(lambda: gumdp.run_trial(PROBLEM, planner))


@garbage
@given(ANYTHING | nearly_right(4, 3, 2) | nearly_right(2, 3, 2))
def test_markov(policy: Any) -> None:
    planner = only_our_error(lambda: gumdp.Markov(policy))
    if planner is not None:
        only_our_error(lambda: gumdp.run_trial(PROBLEM, planner))


@garbage
@given(ANYTHING)
def test_parameters_of_planners(value: Any) -> None:
    only_our_error(lambda: gumdp.Greedy(value))
    for name in OPTIONS:
        only_our_error(lambda name=name: gumdp.MCTS(**{name: value}))


@garbage
@given(ANYTHING)
def test_seeds_and_counts(value: Any) -> None:
    few = value if not isinstance(value, int) or value < 100 else 100  # 10 ** 30 trials take a while
    only_our_error(lambda: gumdp.run_trial(PROBLEM, gumdp.Random(), value))
    only_our_error(lambda: gumdp.run_trial(PROBLEM, gumdp.Random(), trial=value))
    only_our_error(lambda: gumdp.evaluate(PROBLEM, gumdp.Random(), few))
    only_our_error(lambda: gumdp.evaluate(PROBLEM, gumdp.Random(), 2, value))
    only_our_error(lambda: gumdp.evaluate(PROBLEM, gumdp.Random(), 2, workers=few))


@garbage
@given(ANYTHING, ANYTHING)
def test_problems_and_planners_that_are_none(problem: Any, planner: Any) -> None:
    only_our_error(lambda: gumdp.run_trial(problem, gumdp.Random()))
    only_our_error(lambda: gumdp.run_trial(PROBLEM, planner))
    only_our_error(lambda: gumdp.evaluate(problem, gumdp.Random(), 2))
    only_our_error(lambda: gumdp.evaluate(PROBLEM, planner, 2))
    only_our_error(lambda: gumdp.Random().start(problem))


@garbage
@given(ANYTHING, ANYTHING)
def test_states_and_actions_of_a_loop_of_one_s_own(state: Any, action: Any) -> None:
    policy = gumdp.Random().start(PROBLEM)
    only_our_error(lambda: policy.tell(action))
    only_our_error(lambda: policy.act(state))
    only_our_error(lambda: policy.tell(action))
    only_our_error(lambda: policy.worth())


@garbage
@given(ANYTHING, ANYTHING, ANYTHING)
def test_statistics(values: Any, level: Any, method: Any) -> None:
    only_our_error(lambda: statistics.cvar(values))
    only_our_error(lambda: statistics.entropic_risk(values))
    only_our_error(lambda: statistics.bootstrap([1.0, 2.0, 4.0], level, method))
    only_our_error(lambda: statistics.cvar([1.0, 2.0], level))
    only_our_error(lambda: statistics.entropic_risk([1.0, 2.0], level))


@garbage
@given(ANYTHING, st.sampled_from(gumdp.zoo.names()), st.data())
def test_names_and_options_of_the_zoo(value: Any, name: str, data: Any) -> None:
    entry = gumdp.zoo.find(name)
    only_our_error(lambda: gumdp.zoo.load(value))
    only_our_error(lambda: gumdp.zoo.load(name, **{data.draw(st.text(max_size=5)): value}))
    if entry.options and not (isinstance(value, int) and abs(value) > 1000):  # a problem of 10 ** 30 states is too much
        option = data.draw(st.sampled_from(sorted(entry.options)))
        only_our_error(lambda: gumdp.zoo.load(name, **{option: value}))


@garbage
@given(ANYTHING)
def test_names_and_options_of_planners(value: Any) -> None:
    only_our_error(lambda: registry.make(value))
    for entry in registry.entries():
        for option in entry.options:
            only_our_error(lambda entry=entry, option=option: registry.make(entry.name, **{option.name: value}))


# --- objectives that are wrong, met one by one ---


def fails(d: np.ndarray) -> float:
    raise KeyError("no such thing")


WRONG = {
    "NaN": (lambda d: float("nan"), "is nan; it must be finite at every occupancy."),
    "an array": (lambda d: d, "must return one number, not an array of float64 of shape (3, 2)."),
    "nothing": (lambda d: None, "must return one number, not NoneType."),
    "an error": (fails, "the objective fails failed with KeyError: 'no such thing'"),
    "a change of its argument": (
        lambda d: d.fill(0.0) or 0.0,
        "changes the occupancy that it is given; it must only read it.",
    ),
    "no function": (3.0, "the objective must be a function of the occupancy, not float."),
    "costs of another shape": (
        gumdp.Linear([[1.0, 2.0]]),
        "Linear: costs is for occupancies of shape (1, 2), but the model has shape (3, 2).",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_objective_is_met_at_once(what: str) -> None:
    objective, sentence = WRONG[what]
    with pytest.raises(GumdpError) as caught:
        gumdp.Problem(MODEL, objective, 0.9, 4)
    assert sentence in str(caught.value)


@pytest.mark.filterwarnings("ignore:the objective Function.late. runs as plain Python")
def test_an_objective_that_fails_later_is_met_too() -> None:
    memory: list[int] = []

    def late(d: np.ndarray) -> float:
        memory.append(1)
        if d.max() == 1.0:
            raise KeyError("at a vertex")
        return 0.0

    model = gumdp.Tabular([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])
    problem = gumdp.Problem(model, late, 0.9, 2)
    for call in (
        lambda: gumdp.run_trial(problem, gumdp.Stationary([[1.0, 0.0]] * 2)),
        lambda: gumdp.evaluate(problem, gumdp.Stationary([[1.0, 0.0]] * 2), trials=3),
    ):
        with pytest.raises(GumdpError, match="at a vertex"):
            call()
