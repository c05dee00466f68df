"""Calls from compiled kernels back into Python, for what can't be compiled.

A call costs a few microseconds and takes the interpreter's lock. An exception can't cross a kernel:
it is kept, the kernel gets NaN and stops, and ``reraise`` raises it at the public edge, in the thread that ran it.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

import numpy as np
from numba import njit, objmode

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
