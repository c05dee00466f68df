"""Beliefs: their law, what they learn, and that planning on them is planning for what will be learnt."""

import numba
import numpy as np
import pytest

import gumdp
from beliefs import Marginal, candidates_marginal, dirichlet_marginal, optimum
from gumdp.jit.random import advance, mix
from gumdp.jit.record import u64
from gumdp.models.belief_kernels import observe_once, restore_once

LEFT = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]])
RIGHT = np.array([[[0.2, 0.8], [0.9, 0.1]], [[0.5, 0.5], [1.0, 0.0]]])
MOVES = np.array([[0, 1, 0], [0, 1, 1]])  # left, right, stay: at either end two of them are the same


def free() -> tuple[gumdp.Belief, Marginal]:
    prior = {(s, a): {0: 0.5 + 0.25 * s, 1: 1.0 + 0.5 * a} for s in range(2) for a in range(2)}
    table = [[[prior[s, a][k] for k in range(2)] for a in range(2)] for s in range(2)]
    marginal = dirichlet_marginal(prior, lambda s, a: (s, a), lambda s, a, after: [after])
    return gumdp.Belief(2, 2, prior=table), marginal


def tied() -> tuple[gumdp.Belief, Marginal]:
    """The action alone decides, whatever the state."""
    prior = {a: {0: 0.5, 1: 0.5} for a in range(2)}
    marginal = dirichlet_marginal(prior, lambda s, a: a, lambda s, a, after: [after])
    return gumdp.Belief(2, 2, prior=0.5, tied=[[0, 1], [0, 1]]), marginal


def moving() -> tuple[gumdp.Belief, Marginal]:
    """Relative moves, tied by action; at either end two of the three moves can't be told apart."""
    prior = {a: {k: 0.4 + 0.3 * k for k in range(3)} for a in range(2)}
    given = np.broadcast_to(0.4 + 0.3 * np.arange(3), (2, 2, 3))
    marginal = dirichlet_marginal(
        prior, lambda s, a: a, lambda s, a, after: [k for k in range(3) if MOVES[s, k] == after]
    )
    return gumdp.Belief(2, 2, prior=given, moves=MOVES, tied=[[7, 3], [7, 3]]), marginal


def one_of_two() -> tuple[gumdp.Belief, Marginal]:
    weights = [0.3, 0.7]
    return gumdp.Belief.of([gumdp.Tabular(LEFT), gumdp.Tabular(RIGHT)], weights), candidates_marginal(
        [LEFT, RIGHT], weights
    )


KINDS = {"free": free, "tied": tied, "moving": moving, "one of two": one_of_two}
OBJECTIVES = {
    "entropy": gumdp.Entropy(),
    "state entropy": gumdp.StateEntropy(),
    "linear": gumdp.Linear([[0.0, 1.0], [2.0, 0.5]]),
    "imitation": gumdp.Imitation([[0.4, 0.1], [0.1, 0.4]]),
    "worst case": gumdp.WorstCase([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [1.0, 0.0]]]),
    "quadratic": gumdp.Quadratic(np.eye(4)),
    "a function": gumdp.Function(lambda d: float(np.sqrt(d[0, 0]) - d[1, 1] ** 2)),
}
PROBLEMS = [
    (kind, objective, discount, horizon, episodes)
    for kind in KINDS
    for objective, discount, horizon, episodes in [
        *((name, 1.0, 3, 1) for name in OBJECTIVES),
        ("entropy", 0.8, 4, 1),
        ("entropy", 1.0, 5, 1),
        ("entropy", 0.9, 2, 2),
    ]
]


@pytest.mark.parametrize(("kind", "objective", "discount", "horizon", "episodes"), PROBLEMS)
def test_the_exact_solution_is_that_of_all_histories_one_by_one(
    kind: str, objective: str, discount: float, horizon: int, episodes: int
) -> None:
    belief, marginal = KINDS[kind]()
    problem = gumdp.Problem(belief, OBJECTIVES[objective], discount, horizon, episodes)
    assert gumdp.solve_exact(problem).value == pytest.approx(optimum(problem, marginal), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_probabilities_are_those_of_histories(kind: str) -> None:
    """After each step of a random history: the mean, the row, and the mean of drawn worlds at the end."""
    belief, marginal = KINDS[kind]()
    rng, steps, s = np.random.default_rng(5), (), 0
    for _ in range(6):
        a = int(rng.integers(2))
        chances = np.array([marginal((*steps, (s, a, after))) for after in range(2)]) / marginal(steps)
        assert belief.mean.dense()[s, a] == pytest.approx(chances, abs=1e-12)
        following, row = belief.row(s, a)
        assert row == pytest.approx(chances[following], abs=1e-12)
        after = int(rng.choice(2, p=chances))
        steps, belief, s = (*steps, (s, a, after)), belief.after([s], [a], [after]), after
    worlds = np.array([belief.draw(k).dense() for k in range(4000)])
    spread = worlds.std(axis=0) / np.sqrt(len(worlds)) + 1e-12
    assert (np.abs(worlds.mean(axis=0) - belief.mean.dense()) < 5 * spread).all()
    distance = np.sqrt(((worlds - belief.mean.dense()) ** 2).sum(axis=3 - 1 + 1).mean(axis=0))
    assert distance == pytest.approx(belief.uncertainty(), rel=0.06, abs=1e-9)


# --- simulations ---


@numba.njit
def simulate(model, rng, states):
    """Fill ``states`` with a simulated history, whose actions take turns."""
    s = model.restore(u64(0))
    for t in range(states.size):
        rng = advance(rng)
        s = model.step(s, u64(t % 2), mix(rng))
        states[t] = s


def simulated(record: object, steps: int, seed: int) -> tuple[tuple[int, int, int], ...]:
    """A history of ``steps`` steps as a search simulates it."""
    states = np.zeros(steps, np.int64)
    simulate(record, np.uint64(seed * 1_000_003), states)
    return tuple(zip([0, *states[:-1].tolist()], [t % 2 for t in range(steps)], states.tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_histories_have_the_probabilities_of_the_belief(kind: str) -> None:
    """Four steps, after three that really happened, two of which a mixture can't tell apart."""
    belief, marginal = KINDS[kind]()
    real = ((0, 0, 0), (0, 1, 1), (1, 0, 1))
    record = belief.after(*zip(*real, strict=True)).simulation(4)
    drawn: dict[object, int] = {}
    count = 20_000
    for seed in range(count):
        history = simulated(record, 4, seed)
        drawn[history] = drawn.get(history, 0) + 1
    assert sum(marginal((*real, *history)) for history in drawn) / marginal(real) == pytest.approx(1.0, abs=0.01)
    for history, times in drawn.items():
        p = marginal((*real, *history)) / marginal(real)
        assert abs(times - count * p) < 5.0 * np.sqrt(count * p * (1.0 - p)) + 1e-9, history


@pytest.mark.parametrize("kind", KINDS)
def test_a_simulation_leaves_the_belief_as_it_was(kind: str) -> None:
    record = KINDS[kind]()[0].after([0, 0, 1], [0, 0, 1], [0, 0, 1]).simulation(50)
    before = contents(record)
    for seed in range(20):
        simulated(record, 1 + 2 * seed, seed)
    restore_once(record)
    assert contents(record) == before


def contents(record: object) -> list[bytes]:
    """The bits of all that a belief's record holds, but for the notes of a simulation that is over."""
    scratch = ("journal", "new_weights", "new_balls", "seed")
    arrays = {**record._asdict(), **(record.mixtures._asdict() if hasattr(record, "mixtures") else {})}
    return [x.tobytes() for name, x in sorted(arrays.items()) if isinstance(x, np.ndarray) and name not in scratch]


def is_at_rest(record: object, belief: gumdp.Belief) -> bool:
    """Whether a record holds this belief, to the bit, and nothing of a simulation."""
    fresh = belief.simulation(0)
    if not hasattr(record, "urns"):
        return contents(record) == contents(fresh)
    balls = belief._layout.balls()
    scale = record.scales[record.heads][belief._layout.rows()]
    units = (record.root[balls] * scale + 0.5).astype(np.uint32)
    same = record.root.tobytes() == fresh.root.tobytes() and record.length[0] == 0
    return same and units.tolist() == record.urns[balls].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_search_leaves_the_belief_as_it_was_also_when_it_is_stopped(kind: str) -> None:
    belief, _ = KINDS[kind]()
    problem = gumdp.Problem(belief, gumdp.Entropy(), 1.0, 12)
    policy = gumdp.MCTS(iterations=60, randomness=0.3, reuse=True, exploration=2.0).start(problem, seed=3)
    twin = belief
    for t in range(6):
        policy.act(t % 2)
        assert all(is_at_rest(record, twin) for record in policy._beliefs)
        policy.stop[0] = t == 3
        if t == 3:
            with pytest.raises(KeyboardInterrupt):
                policy.act(1 - t % 2)
            assert all(is_at_rest(record, policy.belief) for record in policy._beliefs)
            policy.stop[0] = 0
            twin = policy.belief
            policy.restarted()
        else:
            twin = twin.after([t % 2], [policy._moved[1]], [1 - t % 2])
            policy._learn(1 - t % 2)
    assert policy.belief.mean.dense() == pytest.approx(twin.mean.dense(), abs=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_trials_that_are_compiled_as_a_whole_are_those_played_step_by_step(kind: str) -> None:
    problem = gumdp.Problem(KINDS[kind]()[0], gumdp.Entropy(), 0.9, 8, episodes=2)
    for planner in (gumdp.Greedy(), gumdp.MCTS(iterations=30, randomness=0.3, reuse=True, exploration=2.0)):
        values = gumdp.evaluate(problem, planner, trials=5, seed=2, workers=1).values
        assert values.tolist() == [gumdp.run_trial(problem, planner, seed=2, trial=k).value for k in range(5)]


# --- searches ---


@pytest.mark.slow
@pytest.mark.parametrize("planner", [gumdp.Greedy(), gumdp.MCTS(iterations=40), gumdp.MCTS.paper(iterations=40)])
def test_a_belief_in_one_table_is_that_table_to_the_bit(planner: gumdp.Planner) -> None:
    table = gumdp.zoo.load("m1-entropy").model
    known = gumdp.Problem(table, gumdp.Entropy(), 0.9, 20)
    values = gumdp.evaluate(known, planner, trials=6, seed=4, workers=1).values
    for belief in (gumdp.Belief.of([table]), gumdp.Belief.around(table, strength=np.inf)):
        believed = gumdp.Problem(belief, gumdp.Entropy(), 0.9, 20)
        assert gumdp.evaluate(believed, planner, trials=6, seed=4, workers=1).values.tolist() == values.tolist()
        assert gumdp.run_trial(believed, planner, seed=4, trial=5).value == values[5]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_search_comes_to_the_optimum(kind: str) -> None:
    """Its mean loss in action values, from the exact solution at every decision, is its distance from the optimum."""
    problem = gumdp.Problem(KINDS[kind]()[0], gumdp.normalized(gumdp.Entropy()), 1.0, 5)
    solution = gumdp.solve_exact(problem)
    planner = gumdp.MCTS(iterations=2000, randomness=0.3, reuse=True, exploration=2.0)
    result = gumdp.evaluate(problem, planner, trials=400, seed=1)
    assert abs(result.mean - solution.value) < 4 * result.standard_error
    assert np.mean([loss(problem, planner, solution.planner, seed) for seed in range(20)]) < 0.01


def loss(problem: gumdp.Problem, planner: gumdp.Planner, optimal: gumdp.Planner, seed: int) -> float:
    """How much the decisions of a trial cost, in the optimal policy's action values."""
    trial = gumdp.run_trial(problem, planner, seed=seed)
    judge, total = optimal.start(problem), 0.0
    for state, action in zip(trial.states, trial.actions, strict=True):
        values = judge.act(int(state)).values
        judge.tell(int(action))
        total += values[action] - np.nanmin(values)
    return total


def bandit(pulls: int) -> gumdp.Problem:
    """Two arms of unknown chances, uniform priors; state 1 is a success, of which there are to be many."""
    belief = gumdp.Belief(states=2, actions=2, prior=1.0, tied=[[0, 1], [0, 1]])
    costs = np.array([[0.0, 0.0], [-1.0, -1.0]]) * (pulls + 1)  # the last action is not pulled any more
    return gumdp.Problem(belief, gumdp.Linear(costs), 1.0, pulls + 1)


def best_successes(pulls: int) -> np.ndarray:
    """The Bayes-optimal expected number of successes from (wins, losses) of either arm on, by dynamic programming."""
    n = pulls + 1
    value = np.zeros((n, n, n, n))
    for left in range(1, pulls + 1):
        done = pulls - left
        for w1, l1, w2 in np.ndindex(n, n, n):
            l2 = done - w1 - l1 - w2
            if l2 < 0:
                continue
            p, q = (w1 + 1) / (w1 + l1 + 2), (w2 + 1) / (w2 + l2 + 2)
            one = p * (1 + value[w1 + 1, l1, w2, l2]) + (1 - p) * value[w1, l1 + 1, w2, l2]
            two = q * (1 + value[w1, l1, w2 + 1, l2]) + (1 - q) * value[w1, l1, w2, l2 + 1]
            value[w1, l1, w2, l2] = max(one, two)
    return value


def shortfall(value: np.ndarray, trial: gumdp.Trial) -> float:
    """The successes that the decisions of a trial gave away, by the dynamic program."""
    seen, total = [0, 0, 0, 0], 0.0
    for action, after in zip(trial.actions[:-1], trial.states[1:], strict=True):
        worth = []
        for arm in (0, 1):
            w, lost = seen[2 * arm : 2 * arm + 2]
            p = (w + 1) / (w + lost + 2)
            win, lose = (tuple(seen[k] + (k == 2 * arm + x) for k in range(4)) for x in (0, 1))
            worth.append(p * (1 + value[win]) + (1 - p) * value[lose])
        total += max(worth) - worth[action]
        seen[2 * action + (0 if after else 1)] += 1
    return total


@pytest.mark.parametrize(
    "pulls",
    [
        pytest.param(5, marks=pytest.mark.thorough),
        pytest.param(10, marks=pytest.mark.slow),
        pytest.param(20, marks=pytest.mark.slow),
    ],
)
def test_a_bandit_is_played_as_well_as_it_can_be(pulls: int) -> None:
    problem, value = bandit(pulls), best_successes(pulls)
    best = value[0, 0, 0, 0]
    planner = gumdp.MCTS(iterations=4000)
    result = gumdp.evaluate(problem, planner, trials=300, seed=0)
    low, high = result.ci(0.99)
    assert low <= -best <= high
    given_away = [shortfall(value, gumdp.run_trial(problem, planner, seed=0, trial=k)) for k in range(30)]
    assert np.mean(given_away) < 0.01 * best


def test_the_exact_solution_of_the_bandit_is_the_dynamic_program() -> None:
    assert -gumdp.solve_exact(bandit(5)).value == pytest.approx(best_successes(5)[0, 0, 0, 0], abs=1e-12)


# --- acting ---


def test_a_policy_learns_what_it_sees_and_nothing_between_episodes() -> None:
    problem = gumdp.Problem(gumdp.Belief(2, 1, prior=1.0), gumdp.Entropy(), 1.0, 3, episodes=2)
    policy = gumdp.Random().start(problem)
    for state in (0, 1, 1, 0, 0, 1):  # the third action's outcome is not seen: an episode begins
        policy.act(state)
    assert policy.belief.mean.dense() == pytest.approx(np.array([[[2 / 5, 3 / 5]], [[1 / 3, 2 / 3]]]), abs=1e-15)


def test_a_policy_that_is_told_of_another_action_learns_of_that() -> None:
    policy = gumdp.Greedy().start(gumdp.Problem(gumdp.Belief(2, 2, prior=1.0), gumdp.Entropy(), 1.0, 4))
    policy.tell(1 - policy.act(0).action)
    told = policy._moved[1]
    policy.act(1)
    assert policy.belief.mean.dense()[0, told].tolist() == [1 / 3, 2 / 3]
    assert policy.belief.mean.dense()[0, 1 - told].tolist() == [0.5, 0.5]


def test_the_belief_of_a_trial_is_what_its_states_teach() -> None:
    belief = gumdp.Belief(4, 2, prior=0.5)
    trial = gumdp.run_trial(gumdp.Problem(belief, gumdp.Entropy(), 1.0, 30), gumdp.Greedy(), seed=1)
    taught = belief.after(trial.states[:-1], trial.actions[:-1], trial.states[1:])
    assert trial.belief.mean.dense().tolist() == taught.mean.dense().tolist()
    assert belief.mean.dense().tolist() == np.full((4, 2, 4), 0.25).tolist()


def test_every_planner_meets_the_same_worlds() -> None:
    """In each world one action leads to a state of its own for good, so that the first two states tell the world."""
    belief = gumdp.Belief(6, 1, prior=1e-6)
    problem = gumdp.Problem(belief, gumdp.Entropy(), 1.0, 5)
    one, two = (
        [gumdp.run_trial(problem, planner, seed=3, trial=k).states.tolist() for k in range(20)]
        for planner in (gumdp.Random(), gumdp.Greedy())
    )
    assert one == two
    assert len({tuple(states) for states in one}) > 5


def test_a_given_world_is_the_one_that_is_played_in() -> None:
    world = gumdp.Tabular([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    problem = gumdp.Problem(gumdp.Belief(2, 2), gumdp.StateEntropy(), 1.0, 40)
    trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0, world=world)
    for s, a, after in zip(trial.states[:-1], trial.actions[:-1], trial.states[1:], strict=True):
        assert world.dense()[s, a, after] == 1.0
    result = gumdp.evaluate(problem, gumdp.Greedy(), trials=3, seed=0, world=world)
    assert result.values[0] == trial.value


def test_rows_that_are_known_stay_so() -> None:
    table = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.25, 0.75], [0.5, 0.5]]])
    belief = gumdp.Belief.around(table, strength=[[np.inf, 5.0], [10.0, np.inf]])
    assert belief.mean.dense() == pytest.approx(table.dense(), abs=1e-15)
    later = belief.after([0, 1, 1], [0, 0, 1], [0, 0, 0])
    assert later.mean.dense()[0, 0].tolist() == [0.5, 0.5]
    assert later.mean.dense()[1, 0] == pytest.approx([3.5 / 11, 7.5 / 11])
    assert later.uncertainty()[0, 0] == later.uncertainty()[1, 1] == 0.0
    assert all(belief.draw(k).dense()[1, 1].tolist() == [0.5, 0.5] for k in range(5))


def test_observe_says_what_is_impossible_and_then_changes_nothing() -> None:
    record = gumdp.Belief(2, 1, support=np.array([[True, False], [True, True]])).simulation(3)
    before = contents(record)
    assert observe_once(record, 0, 0, 1) == 3
    restore_once(record)
    assert contents(record) == before


# --- bounds ---


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_policy_is_below_the_bound_of_who_is_told_the_world(kind: str) -> None:
    problem = gumdp.Problem(KINDS[kind]()[0], gumdp.normalized(gumdp.Entropy()), 1.0, 5)
    bound = gumdp.lower_bound(problem, time_limit=0.5, level=0.999)
    assert 0.0 <= bound.value <= gumdp.solve_exact(problem).value
    assert bound.method == "worlds"


@pytest.mark.thorough
def test_the_bound_of_candidates_is_the_mean_of_their_optima() -> None:
    tables, weights = [gumdp.Tabular(LEFT), gumdp.Tabular(RIGHT)], np.array([0.3, 0.7])
    problem = gumdp.Problem(gumdp.Belief.of(tables, weights), gumdp.Entropy(), 1.0, 4)
    optima = [gumdp.solve_exact(gumdp.Problem(t, gumdp.Entropy(), 1.0, 4)).value for t in tables]
    bound = gumdp.lower_bound(problem, ["jensen-tree"], time_limit=5.0)
    assert bound.value == pytest.approx(weights @ optima, abs=1e-6)  # the tree is complete for each
    assert bound.level == 1.0
    assert weights @ optima < gumdp.solve_exact(problem).value


@pytest.mark.thorough
def test_a_certificate_holds_for_a_belief() -> None:
    problem = gumdp.Problem(tied()[0], gumdp.normalized(gumdp.Entropy()), 1.0, 5)
    found = gumdp.certify(problem, gumdp.Greedy(), trials=200, time_limit=0.5)
    assert found.lower <= gumdp.solve_exact(problem).value <= found.upper


def test_an_objective_without_known_bounds_has_no_bound_over_worlds() -> None:
    problem = gumdp.Problem(gumdp.Belief(2, 2), gumdp.Function(lambda d: float(d[0, 0])), 1.0, 3)
    with pytest.raises(gumdp.GumdpError, match="must be known between which bounds"):
        gumdp.lower_bound(problem)
