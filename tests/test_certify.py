"""Certificates: an upper limit, a lower bound, and what lies between."""

import contextlib
import math
from typing import Any

import numpy as np
import pytest

import gumdp
from gumdp import Bound, GumdpError, Problem, Tabular, certify
from gumdp.average.rest_kernels import new_workspace
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.history_tree_kernels import Rules
from gumdp.bounds.intervals import bernstein_margin, student_margin
from gumdp.experiments.engines.work import prepare
from gumdp.run.control_variate import Controlled
from gumdp.run.control_variate_kernels import luck
from gumdp.search.loop import search
from gumdp.seeding import streams

pytestmark = pytest.mark.thorough  # most of its time is compiling


def small(episodes: int = 1) -> Problem:
    rng = np.random.default_rng(0)
    model = Tabular(rng.dirichlet(np.ones(2), size=(2, 2)), start=[0.3, 0.7])
    return Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 3, episodes)


# --- luck has mean 0 ---


@pytest.mark.slow
@pytest.mark.parametrize("episodes", [1, 2])
def test_the_mean_of_luck_over_all_histories_is_0(episodes) -> None:
    """Every history of a random policy with its probability, one by one."""
    problem = small(episodes)
    tree = JensenTree(problem)
    transitions, start = problem.model.dense(), problem.model.start
    rng = np.random.default_rng(1)
    policy = rng.dirichlet(np.ones(2), size=(problem.steps, 2))
    total, mass, size, histories = 0.0, 0.0, 0.0, [((), (), 1.0)]
    for t in range(problem.steps):
        longer = []
        for states, actions, p in histories:
            fresh = t % problem.horizon == 0
            outcomes = start if fresh else transitions[states[-1], actions[-1]]
            for s in range(2):
                longer += [((*states, s), (*actions, a), p * outcomes[s] * policy[t, s, a]) for a in range(2)]
        histories = longer
    for states, actions, p in histories:
        workspace = new_workspace(problem.shape, problem.steps)
        workspace.slope[:], workspace.constant[0] = tree.tree.slope[0], tree.tree.constant[0]
        value = luck(
            tree.tools.tangents.record, tree.tools.task, np.array(states), np.array(actions), np.zeros(4), np.zeros(4),
            workspace, Rules(4, 1e-6, 0.0), problem.steps,
        )  # fmt: skip
        total, mass, size = total + p * value, mass + p, size + p * abs(value)
    assert mass == pytest.approx(1.0)
    assert size > 1e-3
    assert abs(total) < 1e-12


def test_values_without_luck_have_the_same_mean_and_differ_less() -> None:
    problem = small()
    policy = np.full((2, 2), 0.5)
    truth = gumdp.exact_value(problem, gumdp.Stationary(policy))
    planner = Controlled(gumdp.Stationary(policy), JensenTree(problem))
    result = gumdp.evaluate(problem, planner, trials=2000, seed=0)
    raw = np.array(list(planner.raw.values()))
    plain = gumdp.evaluate(problem, gumdp.Stationary(policy), trials=2000, seed=0)
    np.testing.assert_array_equal(np.sort(raw), np.sort(plain.values))
    assert abs(result.mean - truth) < 4.0 * result.standard_error
    assert result.standard_error < plain.standard_error


# --- intervals ---


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    draws = rng.beta(0.5, 2.0, size=(2000, 50))
    truth = 0.5 / 2.5
    for margin, most in ((student_margin, 0.1), (lambda v, d: bernstein_margin(v, 1.0, d), 0.05)):
        missed = np.mean([row.mean() + margin(row, 0.05) < truth for row in draws])
        assert missed <= most  # skewness costs Student's t a little at 50 values
    assert student_margin(np.array([1.0]), 0.05) == math.inf
    assert bernstein_margin(np.array([1.0]), 1.0, 0.05) == math.inf


# --- certificates ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "iterations", "trials", "nodes", "most"),
    [
        ("m1-entropy", 300, 40, 150_000, 0.001),
        ("m2-imitation", 100, 40, 20_000, 0.0006),
        ("m3-adversarial", 500, 150, 10_000, 0.008),
        ("taxi-entropy", 100, 10, 1_000, 0.0005),
    ],
)
def test_gaps_that_can_be_certified(name, iterations, trials, nodes, most) -> None:
    problem, planner = gumdp.zoo.load(name), gumdp.MCTS(iterations)
    methods = "distinct" if name == "taxi-entropy" else "jensen-tree"
    bound = gumdp.lower_bound(problem, methods, nodes=nodes, time_limit=300.0)
    certificate = certify(problem, planner, trials, seed=0, bound=bound)
    assert certificate.controlled
    assert certificate.gap <= most
    assert f"within {certificate.gap:.2g} of the best possible policy" in str(certificate)
    assert "99 % confidence" in str(certificate)


def test_the_optimum_lies_between() -> None:
    problem = small()
    optimum = gumdp.solve_exact(problem).value
    certificate = certify(problem, gumdp.Exact(), 100, seed=0, level=0.9999, nodes=30)
    assert certificate.lower <= optimum <= certificate.upper
    assert certificate.gap == certificate.upper - certificate.lower


def test_values_are_those_of_the_trials_in_order_on_any_number_of_workers() -> None:
    problem, bound = small(), Bound(0.0, "range", "a reason")
    one, many = (certify(problem, gumdp.MCTS(20), 40, bound=bound, workers=workers) for workers in (1, 4))
    plain = gumdp.evaluate(problem, gumdp.MCTS(20), 40)
    np.testing.assert_array_equal(one.values, plain.values)
    np.testing.assert_array_equal(many.values, plain.values)
    assert one.upper == many.upper


def test_without_assumptions_the_limit_is_wider() -> None:
    problem = small()
    student, bernstein = (
        certify(problem, gumdp.Random(), 200, seed=0, interval=interval, nodes=30)
        for interval in ("student", "bernstein")
    )
    assert bernstein.upper > student.upper
    assert not bernstein.controlled
    assert bernstein.mean == student.mean


def test_a_sampled_bound_takes_its_share_of_the_doubt() -> None:
    problem = small()
    sure = Bound(0.0, "range", "a reason")
    sampled = Bound(0.0, "clairvoyant", "a reason", level=0.995)
    one, two = (certify(problem, gumdp.Random(), 100, bound=bound) for bound in (sure, sampled))
    assert two.upper > one.upper
    with pytest.raises(GumdpError, match="holds with 99"):
        certify(problem, gumdp.Random(), 100, bound=sampled, level=0.999)


def test_a_planner_in_a_simulator_can_be_certified() -> None:
    walk = gumdp.Simulator(lambda x, a: (float(a),), (0.0,), lambda x: int(x[0]), cells=2, actions=2)
    certificate = certify(Problem(walk, gumdp.Entropy(), 1.0, 4), gumdp.Random(), 50)
    assert not certificate.controlled
    assert certificate.lower == pytest.approx(-math.log(4))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"interval": "magic"}, "unknown interval"),
        ({"trials": 1}, "trials must be"),
        ({"bound": 0.5}, "bound must be a Bound"),
        ({"control": True, "interval": "bernstein"}, "control needs"),
    ],
)
def test_bad_options_get_a_sentence(options, words) -> None:
    with pytest.raises(GumdpError, match=words):
        certify(small(), gumdp.Random(), **{"trials": 10, "nodes": 10, **options})


def test_a_planner_is_needed() -> None:
    with pytest.raises(GumdpError, match="planner must be a Planner"):
        certify(small(), "mcts")


def test_what_is_compiled_before_the_trials_is_all_that_they_need() -> None:
    def lopsided(d: Any) -> Any:
        return d[0, 0] * d[0, 0] + 0.25 * d[1, 1]

    def slope(d: Any) -> Any:
        g = np.zeros_like(d)
        g[0, 0] = 2.0 * d[0, 0]
        g[1, 1] = 0.25
        return g

    objective = gumdp.Function(lopsided, convex=True, gradient=slope)
    problem = gumdp.zoo.load("m1-entropy", horizon=4).replace(objective=objective)
    planner = gumdp.MCTS.paper(iterations=20)
    actor = Controlled(planner, JensenTree(problem, "certify", 0.1))
    with contextlib.suppress(KeyboardInterrupt):
        prepare(problem, actor)
    compiled = len(search.overloads)
    actor.trials(problem, streams(0, 1), np.zeros(1, np.uint8))
    assert len(search.overloads) == compiled
