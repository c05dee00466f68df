"""Copies of environments that are in the state that the original is in.

``copy.deepcopy`` asks an object how it wants to be pickled, and an environment that inherits from Gymnasium's
``EzPickle`` answers with the arguments of its constructor: the "copy" is a new environment. Here environments are
copied attribute by attribute, wherever in the object graph they are; everything else as ``copy.deepcopy`` does it.
"""

from __future__ import annotations

import copy
import copyreg
import io
import pickle
import types
import weakref
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

Memo = dict[int, Any]
ATOMS = frozenset(
    {
        type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, type, range, property,
        types.ModuleType, types.CodeType, types.MappingProxyType,
        weakref.ref, np.dtype, np.ufunc, np.bool_, np.int64, np.int32, np.int8, np.uint8, np.uint64, np.float64,
        np.float32, np.str_,
    }
)  # fmt: skip
HEAP = 1 << 9  # the flag of a class that is not one of the interpreter's own
EASY = ("__getstate__", "__setstate__")  # what EzPickle overrides


def deep_copy(x: Any, memo: Memo) -> Any:
    """A copy of ``x`` and of all that it holds; ``memo`` maps the ids of what was copied (or must not be) to copies."""
    kind = type(x)
    if kind in ATOMS:
        return x
    known = memo.get(id(x), memo)
    if known is not memo:
        return known
    copier = COPIERS.get(kind)
    if copier is None:
        copier = COPIERS[kind] = _copier_of(kind)
    twin = copier(x, memo)
    if twin is not x:
        memo[id(x)] = twin
        memo.setdefault(id(memo), []).append(x)  # kept alive, so that no other object gets its id
    return twin


class _Pickler(pickle.Pickler):
    """Environments as they are, attribute by attribute, not as their constructors would make them."""

    def reducer_override(self, x: Any) -> Any:
        if hasattr(type(x), "reset") and _copier_of(type(x)) is _instance:
            return _blank, (type(x),), vars(x), None, None, _fill
        return NotImplemented


def pack(env: Any) -> bytes:
    """An environment for another process: in its state, or where that can't be, as its constructor makes it."""
    buffer = io.BytesIO()
    try:
        _Pickler(buffer).dump(env)
    except Exception:  # a simulator that can't be pickled
        return pickle.dumps(env)
    return buffer.getvalue()


def _blank(kind: Any) -> Any:
    return kind.__new__(kind)


def _fill(x: Any, state: dict[str, Any]) -> None:
    vars(x).update(state)


def _copier_of(kind: type) -> Callable[[Any, Memo], Any]:
    """How instances of a class are copied."""
    import gymnasium
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.utils import EzPickle

    if issubclass(kind, (type, Enum, gymnasium.Space, EnvSpec)):
        return _share
    if issubclass(kind, (gymnasium.Env, gymnasium.Wrapper, EzPickle)) and not hasattr(kind, "__deepcopy__"):
        own = kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
        return _instance if own and _pickles_easily(kind, EzPickle) else _reconstructed
    if hasattr(kind, "__deepcopy__"):
        return _by_itself
    if str(getattr(kind, "__module__", "")).partition(".")[0] == "pygame":
        return _drawn
    if kind in copyreg.dispatch_table or kind.__reduce_ex__ is not object.__reduce_ex__:
        return _reconstructed
    made = ("__new__", "__reduce__", "__getstate__", "__setstate__", "__slots__")  # opinions about how it is made
    opinions = any(name in vars(base) for base in kind.__mro__[:-1] for name in made)
    written = all(base.__flags__ & HEAP and base.__dictoffset__ for base in kind.__mro__[:-1])
    return _instance if written and not opinions else _reconstructed


def _pickles_easily(kind: type, easy: type) -> bool:
    """Whether the class has no opinion of its own about its state: only EzPickle's, or none."""
    homes = {next((base for base in kind.__mro__ if name in vars(base)), None) for name in EASY}
    return homes <= {easy, object, None}


def _share(x: Any, memo: Memo) -> Any:
    return x


def _instance(x: Any, memo: Memo) -> Any:
    """A blank instance with copies of the attributes, whatever the class says about pickling."""
    twin = x.__class__.__new__(x.__class__)
    memo[id(x)] = twin  # before its attributes, which may point back to it
    state = vars(twin)
    for name, value in vars(x).items():
        state[name] = value if type(value) in ATOMS else deep_copy(value, memo)
    return twin


def _reconstructed(x: Any, memo: Memo) -> Any:
    """A copy by the class's own account of how it is put together, as in ``copy.deepcopy``."""
    reduce = copyreg.dispatch_table.get(type(x))
    how = reduce(x) if reduce is not None else x.__reduce_ex__(4)
    if isinstance(how, str):
        return x
    make, args, state, items, pairs = (*how, None, None, None)[:5]
    twin = make(*(deep_copy(a, memo) for a in args))
    memo[id(x)] = twin
    if state is not None:
        _set_state(twin, deep_copy(state, memo))
    for item in items or ():
        twin.append(deep_copy(item, memo))
    for key, value in pairs or ():
        twin[deep_copy(key, memo)] = deep_copy(value, memo)
    return twin


def _set_state(twin: Any, state: Any) -> None:
    if hasattr(twin, "__setstate__"):
        twin.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state is not None:
        vars(twin).update(state)
    for name, value in (slots or {}).items():
        setattr(twin, name, value)


def _by_itself(x: Any, memo: Memo) -> Any:
    return x.__deepcopy__(memo)


def _drawn(x: Any, memo: Memo) -> Any:
    """What pygame draws with: a surface is copied, clocks and fonts are shared."""
    if type(x).__name__ == "Surface":
        return x.copy()
    try:
        return copy.copy(x)
    except TypeError:
        return x


def _list(x: list[Any], memo: Memo) -> list[Any]:
    twin: list[Any] = []
    memo[id(x)] = twin
    for value in x:
        twin.append(value if type(value) in ATOMS else deep_copy(value, memo))  # noqa: PERF401 (it may hold itself)
    return twin


def _tuple(x: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    parts = [deep_copy(value, memo) for value in x]
    known = memo.get(id(x))  # it may have been copied on the way, as a part of itself
    if known is not None:
        return known  # type: ignore[no-any-return]
    return x if all(a is b for a, b in zip(parts, x, strict=True)) else tuple(parts)


def _dict(x: dict[Any, Any], memo: Memo) -> dict[Any, Any]:
    twin: dict[Any, Any] = {}
    memo[id(x)] = twin
    for key, value in x.items():
        twin[deep_copy(key, memo)] = value if type(value) in ATOMS else deep_copy(value, memo)
    return twin


def _set(x: set[Any], memo: Memo) -> set[Any]:
    return {deep_copy(value, memo) for value in x}


def _array(x: Any, memo: Memo) -> Any:
    if x.dtype.hasobject:
        return copy.deepcopy(x, memo)
    return x.copy(order="K")


def _method(x: types.MethodType, memo: Memo) -> types.MethodType:
    return types.MethodType(x.__func__, deep_copy(x.__self__, memo))


def _function(x: types.FunctionType, memo: Memo) -> types.FunctionType:
    """A function that reads and writes copies of what the original does beyond its arguments."""
    if x.__closure__ is None:
        return x
    twin = types.FunctionType(
        x.__code__, x.__globals__, x.__name__, x.__defaults__, tuple(_cell(cell, memo) for cell in x.__closure__)
    )
    twin.__kwdefaults__ = x.__kwdefaults__
    vars(twin).update(vars(x))
    return twin


def _cell(x: types.CellType, memo: Memo) -> types.CellType:
    """A variable of a function around: those that share it share its copy."""
    if id(x) in memo:
        return memo[id(x)]  # type: ignore[no-any-return]
    twin = memo[id(x)] = types.CellType()
    memo.setdefault(id(memo), []).append(x)
    try:
        content = x.cell_contents
    except ValueError:  # nothing is in it yet
        return twin
    twin.cell_contents = deep_copy(content, memo)
    return twin


def _builtin(x: types.BuiltinMethodType, memo: Memo) -> Any:
    """A function of the interpreter's, or a method of one of its objects, such as ``random.Random(0).random``."""
    owner = x.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return x
    twin = deep_copy(owner, memo)
    return x if twin is owner else getattr(twin, x.__name__)


COPIERS: dict[type, Callable[[Any, Memo], Any]] = {
    list: _list,
    tuple: _tuple,
    dict: _dict,
    set: _set,
    bytearray: lambda x, memo: bytearray(x),
    np.ndarray: _array,
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinMethodType: _builtin,
}
