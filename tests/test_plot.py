"""The pictures show what they are given; what can't be drawn is said in one sentence."""

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest

import gumdp
from gumdp import GumdpError

matplotlib.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


LAKE = gumdp.zoo.load("frozenlake-entropy", horizon=20)
SMALL = gumdp.zoo.load("m1-entropy", horizon=20)


def test_a_map_shows_the_share_of_each_state_in_per_cent() -> None:
    d = np.zeros(LAKE.shape)
    d[0, 1], d[15, 0] = 0.25, 0.75
    ax = gumdp.plot.occupancy(LAKE, d)
    assert {"25", "75", "start", "goal", "hole"} == set(texts(ax))
    shown = ax.collections[0].get_array()
    assert shown.compressed().tolist() == [25.0, 75.0]
    assert shown.mask.sum() == 14  # what was never visited stays white


def test_a_map_draws_row_0_on_top() -> None:
    ax = gumdp.plot.occupancy(LAKE.model, np.full(LAKE.shape, 1.0 / 64))
    low, high = ax.get_ylim()
    assert low > high


def test_a_phase_plane_has_the_dimensions_of_the_bins() -> None:
    problem = gumdp.zoo.load("mountaincar-entropy", horizon=5)
    d = np.zeros(problem.shape)
    d[problem.model.bins.index([-0.5, 0.0]), 0] = 1.0
    ax = gumdp.plot.occupancy(problem, d)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position", "velocity")
    assert np.allclose(ax.get_xlim(), (-1.2, 0.6))
    assert np.allclose(ax.get_ylim(), (-0.07, 0.07))
    shown = ax.collections[0].get_array()
    assert np.argwhere(~shown.mask).tolist() == [[5, 3]]  # the velocity goes up, the position to the right


def test_bars_stack_the_actions_of_each_state() -> None:
    d = np.array([[0.1, 0.2], [0.3, 0.0], [0.15, 0.25]])
    ax = gumdp.plot.occupancy(SMALL, d)
    assert np.allclose([bar.get_height() for bar in ax.patches], 100.0 * d.T.ravel())
    tops = [bar.get_y() + bar.get_height() for bar in ax.patches[3:]]
    assert np.allclose(tops, 100.0 * d.sum(axis=1))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["s0", "s1", "s2"]


def test_of_many_states_the_busiest_are_shown() -> None:
    model = gumdp.Tabular(np.full((40, 1, 40), 1.0 / 40))
    ax = gumdp.plot.occupancy(model, np.arange(40) / 780)
    assert ax.get_title().startswith("the 30 busiest of 40 states; 5.8 %")  # (0 + 1 + … + 9) / 780
    assert [label.get_text() for label in ax.get_xticklabels()][:2] == ["s39", "s38"]
    few = gumdp.plot.occupancy(model, [0.5, 0.5] + 38 * [0.0])
    assert few.get_title() == "the 2 of 40 states that were visited"


def test_pictures_are_drawn_on_the_axes_that_are_given() -> None:
    trial = gumdp.run_trial(SMALL, gumdp.Random(), seed=0)
    _, ax = pyplot.subplots()
    assert gumdp.plot.occupancy(SMALL, trial.occupancy, ax) is ax
    assert gumdp.plot.trajectory(SMALL, trial, ax) is ax
    assert gumdp.plot.comparison({"random": [1.0, 2.0]}, ax) is ax
    assert gumdp.plot.budget({"random": {1: [1.0, 2.0]}}, ax) is ax


def test_a_trajectory_marks_every_step_with_its_action() -> None:
    trial = gumdp.run_trial(SMALL, gumdp.Random(), seed=0)
    ax = gumdp.plot.trajectory(SMALL, trial)
    marks = {line.get_label(): line.get_xydata() for line in ax.lines[1:]}
    for a in range(2):
        steps = np.flatnonzero(trial.actions == a)
        assert np.array_equal(marks[f"a{a}"], np.column_stack([steps, trial.states[steps]]))


def test_a_continuous_trajectory_shows_one_dimension() -> None:
    problem = gumdp.zoo.load("mountaincar-entropy", horizon=5)
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    ax = gumdp.plot.trajectory(problem, trial, dimension=1)
    assert ax.get_ylabel() == "velocity"
    assert np.array_equal(ax.lines[0].get_ydata(), np.asarray(trial.states)[:, 1])
    with pytest.raises(GumdpError, match="dimension must be below 2"):
        gumdp.plot.trajectory(problem, trial, dimension=2)


def test_a_tree_says_what_the_search_found_out() -> None:
    decision = gumdp.MCTS(iterations=200, keep_tree=True).start(SMALL, seed=0).act(0)
    ax = gumdp.plot.tree(decision.tree, SMALL.model, depth=1)
    expected = {f"a{a}  {decision.values[a]:.3g}  ({100 * decision.visits[a] / 200:.0f} %)" for a in range(2)}
    assert set(texts(ax)) == expected | {"s0"}
    deeper = gumdp.plot.tree(decision.tree, SMALL, depth=2)
    assert len(texts(deeper)) > len(texts(ax))
    bold = [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
    assert any(text.startswith(f"a{decision.action} ") for text in bold)


def test_curves_go_through_the_means() -> None:
    ax = gumdp.plot.budget({"ours": {100: [1.0, 3.0], 10: [5.0, 5.0]}}, levels={"bound": 0.5})
    assert ax.lines[0].get_xydata().tolist() == [[10, 5.0], [100, 2.0]]
    assert ax.get_legend_handles_labels()[1] == ["ours", "bound"]


def test_a_comparison_has_a_dot_for_every_trial() -> None:
    values = np.linspace(0.0, 1.0, 7)
    ax = gumdp.plot.comparison({"one": values, "two": [2.0]})
    assert np.array_equal(np.sort(ax.lines[0].get_xdata()), values)
    assert texts(ax) == ["0.5", "2"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: gumdp.plot.occupancy(SMALL, np.zeros((2, 2))),
        lambda: gumdp.plot.occupancy("m1-entropy", np.zeros((3, 2))),
        lambda: gumdp.plot.occupancy(SMALL, np.zeros((3, 2)), ax="here"),
        lambda: gumdp.plot.trajectory(SMALL, "trial"),
        lambda: gumdp.plot.tree(None, SMALL.model),
        lambda: gumdp.plot.budget({}),
        lambda: gumdp.plot.budget({"ours": [1.0]}),
        lambda: gumdp.plot.comparison({"ours": []}),
        lambda: gumdp.plot.comparison([1.0]),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(call) -> None:
    with pytest.raises(GumdpError):
        call()
