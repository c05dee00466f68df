"""Figures of a problem's results, as in the paper's appendix C: means, distributions, and curves over the budget.

Colours are those of Okabe and Ito, which people tell apart whatever their colour vision; planners differ in their
marks too, for print without colour.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.report.story import Line, Section

INK = "#1b1f24"  # text and axes; on the page it becomes the colour of the text around
FAINT = "#8a9099"  # grid and bounds
COLOURS = {"random": "#7f7f7f", "solver": "#e69f00", "mcts-paper": "#0072b2", "mcts": "#d55e00"}
OTHERS = ("#009e73", "#cc79a7", "#56b4e9", "#f0e442")
MARKS = {"random": "o", "solver": "s", "mcts-paper": "^", "mcts": "D"}
SIZE = (4.2, 3.1)  # inches
STYLE = {
    "figure.dpi": 100, "savefig.dpi": 160, "font.size": 9, "font.family": "sans-serif", "axes.edgecolor": INK,
    "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y", "grid.color": FAINT, "grid.alpha": 0.35,
    "grid.linewidth": 0.6, "axes.axisbelow": True, "svg.fonttype": "none", "legend.frameon": False,
    "axes.titlesize": 9, "axes.formatter.useoffset": False,
}  # fmt: skip

Draw = Callable[[Section, Any], None]


def colour(section: Section, line: Line) -> str:
    """The colour of a planner, the same in every figure."""
    if line.name in ("MCTS()", "MCTS.paper()", "random", "solver"):
        return COLOURS[line.planner]
    return OTHERS[[other.name for other in section.lines].index(line.name) % len(OTHERS)]


def draw_means(section: Section, axes: Any) -> None:
    """Means with 90 % intervals, the published ones beside them, the lower bound below."""
    lines = [line for line in section.lines if line.best.values.size]
    for k, line in enumerate(lines):
        _point(
            axes, k - 0.12, line.best.mean, line.best.interval(), colour(section, line), MARKS.get(line.planner, "v")
        )
        theirs = section.published(line)
        if theirs is not None and line.planner != "mcts":
            _point(axes, k + 0.16, theirs.value, theirs.interval, FAINT, MARKS.get(line.planner, "v"), hollow=True)
    if any(section.published(line) for line in lines):
        axes.plot([], [], "o", color=FAINT, markerfacecolor="none", label="published")
    _bound(section, axes)
    axes.set_xticks(range(len(lines)), [line.name for line in lines])
    axes.set_xlim(-0.5, len(lines) - 0.5)
    axes.grid(False, axis="x")
    axes.set_ylabel("mean value, 90 % interval")
    _legend(axes)


def draw_distributions(section: Section, axes: Any) -> None:
    """The values of single trials: boxes, and each trial as a dot as long as they can be told apart."""
    lines = [line for line in section.lines if line.best.values.size]
    rng = np.random.default_rng(0)
    for k, line in enumerate(lines):
        values, shade = line.best.values, colour(section, line)
        parts = axes.boxplot(
            [values], positions=[k], widths=0.5, showfliers=values.size > 200, patch_artist=True, manage_ticks=False,
            medianprops={"color": INK, "linewidth": 1.2}, whiskerprops={"color": shade}, capprops={"color": shade},
            flierprops={"markersize": 2, "markeredgecolor": shade},
        )  # fmt: skip
        parts["boxes"][0].set(facecolor=shade, alpha=0.25, edgecolor=shade)
        if values.size <= 200:
            axes.plot(k + rng.uniform(-0.16, 0.16, values.size), values, ".", color=shade, markersize=4, alpha=0.75)
    axes.set_xticks(range(len(lines)), [line.name for line in lines])
    axes.set_xlim(-0.5, len(lines) - 0.5)
    axes.grid(False, axis="x")
    axes.set_ylabel("value of a trial")
    _bound(section, axes)
    _legend(axes)


def draw_curve(section: Section, axes: Any) -> None:
    """The mean over the iterations of a decision, with 90 % intervals shaded."""
    for line in section.lines:
        results = line.curve
        if not results:
            continue
        budgets = [result.iterations for result in results]
        ends = np.array([result.interval() for result in results])
        shade = colour(section, line)
        axes.fill_between(budgets, ends[:, 0], ends[:, 1], color=shade, alpha=0.2, linewidth=0)
        means = [result.mean for result in results]
        axes.plot(budgets, means, "-", color=shade, marker=MARKS.get(line.planner, "v"), markersize=4, label=line.name)
    axes.set_xscale("log")
    ticks = [n for n in (10, 100, 1000, 10_000) if axes.get_xlim()[0] <= n <= axes.get_xlim()[1]]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.set_xlabel("iterations a decision")
    axes.set_ylabel("mean value, 90 % interval")
    _bound(section, axes)
    _legend(axes)


FIGURES: dict[str, Draw] = {"means": draw_means, "distributions": draw_distributions, "curve": draw_curve}


def figures_of(section: Section) -> list[str]:
    """The names of the figures that a problem's results make."""
    return [name for name in FIGURES if name != "curve" or any(line.curve for line in section.lines)]


def make(section: Section, name: str) -> tuple[str, bytes]:
    """A figure as SVG text and as PNG."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    salt = f"{section.label}-{name}"  # names inside the SVG: the same each time, and different between figures
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        FIGURES[name](section, figure.add_subplot())
        text, picture = io.StringIO(), io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
        figure.set_layout_engine("none")  # it has been laid out
        figure.savefig(picture, format="png", facecolor="white", metadata={"Software": None})
    return text.getvalue(), picture.getvalue()


def save(section: Section, name: str, folder: Path) -> str:
    """Write a figure as SVG and PNG, and return it as it goes into the page."""
    svg, png = make(section, name)
    stem = re.sub(r"[^\w.-]+", "-", section.label).strip("-")
    (folder / f"{stem}-{name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{stem}-{name}.png").write_bytes(png)
    return inline(svg, f"{stem}-{name}", f"{section.label}: {name}")


def inline(svg: str, salt: str, label: str) -> str:
    """An SVG as a part of a page: its colours follow the page's, its names are its own, its size is the room there is.

    >>> inline('<?xml?><svg width="10pt" height="5pt" viewBox="0 0 10 5" id="a"><use href="#a"/></svg>', "s", "t")
    '<svg role="img" aria-label="t" viewBox="0 0 10 5" id="s-a"><use href="#s-a"/></svg>'
    """
    svg = svg[svg.index("<svg") :].rstrip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'\bid="', f'id="{salt}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{salt}-", svg)
    for name, shade in {"ink": INK, "faint": FAINT, **{f"of-{k}": v for k, v in COLOURS.items()}}.items():
        svg = re.sub(shade, f"var(--{name})", svg, flags=re.IGNORECASE)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _point(
    axes: Any, x: float, y: float, ends: tuple[float, float], shade: str, mark: str, hollow: bool = False
) -> None:
    axes.plot([x, x], ends, "-", color=shade, linewidth=1.6, solid_capstyle="butt")
    for end in ends:
        axes.plot([x - 0.05, x + 0.05], [end, end], "-", color=shade, linewidth=1.2)
    axes.plot([x], [y], mark, color=shade, markersize=6, markerfacecolor="none" if hollow else shade)


def _bound(section: Section, axes: Any) -> None:
    if section.bound is not None:
        axes.axhline(section.bound["value"], color=INK, linestyle="--", linewidth=0.9, label="lower bound")


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, borderpad=0.2)
