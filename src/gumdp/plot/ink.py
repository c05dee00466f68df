"""What the pictures have in common: colours, axes, short names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gumdp import escape
from gumdp.errors import GumdpError
from gumdp.models.base import Model
from gumdp.problem import Problem

Axes = Any  # matplotlib.axes.Axes: Matplotlib is imported when the first picture is drawn

# After Okabe and Ito, whom people understand whatever their colour vision, the light ones darker: each stands out from
# white paper and from a dark page.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#C27E00", "#2F94D1", "#7F7F7F")
MARKERS = "osD^vPX"
LINES = ("-", "--", ":", "-.")  # once all colours are taken
FAINT = "#d8d8d8"
LONGEST = 24  # characters of a name on an axis


def colour(k: int) -> str:
    """The k-th colour, from the first again when there are no more."""
    return COLOURS[k % len(COLOURS)]


def line_style(k: int) -> str:
    """The style of the k-th line: another one when the colours begin again."""
    return LINES[k // len(COLOURS) % len(LINES)]


def axes(ax: Axes | None, width: float = 6.0, height: float = 3.6) -> Axes:
    """``ax``, or the axes of a new figure of this size in inches."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    elif not hasattr(ax, "plot"):
        raise GumdpError(f"ax must be Matplotlib axes, not {type(ax).__name__}.")
    return ax


def model_of(problem_or_model: Any) -> Model:
    """The model, whichever of the two was given."""
    model = problem_or_model.model if isinstance(problem_or_model, Problem) else problem_or_model
    if not isinstance(model, Model):
        raise GumdpError(f"a picture needs a gumdp.Problem or a model, not {type(problem_or_model).__name__}.")
    return model


def state_label(model: Model, cell: int) -> str:
    """A name for a cell that fits on an axis."""
    if model.state_names and len(model.state_names[cell]) <= LONGEST:
        return escape.figure(model.state_names[cell])
    if model.grid is not None:
        return f"({cell // model.grid[1]}, {cell % model.grid[1]})"
    return f"s{cell}"


def action_label(model: Model, action: int) -> str:
    """A name for an action that fits in a legend."""
    return escape.figure(model.action_names[action]) if model.action_names else f"a{action}"


def clean(ax: Axes) -> None:
    """Leave out the lines at the top and on the right, which say nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def draw_levels(ax: Axes, levels: Mapping[str, float] | None, vertical: bool = False) -> None:
    """Named values, an optimum or a bound for instance, as dashed lines."""
    for k, (name, value) in enumerate((levels or {}).items()):
        style = {"color": "#404040", "linestyle": ("--", ":", "-.")[k % 3], "linewidth": 1.2}
        style["label"] = escape.figure(name)
        (ax.axvline if vertical else ax.axhline)(value, **style)


def legend_above(ax: Axes, columns: int) -> None:
    """The legend above the axes, where it hides nothing."""
    columns = min(columns, max(1, len(ax.get_legend_handles_labels()[1])))
    ax.legend(frameon=False, fontsize=8, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0))
