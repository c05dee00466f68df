"""What a trial leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """A trial that ended: its value, or why there is none."""

    trial: int
    value: float
    seconds: float
    error: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)  # arrays, by what they are
