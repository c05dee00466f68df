"""Totals of whatever is counted."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gumdp
from clock import in_time
from fishing import best_meals, fishwood, meals, regrets

SMALL = {"fish": 0.25, "wood": 0.65, "horizon": 13}


def indicators(problem: gumdp.Problem) -> gumdp.Problem:
    """The problem with its pairs counted one by one."""
    pairs = problem.shape[0] * problem.shape[1]
    phi = np.eye(pairs).reshape(*problem.shape, pairs)
    return problem.replace(counts=gumdp.Features(phi))


@pytest.fixture(scope="module")
def small() -> gumdp.Problem:
    return fishwood(**SMALL)


def test_a_trial_knows_its_totals_by_name_and_they_are_those_of_its_steps(small):
    trial = gumdp.run_trial(small, gumdp.Random(), seed=3)
    assert list(trial.totals) == ["fish", "wood"]
    phi = small.counts.phi
    after = list(trial.states[1:])
    known = sum(phi[s, a, n] for s, a, n in zip(trial.states[:-1], trial.actions[:-1], after, strict=True))
    place = trial.states[-1] // 2  # what the last step brought is not in the states: it can be one more of this kind
    left = np.array(list(trial.totals.values())) - known
    assert left[1 - place] == 0.0
    assert left[place] in (0.0, 1.0)
    assert trial.value == -meals(np.array(list(trial.totals.values())))
    assert trial.utility == -trial.value
    assert "utility" in str(trial)
    assert "fish" in str(trial)


@pytest.mark.slow
def test_the_last_transition_counts_too():
    problem = fishwood(fish=0.25, wood=1.0, horizon=1)
    assert gumdp.run_trial(problem, gumdp.Random()).totals == {"fish": 0.0, "wood": 1.0}
    certain = fishwood(fish=1.0, wood=1.0, horizon=3)  # woods twice and the river last, or never a meal
    assert gumdp.evaluate(certain, gumdp.MCTS(30), trials=3).values.tolist() == [-1.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize("planner", [gumdp.Random(), gumdp.Greedy(), gumdp.MCTS.paper(30), gumdp.MCTS(30)], ids=repr)
def test_trials_step_by_step_and_as_a_whole_are_the_same(small, planner):
    values = gumdp.evaluate(small, planner, trials=3, seed=5).values
    assert [gumdp.run_trial(small, planner, seed=5, trial=k).value for k in range(3)] == values.tolist()


def test_the_mean_of_random_trials_is_the_exact_value_of_the_random_policy(small):
    exact = gumdp.exact_value(small, gumdp.Random())
    result = gumdp.evaluate(small, gumdp.Random(), trials=20_000, seed=0)
    assert abs(result.mean - exact) < 4.0 * result.standard_error


@pytest.mark.parametrize(
    "fish, wood, horizon, optimum",
    [(0.25, 0.65, 13, 1.5440), (0.5, 0.5, 9, None), (0.9, 0.2, 20, None)],
)
def test_fishwood_is_solved_exactly(fish, wood, horizon, optimum):
    solution = gumdp.solve_exact(fishwood(fish, wood, horizon))
    assert solution.utility == pytest.approx(best_meals(fish, wood, horizon), abs=1e-12)
    if optimum is not None:
        assert solution.utility == pytest.approx(optimum, abs=5e-5)
    assert solution.maximised
    assert "utility" in str(solution)


@pytest.mark.slow
def test_fishwood_of_the_usual_size_is_solved_within_seconds_and_search_comes_within_a_hundredth():
    problem = fishwood()
    solution = gumdp.solve_exact(problem)
    assert solution.utility == pytest.approx(16.2066, abs=5e-5)
    assert in_time(solution.seconds, 20.0)
    trials = [gumdp.run_trial(problem, gumdp.MCTS(100), seed=0, trial=k) for k in range(400)]
    best, lost = regrets(trials, 0.1, 0.9, 200)
    assert best == pytest.approx(solution.utility, abs=1e-9)
    assert lost.mean() + 3.0 * lost.std() / 20.0 < 0.01 * best
    luck = np.array([trial.utility for trial in trials]) + lost - best  # of each trial: that has mean 0
    assert abs(luck.mean()) < 4.0 * luck.std() / 20.0


@pytest.mark.slow
@pytest.mark.parametrize("fish, wood, horizon", [(0.3, 0.7, 60), (0.5, 0.2, 100), (0.05, 0.5, 150), (0.02, 0.9, 120)])
def test_other_fishwoods_are_solved_too_and_search_comes_within_a_hundredth(fish, wood, horizon):
    problem = fishwood(fish, wood, horizon)
    trials = [gumdp.run_trial(problem, gumdp.MCTS(100), seed=1, trial=k) for k in range(60)]
    best, lost = regrets(trials, fish, wood, horizon)
    assert gumdp.solve_exact(problem).utility == pytest.approx(best, abs=1e-9)
    assert lost.mean() + 3.0 * lost.std() / np.sqrt(60.0) < 0.01 * best


def test_the_exact_planner_plays_the_optimum(small):
    solution = gumdp.solve_exact(small)
    result = gumdp.evaluate(small, solution.planner, trials=2000, seed=1)
    assert abs(result.mean - solution.value) < 4.0 * result.standard_error
    assert gumdp.exact_value(small, solution.planner) == solution.value


@pytest.mark.thorough
def test_search_beats_chance_and_comes_near_the_optimum(small):
    optimum = best_meals(**SMALL)
    result = gumdp.evaluate(small, gumdp.MCTS(300), trials=300, seed=2)
    assert -result.mean > optimum - 3.0 * result.standard_error - 0.03 * optimum
    assert -gumdp.exact_value(small, gumdp.Random()) < 0.75 * optimum


@pytest.mark.slow
def test_indicators_of_pairs_give_the_same_bits_as_occupancies():
    problem = gumdp.zoo.load("m1-entropy", horizon=30)
    for planner in (gumdp.Random(), gumdp.MCTS.paper(60)):
        pairs = gumdp.evaluate(problem, planner, trials=5, seed=7).values
        assert gumdp.evaluate(indicators(problem), planner, trials=5, seed=7).values.tolist() == pairs.tolist()


def test_indicators_of_pairs_have_the_same_optimum_as_occupancies():
    problem = gumdp.zoo.load("m1-entropy", horizon=5)
    assert gumdp.solve_exact(indicators(problem)).value == pytest.approx(gumdp.solve_exact(problem).value, abs=1e-12)


def test_totals_that_add_up_are_the_ordinary_mdp():
    problem = gumdp.zoo.load("m1-entropy", horizon=8)
    costs = np.arange(6.0).reshape(3, 2)
    plain = gumdp.Problem(problem.model, gumdp.Linear(costs), 0.9, 8)
    counted = gumdp.Problem(problem.model, gumdp.Linear([1.0]), 0.9, 8, counts=gumdp.Features(costs))
    assert gumdp.solve_exact(counted).value == pytest.approx(gumdp.solve_exact(plain).value, abs=1e-12)


def test_the_sum_is_the_discounted_return_and_the_mean_its_share():
    model = gumdp.Tabular([[[1.0]]])
    options = {"discount": 0.5, "horizon": 3, "counts": gumdp.Features([[[2.0]]], names=["x"])}
    total = gumdp.run_trial(gumdp.Problem(model, gumdp.Linear([1.0]), **options, scale="sum"), gumdp.Random()).totals
    share = gumdp.run_trial(gumdp.Problem(model, gumdp.Linear([1.0]), **options), gumdp.Random()).totals
    assert total == {"x": 2.0 * 1.75}
    assert share["x"] == pytest.approx(2.0, abs=1e-15)
    twice = gumdp.Problem(model, gumdp.Linear([1.0]), **options, scale="sum", episodes=2)
    assert gumdp.run_trial(twice, gumdp.Random()).totals["x"] == pytest.approx(3.5, abs=1e-15)


def test_amounts_can_be_given_in_several_ways():
    problem = fishwood(**SMALL)
    phi = problem.counts.phi
    matrices = [sparse.csr_array(phi[..., k].reshape(8, 4)) for k in range(2)]

    def function(state, action, after):
        return phi[state, action, after]

    values = []
    for given in (phi, matrices, function):
        other = problem.replace(counts=gumdp.Features(given, names=["fish", "wood"]))
        values.append(gumdp.evaluate(other, gumdp.Random(), trials=20, seed=1).values.tolist())
    assert values[0] == values[1] == values[2]


def test_arguments_with_a_value_of_their_own_keep_it():
    """A third argument is the next state only if it must be given."""
    table = gumdp.Tabular(np.full((2, 2, 2), 0.5))
    drift = gumdp.Simulator(lambda x, a, speed=0.5: (x[0] + speed,), (0.0,), lambda x: 0, cells=1, actions=2)
    ways = [(table, lambda s, a, k=2.0: k), (table, lambda s, a, *, k=2.0: k), (drift, lambda s, a, k=2.0: (k,))]
    for model, phi in ways:
        problem = gumdp.Problem(model, gumdp.Linear([1.0]), 1.0, 5, counts=gumdp.Features(phi), scale="sum")
        assert gumdp.run_trial(problem, gumdp.Random(), seed=0).value == 10.0
    where = gumdp.run_trial(gumdp.Problem(drift, gumdp.Entropy(), 1.0, 5), gumdp.Random(), seed=0).states
    assert [x for (x,) in where] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_the_amounts_of_a_simulator_with_a_mask_may_be_drawn():
    model = gumdp.Simulator(
        lambda x, a, u: (x[0] + u[0],), (0.0,), lambda x: 0, cells=1, actions=2, allowed=lambda x, a: a == 1
    )
    counts = gumdp.Features(lambda s, a, n, u: (n[0] - s[0] - u[0] + a,))
    problem = gumdp.Problem(model, gumdp.Linear([1.0]), 1.0, 5, counts=counts, scale="sum")
    assert gumdp.run_trial(problem, gumdp.Random(), seed=0).value == pytest.approx(5.0, abs=1e-12)


def test_a_grid_says_how_far_off_it_is():
    rng = np.random.default_rng(0)
    model = gumdp.Tabular(rng.dirichlet(np.ones(3), (3, 2)))
    phi = rng.random((3, 2, 2))
    problem = gumdp.Problem(model, gumdp.Minimum(), 0.95, 7, counts=gumdp.Features(phi), scale="sum")
    exact = gumdp.solve_exact(problem)
    rough = gumdp.solve_exact(problem, grid=0.01)
    assert exact.gap == 0.0
    assert rough.sizes.sum() < exact.sizes.sum()
    assert rough.gap == pytest.approx(1.0 * 2 * 7 * 0.005)
    assert 0.0 < abs(rough.value - exact.value) <= rough.gap


@pytest.mark.slow
def test_a_simulator_counts_what_a_function_makes_of_its_steps():
    def walk(state, action, u):
        return (state[0] + (1.0 if u[0] < 0.5 else 0.0) + action,)

    def phi(state, action, after, u):
        return after[0] - state[0], 1.0 if u[0] < 0.5 else 0.0

    model = gumdp.Simulator(walk, (0.0,), lambda x: int(x[0]) % 4, cells=4, actions=2)
    objective = gumdp.Utility(lambda z: z[0] - z[1], maximise=False)  # the actions that moved
    problem = gumdp.Problem(model, objective, 1.0, 6, counts=gumdp.Features(phi, names=["way", "luck"]), scale="sum")
    for planner in (gumdp.Random(), gumdp.MCTS(30)):
        trial = gumdp.run_trial(problem, planner, seed=4)
        assert trial.value == float(trial.actions.sum())
        assert gumdp.evaluate(problem, planner, trials=2, seed=4).values[0] == trial.value
    assert gumdp.run_trial(problem, gumdp.MCTS(200), seed=4).value == 0.0
    plain = problem.replace(counts=gumdp.Features(lambda s, a: (float(a), 0.0)))
    assert gumdp.run_trial(plain, gumdp.Greedy(), seed=4).value == 0.0


def test_a_policy_of_ones_own_loop_is_told_where_the_last_step_led(small):
    policy = gumdp.Greedy().start(small, seed=0)
    rng = np.random.default_rng(0)
    state = small.model.start_state(rng)
    for _ in range(small.steps):
        decision = policy.act(state)
        state = small.model.sample(state, decision.action, rng)
    with pytest.raises(gumdp.GumdpError, match="arrived"):
        policy.worth()
    before = dict(policy.totals)
    policy.arrived(state)
    assert policy.worth() == -meals(np.array(list(policy.totals.values())))
    assert sum(policy.totals.values()) - sum(before.values()) in (0.0, 1.0)
    other = gumdp.Greedy().start(small, seed=0)
    other.act(2)
    other.arrived(3, added=[5.0, 7.0])
    assert other.totals == {"fish": 5.0, "wood": 7.0}


def test_measures_are_of_the_totals(small):
    measures = {"fish": lambda z: z[0], "both": [1.0, 1.0], "least": gumdp.Minimum()}
    result = gumdp.evaluate(small, gumdp.Random(), trials=5, seed=3, measures=measures)
    for k in range(5):
        totals = gumdp.run_trial(small, gumdp.Random(), seed=3, trial=k).totals
        assert result.measures["fish"].values[k] == totals["fish"]
        assert result.measures["both"].values[k] == sum(totals.values())
        assert result.measures["least"].values[k] == -min(totals.values())


@pytest.mark.slow
def test_a_problem_with_features_can_be_sent_to_another_process():
    problem = fishwood(**SMALL, utility=gumdp.Minimum([1.0, 0.5]))
    problem.record, problem.features  # noqa: B018 (made, and left behind)
    copy = pickle.loads(pickle.dumps(problem))
    planner = gumdp.Greedy()
    assert gumdp.evaluate(copy, planner, trials=3).values.tolist() == gumdp.evaluate(
        problem, planner, trials=3).values.tolist()  # fmt: skip


def test_planners_keep_their_word_on_totals(small):
    assert "all in order" in str(gumdp.check_planner(gumdp.Greedy(), small))


def nothing(z):
    return 0.0


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda m: gumdp.Features([1.0, 2.0]), r"\[S, A, k\]"),
        (lambda m: gumdp.Features([[np.nan]]), "finite numbers"),
        (lambda m: gumdp.Features("prize"), '"reward"'),
        (lambda m: gumdp.Features(object()), "array of numbers"),
        (lambda m: gumdp.Features([[1.0]], names=["a", "a"]), "differ"),
        (lambda m: gumdp.Features([[1.0]], names="fish"), "list of texts"),
        (lambda m: problem_of(m, np.ones((3, 2, 2))), r"\(2, 2, k\)"),
        (lambda m: problem_of(m, np.ones((2, 2, 3, 1))), r"\(2, 2, 2, k\)"),
        (lambda m: problem_of(m, [sparse.csr_array(np.ones((3, 2)))]), r"\(4, 2\)"),
        (lambda m: problem_of(m, np.ones((2, 2, 2)), names=["a"]), "names must be 2"),
        (lambda m: problem_of(m, lambda s: 0.0), "of 1 arguments"),
        (lambda m: problem_of(m, lambda s, a, n, u: 0.0), "takes u"),
        (lambda m: problem_of(m, lambda s, a: np.random.default_rng().random()), "different amounts"),
        (lambda m: problem_of(m, lambda s, a: "much"), "must return numbers"),
        (lambda m: problem_of(m, lambda s, a: [1.0][s]), "phi fails with IndexError"),
        (lambda m: problem_of(m, lambda s, a: (1.0,) * (s + 1)), "the same number"),
        (lambda m: problem_of(m, "reward"), "from_gymnasium"),
        (lambda m: problem_of(m, np.full((2, 2), 1e100), scale="sum"), "totals can grow"),
        (lambda m: gumdp.Problem(m, nothing, 1.0, 3, counts=np.ones((2, 2))), "counts must be"),
        (lambda m: gumdp.Problem(m, nothing, 1.0, 3, scale="sum"), "is for counts"),
        (lambda m: problem_of(m, np.ones((2, 2)), scale="total"), "unknown scale"),
        (lambda m: problem_of(m, np.ones((2, 2)), objective=gumdp.Linear([1.0, 2.0])), "Linear"),
        (lambda m: problem_of(m, np.ones((2, 2)), objective=gumdp.StateEntropy()).running(), "masses of states"),
        (lambda m: problem_of(m, np.ones((2, 2)), objective=lambda z: z), "one number"),
        (lambda m: problem_of(m, np.ones((2, 2)), objective=gumdp.Utility(lambda z: z * 2)), "one number"),
        (lambda m: problem_of(m, np.ones((2, 2))).value(np.ones((2, 2))), "totals must have"),
        (lambda m: gumdp.Utility(3), "function of the totals"),
        (lambda m: gumdp.solve_exact(problem_of(m, np.ones((2, 2)), objective=gumdp.Entropy()), grid=0.1), "Lipschitz"),
        (lambda m: gumdp.solve_exact(problem_of(m, np.ones((2, 2))), grid=0.1), "Lipschitz"),
        (lambda m: gumdp.solve_exact(problem_of(m, np.ones((2, 2)), objective=gumdp.Minimum()), grid=0.0), "positive"),
        (lambda m: gumdp.solve_exact(problem_of(m, np.ones((2, 2)), objective=gumdp.Minimum()), grid=1e-30), "fine"),
        (lambda m: gumdp.solve_exact(gumdp.Problem(m, gumdp.Entropy(), 1.0, 3), grid=0.1), "counts pairs"),
        (lambda m: gumdp.solve_exact(problem_of(m, np.random.default_rng(0).random((2, 2))), limit=3), "limit allows"),
        (lambda m: gumdp.Minimum([1.0, 2.0]).check_shape((2, 2)), "counts=Features"),
    ],
)  # fmt: skip
def test_bad_input_is_met_with_a_sentence(make, words):
    model = gumdp.Tabular(np.full((2, 2, 2), 0.5))
    with pytest.raises(gumdp.GumdpError, match=words):
        make(model)


def problem_of(model, phi, names=None, objective=nothing, scale="mean"):
    return gumdp.Problem(model, objective, 1.0, 3, counts=gumdp.Features(phi, names), scale=scale)


@pytest.mark.parametrize(
    "phi, words",
    [
        (np.ones((4, 2)), "must be a function"),
        (lambda s, a, n, u: (0.0,), "without chance"),
        (lambda s, a: 1.0, "write"),
        (lambda s, a: (1, 2), "0.0 instead of 0"),
        (lambda s, a: (np.inf,), "finite"),
        (lambda s, a: (unknown_name,), "can't be compiled"),  # noqa: F821
    ],
)
def test_bad_amounts_of_a_simulator_are_met_with_a_sentence(phi, words):
    model = gumdp.Simulator(lambda x, a: (x[0] + 1.0,), (0.0,), lambda x: 0, cells=4, actions=2)
    with pytest.raises(gumdp.GumdpError, match=words):
        gumdp.Problem(model, nothing, 1.0, 3, counts=gumdp.Features(phi))


SCRIPT = """
import numpy as np, gumdp
from fishing import best_meals, fishwood, meals, regrets

def walk(x, a, u):
    return ((x[0] + 1.0 + a + (1.0 if u[0] < 0.5 else 0.0)) % 7.0,)

model = gumdp.Simulator(walk, (0.0,), lambda x: 0, cells=1, actions=2)
taxi = gumdp.zoo.load("taxi-entropy", horizon=6).replace(counts=gumdp.Hashed())
cells = gumdp.Problem(model, gumdp.StateEntropy(), 0.9, 8, counts=gumdp.Hashed(lambda x: int(x[0]) - 5))
steps = gumdp.Problem(model, gumdp.Minimum(), 0.9, 6, counts=gumdp.Features(lambda s, a, n, u: (n[0], u[0])))
fair = fishwood(0.25, 0.65, 6, utility=gumdp.Minimum([1.0, 0.5]))
for problem in (fair, taxi, cells, steps):
    for planner in (gumdp.Greedy(), gumdp.MCTS.paper(12)):
        print([x.hex() for x in gumdp.evaluate(problem, planner, trials=2, workers=1).values])
print(gumdp.solve_exact(fair).value.hex())
"""


@pytest.mark.slow
def test_compiled_and_interpreted_counts_agree_to_the_last_bit():
    here = str(Path(__file__).parent)

    def output(**environment: str) -> str:
        path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, **environment}
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
        ).stdout

    compiled = output()
    assert compiled.count("\n") == 9
    assert compiled == output(NUMBA_DISABLE_JIT="1")


def test_what_is_known_of_a_function_of_totals_is_kept() -> None:
    def cost(z: Any) -> Any:
        return z[0] * z[0]

    def slope(z: Any) -> Any:
        return 2.0 * z

    known = gumdp.Function(cost, gradient=slope, convex=True, bounds=(0.25, 4.0), lipschitz=4.0, name="squared")
    model = gumdp.Tabular([[[1.0], [1.0]]], start=0)
    problem = gumdp.Problem(model, known, discount=1.0, horizon=2, counts=gumdp.Features([[0.25, 1.0]]), scale="sum")
    objective = problem.objective
    assert objective.convex
    assert objective.bounds((1, 1)) == (0.25, 4.0)
    assert objective.lipschitz((1, 1)) == 4.0
    assert objective.gradient(np.array([[3.0]])).tolist() == [[6.0]]
    assert objective.name == "squared"
    bound = gumdp.lower_bound(problem, ["range", "jensen"])
    assert {part.method: part.value for part in bound.parts} == pytest.approx({"range": 0.25, "jensen": 0.25}, abs=1e-6)
