"""Tabular models: several ways to say the same, what is refused, and that draws follow the table."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy import stats

import gumdp
from gumdp.errors import GumdpError
from gumdp.jit.random import next_rng
from gumdp.models.compiled import next_state, start_state


def random_table(states: int = 5, actions: int = 3, seed: int = 0) -> np.ndarray:
    """A table [S, A, S] with zeros here and there."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    table[table < 0.05] = 0.0
    return table / table.sum(axis=-1, keepdims=True)


def parts(model: gumdp.Tabular) -> list[np.ndarray]:
    return [model.offsets, model.successors, model.probabilities, model.start_states, model.start_probabilities]


# --- ways to say the same ---


def test_dense_sparse_and_one_matrix_per_action_are_the_same_model() -> None:
    table = random_table()
    flat = table.reshape(15, 5)
    forms = [
        gumdp.Tabular(table),
        gumdp.Tabular(table.tolist()),
        gumdp.Tabular(sparse.csr_array(flat)),
        gumdp.Tabular(sparse.coo_array(flat)),
        gumdp.Tabular(sparse.csc_matrix(flat)),
        gumdp.Tabular.from_matrices([table[:, a] for a in range(3)]),
        gumdp.Tabular.from_matrices(sparse.csr_matrix(table[:, a]) for a in range(3)),
    ]
    for form in forms:
        assert form.shape == (5, 3)
        assert all(np.array_equal(mine, first) for mine, first in zip(parts(form), parts(forms[0]), strict=True))


def test_the_table_comes_back_as_it_was_given() -> None:
    table = random_table()
    model = gumdp.Tabular(table)
    assert np.array_equal(model.dense(), table)
    assert np.array_equal(model.matrix.toarray(), table.reshape(15, 5))
    successors, probabilities = model.row(2, 1)
    assert dict(zip(successors.tolist(), probabilities.tolist(), strict=True)) == {
        s: p for s, p in enumerate(table[2, 1].tolist()) if p > 0
    }
    assert (np.diff(probabilities) <= 0).all()


def test_entries_of_a_sparse_matrix_that_are_given_twice_add_up() -> None:
    rows = sparse.coo_array(([0.5, 0.25, 0.25, 1.0], ([0, 0, 0, 1], [0, 1, 1, 0])), shape=(2, 2))
    assert gumdp.Tabular(rows).dense().tolist() == [[[0.5, 0.5]], [[1.0, 0.0]]]


def test_the_given_arrays_stay_as_they_are() -> None:
    flat = sparse.coo_array(random_table().reshape(15, 5)).tocsr()
    before = flat.copy()
    model = gumdp.Tabular(flat)
    flat.data[:] = 0.5
    assert np.array_equal(model.matrix.toarray(), before.toarray())


def test_a_start_state_is_a_start_distribution_of_one() -> None:
    table = random_table()
    assert gumdp.Tabular(table, start=2).start.tolist() == [0, 0, 1, 0, 0]
    assert gumdp.Tabular(table, start=np.int8(2)).start.tolist() == [0, 0, 1, 0, 0]
    assert gumdp.Tabular(table, start=[0, 0, 0.25, 0.75, 0]).start.tolist() == [0, 0, 0.25, 0.75, 0]


def test_a_mask_of_nothing_is_no_mask() -> None:
    assert gumdp.Tabular(random_table(), available=np.ones((5, 3), bool)).available is None


@pytest.mark.thorough
def test_rows_of_actions_that_are_not_available_are_not_looked_at() -> None:
    table = random_table()
    mask = np.ones((5, 3), bool)
    mask[1, 2] = mask[4, 0] = False
    table[1, 2] = np.nan
    table[4, 0] = 7.0
    model = gumdp.Tabular(table, available=mask)
    assert model.row(1, 2)[0].size == 0
    problem = gumdp.Problem(model, gumdp.Entropy(), 0.9, 400)
    for planner in (gumdp.Random(), gumdp.Greedy(), gumdp.MCTS(iterations=5, randomness=0.3, reuse=True)):
        trial = gumdp.run_trial(problem, planner, seed=0)
        assert trial.occupancy[mask].sum() == pytest.approx(1.0)
        assert trial.occupancy[~mask].tolist() == [0.0, 0.0]


# --- draws ---


def frequencies_fit(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    """Whether a chi-square test finds nothing to say at the level 1e-4, and nothing impossible was drawn."""
    possible = probabilities > 0
    if counts[~possible].any():
        return False
    if possible.sum() == 1:
        return True
    return stats.chisquare(counts[possible], counts.sum() * probabilities[possible]).pvalue > 1e-4


def test_draws_follow_the_table() -> None:
    table = random_table()
    start = np.array([0.4, 0.0, 0.1, 0.3, 0.2])
    world = gumdp.Tabular(table, start).compiled()
    rng = np.uint64(12345)
    starts = np.zeros(5)
    for _ in range(20_000):
        rng = np.uint64(next_rng(rng))
        starts[start_state(world, rng)] += 1
    assert frequencies_fit(starts, start)
    for s, a in np.ndindex(5, 3):
        counts = np.zeros(5)
        for _ in range(4_000):
            rng = np.uint64(next_rng(rng))
            counts[next_state(world, np.uint64(s), np.uint64(a), rng)] += 1
        assert frequencies_fit(counts, table[s, a]), (s, a)


def test_uniform_actions_are_uniform_among_those_available() -> None:
    mask = np.array([[True, False, True, True]])
    table = np.ones((1, 4, 1))
    problem = gumdp.Problem(gumdp.Tabular(table, available=mask), gumdp.Entropy(), 1.0, 30_000)
    counts = gumdp.run_trial(problem, gumdp.Random(), seed=3).occupancy[0] * 30_000
    assert frequencies_fit(np.rint(counts), np.array([1, 0, 1, 1]) / 3)


def test_probabilities_too_small_to_draw_do_no_harm() -> None:
    table = np.array([[[1.0 - 1e-12, 1e-12]], [[0.0, 1.0]]])
    problem = gumdp.Problem(gumdp.Tabular(table), gumdp.Entropy(), 1.0, 10_000)
    assert gumdp.run_trial(problem, gumdp.Random()).occupancy[0, 0] == pytest.approx(1.0)


# --- size ---


def large_model(states: int) -> sparse.csr_array:
    """Three successors for each of two actions, [(2·S), S]."""
    rows = np.arange(2 * states)
    successors = np.stack([rows // 2, (rows // 2 + 1 + rows % 2) % states, (rows * 7919 + 3) % states])
    chances = np.broadcast_to([[0.5], [0.3], [0.2]], successors.shape)
    return sparse.coo_array(
        (chances.ravel(), (np.tile(rows, 3), successors.ravel())), shape=(2 * states, states)
    ).tocsr()


def test_a_hundred_thousand_states_fit_into_tens_of_megabytes() -> None:
    """A million take ten times as much: 16 bytes a transition, and a few copies while building."""
    transitions = large_model(100_000)
    gumdp.Tabular(large_model(10)).compiled()  # compile
    tracemalloc.start()
    model = gumdp.Tabular(transitions)
    model.compiled()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.successors.size <= 600_000
    assert kept < 16e6
    assert peak < 60e6
    trial = gumdp.run_trial(gumdp.Problem(model, gumdp.Entropy(), 0.9, 50), gumdp.Random())
    assert trial.occupancy.sum() == pytest.approx(1.0)


# --- what is refused ---

EVEN = np.full((2, 2, 2), 0.5)


def changed(value: float, where: tuple[int, int, int] = (1, 0, 1)) -> np.ndarray:
    table = EVEN.copy()
    table[where] = value
    return table


REFUSALS = {
    "a row that does not sum to 1": (
        lambda: gumdp.Tabular(changed(0.4)),
        "Tabular: row (s=1, a=0) of transitions sums to 0.9; each row must sum to 1.",
    ),
    "a negative probability": (
        lambda: gumdp.Tabular(changed(-0.5)),
        "Tabular: row (s=1, a=0) of transitions has an entry that is negative, above 1 or not a number.",
    ),
    "a NaN": (
        lambda: gumdp.Tabular(changed(np.nan)),
        "Tabular: row (s=1, a=0) of transitions has an entry that is negative, above 1 or not a number.",
    ),
    "an empty row": (
        lambda: gumdp.Tabular(sparse.csr_array((2, 2))),
        "Tabular: row (s=0, a=0) of transitions sums to 0; each row must sum to 1.",
    ),
    "a wrong shape": (
        lambda: gumdp.Tabular(np.ones((2, 3))),
        "Tabular: transitions must have the shape [S, A, S], not (2, 3).",
    ),
    "a sparse matrix of a wrong shape": (
        lambda: gumdp.Tabular(sparse.csr_array((3, 2))),
        "Tabular: sparse transitions must have the shape [(S·A), S]; 3 rows are not a multiple of 2 columns.",
    ),
    "words": (
        lambda: gumdp.Tabular("table"),
        "Tabular: transitions must be an array of numbers, not str.",
    ),
    "a start that does not sum to 1": (
        lambda: gumdp.Tabular(EVEN, start=[0.5, 0.4]),
        "Tabular: start sums to 0.9; it must sum to 1.",
    ),
    "a negative start": (
        lambda: gumdp.Tabular(EVEN, start=[1.5, -0.5]),
        "Tabular: start has an entry that is negative or not a number.",
    ),
    "a start of a wrong length": (
        lambda: gumdp.Tabular(EVEN, start=[0.5, 0.25, 0.25]),
        "Tabular: start must have the shape (2,), not (3,).",
    ),
    "a start state that does not exist": (
        lambda: gumdp.Tabular(EVEN, start=2),
        "Tabular: start must be below 2, the number of states, not 2.",
    ),
    "a state without actions": (
        lambda: gumdp.Tabular(EVEN, available=[[True, False], [False, False]]),
        "Tabular: state 1 has no available action.",
    ),
    "a mask of numbers": (
        lambda: gumdp.Tabular(EVEN, available=[[1, 0], [1, 1]]),
        "Tabular: available must be a bool array of shape (2, 2), not int64 (2, 2).",
    ),
    "too few names": (
        lambda: gumdp.Tabular(EVEN, state_names=["here"]),
        "Tabular: state_names must be 2 strings.",
    ),
    "a grid of another size": (
        lambda: gumdp.Tabular(EVEN, grid=(2, 2)),
        "Tabular: a grid of 2 × 2 squares does not have 2 states.",
    ),
    "no matrices": (
        lambda: gumdp.Tabular.from_matrices([]),
        "Tabular.from_matrices: there must be at least one matrix.",
    ),
    "matrices of different sizes": (
        lambda: gumdp.Tabular.from_matrices([np.eye(2), np.eye(3)]),
        "Tabular.from_matrices: matrix 1 has the shape (3, 3); all must be square and alike, here (2, 2).",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refused_with_one_sentence(what: str) -> None:
    build, sentence = REFUSALS[what]
    with pytest.raises(GumdpError) as caught:
        build()
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError)
