"""Bounds of simulators without chance: below the best path from every start, and the optimum where paths are short."""

import itertools

import numpy as np
import pytest

import gumdp
from gumdp import Problem, Simulator
from gumdp.bounds import priced
from gumdp.bounds.grid_kernels import least_of, rows_between
from gumdp.bounds.paths import PathBound
from gumdp.bounds.priced_kernels import settle
from gumdp.models.classic_dynamics import MountainCarBoxes
from gumdp.models.compiled import Fixed, Simulation, start_state
from gumdp.objectives.base import Objective

pytestmark = pytest.mark.thorough  # most of its time is compiling


def wander(x, a):  # the parameters are part of the state
    y = x[0] * x[1] + (0.37 if a else -0.21) + x[2]
    return y - np.floor(y), x[1], x[2]


def fifth(x):
    return min(int(x[0] * 5.0), 4)


OBJECTIVES = {
    "entropy": lambda rng: gumdp.Entropy(),
    "state entropy": lambda rng: gumdp.StateEntropy(),
    "imitation": lambda rng: gumdp.Imitation(rng.dirichlet(np.ones(10)).reshape(5, 2)),
    "squares": lambda rng: gumdp.Quadratic.diagonal(rng.uniform(0, 2, size=(5, 2))),
    "linear": lambda rng: gumdp.Linear(rng.normal(size=(5, 2))),
    "entropy and costs": lambda rng: 0.5 * gumdp.Entropy() + gumdp.Linear(rng.normal(size=(5, 2))),
    "state squares": lambda rng: gumdp.Quadratic.of_states(rng.uniform(0, 2, size=5)),
}


def objective(kind: str, rng: np.random.Generator) -> Objective:
    return OBJECTIVES[kind](rng)


def best_path(problem: Problem, start: tuple[float, ...]) -> float:
    """The least value of all paths from a start: brute force, in Python, on the model's own steps."""
    model = problem.model.compiled()
    least = np.inf
    for actions in itertools.product(range(problem.shape[1]), repeat=problem.steps):
        d, s = np.zeros(problem.shape), start
        for w, a in zip(problem.weights, actions, strict=True):
            d[int(model.cell(s)), a] += w
            s = model.dynamics.step(s, np.uint64(a), np.uint64(0))
        least = min(least, problem.objective.value(d))
    return least


def short(number: int) -> tuple[Problem, tuple[float, ...]]:
    """A random problem of a few steps, and its start."""
    rng = np.random.default_rng(number)
    kind = sorted(OBJECTIVES)[number % len(OBJECTIVES)]
    start = (float(rng.uniform()), float(rng.uniform(0.3, 3.0)), float(rng.uniform()))
    discount, horizon = float(rng.choice([0.5, 0.9, 1.0])), int(rng.integers(1, 8))
    return Problem(Simulator(wander, start, fifth, 5, 2), objective(kind, rng), discount, horizon), start


def check(number: int) -> None:
    problem, start = short(number)
    truth = best_path(problem, start)
    made = PathBound(problem, 1.0)
    for most in (1, 20, 10**6):
        for value in made.grow(most=most):
            assert value <= truth + 1e-9, (number, most)
    assert made.complete
    assert made.value == pytest.approx(truth, abs=1e-9), number


def test_no_path_is_below_and_the_last_bound_is_the_optimum() -> None:
    for number in range(40):
        check(number)


@pytest.mark.slow
def test_no_path_is_below_on_500_problems() -> None:
    for number in range(1000, 1500):
        check(number)


# --- boxes of states ---


def car(bins: int = 10, horizon: int = 6, kind: str = "entropy", discount: float = 0.9) -> Problem:
    model = gumdp.from_gymnasium("MountainCar-v0", bins=bins)
    rng, shape = np.random.default_rng(4), (bins**2, 3)
    objective = {
        "entropy": gumdp.Entropy(),
        "imitation": gumdp.Imitation(rng.dirichlet(np.full(3 * bins**2, 0.1)).reshape(shape)),
        "state entropy": 0.5 * gumdp.StateEntropy() + gumdp.Linear(rng.normal(size=shape)),
        "squares": gumdp.Quadratic.diagonal(rng.uniform(0, 2, size=shape)),
        "linear": gumdp.Linear(rng.normal(size=shape)),
    }[kind]
    return Problem(model, objective, discount, horizon)


def at_point(problem: Problem, start: tuple[float, float]) -> Problem:
    """The same problem from a single start."""
    c = problem.model.compiled()
    point = Simulation(c.actions, c.dynamics, Fixed(start), c.where)
    return Problem(
        Simulator.from_record(point, problem.model.bins), problem.objective, problem.discount, problem.horizon
    )


def test_the_image_of_a_box_holds_the_image_of_every_state_in_it() -> None:
    dynamics = car().model.compiled().dynamics
    boxes, rng = MountainCarBoxes(dynamics), np.random.default_rng(0)
    for k in range(3000):
        middle = np.array([rng.uniform(-1.2, 0.6), rng.uniform(-0.07, 0.07)])
        if k % 5 == 0:
            middle[0] = rng.choice([-1.2, 0.6])  # at the walls
        size = rng.choice([0.0, 1e-6, 1e-3, 0.05]) * rng.uniform(size=2) * np.array([1.0, 0.1])
        low, high = np.clip(middle - size, [-1.2, -0.07], None), np.clip(middle + size, None, [0.6, 0.07])
        a = np.uint64(rng.integers(3))
        left, right = boxes.image(tuple(low), tuple(high), a)
        for share in (*rng.uniform(size=(4, 2)), np.zeros(2), np.ones(2)):
            after = dynamics.step(tuple(low + share * (high - low)), a, np.uint64(0))
            assert (np.array(left) <= after).all()
            assert (np.array(right) >= after).all()


def driven(problem: Problem, rng: np.random.Generator, steps: int, start: float):
    """The states, cells and actions of a drive that changes its mind now and then."""
    model, s, a = problem.model.compiled(), (start, 0.0), rng.integers(3)
    for _ in range(steps):
        a = rng.integers(3) if rng.uniform() < 0.3 else a
        yield s, int(model.cell(s)), int(a)
        s = model.dynamics.step(s, np.uint64(a), np.uint64(0))


KINDS = ["entropy", "imitation", "state entropy", "squares", "linear"]


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_the_prices_no_drive_costs_less_than_its_beginning_and_the_rest_from_there(kind, monkeypatch) -> None:
    """φ̃ of the first t steps, and what is to be paid from the box after them, at every t: also beyond the grid."""
    monkeypatch.setattr(priced, "LENGTH", 25)
    problem, rng = car(10, 40, kind), np.random.default_rng(5)
    made = PathBound(problem, 0.5)
    search, items, weights = made.search, made.items, problem.weights
    workspace = search.workspace()
    for k in (0, 1, 3):
        search.go(k, workspace, np.inf, 10.0)
        piece = search.known[k]
        piece.touch[:] = rng.choice([0.0, 0.01, 0.1, 0.5], size=piece.touch.size) * rng.uniform(size=piece.touch.size)
        rest = workspace.rest_for(piece)
        settle(items, search.ahead, search.grid, piece.window, rest)
        for _ in range(20):
            drive = list(driven(problem, rng, 40, float(rng.uniform(made.pieces[k][0][0], made.pieces[k][1][0]))))
            d = np.zeros(problem.shape)
            for w, (_, c, a) in zip(weights, drive, strict=True):
                d[c, a] += w
            truth, linear = problem.objective.value(d), items.constant
            z = np.zeros(items.least.size)
            for t, (s, c, a) in enumerate(drive):
                after = rest.tail[t]
                if t < 25:
                    after, row, _ = least_of(piece.window, rest.values, t, *rows_between(search.grid, s, s))
                    assert row >= 0  # no drive leaves the window
                phi = items.entropy * z * np.log(np.maximum(z, 1e-300)) + items.square * z * z + items.least * z
                phi += items.hinge * np.maximum(0.0, z - items.kink)
                bent = np.where(z >= piece.touch, phi, rest.offset + rest.slope * z)
                assert linear + bent.sum() + after <= truth + 1e-12, (k, t)
                r = c * 3 + a
                z[r // items.shared] += weights[t]
                linear += weights[t] * (items.costs[r] - items.least[r // items.shared])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("discount", [0.7, 1.0])
def test_coarse_boxes_and_short_grids_only_loosen_the_bound_of_a_start(kind, discount, monkeypatch) -> None:
    monkeypatch.setattr(priced, "FINE", (30, 40))
    monkeypatch.setattr(priced, "LENGTH", 4)
    monkeypatch.setattr(priced, "SMALLEST", 30)
    rng = np.random.default_rng(6)
    for x in (-0.48, float(rng.uniform(-0.6, -0.4))):  # -0.48 is where a bin ends
        problem = at_point(car(10, 7, kind, discount), (x, float(rng.uniform(-0.01, 0.01))))
        truth = best_path(problem, problem.model.compiled().begin.state)
        made = PathBound(problem, 1.0)
        values = list(made.grow())
        assert made.complete
        assert max(values) <= truth + 1e-9
        assert made.value == pytest.approx(truth, abs=1e-9)
        assert values[0] < truth - 1e-6 or len(values) == 1  # the first trees are too small


def test_boxes_that_lie_in_several_cells_count_in_the_cheapest(monkeypatch) -> None:
    monkeypatch.setattr(priced, "FINE", (20, 20))
    monkeypatch.setattr(priced, "SMALLEST", 30)
    edges = [[-1.2, -0.55, -0.543, -0.5, -0.41, 0.6], [-0.07, -0.0031, 0.0, 0.0011, 0.004, 0.07]]
    model = gumdp.from_gymnasium("MountainCar-v0", bins=gumdp.Bins.at(edges))
    rng = np.random.default_rng(7)
    for kind in (gumdp.Entropy(), gumdp.Imitation(rng.dirichlet(np.full(75, 0.3)).reshape(25, 3))):
        for x in (-0.55, -0.45, float(rng.uniform(-0.6, -0.4))):
            problem = at_point(Problem(model, kind, 0.9, 7), (x, 0.0))
            truth, made = best_path(problem, (x, 0.0)), PathBound(problem, 1.0)
            assert (made.search.grid.cells[:, 0] != made.search.grid.cells[:, 1]).any()
            assert max(made.grow()) <= truth + 1e-9
            assert made.value == pytest.approx(truth, abs=1e-9)


DRIVE = "0102212221222211022110000021100000000010"  # what to do at first from (-0.55, 0); then it coasts


def test_the_bound_knows_that_a_car_stays_in_a_cell_for_some_steps() -> None:
    problem = at_point(gumdp.zoo.load("mountaincar-entropy"), (-0.55, 0.0))
    model, s, d = problem.model.compiled(), (-0.55, 0.0), np.zeros(problem.shape)
    for t, w in enumerate(problem.weights):
        a = int(DRIVE[t]) if t < len(DRIVE) else 1
        d[int(model.cell(s)), a] += w
        s = model.dynamics.step(s, np.uint64(a), np.uint64(0))
    found = problem.objective.value(d)
    bound = gumdp.lower_bound(problem, "paths", nodes=2_000_000, time_limit=100.0).value
    assert found - 0.023 < bound < found


CARS = [(10, "entropy", 0.9), (25, "imitation", 0.9), (7, "entropy", 1.0)]


@pytest.mark.parametrize(("bins", "kind", "discount"), CARS)
def test_no_start_in_a_piece_has_a_path_below_its_bound(bins, kind, discount) -> None:
    problem = car(bins, 5, kind, discount)
    made, rng = PathBound(problem, 1.0), np.random.default_rng(2)
    assert len(made.pieces) == 8
    for _ in made.grow():
        pass
    gaps = []
    for k, ((low, _), (high, _)) in enumerate(made.pieces):
        found = [best_path(problem, (float(x), 0.0)) for x in (low, *rng.uniform(low, high, size=3))]
        assert made.bounds[k] <= min(found) + 1e-9
        gaps.append(min(found) - made.bounds[k])
    assert np.median(gaps) < 0.01  # where a piece lies in two cells, the controller may choose


@pytest.mark.slow
def test_the_start_of_a_trial_tells_some_of_its_luck() -> None:
    problem = gumdp.zoo.load("mountaincar-imitation", horizon=40)
    bound = gumdp.lower_bound(problem, time_limit=2.0)
    assert (bound.method, bound.level) == ("paths", 1.0)
    starts = bound.values
    assert np.mean([starts.luck([(x + 1e-9, 0.0)], None) for x in starts.firsts]) == pytest.approx(0.0, abs=1e-12)
    with_luck, without = (
        gumdp.certify(problem, gumdp.MCTS(iterations=30), trials=60, bound=bound, control=c) for c in (False, True)
    )
    assert (without.values == with_luck.values).all()
    assert without.standard_error < with_luck.standard_error
    assert without.lower <= without.mean


def test_the_bound_of_a_drawn_start_holds_with_its_confidence() -> None:
    problem = Problem(
        Simulator(wander, lambda u: (u[0], 1.5 + u[1], u[2]), fifth, 5, 2), gumdp.normalized(gumdp.Entropy()), 0.9, 6
    )
    bound = gumdp.lower_bound(problem, "paths", time_limit=2.0, level=0.95)
    compiled = problem.model.compiled()
    found = [best_path(problem, start_state(compiled, np.uint64(k))) for k in range(300)]
    assert bound.level == 0.95
    assert 0.0 < bound.value < np.mean(found)


def test_the_same_number_of_paths_gives_the_same_bound() -> None:
    problem = car(horizon=30)
    bounds = {gumdp.lower_bound(problem, "paths", nodes=20_000, time_limit=60.0).value for _ in range(2)}
    assert len(bounds) == 1


def test_what_paths_say_nothing_about_is_refused_with_the_reason() -> None:
    model = car().model
    noisy = Simulator(lambda x, a, u: (u[0],), (0.5,), lambda x: int(x[0] * 3.0), 3, 2)
    bent = Problem(model, gumdp.Quadratic.of_states(np.linspace(-1, 1, 100)), 0.9, 5)
    for problem, why in [
        (Problem(noisy, gumdp.Entropy(), 0.9, 5), "needs a simulator whose steps leave nothing to chance"),
        (Problem(model, gumdp.Entropy(), 0.9, 5, 2), "needs a single episode"),
        (bent, "is for convex sums over the pairs, or over the states"),
    ]:
        assert why in dict(gumdp.lower_bound(problem, time_limit=1.0).skipped)["paths"]


def test_actions_that_are_not_allowed_are_no_paths() -> None:
    start = (0.1, 1.3, 0.2)
    free = Simulator(wander, start, fifth, 5, 2)
    masked = Simulator(wander, start, fifth, 5, 2, allowed=lambda x, a: a == 0 or x[0] < 0.3)
    costs = gumdp.Linear(np.array([[1.0, 0.0]] * 5))
    bounds = [gumdp.lower_bound(Problem(m, costs, 1.0, 6), "paths").value for m in (free, masked)]
    assert bounds[0] == pytest.approx(0.0, abs=1e-9)
    assert bounds[1] > 0.1


def test_a_start_at_one_point_needs_no_pieces() -> None:
    exact = at_point(car(horizon=6), (-0.53, 0.0))
    bound = gumdp.lower_bound(exact, "paths", time_limit=5.0)
    assert "the optimum itself" in bound.reason
    assert bound.value == pytest.approx(best_path(exact, (-0.53, 0.0)), abs=1e-9)
