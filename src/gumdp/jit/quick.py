"""Numba's contexts, seen through eyes that remember.

For each operation Numba asks dozens of candidates in turn what it means for these types, when it infers types and again
when it generates code, and most of them build an error that nobody reads. The answers depend on nothing but the types.
``quick`` is a view of a context, with the same state, that keeps them; what others compile does not see it.
"""

from __future__ import annotations

import copy
from types import BuiltinFunctionType
from typing import Any

from numba.core import types as numba_types
from numba.core.typing.context import Context
from numba.extending import models, register_model

from gumdp.jit.verb import Verb

types: Any = numba_types


class Remembered(types.Function):  # type: ignore[misc]
    """A function of Numba's that remembers what it means for which types."""

    def __init__(self, function: Any) -> None:
        self.original = function  # kept alive, since it is known by its address
        self.remembered: dict[Any, Any] = {}
        super().__init__(function.templates)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        key = (tuple(args), tuple(kws.items()) if kws else ())
        found = self.remembered.get(key)
        if found is None:
            found = self.remembered[key] = super().get_call_type(context, args, kws)
        return found


register_model(Remembered)(models.OpaqueModel)


class QuickContext(Context):  # type: ignore[misc]
    """A view of a typing context."""

    def __init__(self, context: Any) -> None:
        self.__dict__ = context.__dict__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other.__dict__ is self.__dict__

    def __hash__(self) -> int:
        return hash(self.callstack)

    def resolve_value_type(self, val: Any) -> Any:
        function = _function(self, val) if isinstance(val, BuiltinFunctionType) else None
        if function is not None:
            return function
        found = super().resolve_value_type(val)
        return _remembered(found) if type(found) is types.Function else found

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if isinstance(func, BuiltinFunctionType):
            func = _function(self, func) or func
        if isinstance(func, Remembered | Verb | types.Dispatcher):
            return func.get_call_type(self, args, kws)
        return super().resolve_function_type(func, args, kws)

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        if not isinstance(typ, types.BaseTuple | types.Array):
            return super().resolve_getattr(typ, attr)
        found = _attributes.get((typ, attr))
        if found is None:
            found = super().resolve_getattr(typ, attr)
            if found is not None and (isinstance(found, Verb) or not isinstance(found, types.BoundFunction)):
                _attributes[typ, attr] = found
        return found


_functions: dict[int, Remembered] = {}
_attributes: dict[Any, Any] = {}
_contexts: dict[int, tuple[Any, QuickContext]] = {}


def _remembered(function: Any) -> Remembered:
    if id(function) not in _functions:
        _functions[id(function)] = Remembered(function)
    return _functions[id(function)]


def _function(context: Any, value: Any) -> Remembered | None:
    """What ``context`` knows a function of Python's own as, without asking everybody what else it might be."""
    found = context._lookup_global(value)
    return _remembered(found) if type(found) is types.Function else None


def quick(typing: Any, target: Any) -> tuple[Any, Any]:
    """Views of a typing and a target context."""
    if isinstance(typing, QuickContext):
        return typing, target
    if id(typing) not in _contexts:
        _contexts[id(typing)] = (typing, QuickContext(typing))
    view = copy.copy(target)
    view.typing_context = _contexts[id(typing)][1]
    return view.typing_context, view
