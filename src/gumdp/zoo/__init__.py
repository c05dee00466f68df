"""Named problems, with what is known about them."""

from __future__ import annotations

from gumdp.zoo.registry import Entry, entries, load, names, register

__all__ = ["Entry", "entries", "load", "names", "register"]
