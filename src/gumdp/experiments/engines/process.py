"""Worker processes for what needs the interpreter or compiles for long: told by pipe, replaced when they die.

``python -P -m gumdp.experiments.engines.process`` is the other end: nothing is imported from the current folder, and
an experiment's modules come from the folders in which the run found them. A worker ends when its pipe does, so that it
never outlives the run that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from gumdp.experiments.engines.job import Done, Job, failed
from gumdp.experiments.plan.code import Code
from gumdp.experiments.plan.version import package_bytes

ATTEMPTS = 3  # a job is given to so many processes before its trials count as failed


class WorkerProcess:
    """A process that does one job after another."""

    def __init__(self, code: Code | None = None) -> None:
        self.code = code or Code()
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False
        self._lock = threading.Lock()  # between starting and ending, which come from different threads

    def perform(self, job: Job) -> Done:
        """What came of ``job``; nothing if the process was ended meanwhile."""
        code = None
        for _ in range(ATTEMPTS):
            process = self._start()
            if process is None:
                return Done(job)
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                pickle.dump(job, process.stdin)
                process.stdin.flush()
                done: Done = pickle.load(process.stdout)
                return done
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                code = _bury(process)
                with self._lock:
                    self._process = None
        if self._over:
            return Done(job)
        message = f"the worker process died {ATTEMPTS} times, the last time with the exit code {code}."
        return failed(job, message)

    def end(self) -> None:
        """Stop the process, whatever it does, for good."""
        with self._lock:
            self._over = True
            process = self._process
        if process is not None:
            _bury(process)

    def _start(self) -> subprocess.Popen[bytes] | None:
        """The process, started if need be; None if it was ended."""
        with self._lock:
            if self._over:
                return None
            if self._process is None:
                facts = {"modules": self.code.modules, "digest": self.code.digest(), "package": package_bytes()}
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "gumdp.experiments.engines.process", json.dumps(facts)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={
                        **os.environ,
                        "PYTHONPATH": os.pathsep.join(_path()),
                        "PYTHONSAFEPATH": "1",
                        "GUMDP_QUIET": "1",
                    },
                    start_new_session=True,  # Ctrl-C is for the run, which then ends its workers
                )
            return self._process


def _path() -> list[str]:
    """Where this process imports from, without the current folder, which nobody stated."""
    here = os.path.realpath(os.getcwd())
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    home = str(Path(__file__).resolve().parents[3])  # of this package
    return path if home in path else [*path, home]


def _bury(process: subprocess.Popen[bytes]) -> int:
    """End a process, close its pipes, and return its exit code."""
    process.kill()
    code = process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError, AttributeError):  # what it was still to be told is lost
            pipe.close()  # type: ignore[union-attr]
    return code


def serve(facts: dict[str, Any]) -> None:
    """Do jobs from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an objective prints must not come between the answers
    requests = _Requests()

    import numpy as np

    from gumdp.experiments.engines.work import BuildCache, perform, sentence

    trouble = _trouble(facts)
    build_cache, stop = BuildCache(), np.zeros(1, np.uint8)
    while True:
        job = requests.next()
        try:
            done = perform(build_cache, job, stop) if trouble is None else failed(job, trouble)
        except BaseException as error:  # what users wrote can raise anything
            done = failed(job, sentence(error))
        pickle.dump(done, answers)
        answers.flush()


def _trouble(facts: dict[str, Any]) -> str | None:
    """Why this process can't do the run's jobs: its code is not the run's."""
    if package_bytes() != facts["package"]:
        return "the files of gumdp were changed while the run was on; start it again."
    code = Code(tuple((name, root) for name, root in facts["modules"]))
    try:
        code.load()
        changed = code.digest() != facts["digest"]
    except BaseException as error:
        return str(error)
    return "the experiment's modules were changed while the run was on; start it again." if changed else None


class _Requests:
    """Jobs as they come in. When the pipe ends the process ends at once, also in the middle of a trial."""

    def __init__(self) -> None:
        self._pipe = sys.stdin.buffer
        self._job: Any = None
        self._here, self._taken = threading.Event(), threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Job:
        self._here.wait()
        self._here.clear()
        job: Job = self._job
        self._taken.set()
        return job

    def _read(self) -> None:
        while True:
            try:
                self._job = pickle.load(self._pipe)
            except (EOFError, OSError, pickle.UnpicklingError):
                os._exit(0)
            self._here.set()
            self._taken.wait()
            self._taken.clear()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
