"""What a run shows while it goes: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import IO, Any

from gumdp.experiments.job import Engine, Progress
from gumdp.report.listing import number

SHOWN = 12  # cells with a bar at the same time: those at work


def remark(cell: Progress) -> str:
    """The running mean of a cell's trials, with a 90 % interval."""
    if not cell.done:
        return ""
    error = cell.error
    width = f" ± {1.645 * error:.2g}" if error == error else ""
    failed = f", {cell.failed} failed" if cell.failed else ""
    return f"mean {number(cell.mean)}{width}{failed}"


class PlainLines:
    """A line for each cell that ends: for logs."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._began, self._ended, self._cells = time.perf_counter(), 0, 0

    def begin(self, cells: list[Progress], engine: Engine) -> None:
        """Say what is ahead."""
        self._cells = len(cells)
        self._ended = sum(cell.over for cell in cells)
        found = sum(cell.found for cell in cells)
        trials = sum(cell.total for cell in cells)
        there = f", {found} of them there already" if found else ""
        self.say(f"{len(cells)} cells, {trials} trials{there}; engine {engine.name}")

    def update(self, index: int, cell: Progress) -> None:
        """Print a line if the cell is complete."""
        if cell.over:
            self._ended += 1
            spent = time.perf_counter() - self._began
            self.say(f"[{self._ended}/{self._cells}, {spent:.0f} s] {cell.cell.label}: {remark(cell)}")

    def say(self, message: str) -> None:
        """Print a line."""
        print(message, file=self._stream, flush=True)

    def end(self) -> None:
        """Nothing is left open."""


class LiveBars:
    """A bar a cell at work, above it a line for each that ended, below it the whole and what the machine does."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        text, note = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
        self.console = Console(stderr=True, highlight=False)
        self._bars = Bars(text, BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn(), note, console=self.console)
        self._tasks: dict[int, Any] = {}
        self._engine: Engine | None = None
        self._whole: Any = None

    def begin(self, cells: list[Progress], engine: Engine) -> None:
        """Show the bar of the whole."""
        self._engine = engine
        total, found = sum(cell.total for cell in cells), sum(cell.found for cell in cells)
        self._whole = self._bars.add_task("[bold]all cells", total=total, completed=found, note="")
        self._bars.get_renderable = _with_activity(self._bars, engine)  # type: ignore[method-assign]
        self._bars.start()

    def update(self, index: int, cell: Progress) -> None:
        """Move the cell's bar, or replace it by a line if the cell is complete."""
        before = self._bars.tasks[0].fields.get("counts", {})
        counts = {**before, index: cell.done + cell.failed}
        first = self._bars.tasks[0]
        step = counts[index] - before.get(index, 0)
        self._bars.update(self._whole, advance=step, counts=counts, total=first.total)
        if index not in self._tasks and not cell.over and len(self._tasks) < SHOWN:
            self._tasks[index] = self._bars.add_task(cell.cell.label, total=cell.total, completed=cell.found, note="")
        if index in self._tasks:
            self._bars.update(self._tasks[index], completed=cell.found + cell.done + cell.failed, note=remark(cell))
        if cell.over:
            if index in self._tasks:
                self._bars.remove_task(self._tasks.pop(index))
            self.console.print(f"[green]✓[/] {cell.cell.label}: {remark(cell)}")

    def say(self, message: str) -> None:
        """Print a line above the bars."""
        self.console.print(f"[red]![/] {message}")

    def end(self) -> None:
        """Take the bars away; the lines stay."""
        for task in list(self._bars.task_ids):
            self._bars.remove_task(task)
        self._bars.stop()


def _with_activity(bars: Any, engine: Engine) -> Any:
    """The bars with a line below them: what the machine is doing now."""
    from rich.console import Group
    from rich.text import Text

    plain = bars.get_renderable

    def both() -> Any:
        doing = sorted({f"{what} {cell}" for cell, what in engine.doing()})
        return Group(plain(), Text("; ".join(doing), style="dim", overflow="ellipsis", no_wrap=True))

    return both


def watcher() -> PlainLines | LiveBars:
    """Bars if standard error is a terminal, else plain lines."""
    return LiveBars() if sys.stderr.isatty() else PlainLines()
