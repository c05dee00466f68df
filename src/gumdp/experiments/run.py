"""Running an experiment into a folder: what is there is skipped, what ends is stored, what fails is told."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from gumdp.experiments.engines.job import GIVE_UP, Done, Engine, Job, Progress, cut, gaps
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.version import machine
from gumdp.experiments.store.store import Store, StoreError

OTHER = "played again to keep what was not kept before, it has another value; that happens where time is limited."


class Watcher(Protocol):
    """What is told of a run as it goes."""

    def begin(self, arms: list[Progress], engine: Engine) -> None:
        """The run begins."""
        ...

    def update(self, index: int, arm: Progress) -> None:
        """Trials of an arm ended."""
        ...

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        ...

    def end(self) -> None:
        """The run is over, however it ended."""
        ...


class Silent:
    """Nobody watches."""

    def begin(self, arms: list[Progress], engine: Engine) -> None: ...

    def update(self, index: int, arm: Progress) -> None: ...

    def say(self, message: str) -> None: ...

    def end(self) -> None: ...


class Quiet:
    """A watcher that can lose its voice: when the reader of standard error is gone, the run goes on in silence."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def begin(self, arms: list[Progress], engine: Engine) -> None:
        self._tell("begin", arms, engine)

    def update(self, index: int, arm: Progress) -> None:
        self._tell("update", index, arm)

    def say(self, message: str) -> None:
        self._tell("say", message)

    def end(self) -> None:
        self._tell("end")

    def _tell(self, verb: str, *what: Any) -> None:
        try:
            getattr(self._watcher, verb)(*what)
        except (OSError, ValueError):  # the other end is gone, or the stream is closed
            self._watcher = Silent()


@dataclass(frozen=True)
class Summary:
    """How a run went."""

    folder: Path
    arms: int
    trials: int  # asked for, in all
    found: int  # of them in the store before
    played: int
    failures: tuple[str, ...] = field(repr=False)  # a sentence each, the first of each arm
    failed: int
    seconds: float
    stopped: str | None = None  # why the run ended early

    @property
    def complete(self) -> bool:
        """Whether every trial is in the store now."""
        return self.found + self.played == self.trials and self.failed == 0 and self.stopped is None


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    engine: Engine | None = None,
    watcher: Watcher | None = None,
    *,
    bounds: bool = False,
    command: str | None = None,
) -> Summary:
    """Play every trial of ``experiment`` that ``folder`` does not hold yet, and store each as soon as it ends.

    Interrupted in any way, even killed, the run is taken up again by the same call, with the same results as if
    nothing had happened.

    Args:
        experiment: what is to be played.
        folder: where results are kept; it is made if it is not there.
        engine: who plays the trials; by default processes of this machine.
        watcher: is told of every step of the run.
        bounds: find lower bounds of the problems, and store them too.
        command: what the store notes as the command that was given.

    >>> import gumdp, tempfile
    >>> plan = gumdp.Experiment.grid(["m1-entropy"], ["random"], trials=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = gumdp.run_experiment(plan, folder)
    ...     second = gumdp.run_experiment(plan, folder)
    >>> first.played, second.played  # what is there is not played again
    (20, 0)
    """
    if engine is None:
        from gumdp.experiments.engines.local import Local

        engine = Local(code=experiment.code)
    with Store.open(folder, experiment.version) as store:
        return _Run(experiment, store, engine, Quiet(watcher or Silent()), bounds).go(command or " ".join(sys.argv))


run = run_experiment


class _Run:
    """A run on its way."""

    def __init__(self, experiment: Experiment, store: Store, engine: Engine, watcher: Watcher, bounds: bool) -> None:
        self.experiment, self.store, self.engine, self.watcher, self.bounds = experiment, store, engine, watcher, bounds
        self.failures: list[str] = []
        self.progress = [Progress(arm, experiment.trials) for arm in experiment.arms]

    def go(self, command: str) -> Summary:
        began = time.perf_counter()
        for progress in self.progress:
            progress.found = sum(k < progress.total for k in self.store.done(progress.arm, self.experiment.keep))
        self.store.begin(self.engine.name, {**machine(), "study": self.experiment.study()}, command)
        self.watcher.begin(self.progress, self.engine)
        stopped = None
        try:
            arms = [progress.arm for progress in self.progress if progress.found < progress.total]
            for done in self.engine.play(self._jobs(), arms):
                self.store.check()
                if done is not None:
                    self._take(done)
        except StoreError as error:
            stopped = str(error)
        except BaseException as error:
            self._note_end(getattr(error, "word", "interrupted"), began)
            raise
        finally:
            self.engine.close()
            self.watcher.end()
        summary = self._summary(time.perf_counter() - began, stopped)
        self._note_end("complete" if summary.complete else stopped or f"{summary.failed} trials failed", began)
        return summary

    def _note_end(self, status: str, began: float) -> None:
        with contextlib.suppress(StoreError):  # a full disk has been told of already
            self.store.end(status, time.perf_counter() - began)

    def _jobs(self) -> Iterator[Job]:
        """What is to do, a job at a time: nothing is listed before its turn.

        Bounds come first: they keep cores busy while the first searches compile.
        """
        firsts = {progress.arm.problem_key: index for index, progress in reversed([*enumerate(self.progress)])}
        for index in sorted(firsts.values()) if self.bounds else ():
            arm = self.progress[index].arm
            if self.store.finding("bound", arm.problem_digest) is None:
                yield Job(index, arm, range(0))
        for index, progress in enumerate(self.progress):
            arm = progress.arm
            if progress.found < progress.total:
                missing = gaps(self.store.done(arm, self.experiment.keep), progress.total)
                batch = 1 if self.experiment.keep else arm.make_planner().batch
                portion, cores = self.engine.portion, self.engine.cores
                yield from cut(index, progress, missing, batch, portion, self.experiment.keep, cores)

    def _take(self, done: Done) -> None:
        """Store what a job brought."""
        job = done.job
        if done.finding is not None:
            self.store.note("bound", job.arm.problem_digest, done.finding)
        if done.error is not None:
            self._fail(f"{job.arm.problem_label}: there is no lower bound: {done.error}")
        if not done.outcomes:
            return
        other = set(self.store.add(job.arm, done.outcomes))
        progress = self.progress[job.index]
        for outcome in done.outcomes:
            if outcome.trial in other:
                outcome = replace(outcome, error=OTHER)
            if outcome.error is not None:
                if progress.failed == 0:
                    self._fail(f"{job.arm.label}: trial {outcome.trial} failed: {outcome.error}")
                if progress.failed + 1 == GIVE_UP:
                    self.watcher.say(f"{job.arm.label}: {GIVE_UP} trials failed; the rest of this arm is left out.")
            progress.add([outcome])
        self.watcher.update(job.index, progress)

    def _fail(self, message: str) -> None:
        self.failures.append(message)
        self.watcher.say(message)

    def _summary(self, seconds: float, stopped: str | None) -> Summary:
        arms: list[Any] = self.progress
        return Summary(
            folder=self.store.folder,
            arms=len(arms),
            trials=sum(p.total for p in arms),
            found=sum(p.found for p in arms),
            played=sum(p.done for p in arms),
            failures=tuple(self.failures),
            failed=sum(p.failed for p in arms),
            seconds=seconds,
            stopped=stopped,
        )
