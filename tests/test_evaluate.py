"""Trials and evaluations: reproducible, complete, and with the statistics that they say."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import gumdp
from gumdp import statistics
from gumdp.errors import GumdpError
from gumdp.occupancy import empirical_occupancy, expected_occupancy
from gumdp.results import Evaluation
from gumdp.seeding import streams

# --- randomness ---


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**64 + 17, 2**200 + 3])
@pytest.mark.parametrize("first", [0, 5, 2**31])
def test_streams_are_numpy_s_spawned_seed_sequences(seed: int, first: int) -> None:
    rows = [np.random.SeedSequence(seed, spawn_key=(k,)).generate_state(2, np.uint64) for k in range(first, first + 3)]
    assert np.array_equal(streams(seed, 3, first), rows)


def test_trials_have_streams_of_their_own() -> None:
    states = np.concatenate([streams(0, 100_000), streams(1, 100_000)])
    assert np.unique(states).size == states.size


def test_a_seed_has_so_many_trials_and_no_more() -> None:
    with pytest.raises(GumdpError, match="trial 4294967295 is not among them"):
        streams(0, 1, 2**32 - 1)


PLANNERS = [gumdp.Random(), gumdp.Greedy(0.2), gumdp.MCTS(iterations=20)]


@pytest.mark.thorough
@pytest.mark.parametrize("planner", PLANNERS, ids=repr)
def test_the_number_of_workers_changes_nothing(planner) -> None:
    problem = gumdp.zoo.load("m1-entropy")
    one, two = (gumdp.evaluate(problem, planner, trials=30, seed=7, workers=w).values for w in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.thorough
@pytest.mark.parametrize("planner", PLANNERS, ids=repr)
def test_a_trial_of_an_evaluation_can_be_played_again(planner) -> None:
    problem = gumdp.zoo.load("m1-entropy")
    values = gumdp.evaluate(problem, planner, trials=4, seed=7).values
    assert [gumdp.run_trial(problem, planner, seed=7, trial=k).value for k in range(4)] == values.tolist()


def test_more_trials_continue_the_same_sequence() -> None:
    problem = gumdp.zoo.load("m1-entropy")
    few, many = (gumdp.evaluate(problem, gumdp.Random(), trials=n, seed=1).values for n in (10, 10_000))
    assert np.array_equal(few, many[:10])


@pytest.mark.thorough
def test_two_interpreters_get_the_same_bits() -> None:
    code = (
        "import gumdp, json; problem = gumdp.zoo.load('m1-entropy')\n"
        "print(json.dumps([[v.hex() for v in gumdp.evaluate(problem, p, trials=5, seed=3, workers=%d).values.tolist()]"
        " for p in (gumdp.Random(), gumdp.Greedy(0.2), gumdp.MCTS(iterations=20))]))"
    )
    answers = [
        subprocess.run([sys.executable, "-c", code % workers], capture_output=True, text=True, check=True).stdout
        for workers in (1, 2)
    ]
    assert answers[0] == answers[1]
    assert len(json.loads(answers[0])) == 3


def test_different_seeds_give_different_trials() -> None:
    problem = gumdp.zoo.load("m1-entropy")
    assert gumdp.run_trial(problem, gumdp.Random(), 0).value != gumdp.run_trial(problem, gumdp.Random(), 1).value


def test_compiled_trials_are_the_interpreted_ones_bit_for_bit() -> None:
    """``evaluate`` plays whole trials in one kernel, ``run_trial`` a step at a time; episodes start afresh in both."""
    problem = gumdp.Problem(gumdp.zoo.load("m1-entropy").model, gumdp.Entropy(), 0.8, horizon=7, episodes=3)
    values = gumdp.evaluate(problem, gumdp.Random(), trials=5, seed=2).values
    trials = [gumdp.run_trial(problem, gumdp.Random(), seed=2, trial=k) for k in range(5)]
    assert [t.value for t in trials] == values.tolist()
    assert all(t.states[7 * k] == 0 for t in trials for k in range(3))


# --- occupancies of trials ---


def by_hand(trial, shape: tuple[int, int], discount: float, horizon: int, episodes: int) -> np.ndarray:
    d = np.zeros(shape)
    for t, (s, a) in enumerate(zip(trial.states, trial.actions, strict=True)):
        d[s, a] += discount ** (t % horizon)
    return d / (sum(discount**t for t in range(horizon)) * episodes)


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("episodes", [1, 3])
def test_the_occupancy_is_that_of_the_trajectory(discount: float, episodes: int) -> None:
    model = gumdp.zoo.load("m1-entropy").model
    problem = gumdp.Problem(model, gumdp.Entropy(), discount, horizon=12, episodes=episodes)
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=5)
    expected = by_hand(trial, (3, 2), discount, 12, episodes)
    assert trial.occupancy == pytest.approx(expected, abs=1e-14)
    assert trial.occupancy.sum() == pytest.approx(1.0, abs=1e-14)
    assert trial.value == pytest.approx(np.sum(expected[expected > 0] * np.log(expected[expected > 0])), abs=1e-13)
    assert np.allclose(empirical_occupancy(trial.states, trial.actions, (3, 2), discount, episodes), expected)


def test_the_last_action_counts() -> None:
    """With a horizon of one step the only action is the last: it alone is scored."""
    model = gumdp.Tabular([[[1.0], [1.0]]])
    problem = gumdp.Problem(model, gumdp.Linear([[0.0, 1.0]]), 0.9, horizon=1)
    for probability in ([1.0, 0.0], [0.0, 1.0]):
        trial = gumdp.run_trial(problem, gumdp.Stationary([probability]))
        assert trial.value == probability[1]
        assert trial.occupancy.tolist() == [probability]


def test_the_mean_occupancy_is_the_expected_one() -> None:
    """Linear costs pick out one entry of the occupancy: its mean over trials, within 4 standard errors."""
    model = gumdp.zoo.load("m1-entropy").model
    policy = np.array([[0.3, 0.7], [0.5, 0.5], [0.9, 0.1]])
    exact = expected_occupancy(model, policy, 0.9, horizon=20)
    for s, a in np.ndindex(3, 2):
        costs = np.zeros((3, 2))
        costs[s, a] = 1.0
        problem = gumdp.Problem(model, gumdp.Linear(costs), 0.9, horizon=20)
        result = gumdp.evaluate(problem, gumdp.Stationary(policy), trials=4000, seed=s * 2 + a)
        assert abs(result.mean - exact[s, a]) < 4 * result.standard_error


def test_convex_costs_are_higher_for_one_run_than_on_average() -> None:
    """Jensen: F_1 ≥ F_∞ for a convex objective, here by far more than chance allows."""
    problem = gumdp.zoo.load("m1-entropy")
    policy = np.full((3, 2), 0.5)
    on_average = problem.value(expected_occupancy(problem.model, policy, 0.9, horizon=100))
    result = gumdp.evaluate(problem, gumdp.Stationary(policy), trials=2000, seed=0)
    assert result.mean - 4 * result.standard_error > on_average


# --- published values ---


@pytest.mark.parametrize(
    ("setting", "table", "interval"),
    [("m1-entropy", 0.12, 0.04), ("m2-imitation", 0.05, 0.02), ("m3-adversarial", 1.23, 0.02)],
)
def test_the_random_policy_agrees_with_table_1(setting: str, table: float, interval: float) -> None:
    """The paper's means of few runs with their 90 % intervals, which the mean of 10 000 runs falls into."""
    result = gumdp.evaluate(gumdp.zoo.load(setting), gumdp.Random(), trials=10_000, seed=0)
    assert table - interval < result.mean < table + interval


# --- statistics, against their definitions ---

VALUES = np.random.default_rng(5).gamma(2.0, size=40)


def test_the_percentile_interval_is_that_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(1)
    means = np.sort([rng.choice(VALUES, VALUES.size).mean() for _ in range(20_000)])
    low, high = statistics.bootstrap(VALUES, 0.9)
    # The quantile of 20 000 resamples is known within 4 standard errors √(p(1-p)/n)/density; take the density from
    # the resamples themselves, and allow for the same error in the 25 000 of the function under test.
    for end, p in ((low, 0.05), (high, 0.95)):
        share = 4 * np.sqrt(p * (1 - p) * (1 / 20_000 + 1 / 25_000))
        nearby = means[[int((p - share) * 20_000), min(19_999, int((p + share) * 20_000))]]
        assert nearby[0] <= end <= nearby[1]


def test_bca_is_shifted_towards_the_long_tail() -> None:
    percentile, bca = statistics.bootstrap(VALUES), statistics.bootstrap(VALUES, method="bca")
    assert bca[0] > percentile[0]
    assert bca[1] > percentile[1]
    assert bca == pytest.approx(percentile, rel=0.1)


def test_the_same_values_have_the_same_interval() -> None:
    assert statistics.bootstrap(VALUES) == statistics.bootstrap(VALUES.copy())


def test_one_value_has_an_interval_of_no_length() -> None:
    assert statistics.bootstrap([2.5]) == (2.5, 2.5)


@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 0.975])
def test_cvar_is_the_least_of_its_variational_formula(level: float) -> None:
    """CVaR = min over v of v + E[(x - v)+]/(1 - level), by Rockafellar and Uryasev; one of the values attains it."""
    formula = min(v + np.maximum(VALUES - v, 0.0).mean() / (1.0 - level) for v in VALUES)
    assert statistics.cvar(VALUES, level) == pytest.approx(formula, rel=1e-12)


def test_cvar_at_one_is_the_worst_value() -> None:
    assert statistics.cvar(VALUES, 1.0) == VALUES.max()


@pytest.mark.parametrize("beta", [-1.0, 0.5, 3.0, 1000.0])
def test_entropic_risk_is_its_definition(beta: float) -> None:
    shifted = VALUES - (VALUES.max() if beta > 0 else VALUES.min())
    direct = np.log(np.mean(np.exp(beta * shifted))) / beta + (VALUES - shifted)[0]
    assert statistics.entropic_risk(VALUES, beta) == pytest.approx(direct, rel=1e-12)


def test_entropic_risk_without_aversion_is_the_mean() -> None:
    assert statistics.entropic_risk(VALUES, 0.0) == VALUES.mean()
    assert statistics.entropic_risk(VALUES, 1e-9) == pytest.approx(VALUES.mean(), rel=1e-6)


def test_an_evaluation_has_all_of_them() -> None:
    result = Evaluation(VALUES, "planner", "problem", seed=0, seconds=1.0)
    assert result.mean == VALUES.mean()
    assert result.standard_error == pytest.approx(np.sqrt(np.sum((VALUES - VALUES.mean()) ** 2) / 39 / 40))
    assert result.quantile(0.25) == np.quantile(VALUES, 0.25)
    assert result.ci(0.9) == statistics.bootstrap(VALUES, 0.9)
    assert result.cvar(0.9) == statistics.cvar(VALUES, 0.9)
    assert result.entropic_risk(2.0) == statistics.entropic_risk(VALUES, 2.0)
    assert result.certainty_equivalent == result.mean
    assert str(result).startswith("planner on problem: mean")


def test_an_entropic_objective_is_reported_as_its_certainty_equivalent() -> None:
    inner = gumdp.zoo.load("m1-entropy")
    averse = gumdp.Problem(inner.model, gumdp.entropic(inner.objective, 2.0), 0.9, 100)
    plain = gumdp.evaluate(inner, gumdp.Random(), trials=50, seed=0)
    risky = gumdp.evaluate(averse, gumdp.Random(), trials=50, seed=0)
    assert risky.values == pytest.approx(np.exp(2.0 * plain.values), rel=1e-12)
    assert risky.certainty_equivalent == pytest.approx(plain.entropic_risk(2.0), rel=1e-12)


# --- while it runs ---


def test_progress_ends_with_all_trials_and_the_mean() -> None:
    seen = []
    result = gumdp.evaluate(
        gumdp.zoo.load("m1-entropy"), gumdp.Random(), trials=12_000, progress=lambda *report: seen.append(report)
    )
    assert [total for _, total, _ in seen] == [12_000] * len(seen)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert seen[-1][0] == 12_000
    assert seen[-1][2] == pytest.approx(result.mean)


def test_an_error_in_progress_stops_the_evaluation() -> None:
    def stop(*report: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gumdp.evaluate(gumdp.zoo.load("m1-entropy"), gumdp.Random(), trials=100_000, progress=stop)


def test_every_decision_is_reported() -> None:
    seen = []
    problem = gumdp.zoo.load("m1-entropy")
    trial = gumdp.run_trial(problem, gumdp.Greedy(), on_decision=lambda t, decision: seen.append((t, decision.action)))
    assert seen == list(enumerate(trial.actions.tolist()))


def test_people_can_run_their_own_loop() -> None:
    """A policy that is told something else was done counts that."""
    problem = gumdp.Problem(gumdp.Tabular([[[1.0], [1.0]]]), gumdp.Linear([[0.0, 1.0]]), 1.0, horizon=2)
    policy = gumdp.Stationary([[1.0, 0.0]]).start(problem)
    assert policy.act(0).action == 0
    policy.tell(1)
    policy.act(0)
    assert policy.occupancy.tolist() == [[0.5, 0.5]]
    assert policy.worth() == 0.5
    with pytest.raises(GumdpError, match="over after 2 steps"):
        policy.act(0)


def test_measures_are_what_their_functions_say_of_each_trial():
    problem = gumdp.zoo.load("m1-entropy", horizon=10)
    costs = np.arange(6.0).reshape(3, 2)
    measures = {"first": lambda d: d[0].sum(), "costs": costs, "entropy": gumdp.Entropy()}
    result = gumdp.evaluate(problem, gumdp.Random(), trials=12, seed=4, measures=measures, workers=2)
    plain = gumdp.evaluate(problem, gumdp.Random(), trials=12, seed=4)
    assert result.values.tolist() == plain.values.tolist()
    for k in range(12):
        d = gumdp.run_trial(problem, gumdp.Random(), seed=4, trial=k).occupancy
        assert result.measures["first"].values[k] == d[0].sum()
        assert result.measures["costs"].values[k] == pytest.approx(float((costs * d).sum()), rel=1e-12)
        assert result.measures["entropy"].values[k] == pytest.approx(gumdp.Entropy()(d), rel=1e-12)


@pytest.mark.parametrize(("kept", "trials"), [(0, 5), (3, 10), (10, 10)])
def test_the_interval_of_a_probability_is_clopper_and_pearsons(kept, trials):
    """By its definition: at the ends of the interval, what was seen or more extreme has just half of the error."""
    measure = gumdp.Measure("late", np.array([0.0] * kept + [1.0] * (trials - kept)))
    probability = measure.probability(0.5, level=0.9)
    low, high = probability.interval
    binomial = [math.comb(trials, j) for j in range(trials + 1)]

    def mass(p, counts):
        return sum(binomial[j] * p**j * (1.0 - p) ** (trials - j) for j in counts)

    assert probability.value == kept / trials
    assert low == 0.0 if kept == 0 else mass(low, range(kept, trials + 1)) == pytest.approx(0.05, rel=1e-6)
    assert high == 1.0 if kept == trials else mass(high, range(kept + 1)) == pytest.approx(0.05, rel=1e-6)


def test_the_parts_of_a_sum_add_up_to_its_value():
    late, idle = gumdp.Linear([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]).named("late"), gumdp.Entropy()
    m1 = gumdp.zoo.load("m1-entropy").model
    trial = gumdp.run_trial(gumdp.Problem(m1, 3.0 * late + idle, 0.9, 8), gumdp.Random(), seed=1)
    assert next(iter(trial.parts)) == "late"
    assert trial.parts["late"] == pytest.approx(3.0 * trial.occupancy[:, 1].sum(), rel=1e-12)
    assert sum(trial.parts.values()) == pytest.approx(trial.value, rel=1e-9)
    assert gumdp.run_trial(gumdp.Problem(m1, idle, 0.9, 8), gumdp.Random(), seed=1).parts == {}


def test_a_value_that_is_not_finite_is_an_error_in_one_trial_too():
    def cost(d):
        return np.inf if d[0, 0] > 0.9 else 0.0

    m1 = gumdp.zoo.load("m1-entropy").model
    problem = gumdp.Problem(m1, cost, 0.5, 1)
    with pytest.raises(gumdp.GumdpError, match="finite"):
        gumdp.run_trial(problem, gumdp.NonMarkov(lambda states, actions: 0), seed=0)


@pytest.mark.parametrize("measures", [3, {1: len}, {"a": "b"}, {"a": np.ones((2, 2))}])
def test_bad_measures_are_refused(measures):
    with pytest.raises(gumdp.GumdpError):
        gumdp.evaluate(gumdp.zoo.load("m1-entropy"), gumdp.Random(), trials=2, measures=measures)
