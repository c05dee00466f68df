"""Pictures for phones: whatever is saved as NAME.png is drawn once more, narrow, as NAME-phone.png.

Panels that stand side by side are put below each other. Pages show the narrow picture on narrow screens (``docs/hooks.py``).
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

WIDTH, DPI = (
    4.6,
    150,
)  # inches and dots per inch: letters of 10 points are as large as the text of a page


@contextlib.contextmanager
def also_narrow() -> Iterator[None]:
    """Every picture that is saved here gets its narrow version beside it."""
    save = Figure.savefig

    def both(figure: Figure, path: Any, *args: Any, **options: Any) -> None:
        save(figure, path, *args, **options)
        if str(path).endswith(".png") and figure.get_size_inches()[0] > WIDTH:
            stack(figure)
            place = Path(path).with_name(f"{Path(path).stem}-phone.png")
            save(figure, place, dpi=DPI, metadata={"Software": None})

    Figure.savefig = both  # type: ignore[method-assign]
    try:
        yield
    finally:
        Figure.savefig = save  # type: ignore[method-assign]


def stack(figure: Figure) -> None:
    """The figure is as narrow as a phone, its panels below each other."""
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    height = figure.get_size_inches()[1]
    if len(panels) > 1:
        height *= len(panels) / panels[0].get_gridspec().nrows
        for ax, place in zip(panels, GridSpec(len(panels), 1, figure), strict=True):
            ax.set_subplotspec(place)
            if ax.get_shared_y_axes().joined(ax, panels[0]):
                ax.tick_params(labelleft=True)
    for ax in figure.axes:
        squeeze(ax)
    figure.set_size_inches(WIDTH, height)


def squeeze(ax: Any) -> None:
    """Words of a picture break, and its legend stands above it, where there is no room beside what is drawn."""
    ax.set_xlabel(
        "\n".join(textwrap.fill(line, 37) for line in ax.get_xlabel().split("\n"))
    )
    names = [label.get_text() for label in ax.get_yticklabels()]
    if any(len(name) > 17 and "\n" not in name for name in names):
        ax.set_yticks(ax.get_yticks(), [textwrap.fill(name, 15) for name in names])
    legend = ax.get_legend()
    if legend is not None and not ax.get_title():
        legend.set_loc("lower center")
        legend.set_bbox_to_anchor((0.5, 1.0), ax.transAxes)
    if not ax.axison:  # a drawing of boxes that must not overlap
        for text in ax.texts:
            text.set_fontsize(7)
