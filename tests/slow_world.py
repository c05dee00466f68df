"""An environment whose steps take their time, in a module that other processes can import."""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium


class Slow(gymnasium.Env):
    """A walk on a ring of 5 with a die; every step takes ``seconds``, and ``home`` is the process it is in."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    @property
    def home(self) -> int:
        return os.getpid()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return self.place, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:  # keeps the interpreter busy
            pass
        self.place = (self.place + 1 + int(action) + int(self.np_random.integers(2))) % 5
        if action < 0:
            raise ValueError("backwards")
        return self.place, 0.0, False, False, {}
