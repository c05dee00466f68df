"""Every example runs, and its answer is the one that it claims."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


def run(name: str) -> Any:
    """The answer of an example with small budgets, which leaves a picture."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answer = module.main(quick=True)
    assert Path(f"{name}.png").stat().st_size > 5000
    return answer


def test_every_example_is_in_the_gallery_and_in_the_tests() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    gallery = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    tests = Path(__file__).read_text(encoding="utf-8")
    assert all(f"examples/{name}.py" in gallery and f'run("{name}")' in tests for name in names)


def test_a_planned_run_sees_more_of_the_building() -> None:
    seen = run("cover_a_building")
    assert seen["planned for this run"] > max(seen["at random"], seen["best on average"])


def test_a_planned_run_is_closer_to_the_driver() -> None:
    distance = run("imitate_a_driver")
    assert distance["one run, planned"] < distance["one run at random"]


def test_a_limit_that_holds_on_average_is_broken_in_many_runs() -> None:
    failures = run("keep_the_budget")
    assert failures["constrained on average"] > 0.25
    assert failures["planned for this run"] < 0.1


def test_planning_for_the_target_meets_it_more_often() -> None:
    missed = run("meet_a_sales_target")
    assert missed["for the target"] < missed["for the mean"]


def test_the_plan_for_this_day_is_the_fairest() -> None:
    means = run("serve_two_queues")
    assert means["planned for this day"] == min(means.values())


def test_the_worst_storm_is_least_bad_when_the_season_is_planned() -> None:
    means = run("the_worst_of_three_storms")
    assert means["bound"] < means["planned for this season"] < means["best on average"]


def test_a_planned_month_wears_the_batteries_least() -> None:
    means = run("spread_the_wear")
    assert means["planned for this month"] < means["the fullest first"] < means["at random"]


def test_a_longer_log_makes_better_plans() -> None:
    means = run("plan_from_a_log")
    assert means[3000] < means[10]


def test_a_decision_takes_no_longer_in_a_hundred_times_as_many_states() -> None:
    seconds = run("a_million_states")
    assert seconds[10_000] < 10 * seconds[100]


def test_search_does_at_once_what_learning_takes_many_episodes_for() -> None:
    pytest.importorskip("stable_baselines3", reason="needs gumdp[learning]")
    means = run("learn_in_the_occupancy_mdp")
    assert means["optimum"] - 3.0 * means["searched error"] < means["searched"]
    assert means["searched"] < means["learned"] - 3.0 * means["learned error"]
    assert means["learned"] + 3.0 * means["learned error"] < means["random"]


def test_search_finds_what_the_exact_solver_proves() -> None:
    distance = run("solve_subset_sum")
    assert (round(distance["even"], 6), round(distance["odd"], 6)) == (0.0, 1.0)
    assert distance["search, 1000 iterations"] < distance["a coin for each"]


def test_who_plans_to_learn_sees_more_of_an_unknown_building() -> None:
    costs = run("explore_an_unknown_building")
    assert costs["with the map"] < costs["planning to learn"] < costs["at random"]


def test_who_plans_to_learn_reads_the_sign() -> None:
    costs = run("which_of_three_maps")
    others = [cost for name, cost in costs.items() if name.startswith("as if")]
    assert costs["planning to learn"] < costs["the best possible"] + 0.5
    assert costs["planning to learn"] < min(others)


def test_who_plans_to_learn_runs_an_unknown_machine_at_the_least_cost() -> None:
    costs = run("an_unknown_failure_rate")
    assert costs["planning to learn"] == min(costs.values())


def test_a_plan_for_this_day_brings_more_meals() -> None:
    meals = run("a_fair_meal")
    assert meals["best on average"] < meals["planned for this day"]
    assert meals["planned for this day"] < meals["the optimum"] + 1.0  # of 60 days


def test_the_worst_runs_are_better_and_the_mean_is_worse() -> None:
    cost = run("the_worst_returns")
    mean, worst = cost["least mean"], cost["least mean of the worst tenth"]
    assert mean[0] < worst[0] < worst[1] < mean[1]


def test_a_trillion_cells_take_no_more_memory_than_a_thousand() -> None:
    found = run("a_trillion_cells")
    assert found[3][1] == found[12][1] < 100.0


def test_a_round_is_the_same_after_a_break() -> None:
    assert run("switched_off_and_on")
