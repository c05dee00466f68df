"""Branch and bound: the same optimum as listing everything, and honest bounds when it is stopped."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gumdp
from gumdp import GumdpError, Problem, solve_exact
from gumdp.average.tangents import Tangents
from gumdp.cli.main import main
from gumdp.objectives.tangent import python_tangent
from gumdp.zoo import theory
from test_bounds import KINDS, optimum, random_problem

pytestmark = pytest.mark.thorough  # most of its time is compiling

BOUNDED = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def interpreted(monkeypatch):
    """Tangents from the objectives' own gradients: one type for all of them, so that kernels are compiled once."""
    monkeypatch.setattr("gumdp.average.tangents.tangent_of", python_tangent)


def wavy(problem: Problem) -> Problem:
    """The same problem with an objective of which only the range is known."""
    f = gumdp.Function(lambda d: float(np.sin(9.0 * d.ravel()[0]) * np.cos(5.0 * d.ravel()[-1])), bounds=(-1.0, 1.0))
    return Problem(problem.model, f, problem.discount, problem.horizon, problem.episodes)


def worth(problem: Problem, planner) -> float:
    """What the planner's policy is worth, by playing every history."""

    def rule(states, actions):
        policy = planner.start(problem)
        for s, a in zip(states, actions, strict=False):
            policy.act(s)
            policy.tell(a)
        return policy.act(states[-1]).action

    return gumdp.exact_value(problem, rule)


@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
@pytest.mark.parametrize("discount, episodes", [(0.9, 1), (1.0, 1), (0.8, 2), (1.0, 2)])
@BOUNDED
@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 10**6))
def test_it_equals_the_recursion_over_all_histories(interpreted, kind, seed, discount, episodes):
    problem = random_problem(kind, seed, discount, episodes)
    solution = solve_exact(problem, "branch-and-bound")
    best = optimum(problem)
    assert solution.value == pytest.approx(best, abs=1e-9)
    assert solution.value - solution.gap <= best + 1e-12
    assert solution.gap < 1e-7  # sums over the cells, times the steepest tangent that there can be: log 1e-12
    assert "the optimum over all policies" in solution.status


@pytest.mark.parametrize("discount, episodes", [(0.9, 1), (1.0, 1), (0.8, 2)])
@BOUNDED
@given(seed=st.integers(0, 10**6))
def test_without_convexity_the_range_is_enough(seed, discount, episodes):
    problem = wavy(random_problem("linear", seed, discount, episodes))
    solution = solve_exact(problem, "branch-and-bound")
    assert solution.value == pytest.approx(optimum(problem), abs=1e-11)
    assert "the optimum" in solution.status


@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
@pytest.mark.parametrize(
    "kind, discount", [("entropy", 0.9), ("entropy", 1.0), ("worst case", 0.9), ("wavy", 1.0), ("certain", 0.9)]
)
def test_a_search_that_is_stopped_tells_the_truth(interpreted, kind, discount):
    problem = random_problem("entropy" if kind in ("wavy", "certain") else kind, 7, discount)
    model = problem.model
    if kind == "certain":
        moves = np.eye(3)[np.random.default_rng(3).integers(3, size=(3, 3))]
        model = gumdp.Tabular(moves, [0.5, 0.5, 0.0])
    problem = Problem(model, problem.objective, discount, horizon=3)
    problem = wavy(problem) if kind == "wavy" else problem
    best, before = optimum(problem), np.inf
    for nodes in (1, 20, 60, 10_000):
        solution = solve_exact(problem, "branch-and-bound", nodes=nodes)
        assert solution.value - solution.gap <= best + 1e-12 <= solution.value + 2e-12
        assert best - 1e-12 <= worth(problem, solution.planner) <= solution.value + 1e-12
        assert solution.gap <= before
        assert solution.gap < 1e-9 or "stopped" in solution.status
        before = solution.gap
    assert before < 1e-9
    assert worth(problem, solution.planner) == pytest.approx(best, abs=1e-9)


@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
@pytest.mark.parametrize("kind, discount, episodes", [("entropy", 0.9, 1), ("entropy", 1.0, 2), ("wavy", 0.9, 1)])
def test_a_search_that_is_stopped_at_once_has_the_policy_that_it_reports(interpreted, kind, discount, episodes):
    problem = random_problem("entropy", 7, discount, episodes)
    problem = wavy(problem) if kind == "wavy" else problem
    solution = solve_exact(problem, "branch-and-bound", nodes=1)
    assert solution.gap > 0.0
    assert repr(solution.planner) == "Shares()"
    assert worth(problem, solution.planner) == pytest.approx(solution.value, abs=1e-12)
    assert solution.value < gumdp.exact_value(problem, gumdp.Random())
    copied = pickle.loads(pickle.dumps(solution.planner))
    assert gumdp.run_trial(problem, copied, seed=1).value == gumdp.run_trial(problem, solution.planner, seed=1).value


def test_a_long_walk_starts_from_the_policy_that_is_best_on_average(interpreted):
    size = 6  # a ring: on average, and in one trial of whole rounds, all states can be visited alike
    rows = np.zeros((size, 2, size))
    rows[np.arange(size), 0, (np.arange(size) + 1) % size] = rows[np.arange(size), 1, np.arange(size)] = 1.0
    problem = Problem(gumdp.Tabular(rows, start=0), gumdp.normalized(gumdp.StateEntropy()), 1.0, 10 * size)
    solution = solve_exact(problem, "branch-and-bound", nodes=1)
    assert solution.value < 0.05  # 1 at one place, 0 if all are visited alike
    trial = gumdp.run_trial(problem, solution.planner, seed=0)
    assert trial.value == pytest.approx(solution.value, abs=1e-12)


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("off", [0, 1])
def test_twenty_numbers_are_no_matter(discount, off):
    numbers = (2 * np.random.default_rng(5).integers(5, 100, 20)).tolist()
    target = sum(numbers[::3]) + off
    sums = {0}
    for n in numbers:
        sums |= {n + s for s in sums}
    problem = theory.subset_sum(numbers, target, discount)
    solution = solve_exact(problem, "branch-and-bound", time_limit=10.0)
    assert solution.value == pytest.approx(min((s - target) ** 2 for s in sums), abs=1e-6)
    assert solution.gap < 1e-5
    assert "proved" in solution.status
    assert solution.sizes.sum() < 20 * len(sums)  # histories with the same sum are one
    assert gumdp.run_trial(problem, solution.planner).value == pytest.approx(off, abs=1e-6)


def test_two_hundred_steps_of_the_first_theorem_are_solved(interpreted):
    problem = gumdp.zoo.load("theorem1")
    solution = solve_exact(problem, "branch-and-bound", time_limit=20.0)
    half = problem.weights[::2].sum() / 2  # what there is to be balanced between two states, if it can be
    assert solution.value == pytest.approx(2 * half**2, abs=1e-9)
    assert solution.value < theory.nonmarkov_value(0.9) - 1e-3


@pytest.mark.parametrize("kind", ["linear", "worst case", "budget", "residual"])
def test_measures_are_all_that_the_objective_sees(kind):
    rng = np.random.default_rng(1)
    f = 2.0 * KINDS[kind]((3, 4), rng) + KINDS["linear"]((3, 4), rng)
    tangents = Tangents(f, (3, 4))
    rows, steepness = tangents.record.measures()
    assert len(rows) < 12
    for _ in range(20):
        d, e = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
        blind = e - np.linalg.pinv(rows) @ (rows @ e)
        assert tangents.record.value(d + blind) == pytest.approx(tangents.record.value(d), abs=1e-12)
        most = steepness * np.abs(rows @ (d - e)).max()
        assert abs(tangents.record.value(d) - tangents.record.value(e)) <= most + 1e-12


def test_entropies_measure_everything():
    assert Tangents(gumdp.normalized(gumdp.Entropy()), (3, 2)).record.measures() is None
    assert Tangents(gumdp.Entropy() + gumdp.Linear(np.ones((3, 2))), (3, 2)).record.measures() is None


def test_what_backward_induction_refuses_is_solved(interpreted):
    problem = gumdp.zoo.load("m2-imitation", horizon=14)  # 4^14 / 3 histories
    with pytest.raises(GumdpError, match="limit"):
        solve_exact(problem)
    calls = []
    solution = solve_exact(problem, "branch-and-bound", nodes=1000, progress=lambda *args: calls.append(args))
    assert len(calls) > 0
    assert all(value >= solution.value and gap >= solution.gap for _, value, gap in calls)
    result = gumdp.evaluate(problem, solution.planner, trials=100, seed=0, workers=1)
    assert result.mean - 4 * result.standard_error < solution.value
    assert result.mean + 4 * result.standard_error > solution.value - solution.gap
    again = pickle.loads(pickle.dumps(solution.planner))
    assert gumdp.evaluate(problem, again, trials=20, workers=1).values.tolist() == result.values[:20].tolist()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda p: solve_exact(p, "magic"), "unknown method of solve_exact 'magic'"),
        (lambda p: solve_exact(p, nodes=5), "go with method='branch-and-bound'"),
        (lambda p: solve_exact(p, "branch-and-bound", limit=5), "limit and grid go with method='backward-induction'"),
        (lambda p: solve_exact(p, "branch-and-bound", nodes=0), "nodes must be"),
        (lambda p: solve_exact(p, "branch-and-bound", time_limit=-1), "time_limit must be"),
        (lambda p: solve_exact(None, "branch-and-bound"), "problem must be a gumdp.Problem, not NoneType"),
        (
            lambda p: solve_exact(Problem(p.model, lambda d: -float(d.max()), 0.9, 3), "branch-and-bound"),
            "knows no bound for .* not convex; if you know one, say",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(GumdpError, match=words) as caught:
        call(gumdp.zoo.load("m1-entropy", horizon=3))
    assert "\n" not in str(caught.value)


def test_a_policy_is_for_its_own_problem_and_what_can_happen_there():
    problem = theory.subset_sum([3, 34, 4], 7)
    planner = solve_exact(problem, "branch-and-bound").planner
    with pytest.raises(GumdpError, match="was found for"):
        planner.start(gumdp.zoo.load("m1-entropy", horizon=3))
    with pytest.raises(GumdpError, match="state 1 can't be the first"):
        planner.start(problem).act(1)


def test_an_objective_that_fails_somewhere_is_reported():
    def moody(d):
        return np.nan if d[0, 0] == 1.0 else d[0, 0]

    f = gumdp.Function(moody, bounds=(0.0, 1.0))
    with pytest.raises(GumdpError, match="it must be finite"):
        solve_exact(Problem(gumdp.Tabular(np.ones((1, 2, 1))), f, 0.9, horizon=2), "branch-and-bound")


def test_the_command_line_searches_too(capsys):
    line = "solve subset-sum --exact --method branch-and-bound --time-limit 5 --json"
    assert main(line.split()) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["method"] == "branch and bound"
    assert data["value"] == pytest.approx(0.0, abs=1e-9)
    assert data["gap"] < 1e-6
