"""The decomposition: below the optimum on everything that can be solved exactly, and tight where it should be."""

import time

import numpy as np
import pytest

import gumdp
from gumdp import Problem
from gumdp.bounds import decomposition_tree
from gumdp.bounds.decomposition import Decomposition
from gumdp.bounds.decomposition_kernels import place
from gumdp.bounds.decomposition_tree import RefinedTree, ValueFunction, ValueTree
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.separable import NotSeparable, Separable
from test_bounds import KINDS, optimum, random_problem

pytestmark = pytest.mark.thorough  # most of its time is compiling

MORE = {
    "target": lambda shape, rng: gumdp.Target(rng.integers(0, 3, size=shape), float(rng.uniform(0.2, 1.5))),
    "variance": lambda shape, rng: gumdp.MeanVariance(rng.uniform(-1, 2, size=shape), float(rng.uniform(0.1, 3))),
    "concave": lambda shape, rng: gumdp.Quadratic.diagonal(rng.uniform(-1, 0.5, size=shape)),
    "concave states": lambda shape, rng: gumdp.Quadratic.of_states(rng.uniform(-1, 0.5, size=shape[0])),
    "indefinite": lambda shape, rng: gumdp.Quadratic(rng.normal(size=(shape[0] * shape[1],) * 2)),
    "both entropies": lambda shape, rng: gumdp.Entropy() + 0.5 * gumdp.StateEntropy(),
    "entropy and target": lambda shape, rng: gumdp.Entropy() + 3.0 * MORE["target"](shape, rng),
    "imitation and variance": lambda shape, rng: KINDS["imitation"](shape, rng) + MORE["variance"](shape, rng),
    "two adversaries": lambda shape, rng: gumdp.WorstCase(rng.uniform(-1, 1, size=(2, *shape))),
    "risk of variance": lambda shape, rng: gumdp.entropic(MORE["variance"](shape, rng), 0.7),
}
ALL = {**KINDS, **MORE}


def small(kind: str, seed: int, discount: float = 0.9, episodes: int = 1) -> Problem:
    """A problem that can be solved exactly."""
    base = random_problem("linear", seed, discount, episodes)
    objective = ALL[kind](base.shape, np.random.default_rng(seed + 1))
    return Problem(base.model, objective, discount, base.horizon, episodes)


def check(number: int) -> None:
    """Bounds of one random problem, coarse and fine, before, amid and after the ascent."""
    rng = np.random.default_rng(number)
    kind = sorted(ALL)[number % len(ALL)]
    problem = small(kind, int(rng.integers(10**6)), float(rng.choice([0.3, 0.9, 1.0])), int(rng.integers(1, 3)))
    truth = optimum(problem)
    at = rng.dirichlet(np.ones(problem.shape[0] * problem.shape[1])).reshape(problem.shape)
    made = Decomposition(problem, at if rng.uniform() < 0.5 else None)
    for iterations in (0, 3, 25):
        for _ in made.climb(iterations=iterations, points=int(rng.integers(3, 40))):
            if rng.uniform() < 0.1:
                break  # an ascent may be left at any time
        for points in (2, 5, 61):
            value = made.bound(points)
            assert value is not None
            assert value <= truth + 1e-9, (number, kind, points, iterations)
    depth = int(rng.integers(1, problem.steps + 1))
    tree = ValueTree(ValueFunction(made, depth=depth, points=int(rng.integers(2, 40))))
    for value in tree.grow():
        assert value <= truth + 1e-9, (number, kind, "tree", depth)
    if depth == problem.steps and not made.sum.minorant and tree.complete:
        assert value == pytest.approx(truth, abs=1e-9)
    if number % 5 == 0:
        check_refined(ValueFunction(made, depth=depth, points=int(rng.integers(2, 40))), truth)


def check_refined(values: ValueFunction, truth: float) -> None:
    """Bounds from a small tree, of which some histories get prices of their own."""
    tree = ValueTree(values, 60)
    for _ in tree.grow():
        pass
    refined = RefinedTree(tree)
    assert refined.bound >= tree.bound
    for count, value in enumerate(refined.grow()):
        assert value <= truth + 1e-9
        if count == 3:
            break


@pytest.mark.parametrize("number", range(50))
def test_no_policy_is_below(number) -> None:
    check(number)


@pytest.mark.slow
def test_no_policy_is_below_on_500_problems() -> None:
    for number in range(1000, 1500):
        check(number)


# --- the sum over statistics, and the grid ---


@pytest.mark.parametrize("kind", sorted(ALL))
def test_an_objective_is_the_sum_of_its_statistics_or_nowhere_below_it(kind) -> None:
    rng = np.random.default_rng(3)
    shape = (3, 2)
    objective = ALL[kind](shape, rng)
    at = rng.dirichlet(np.ones(6)).reshape(shape)
    made = Separable(objective, shape, at, np.ones(shape, bool))
    points = [*rng.dirichlet(np.ones(6), size=30), *rng.dirichlet(np.full(6, 0.1), size=30), *np.eye(6)]
    for d in (point.reshape(shape) for point in points):
        if made.minorant:
            assert made.value(d) <= objective.value(d) + 1e-9
        else:
            assert made.value(d) == pytest.approx(objective.value(d), abs=1e-9)


@pytest.mark.parametrize("kind", ["both entropies", "variance", "concave", "budget", "indefinite", "divergence"])
@pytest.mark.parametrize("points", [3, 10, 200])
def test_a_share_between_two_points_is_bounded_whatever_is_still_to_come(kind, points) -> None:
    rng = np.random.default_rng(5)
    made = Separable(ALL[kind]((3, 2), rng), (3, 2), np.full((3, 2), 1 / 6), np.ones((3, 2), bool))
    cells = made.cells(1.0 / (points - 1))

    def phi(i, z):
        value = cells.entropy[i] * z * np.log(z) if z > 0.0 else 0.0
        return value + cells.square[i] * z * z + cells.hinge[i] * max(0.0, z - cells.kink[i])

    for i in range(made.count):
        j = np.arange(points) / (points - 1)
        x = cells.low[i] + cells.span[i] * (j**2 if cells.bent[i] else j)
        own = np.where(x > 0.0, x * np.log(np.maximum(x, 1e-300)), 0.0)
        for _ in range(200):
            rest = rng.uniform()
            beyond = 0.2 * cells.span[i]  # a statistic that can't fall never is below its grid
            now = rng.uniform(cells.low[i] - (beyond if cells.least[i] < 0.0 else 0.0), x[-1] + beyond)
            now = cells.low[i] + (now - cells.low[i]) * rng.uniform() ** 3
            rest = min(rest, 0.8)  # what leads beyond the grid is not still to come
            later = rest * rng.uniform(cells.least[i], cells.most[i])
            at, share, loss = place(cells, i, x, own, now, rest)
            chord = (1.0 - share) * phi(i, x[at] + later) + share * phi(i, x[at + 1] + later)
            assert phi(i, now + later) >= chord - loss - 1e-12


# --- how tight it is ---


@pytest.mark.parametrize(("kind", "discount"), [("residual", 0.9), ("variance", 0.9), ("variance", 1.0)])
def test_with_a_single_statistic_it_is_the_optimum(kind, discount) -> None:
    # One statistic needs no multipliers. Squares lose nothing by the grid but where the best plan changes.
    for seed in range(5):
        problem = small(kind, seed, discount)
        assert Decomposition(problem).bound(1000) == pytest.approx(optimum(problem), abs=1e-5)


def test_where_steps_weigh_the_same_the_grid_loses_nothing() -> None:
    for seed in range(5):
        problem = small("both entropies", seed, 1.0)
        made = Decomposition(problem)
        exact = made.bound(5)
        made.even = False  # as if nobody had seen it
        assert exact - 1e-5 < made.bound(4000) < exact + 1e-12


def test_it_begins_at_jensens_bound_or_above_and_rises() -> None:
    problem = gumdp.zoo.load("frozenlake-entropy", horizon=12)
    tree = JensenTree(problem)
    made = Decomposition(problem, tree.point)
    begin = made.bound(300)
    assert begin >= tree.plain - 1e-4  # the occupancy where f is least is only nearly found, and there is the grid
    for _ in made.climb(iterations=60):
        pass
    assert made.bound(300) > begin + 0.02


def test_the_same_iterations_give_the_same_bound_for_any_number_of_cores() -> None:
    bounds = set()
    for workers in (1, 2, 5):
        made = Decomposition(gumdp.zoo.load("m1-entropy", horizon=20))
        made.workers = workers
        for _ in made.climb(iterations=15):
            pass
        bounds.add(made.bound(100))
    assert len(bounds) == 1


def test_histories_with_prices_of_their_own_lift_the_bound_the_same_way_each_time(monkeypatch) -> None:
    monkeypatch.setattr(decomposition_tree, "BELOW", 500)
    monkeypatch.setattr(decomposition_tree, "STEPS", 20)
    found = []
    for workers in (1, 2):
        made = Decomposition(gumdp.zoo.load("frozenlake-entropy", horizon=8))
        made.workers = workers
        for _ in made.climb(iterations=40, points=40):
            pass
        tree = ValueTree(ValueFunction(made, points=40), 500)
        for _ in tree.grow():
            pass
        refined = RefinedTree(tree)
        for _ in refined.grow(nodes=4000):
            pass
        assert refined.bound > tree.bound + 1e-3
        assert refined.nodes <= 4000
        found.append((refined.bound, refined.count))
    assert found[0] == found[1]


# --- states that nobody leaves ---


def with_trap(kind: str, seed: int, discount: float = 0.9) -> Problem:
    """A problem that can be solved exactly, with a state that nobody leaves."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.ones(3), size=(3, 2))
    moves[2] = [0.0, 0.0, 1.0]
    return Problem(gumdp.Tabular(moves), ALL[kind]((3, 2), rng), discount, int(rng.integers(2, 5)))


@pytest.mark.parametrize("kind", ["entropy", "imitation", "both entropies", "divergence", "entropy and target"])
def test_no_policy_is_below_where_pairs_of_a_state_count_as_one(kind) -> None:
    for seed in range(6):
        problem = with_trap(kind, seed, [0.5, 0.9, 1.0][seed % 3])
        truth = optimum(problem)
        made = Decomposition(problem)
        assert made.last.tolist() == [False, False, True]
        for _ in made.climb(iterations=10, points=20):
            pass
        assert made.bound(40) <= truth + 1e-9
        for value in ValueTree(ValueFunction(made, points=20)).grow():
            assert value <= truth + 1e-9


def test_pairs_that_count_as_one_cost_the_least_that_they_can_together() -> None:
    rng = np.random.default_rng(0)
    last = np.array([False, True])
    for kind in ("entropy", "imitation"):
        objective = gumdp.Entropy() if kind == "entropy" else gumdp.Imitation([[0.1, 0.2, 0.1], [0.2, 0.2, 0.2]])
        made = Separable(objective, (2, 3), np.full((2, 3), 1 / 6), np.ones((2, 3), bool), last)
        assert made.count == 4
        for d in rng.dirichlet(np.full(6, 0.4), size=200).reshape(-1, 2, 3):
            even = d.copy()
            even[1] = d[1].mean()
            assert made.value(d) == pytest.approx(objective.value(even), abs=1e-12)
            assert made.value(d) <= objective.value(d) + 1e-12


def test_pairs_that_count_as_one_lift_the_bound() -> None:
    problem = gumdp.zoo.load("frozenlake-entropy", horizon=12)
    bounds = []
    for merge in (False, True):
        made = Decomposition(problem, merge=merge)
        for _ in made.climb(iterations=40, points=40):
            pass
        bounds.append(made.bound(200))
    assert bounds[1] > bounds[0] + 0.01


# --- the value function ---


def test_the_value_function_is_below_what_any_policy_reaches_from_any_history() -> None:
    for kind in ("entropy", "imitation", "variance", "target", "budget"):
        problem = small(kind, 12, 0.9)
        made = Decomposition(problem)
        values = ValueFunction(made)
        rng = np.random.default_rng(0)
        for _ in range(30):
            t, o = int(rng.integers(problem.steps)), np.zeros(problem.shape)
            for w in problem.weights[:t]:
                o[tuple(rng.integers(problem.shape))] += w
            s = int(rng.integers(problem.shape[0]))
            assert values(s, o, t) <= optimum_from(problem, s, o, t) + 1e-9


def test_the_mean_of_luck_over_all_histories_is_0() -> None:
    """Every history of a random policy with its probability, one by one."""
    rng = np.random.default_rng(1)
    model = gumdp.Tabular(rng.dirichlet(np.ones(2), size=(2, 2)), start=[0.3, 0.7])
    for episodes in (1, 2):
        problem = Problem(model, gumdp.Entropy() + gumdp.MeanVariance([[0.0, 1.0], [2.0, 0.0]], 1.0), 0.9, 3, episodes)
        values = ValueFunction(Decomposition(problem), points=20)
        policy = rng.dirichlet(np.ones(2), size=(problem.steps, 2))
        histories = [((), (), 1.0)]
        for t in range(problem.steps):
            longer = []
            for states, actions, p in histories:
                fresh = t % problem.horizon == 0
                chances = model.start if fresh else model.dense()[states[-1], actions[-1]]
                for s in range(2):
                    longer += [((*states, s), (*actions, a), p * chances[s] * policy[t, s, a]) for a in range(2)]
            histories = longer
        lucks = np.array([values.luck(np.array(states), np.array(actions)) for states, actions, _ in histories])
        chance = np.array([p for _, _, p in histories])
        assert chance.sum() == pytest.approx(1.0)
        assert chance @ np.abs(lucks) > 1e-3
        assert abs(chance @ lucks) < 1e-12


def test_a_certificate_of_what_is_not_convex_is_sharper_without_the_luck() -> None:
    model = gumdp.zoo.load("m1-entropy").model
    problem = Problem(model, gumdp.MeanVariance([[1.0, 0.0], [0.2, 0.8], [0.5, 0.1]], 2.0), 0.9, 12)
    bound = gumdp.lower_bound(problem, time_limit=1.0)
    with_luck, without = (
        gumdp.certify(problem, gumdp.Greedy(), trials=200, bound=bound, control=control) for control in (False, True)
    )
    assert without.standard_error < 0.5 * with_luck.standard_error
    assert abs(without.mean - with_luck.mean) < 4.0 * with_luck.standard_error
    assert without.lower <= without.mean


def test_who_follows_the_value_of_a_single_statistic_is_optimal() -> None:
    # Where there is one statistic, the value function is the optimal one: every decision is as good as the best.
    problem = small("variance", 1, 0.9)
    policy = gumdp.Dual(0).start(problem)
    for state in range(problem.shape[0]):
        values = gumdp.Dual(0).start(problem).act(state).values
        best = optimum_from(problem, state, np.zeros(problem.shape), 0)
        assert np.nanmin(values) == pytest.approx(best, abs=1e-5)
    assert policy.act(0).action == int(np.nanargmin(gumdp.Dual(0).start(problem).act(0).values))


def test_the_planner_on_the_value_function_is_better_than_the_greedy_one() -> None:
    problem = gumdp.zoo.load("frozenlake-entropy", horizon=25)
    dual, greedy = (gumdp.evaluate(problem, p, trials=300, seed=0) for p in (gumdp.Dual(40), gumdp.Greedy()))
    assert dual.mean < greedy.mean - 2.0 * (dual.standard_error + greedy.standard_error)
    again = gumdp.evaluate(problem, gumdp.Dual(40), trials=20, seed=0)
    assert (again.values == dual.values[:20]).all()


def test_the_planner_says_what_it_can_not_take_apart() -> None:
    base = random_problem("linear", 3)
    odd = Problem(base.model, gumdp.Function(lambda d: float(-d.max())), 0.9, 3)
    with pytest.raises(gumdp.GumdpError, match=r"Dual: .* can't be decomposed here"):
        gumdp.Dual().start(odd)


def optimum_from(problem: Problem, state: int, occupancy: np.ndarray, t: int) -> float:
    """The least mean cost from a state, whatever the occupancy before: brute force."""
    transitions = problem.model.dense()
    available = np.ones(problem.shape, bool) if problem.model.available is None else problem.model.available
    values = []
    for a in np.flatnonzero(available[state]):
        more = occupancy.copy()
        more[state, a] += problem.weights[t]
        if t + 1 == problem.steps:
            values.append(problem.objective.value(more))
        else:
            after = ((p, optimum_from(problem, s, more, t + 1)) for s, p in enumerate(transitions[state, a]) if p > 0.0)
            values.append(sum(p * v for p, v in after))
    return min(values)


# --- time, and what does not fit ---


def test_a_bound_without_time_is_none() -> None:
    assert Decomposition(gumdp.zoo.load("m1-entropy")).bound(100, deadline=time.perf_counter() - 1.0) is None


def test_what_is_neither_convex_nor_a_sum_is_refused_with_the_reason() -> None:
    base = random_problem("linear", 3)
    problem = Problem(base.model, gumdp.Entropy() + gumdp.Function(lambda d: float(-d.max())), 0.9, 3)
    with pytest.raises(NotSeparable, match="neither convex nor a sum"):
        Decomposition(problem)


def test_linear_costs_are_one_dynamic_programme() -> None:
    problem = small("linear", 4)
    assert Decomposition(problem).bound(2) == pytest.approx(optimum(problem), abs=1e-12)
