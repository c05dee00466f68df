"""What a run shows while it goes: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from typing import IO, Any

from rich import progress
from rich.console import Console, RenderableType
from rich.progress import TaskID
from rich.text import Text

from gumdp import escape
from gumdp.experiments.engines.job import Engine, Progress
from gumdp.report.listing import number
from gumdp.report.screen import Screen

SHOWN = 12  # arms with a bar at the same time: those at work


def label(arm: Progress) -> str:
    """What is played, on one line."""
    return escape.printable(arm.arm.label)


def remark(arm: Progress) -> str:
    """The running mean of an arm's trials, with a 90 % interval."""
    if not arm.done:
        return ""
    error = arm.error
    width = f" ± {1.645 * error:.2g}" if error == error else ""
    failed = f", {arm.failed} failed" if arm.failed else ""
    return f"mean {number(arm.mean)}{width}{failed}"


class PlainLines:
    """A line for each arm that ends: for logs."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._began, self._ended, self._arms = time.perf_counter(), set[int](), 0

    def begin(self, arms: list[Progress], engine: Engine) -> None:
        """Say what is ahead."""
        self._arms = len(arms)
        self._ended = {k for k, arm in enumerate(arms) if arm.over}
        found = sum(arm.found for arm in arms)
        trials = sum(arm.total for arm in arms)
        there = f", {found} of them there already" if found else ""
        self.say(f"{len(arms)} arms, {trials} trials{there}; engine {engine.name}")

    def update(self, index: int, arm: Progress) -> None:
        """Print a line if the arm is complete."""
        if arm.over and index not in self._ended:  # trials of an arm that was given up may still come in
            self._ended.add(index)
            spent = time.perf_counter() - self._began
            self.say(f"[{len(self._ended)}/{self._arms}, {spent:.0f} s] {label(arm)}: {remark(arm)}")

    def say(self, message: str) -> None:
        """Print a line; if nobody reads it any more, the run goes on without."""
        with contextlib.suppress(OSError, ValueError):
            print(escape.terminal(message), file=self._stream, flush=True)

    def end(self) -> None:
        """Nothing is left open."""


class LiveBars:
    """A bar an arm at work, above it a line for each that ended, below it the whole and what the machine does."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Screen(stderr=True)
        self._bars = _Bars(console=self.console)
        self._tasks: dict[int, TaskID] = {}
        self._counts: dict[int, int] = {}
        self._over: set[int] = set()
        self._whole = TaskID(0)

    def begin(self, arms: list[Progress], engine: Engine) -> None:
        """Show the bar of the whole."""
        self._bars.engine = engine
        total, found = sum(arm.total for arm in arms), sum(arm.found for arm in arms)
        self._whole = self._bars.add_task("all arms", total=total, completed=found, note="")
        self._bars.start()

    def update(self, index: int, arm: Progress) -> None:
        """Move the arm's bar, or replace it by a line if the arm is complete."""
        ended = arm.done + arm.failed
        self._bars.update(self._whole, advance=ended - self._counts.get(index, 0))
        self._counts[index] = ended
        name, note = label(arm), remark(arm)
        if index not in self._tasks and not arm.over and len(self._tasks) < SHOWN:
            self._tasks[index] = self._bars.add_task(name, total=arm.total, note="")
        if index in self._tasks:
            self._bars.update(self._tasks[index], completed=arm.found + ended, note=note)
        if arm.over and index not in self._over:
            self._over.add(index)
            if index in self._tasks:
                self._bars.remove_task(self._tasks.pop(index))
            self.console.print(Text.assemble(("✓ ", "green"), f"{name}: {note}"))

    def say(self, message: str) -> None:
        """Print a line above the bars."""
        self.console.print(Text.assemble(("! ", "red"), escape.terminal(message)))

    def end(self) -> None:
        """Take the bars away; the lines stay."""
        self._bars.engine = None
        for task in list(self._bars.task_ids):
            self._bars.remove_task(task)
        self._bars.stop()


class _Bars(progress.Progress):
    """Bars with a line below them: what the machine is doing now."""

    def __init__(self, **options: Any) -> None:
        self.engine: Engine | None = None
        text = progress.TextColumn("{task.description}", markup=False)
        note = progress.TextColumn("{task.fields[note]}", markup=False)
        columns = (progress.BarColumn(30), progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
        super().__init__(text, *columns, note, **options)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.engine is not None:
            doing = sorted({escape.printable(f"{what} {arm}") for arm, what in self.engine.doing()})
            yield Text("; ".join(doing), style="dim", overflow="ellipsis", no_wrap=True)


def watcher() -> PlainLines | LiveBars:
    """Bars if standard error is a terminal, else plain lines."""
    return LiveBars() if sys.stderr.isatty() else PlainLines()
