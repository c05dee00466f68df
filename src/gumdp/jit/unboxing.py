"""Arguments of kernels, taken from Python's objects: one small function for each type, called wherever it occurs.

A search has some hundred arrays among its arguments. Numba writes out for each of them how it is unpacked and what is
done if that fails, at the head of every kernel: half of all the code that there is to compile. Here a record is
unpacked by a function of its own, which is called for each such record and writes into the place that it is given.
"""

from __future__ import annotations

import hashlib
from typing import Any

from llvmlite import ir
from numba.core import boxing, cgutils, types
from numba.core.pythonapi import NativeValue

BIT = ir.IntType(1)


def unbox_whole(typ: Any, obj: Any, c: Any) -> Any:
    """A record or named tuple of ours; where references are counted, as Numba does it."""
    if c.context.enable_nrt:
        return boxing.unbox_tuple(typ, obj, c)
    place = cgutils.alloca_once(c.builder, c.context.get_value_type(typ))
    failed = c.builder.call(_unpacker(c.context, c.builder.module, typ), [obj, place])
    return NativeValue(c.builder.load(place), is_error=failed)


def _unpacker(context: Any, module: Any, typ: Any) -> Any:
    """The function that fills a place with the value of an object of this type, and returns whether it failed."""
    name = f"gumdp.unpack.{hashlib.sha256(str(typ).encode()).hexdigest()[:24]}"
    if name in module.globals:
        return module.globals[name]
    place = context.get_value_type(typ).as_pointer()
    function = ir.Function(module, ir.FunctionType(BIT, [cgutils.voidptr_t, place]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(_fill(context, builder, typ, *function.args))
    return function


def _fill(context: Any, builder: Any, typ: Any, obj: Any, place: Any) -> Any:
    """Write the value of ``obj`` into ``place``; return whether that failed."""
    api = context.get_python_api(builder)
    if isinstance(typ, types.BaseTuple):  # type: ignore[attr-defined]
        wrong = builder.icmp_unsigned("!=", api.tuple_size(obj), ir.Constant(api.py_ssize_t, len(typ)))
        with builder.if_then(wrong, likely=False):
            api.err_set_string("PyExc_ValueError", "a record has another number of fields than its class")
            builder.ret(cgutils.true_bit)
        failed = cgutils.false_bit
        for k, field in enumerate(typ):
            inside = cgutils.gep_inbounds(builder, place, 0, k)
            arguments = [api.tuple_getitem(obj, k), inside]
            failed = builder.or_(failed, builder.call(_unpacker(context, builder.module, field), arguments))
        return failed
    native = api.to_native_value(typ, obj)
    builder.store(native.value, place)
    return native.is_error
