"""The infinite-trials policy: closed forms, several methods, honest answers."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

import gumdp
from gumdp import GumdpError, Problem, Tabular, solve_infinite
from gumdp.average.frank_wolfe import frank_wolfe
from gumdp.average.polytope import Stationary, Truncated
from gumdp.average.tangents import Tangents
from gumdp.objectives.welfare import Welfare

METHODS = ("cvxpy", "mirror", "frank-wolfe")
HERE = Tabular([[[1.0], [1.0]]])  # one state, two actions
FORTH = Tabular([[[0.0, 1.0]], [[0.0, 1.0]]])  # out of the first state at once, for good


def random_problem(seed: int, objective=None, states: int = 4, actions: int = 3, **options) -> Problem:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    model = Tabular(transitions, rng.dirichlet(np.ones(states)))
    return Problem(model, objective or gumdp.Entropy(), **{"discount": 0.9, "horizon": 6, **options})


# --- closed forms ---


@pytest.mark.parametrize("method", METHODS)
def test_one_state_is_as_even_as_its_actions(method) -> None:
    solution = solve_infinite(Problem(HERE, gumdp.Entropy(), 0.9, 10), method)
    assert solution.value == pytest.approx(-math.log(2), abs=1e-6)
    np.testing.assert_allclose(solution.policy, [[0.5, 0.5]], atol=2e-3)
    assert 0.0 <= solution.gap < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_the_worst_of_two_opposite_costs_is_a_half(method) -> None:
    costs = [[[1.0, 0.0]], [[0.0, 1.0]]]
    solution = solve_infinite(Problem(HERE, gumdp.WorstCase(costs), 0.9, 10), method)
    assert solution.value == pytest.approx(0.5, abs=1e-6)
    assert solution.gap < 1e-6


@pytest.mark.parametrize("horizon", ["infinite", "finite"])
def test_where_there_is_no_choice_the_occupancy_is_the_only_one(horizon) -> None:
    problem = Problem(FORTH, gumdp.Imitation([[0.5], [0.5]]), 0.9, 3)
    solution = solve_infinite(problem, horizon=horizon)
    first = 0.1 if horizon == "infinite" else 1.0 / (1.0 + 0.9 + 0.81)
    np.testing.assert_allclose(solution.occupancy, [[first], [1.0 - first]], atol=1e-12)
    assert solution.value == pytest.approx(2.0 * (first - 0.5) ** 2, abs=1e-12)


def test_linear_costs_are_an_ordinary_decision_process() -> None:
    # Stay in the first state for 1 a step, or move to the second, where a step costs 0.5, once for 2.
    costs = [[1.0, 2.0], [0.5, 0.5]]
    model = Tabular([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    for gamma in (0.5, 0.9):
        best = min(1.0, (1.0 - gamma) * 2.0 + gamma * 0.5)
        for method in METHODS:
            solution = solve_infinite(Problem(model, gumdp.Linear(costs), gamma, 10), method)
            assert solution.value == pytest.approx(best, abs=1e-6)


def test_a_state_that_can_be_left_at_will_is_an_optimisation_in_one_number() -> None:
    """Two states, the action is the next state: with x the mass of action 0, d(s0) = 1-γ+γx."""
    gamma = 0.8
    model = Tabular([[[1.0, 0.0], [0.0, 1.0]]] * 2)

    def value(p: float, q: float) -> float:  # π(0|s0) = p, π(0|s1) = q
        first = (1.0 - gamma + gamma * q) / (1.0 - gamma * p + gamma * q)
        d = np.array([first * p, first * (1 - p), (1 - first) * q, (1 - first) * (1 - q)])
        return float((d * np.log(d)).sum())

    best = minimize_scalar(
        lambda p: minimize_scalar(lambda q: value(p, q), bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-9}).fun,
        bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-9},
    ).fun  # fmt: skip
    for method in METHODS:
        assert solve_infinite(Problem(model, gumdp.Entropy(), gamma, 10), method).value == pytest.approx(best, abs=1e-6)


# --- methods agree, and say how far they are from the optimum ---

OBJECTIVES = {
    "entropy": lambda shape, rng: gumdp.normalized(gumdp.Entropy()),
    "state entropy": lambda shape, rng: gumdp.StateEntropy(),
    "imitation": lambda shape, rng: gumdp.Imitation(rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)),
    "divergence": lambda shape, rng: gumdp.KLImitation(rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)),
    "worst case": lambda shape, rng: gumdp.WorstCase(rng.uniform(size=(3, *shape))),
    "budget": lambda shape, rng: gumdp.Constrained(rng.uniform(size=shape), rng.uniform(size=shape), 0.4, 5.0),
    "residual": lambda shape, rng: gumdp.Quadratic.residual(rng.uniform(size=shape), 2.0),
    "quadratic": lambda shape, rng: gumdp.Quadratic(np.cov(rng.normal(size=(shape[0] * shape[1], 30)))),
    "states": lambda shape, rng: gumdp.Quadratic.of_states(rng.uniform(size=shape[0])),
    "risk": lambda shape, rng: gumdp.entropic(gumdp.Imitation(np.full(shape, 1 / (shape[0] * shape[1]))), 3.0),
    "sum": lambda shape, rng: gumdp.Entropy() + 2.0 * gumdp.Linear(rng.uniform(size=shape)),
}


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_cvxpy_and_mirror_descent_agree(kind) -> None:
    for seed, horizon in ((1, "infinite"), (2, "finite")):
        problem = random_problem(seed, OBJECTIVES[kind]((4, 3), np.random.default_rng(seed)))
        answers = [solve_infinite(problem, method, horizon=horizon) for method in ("cvxpy", "mirror")]
        assert answers[0].value == pytest.approx(answers[1].value, abs=1e-6), (kind, horizon)
        for answer in answers:
            assert -1e-12 <= answer.gap < 1e-6, (kind, horizon, answer)
            assert answer.value == pytest.approx(problem.value(answer.occupancy), abs=1e-12)


@pytest.mark.parametrize("kind", ["imitation", "worst case", "budget"])
def test_frank_wolfe_agrees_too(kind) -> None:
    for seed, horizon in ((3, "infinite"), (4, "finite")):
        problem = random_problem(seed, OBJECTIVES[kind]((4, 3), np.random.default_rng(seed)))
        exact = solve_infinite(problem, "cvxpy", horizon=horizon)
        answer = solve_infinite(problem, "frank-wolfe", horizon=horizon)
        assert answer.value == pytest.approx(exact.value, abs=1e-6)
        assert answer.gap < 1e-6


def test_the_occupancy_is_that_of_the_policy() -> None:
    for horizon in ("infinite", "finite"):
        for method in METHODS:
            problem = random_problem(5, gumdp.Imitation(np.full((4, 3), 1 / 12)))
            solution = solve_infinite(problem, method, horizon=horizon)
            steps = None if horizon == "infinite" else problem.horizon
            again = gumdp.occupancy.expected_occupancy(problem.model, solution.policy, problem.discount, steps)
            np.testing.assert_allclose(solution.occupancy, again, atol=1e-9)


def test_no_policy_at_all_is_below_the_value_by_more_than_the_gap() -> None:
    rng = np.random.default_rng(0)
    for seed in range(5):
        problem = random_problem(seed, gumdp.WorstCase(rng.uniform(size=(3, 4, 3))))
        solution = solve_infinite(problem, "mirror", tolerance=1e-2)
        for sharpness in (0.1, 1.0):
            for policy in rng.dirichlet(np.full(3, sharpness), size=(100, 4)):
                d = gumdp.occupancy.expected_occupancy(problem.model, policy, problem.discount)
                assert problem.value(d) >= solution.value - solution.gap - 1e-9


def test_the_average_over_episodes_has_the_same_polytope() -> None:
    target = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(4, 3)
    values = [
        solve_infinite(random_problem(6, gumdp.Imitation(target), episodes=k), method, horizon="finite").value
        for k in (1, 3)
        for method in ("cvxpy", "mirror")
    ]
    np.testing.assert_allclose(values, values[0], atol=1e-6)


def test_without_discounting_the_horizon_is_finite() -> None:
    problem = random_problem(7, discount=1.0)
    assert solve_infinite(problem).policy.shape == (6, 4, 3)
    with pytest.raises(GumdpError, match="discount below 1"):
        solve_infinite(problem, horizon="infinite")


def test_the_infinite_trials_value_bounds_the_single_trial_one() -> None:
    for seed in range(3):
        problem = random_problem(seed, gumdp.Entropy(), states=2, actions=2, horizon=4)
        average = solve_infinite(problem, horizon="finite")
        assert average.value - average.gap <= gumdp.solve_exact(problem).value


# --- masks, empty states, constraints ---


def test_actions_that_are_not_available_are_not_taken() -> None:
    rng = np.random.default_rng(8)
    available = np.ones((4, 3), bool)
    available[1, 0] = available[2, 2] = False
    model = Tabular(rng.dirichlet(np.ones(4), size=(4, 3)), available=available)
    problem = Problem(model, gumdp.Entropy(), 0.9, 5)
    values = []
    for horizon in ("infinite", "finite"):
        for method in ("cvxpy", "mirror"):
            solution = solve_infinite(problem, method, horizon=horizon)
            assert solution.policy[..., ~available].max() == 0.0
            assert gumdp.run_trial(problem, solution.planner, seed=1).value >= -math.log(12)
            values.append(solution.value)
    np.testing.assert_allclose(values[::2], values[1::2], atol=1e-6)


def test_a_state_that_is_never_reached_gets_any_action() -> None:
    model = Tabular([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    solution = solve_infinite(Problem(model, gumdp.Entropy(), 0.9, 10), "cvxpy")
    np.testing.assert_allclose(solution.policy, 0.5, atol=1e-3)


def test_a_limit_on_average_is_kept() -> None:
    problem = Problem(HERE, gumdp.Linear([[0.0, 1.0]]), 0.9, 10)
    for horizon in ("infinite", "finite"):
        solution = solve_infinite(problem, horizon=horizon, constraints=[([[1.0, 0.0]], 0.3)])
        assert solution.value == pytest.approx(0.7, abs=1e-6)
        assert solution.occupancy[0, 0] <= 0.3 + 1e-6
        assert solution.gap < 1e-6


def test_a_limit_with_a_curved_objective_has_a_price() -> None:
    solution = solve_infinite(Problem(HERE, gumdp.Entropy(), 0.9, 10), constraints=[([[1.0, 0.0]], 0.3)])
    assert solution.value == pytest.approx(0.3 * math.log(0.3) + 0.7 * math.log(0.7), abs=1e-6)
    assert solution.gap < 1e-6


# --- honest answers ---


def test_what_is_not_convex_is_called_local() -> None:
    costs = np.random.default_rng(9).uniform(size=(4, 3))
    problem = random_problem(9, gumdp.MeanVariance(costs, 5.0))
    solution = solve_infinite(problem)
    assert "local" in solution.status
    assert math.isnan(solution.gap)
    uniform = gumdp.occupancy.expected_occupancy(problem.model, np.full((4, 3), 1 / 3), 0.9)
    assert solution.value < problem.value(uniform)


def test_a_function_of_the_users_needs_its_gradient_only() -> None:
    target = np.random.default_rng(10).dirichlet(np.ones(12)).reshape(4, 3)
    mine = gumdp.Function(
        lambda d: float(((d - target) ** 2).sum()), gradient=lambda d: 2.0 * (d - target), convex=True
    )
    ours = solve_infinite(random_problem(10, gumdp.Imitation(target)))
    theirs = solve_infinite(random_problem(10, mine))
    assert theirs.value == pytest.approx(ours.value, abs=1e-6)
    assert theirs.gap < 1e-6


def test_an_answer_that_is_not_good_enough_says_so() -> None:
    solution = solve_infinite(random_problem(11), "mirror", iterations=1)
    assert solution.gap > 1e-6
    assert "try more iterations" in solution.status


def test_a_warm_start_is_taken_up() -> None:
    problem = random_problem(12)
    cold = solve_infinite(problem, "mirror")
    warm = solve_infinite(problem, "mirror", start=cold.policy)
    assert warm.iterations < cold.iterations
    assert solve_infinite(problem, "mirror", horizon="finite", start=cold.policy).gap < 1e-6


def test_progress_is_told() -> None:
    seen = []
    solve_infinite(random_problem(13), "mirror", progress=lambda *report: seen.append(report))
    assert seen
    assert seen[-1][2] <= 1e-7


@pytest.mark.parametrize("polytope", [Stationary, Truncated])
def test_a_mixture_of_plans_becomes_the_policy_that_lives_like_it(polytope) -> None:
    """The policy is made from plans, the occupancy from their corners: two ways that must meet, but for rounding."""
    costs = np.random.default_rng(3).random((3, 4, 3))
    problem = random_problem(2, gumdp.WorstCase(costs))
    space, tangents = polytope(problem), Tangents(problem.objective, problem.shape)
    point = frank_wolfe(tangents, space, space.uniform, tolerance=1e-9, iterations=60, deadline=math.inf)
    assert np.count_nonzero((point.policy > 0.01) & (point.policy < 0.99)) > 1  # a mixture, no single plan
    assert space.occupancy(point.policy) == pytest.approx(point.occupancy, abs=1e-12)
    assert tangents.value(space.occupancy(space.uniform)) > point.value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "mosek"}, "unknown method"),
        ({"horizon": "long"}, "unknown horizon"),
        ({"constraints": [([[1.0]], 0.5)]}, "constraint 0: costs"),
        ({"constraints": [3.0]}, "must be a pair"),
        ({"constraints": [(np.ones((4, 3)), 0.5)]}, "no policy meets the constraints"),
        ({"constraints": [(np.ones((4, 3)), 2.0)], "method": "mirror"}, "constraints need method='cvxpy'"),
        ({"start": np.ones((4, 3)), "method": "mirror"}, "distributions over actions"),
        ({"iterations": 0, "method": "mirror"}, "iterations must be"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"time_limit": "soon"}, "time_limit must be"),
    ],
)
def test_bad_options_get_a_sentence(options, words) -> None:
    with pytest.raises(GumdpError, match=words):
        solve_infinite(random_problem(14), **options)


def test_bad_problems_get_a_sentence() -> None:
    with pytest.raises(GumdpError, match="no gradient"):
        solve_infinite(random_problem(15, gumdp.Target(np.ones((4, 3)), 0.5)))
    with pytest.raises(GumdpError, match="not convex"):
        solve_infinite(random_problem(15, gumdp.MeanVariance(np.eye(4, 3), 1.0)), "cvxpy")
    with pytest.raises(GumdpError, match=r"must be a gumdp\.Problem"):
        solve_infinite("m1-entropy")
    walk = gumdp.Simulator(lambda x, a: (x[0],), (0.5,), lambda x: 0, cells=1, actions=2)
    with pytest.raises(GumdpError, match="Tabular"):
        solve_infinite(Problem(walk, gumdp.Entropy(), 0.9, 10))
    broken = gumdp.Function(lambda d: float(d.max()), gradient=lambda d: d * np.nan, convex=True)
    with pytest.raises(GumdpError, match="finite array"):
        solve_infinite(random_problem(15, broken))


# --- the planner ---


@pytest.mark.parametrize(
    ("name", "known"), [("m1-entropy", 0.0855), ("m2-imitation", 0.0322), ("m3-adversarial", 1.181)]
)
def test_the_infinite_trials_policy_is_worth_what_is_known(name, known) -> None:
    result = gumdp.evaluate(gumdp.zoo.load(name), gumdp.BestOnAverage(), trials=20_000, seed=0)
    # The known value is a mean of 20 000 trials as well, and rounded.
    digits = len(str(known).split(".")[1])
    assert abs(result.mean - known) < 4.0 * math.sqrt(2.0) * result.standard_error + 0.5 * 10**-digits


def test_jensen_at_the_root_is_what_is_known() -> None:
    for name, known, digits in (
        ("m1-entropy", 0.0024, 4), ("m2-imitation", 0.0, 4), ("m3-adversarial", 1.0565, 4),
        ("frozenlake-entropy", 0.148, 3),
    ):  # fmt: skip
        solution = solve_infinite(gumdp.zoo.load(name))
        assert abs(solution.value - known) <= 0.51 * 10**-digits, name
        assert solution.gap < 1e-6


@pytest.mark.thorough
def test_solving_again_at_each_step_beats_solving_once() -> None:
    problem = gumdp.zoo.load("m2-imitation")
    once = gumdp.evaluate(problem, gumdp.BestOnAverage(), trials=200, seed=1)
    again = gumdp.evaluate(problem, gumdp.BestOnAverage(resolve=True), trials=200, seed=1)
    assert again.mean + 4.0 * again.standard_error < once.mean - 4.0 * once.standard_error


def test_the_same_trial_for_any_number_of_workers() -> None:
    problem = gumdp.zoo.load("m2-imitation", horizon=20)
    for planner in (gumdp.BestOnAverage(), gumdp.BestOnAverage(resolve=True), gumdp.BestOnAverage(horizon="finite")):
        one, two = (gumdp.evaluate(problem, planner, trials=8, seed=3, workers=k).values for k in (1, 2))
        np.testing.assert_array_equal(one, two)


def test_the_solver_planner_says_what_it_is() -> None:
    assert repr(gumdp.BestOnAverage()) == "BestOnAverage()"
    assert repr(gumdp.BestOnAverage(resolve=True)) == "BestOnAverage(resolve=True)"
    assert repr(gumdp.BestOnAverage(horizon="finite")) == "BestOnAverage(horizon='finite')"
    with pytest.raises(GumdpError, match="leave these two out"):
        gumdp.BestOnAverage(resolve=True, horizon="finite")
    problem = random_problem(1, gumdp.MeanVariance(np.eye(4, 3), 1.0))
    with pytest.raises(GumdpError, match="convex"):
        gumdp.run_trial(problem, gumdp.BestOnAverage(resolve=True))


# --- totals ---


def linear_programme(probabilities: np.ndarray, phi: np.ndarray, discount: float, ideal: np.ndarray) -> float:
    """max min_k (Φ_k·d - ideal_k) over the occupancies d from state 0."""
    states, actions, kinds = phi.shape
    leave = np.kron(np.eye(states), np.ones((1, actions)))
    rules = leave - discount * probabilities.reshape(-1, states).T
    rows = np.hstack([-phi.reshape(-1, kinds).T, np.ones((kinds, 1))])
    found = linprog(
        np.append(np.zeros(states * actions), -1.0),
        A_ub=rows,
        b_ub=-ideal,
        A_eq=np.hstack([rules, np.zeros((states, 1))]),
        b_eq=(1.0 - discount) * np.eye(states)[0],
        bounds=[(0.0, None)] * (states * actions) + [(None, None)],
    )
    return float(-found.fun)


def poorer(z: Any) -> Any:
    return -min(z[0], z[1])


def slope_of_poorer(z: Any) -> Any:
    return np.array([-1.0, 0.0]) if z[0] < z[1] else np.array([0.0, -1.0])


@pytest.mark.parametrize(
    ("objective", "ideal"),
    [
        (gumdp.Minimum(), [0.0, 0.0]),
        (gumdp.Chebyshev([1.0, 1.0], ideal=[0.5, 0.7]), [0.5, 0.7]),
        (gumdp.Gini([1.0, 0.0]), [0.0, 0.0]),
        (gumdp.Function(poorer, gradient=slope_of_poorer, convex=True), [0.0, 0.0]),  # whose kink nobody speaks of
    ],
    ids=["minimum", "chebyshev", "gini", "function"],
)
def test_the_poorest_total_is_best_on_average_by_linear_programming(objective: Any, ideal: list[float]) -> None:
    rng = np.random.default_rng(0)
    probabilities, phi = rng.dirichlet(np.ones(4), size=(4, 2)), rng.random((4, 2, 2))
    model, counts = gumdp.Tabular(probabilities, start=0), gumdp.Features(phi)
    problem = gumdp.Problem(model, objective, discount=0.9, horizon=100, counts=counts)
    solution = gumdp.solve_infinite(problem)
    best = linear_programme(probabilities, phi, 0.9, np.array(ideal))
    assert solution.value == pytest.approx(-best, abs=1e-7)
    assert solution.gap < 1e-6
    assert solution.maximised == isinstance(objective, Welfare)


def test_the_policy_that_is_best_on_average_plays_totals_too() -> None:
    rng = np.random.default_rng(0)
    model = gumdp.Tabular(rng.dirichlet(np.ones(4), size=(4, 2)), start=0)
    problem = gumdp.Problem(
        model, gumdp.WeightedSum([1.0, 2.0]), discount=0.9, horizon=30, counts=gumdp.Features(rng.random((4, 2, 2)))
    )
    exact = gumdp.solve_infinite(problem, horizon="finite")
    found = gumdp.evaluate(problem, gumdp.BestOnAverage(horizon="finite"), trials=2000)
    assert abs(found.mean - exact.value) < 4.0 * found.standard_error
    with pytest.raises(gumdp.GumdpError, match="resolve=True"):
        gumdp.evaluate(problem, gumdp.BestOnAverage(resolve=True), trials=1)


@pytest.mark.thorough
@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_kinks_and_curves_together_are_certified(discount: float) -> None:
    objective = gumdp.Entropy() + 2.0 * gumdp.WorstCase(np.random.default_rng(1).random((3, 4, 3)))
    solution = solve_infinite(random_problem(5, objective, discount=discount, horizon=12))
    assert solution.gap < 1e-5
    other = solve_infinite(random_problem(5, objective, discount=discount, horizon=12), "frank-wolfe")
    assert solution.value - solution.gap <= other.value <= solution.value + other.gap


def test_totals_of_a_world_without_a_table_are_not_taken_for_occupancies() -> None:
    counts = gumdp.Features(np.ones((2, 2, 2)))
    problem = gumdp.Problem(gumdp.Belief(2, 2, start=0), gumdp.Minimum(), 1.0, 3, counts=counts)
    with pytest.raises(GumdpError, match="needs a Tabular model where"):
        gumdp.evaluate(problem, gumdp.BestOnAverage(), trials=1)
