"""A policy in the middle of a trial as plain arrays: for a file, and back.

Nothing of it is code, and nothing is run when it is read: a file of NumPy arrays, without pickled objects.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gumdp import files
from gumdp.errors import GumdpError, show
from gumdp.problem import Problem

FORMAT = 1
KEPT = ("root", "z_root", "history", "taken", "length")  # of a running occupancy; all else follows from these
TABLE = ("keys", "used", "order", "marks")  # of cells that are found by their hash

Arrays = dict[str, Any]


def title_of(planner: str, problem: Problem) -> str:
    """What a file must have been written for to be read again."""
    digest = hashlib.sha256(problem.weights.tobytes())
    digest.update(repr((problem.shape, problem.counted, problem.horizon, problem.names)).encode())
    told = {"format": FORMAT, "planner": planner, "problem": repr(problem), "digest": digest.hexdigest()[:16]}
    return json.dumps(told, sort_keys=True)


def write(path: str | Path, title: str, arrays: Arrays) -> None:
    """Write a file whole, or not at all."""
    data = io.BytesIO()
    np.savez_compressed(data, title=np.array(title), **arrays)
    try:
        files.write(Path(path), data.getvalue())
    except OSError as error:
        raise GumdpError(f"save: {show(str(path))} can't be written: {error.strerror}.") from None


def read(path: str | Path, title: str) -> Arrays:
    """The arrays of a file that was written under this title."""
    try:
        arrays = files.read_arrays(Path(path))
        found = json.loads(str(arrays.pop("title")))
    except OSError as error:
        raise GumdpError(f"load: {show(str(path))} can't be read: {error.strerror or 'it is no such file'}.") from None
    except Exception as error:  # what is damaged, or was never one, fails in many ways
        raise GumdpError(
            f"load: {show(str(path))} is not a file that policy.save wrote ({type(error).__name__})."
        ) from None
    wanted = json.loads(title)
    for key in wanted:
        if not isinstance(found, dict) or found.get(key) != wanted[key]:
            theirs = show(found.get(key)) if isinstance(found, dict) else "nothing"
            raise GumdpError(f"load: the file is of another {key}, {theirs}, and this is {show(wanted[key])}.")
    return arrays


def put(name: str, target: Any, arrays: Arrays) -> None:
    """``target`` becomes what the file has under this name, if it has that in the same shape."""
    source = arrays.get(name)
    if source is None or source.shape != target.shape or source.dtype != target.dtype:
        raise GumdpError(f"load: the file is damaged: {name} is missing, or of another shape.")
    target[...] = source


def running_arrays(prefix: str, running: Any) -> Arrays:
    """What there is to keep of a running occupancy."""
    arrays = {f"{prefix}.{name}": getattr(running, name) for name in KEPT}
    if hasattr(running.counts, "keys"):
        arrays |= {f"{prefix}.counts.{name}": getattr(running.counts, name) for name in TABLE}
    return arrays


def restore_running(prefix: str, running: Any, arrays: Arrays) -> None:
    """The running occupancy becomes what it was, but for what is computed from it."""
    for name in KEPT:
        put(f"{prefix}.{name}", getattr(running, name), arrays)
    if hasattr(running.counts, "keys"):
        for name in TABLE:
            put(f"{prefix}.counts.{name}", getattr(running.counts, name), arrays)


def arrays_in(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every array inside nested tuples that can be written to, with its place."""
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            yield path, value
    elif isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        for name, part in zip(names, value, strict=True):
            yield from arrays_in(part, f"{path}.{name}")
