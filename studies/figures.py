"""Curves of the study: a panel a setting, both searches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gumdp.report.figures import COLOURS, MARKS, STYLE
from studies.data import NINE, Folder, Played

NAMES = {"mcts-paper": "MCTS.paper()", "mcts": "MCTS()"}
AXES: dict[str, tuple[str, Callable[[Played], float]]] = {
    "planning-iterations": ("iterations per decision", lambda played: played.arm.planner_options["iterations"]),
    "planning-seconds": ("milliseconds per decision", lambda played: 1000.0 * played.decision),
}


def curves(folder: Folder) -> dict[str, dict[str, list[Played]]]:
    """The cells of each of the nine settings and each search, by iterations; settings without a curve left out."""
    found: dict[str, dict[str, list[Played]]] = {}
    for problem in (p for p in folder.problems() if p in NINE):
        for planner in NAMES:
            line = [c for c in folder.arms if (c.arm.problem_label, c.arm.planner) == (problem, planner)]
            line = [c for c in line if set(c.arm.planner_options) == {"iterations"}]
            if len(line) > 1:
                line.sort(key=lambda c: c.arm.planner_options["iterations"])
                found.setdefault(problem, {})[planner] = line
    return found


def draw(lines: dict[str, dict[str, list[Played]]], name: str, images: Path) -> None:
    """Write the figure ``name`` as PNG: mean values with 90 % intervals against what AXES says."""
    import matplotlib
    from docs.narrow import also_narrow
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    label, place = AXES[name]
    rows = -(-len(lines) // 3)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 0.5 + 2.4 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(rows, 3, squeeze=False).ravel()
        for panel, (problem, by_planner) in zip(panels, lines.items(), strict=False):
            for planner, line in by_planner.items():
                draw_line(panel, planner, line, [place(played) for played in line])
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter("")
            panel.set_title(problem, weight="bold")
        for panel in panels[len(lines) :]:
            panel.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2)
        figure.supxlabel(label, fontsize=9)
        figure.supylabel("mean value (less is better), 90 % interval", fontsize=9)
        images.mkdir(parents=True, exist_ok=True)
        with also_narrow():
            figure.savefig(images / f"{name}.png", dpi=110, facecolor="white", metadata={"Software": None})


def draw_line(panel: Any, planner: str, line: list[Played], places: list[float]) -> None:
    """The means of one search with their band."""
    ends = [played.interval() for played in line]
    shade = COLOURS[planner]
    panel.fill_between(places, [e[0] for e in ends], [e[1] for e in ends], color=shade, alpha=0.2, linewidth=0)
    means = [played.mean for played in line]
    panel.plot(places, means, "-", color=shade, marker=MARKS[planner], markersize=4, label=NAMES[planner])
