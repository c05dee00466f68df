"""What happened, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp import escape
from gumdp.errors import GumdpError, check_int, show
from gumdp.models.base import Model
from gumdp.plot.ink import FAINT, MARKERS, Axes, action_label, axes, clean, colour, legend_above, state_label
from gumdp.problem import Problem
from gumdp.results import Trial

MOST_NAMES = 30  # on an axis


def trajectory(problem: Problem, trial: Trial, ax: Axes | None = None, *, dimension: int = 0) -> Axes:
    """Draw where a trial was at each step, and which action it took there: colour and shape of the mark.

    Continuous states are drawn by one ``dimension``; others by name, those that the trial visited, the first to be
    visited at the bottom. Where those are too many to name, and lie on no grid, the heights are the actions: what was
    done when. What came of it is shown by ``plot.measure``.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=20)
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    >>> gumdp.plot.trajectory(problem, trial).get_xlabel()
    'step'
    """
    if not isinstance(problem, Problem) or not isinstance(trial, Trial):
        raise GumdpError("plot.trajectory needs a gumdp.Problem and a gumdp.Trial of it.")
    model, states = problem.model, np.asarray(trial.states)
    ax = axes(ax, 7.5, 3.2)
    if states.ndim == 2:
        heights = states[:, _dimension(dimension, states.shape[1])]
        ax.set_ylabel(_dimension_name(model, dimension))
    elif _many(model, trial):
        return _by_action(problem, trial, ax)
    else:
        heights = _by_first_visit(model, trial.cells, ax)
    steps = np.arange(heights.size)
    ax.plot(steps, heights, color="#9a9a9a", linewidth=0.8, drawstyle="default" if states.ndim == 2 else "steps-post")
    for a in range(problem.shape[1]):
        here = trial.actions == a
        if here.any():
            ax.plot(
                steps[here], heights[here], linestyle="none", marker=MARKERS[a % len(MARKERS)], color=colour(a),
                markersize=5, label=action_label(model, a),
            )  # fmt: skip
    for k in range(1, problem.episodes):
        ax.axvline(k * problem.horizon - 0.5, color="#404040", linewidth=0.8, linestyle=":")
    ax.set_xlabel("step")
    ax.margins(x=0.01)
    legend_above(ax, 6)
    clean(ax)
    return ax


def totals(problem: Problem, trial: Trial, ax: Axes | None = None) -> Axes:
    """Draw what a trial brought of each thing that was counted, a bar for each, by name.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> model = gumdp.Tabular([[[1.0], [1.0]]])
    >>> counts = gumdp.Features([[[1.0, 0.0], [0.0, 1.0]]], names=["fish", "wood"])
    >>> problem = gumdp.Problem(model, gumdp.Minimum(), 1.0, 10, counts=counts, scale="sum")
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy())
    >>> [label.get_text() for label in gumdp.plot.totals(problem, trial).get_yticklabels()]
    ['fish', 'wood']
    """
    if not isinstance(problem, Problem) or not isinstance(trial, Trial) or not trial.totals:
        raise GumdpError("plot.totals needs a gumdp.Problem that counts features and a gumdp.Trial of it.")
    names, amounts = list(trial.totals), list(trial.totals.values())
    ax = axes(ax, 6.0, 0.8 + 0.4 * len(names))
    ax.barh(range(len(names)), amounts, color=[colour(k) for k in range(len(names))])
    ax.set_yticks(range(len(names)), [escape.figure(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlabel("total" if problem.scale == "sum" else "mean of a step")
    clean(ax)
    return ax


def _dimension(dimension: int, count: int) -> int:
    number = check_int("plot.trajectory: dimension", dimension, 0)
    if number >= count:
        limit = f"below {count}, the numbers in a state"
        raise GumdpError(f"plot.trajectory: dimension must be {limit}, not {show(number)}.")
    return number


def _dimension_name(model: Model, dimension: int) -> str:
    names = getattr(getattr(model, "bins", None), "names", None)
    return escape.figure(names[dimension]) if names else f"x{dimension}"


def _many(model: Model, trial: Trial) -> bool:
    """Whether a trial visited more states than have room, which lie anywhere."""
    return model.grid is None and np.unique(trial.cells).size > MOST_NAMES


def _by_action(problem: Problem, trial: Trial, ax: Axes) -> Axes:
    """A row of marks for each action that was taken, the most frequent ones where there are many."""
    actions, counts = np.unique(trial.actions, return_counts=True)
    shown = np.sort(actions[np.argsort(-counts, kind="stable")[:MOST_NAMES]])
    for row, a in enumerate(shown):
        steps = np.flatnonzero(trial.actions == a)
        ax.plot(steps, np.full(steps.size, row), linestyle="none", marker="|", markersize=9, color=colour(int(a)))
    names = [action_label(problem.model, int(a)) for a in shown]
    ax.set_yticks(np.arange(shown.size), names, fontsize=9 if shown.size <= 10 else 6)
    ax.set_ylim(shown.size - 0.5, -0.5)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    visited = np.unique(trial.cells).size
    ax.set_xlabel(f"step; {visited} of {problem.shape[0]} states were visited")
    ax.margins(x=0.01)
    clean(ax)
    return ax


def _by_first_visit(model: Model, cells: Any, ax: Axes) -> Any:
    """The height of each step, with a named line for each state that was visited."""
    visited, first, heights = np.unique(cells, return_index=True, return_inverse=True)
    order = np.argsort(first) if model.grid is None and visited.size > 10 else np.arange(visited.size)
    rank = np.empty(visited.size, np.int64)
    rank[order] = np.arange(visited.size)
    if visited.size <= MOST_NAMES:
        ax.set_yticks(np.arange(visited.size), [state_label(model, int(c)) for c in visited[order]])
        ax.set_axisbelow(True)
        ax.grid(axis="y", color=FAINT, linewidth=0.6)
        ax.set_ylim(-0.5, visited.size - 0.5)
    else:
        ax.set_ylabel("states, by number")
    return rank[heights]
