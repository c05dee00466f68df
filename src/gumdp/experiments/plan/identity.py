"""What makes two settings the same: one canonical text for equal ones, and another for all others.

Keys are never made of what is printed for people: ``1`` and ``"1"`` print alike, and so do ``mode="a, scale=7"`` and
``mode="a", scale=7``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, describe, show

BITS = 4096  # of a whole number: longer ones can't be printed, and nobody means them


def canonical(value: Any, what: str = "an option") -> Any:
    """``value`` as JSON has it, in the one form that equal values share and unequal ones don't.

    Tuples are lists and whole numbers have no point; an array stands by its type, shape and digest, a path by itself.

    >>> canonical((1.0, 0.5, "1")), canonical({2: "a"})
    ([1, 0.5, '1'], {'mapping': [[2, 'a']]})
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return canonical(value.item(), what)
    if isinstance(value, int):
        if value.bit_length() > BITS:
            raise GumdpError(f"{what} must be a number of at most {BITS} bits, not of {value.bit_length()}.")
        return int(value)
    if isinstance(value, float):
        whole = value.is_integer() and math.copysign(1.0, value) > 0
        return int(value) if whole else value
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value) and value.keys() not in ({"array"}, {"file"}, {"mapping"}):
            return {key: canonical(entry, what) for key, entry in value.items()}
        return {"mapping": sorted(([canonical(k, what), canonical(v, what)] for k, v in value.items()), key=dumps)}
    if isinstance(value, list | tuple):
        return [canonical(entry, what) for entry in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"array": [value.dtype.str, list(value.shape), digest]}
    if isinstance(value, Path):
        return str(value)
    raise GumdpError(f"{what} must be made of numbers, words, lists, tables, arrays and paths, not {describe(value)}.")


def dumps(value: Any) -> str:
    """The one text of canonical data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """A name for canonical data that no other data has."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:24]


def file_digest(who: str, path: str | Path) -> str:
    """The digest of what is in a file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise ValueError
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a file"
        raise GumdpError(f"{who}: {show(str(path))} can't be read: {reason}.") from None


def called(name: str, options: Mapping[str, Any]) -> str:
    """A name with its options for people. A word stands as it is; what could be read otherwise is in quotes.

    >>> called("patrol", {"rows": 5, "mode": "far"}), called("patrol", {"rows": "5"})
    ('patrol(rows=5, mode=far)', "patrol(rows='5')")
    """
    inside = ", ".join(f"{key}={_shown(value)}" for key, value in options.items())
    return f"{name}({inside})" if inside else name


def _shown(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)
    plain = re.fullmatch(r"[^\W\d][\w./-]*|[/.][\w./-]+", value) and value not in (
        "True",
        "False",
        "None",
        "nan",
        "inf",
    )
    return value if plain else repr(value)
