"""The pictures show what they are given; what can't be drawn is said in one sentence."""

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sparse

import gumdp
from gumdp import GumdpError
from gumdp.plot import animation

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
    assert ax.get_xlabel().startswith("the 30 busiest of 40 states; 5.8 %")  # (0 + 1 + … + 9) / 780
    assert [label.get_text() for label in ax.get_xticklabels()][:2] == ["s39", "s38"]
    few = gumdp.plot.occupancy(model, [0.5, 0.5] + 38 * [0.0])
    assert few.get_xlabel() == "the 2 of 40 states that were visited"


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


def big(states: int = 12_000, actions: int = 7) -> gumdp.Problem:
    """A table of that size in which every action leads to another state."""
    following = (np.arange(states)[:, None] + 1 + np.arange(actions)).ravel() % states
    matrix = sparse.csr_array((np.ones(following.size), (np.arange(following.size), following)))
    names = {
        "state_names": [f"state {s}" for s in range(states)],
        "action_names": [f"battery {a}" for a in range(actions)],
    }
    cost = gumdp.Linear(np.ones((states, 1)) * np.arange(actions) / actions).named("cost")
    model = gumdp.Tabular(matrix, start=0, **names)
    return gumdp.Problem(model, cost + gumdp.StateEntropy(), 1.0, 240)


def test_a_trajectory_through_a_large_table_shows_what_was_done_when() -> None:
    problem = big()
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    ax = gumdp.plot.trajectory(problem, trial)
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"battery {a}" for a in range(7)]
    for a, line in enumerate(ax.lines):
        assert line.get_xydata().tolist() == [[t, a] for t in np.flatnonzero(trial.actions == a)]
    assert ax.get_xlabel() == "step; 240 of 12000 states were visited"


def test_the_texts_of_a_large_table_are_apart() -> None:
    """Legend, title and labels of both axes: no two of them share a pixel."""
    problem = big()
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    figure, axes = pyplot.subplots(3, 1, figsize=(8.0, 10.8), layout="constrained")
    gumdp.plot.trajectory(problem, trial, axes[0])
    gumdp.plot.occupancy(problem, trial.occupancy, axes[1])
    gumdp.plot.measure(problem, trial, {"cost": problem.objective.first}, axes[2], limits={"cost": 0.2})
    figure.suptitle("a title")
    figure.canvas.draw()
    boxes = [figure._suptitle.get_window_extent()]
    for ax in axes:
        legend = ax.get_legend()
        parts = [ax.title, ax.xaxis.label, ax.yaxis.label, *([legend] if legend else [])]
        boxes += [part.get_window_extent() for part in parts if not hasattr(part, "get_text") or part.get_text()]
        boxes.append(ax.get_window_extent())
    for k, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:k])


def test_a_film_has_its_title_above_its_legend() -> None:
    problem = big()
    trial = gumdp.run_trial(problem, gumdp.Random(), seed=0)
    figure = pyplot.figure(figsize=(5.6, 4.6), layout="constrained")
    animation._frame(figure, problem, trial, np.asarray(trial.cells), 3, 0.2)
    figure.canvas.draw()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert not figure._suptitle.get_window_extent().overlaps(legend.get_window_extent())


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


def test_a_label_of_a_comparison_may_have_two_lines() -> None:
    ax = gumdp.plot.comparison({"a coin\neach time\nagain": [0.0, 1.0]})
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a coin\neach time\\nagain"]


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


def test_bounds_are_drawn_as_steps_that_never_fall() -> None:
    history: list[gumdp.Bound] = []
    best = gumdp.lower_bound(gumdp.zoo.load("m1-entropy"), nodes=300, progress=history.append)
    ax = gumdp.plot.bounds(history, levels={"a search": 0.01})
    steps = {line.get_label(): line.get_ydata() for line in ax.get_lines() if "steps" in line.get_drawstyle()}
    assert set(steps) == {part.method for part in best.parts}
    assert all((np.diff(line) >= 0.0).all() for line in steps.values())
    assert max(line[-1] for line in steps.values()) == best.value
    with pytest.raises(gumdp.GumdpError, match=r"plot\.bounds: history"):
        gumdp.plot.bounds([])
