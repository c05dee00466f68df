"""A trial as a film: where the time went, step by step."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int, check_type, show
from gumdp.files import write
from gumdp.plot.ink import action_label, state_label
from gumdp.plot.maps import occupancy
from gumdp.problem import Problem
from gumdp.results import Trial

LONGEST = 200  # frames, beyond which several steps share one


def animate(problem: Problem, trial: Trial, path: str | os.PathLike[str], *, fps: int = 8) -> Path:
    """Write a GIF or an MP4 of a trial: the shares of the time as they grow, and what was done.

    An MP4 needs the program ffmpeg. Long trials show several steps a frame, 200 frames at most.

    >>> import gumdp, os, tempfile
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=3)
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = gumdp.plot.animate(problem, trial, os.path.join(folder, "m1.gif"))
    >>> os.path.basename(path)
    'm1.gif'
    """
    check_type("plot.animate: problem", problem, Problem)
    check_type("plot.animate: trial", trial, Trial)
    fps = check_int("plot.animate: fps", fps, 1, 60)
    target = Path(path)
    if target.suffix not in (".gif", ".mp4"):
        raise GumdpError(f"plot.animate: the file must end in .gif or .mp4, not {show(target.name)}.")
    if target.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise GumdpError("plot.animate: an .mp4 needs the program ffmpeg; install it, or write a .gif.")
    try:
        write(target, _film(problem, trial, target.suffix, fps))
    except OSError as error:
        raise GumdpError(f"{show(str(target))} can't be written: {error.strerror or error}.") from error
    return target


def _film(problem: Problem, trial: Trial, suffix: str, fps: int) -> bytes:
    from matplotlib.animation import FFMpegWriter, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, stops = np.asarray(trial.cells), _stops(trial.actions.size)
    largest = float(np.asarray(trial.occupancy).sum(axis=1).max())
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    writer: Any = PillowWriter(fps=fps) if suffix == ".gif" else FFMpegWriter(fps=fps)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"film{suffix}"
        with writer.saving(figure, str(file), dpi=90):
            for stop in stops:
                _frame(figure, problem, trial, rows, stop, largest)
                writer.grab_frame()
        return io.BytesIO(file.read_bytes()).getvalue()


def _stops(steps: int) -> list[int]:
    """The numbers of steps after which there is a frame; the last frame stays for a while."""
    stops = np.unique(np.linspace(1, steps, min(steps, LONGEST)).round().astype(int)).tolist()
    return [*stops, *[stops[-1]] * 4]


def _frame(figure: Any, problem: Problem, trial: Trial, rows: Any, stop: int, largest: float) -> None:
    d = np.zeros(problem.model.shape)
    np.add.at(d, (rows[:stop], np.asarray(trial.actions)[:stop]), problem.weights[:stop])
    figure.clear()
    occupancy(problem.model, d, figure.subplots(), largest=largest)
    where = state_label(problem.model, int(rows[stop - 1]))
    what = action_label(problem.model, int(trial.actions[stop - 1]))
    figure.suptitle(f"step {stop} of {trial.actions.size}: {where}, {what}", fontsize=10)  # above the legend
