"""A few values of one type side by side in memory, which kernels reach by number: trials that take turns in one loop.

A tuple would do, but Numba copies all of it whenever a number that is not a constant picks one. Here only what is asked
for is loaded: ``cells[k]`` is the k-th value, ``cells.tree.visits[k]`` one field of it. Arrays in cells are those of
whoever called the kernel: cells keep no count of who uses them, so that no kernel may return one.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as numba_types
from numba.core.datamodel import models, register_default
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_builtin, lower_getattr_generic, type_callable

types: Any = numba_types


class Interpreted:
    """Cells where nothing is compiled, or one field of each."""

    def __init__(self, read: Any, write: Any) -> None:
        self.read, self.write = read, write

    def __getitem__(self, k: int) -> Any:
        return self.read(k)

    def __setitem__(self, k: int, value: Any) -> None:
        self.write(k, value)

    def __getattr__(self, name: str) -> Interpreted:
        return Interpreted(
            lambda k: getattr(self[k], name), lambda k, value: self.write(k, self[k]._replace(**{name: value}))
        )


def cells(values: Any) -> Any:
    """Cells that hold these values at first: ``cells[k]`` reads one, and ``cells[k] = value`` writes it."""
    kept = list(values)
    return Interpreted(kept.__getitem__, kept.__setitem__)


class Cells(types.Type):  # type: ignore[misc]
    """The type of values of one type, or of one field of each, which is at the end of a path into them."""

    def __init__(self, whole: Any, path: tuple[int, ...] = ()) -> None:
        self.whole, self.path, self.item = whole, path, whole
        for index in path:
            self.item = self.item.types[index]
        super().__init__(f"Cells({_short(whole)}{''.join(f'.{index}' for index in path)})")

    @property
    def key(self) -> Any:
        return self.whole, self.path


@functools.cache
def _short(kind: Any) -> str:
    """A name for a type; that of a record can be as long as a page, and would be in the name of each function."""
    return hashlib.sha256(str(kind).encode()).hexdigest()[:16]


@register_default(Cells)
class _CellsModel(models.OpaqueModel):  # type: ignore[misc]
    """An address, which is valid as long as the function that made the cells runs."""


@type_callable(cells)
def _type_cells(context: Any) -> Any:
    return lambda values: Cells(values.dtype) if isinstance(values, types.UniTuple) else None


@lower_builtin(cells, types.UniTuple)
def _lower_cells(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    memory = cgutils.alloca_once(builder, ir.ArrayType(context.get_value_type(kind.dtype), kind.count))
    for k in range(kind.count):
        place = builder.gep(memory, [_number(0), _number(k)], inbounds=True)
        _store(context, builder, kind.dtype, builder.extract_value(args[0], k), place)
    return builder.bitcast(memory, cgutils.voidptr_t)


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Cells

    def generic_resolve(self, values: Any, name: str) -> Any:
        fields = getattr(values.item, "fields", ())
        return Cells(values.whole, (*values.path, fields.index(name))) if name in fields else None


@lower_getattr_generic(Cells)
def _lower_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    return value


@type_callable(operator.getitem)
def _type_pick(context: Any) -> Any:
    def typer(values: Any, k: Any) -> Any:
        return values.item if isinstance(values, Cells) and isinstance(k, types.Integer) else None

    return typer


@lower_builtin(operator.getitem, Cells, types.Integer)
def _lower_pick(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _load(context, builder, signature.args[0].item, _place(context, builder, signature, args))


@type_callable(operator.setitem)
def _type_put(context: Any) -> Any:
    def typer(values: Any, k: Any, value: Any) -> Any:
        fits = isinstance(values, Cells) and isinstance(k, types.Integer)
        return types.none(values, k, values.item) if fits else None

    return typer


@lower_builtin(operator.setitem, Cells, types.Integer, types.Any)
def _lower_put(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    _store(context, builder, signature.args[0].item, args[2], _place(context, builder, signature, args))
    return context.get_dummy_value()


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The address of the cell, or of a field of it."""
    kind, number = signature.args[:2]
    memory = builder.bitcast(args[0], context.get_value_type(kind.whole).as_pointer())
    k = context.cast(builder, args[1], number, types.intp)
    place = builder.gep(memory, [k], inbounds=True)
    for index in kind.path:
        place = builder.gep(place, [_number(0), _number(index)], inbounds=True)
    return place


def _number(k: int) -> Any:
    return ir.Constant(ir.IntType(32), k)


def _parts(context: Any, builder: Any, kind: Any, place: Any) -> Iterator[tuple[int, Any, Any]]:
    """Number, type and address of what a value in memory is made of; the type is None for what is no tuple.

    Of an array that is its size, its data and its shape. All else of it is known, or of no use to kernels.
    """
    if isinstance(kind, types.BaseTuple):
        fields = [*enumerate(kind.types)]
    else:
        model = context.data_model_manager[kind]
        fields = [(model.get_field_position(name), None) for name in ("nitems", "data", "shape")]
    for k, each in fields:
        yield k, each, builder.gep(place, [_number(0), _number(k)], inbounds=True)


def _is_whole(kind: Any) -> bool:
    return not isinstance(kind, types.BaseTuple) and not (isinstance(kind, types.Array) and _is_plain(kind))


def _is_plain(array: Any) -> bool:
    return bool(array.ndim == 1 and array.layout == "C")


def _load(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """What is there, number by number, so that what nobody uses is not read."""
    if kind is None or _is_whole(kind):
        return builder.load(place)
    value = ir.Constant(place.type.pointee, None if isinstance(kind, types.Array) else ir.Undefined)
    for k, each, inner in _parts(context, builder, kind, place):
        value = builder.insert_value(value, _load(context, builder, each, inner), k)
    if isinstance(kind, types.Array):
        model = context.data_model_manager[kind]
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        value = builder.insert_value(value, size, model.get_field_position("itemsize"))
        value = builder.insert_value(value, size, [model.get_field_position("strides"), 0])
    return value


def _store(context: Any, builder: Any, kind: Any, value: Any, place: Any) -> None:
    if kind is None or _is_whole(kind):
        builder.store(value, place)
        return
    for k, each, inner in _parts(context, builder, kind, place):
        _store(context, builder, each, builder.extract_value(value, k), inner)
