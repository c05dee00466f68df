"""What happened, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp import escape
from gumdp.errors import GumdpError, check_int
from gumdp.models.base import Model
from gumdp.plot.ink import FAINT, MARKERS, Axes, action_label, axes, clean, colour, legend_above, state_label
from gumdp.problem import Problem
from gumdp.results import Trial

MOST_NAMES = 30  # on an axis


def trajectory(problem: Problem, trial: Trial, ax: Axes | None = None, *, dimension: int = 0) -> Axes:
    """Draw where a trial was at each step, and which action it took there: colour and shape of the mark.

    Continuous states are drawn by one ``dimension``; others by name, those that the trial visited, the first to be
    visited at the bottom.

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


def _dimension(dimension: int, count: int) -> int:
    number = check_int("plot.trajectory: dimension", dimension, 0)
    if number >= count:
        raise GumdpError(f"plot.trajectory: dimension must be below {count}, the numbers in a state, not {number}.")
    return number


def _dimension_name(model: Model, dimension: int) -> str:
    names = getattr(getattr(model, "bins", None), "names", None)
    return escape.figure(names[dimension]) if names else f"x{dimension}"


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
        ax.set_ylabel("states, by first visit")
    return rank[heights]
