"""Seconds from a new process to its first decision: nothing compiled yet, and all of it in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

SCRIPT = """
import gumdp
gumdp.MCTS(iterations=100).start(gumdp.zoo.load("m1-entropy"), seed=0).act(0)
"""


def seconds() -> dict[str, float]:
    """Cold and warm, imports included."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        times = []
        for _ in range(4):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True)
            times.append(time.perf_counter() - began)
    return {"cold_seconds": times[0], "warm_seconds": min(times[1:])}
