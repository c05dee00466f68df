"""Vectors of rewards: MO-Gymnasium's worlds as tables and as clones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gumdp
from fishing import best_meals, meals
from gumdp.models.gymnasium.enumerate import NotTable, divided

pytest.importorskip("mo_gymnasium", reason="pip install gumdp[mo]")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the worlds' own


def counted(model: gumdp.Model, objective, horizon: int, discount: float = 1.0, names=None) -> gumdp.Problem:
    counts = gumdp.Features("reward", names=names)
    return gumdp.Problem(model, objective, discount, horizon, counts=counts, scale="sum")


def test_fishwood_becomes_the_table_that_its_text_describes():
    model = gumdp.from_gymnasium("fishwood-v0", fishproba=0.25, woodproba=0.65)
    problem = counted(model, gumdp.Utility(meals), 13, names=["fish", "wood"])
    assert gumdp.solve_exact(problem).utility == pytest.approx(best_meals(0.25, 0.65, 13), abs=1e-12)
    shares = np.unique(model.probabilities)
    assert np.abs(shares[:, None] - [0.25, 0.35, 0.65, 0.75]).min(axis=1).max() < 1e-15


def test_clones_pay_what_the_table_says():
    options = {"fishproba": 0.25, "woodproba": 0.65}
    table = counted(gumdp.from_gymnasium("fishwood-v0", **options), gumdp.Utility(meals), 13)
    clone = counted(gumdp.from_gymnasium("fishwood-v0", method="clone", **options), gumdp.Utility(meals), 13)
    result = gumdp.evaluate(clone, gumdp.Random(), trials=400, seed=0)
    assert abs(result.mean - gumdp.exact_value(table, gumdp.Random())) < 4.0 * result.standard_error
    trial = gumdp.run_trial(clone, gumdp.Random(), seed=0)
    assert trial.value == result.values[0]
    assert trial.value == -meals(np.array(list(trial.totals.values())))


def test_what_the_real_environment_paid_is_what_counts():
    model = gumdp.from_gymnasium("fishwood-v0")
    problem = counted(model, gumdp.Utility(meals), 20, names=["fish", "wood"])
    trial = gumdp.play("fishwood-v0", problem, gumdp.Greedy(), seed=1)
    assert trial.totals == {"fish": trial.rewards[:, 0].sum(), "wood": trial.rewards[:, 1].sum()}
    assert trial.value == -meals(trial.rewards.sum(axis=0))
    assert trial.reality.surprises.size == 0


def test_deep_sea_treasure_is_solved_by_the_distances_of_its_treasures():
    import mo_gymnasium

    model = gumdp.from_gymnasium("deep-sea-treasure-v0")
    steps = 20
    solution = gumdp.solve_exact(counted(model, gumdp.WeightedSum([1.0, 1.0]), steps, names=["treasure", "time"]))
    front = mo_gymnasium.make("deep-sea-treasure-v0").unwrapped.pareto_front(gamma=1.0)
    assert solution.utility == pytest.approx(max(float(point.sum()) for point in front if -point[1] <= steps), abs=1e-5)
    worst = gumdp.Chebyshev([1.0, 1.0], ideal=[23.7, -1.0])
    best = max(min(point[0] - 23.7, point[1] + 1.0) for point in front)
    assert gumdp.solve_exact(counted(model, worst, steps)).utility == pytest.approx(best, abs=1e-5)


CHEBYSHEV = {  # of treasure and time: what is best, by the distances of the treasures
    "alike": (gumdp.Chebyshev([1.0, 1.0], ideal=[23.7, -1.0]), {"found": 16.1, "time": -9.0}),
    "as shares": (gumdp.Chebyshev([1 / 23.7, 1 / 19], ideal=[23.7, -1.0]), {"found": 15.1, "time": -8.0}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", CHEBYSHEV)
def test_copies_find_the_treasure_that_is_best_by_the_exact_solution(name):
    worst, totals = CHEBYSHEV[name]
    copies = gumdp.from_gymnasium("deep-sea-treasure-v0", method="clone", terminal="absorb")
    for steps in (10, 20):
        best = gumdp.solve_exact(counted(gumdp.from_gymnasium("deep-sea-treasure-v0"), worst, steps)).value
        problem = counted(copies, worst, steps, names=["found", "time"])
        for seed in (0, 1):
            trial = gumdp.run_trial(problem, gumdp.MCTS(400), seed=seed)
            assert trial.value == pytest.approx(best, abs=1e-5)
            assert trial.totals == pytest.approx(totals, abs=1e-5)


@pytest.mark.slow
def test_more_iterations_on_copies_are_no_worse():
    worst, totals = CHEBYSHEV["as shares"]
    copies = gumdp.from_gymnasium("deep-sea-treasure-v0", method="clone", terminal="absorb")
    problem = counted(copies, worst, 20, names=["found", "time"])
    for iterations in (1000, 5000):
        assert gumdp.run_trial(problem, gumdp.MCTS(iterations), seed=0).totals == pytest.approx(totals, abs=1e-5)


def test_what_a_search_of_copies_proves_is_so():
    worst, _ = CHEBYSHEV["as shares"]
    table = counted(gumdp.from_gymnasium("deep-sea-treasure-v0"), worst, 5)
    copies = counted(gumdp.from_gymnasium("deep-sea-treasure-v0", method="clone", terminal="absorb"), worst, 5)
    policy = gumdp.MCTS(3000).start(copies, seed=0)
    decision = policy.act(copies.model.start_state(np.random.default_rng(0)))
    assert decision.proved
    assert min(decision.values) == pytest.approx(gumdp.solve_exact(table).value, abs=1e-6)


@pytest.mark.slow
def test_resource_gathering_has_the_pareto_front_that_it_publishes():
    import mo_gymnasium

    model = gumdp.from_gymnasium("resource-gathering-v0")
    front = mo_gymnasium.make("resource-gathering-v0").unwrapped.pareto_front(gamma=0.9)
    for weights in ([1.0, 1.0, 1.0], [5.0, 1.0, 1.0], [0.1, 2.0, 1.0]):
        problem = counted(model, gumdp.WeightedSum(weights), 20, discount=0.9)
        best = max(float(np.dot(weights, point)) for point in front)
        # the front counts the steps to the reward, and a reward that comes with step n has the weight 0.9^(n-1)
        assert gumdp.solve_exact(problem).utility >= best - 1e-9


@pytest.mark.thorough
def test_worlds_without_a_numbering_are_hashed():
    model = gumdp.from_gymnasium("minecart-deterministic-v0", terminal="absorb")
    problem = counted(model, gumdp.WeightedSum([1.0, 1.0, 1.0]), 3)
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    assert len(trial.totals) == 3
    assert trial.occupancy.size == 0  # of which there would be 2^52 rows


def test_a_scalar_reward_is_one_total():
    model = gumdp.from_gymnasium("FrozenLake-v1", is_slippery=False, terminal="absorb")
    problem = counted(model, gumdp.WeightedSum([1.0]), 6, names=["reached"])
    assert gumdp.solve_exact(problem).utility == 1.0
    assert gumdp.solve_exact(problem.replace(horizon=5)).utility == 0.0


def test_chance_is_found_to_the_last_bit():
    shares = divided(lambda u: {("low" if u < 0.1 else "high" if u < 0.75 else "top", ()): 1.0})
    assert shares == {("low", ()): 0.1, ("high", ()): 0.75 - 0.1, ("top", ()): 0.25}


def test_a_world_that_is_no_table_says_why():
    with pytest.raises(NotTable, match="start in different states"):
        gumdp.from_gymnasium("CartPole-v1", method="enumerate")


def test_rewards_are_for_worlds_that_have_some():
    with warnings.catch_warnings(), pytest.raises(gumdp.GumdpError, match="from_gymnasium"):
        counted(gumdp.Tabular([[[1.0]]]), gumdp.WeightedSum([1.0]), 3)
