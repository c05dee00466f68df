"""The exact solver against brute force that shares nothing with it: no merging, no kernels, no occupancy MDP."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import gumdp

COSTS = np.random.default_rng(99).uniform(0.0, 1.0, size=(3, 2, 2))
TARGET = np.array([[0.1, 0.4], [0.3, 0.2]])


class Peak(gumdp.Objective):
    """All that a user must write."""

    def value(self, d):
        return float(d.max())


OBJECTIVES = {
    "Chance": gumdp.Chance(gumdp.Entropy(), -0.5),  # an example of every kind, for occupancies of shape (2, 2)
    "Constrained": gumdp.Constrained(COSTS[0], COSTS[1:], budgets=[0.3, 0.4], penalty=5.0),
    "Entropy": gumdp.Entropy(),
    "GroupEntropy": gumdp.GroupEntropy([[0, 1], [1, 0]]),
    "Ratio": gumdp.Ratio(COSTS[0], [[1.0, 0.0], [1.0, 2.0]], empty=0.5),
    "Function": gumdp.Function(lambda d: (d[0, 0] - 0.3) ** 2 + abs(d[1, 1] - 0.2)),
    "Imitation": gumdp.Imitation(TARGET),
    "KLImitation": gumdp.KLImitation(TARGET),
    "Linear": gumdp.Linear(COSTS[0]),
    "MeanVariance": gumdp.MeanVariance(COSTS[0], 2.0),
    "Objective": Peak(),
    "Quadratic": gumdp.Quadratic(np.cov(COSTS.reshape(3, 4).T)),
    "Quadratic.of_states": gumdp.Quadratic.of_states([1.0, 3.0]),
    "Quadratic.residual": gumdp.Quadratic.residual(COSTS[0], 0.4),
    "StateEntropy": gumdp.StateEntropy(),
    "Target": gumdp.Target(COSTS[0], budget=0.43217),
    "WorstCase": gumdp.WorstCase(COSTS),
    "entropic": gumdp.entropic(gumdp.Linear(COSTS[1]), 2.0),
    "normalized": gumdp.normalized(gumdp.Entropy()),
    "scaled sum": 0.5 * gumdp.Entropy() + gumdp.StateEntropy(),
    "sum with a function": gumdp.Entropy() + gumdp.Function(lambda d: d.max()),
}


def random_model(seed, states=2, actions=2, masked=False, deterministic=False):
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    if deterministic:
        transitions = np.eye(states)[transitions.argmax(axis=2)]
    available = None
    if masked:
        available = np.ones((states, actions), bool)
        available[0, 1] = False
    return gumdp.Tabular(transitions, rng.dirichlet(np.ones(states)), available=available)


def record(problem, visits):
    """f of the occupancy of a whole trial, from the definition."""
    gamma, horizon = problem.discount, problem.horizon
    d = np.zeros(problem.shape)
    for t, pair in enumerate(visits):
        d[pair] += gamma ** (t % horizon)
    return problem.objective.value(d / d.sum())


def successors(problem, visits):
    """The distribution [S] of the next state after some visits; None if the trial is over."""
    if len(visits) == problem.steps:
        return None
    if len(visits) % problem.horizon == 0:
        return problem.model.start
    return problem.model.dense()[visits[-1]]


def choices(problem, s):
    mask = problem.model.available
    return [a for a in range(problem.shape[1]) if mask is None or mask[s, a]]


def best_over_histories(problem, visits=()):
    """The optimum by recursion over histories, none of which are merged."""
    chances = successors(problem, visits)
    if chances is None:
        return record(problem, visits)
    return sum(
        p * min(best_over_histories(problem, (*visits, (s, a))) for a in choices(problem, s))
        for s, p in enumerate(chances)
        if p > 0.0
    )


def every_policy(problem, visits=()):
    """Every deterministic history-dependent policy: the value of each, one after the other."""
    chances = successors(problem, visits)
    if chances is None:
        yield record(problem, visits)
        return
    # a policy below this history is, for each next state, an action and a policy below that
    below = [
        [p * value for a in choices(problem, s) for value in every_policy(problem, (*visits, (s, a)))]
        for s, p in enumerate(chances)
        if p > 0.0
    ]
    for combination in itertools.product(*below):
        yield sum(combination)


def test_no_objective_is_forgotten():
    public = [getattr(gumdp, name) for name in gumdp.__all__]
    kinds = {x.__name__ for x in public if isinstance(x, type) and issubclass(x, gumdp.Objective)}
    of_totals = {name for name in kinds if getattr(gumdp, name).maximises} | {"Utility"}
    assert kinds - of_totals <= set(OBJECTIVES)


@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_optimum_is_that_over_all_histories(name):
    for seed, discount, horizon, episodes in ((0, 0.7, 3, 1), (1, 1.0, 3, 1), (2, 0.7, 2, 2), (3, 1.0, 2, 2)):
        problem = gumdp.Problem(random_model(seed), OBJECTIVES[name], discount, horizon, episodes)
        assert gumdp.solve_exact(problem).value == pytest.approx(best_over_histories(problem), abs=1e-12)


@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
@pytest.mark.parametrize("name", OBJECTIVES)
def test_no_deterministic_policy_is_better_and_one_is_as_good(name):
    for seed, discount, horizon, episodes in ((4, 0.6, 2, 1), (5, 1.0, 2, 1), (6, 0.6, 1, 2), (7, 1.0, 1, 2)):
        problem = gumdp.Problem(random_model(seed), OBJECTIVES[name], discount, horizon, episodes)
        values = list(every_policy(problem))
        assert len(values) == 64  # two starts, each with 2 actions and then 2 · 2 for the next two states
        assert gumdp.solve_exact(problem).value == pytest.approx(min(values), abs=1e-12)


def test_every_policy_is_enumerated_over_three_steps():
    problem = gumdp.Problem(gumdp.Tabular(random_model(8).dense(), start=0), OBJECTIVES["Entropy"], 0.8, 3)
    values = list(every_policy(problem))
    assert len(values) == 128
    assert gumdp.solve_exact(problem).value == pytest.approx(min(values), abs=1e-12)


@pytest.mark.parametrize("episodes", [1, 2])
@pytest.mark.parametrize("discount", [0.5, 1.0])
def test_masks_and_larger_models_are_respected(discount, episodes):
    model = random_model(9, states=3, masked=True)
    problem = gumdp.Problem(model, gumdp.Entropy(), discount, horizon=2, episodes=episodes)
    solution = gumdp.solve_exact(problem)
    assert solution.value == pytest.approx(best_over_histories(problem), abs=1e-12)
    trial = gumdp.run_trial(problem, solution.planner, seed=0)
    assert trial.occupancy[0, 1] == 0.0


def test_the_golden_ratio_does_no_harm():
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    problem = gumdp.Problem(random_model(10), gumdp.Imitation(TARGET), golden, horizon=4)
    assert gumdp.solve_exact(problem).value == pytest.approx(best_over_histories(problem), abs=1e-12)


def test_the_occupancy_mdp_backs_up_to_the_same_value():
    problem = gumdp.Problem(random_model(11), gumdp.Entropy(), 0.9, horizon=2, episodes=2)
    process = gumdp.theory.OccupancyMDP(problem)

    def optimal(state):
        return process.backup(state, optimal)

    assert gumdp.solve_exact(problem).value == pytest.approx(sum(p * optimal(s) for p, s in process.initial()))


@pytest.mark.parametrize("discount", [0.8, 1.0])
def test_a_linear_objective_is_ordinary_dynamic_programming(discount):
    model = random_model(12, states=3)
    costs = np.random.default_rng(0).normal(size=(3, 2))
    problem = gumdp.Problem(model, gumdp.Linear(costs), discount, horizon=6)
    weights = discount ** np.arange(6)
    v = np.zeros(3)
    policy = np.zeros((6, 3, 2))
    for t in range(5, -1, -1):
        q = weights[t] / weights.sum() * costs + model.dense() @ v
        policy[t] = np.eye(2)[q.argmin(axis=1)]
        v = q.min(axis=1)
    optimum = gumdp.solve_exact(problem).value
    assert optimum == pytest.approx(model.start @ v, abs=1e-12)
    assert gumdp.exact_value(problem, policy) == pytest.approx(optimum, abs=1e-12)
    assert gumdp.infinite_trials_value(problem, policy) == pytest.approx(optimum, abs=1e-12)


def test_without_discounting_the_size_is_a_polynomial_of_the_horizon():
    problem = gumdp.zoo.load("m1-entropy", discount=1.0, horizon=12)
    sizes = gumdp.solve_exact(problem).sizes
    for t, size in enumerate(sizes):
        assert size <= 3 * math.comb(t + 5, 5)  # t visits shared out to 6 pairs, and the state
    discounted = gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=6)).sizes
    assert discounted.tolist() == [6**t for t in range(6)]  # 2 actions, 3 successors


def test_episodes_merge_whichever_comes_first():
    problem = gumdp.Problem(gumdp.Tabular(np.ones((1, 3, 1))), gumdp.Entropy(), 0.9, horizon=2, episodes=2)
    # one state, three actions: after each episode, and within the second, pairs of actions of the same weight
    assert gumdp.solve_exact(problem).sizes.tolist() == [1, 3, 9, 6 * 3]


def test_counts_and_lists_of_visits_give_the_same():
    # 4 steps are fewer than 10 pairs, 12 are more: the two ways to write an occupancy down
    model = random_model(13, states=5)
    for horizon in (2, 4, 5):
        once = gumdp.solve_exact(gumdp.Problem(model, gumdp.Entropy(), 1.0, horizon)).value
        nearly = gumdp.solve_exact(gumdp.Problem(model, gumdp.Entropy(), 1.0 - 1e-12, horizon)).value
        assert once == pytest.approx(nearly, abs=1e-9)
    single = gumdp.Problem(random_model(14), gumdp.Entropy(), 1.0, horizon=8)
    nearly = gumdp.Problem(single.model, gumdp.Entropy(), 1.0 - 1e-12, horizon=8)
    assert gumdp.solve_exact(single).value == pytest.approx(gumdp.solve_exact(nearly).value, abs=1e-9)


def test_imitation_over_four_steps_has_the_known_optimum():
    problem = gumdp.zoo.load("m2-imitation", horizon=4)
    value = gumdp.solve_exact(problem).value
    assert value == pytest.approx(0.02786, abs=5e-6)
    assert value == pytest.approx(best_over_histories(problem), abs=1e-12)


@pytest.mark.parametrize("episodes, discount", [(1, 0.9), (2, 1.0)])
def test_the_optimal_policy_attains_its_value(episodes, discount):
    problem = gumdp.Problem(random_model(15, states=3), gumdp.Entropy(), discount, horizon=4, episodes=episodes)
    solution = gumdp.solve_exact(problem)
    result = gumdp.evaluate(problem, solution.planner, trials=1000, seed=0, workers=1)
    assert abs(result.mean - solution.value) < 4 * result.standard_error
    assert gumdp.evaluate(problem, gumdp.Exact(), trials=20, seed=0, workers=2).values.tolist() == (
        result.values[:20].tolist()
    )


def test_a_decision_says_what_each_action_is_worth():
    problem = gumdp.Problem(random_model(16, masked=True), gumdp.Entropy(), 0.9, horizon=3)
    policy = gumdp.Exact().start(problem)
    decision = policy.act(0)
    assert np.isnan(decision.values[1])
    expected = sum(p * min(
        best_over_histories(problem, ((0, 0), (s, a))) for a in choices(problem, s)
    ) for s, p in enumerate(problem.model.dense()[0, 0]))  # fmt: skip
    assert decision.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("episodes", [1, 2])
def test_the_policy_stays_optimal_after_what_it_would_not_have_done(episodes):
    problem = gumdp.Problem(random_model(17), gumdp.Entropy(), 0.8, horizon=2, episodes=episodes)
    for actions in itertools.product(range(2), repeat=problem.steps - 1):
        policy = gumdp.Exact().start(problem)
        visits = ()
        for a in actions:
            policy.act(1)
            policy.tell(a)
            visits = (*visits, (1, a))
        decision = policy.act(0)
        rest = [best_over_histories(problem, (*visits, (0, a))) for a in range(2)]
        assert decision.values == pytest.approx(rest, abs=1e-12)
        assert decision.action == int(np.argmin(rest))


def test_the_planner_solves_once_and_travels_light(monkeypatch):
    problem = gumdp.Problem(random_model(18), gumdp.Entropy(), 0.8, horizon=3)
    planner = gumdp.solve_exact(problem).planner
    assert planner.solve(problem) is planner.solve(problem)
    assert repr(pickle.loads(pickle.dumps(gumdp.Exact(limit=7)))) == "Exact(limit=7)"
    assert repr(gumdp.Exact()) == "Exact()"


@pytest.mark.parametrize("discount, episodes", [(0.8, 1), (1.0, 1), (0.8, 2), (1.0, 2)])
def test_a_policy_is_worth_its_mean_over_all_histories(discount, episodes):
    problem = gumdp.Problem(random_model(19, masked=True), gumdp.Entropy(), discount, 2, episodes)
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(2), size=(2, 2))
    tables[:, 0] = [1.0, 0.0]

    def value(policy, visits=()):
        chances = successors(problem, visits)
        if chances is None:
            return record(problem, visits)
        h = len(visits) % problem.horizon
        return sum(
            p * policy[h, s, a] * value(policy, (*visits, (s, a))) for s, p in enumerate(chances) for a in range(2)
        )

    stationary = np.stack([tables[0]] * 2)
    uniform = np.array([[[1.0, 0.0], [0.5, 0.5]]] * 2)
    for policy, table in (
        (tables, tables), (gumdp.Markov(tables), tables), (tables[0], stationary),
        (gumdp.Stationary(tables[0]), stationary), (gumdp.Random(), uniform),
    ):  # fmt: skip
        assert gumdp.exact_value(problem, policy) == pytest.approx(value(table), abs=1e-12)
    by_history = gumdp.NonMarkov(lambda states, actions: tables[len(actions) % 2][states[-1]])
    assert gumdp.exact_value(problem, by_history) == pytest.approx(value(tables), abs=1e-12)
    assert gumdp.exact_value(problem, by_history.rule) == pytest.approx(value(tables), abs=1e-12)


def test_the_optimal_policy_written_as_a_rule_is_worth_the_optimum():
    problem = gumdp.Problem(random_model(20), gumdp.Entropy(), 0.8, horizon=3)
    solution = gumdp.solve_exact(problem)

    def rule(states, actions):
        policy = solution.planner.start(problem)
        for s, a in zip(states, actions, strict=False):
            policy.act(s)
            policy.tell(a)
        return policy.act(states[-1]).action

    assert gumdp.exact_value(problem, rule) == pytest.approx(solution.value, abs=1e-12)
    assert gumdp.exact_value(problem, solution.planner) == solution.value


@pytest.mark.parametrize("name", [name for name, f in OBJECTIVES.items() if f.convex])
def test_one_trial_costs_no_less_than_infinitely_many_where_f_is_convex(name):
    policy = np.random.default_rng(1).dirichlet(np.ones(2), size=2)
    problem = gumdp.Problem(random_model(21), OBJECTIVES[name], 0.9, horizon=4)
    assert gumdp.exact_value(problem, policy) >= gumdp.infinite_trials_value(problem, policy) - 1e-12
    assert gumdp.infinite_trials_value(problem, policy, truncated=False) == pytest.approx(
        problem.value(gumdp.occupancy.expected_occupancy(problem.model, policy, 0.9)), abs=1e-12
    )


def test_a_rule_plays_trials_and_draws_from_what_it_returns():
    problem = gumdp.Problem(random_model(22), gumdp.Linear([[0.0, 1.0], [0.0, 1.0]]), 1.0, horizon=1)
    result = gumdp.evaluate(problem, gumdp.NonMarkov(lambda states, actions: [0.25, 0.75]), trials=1000, seed=0)
    assert abs(result.mean - 0.75) < 4 * math.sqrt(0.25 * 0.75 / 1000)


def test_an_objective_that_fails_somewhere_is_reported():
    def moody(d):
        return math.nan if d[0, 0] == 1.0 else d[0, 0]

    problem = gumdp.Problem(gumdp.Tabular(np.ones((1, 2, 1))), gumdp.Function(moody), 0.9, horizon=2)
    with pytest.raises(gumdp.GumdpError, match="moody is nan; it must be finite"):
        gumdp.solve_exact(problem)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: gumdp.solve_exact(gumdp.zoo.load("m1-entropy")), r"1.31e\+77 states.*raise limit"),
        (lambda: gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=3), limit=42), "43 states.*limit allows 42"),
        (lambda: gumdp.solve_exact(gumdp.zoo.load("m1-entropy", discount=1.0), limit=1000), "between 1,000 and"),
        (lambda: gumdp.solve_exact(gumdp.zoo.load("m1-entropy"), limit=0), "limit"),
        (lambda: gumdp.solve_exact(gumdp.zoo.load("theorem1", discount=1.0, horizon=1), limit=1), "between 1 and 2"),
        (lambda: gumdp.solve_exact(gumdp.zoo.load("theorem1", discount=1.0, horizon=3), limit=1), "between 1 and"),
        (lambda: gumdp.Exact(limit="many"), "limit"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy"), gumdp.Random()), "exact_value.*raise limit"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy"), lambda s, a: 0, limit=10), "more than 10 histories"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy", horizon=2), gumdp.Greedy()), "Random"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy", horizon=2), np.ones((3, 2))), "sums to 2"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy", horizon=2), lambda s, a: 2), "there are 2"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy", horizon=2), lambda s, a: "left"), "distribution"),
        (lambda: gumdp.exact_value(gumdp.zoo.load("m1-entropy", horizon=2), lambda s, a: [0.5, 0.6]), "distribution"),
        (lambda: gumdp.infinite_trials_value(gumdp.zoo.load("m1-entropy"), gumdp.Exact()), "Stationary"),
        (lambda: gumdp.NonMarkov(3), "rule must be a function"),
        (lambda: gumdp.solve_exact("m1-entropy"), "problem must be a gumdp.Problem, not str"),
        (lambda: gumdp.theory.OccupancyMDP(None), "problem must be a gumdp.Problem, not NoneType"),
        (lambda: gumdp.exact_value(3, gumdp.Random()), "problem must be a gumdp.Problem, not int"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(gumdp.GumdpError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_states_that_cannot_be_are_not_played_on_from():
    problem = gumdp.Problem(random_model(0, deterministic=True), gumdp.Entropy(), 0.9, horizon=3)
    policy = gumdp.Exact().start(problem)
    decision = policy.act(0)
    impossible = int(problem.model.dense()[0, decision.action].argmin())
    with pytest.raises(gumdp.GumdpError, match=f"state {impossible} can't follow"):
        policy.act(impossible)
    started = gumdp.Problem(gumdp.Tabular(random_model(0).dense(), start=0), gumdp.Entropy(), 0.9, horizon=3)
    with pytest.raises(gumdp.GumdpError, match="state 1 can't be the first"):
        gumdp.Exact().start(started).act(1)
