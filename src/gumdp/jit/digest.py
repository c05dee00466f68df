"""A name for what kernels are given: the same in every process, and no other thing's.

It is made of the values of arrays and numbers and of what the methods of records mean (``gumdp.jit.meaning``). What
stands for something of this process, an object that is called back in Python, has no such name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numba
import numpy as np

from gumdp.jit.code import Code
from gumdp.jit.meaning import AFRESH, FOUNDATION
from gumdp.jit.pointer import code_at
from gumdp.jit.record import Record, meaning_of

PACKAGE = Path(__file__).parent.parent


class _Unknown(Exception):
    """Something that has no name in another process."""


def digest_of(*values: Any) -> str | None:
    """The digest of arrays, numbers, words, records and tuples of them; None if there is anything else in them.

    >>> digest_of(1.0, "a") == digest_of(1.0, "a") != digest_of(1, "a")
    True
    >>> digest_of(object()) is None
    True
    """
    if numba.config.DISABLE_JIT:
        return None
    digest = hashlib.sha256(FOUNDATION)
    try:
        _say(digest, values)
    except _Unknown:
        return None
    return digest.hexdigest()[:32]


def sources_digest(*rooms: str) -> str:
    """A digest of the source files of the package that are in these rooms, each a file or a folder."""
    digest = hashlib.sha256()
    for room in rooms:
        path = PACKAGE / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def changed_in(*values: Any) -> Code | None:
    """A function in these records that means something else than when it was compiled; None if there is none."""
    for value in values:
        found = value if isinstance(value, Code) and value.has_changed() else None
        if isinstance(value, tuple):
            address = getattr(value, "address", None)
            code = None if address is None else code_at(int(address))
            found = changed_in(*value, *([] if code is None else [code]))
        if found is not None:
            return found
    return None


def _say(digest: Any, value: Any) -> None:
    """Make ``value`` a part of the digest."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise _Unknown
        digest.update(f"array {value.dtype.str} {value.shape};".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Code):
        _say_meaning(digest, value.digest)
    elif isinstance(value, tuple):
        _say_tuple(digest, value)
    elif isinstance(value, bool | int | float | str | bytes | np.generic | None):
        digest.update(f"{type(value).__name__} {value!r};".encode())
    else:
        raise _Unknown


def _say_tuple(digest: Any, value: tuple[Any, ...]) -> None:
    names = getattr(value, "_fields", range(len(value)))
    digest.update(f"{type(value).__name__} {len(value)};".encode())
    if isinstance(value, Record):
        _say_meaning(digest, meaning_of(value))
    for name, part in zip(names, value, strict=True):
        digest.update(f"{name}:".encode())
        if name == "address":
            code = code_at(int(part))
            _say_meaning(digest, AFRESH if code is None else code.digest)
        elif name != "handle":
            _say(digest, part)
        elif "address" not in names:  # a number under which Python is called back, and not only when it fails
            raise _Unknown


def _say_meaning(digest: Any, meaning: str) -> None:
    if not meaning or meaning.startswith(AFRESH):
        raise _Unknown
    digest.update(f"means {meaning};".encode())
