"""Arms cut into jobs, as small as a saved row deserves and as large as a call's overhead asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.outcome import Outcome

GIVE_UP = 10  # failures of an arm in one run, after which the rest of the arm is left out
FIRST = 20  # trials in the first jobs of an arm, of which nobody knows how long they take


@dataclass(frozen=True)
class Job:
    """Consecutive trials of an arm, or with no trials: the lower bound of its problem."""

    index: int  # of the arm in the experiment
    arm: Arm
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
    """How far an arm is: counts and running moments, whatever the number of trials."""

    arm: Arm
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
    def cell(self) -> Arm:
        """The arm, by its old name."""
        return self.arm

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
    cores: int  # how many jobs can be worked on at the same time

    def play(self, jobs: Iterator[Job], arms: Sequence[Arm]) -> Iterator[Done | None]:
        """Take jobs one at a time, as many as can be worked on, and yield them as they end.

        While nothing ends, None is yielded several times a second: who asks can look after other things.

        ``arms`` are those that the jobs will be of, in that order.
        """
        ...

    def doing(self) -> list[tuple[str, str]]:
        """What is being worked on: (arm, compiling | solving | searching | playing)."""
        ...

    def close(self) -> None:
        """Stop everything, soon."""
        ...


def gaps(done: Iterable[int], total: int) -> Iterator[range]:
    """The trials below ``total`` that are not in ``done``, as ranges, one at a time.

    >>> list(gaps({2, 3, 7}, 9))
    [range(0, 2), range(4, 7), range(8, 9)]
    """
    start = 0
    for k in sorted(k for k in done if k < total):
        if k > start:
            yield range(start, k)
        start = k + 1
    if start < total:
        yield range(start, total)


def cut(
    index: int,
    progress: Progress,
    missing: Iterable[range],
    batch: int,
    portion: float,
    keep: tuple[str, ...],
    cores: int = 1,
) -> Iterator[Job]:
    """Jobs for the trials ``missing`` of an arm. Later jobs take more trials if the first ones were short.

    The first ones are small whatever the planner: trials of a slow objective are not to be lost by the thousand. A
    planner that plays two trials at a time gets two, as long as there are as many for each of the ``cores``.
    """
    for gap in missing:
        start = gap.start
        while start < gap.stop and progress.failed < GIVE_UP:
            each = progress.seconds / progress.done if progress.done else None
            least = min(batch, 2) if gap.stop - start >= 2 * cores else 1
            size = min(batch, FIRST) if batch > 2 else least
            if each is not None:
                size = max(least, int(portion / max(each, 1e-9)))
            stop = min(gap.stop, start + size)
            yield Job(index, progress.arm, range(start, stop), keep)
            start = stop
