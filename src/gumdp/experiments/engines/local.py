"""The local engine: compiled trials on threads, the rest on processes, all cores."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from gumdp.errors import GumdpError, check_int
from gumdp.experiments.engines.job import Done, Job, failed
from gumdp.experiments.engines.process import WorkerProcess
from gumdp.experiments.engines.work import BuildCache, perform, sentence
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.code import Code
from gumdp.jit.compiling import Compiling

QUEUE = 2  # jobs waiting for each worker, so that none is idle while results are stored
MOST = 1024  # workers: more than any machine has cores, and fewer than it takes to bring one down
AHEAD = 40  # arms that are prepared before their turn: two settings of the paper, whose small arms are over at once


class Local:
    """This machine. Compiled trials let go of the interpreter and run at the same time in threads of this process.
    For others, and for bounds, each thread has a process of its own to send them to; what is interpreted goes there
    even if there is one worker only, so that it can take nothing else with it. One more thread goes ahead of the
    others and compiles and solves what the next arms need, so that cores are not idle while that goes on."""

    name = "local"
    portion = 0.05

    def __init__(self, workers: int | None = None, code: Code | None = None) -> None:
        self.cores = os.cpu_count() or 1 if workers is None else check_int("workers", workers, 1, MOST)
        self.code = code or Code()
        self._build_cache = BuildCache()
        self._stop = np.zeros(1, np.uint8)
        self._processes: dict[int, WorkerProcess] = {}  # by thread
        self._doing: dict[int, tuple[str, str]] = {}
        self._compiling = Compiling()

    def play(self, jobs: Iterator[Job], arms: Sequence[Arm]) -> Iterator[Done | None]:
        """Yield jobs as they end. The main thread stays interruptible: Ctrl-C stops the others first."""
        running: set[Future[Done]] = set()
        more = True
        scout = Scout(arms if self.cores > 1 else [], self._prepare)  # one worker has its core to itself
        pool = ThreadPoolExecutor(self.cores)
        with self._compiling, scout:
            try:
                while more or running:
                    while more and len(running) < QUEUE * self.cores:
                        job = next(jobs, None)
                        more = job is not None
                        if job is not None:
                            if job.trials:
                                scout.reached(job.arm)
                            running.add(pool.submit(self._work, job))
                    ended, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in sorted(ended, key=lambda f: (f.result().job.index, f.result().job.trials.start)):
                        yield future.result()
                    if not ended:
                        yield None
            finally:
                self.close()
                # Nobody waits for what can't be stopped, such as compiling: all that ended is stored.
                pool.shutdown(wait=False, cancel_futures=True)

    def doing(self) -> list[tuple[str, str]]:
        now, compiling = list(self._doing.items()), self._compiling.threads
        return [(arm, "compiling" if thread in compiling else what) for thread, (arm, what) in now]

    def close(self) -> None:
        self._stop[0] = 1
        for process in list(self._processes.values()):
            process.end()

    def _prepare(self, arm: Arm) -> None:
        """Compile and solve what ``arm`` needs."""
        with self._at(arm.label, "solving" if PHASES.get(arm.planner) == "solving" else "preparing"):
            if not self._stop[0]:
                self._build_cache.compiled(arm)

    def _work(self, job: Job) -> Done:
        """Do a job on this thread, or send it to this thread's process."""
        if self._stop[0]:
            return Done(job)
        if not job.trials:  # what a bound compiles must not keep the searches from compiling
            with self._at(job.arm.problem_label, "bounding"):
                return self._do(job, apart=self.cores > 1 or self._build_cache.interpreted(job.arm))
        try:
            compiled = self._build_cache.compiled(job.arm)
        except BaseException as error:  # of a problem that a user wrote; Ctrl-C comes to the main thread only
            return failed(job, sentence(error))
        with self._at(job.arm.label, PHASES.get(job.arm.planner, "playing")):
            return self._do(job, apart=not compiled)

    def _do(self, job: Job, apart: bool) -> Done:
        if not apart:
            return perform(self._build_cache, job, self._stop)
        process = self._processes.setdefault(threading.get_ident(), WorkerProcess(self.code))
        try:
            return Done(job) if self._stop[0] else process.perform(job)
        except GumdpError as error:  # the modules are not any more what they were
            return failed(job, str(error))

    @contextlib.contextmanager
    def _at(self, arm: str, what: str) -> Iterator[None]:
        """For the display: what this thread is doing."""
        me = threading.get_ident()
        self._doing[me] = (arm, what)
        try:
            yield
        finally:
            self._doing.pop(me, None)


class Scout:
    """A thread that prepares arms in their order, a few ahead of the one that is being played."""

    def __init__(self, arms: Sequence[Arm], prepare: Callable[[Arm], None]) -> None:
        self._arms, self._prepare = arms, prepare
        self._place = {arm.digest: k for k, arm in enumerate(arms)}
        self._front, self._over = 0, False
        self._moved = threading.Condition()
        self._thread = threading.Thread(target=self._go)

    def reached(self, arm: Arm) -> None:
        """The jobs have come to ``arm``."""
        with self._moved:
            self._front = max(self._front, self._place.get(arm.digest, 0))
            self._moved.notify()

    def __enter__(self) -> Scout:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._moved:
            self._over = True
            self._moved.notify()
        if kind is None:  # else it may be compiling, and nobody waits for that
            self._thread.join()

    def _go(self) -> None:
        for k, arm in enumerate(self._arms):
            with self._moved:
                self._moved.wait_for(functools.partial(self._wanted, k))
                if self._over:
                    return
            with contextlib.suppress(Exception):  # whoever plays the arm meets it again, and reports it
                self._prepare(arm)

    def _wanted(self, k: int) -> bool:
        return self._over or k <= self._front + AHEAD


PHASES = {"mcts": "searching", "mcts-paper": "searching", "solver": "solving", "exact": "solving"}
