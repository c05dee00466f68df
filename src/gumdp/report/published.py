"""The paper's Table 1, and what it means to agree with it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROWS = {"random": "random", "solver": "solver", "mcts-paper": "mcts", "mcts": "mcts"}  # our planner: its row
RULE = (
    "A value agrees when our 90 % interval (percentile bootstrap, as in the paper) overlaps the published one, which "
    "is taken half a unit of its last printed digit wider at both ends, since it is rounded. Otherwise ours is lower "
    "or higher; lower is better. MCTS() is another algorithm than the published one: it is compared with the same "
    "row, and lower is what it is for."
)


@dataclass(frozen=True)
class Published:
    """A published mean with its interval."""

    value: float
    minus: float
    plus: float
    unrounded: float
    note: str = ""  # what is known about a disagreement

    @property
    def decimals(self) -> int:
        """The digits after the point that the table shows."""
        return max(2, len(repr(self.value).partition(".")[2]))

    @property
    def interval(self) -> tuple[float, float]:
        """The published interval, and what rounding may have cut off."""
        half = 0.5 * 10.0**-self.decimals
        return self.value - self.minus - half, self.value + self.plus + half

    def verdict(self, interval: tuple[float, float]) -> str:
        """``agrees``, ``lower`` or ``higher``: our interval against this one.

        >>> Published(0.59, 0.0, 0.0, 0.5947).verdict((0.594, 0.596))
        'agrees'
        """
        low, high = self.interval
        return "lower" if interval[1] < low else "higher" if interval[0] > high else "agrees"

    def __str__(self) -> str:
        text = f"{self.value:.{self.decimals}f}"
        return f"{text} ±{self.minus:g}" if self.minus == self.plus else f"{text} −{self.minus:g} +{self.plus:g}"


@functools.cache
def _table() -> dict[str, Any]:
    path = Path(__file__).with_name("table1.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


def published(setting: str, planner: str) -> Published | None:
    """What the paper reports for ``planner`` in ``setting``; None if it has no such entry.

    >>> published("m1-entropy", "random").unrounded
    0.1159
    """
    table = _table()
    entry, row = table["settings"].get(setting), ROWS.get(planner)
    if entry is None or row is None:
        return None
    k = table["rows"].index(row)
    value, minus, plus, unrounded = (entry[name][k] for name in ("table", "minus", "plus", "unrounded"))
    return Published(value, minus, plus, unrounded, table.get("notes", {}).get(setting, {}).get(planner, ""))
