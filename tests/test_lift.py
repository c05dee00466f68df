"""Tangents that know what single steps weigh: never above the optimum, and tight where Jensen splits steps."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gumdp
from gumdp import Problem, Tabular
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.unsplit import Lifted
from test_bounds import optimum, random_problem

pytestmark = pytest.mark.slow

BOUNDED = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def objective(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> gumdp.Objective:
    target = rng.dirichlet(np.full(shape[0] * shape[1], 0.5)).reshape(shape)
    made = {"entropy": gumdp.Entropy(), "divergence": gumdp.KLImitation(target), "imitation": gumdp.Imitation(target)}
    return 0.7 * made[kind]  # scaled: all are compiled as one of two types


@pytest.fixture
def always(monkeypatch):
    """Bend the tangents at every leaf, whether it pays or not."""
    monkeypatch.setattr("gumdp.bounds.history_tree.WORTHWHILE", -np.inf)
    monkeypatch.setattr(JensenTree, "_heavy", lambda self: True)


@pytest.mark.parametrize("discount, episodes", [(0.7, 1), (1.0, 1), (0.8, 2)])
@BOUNDED
@given(kind=st.sampled_from(["entropy", "divergence", "imitation"]), seed=st.integers(0, 10**6))
def test_no_policy_is_below(always, kind, seed, discount, episodes):
    problem = random_problem("linear", seed, discount, episodes)
    f = objective(kind, problem.shape, np.random.default_rng(seed))
    problem = Problem(problem.model, f, discount, problem.horizon, episodes)
    tree, best = JensenTree(problem), optimum(problem)
    assert isinstance(tree.record, Lifted)
    assert tree.plain - 1e-12 <= tree.bound <= best + 1e-12
    before = tree.raw
    for value in tree.grow(400):
        assert before - 1e-15 <= value <= best + 1e-12
        before = value


def test_steps_that_cannot_be_split_are_seen_at_the_root():
    # one state and ten actions: at best, six steps take six different ones
    problem = Problem(Tabular(np.ones((1, 10, 1))), 0.7 * gumdp.Entropy(), 0.8, horizon=6)
    best = 0.7 * float((problem.weights * np.log(problem.weights)).sum())
    tree = JensenTree(problem)
    assert tree.plain < best - 0.2
    assert best - 1e-3 < tree.bound <= best + 1e-12


def test_where_all_steps_are_small_nothing_changes():
    tree = JensenTree(gumdp.zoo.load("m1-entropy"))
    assert not tree.bent
    assert tree.bound == tree.plain


def test_frozenlake_gains_more_than_its_first_thousand_histories():
    tree = JensenTree(gumdp.zoo.load("frozenlake-entropy"))
    assert tree.plain == pytest.approx(0.148, abs=5e-4)
    assert tree.bound > 0.22
