"""What a search has scored exactly: closed subtrees, proofs, plans that are kept, budgets of a trial."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

import gumdp
from clock import in_time
from gumdp import MCTS, GumdpError
from gumdp.search.incumbent import new_incumbent
from gumdp.search.tree import new_tree

pytestmark = pytest.mark.thorough  # most of its time is compiling

SAFE = {"randomness": 1.0, "reuse": True, "commitment": math.inf}  # without tuning


def wave(d):
    return np.sin(5.0 * d[0, 0]) + d[1, 1] ** 2


def notch(d):
    return 0.3 * d[1, 0] - np.exp(-60.0 * (d[0, 0] - 0.4) ** 2)


def tiny(k: int, longest: int = 6) -> gumdp.Problem:
    """2 or 3 states and actions, 3 to ``longest`` steps, discount .5 to 1, convex or not, with or without chance."""
    rng = np.random.default_rng(4000 + k)
    states, actions, horizon = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(3, longest + 1))
    discount = float(rng.uniform(0.5, 1.0)) if k % 3 else 1.0
    table = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    if k % 5 == 4:
        table = np.eye(states)[rng.integers(0, states, size=(states, actions))]
    costs = rng.normal(size=(3, states, actions))
    target = gumdp.Target(costs[0], float(costs[0].mean()))
    objectives = (gumdp.Entropy(), gumdp.StateEntropy(), gumdp.WorstCase(costs), target, wave, notch)
    return gumdp.Problem(gumdp.Tabular(table), objectives[k % 6], discount, horizon)


def size_of_tree(problem: gumdp.Problem) -> int:
    """Sequences of pairs: more than there are nodes and edges."""
    pairs = problem.shape[0] * problem.shape[1]
    return sum(pairs**t for t in range(1, problem.steps + 1))


def check_proof(problem: gumdp.Problem, seed: int) -> None:
    decision = MCTS(size_of_tree(problem), **SAFE).start(problem, seed=seed).act(0)
    assert decision.proved
    assert decision.value == pytest.approx(gumdp.solve_exact(problem).value, abs=1e-9)
    assert decision.errors[decision.action] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("k", range(24))
def test_a_budget_of_the_size_of_the_tree_proves_the_optimum(k):
    check_proof(tiny(k, longest=5), k)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(24, 200))
def test_a_budget_of_the_size_of_the_tree_proves_the_optimum_of_many_more(k):
    check_proof(tiny(k), k)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(0, 200, 8))
def test_a_few_thousand_iterations_are_within_noise_of_the_optimum(k):
    """400 trials; a mean above the optimum by 4 of its standard errors has a probability of 3e-5 by luck alone.

    Where all trials have one value, it is the optimum, or what happens if nothing rare does, which is no worse.
    """
    problem = tiny(k)
    result = gumdp.evaluate(problem, MCTS(3000), trials=400, seed=k)
    assert result.mean <= gumdp.solve_exact(problem).value + 4.0 * result.standard_error + 1e-9


def episodes() -> gumdp.Problem:
    m1 = gumdp.zoo.load("m1-entropy")
    model = gumdp.Tabular(m1.model.dense(), [0.5, 0.25, 0.25])
    return gumdp.Problem(model, gumdp.Entropy(), 0.9, 2, episodes=2)


def masked() -> gumdp.Problem:
    available = np.array([[True, False], [True, True], [False, True]])
    model = gumdp.Tabular(gumdp.zoo.load("m1-entropy").model.dense(), 1, available=available)
    return gumdp.Problem(model, gumdp.Entropy(), 0.9, 4)


@pytest.mark.slow
@pytest.mark.parametrize("make", [episodes, masked], ids=["episodes", "a mask"])
def test_new_episodes_and_missing_actions_are_proved_too(make):
    problem = make()
    start = int(np.argmax(problem.model.start > 0))
    solved = gumdp.Exact().start(problem).act(start)
    decision = MCTS(size_of_tree(problem), **SAFE).start(problem).act(start)
    assert decision.proved
    assert decision.value == pytest.approx(np.nanmin(solved.values), abs=1e-9)


def test_a_proof_takes_no_more_iterations_than_there_are_edges_and_nodes():
    """Each iteration scores a leaf or adds a node, and none goes to what is closed: 6 pairs a step, 3 in the last."""
    rng = np.random.default_rng(0)
    model, target = gumdp.Tabular(rng.dirichlet([1, 1], size=(2, 3))), rng.dirichlet(np.ones(6)).reshape(2, 3)
    problem = gumdp.Problem(model, gumdp.Imitation(target), 0.9, 4)  # which no run imitates perfectly
    leaves, nodes = 6**3 * 3, 6 + 6**2 + 6**3
    decision = MCTS(10**6, **SAFE).start(problem).act(0)
    assert decision.proved
    assert decision.iterations == leaves + nodes


def test_nothing_else_is_looked_at_where_the_bound_of_even_time_is_attained():
    """Four steps, three pairs in each of two states: four different ones are as even as it gets."""
    rng = np.random.default_rng(0)
    problem = gumdp.Problem(gumdp.Tabular(rng.dirichlet([1, 1], size=(2, 3))), gumdp.Entropy(), 0.9, 4)
    decision = MCTS(10**6, **SAFE).start(problem).act(0)
    assert decision.proved
    assert decision.iterations < 6**3 * 3
    assert decision.value == pytest.approx(gumdp.solve_exact(problem).value, abs=1e-12)


def test_a_proof_is_carried_over_and_needs_no_more_iterations():
    problem = tiny(0, longest=4)
    policy = MCTS(10**5, **SAFE).start(problem)
    first = policy.act(0)
    after = policy.act(int(np.argmax(problem.model.dense()[0, first.action])))
    assert first.proved
    assert after.proved
    assert after.iterations == 0


def test_too_small_a_budget_proves_nothing():
    decision = MCTS(20, **SAFE).start(gumdp.zoo.load("m1-entropy", horizon=8)).act(0)
    assert not decision.proved
    assert MCTS.paper(10**4).start(gumdp.zoo.load("m1-entropy", horizon=2)).act(0).proved is False


def test_several_threads_prove_as_one_does():
    problem = gumdp.zoo.load("m1-entropy", horizon=4)
    decision = MCTS(10**5, threads=2, **SAFE).start(problem).act(0)
    assert decision.proved
    assert decision.value == pytest.approx(gumdp.solve_exact(problem).value, abs=1e-9)


@pytest.mark.slow
def test_a_simulator_without_chance_is_proved_by_its_own_trajectories():
    """Every plan of 6 steps, played by hand."""
    walk = gumdp.Simulator(
        lambda x, a: (0.7 * x[0] + (0.3 if a == 1 else -0.2),),
        (0.1,),
        lambda x: int(min(max(x[0] + 1.0, 0.0), 1.99) * 2),
        cells=4,
        actions=2,
    )
    problem = gumdp.Problem(walk, gumdp.Entropy(), 0.8, 6)

    def value(plan):
        x, d = 0.1, np.zeros((4, 2))
        for t, a in enumerate(plan):
            d[int(min(max(x + 1.0, 0.0), 1.99) * 2), a] += problem.weights[t]
            x = 0.7 * x + (0.3 if a else -0.2)
        return problem.value(d)

    least = min(value(plan) for plan in itertools.product((0, 1), repeat=6))
    decision = MCTS(2**8, **SAFE).start(problem).act((0.1,))
    assert walk.deterministic
    assert decision.proved
    assert decision.value == pytest.approx(least, abs=1e-12)
    assert gumdp.run_trial(problem, MCTS(2**8, **SAFE)).value == pytest.approx(least, abs=1e-12)


@pytest.mark.slow
def test_a_simulator_that_is_not_where_the_tree_says_begins_afresh():
    walk = gumdp.Simulator(lambda x, a: (x[0] + 0.01,), (0.0,), lambda x: 0, cells=1, actions=2)
    policy = MCTS(50, **SAFE).start(gumdp.Problem(walk, gumdp.Entropy(), 0.9, 4))
    assert policy.act((0.0,)).proved
    assert policy.act((0.01,)).iterations == 0
    assert policy.act((0.5,)).iterations > 0


@functools.cache
def subset_sum() -> gumdp.Problem:
    return gumdp.zoo.load("subset-sum", numbers=[4, 9, 14, 6, 17, 10, 3, 12, 5], target=41)


def test_nine_numbers_are_solved_and_proved():
    """The cost is never below 0, so that a plan of cost 0 is a proof."""
    for seed in range(10):
        trial = gumdp.run_trial(subset_sum(), MCTS(400, **SAFE), seed=seed)
        assert trial.value == pytest.approx(0.0, abs=1e-9)
        assert any(decision.proved for decision in trial.decisions)


# --- plans ---


def cart() -> gumdp.Problem:
    return gumdp.zoo.load("cartpole-coverage", bins=8, horizon=80)


@pytest.mark.slow
def test_a_trial_ends_no_worse_than_any_plan_that_was_kept():
    """With full commitment the value of the plan never rises, and the last one is what the trial is worth."""
    for seed in range(3):
        trial = gumdp.run_trial(cart(), MCTS(100, **{**SAFE, "commitment": 0.0}), seed=seed)
        plans = [decision.plan for decision in trial.decisions]
        assert all(after <= before + 1e-12 for before, after in itertools.pairwise(plans))
        assert trial.value == pytest.approx(plans[-1], abs=1e-12)
        assert plans[-1] < plans[0]


@pytest.mark.slow
def test_commitment_gains_where_plans_are_hard_to_find_again():
    free, bound = (
        gumdp.evaluate(cart(), MCTS(100, **{**SAFE, "commitment": c}), trials=20, seed=1).values
        for c in (math.inf, 0.0)
    )
    gain = free - bound
    assert gain.mean() > 3.0 * gain.std(ddof=1) / math.sqrt(gain.size)


def test_a_plan_that_costs_the_same_takes_the_place_of_the_old_one_and_a_worse_one_does_not():
    """So variations wander about where many plans cost the same, as the coverage of boxes does."""
    problem = gumdp.zoo.load("m1-deterministic", horizon=3)
    plans, tree = new_incumbent(problem, 0.0, True, 0), new_tree(1, 2, 3)
    for actions, value in (((1, 0, 0), 0.5), ((1, 1, 0), 0.5), ((1, 1, 1), 0.6)):
        plans.log[:] = actions
        plans.keep(tree, np.uint64(0), np.uint64(3), value)
    assert plans.plans[3:].tolist() == [1, 1, 0]
    assert plans.best.tolist() == [math.inf, 0.5]
    assert plans.gains[0] == 1.0  # one improvement: the first plan


@pytest.mark.parametrize("k", range(6))
def test_no_iteration_varies_a_plan_where_there_are_enough_to_try_all_plans(k):
    """One for each edge of the tree of plans, 3 + 9 + 27 + 81, proves the best of the 81."""
    rng = np.random.default_rng(k)
    model = gumdp.Tabular(np.eye(3)[rng.integers(0, 3, size=(3, 3))])
    problem = gumdp.Problem(model, wave, float(rng.choice([0.8, 1.0])), 4)
    values = []
    for plan in itertools.product(range(3), repeat=4):
        s, occupancy = 0, np.zeros((3, 3))
        for a, w in zip(plan, problem.weights, strict=True):
            occupancy[s, a] += w
            s = int(model.row(s, a)[0][0])
        values.append(wave(occupancy))
    decision = MCTS(3 + 9 + 27 + 81, **{**SAFE, "commitment": 0.0}).start(problem, seed=k).act(0)
    assert decision.proved
    assert decision.value == pytest.approx(min(values), abs=1e-9)


def test_where_there_is_chance_there_are_no_plans():
    decision = MCTS(40, **{**SAFE, "commitment": 0.0}).start(gumdp.zoo.load("m1-entropy")).act(0)
    assert decision.plan is None


# --- decisions one at a time, and in whole trials; budgets of a trial ---


WAYS = [{"iterations": 60}, {"trial_iterations": 900}, {"iterations": 60, "commitment": 0.0}]


@pytest.mark.slow
@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("name", ["m1-entropy", "m1-deterministic"])
def test_a_trial_played_step_by_step_is_that_of_an_evaluation(name, options):
    problem = gumdp.zoo.load(name, horizon=12)
    planner = MCTS(**{**SAFE, **options})
    whole = gumdp.evaluate(problem, planner, trials=3, seed=4).values
    single = [gumdp.run_trial(problem, planner, seed=4, trial=k).value for k in range(3)]
    assert whole.tolist() == single


def test_the_iterations_of_a_trial_go_where_the_weight_is():
    """As the root of the weight that is left; a choice by value is not settled before its iterations are used up."""
    problem = gumdp.zoo.load("m1-entropy", horizon=40)
    trial = gumdp.run_trial(problem, MCTS(trial_iterations=4000, choice="value", **SAFE), seed=0)
    counts = np.array([decision.iterations for decision in trial.decisions])
    stakes = np.sqrt(np.cumsum(problem.weights[::-1])[::-1])
    assert counts[:30] == pytest.approx(4000 * stakes[:30] / stakes.sum(), abs=2.0)


def test_a_decision_that_is_settled_leaves_its_iterations_to_the_others():
    problem = gumdp.zoo.load("m1-entropy", horizon=40)
    trial = gumdp.run_trial(problem, MCTS(trial_iterations=4000, **SAFE), seed=0)
    counts = np.array([decision.iterations for decision in trial.decisions])
    stakes = np.sqrt(np.cumsum(problem.weights[::-1])[::-1])
    assert counts[0] < 4000 * stakes[0] / stakes.sum() - 1.0
    assert counts[20:35].sum() > 4000 * stakes[20:35].sum() / stakes.sum()
    assert counts.sum() <= 4000 + problem.steps


def test_the_time_of_a_trial_is_kept():
    problem = gumdp.zoo.load("m1-entropy", horizon=20)
    planner = MCTS(trial_time=0.3, **SAFE)
    gumdp.run_trial(problem, planner)
    trial = gumdp.run_trial(problem, planner)
    assert in_time(sum(decision.seconds for decision in trial.decisions), 0.36)
    assert sum(decision.iterations for decision in trial.decisions) > 100


def test_budgets_of_a_decision_and_of_a_trial_exclude_each_other():
    with pytest.raises(GumdpError, match="give one kind"):
        MCTS(100, trial_time=1.0)
    with pytest.raises(GumdpError, match="trial_iterations"):
        MCTS(trial_time=0.0)
    assert repr(MCTS(trial_iterations=500)) == "MCTS(trial_iterations=500)"


@pytest.mark.parametrize(
    ("option", "value"),
    [("bonus", "linear"), ("backup", "max"), ("commitment", -1.0), ("solve", 1), ("trial_time", -1)],
)
def test_bad_options_are_named(option, value):
    with pytest.raises(GumdpError, match=option):
        MCTS(**{option: value})


# --- convergence where the cost is not convex ---


def test_the_good_path_that_looks_bad_is_found():
    """A needle: means point away from it. Three thousand iterations find it; the former search stays far from it."""
    table = np.random.default_rng(1).dirichlet(np.ones(2), size=(2, 3))
    problem = gumdp.Problem(gumdp.Tabular(table), needle, 1.0, 5)
    optimum = gumdp.solve_exact(problem).value
    ours = gumdp.evaluate(problem, MCTS(3000, **SAFE), trials=200, seed=0)
    former = gumdp.evaluate(
        problem, MCTS(3000, bonus="logarithmic", backup="mean", solve=False, **SAFE), trials=200, seed=0
    )
    assert ours.mean <= optimum + 3.0 * ours.standard_error
    assert former.mean > optimum + 0.3


def needle(d):
    return np.sin(5.0 * d[0, 0]) + d[1, 2] ** 2


def eighths(z):
    return (z[0] - 0.5) ** 2 - np.floor(2.0 * z[1]) / 4.0


def rewarded(k: int, discount: float) -> tuple[gumdp.Problem, np.ndarray, np.ndarray]:
    """Two amounts, in eighths, that depend on where a step leads, the last one too."""
    rng = np.random.default_rng(700 + k)
    table, phi = rng.dirichlet([0.7, 0.7], size=(2, 2)), rng.integers(0, 9, size=(2, 2, 2, 2)) / 8.0
    counts = gumdp.Features(phi, names=["fish", "wood"])
    return gumdp.Problem(gumdp.Tabular(table), eighths, discount, 3, counts=counts, scale="sum"), table, phi


def least_by_hand(table, phi, weights, t=0, s=0, z=(0.0, 0.0)) -> float:
    if t == len(weights):
        return float(eighths(np.array(z)))
    return min(
        sum(
            table[s, a, n] * least_by_hand(table, phi, weights, t + 1, n, z + weights[t] * phi[s, a, n]) for n in (0, 1)
        )
        for a in (0, 1)
    )


@pytest.mark.parametrize("k", range(6))
def test_amounts_that_depend_on_the_next_state_are_proved_too(k):
    """Every sequence of 3 actions and outcomes, by hand; the search has a budget of as many."""
    discount = 1.0 if k % 2 else 0.75
    problem, table, phi = rewarded(k, discount)
    decision = MCTS(8 + 64 + 2 * 512, **SAFE).start(problem, seed=k).act(0)
    assert decision.proved
    assert decision.value == pytest.approx(least_by_hand(table, phi, discount ** np.arange(3)), abs=1e-12)
