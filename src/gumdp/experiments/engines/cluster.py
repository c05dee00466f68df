"""The Ray engine: the same jobs on a cluster, their results streamed back to the same store.

A job goes to whatever machine has a free core; when a worker or a node dies, its jobs go to another. The nodes need
the same version of gumdp, and of the modules that an experiment names. Kernels are compiled once a node, into a
folder of that node's own.

A cluster that is started here listens on this machine only (127.0.0.1), and asks for a token that nobody else has.
One that is there already is used as it was set up: who reaches its ports can run code on it, if it has no tokens.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from gumdp.errors import GumdpError, check_int
from gumdp.experiments.engines.job import Done, Job, failed
from gumdp.experiments.engines.local import MOST
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.code import Code
from gumdp.experiments.plan.version import full_version

QUEUE = 2  # jobs sent for each core of the cluster
RETRIES = 5  # of a job whose worker or node died, by Ray itself
PATIENCE = 5.0  # seconds to reach an address
LOOK = 0.4  # seconds between two looks at what else has happened, such as a signal
# How Ray is told to listen on 127.0.0.1 only, as it does by itself on systems other than Linux, and to ask for tokens.
ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}


class Ray:
    """A Ray cluster: the one at ``address``, or one that is started on this machine and ends with the run."""

    name = "ray"
    portion = 1.0

    def __init__(self, address: str | None = None, workers: int | None = None, code: Code | None = None) -> None:
        self.code = code or Code()
        count = None if workers is None else check_int("workers", workers, 1, MOST)
        self._before = dict(os.environ)
        if address is None:
            os.environ |= {**ALONE, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self._ray = _import_ray()
        self._connect(address, count)
        self.cores = int(self._ray.cluster_resources().get("CPU", 1))
        options = {"max_retries": RETRIES, "num_cpus": 1, "scheduling_strategy": "SPREAD"}
        self._remote = self._ray.remote(**options)(play_remotely)
        self._sent: dict[Any, Job] = {}

    def play(self, jobs: Iterator[Job], arms: Sequence[Arm]) -> Iterator[Done | None]:
        """Yield jobs as they end, wherever that is."""
        more = True
        while more or self._sent:
            while more and len(self._sent) < QUEUE * self.cores:
                job = next(jobs, None)
                more = job is not None
                if job is not None:
                    self._sent[self._remote.remote(job, self.code, full_version(self.code.digest()))] = job
            with _signals_later():
                ended, _ = self._ray.wait(list(self._sent), num_returns=1, timeout=LOOK)
            for reference in ended:
                yield self._result(reference, self._sent.pop(reference))
            if not ended:
                yield None

    def _result(self, reference: Any, job: Job) -> Done:
        try:
            done: Done = self._ray.get(reference)
            return done
        except self._ray.exceptions.RayTaskError as error:  # what the job itself raised, on the other side
            message = str(error.cause)
        except self._ray.exceptions.RayError as error:
            message = f"its worker died {RETRIES + 1} times: {str(error).strip().splitlines()[0]}"
        return failed(job, message)

    def doing(self) -> list[tuple[str, str]]:
        return sorted({(job.arm.label, "on the cluster:") for job in list(self._sent.values())})[:4]

    def close(self) -> None:
        for reference in self._sent:
            with contextlib.suppress(Exception):  # it may be over, or the cluster gone
                self._ray.cancel(reference, force=True)
        self._sent = {}
        self._leave()

    def _leave(self) -> None:
        self._ray.shutdown()
        for name in (*ALONE, "RAY_AUTH_TOKEN"):  # a later cluster has its own
            if name in self._before:
                os.environ[name] = self._before[name]
            else:
                os.environ.pop(name, None)

    def _connect(self, address: str | None, workers: int | None) -> None:
        """Reach the cluster, or say why not."""
        if address is not None:
            _check_reachable(address)
        options: dict[str, Any] = {"address": address} if address is not None else {"address": "local"}
        if address is None:
            options |= {"num_cpus": workers or os.cpu_count() or 1, "include_dashboard": False}
        try:
            with _own_signals():
                self._ray.init(**options, logging_level="ERROR", log_to_driver=False, ignore_reinit_error=True)
        except Exception as error:  # Ray has many ways to say this
            reason = " ".join(str(error).split())[:300]
            self._leave()
            raise GumdpError(f"the Ray cluster {address or 'on this machine'} can't be used: {reason}") from None
        if address is None and self._ray.util.get_node_ip_address() not in ("127.0.0.1", "::1"):
            self._leave()
            raise GumdpError(
                "Ray would listen to the whole network, as it was imported before; start the run in a new process, "
                "or start a cluster yourself and name its address."
            )


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM mean afterwards what they meant before: Ray has handlers that end the process unheard."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    came: list[int] = []
    try:
        yield
    except SystemExit:  # from Ray's handler of SIGTERM
        came.append(signal.SIGTERM)
    finally:
        for number, handler in found.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if came:
        signal.raise_signal(came[0])


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    """Signals come when this is over: Ray takes whatever their handlers raise for Ctrl-C."""
    came: list[int] = []
    with _own_signals():
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda number, frame: came.append(number))
        yield
    if came:
        signal.raise_signal(came[0])


def play_remotely(job: Job, code: Code, expected: str) -> Done:
    """Play a job in a worker of the cluster."""
    import numpy as np

    from gumdp.experiments.engines.work import perform

    code.load()
    found = full_version(code.digest())
    if found != expected:
        where = socket.gethostname()
        raise GumdpError(f"the node {where} has gumdp {found}, and this run needs {expected}: install the same.")
    return perform(_build_cache(), job, np.zeros(1, np.uint8))


@functools.cache
def _build_cache() -> Any:
    """What this worker has built, kept for its next jobs."""
    from gumdp.experiments.engines.work import BuildCache

    return BuildCache()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # the default to come; else Ray warns of it
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise GumdpError("the ray engine needs Ray: pip install 'gumdp[ray]', or leave --engine out.") from None
    return ray


def _check_reachable(address: str) -> None:
    """Knock at an address before Ray does, which waits for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise GumdpError(f"--address must be HOST:PORT, ray://HOST:PORT or auto, not {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GumdpError(f"no Ray cluster answers at {address}: {reason}.") from None
