"""Where the time went: a map on grids, a phase plane for continuous states, bars otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp import escape
from gumdp.errors import GumdpError, array_of_numbers
from gumdp.models.base import Model
from gumdp.objectives.base import Array
from gumdp.plot.ink import FAINT, Axes, action_label, axes, clean, colour, legend_above, model_of, state_label

ROOMY = 100  # cells of a grid in which there is room for numbers
MOST_BARS = 30


def occupancy(
    problem_or_model: Any, d: ArrayLike, ax: Axes | None = None, *, largest: float | None = None, colorbar: bool = True
) -> Axes:
    """Draw an occupancy: the share of the time in each state, and for bars in each action too.

    Args:
        problem_or_model: whose states these are. Grids are drawn as maps, two binned dimensions as a phase plane.
        d: [S, A], the ``occupancy`` of a trial or of a solution; or [S].
        ax: axes to draw on; new ones by default.
        largest: the share that gets the darkest colour, to compare pictures; by default the largest there is.
        colorbar: whether to explain the colours of a map.

    On a small map, cells show their share in per cent; cells that were never visited stay white.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    >>> gumdp.plot.occupancy(problem, trial.occupancy).get_ylabel()
    'share of the time, %'
    """
    model = model_of(problem_or_model)
    shares = _shares(model, d)
    if model.grid is None:
        return _bars(model, shares, ax, largest)
    rows, columns = model.grid
    plane = model.axes is not None
    width, height = (rows, columns) if plane else (columns, rows)
    ax = axes(ax, 5.2, min(9.0, max(2.0, (3.6 if plane else 4.2 * height / width) + 0.4)))
    mass = 100.0 * shares.sum(axis=1).reshape(model.grid)
    _map(model, mass, ax, 100.0 * largest if largest else None, colorbar)
    return ax


def _shares(model: Model, d: ArrayLike) -> Array:
    """The occupancy as an array [S, A], or [S, 1] if it has no actions."""
    table = array_of_numbers("plot.occupancy: d", d)
    if table.shape not in (model.shape, model.shape[:1]):
        raise GumdpError(
            f"plot.occupancy: d must have the shape {model.shape} or {model.shape[:1]}, not {table.shape}."
        )
    return table.reshape(model.shape[0], -1)


def _map(model: Model, mass: Array, ax: Axes, largest: float | None, colorbar: bool) -> None:
    from matplotlib import colormaps, colors

    shown = np.ma.masked_equal(mass, 0.0)
    top = largest or float(mass.max()) or 1.0
    # From light to dark in one hue, which survives a printer; the lightest tenth is left to what is never visited.
    scale = colors.LinearSegmentedColormap.from_list("shares", colormaps["YlGnBu"](np.linspace(0.12, 1.0, 256)))
    # On a phase plane shares differ by orders of magnitude: a square root keeps the small ones visible.
    norm = colors.PowerNorm(0.5 if model.axes is not None else 1.0, vmin=0.0, vmax=top)
    looks = {"cmap": scale, "norm": norm, "edgecolors": FAINT, "linewidth": 0.5}
    if model.axes is not None:  # a phase plane: the first dimension to the right, the second one up
        across, up = _lines(model)
        mesh = ax.pcolormesh(across, up, shown.T, **looks)
        ax.set_xlabel(escape.figure(model.axes[0]))
        ax.set_ylabel(escape.figure(model.axes[1]))
    else:
        rows, columns = mass.shape
        mesh = ax.pcolormesh(np.arange(columns + 1), np.arange(rows + 1), shown, **looks)
        ax.invert_yaxis()
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        if mass.size <= ROOMY:
            _write(model, mass, ax, 0.5 * top)
    if colorbar:
        ax.figure.colorbar(mesh, ax=ax, label="share of the time, %", shrink=0.85)


def _lines(model: Model) -> tuple[Array, Array]:
    """The edges of the two dimensions that are divided into bins, or else their numbers."""
    bins = getattr(model, "bins", None)
    if bins is not None and bins.shape is not None:
        one, two = (k for k, n in enumerate(bins.shape) if n > 1)
        return bins.lines(one), bins.lines(two)
    rows, columns = model.grid or (1, 1)
    return np.arange(rows + 1.0), np.arange(columns + 1.0)


def _write(model: Model, mass: Array, ax: Axes, dark: float) -> None:
    """The share of each cell, under what the cell is called, if it has a name that is not just its place."""
    names = model.state_names or [""] * mass.size
    for cell, share in enumerate(mass.ravel()):
        row, column = divmod(cell, mass.shape[1])
        ink = "white" if share > dark else "black"
        kind = names[cell].rpartition(", ")[2] if ", " in names[cell] else ""
        if share > 0.0:
            text = f"{share:.0f}" if share >= 9.5 else f"{share:.1f}" if share >= 0.05 else "<0.1"
            ax.text(column + 0.5, row + 0.55, text, ha="center", va="center", color=ink, fontsize=9)
        if kind and kind != "ice":
            ax.text(
                column + 0.5,
                row + 0.2,
                escape.figure(kind),
                ha="center",
                va="center",
                color=ink,
                fontsize=7,
                style="italic",
            )


def _bars(model: Model, shares: Array, ax: Axes | None, largest: float | None) -> Axes:
    total = shares.sum(axis=1)
    cells = np.arange(total.size)
    if total.size > MOST_BARS:
        cells = np.argsort(-total, kind="stable")[:MOST_BARS]
        cells = cells[total[cells] > 0.0] if total.any() else cells
    ax = axes(ax, min(11.0, 2.5 + 0.45 * cells.size), 3.4)
    bottom = np.zeros(cells.size)
    with_actions = shares.shape[1] > 1
    for a in range(shares.shape[1]):
        part = 100.0 * shares[cells, a]
        label = action_label(model, a) if with_actions else None
        ax.bar(
            np.arange(cells.size), part, bottom=bottom, color=colour(a), edgecolor="white", linewidth=0.6,
            hatch=("", "//", "..", "\\\\", "xx", "--")[a % 6], label=label,
        )  # fmt: skip
        bottom += part
    labels = [state_label(model, int(c)) for c in cells]
    long = max(map(len, labels)) * cells.size > 60
    ax.set_xticks(np.arange(cells.size), labels, rotation=60 if long else 0, ha="right" if long else "center")
    ax.set_ylabel("share of the time, %")
    if largest:
        ax.set_ylim(0.0, 100.0 * largest)
    if cells.size < total.size:
        rest = 1.0 - total[cells].sum() / (total.sum() or 1.0)
        which = f"the {cells.size} busiest of {total.size} states; {100.0 * rest:.1f} % of the time elsewhere"
        if rest <= 1e-9:
            which = f"the {cells.size} of {total.size} states that were visited"
        ax.set_xlabel(which, fontsize=9)  # the legend is above
    if with_actions:
        legend_above(ax, 4)
    clean(ax)
    return ax
