"""The worlds that people know, and everyday operations."""

import io
import math

import numpy as np
import pytest

import gumdp

pytestmark = pytest.mark.slow

NAMES = [
    "frozenlake8x8-entropy",
    "cliffwalking-budget",
    "patrol",
    "inventory-service",
    "queue-fairness",
    "maintenance-budget",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_little_search_beats_chance(name: str) -> None:
    problem = gumdp.zoo.load(name)
    assert problem.shape == gumdp.zoo.find(name).shape
    random = gumdp.evaluate(problem, gumdp.Random(), trials=400, seed=0)
    search = gumdp.evaluate(problem, gumdp.MCTS(iterations=100), trials=6, seed=0)
    assert search.mean + 3 * search.standard_error < random.mean - 3 * random.standard_error


@pytest.mark.parametrize("name", ["cartpole-coverage", "acrobot-coverage"])
def test_a_little_search_beats_chance_in_continuous_worlds(name: str) -> None:
    problem = gumdp.zoo.load(name, horizon=60)
    random = gumdp.evaluate(problem, gumdp.Random(), trials=200, seed=0)
    search = gumdp.evaluate(problem, gumdp.MCTS(iterations=100), trials=4, seed=0)
    assert search.mean < random.mean - 3 * random.standard_error


def test_a_patrol_goes_where_it_says_or_to_either_side() -> None:
    model = gumdp.zoo.load("patrol", rows=3, columns=4, slip=0.2).model
    assert model.start_states.tolist() == [6]
    table = model.dense()
    np.testing.assert_allclose(table[5, 0, [1, 4, 6]], [0.8, 0.1, 0.1])  # up from row 1, column 1
    np.testing.assert_allclose(table[0, 0, [0, 1]], [0.9, 0.1])  # up and left are walls
    np.testing.assert_allclose(table[7, 4, 7], 1.0)  # stay
    assert model.grid == (3, 4)


def test_no_patrol_beats_ever_new_squares() -> None:
    problem = gumdp.zoo.load("patrol", slip=0.0, horizon=50)
    least = 1.0 - math.log(50) / math.log(100)
    result = gumdp.evaluate(problem, gumdp.MCTS(iterations=100), trials=4, seed=0)
    assert result.values.min() >= least - 1e-12
    assert result.mean < least + 0.05


def test_a_patrol_of_a_million_squares_works() -> None:
    problem = gumdp.zoo.load("patrol", rows=1000, columns=1000, horizon=50)
    assert problem.shape == (1_000_000, 5)
    trial = gumdp.run_trial(problem, gumdp.MCTS(iterations=50), seed=0)
    assert abs(trial.occupancy.sum() - 1.0) < 1e-12
    assert trial.value >= 1.0 - math.log(50) / math.log(1e6) - 1e-12


def test_falls_are_counted_as_the_wind_makes_them() -> None:
    problem = gumdp.zoo.load("cliffwalking-budget", wind=0.25)
    risk = problem.objective.second.constraints[0]
    assert risk[24 + 3].tolist() == [0.0, 0.25, 0.5, 0.25]  # above the cliff: up, right, down, left
    assert risk[36].tolist() == [0.25, 0.5, 0.25, 0.0]  # at the start the cliff is to the right
    assert risk[:24].max() == 0.0
    calm = gumdp.zoo.load("cliffwalking-budget", wind=0.0)
    np.testing.assert_array_equal(
        calm.model.dense(), gumdp.from_gymnasium("CliffWalking-v1", terminal="restart").dense()
    )


def test_a_shop_sells_by_poisson_demand() -> None:
    model = gumdp.zoo.load("inventory-service").model
    row = model.dense()[3, 1]  # 3 in stock, 4 ordered
    expected = [math.exp(-2.0) * 2.0**k / math.factorial(k) for k in range(7)]
    np.testing.assert_allclose(row[7:0:-1], expected)
    np.testing.assert_allclose(row[0], 1.0 - sum(expected))


def test_a_queue_moves_by_arrivals_and_service() -> None:
    model = gumdp.zoo.load("queue-fairness", first=0.5, second=0.25, service=0.8).model
    row = model.dense()[1 * 9 + 2, 0].reshape(9, 9)  # one and two waiting, serve the first
    np.testing.assert_allclose(row[0, 2], 0.8 * 0.5 * 0.75)
    np.testing.assert_allclose(row[1, 2], 0.8 * 0.5 * 0.75 + 0.2 * 0.5 * 0.75)
    np.testing.assert_allclose(row[2, 3], 0.2 * 0.5 * 0.25)
    np.testing.assert_allclose(row.sum(), 1.0)


def test_a_machine_breaks_the_more_it_is_worn_and_takes_three_steps_to_come_back() -> None:
    table = gumdp.zoo.load("maintenance-budget").model.dense()
    np.testing.assert_allclose(table[:10, 0, 10], 0.04 * np.arange(10))
    assert table[7, 1, 4] == table[2, 1, 0] == table[9, 2, 0] == 1.0
    np.testing.assert_allclose(table[10, 2, [0, 10]], [1 / 3, 2 / 3])
    assert table[10, 0, 10] == table[10, 1, 10] == 1.0


def test_mountain_car_is_drawn_as_its_phase_plane() -> None:
    from rich.console import Console

    from gumdp.report.terminal import occupancy_view

    model = gumdp.from_gymnasium("MountainCar-v0")
    occupancy = np.zeros((100, 3))
    occupancy[9 * 10 + 0, 0] = 1.0  # at the right end, as fast to the left as can be
    console = Console(width=60, no_color=True, file=io.StringIO())
    for line in occupancy_view(model, occupancy, 60):
        console.print(line)
    text = console.file.getvalue().splitlines()
    assert "position runs to the right, velocity upwards" in "".join(text[:2])
    rows = [line for line in text if line.startswith("│")]
    assert len(rows) == 10
    assert rows[-1].rstrip().endswith("██")
    assert all("█" not in row for row in rows[:-1])
