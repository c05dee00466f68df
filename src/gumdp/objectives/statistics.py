"""What kernels ask of an objective's record, for type checkers: see ``gumdp.objectives.record``."""

from __future__ import annotations

from typing import Any, Protocol


class Record(Protocol):
    """A record that kernels can score occupancies with."""

    def count(self) -> int:
        """How many statistics there are."""

    def term(self, m: int, i: int, x: float) -> float:
        """What cell ``i`` holding mass ``x`` adds to statistic ``m``."""

    def combine(self, z: Any, at: int) -> float:
        """The value, from the statistics ``z[at], z[at+1], …``."""

    def price(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        """The marginal cost of more mass at cell ``i``, now ``x``, about to get ``w``."""

    def rank(self, i: int, x: float, w: float, z: Any, at: int) -> float:
        """Anything that orders actions as ``price`` does."""

    def tracks(self) -> bool:
        """Whether ``price`` and ``rank`` read the statistics."""

    def grouped(self) -> bool:
        """Whether it needs the masses of the states too."""

    def dense(self) -> bool:
        """Whether it is a function of the whole array."""

    def value(self, d: Any) -> float:
        """The value at the cells ``d``, if it is dense."""
