"""Objectives that only the interpreter can evaluate, as kernels call them."""

from __future__ import annotations

import warnings
from typing import Any

from gumdp.jit.callback import python_value, register
from gumdp.jit.record import record
from gumdp.objectives.base import Objective, Shape
from gumdp.objectives.record import Dense


def interpreted(objective: Objective, shape: Shape, reason: str) -> Any:
    """The record that calls ``objective`` back from kernels, for as long as the objective lives; it warns why."""
    warnings.warn(
        f"the objective {objective!r} runs as plain Python, which makes planning many times slower: {reason}.",
        stacklevel=3,
    )
    return InterpretedRecord(register(objective), *shape)


@record
class InterpretedRecord(Dense):
    """An objective that kernels ask for through the interpreter."""

    handle: int
    rows: int
    columns: int

    def value(self, d: Any) -> float:
        return float(python_value(self.handle, d[: self.rows * self.columns].reshape((self.rows, self.columns))))
