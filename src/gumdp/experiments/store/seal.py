"""Checksums: of each row, and for each group of rows of how many there are and of all of them together.

A row that was changed has another seal; a row that is missing, or there twice, makes another tally. Seals guard against
damage, not against people: who can write the file can make seals.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

WORD = 1 << 64


def seal(*facts: Any) -> int:
    """A checksum of 64 bits, as SQLite has whole numbers.

    >>> seal("trials", 1, 0.5) == seal("trials", 1, 0.5), seal("trials", 1, 0.5) == seal("trials", 1, 0.25)
    (True, False)
    """
    plain = tuple(hashlib.blake2b(fact).digest() if isinstance(fact, bytes) else fact for fact in facts)
    digest = hashlib.blake2b(repr(plain).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True)
class Tally:
    """How many rows there are, and the sum of their seals."""

    rows: int = 0
    total: int = 0

    def plus(self, rows: int, seals: int) -> Tally:
        """The tally with further rows, whose seals add up to ``seals``."""
        total = (self.total + seals) % WORD
        return Tally(self.rows + rows, total - WORD if total >= WORD // 2 else total)
