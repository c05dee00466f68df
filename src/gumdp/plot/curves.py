"""How good planners are: value against budget, and trial by trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gumdp import escape, statistics
from gumdp.errors import GumdpError, array_of_numbers, check_float, items
from gumdp.objectives.base import Array
from gumdp.plot.ink import MARKERS, Axes, axes, clean, colour, draw_levels, legend_above, line_style
from gumdp.results import Bound, Evaluation

MOST_DOTS = 400  # of one planner


def budget(
    curves: Mapping[str, Mapping[int, Any]],
    ax: Axes | None = None,
    *,
    levels: Mapping[str, float] | None = None,
    level: float = 0.9,
) -> Axes:
    """Draw the mean value against the iterations per decision, with its confidence interval as a band.

    Args:
        curves: for each label, evaluations (or arrays of values) by budget: ``{"ours": {10: …, 100: …}}``.
        levels: values to compare with, by name: baselines, bounds, the optimum; drawn as dashed lines.
        level: of the bootstrap interval.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> curves = {"search": {10: [0.3, 0.4], 100: [0.1, 0.2]}}
    >>> budget(curves, levels={"optimum": 0.05}).get_xscale()
    'log'
    """
    if not isinstance(curves, Mapping) or not curves or not all(isinstance(c, Mapping) and c for c in curves.values()):
        raise GumdpError("plot.budget: curves must be like {'ours': {10: evaluation, 100: evaluation}}.")
    ax, level = axes(ax, 5.6, 3.6), check_float("plot.budget: level", level, 0.0, 1.0)
    for k, (name, curve) in enumerate(curves.items()):
        budgets = sorted(curve)
        rows = [_values("plot.budget", curve[b]) for b in budgets]
        means = [row.mean() for row in rows]
        ends = np.array([_interval(row, level) for row in rows])
        ax.fill_between(budgets, ends[:, 0], ends[:, 1], color=colour(k), alpha=0.18, linewidth=0)
        looks = {"color": colour(k), "linestyle": line_style(k), "marker": MARKERS[k % len(MARKERS)]}
        ax.plot(budgets, means, **looks, markersize=5, label=escape.figure(name))
    draw_levels(ax, levels)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("iterations per decision")
    ax.set_ylabel(f"mean value (less is better), {100 * level:g} % interval")
    ax.legend(frameon=False, fontsize=8)
    clean(ax)
    return ax


def bounds(
    history: Sequence[Bound],
    ax: Axes | None = None,
    *,
    levels: Mapping[str, float] | None = None,
) -> Axes:
    """Draw lower bounds as they tighten: for each method its best so far against the seconds.

    Args:
        history: bounds in the order in which ``lower_bound(…, progress=history.append)`` told them.
        levels: values to compare with, by name, such as a planner's mean; drawn as dashed lines.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> history = []
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> best = gumdp.lower_bound(problem, nodes=200, progress=history.append)
    >>> bounds(history).get_xlabel()
    'seconds'
    """
    told = items(history)
    if not told or not all(isinstance(one, Bound) for one in told):
        raise GumdpError("plot.bounds: history must be a list of bounds, as lower_bound(…, progress=…) tells them.")
    ax, end = axes(ax, 5.6, 3.6), max(one.seconds for one in told)
    for k, method in enumerate(dict.fromkeys(one.method for one in told)):
        rows = [(one.seconds, one.value) for one in told if one.method == method]
        times, values = np.array([*rows, (end, rows[-1][1])]).T
        looks = {"color": colour(k), "linestyle": line_style(k), "marker": MARKERS[k % len(MARKERS)]}
        best = np.maximum.accumulate(values)
        ax.plot(times, best, **looks, drawstyle="steps-post", markersize=4, label=escape.figure(method))
    draw_levels(ax, levels)
    ax.set_xlabel("seconds")
    ax.set_ylabel("no policy is below")
    ax.legend(frameon=False, fontsize=8)
    clean(ax)
    return ax


def comparison(
    results: Mapping[str, Any],
    ax: Axes | None = None,
    *,
    levels: Mapping[str, float] | None = None,
    level: float = 0.9,
) -> Axes:
    """Draw every trial of several planners as a dot, one row a planner, with the mean and its confidence interval.

    Args:
        results: evaluations (or arrays of values) by label, the first on top; a label may have two lines.
        levels: values to compare with, by name, drawn as dashed lines.
        level: of the bootstrap interval.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = comparison({"random": [0.3, 0.4], "search": [0.1, 0.2]})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['random', 'search']
    """
    if not isinstance(results, Mapping) or not results:
        raise GumdpError("plot.comparison: results must be evaluations by label, like {'random': evaluation}.")
    ax, level = axes(ax, 6.4, 0.9 + 0.62 * len(results)), check_float("plot.comparison: level", level, 0.0, 1.0)
    for k, result in enumerate(results.values()):
        values = _values("plot.comparison", result)
        dots = values[:MOST_DOTS]
        scatter = np.random.default_rng(0).uniform(-0.26, 0.26, dots.size)  # only so that dots don't hide each other
        ax.plot(dots, k + scatter, ".", color=colour(k), markersize=5, alpha=0.4, markeredgewidth=0)
        low, high = _interval(values, level)
        ax.plot([low, high], [k, k], color="black", linewidth=3.0, solid_capstyle="butt")
        ax.plot(values.mean(), k, marker="D", color="white", markeredgecolor="black", markersize=6)
        box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6}
        place = {"xytext": (0, 9), "textcoords": "offset points", "ha": "center"}
        ax.annotate(f"{values.mean():.3g}", (values.mean(), k), **place, fontsize=8, weight="bold", bbox=box)
    draw_levels(ax, levels, vertical=True)
    labels = ["\n".join(map(escape.figure, str(name).split("\n", 1))) for name in results]
    ax.set_yticks(np.arange(len(results)), labels)
    ax.set_ylim(len(results) - 0.45, -0.55)
    ax.set_xlabel(f"value of a trial (less is better)\nmean and its {100 * level:g} % interval in black")
    if levels:
        legend_above(ax, 3)
    clean(ax)
    return ax


def _values(name: str, result: Any) -> Array:
    values = result.values if isinstance(result, Evaluation) else array_of_numbers(f"{name}: values", result)
    if values.ndim != 1 or values.size == 0:
        raise GumdpError(f"{name}: values must be a list of at least one number, not of shape {values.shape}.")
    return np.asarray(values, dtype=np.float64)


def _interval(values: Array, level: float) -> tuple[float, float]:
    return statistics.bootstrap(values, level) if values.size > 1 else (float(values[0]), float(values[0]))
