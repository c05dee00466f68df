"""A few values of one type side by side in memory, which kernels reach by number: lanes that take turns in one loop.

A tuple would do, but Numba copies all of it whenever a number that is not a constant picks one. Here picking one loads
what is used of it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.extending import intrinsic, lower_builtin, type_callable


class Cells(types.Type):  # type: ignore[misc, name-defined]
    """The type of ``count`` values of one type."""

    def __init__(self, item: Any, count: int) -> None:
        self.item, self.count = item, count
        super().__init__(f"Cells({item}, {count})")

    @property
    def key(self) -> Any:
        return self.item, self.count


@register_default(Cells)
class _CellsModel(models.OpaqueModel):  # type: ignore[misc]
    """An address, which is valid as long as the function that made the cells runs."""


def cells(values: Any) -> Any:
    """Cells that hold these values at first: ``cells[k]`` reads one, and ``cells[k] = value`` writes it."""
    return list(values)


@type_callable(cells)
def _type_cells(context: Any) -> Any:
    def typer(values: Any) -> Any:
        if isinstance(values, types.UniTuple):
            return Cells(values.dtype, values.count)
        return None

    return typer


@lower_builtin(cells, types.UniTuple)
def _lower_cells(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.return_type
    memory = cgutils.alloca_once(builder, ir.ArrayType(context.get_value_type(kind.item), kind.count))
    for k in range(kind.count):
        place = builder.gep(memory, [_number(0), _number(k)], inbounds=True)
        _store(builder, builder.extract_value(args[0], k), place)
    return builder.bitcast(memory, cgutils.voidptr_t)


@type_callable(operator.getitem)
def _type_pick(context: Any) -> Any:
    def typer(values: Any, k: Any) -> Any:
        return values.item if isinstance(values, Cells) and isinstance(k, types.Integer) else None

    return typer


@lower_builtin(operator.getitem, Cells, types.Integer)
def _lower_pick(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _load(builder, _place(context, builder, signature, args))


@type_callable(operator.setitem)
def _type_put(context: Any) -> Any:
    def typer(values: Any, k: Any, value: Any) -> Any:
        fits = isinstance(values, Cells) and isinstance(k, types.Integer)
        return types.none(values, k, values.item) if fits else None

    return typer


@lower_builtin(operator.setitem, Cells, types.Integer, types.Any)
def _lower_put(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    value = context.cast(builder, args[2], signature.args[2], kind.item)
    _store(builder, value, _place(context, builder, signature, args))
    return context.get_dummy_value()


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The address of the cell."""
    kind, number = signature.args[:2]
    memory = builder.bitcast(args[0], context.get_value_type(kind.item).as_pointer())
    return builder.gep(memory, [context.cast(builder, args[1], number, types.intp)], inbounds=True)


def _number(k: int) -> Any:
    return ir.Constant(ir.IntType(32), k)


def _parts(builder: Any, place: Any) -> Iterator[tuple[int, Any]]:
    """The addresses of what a structure or an array in memory is made of."""
    kind = place.type.pointee
    for k in range(len(kind.elements) if isinstance(kind, ir.LiteralStructType) else kind.count):
        yield k, builder.gep(place, [_number(0), _number(k)], inbounds=True)


def _load(builder: Any, place: Any) -> Any:
    """What is there, number by number, so that what nobody uses is not read."""
    kind = place.type.pointee
    if not isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        return builder.load(place)
    value = ir.Constant(kind, ir.Undefined)
    for k, inner in _parts(builder, place):
        value = builder.insert_value(value, _load(builder, inner), k)
    return value


def _store(builder: Any, value: Any, place: Any) -> None:
    if not isinstance(place.type.pointee, ir.LiteralStructType | ir.ArrayType):
        builder.store(value, place)
        return
    for k, inner in _parts(builder, place):
        _store(builder, builder.extract_value(value, k), inner)
