"""Pictures and films that commands write."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gumdp
from gumdp import escape
from gumdp.errors import GumdpError, show
from gumdp.files import write
from gumdp.objectives.compose import part_values

if TYPE_CHECKING:
    from gumdp.cli.files import Measures

PICTURES, FILMS = (".png", ".svg", ".pdf"), (".gif", ".mp4")


def check_pictures(picture: Path | None, film: Path | None) -> None:
    """Raise before anything is computed, if what is to be written is of no kind that can be."""
    for flag, path, kinds in (("--plot", picture, PICTURES), ("--animate", film, FILMS)):
        if path is not None and path.suffix not in kinds:
            raise GumdpError(f"{flag} writes {', '.join(kinds[:-1])} or {kinds[-1]}, not {show(path.name)}.")
        if path is not None and not path.parent.is_dir():
            raise GumdpError(f"{flag}: there is no folder {show(str(path.parent))}.")


def draw_trial(
    problem: gumdp.Problem, trial: gumdp.Trial, picture: Path | None, film: Path | None, asked: Measures
) -> None:
    """Write what was asked for."""
    if picture is not None:
        _draw(problem, trial, picture, asked)
    if film is not None:
        gumdp.plot.animate(problem, trial, film)


def _draw(problem: gumdp.Problem, trial: gumdp.Trial, path: Path, asked: Measures) -> None:
    """The trial, where its time went, and its measures, one below the other."""
    import matplotlib

    with matplotlib.rc_context({"savefig.bbox": "tight"}):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        measures = asked.functions or _parts(problem, trial)
        rows = 3 if measures else 2
        figure = Figure(figsize=(8.0, 3.6 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, 1)
        gumdp.plot.trajectory(problem, trial, axes[0])
        gumdp.plot.occupancy(problem, trial.occupancy, axes[1])
        if measures:
            gumdp.plot.measure(problem, trial, measures, axes[2], limits=asked.limits)
        figure.suptitle(f"{problem.name or 'a problem'} · {trial.planner} · value {trial.value:.4g}", fontsize=11)
        data = io.BytesIO()
        figure.savefig(data, format=path.suffix[1:], dpi=130)
    write(path, data.getvalue())


def draw_bounds(name: str, history: list[gumdp.Bound], path: Path) -> None:
    """Write a picture of bounds as they tightened."""
    import matplotlib

    with matplotlib.rc_context({"savefig.bbox": "tight"}):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.0, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        ax = gumdp.plot.bounds(history, figure.subplots())
        ax.set_title(escape.figure(name), fontsize=11)
        data = io.BytesIO()
        figure.savefig(data, format=path.suffix[1:], dpi=130)
    write(path, data.getvalue())


def _parts(problem: gumdp.Problem, trial: gumdp.Trial) -> dict[str, Callable[[Any], float]]:
    """What else a picture can show: the terms of the objective, by name, if it is a sum."""
    return {name: _part(problem.objective, name) for name in trial.parts}


def _part(objective: gumdp.Objective, name: str) -> Callable[[Any], float]:
    return lambda d: part_values(objective, d)[name]
