"""What a run used up, over time and against its limit; and its time by action or by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp import escape
from gumdp.errors import GumdpError, array_of_numbers, check_float, check_type, show
from gumdp.objectives.groups import GroupEntropy
from gumdp.plot.ink import Axes, action_label, axes, clean, colour, legend_above, line_style, model_of
from gumdp.problem import Problem
from gumdp.results import Trial
from gumdp.run.evaluate import check_measures


def measure(
    problem: Problem,
    trial: Trial,
    measures: Mapping[str, Any],
    ax: Axes | None = None,
    *,
    limits: Mapping[str, float] | None = None,
) -> Axes:
    """Draw what each measure had come to after each step of a trial, and the limits that it was to keep.

    Args:
        measures: as in ``evaluate``: functions of the occupancy, objectives, or arrays [S, A] of costs, by name.
        limits: for some of the names, drawn as a dashed line in the colour of the measure.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=20)
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    >>> first = {"first room": lambda d: d[0].sum()}
    >>> ax = gumdp.plot.measure(problem, trial, first, limits={"first room": 0.4})
    >>> len(ax.lines)
    2
    """
    check_type("plot.measure: problem", problem, Problem)
    check_type("plot.measure: trial", trial, Trial)
    if problem.features is not None:
        raise GumdpError("plot.measure draws measures of occupancies, and this problem counts totals.")
    asked, bounds = check_measures(measures, problem), dict(limits or {})
    for name, limit in bounds.items():
        if name not in asked:
            raise GumdpError(f"plot.measure: there is a limit for {show(name)}, which is not measured.")
        bounds[name] = check_float(f"plot.measure: the limit of {name}", limit)
    ax = axes(ax, 7.0, 3.4)
    rows, actions = np.asarray(trial.cells), np.asarray(trial.actions)
    d, lines = np.zeros(problem.shape), np.zeros((len(asked), actions.size))
    for t, (row, action) in enumerate(zip(rows, actions, strict=True)):
        d[row, action] += problem.weights[t]
        lines[:, t] = [f(d) for f in asked.values()]
    steps = np.arange(1, actions.size + 1)
    for k, (name, line) in enumerate(zip(asked, lines, strict=True)):
        ax.plot(steps, line, color=colour(k), linestyle=line_style(k), label=escape.figure(name))
        if name in bounds:
            ax.axhline(bounds[name], color=colour(k), linestyle="--", linewidth=1.0)
    if min(lines.min(), *bounds.values(), 0.0) >= 0.0:
        ax.set_ylim(bottom=0.0)
    ax.set_xlabel("step")
    ax.set_ylabel("so far; limits dashed" if bounds else "so far")
    legend_above(ax, 4)
    clean(ax)
    return ax


def shares(
    problem_or_model: Any, d: ArrayLike, groups: ArrayLike | None = None, ax: Axes | None = None,
    *, names: Sequence[str] | None = None,
) -> Axes:  # fmt: skip
    """Draw the share of the time in each action, or in each group of states or pairs, as bars.

    Args:
        problem_or_model: whose states these are.
        d: an occupancy [S, A].
        groups: a label for each state [S] or pair [S, A], as in ``GroupEntropy``; without it, bars are actions.
        names: of the groups, where labels are numbers.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    >>> ax = gumdp.plot.shares(problem, trial.occupancy, ["in", "in", "out"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['in', 'out']
    """
    model = model_of(problem_or_model)
    table = array_of_numbers("plot.shares: d", d)
    if table.shape != model.shape:
        raise GumdpError(f"plot.shares: d must have the shape {model.shape}, not {table.shape}.")
    if groups is None:
        found = {action_label(model, a): float(x) for a, x in enumerate(table.sum(axis=0))}
    else:
        found = {escape.figure(n): x for n, x in GroupEntropy(groups, names).shares(table).items()}
    ax = axes(ax, 5.6, 0.9 + 0.34 * len(found))
    places = np.arange(len(found))
    ax.barh(places, [100.0 * x for x in found.values()], color=colour(0), height=0.7)
    for place, share in zip(places, found.values(), strict=True):
        ax.annotate(f"{100.0 * share:.1f}", (100.0 * share, place), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize=8)  # fmt: skip
    ax.set_yticks(places, list(found))
    ax.invert_yaxis()
    ax.set_xlabel("share of the time, %")
    ax.margins(x=0.1)
    clean(ax)
    return ax
