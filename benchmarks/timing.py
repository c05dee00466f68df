"""The least time of several runs, the things compared taking turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def best(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Seconds of each, the least of ``repeats`` rounds; every round runs each once, after one round to warm up."""
    times = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - began)
    return times
