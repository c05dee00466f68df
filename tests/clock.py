"""Assertions about time. Tests share their machine with others, so that a limit is ten times what is promised:
enough to find what hangs or has become another kind of slow. The promise itself is held on a quiet machine, by
``GUMDP_TEST_CLOCK=strict make test-slow`` and by the benchmarks.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STRICT = os.environ.get("GUMDP_TEST_CLOCK") == "strict"
PATIENCE = 1.0 if STRICT else 10.0


def in_time(spent: float, promised: float) -> bool:
    """Whether seconds spent are within what was promised, on a machine like this one."""
    return spent < promised * PATIENCE


@contextmanager
def within(promised: float, clock: Callable[[], float] = time.perf_counter) -> Iterator[None]:
    """What runs inside takes no longer than promised, in seconds of ``clock``.

    Without the garbage collector, as ``timeit`` does: what other tests left behind takes it a second.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        began = clock()
        yield
        spent = clock() - began
    finally:
        if collects:
            gc.enable()
    assert in_time(spent, promised), f"{spent:.3g} s, where {promised:g} s were promised"
