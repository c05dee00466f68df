"""Functions that users wrote, as values that records can hold and kernels can call.

A ``Code`` knows what its function means when it is made, with all that the function reaches (see
``gumdp.jit.meaning``), so that an edit of any of it is an edit of every kernel that uses it.
"""

from __future__ import annotations

import copy
import functools
import re
import types as python_types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

from gumdp.jit.linked import Part
from gumdp.jit.meaning import meaning, once
from gumdp.jit.verb import teach

READ_ONLY = {n: types.Array(types.float64, n, "C", readonly=True) for n in (1, 2)}  # totals [k], an occupancy [S, A]


class Code:
    """A compiled function of the user's, as a value that records can hold and kernels can call.

    It means what the function means when this is made. What the function reads may change afterwards.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.given, self.meant = function, ""
        self.function = getattr(function, "py_func", function)
        self.compiled: Any = self.function
        self.unknown: tuple[str, ...] = ()  # what it reads that can't be known again in another process
        if numba.config.DISABLE_JIT:
            self.digest = ""
            return
        if not isinstance(self.function, python_types.FunctionType):
            raise TypeError(f"a {type(self.function).__name__}")
        means = meaning(function)
        self.digest = self.meant = means.digest
        self.unknown = means.unknown

        def finished() -> Any:
            means.finish()
            return means.copies[0]

        self.compiled = once(self.digest, finished)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "given": None, "meant": ""}  # in another process nobody edits it

    def has_changed(self) -> bool:
        """Whether the function means something else by now, as far as that can be known."""
        return bool(self.meant) and not self.unknown and meaning(self.given).digest != self.meant

    def of_table(self, ndim: int = 2) -> Code:
        """This function, compiled to make one number of a table that it only reads; raises what the compiler raises.

        Where the compiler can't tell that it only reads, it gets a copy, and fails if it changes that.
        """
        if numba.config.DISABLE_JIT:
            return self
        table = READ_ONLY[ndim]
        try:
            self.compiled.compile((table,))
            code = self
        except Exception:
            code = self._on_copies()
            code.compiled.compile((table,))
        result = code.compiled.overloads[table,].signature.return_type
        if not isinstance(result, (types.Integer, types.Float, types.Boolean)):
            raise TypeError(f"it returns {result}, not a number")
        return code

    def _on_copies(self) -> Code:
        """This function, called with a copy of its array; it fails if it changes that."""
        function = self.compiled

        def guarded(array):
            given = array.copy()
            result = function(given)
            if not np.array_equal(given, array):
                raise ValueError
            return result

        guarded.__qualname__ = f"guarded_{self.digest.replace('-', '_')}"
        other = copy.copy(self)
        other.digest = f"{self.digest}-guarded"
        other.compiled = once(other.digest, lambda: numba.njit(_nrt=True)(guarded))
        return other

    def call1(self, a: Any) -> Any:
        return self.function(a)

    def call2(self, a: Any, b: Any) -> Any:
        return self.function(a, b)

    def call3(self, a: Any, b: Any, c: Any) -> Any:
        return self.function(a, b, c)

    def call4(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return self.function(a, b, c, d)


def reason(error: Exception) -> str:
    """What the compiler objects to, in one line."""
    lines = [re.sub("\x1b\\[[0-9;]*m", "", line).strip() for line in str(error).splitlines()]
    telling = [line for line in lines if line and not line.startswith("Failed in ")]
    return (telling or [type(error).__name__])[0].rstrip(".")


class CodeType(types.Type):
    """The Numba type of ``Code``: one type for each meaning of a function."""

    def __init__(self, digest: str, compiled: Any) -> None:
        self.digest = digest
        self.compiled = compiled
        super().__init__(name=f"Code({digest})")

    @property
    def key(self) -> str:
        return self.digest

    def __reduce__(self) -> Any:  # the cache index needs to compare types, never to call through them
        return CodeType, (self.digest, None)


register_model(CodeType)(models.OpaqueModel)


@typeof_impl.register(Code)
def _typeof_code(value: Any, context: Any) -> CodeType:
    return CodeType(value.digest, value.compiled)


@unbox(CodeType)
def _unbox_code(typ: Any, obj: Any, c: Any) -> Any:
    return NativeValue(c.context.get_dummy_value())


@intrinsic
def as_read_only(context: Any, array: Any) -> Any:
    """The same array as one of a type that can't be written to."""
    same = array.copy(readonly=True)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, same, args[0])

    return same(array), generate


def read_only(array: Any) -> Any:
    """The same array as one that can't be written to, for the interpreter."""
    same = array.view()
    same.flags.writeable = False
    return same


@functools.cache
def _callers(f: Any) -> tuple[Part, ...]:
    callers: tuple[Callable[..., Any], ...] = (
        lambda self, a: f(a),
        lambda self, a, b: f(a, b),
        lambda self, a, b, c: f(a, b, c),
        lambda self, a, b, c, d: f(a, b, c, d),
    )
    return tuple(map(Part, callers))


_CALLS = {f"call{arity}": arity - 1 for arity in (1, 2, 3, 4)}
teach(CodeType, frozenset(_CALLS), lambda typ, verb: _callers(typ.compiled)[_CALLS[verb]])
