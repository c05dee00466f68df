"""Ask for memory before it is needed: a search of a large tree waits for it less."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

READ, KEEP, DATA = 0, 3, 1  # what LLVM wants to know


def fetch(array: Any, i: Any) -> None:
    """Have ``array[i]`` brought into the processor's cache meanwhile. It changes nothing but time."""


@overload(fetch, strict=False)
def _fetch(array: Any, i: Any) -> Any:
    return lambda array, i: _prefetch(array, i)


@intrinsic
def _prefetch(context: Any, array: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        typ, number, byte = signature.args[0], ir.IntType(32), ir.IntType(8).as_pointer()
        record = context.make_array(typ)(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, typ, record, [args[1]], wraparound=False)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(function, [builder.bitcast(place, byte), number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.none(array, i), generate
