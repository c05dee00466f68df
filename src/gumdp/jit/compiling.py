"""Compiling takes seconds: who is doing it right now, a line that says so, and a clock that does not count it."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from numba.core import event

SOON = 1.0  # seconds of compiling after which somebody may wonder


class Spent:
    """Seconds inside, also while still inside."""

    def __init__(self) -> None:
        self.depth, self.since, self.before = 0, 0.0, 0.0

    def move(self, by: int) -> None:
        """In or out, perhaps into what one is in already."""
        if self.depth == 0:
            self.since = time.perf_counter()
        self.depth += by
        if self.depth == 0:
            self.before += time.perf_counter() - self.since

    @property
    def seconds(self) -> float:
        return self.before + (time.perf_counter() - self.since if self.depth else 0.0)


class Clock(event.Listener):  # type: ignore[misc]
    """The time, without what was spent on compiling: one thread compiles, and those that need it wait for its lock.

    ``clock()`` does not count what this thread spent so, ``clock.whole()`` not what any did.
    """

    def __init__(self) -> None:
        self._any, self._mine = Spent(), threading.local()
        self._lock, self._said = threading.Lock(), False
        event.register("numba:compiler_lock", self)
        event.register("numba:compile", self)

    def on_start(self, event: Any) -> None:
        if event.kind == "numba:compile":
            ours = str(event.data["dispatcher"].__module__).startswith("gumdp.")
            if ours and not self._said and self._any.seconds > SOON:
                self._said = True
                _say()
        else:
            self._move(1)

    def on_end(self, event: Any) -> None:
        if event.kind != "numba:compile":
            self._move(-1)

    def _move(self, by: int) -> None:
        self._own.move(by)
        with self._lock:
            self._any.move(by)

    @property
    def _own(self) -> Spent:
        if not hasattr(self._mine, "spent"):
            self._mine.spent = Spent()
        spent: Spent = self._mine.spent
        return spent

    def __call__(self) -> float:
        return time.perf_counter() - self._own.seconds

    def whole(self) -> float:
        """The time, without that in which some thread was compiling."""
        with self._lock:
            return time.perf_counter() - self._any.seconds


def _say() -> None:
    """Say on standard error that something is being compiled, unless GUMDP_QUIET is set."""
    if not os.environ.get("GUMDP_QUIET"):
        print(
            "gumdp: compiling for this kind of problem takes some seconds. The next process finds it on disk, and "
            "compiles only functions of yours. GUMDP_QUIET=1 leaves this line out.",
            file=sys.stderr,
            flush=True,
        )


clock = Clock()  # for times that are reported


class Compiling:
    """The threads that are compiling now, as Numba tells."""

    def __init__(self) -> None:
        self._depth: dict[int, int] = {}
        self._listener: object = None

    @property
    def threads(self) -> set[int]:
        """Identities of threads."""
        return {thread for thread, depth in list(self._depth.items()) if depth > 0}

    def __enter__(self) -> Compiling:
        depth = self._depth

        class Listener(event.Listener):  # type: ignore[misc]
            def on_start(self, event: object) -> None:
                me = threading.get_ident()
                depth[me] = depth.get(me, 0) + 1

            def on_end(self, event: object) -> None:
                depth[threading.get_ident()] -= 1

        self._listener = Listener()
        event.register("numba:compile", self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self._listener)
