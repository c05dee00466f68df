"""Calls from compiled kernels back into Python, for what can't be compiled.

A call costs a few microseconds and takes the interpreter's lock. An exception can't cross a kernel:
it is kept, the kernel gets NaN (or raises an error that stands for it) and stops, and ``reraise`` raises it at the
public edge, in the thread that ran it.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit, objmode

from gumdp.errors import GumdpError
from gumdp.jit.record import u64

_numbers = itertools.count(1)
_callees: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_raised = threading.local()


def register(callee: Any) -> int:
    """A number under which kernels can call ``callee`` for as long as it lives."""
    handle = next(_numbers)
    _callees[handle] = callee
    return handle


def reraise() -> None:
    """Raise what a callee raised inside a kernel that this thread ran, if any did."""
    error = getattr(_raised, "error", None)
    if error is not None:
        _raised.error = None
        raise error


@contextlib.contextmanager
def original_errors() -> Iterator[None]:
    """An error of a kernel that stands for one of a callee is replaced by that one."""
    try:
        yield
    except GumdpError:
        reraise()
        raise


def _value(handle: int, d: Any) -> float:
    try:
        return float(_callees[handle](d.copy()))
    except BaseException as error:
        _raised.error = error
        return np.nan


@njit(_nrt=True)
def python_value(handle, d):
    """The number that callee ``handle`` makes of the array ``d``."""
    with objmode(x="float64"):
        x = _value(handle, d)
    return x


def _amounts(handle: int, number: int, w: float, d: Any) -> float:
    try:
        d += w * np.asarray(_callees[handle].amounts(int(number)), dtype=np.float64)
        return 0.0
    except BaseException as error:
        _raised.error = error
        return np.nan


@njit(_nrt=True)
def python_amounts(handle, number, w, d):
    """Add to ``d`` what the step that led to the state ``number`` of callee ``handle`` was worth, times ``w``."""
    with objmode(x="float64"):
        x = _amounts(handle, number, w, d)
    if np.isnan(x):
        raise GumdpError("the environment failed in the middle of a plan.")


# --- worlds that only the interpreter can run: the callee answers reset, step and restore with (number, cell) ---


def _ask(handle: int, verb: str, *args: Any) -> tuple[int, int]:
    try:
        number, cell = getattr(_callees[handle], verb)(*(int(x) for x in args))
        return number, cell
    except BaseException as error:
        _raised.error = error
        return 0, 0


@njit(_nrt=True)
def python_reset(handle, bits):
    """A start state of callee ``handle``."""
    with objmode(number="uint64", cell="uint64"):
        number, cell = _ask(handle, "reset", bits)
    return checked(number, cell)


@njit(_nrt=True)
def python_step(handle, number, action, bits):
    """The state after ``action`` in the state ``number``, at which callee ``handle`` must be."""
    with objmode(after="uint64", cell="uint64"):
        after, cell = _ask(handle, "step", number, action, bits)
    return checked(after, cell)


@njit(_nrt=True)
def python_restore(handle, number):
    """The state ``number``, at which callee ``handle`` is afterwards."""
    with objmode(same="uint64", cell="uint64"):
        same, cell = _ask(handle, "restore", number)
    return checked(same, cell)


@njit(_nrt=True)
def checked(number, cell):
    """The state (number, cell), unless the callee raised an error."""
    if number == u64(0):
        raise GumdpError("the environment failed in the middle of a plan.")
    return u64(number), u64(cell)
