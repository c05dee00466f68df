"""A compiled function of the user's as an address, which kernels call through.

The function is compiled alone, in a fraction of a second, and meets a search that is compiled already: one search for
all functions, found on disk, and nothing of it to be compiled again when a line of the function is edited.
"""

from __future__ import annotations

import weakref
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from gumdp.jit.code import READ_ONLY, Code, as_read_only, read_only
from gumdp.jit.meaning import once

_interpreted: dict[int, Any] = {}  # the functions, where nothing is compiled
_pointers: weakref.WeakValueDictionary[int, Pointer] = weakref.WeakValueDictionary()  # by address


class Pointer:
    """The address of a function that makes one number of a table; valid as long as this lives."""

    def __init__(self, code: Code, ndim: int) -> None:
        self.code = code
        if numba.config.DISABLE_JIT:
            self.address = id(code)
            _interpreted[self.address] = code.function
            return
        self._kept = once(f"{code.digest}-alone-{ndim}", lambda: _alone(code.compiled, READ_ONLY[ndim]))
        (made,) = self._kept.overloads.values()
        self.address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        _pointers[self.address] = self


def code_at(address: int) -> Code | None:
    """The compiled function at ``address``, if it is alive."""
    pointer = _pointers.get(address)
    return None if pointer is None else pointer.code


def _alone(function: Any, table: Any) -> Any:
    """The function, compiled for one kind of table, without ways to call it from Python."""

    def alone(table):
        return 1.0 * function(table)  # float() does not take a bool

    compiled = numba.njit(nogil=True, _nrt=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(alone)
    compiled.compile((table,))
    return compiled


def answer_at(address: Any, table: Any) -> float:
    """What the function at ``address`` makes of a table, which it can only read; NaN where it raises."""
    try:
        return float(_interpreted[int(address)](read_only(table)))
    except Exception:
        return float("nan")


@overload(answer_at, strict=False)
def _answer_at(address: Any, table: Any) -> Any:
    return lambda address, table: _call(address, as_read_only(table))


@intrinsic
def _call(context: Any, address: Any, table: Any) -> Any:
    signature = types.float64(address, table)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.call_conv.get_function_type(types.float64, (signature.args[1],))
        function = builder.inttoptr(args[0], kind.as_pointer())
        status, result = context.call_conv.call_function(
            builder, function, types.float64, (signature.args[1],), (args[1],)
        )
        nothing = context.get_constant(types.float64, np.nan)
        return builder.select(status.is_error, nothing, result)

    return signature, generate
