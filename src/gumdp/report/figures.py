"""Figures of a problem's results, as in the paper's appendix C: means, distributions, and curves over the budget.

A figure is declared once, in ``FIGURES``: what it is called, what it shows, who draws it, and for which results.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from gumdp import escape
from gumdp.files import write
from gumdp.plot import ink

if TYPE_CHECKING:
    from markupsafe import Markup

    from gumdp.report.comparisons import Pair
    from gumdp.report.story import Line, Section, Story

INK = "#1b1f24"  # text and axes; on the page it becomes the colour of the text around
FAINT = "#8a9099"  # grid and bounds
COLOURS = {"random": "#7F7F7F", "solver": "#C27E00", "mcts-paper": "#0072B2", "mcts": "#D55E00"}
MARKS = {"random": "o", "solver": "s", "mcts-paper": "^", "mcts": "D"}
SIZE = (4.2, 3.1)  # inches
LONGEST = 22  # characters of a name in a figure
STYLE = {
    "figure.dpi": 100, "savefig.dpi": 160, "font.size": 9, "font.family": "sans-serif", "axes.edgecolor": INK,
    "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y", "grid.color": FAINT, "grid.alpha": 0.35,
    "grid.linewidth": 0.6, "axes.axisbelow": True, "svg.fonttype": "none", "legend.frameon": False,
    "axes.titlesize": 9, "axes.formatter.useoffset": False,
    "figure.constrained_layout.w_pad": 0.12, "figure.constrained_layout.h_pad": 0.06,  # the font of a page is larger
}  # fmt: skip
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


@dataclass(frozen=True)
class Figure:
    """A kind of figure: all that the report needs to know of it."""

    name: str  # of files
    caption: str
    draw: Callable[[Section, Any], None]  # onto Matplotlib axes
    fits: Callable[[Section], bool] = lambda section: bool(section.played)


@dataclass(frozen=True)
class Drawing:
    """A figure as it goes into the page."""

    caption: str
    svg: Markup


@dataclass(frozen=True)
class Look:
    """How a planner is drawn, the same in every figure."""

    colour: str
    mark: str
    line: str

    @classmethod
    def of(cls, line: Line) -> Look:
        """The look of a line: its own for the planners of the paper, else the next of the palette."""
        if line.own is None:
            return cls(COLOURS[line.planner], MARKS[line.planner], "-")
        free = [colour for colour in ink.COLOURS if colour not in COLOURS.values()]
        if line.own < len(free):
            return cls(free[line.own], ink.MARKERS[line.own + 3], "-")
        k = line.own - len(free) + len(ink.COLOURS)  # now all colours, in the next style
        return cls(ink.colour(k), ink.MARKERS[(k + k // len(ink.COLOURS)) % len(ink.MARKERS)], ink.line_style(k))


def draw_means(section: Section, axes: Any) -> None:
    """Means with 90 % intervals, the published ones beside them, the lower bound below."""
    hollow = False
    for k, line in enumerate(section.played):
        look = Look.of(line)
        _point(axes, k - 0.12, line.best.mean, line.best.interval(), look.colour, look.mark)
        if line.published is not None and line.planner != "mcts":
            theirs, hollow = line.published[1], True
            _point(axes, k + 0.16, theirs.value, theirs.interval, FAINT, look.mark, hollow=True)
    if hollow:
        axes.plot([], [], "o", color=FAINT, markerfacecolor="none", label="published")
    _bound(section, axes)
    _planners(section, axes)
    axes.set_ylabel("mean value, 90 % interval")
    _legend(axes)


def draw_distributions(section: Section, axes: Any) -> None:
    """The values of single trials: boxes, and each trial as a dot as long as they can be told apart."""
    rng = np.random.default_rng(0)
    for k, line in enumerate(section.played):
        values, shade = line.best.values, Look.of(line).colour
        parts = axes.boxplot(
            [values], positions=[k], widths=0.5, showfliers=values.size > 200, patch_artist=True, manage_ticks=False,
            medianprops={"color": INK, "linewidth": 1.2}, whiskerprops={"color": shade}, capprops={"color": shade},
            flierprops={"markersize": 2, "markeredgecolor": shade},
        )  # fmt: skip
        parts["boxes"][0].set(facecolor=shade, alpha=0.25, edgecolor=shade)
        if values.size <= 200:
            axes.plot(k + rng.uniform(-0.16, 0.16, values.size), values, ".", color=shade, markersize=4, alpha=0.75)
    _planners(section, axes)
    axes.set_ylabel("value of a trial")
    _bound(section, axes)
    _legend(axes)


def draw_curve(section: Section, axes: Any) -> None:
    """The mean over the iterations per decision, with 90 % intervals shaded."""
    budgets = set()
    for line in section.lines:
        results, look = line.curve, Look.of(line)
        if not results:
            continue
        places = [result.iterations for result in results]
        budgets.update(places)
        ends = np.array([result.interval() for result in results])
        axes.fill_between(places, ends[:, 0], ends[:, 1], color=look.colour, alpha=0.2, linewidth=0)
        means = [result.mean for result in results]
        axes.plot(places, means, look.line, color=look.colour, marker=look.mark, markersize=4, label=_short(line.name))
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    tens = [n for n in (1, 10, 100, 1000, 10_000, 100_000) if low <= n <= high]
    ticks = tens if len(tens) > 1 else sorted(n for n in budgets if n)
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("iterations per decision")
    axes.set_ylabel("mean value, 90 % interval")
    _bound(section, axes)
    _legend(axes)


FIGURES = (
    Figure("means", "Mean value of a trial, with 90 % intervals", draw_means),
    Figure("distributions", "Values of single trials", draw_distributions),
    Figure(
        "curve",
        "Mean value over the iterations per decision, with 90 % intervals",
        draw_curve,
        lambda section: any(line.curve for line in section.lines),
    ),
)


def figures_of(section: Section) -> list[Figure]:
    """The figures that a problem's results make."""
    return [figure for figure in FIGURES if figure.fits(section)]


def make(section: Section, kind: Figure) -> tuple[str, bytes]:
    """A figure as SVG text and as PNG."""
    salt = f"{escape.printable(section.label)}-{kind.name}"  # of names inside the SVG: the same each time
    return _render(lambda axes: kind.draw(section, axes), SIZE, salt)


def overview(story: Story, folder: Path) -> Drawing | None:
    """Every comparison of the report in one figure, written to ``folder``; None where nothing is compared."""
    pairs = [pair for pair in story.pairs if math.isfinite(pair.comparison.effect) and pair.comparison.effect]
    if not pairs:
        return None
    size = (5.2, 0.9 + 0.26 * (len(pairs) + len({pair.section.label for pair in pairs})))
    svg, png = _render(lambda axes: draw_differences(pairs, axes), size, "overview")
    write(folder / "overview.svg", svg)
    write(folder / "overview.png", png)
    against = " and ".join(dict.fromkeys(escape.printable(pair.baseline.name) for pair in pairs))
    caption = (
        f"Difference from {against} on the same random numbers, in standard deviations of the differences, "
        "with 90 % intervals; to the left is better. Filled marks are clearly different."
    )
    return Drawing(caption, inline(svg, "overview", caption))


def draw_differences(pairs: Sequence[Pair], axes: Any) -> None:
    """A row for each comparison, below the name of its problem; the interval of the effect around it."""
    place, places, names, last = 0.0, [], [], None
    beside = axes.get_yaxis_transform()
    for pair in pairs:
        if pair.section.label != last:
            last, place = pair.section.label, place + 1.1
            title = axes.text(0.01, place, _short(last, 2 * LONGEST), weight="bold", va="center", transform=beside)
            title.set_in_layout(False)
        place, c, look = place + 1.0, pair.comparison, Look.of(pair.candidate)
        deviation = c.difference / c.effect
        ends = [end / deviation for end in c.interval]
        axes.plot(ends, [place, place], "-", color=look.colour, linewidth=1.8, solid_capstyle="butt")
        filled = look.colour if pair.clear else "white"
        axes.plot([c.effect], [place], look.mark, color=look.colour, markersize=6, markerfacecolor=filled)
        places.append(place)
        names.append(_short(pair.candidate.name))
    axes.axvline(0.0, color=INK, linewidth=0.9)
    axes.set_yticks(places, names)
    axes.set_ylim(place + 0.7, 0.4)
    axes.grid(False, axis="y")
    axes.grid(True, axis="x")
    axes.set_xlabel("effect size (left of 0 is better)")


def _render(draw: Callable[[Any], None], size: tuple[float, float], salt: str) -> tuple[str, bytes]:
    """What ``draw`` draws, as SVG text and as PNG."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # names may be in any script
        figure = Canvas(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.add_subplot())
        text, picture = io.StringIO(), io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
        figure.set_layout_engine("none")  # it has been laid out
        figure.savefig(picture, format="png", facecolor="white", metadata={"Software": None})
    return text.getvalue(), picture.getvalue()


def save(section: Section, folder: Path) -> list[Drawing]:
    """Write a problem's figures as SVG and PNG, and return them as they go into the page."""
    drawings = []
    for kind in figures_of(section):
        svg, png = make(section, kind)
        name = f"{escape.file_name(section.label)}-{kind.name}"
        write(folder / f"{name}.svg", svg)
        write(folder / f"{name}.png", png)
        drawings.append(Drawing(kind.caption, inline(svg, name, f"{section.label}: {kind.caption}")))
    return drawings


def inline(svg: str, salt: str, label: str) -> Markup:
    """An SVG as a part of a page: its colours follow the page's, its names are its own, its size is the room there is.

    >>> inline('<svg xmlns="http://www.w3.org/2000/svg" width="9pt" viewBox="0 0 9 5" id="a"/>', "s", "a < b")
    Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 5" id="s-a" role="img" aria-label="a &lt; b" />')
    """
    from markupsafe import Markup

    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                value = f"{salt}-{value}"
            value = re.sub(r"url\(#", f"url(#{salt}-", value)
            value = re.sub(r"^#", f"#{salt}-", value) if key.endswith("href") else value
            for name, shade in (("ink", INK), ("faint", FAINT)):
                value = re.sub(shade, f"var(--{name})", value, flags=re.IGNORECASE)
            element.set(key, value)
    root.set("role", "img")
    root.set("aria-label", escape.printable(label))
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _short(name: str, longest: int = LONGEST) -> str:
    """A name as it goes into a figure."""
    text = escape.printable(name)
    return escape.figure(text if len(text) <= longest else text[: longest - 1] + "…")


def _planners(section: Section, axes: Any) -> None:
    """The planners below the axis, upright as long as they fit."""
    names = [_short(line.name) for line in section.played]
    long = sum(len(name) + 2 for name in names) > 46
    turned = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if long else {}
    axes.set_xticks(range(len(names)), names, **turned)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(False, axis="x")


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
    """The legend above the axes, in as many columns as fit; the figure grows with it."""
    names = axes.get_legend_handles_labels()[1]
    if names:
        columns = min(3, max(1, 56 // (max(map(len, names)) + 5)))
        rows = -(-len(names) // columns)
        axes.figure.set_figheight(SIZE[1] + 0.17 * max(0, rows - 2))
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize=8, borderpad=0.2)
