"""Cells cut into jobs, as small as a saved row deserves and as large as a call's overhead asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gumdp.experiments.plan.arm import Cell
from gumdp.experiments.store.outcome import Outcome

GIVE_UP = 10  # failures of a cell in one run, after which the rest of the cell is left out


@dataclass(frozen=True)
class Job:
    """Consecutive trials of a cell, or with no trials: the lower bound of its problem."""

    index: int  # of the cell in the experiment
    cell: Cell
    trials: range
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """A job that ended."""

    job: Job
    outcomes: Sequence[Outcome] = ()
    finding: dict[str, object] | None = None
    error: str | None = None  # of a bound


def failed(job: Job, message: str) -> Done:
    """A job of which nothing came."""
    if not job.trials:
        return Done(job, error=message)
    return Done(job, [Outcome(k, float("nan"), 0.0, message) for k in job.trials])


@dataclass
class Progress:
    """How far a cell is: counts and running moments, whatever the number of trials."""

    cell: Cell
    total: int
    found: int = 0  # in the store before
    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    mean: float = 0.0
    _squares: float = field(default=0.0, repr=False)

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Count trials that ended."""
        for o in outcomes:
            if o.error is not None:
                self.failed += 1
                continue
            self.done += 1
            self.seconds += o.seconds
            step = o.value - self.mean
            self.mean += step / self.done
            self._squares += step * (o.value - self.mean)

    @property
    def error(self) -> float:
        """The standard error of the mean of this run's trials."""
        return (self._squares / (self.done - 1) / self.done) ** 0.5 if self.done > 1 else float("nan")

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.found + self.done + self.failed >= self.total or self.failed >= GIVE_UP


class Engine(Protocol):
    """What plays jobs."""

    name: str
    portion: float  # seconds that a job should take, where trials are shorter

    def play(self, jobs: Iterator[Job], cells: Sequence[Cell]) -> Iterator[Done]:
        """Take jobs one at a time, as many as can be worked on, and yield them as they end.

        ``cells`` are those that the jobs will be of, in that order.
        """
        ...

    def doing(self) -> list[tuple[str, str]]:
        """What is being worked on: (cell, compiling | solving | searching | playing)."""
        ...

    def close(self) -> None:
        """Stop everything, soon."""
        ...


def cut(
    index: int, progress: Progress, missing: Sequence[int], batch: int, portion: float, keep: tuple[str, ...]
) -> Iterator[Job]:
    """Jobs for the trials ``missing`` of a cell. Later jobs take more trials if the first ones were short."""
    k = 0
    while k < len(missing) and progress.failed < GIVE_UP:
        each = progress.seconds / progress.done if progress.done else None
        size = batch if each is None else max(batch, int(portion / max(each, 1e-9)))
        stop = k + 1
        while stop < min(len(missing), k + size) and missing[stop] == missing[stop - 1] + 1:
            stop += 1
        yield Job(index, progress.cell, range(missing[k], missing[stop - 1] + 1), keep)
        k = stop
