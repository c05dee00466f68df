"""Records: small immutable structures whose methods compiled kernels may call.

A kernel must call the objective, the dynamics and the policy that the user brought at native speed,
be compiled once per combination, and be found in the disk cache by the next process.
``@record`` turns a class with annotated fields and plain methods into a named tuple
that Numba sees as a type of its own. The same text then runs compiled inside kernels and interpreted
under ``NUMBA_DISABLE_JIT=1``, with identical results. Records nest.

The type's identity holds a digest of the kernels and of what the record's own methods *mean* (their byte
code, constants, defaults, and the values of every global and closure variable they read), so that an edit of
any of it is an edit of every kernel that uses it: a stale answer from the cache is impossible.
``Code`` does the same for one Python function that a user wrote.

This file and ``gumdp.jit.cache`` are the only ones that know Numba from inside.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import types as python_types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import numba
import numpy as np
from numba.core import types
from numba.extending import (
    NativeValue,
    models,
    overload,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from gumdp.jit.cache import cached, kernel_digest

T = TypeVar("T")

# Three kinds of compiled function. Reference counts of arrays would cost an atomic operation each time an array
# is handed on, so neither kernels nor their parts keep any: they can't allocate. What allocates says so.
kernel = cached(_nrt=False)  # called from Python
part = numba.njit(nogil=True, _nrt=False, forceinline=True)  # called from kernels, and always inlined
allocating = cached(_nrt=True)

VERBS = {  # what kernels may ask of a record, with the number of arguments
    # objectives: see gumdp.objectives.record
    "count": 0, "term": 3, "combine": 2, "price": 5, "rank": 5, "tracks": 0, "grouped": 0, "dense": 0, "value": 1,
    # tangents: see gumdp.objectives.tangent
    "tangent": 4, "unsplit": 7, "own": 2, "point": 2,
    # what a step adds: see gumdp.counts.pairs
    "entries": 0, "entry": 3,
    # models: see gumdp.models.compiled
    "reset": 1, "step": 3, "cell": 1, "key": 1, "pick": 2, "allowed": 2, "restore": 1, "ended": 1,
    # policies: see gumdp.policies.rollout
    "choose": 8,
    # who decides in a trial: see gumdp.policies.play
    "commence": 0, "decide": 6, "happened": 2, "simulates": 0,
    # parts of a search: see gumdp.search.loop
    "ready": 4, "width": 1, "select": 8, "notes": 0, "chance": 4, "draw": 4, "onward": 2, "between": 1,
    "prepare": 4, "final": 2, "estimate": 6, "back_up": 3, "recommend": 2,
    # control variates: see gumdp.search.control_variate_kernels
    "expectation": 7, "adjust": 4,
}  # fmt: skip


@functools.cache
def class_digest(cls: type) -> str:
    """The digest of all that a record's methods can reach: the kernels, and the methods with what they read."""
    digest = hashlib.sha256(kernel_digest().encode())
    for verb in VERBS:
        if method := method_of(cls, verb):
            digest.update(verb.encode())
            _feed(digest, method, set())
    return digest.hexdigest()[:16]


def method_of(cls: type, verb: str) -> Any:
    """The record's own method (a tuple has a ``count`` of its own), or None."""
    method = getattr(cls, verb, None)
    return method if isinstance(method, python_types.FunctionType) else None


class Record(tuple[Any, ...]):
    """The common ancestor of every class that ``@record`` makes."""

    __slots__ = ()


class RecordType(types.NamedTuple):  # type: ignore[misc, name-defined]
    """The Numba type of a record: a named tuple that is itself and nothing else."""

    def __init__(self, fields: tuple[Any, ...], cls: type) -> None:
        self.digest = class_digest(cls)
        super().__init__(fields, cls)
        self.name = f"{cls.__module__}.{cls.__qualname__}[{self.digest}]({', '.join(map(str, fields))})"

    @property
    def key(self) -> tuple[Any, ...]:
        cls = self.instance_class
        return cls.__module__, cls.__qualname__, self.types, self.digest


register_model(RecordType)(models.TupleModel)


@typeof_impl.register(Record)
def _typeof_record(value: Any, context: Any) -> RecordType:
    return RecordType(tuple(typeof_impl(field, context) for field in value), type(value))


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Return ``cls`` as an immutable named tuple whose methods compiled kernels can call.

    >>> @record
    ... class Halves:
    ...     factor: float
    ...     def value(self, d):
    ...         return self.factor * d.sum()
    >>> Halves(0.5).value(np.ones(4))
    np.float64(2.0)
    """
    fields = list(cls.__annotations__)
    if clash := VERBS.keys() & set(fields):
        raise TypeError(f"record {cls.__name__}: fields can't be called {sorted(clash)}: those are verbs")
    base = namedtuple(cls.__name__, fields)  # type: ignore[misc]
    body = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__", "__annotations__")}
    traits = tuple(b for b in cls.__bases__ if b is not object)
    made = type(cls.__name__, (Record, *traits, base), {**body, "__slots__": ()})
    made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
    return made


def _register(typ: type, verb: str, arity: int, implementation: Callable[[Any], Any]) -> None:
    def typer(self: Any, *args: Any) -> Any:
        return implementation(self)

    names = ["self", *(f"arg{k}" for k in range(arity))]
    kind = inspect.Parameter.POSITIONAL_ONLY
    typer.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    overload_method(typ, verb, strict=False, jit_options={"forceinline": True})(typer)


def _answer(verb: str) -> Callable[[Any], Any]:
    return lambda self: method_of(self.instance_class, verb)


for _verb, _arity in VERBS.items():
    _register(RecordType, _verb, _arity, _answer(_verb))


# --- functions that users wrote ---


class Code:
    """A compiled function of the user's, as a value that records can hold and kernels can call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = getattr(function, "py_func", function)
        self.digest = digest_of(self.function)
        self.compiled = numba.njit(_nrt=True)(self.function)

    def call1(self, a: Any) -> Any:
        return self.function(a)

    def call2(self, a: Any, b: Any) -> Any:
        return self.function(a, b)

    def call3(self, a: Any, b: Any, c: Any) -> Any:
        return self.function(a, b, c)


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


def _caller(arity: int) -> Callable[[Any], Any]:
    def implementation(self: Any) -> Any:
        f = self.compiled
        return (lambda self, a: f(a), lambda self, a, b: f(a, b), lambda self, a, b, c: f(a, b, c))[arity - 1]

    return implementation


for _arity in (1, 2, 3):
    _register(CodeType, f"call{_arity}", _arity, _caller(_arity))


def digest_of(function: Callable[..., Any]) -> str:
    """A digest of what ``function`` computes: equal digests mean the same compiled code.

    Raises ``TypeError`` where the function reads something whose value has no digest.
    """
    digest = hashlib.sha256(kernel_digest().encode())
    _feed(digest, function, set())
    return digest.hexdigest()[:24]


def _feed(digest: Any, value: Any, seen: set[int]) -> None:
    value = getattr(value, "py_func", value)
    digest.update(type(value).__name__.encode() + b":")
    if isinstance(value, python_types.FunctionType):
        if value.__module__.startswith("gumdp."):  # in the digest of the kernels already
            digest.update(value.__qualname__.encode())
        elif id(value) not in seen:
            seen.add(id(value))
            _feed_function(digest, value, seen)
    elif isinstance(value, python_types.CodeType):
        digest.update(value.co_code + repr((value.co_names, value.co_varnames)).encode())
        for constant in value.co_consts:
            _feed(digest, constant, seen)
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype.str, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list, frozenset)):
        for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
            _feed(digest, item, seen)
    elif isinstance(value, (int, float, complex, str, bytes, np.generic, type(None), type(...))):
        digest.update(repr(value).encode())
    elif isinstance(value, python_types.ModuleType):
        digest.update(repr((value.__name__, getattr(value, "__version__", None))).encode())
    elif isinstance(value, (python_types.BuiltinFunctionType, np.ufunc, type)) or type(value).__module__ == "numpy":
        digest.update(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode())
    else:
        raise TypeError(f"a value of type {type(value).__name__}")


def _feed_function(digest: Any, function: python_types.FunctionType, seen: set[int]) -> None:
    code = function.__code__
    _feed(digest, code, seen)
    _feed(digest, function.__defaults__, seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        digest.update(name.encode())
        _feed(digest, cell.cell_contents, seen)
    for name in sorted(_globals_of(code)):
        if name in function.__globals__:
            digest.update(name.encode())
            _feed(digest, function.__globals__[name], seen)


def _globals_of(code: python_types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            names |= _globals_of(constant)
    return names


# --- unsigned arithmetic that means the same compiled and interpreted ---


def u64(x: Any) -> Any:
    """``x`` as an unsigned 64-bit number: native in kernels, a Python int when interpreted."""
    return int(x)


@overload(u64, strict=False)
def _u64(x: Any) -> Any:
    return lambda x: np.uint64(x)
