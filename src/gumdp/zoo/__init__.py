"""Named problems, with what is known about them."""

from __future__ import annotations

from gumdp.zoo.registry import Entry, entries, find, load, names, register

__all__ = ["Entry", "entries", "find", "load", "names", "register"]
