"""Totals in bounds, certificates, environments, stores, reports and pictures."""

from __future__ import annotations

import io

import numpy as np
import pytest

import gumdp
from fishing import fishwood
from gumdp.counts import memory
from gumdp.experiments.store.store import Store
from gumdp.report.data import trial_data
from gumdp.report.terminal import trial_view

pytestmark = pytest.mark.thorough  # most of its time is compiling

SMALL = {"fish": 0.25, "wood": 0.65, "horizon": 13}
FAIR = gumdp.Minimum([1.0, 0.5])


def by_pairs(objective, horizon: int = 6, discount: float = 0.9, scale: str = "sum") -> gumdp.Problem:
    """What a step adds depends on its pair alone."""
    rng = np.random.default_rng(4)
    model = gumdp.Tabular(rng.dirichlet(np.ones(3), (3, 2)))
    counts = gumdp.Features(rng.random((3, 2, 2)), names=["one", "two"])
    return gumdp.Problem(model, objective, discount, horizon, counts=counts, scale=scale)


def by_transitions(objective, seed: int = 4, discount: float = 0.9, scale: str = "sum") -> gumdp.Problem:
    """What a step adds depends on where it leads."""
    rng = np.random.default_rng(seed)
    mask = np.array([[True, True], [True, False], [True, True]])
    table = np.where(mask[..., None], rng.dirichlet(np.ones(3), (3, 2)), 0.0)
    model = gumdp.Tabular(table, [0.5, 0.5, 0.0], available=mask)
    counts = gumdp.Features(rng.integers(0, 3, (3, 2, 3, 2)).astype(float))
    return gumdp.Problem(model, objective, discount, 4, counts=counts, scale=scale)


def test_jensens_bound_is_the_fluid_limit_where_amounts_depend_on_the_next_state():
    problem = fishwood(**SMALL, utility=FAIR)
    bound = gumdp.lower_bound(problem, "jensen")
    woods = 13 * 0.25 / (0.25 + 0.325)  # steps in the woods that bring as many pairs of logs as the others bring fish
    assert bound.value == pytest.approx(-0.325 * woods, abs=1e-4)
    assert bound.value <= gumdp.solve_exact(problem).value


def test_bounds_look_at_histories_where_amounts_depend_on_the_next_state():
    problem = by_transitions(gumdp.Minimum())
    exact = gumdp.solve_exact(problem).value
    plain, sharp = (gumdp.lower_bound(problem, method, nodes=3000).value for method in ("jensen", "jensen-tree"))
    assert plain + 0.01 < sharp <= exact + 1e-9


@pytest.mark.parametrize("discount, scale", [(0.9, "sum"), (1.0, "sum"), (0.8, "mean")])
def test_states_that_remember_what_a_step_added_make_the_same_problem(discount, scale):
    problem = by_transitions(gumdp.Utility(lambda z: z[0] * z[1] - z[0] ** 2), discount=discount, scale=scale)
    pairs, remembered = problem.in_pairs("a test")
    assert remembered is not None
    assert (pairs.horizon, pairs.shape[0] > problem.shape[0]) == (5, True)
    assert gumdp.solve_exact(pairs).value == pytest.approx(gumdp.solve_exact(problem).value, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_finds_the_optimum_where_amounts_depend_on_the_next_state(seed):
    problem = by_transitions(gumdp.Minimum(), seed)
    exact = gumdp.solve_exact(problem).value
    proved = gumdp.solve_exact(problem, "branch-and-bound", time_limit=20.0)
    assert proved.value == pytest.approx(exact, abs=1e-6)
    result = gumdp.evaluate(problem, proved.planner, trials=400, seed=0)
    assert abs(result.mean - exact) < 4.0 * result.standard_error  # and it plays to that
    with pytest.raises(gumdp.GumdpError, match="knows nothing of"):
        proved.planner.start(by_transitions(gumdp.Minimum(), 77))


def test_where_too_many_states_would_have_to_remember_bounds_look_at_averages(monkeypatch):
    monkeypatch.setattr(memory, "MOST", 3)
    bound = gumdp.lower_bound(by_transitions(gumdp.Minimum()))
    assert "too many states would have to remember" in dict(bound.skipped)["jensen-tree"]
    assert {part.method for part in bound.parts} <= {"range", "jensen"}


@pytest.mark.slow
@pytest.mark.parametrize("objective", [gumdp.Minimum(), gumdp.Gini(), gumdp.Nash()], ids=repr)
def test_bounds_of_totals_are_below_the_optimum(objective):
    problem = by_pairs(objective)
    exact = gumdp.solve_exact(problem).value
    for method in ("range", "jensen", "jensen-tree"):
        assert gumdp.lower_bound(problem, method, nodes=200).value <= exact + 1e-9


def test_branch_and_bound_finds_the_optimum_of_totals():
    problem = by_pairs(gumdp.Minimum(), horizon=4)
    exact = gumdp.solve_exact(problem)
    proved = gumdp.solve_exact(problem, "branch-and-bound", time_limit=20.0)
    assert proved.value == pytest.approx(exact.value, abs=1e-6)
    assert proved.maximised


def test_the_best_mean_totals_are_found():
    problem = by_pairs(gumdp.WeightedSum([1.0, 2.0]), horizon=8)
    finite = gumdp.solve_infinite(problem, horizon="finite")
    assert finite.value == pytest.approx(gumdp.solve_exact(problem).value, abs=1e-5)


@pytest.mark.slow
def test_a_certificate_of_totals():
    problem = by_pairs(gumdp.Minimum())
    certificate = gumdp.certify(problem, gumdp.Greedy(), trials=200, nodes=200)
    exact = gumdp.solve_exact(problem).value
    assert certificate.lower <= exact <= certificate.upper


@pytest.mark.parametrize("flat", [False, True])
def test_the_environment_shows_totals_and_pays_the_utility(flat):
    problem = fishwood(**SMALL, utility=FAIR)
    env = gumdp.OccupancyEnv(problem, flat=flat)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    over, reward, seen = False, 0.0, None
    while not over:
        observation, reward, over, _, _ = env.step(env.action_space.sample())
        seen = observation[-3:-1] if flat else observation["totals"]
        assert env.observation_space.contains(observation)
    assert reward == pytest.approx(FAIR.utility(np.asarray(seen, float)), abs=1e-6)


def test_reports_know_totals_by_name():
    problem = fishwood(**SMALL, utility=FAIR)
    trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    data = trial_data("meals", "greedy", trial)
    assert data["totals"] == trial.totals
    assert data["utility"] == trial.utility
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(trial_view("a trial", problem, trial, "", 100))
    assert f"fish {trial.totals['fish']:g}" in console.export_text()


def test_stores_keep_totals(tmp_path):
    gumdp.register_problem("test-fishwood", lambda: fishwood(**SMALL, utility=FAIR))
    plan = gumdp.Experiment.grid(["test-fishwood"], ["greedy"], trials=2, keep=("totals",))
    gumdp.run_experiment(plan, tmp_path)
    trials = [gumdp.run_trial(fishwood(**SMALL, utility=FAIR), gumdp.Greedy(), trial=k) for k in range(2)]
    with Store.read(tmp_path) as store:
        (arm,) = store.arms()
        for k, trial in enumerate(trials):
            assert store.kept(arm, k, "totals").tolist() == list(trial.totals.values())


def test_pictures_of_totals_need_totals():
    problem = gumdp.zoo.load("m1-entropy", horizon=3)
    with pytest.raises(gumdp.GumdpError, match="counts features"):
        gumdp.plot.totals(problem, gumdp.run_trial(problem, gumdp.Random()))


@pytest.mark.parametrize(
    "utility",
    [gumdp.WeightedSum([1.0, 2.0, 0.5]), gumdp.Minimum(), gumdp.Minimum([1.0, 0.5, 2.0]),
     gumdp.Chebyshev([1.0, 2.0, 1.0], [3.0, 2.0, 5.0]), gumdp.Gini(), gumdp.Gini([0.5, 0.3, 0.2]), gumdp.Nash(),
     gumdp.PMean(0.5), gumdp.PMean(-2.0, [1.0, 2.0, 1.0]), gumdp.PMean(1.0), gumdp.CobbDouglas([0.2, 0.3, 0.4]),
     gumdp.CobbDouglas([1.0, 2.0, 1.0]), gumdp.PMean(3.0)],
    ids=repr,
)  # fmt: skip
def test_what_named_utilities_know_of_themselves_is_so(utility):
    rng = np.random.default_rng(0)
    record, step = utility.record((1, 3)), 1e-6
    for _ in range(50):
        z, other = rng.random(3) * 4.0, rng.random(3) * 4.0
        assert record.value(z) == pytest.approx(-utility.utility(z), abs=1e-12)
        assert utility.utility(z + 0.1) >= utility.utility(z)
        slope = -utility.gradient(z[None, :]).ravel()
        measured = [
            (utility.utility(z + step * e) - utility.utility(z - step * e)) / (2.0 * step) for e in np.eye(3)
        ]  # fmt: skip
        assert slope == pytest.approx(measured, rel=1e-4, abs=1e-4)
        if utility.convex:  # of the cost: the tangent is above the utility
            assert utility.utility(other) <= utility.utility(z) + slope @ (other - z) + 1e-9
        constant = utility.lipschitz((1, 3))
        if constant is not None:
            assert abs(utility.utility(z) - utility.utility(other)) <= constant * np.abs(z - other).sum() + 1e-12
    formulas = {
        "Nash()": lambda z: np.prod(z) ** (1 / 3),
        "PMean(0.5)": lambda z: np.mean(np.sqrt(z)) ** 2,
        "Gini()": lambda z: np.sort(z) @ [0.5, 0.25, 0.125],
        "CobbDouglas([1.0, 2.0, 1.0])": lambda z: z[0] * z[1] ** 2 * z[2],
    }
    if repr(utility) in formulas:
        assert utility.utility(z) == pytest.approx(formulas[repr(utility)](z), rel=1e-12)
    assert utility.utility(np.zeros(3)) <= 0.0
