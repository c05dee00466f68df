"""Records: small immutable structures whose methods compiled kernels may call.

A kernel must call the objective, the dynamics and the policy that the user brought at native speed,
be compiled once per combination, and be found in the disk cache by the next process.
``@record`` turns a class with annotated fields and plain methods into a named tuple
that Numba sees as a type of its own. The same text then runs compiled inside kernels and interpreted
under ``NUMBA_DISABLE_JIT=1``, with identical results. Records nest.

The type's identity holds a digest of what the record's methods mean, with all that they reach, at the time when
the record is made (see ``gumdp.jit.meaning``), so that an edit of any of it is an edit of every kernel that uses it.
``Code`` does the same for one Python function that a user wrote.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import re
import types as python_types
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numba
import numpy as np
from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from gumdp.jit.cache import cached
from gumdp.jit.meaning import Known, meaning

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


class Verbs(NamedTuple):
    """What the methods of a record's class mean."""

    digest: str
    methods: dict[str, Any]  # by verb: the function to compile


def verbs_of(cls: Any, known: Known | None = None) -> Verbs:
    """What the methods of ``cls`` mean now (a tuple has a ``count`` of its own, which is no verb)."""
    found = {verb: getattr(cls, verb, None) for verb in VERBS}
    own = {verb: method for verb, method in found.items() if isinstance(method, python_types.FunctionType)}
    means = meaning(*own.values(), words=(*cls._fields, "", *own), known=known)
    means.finish()
    return Verbs(means.digest, {verb: getattr(c, "py_func", c) for verb, c in zip(own, means.copies, strict=True)})


_package_verbs: Callable[[Any], Verbs] = functools.cache(verbs_of)


class Record(tuple[Any, ...]):
    """The common ancestor of every class that ``@record`` makes."""

    __slots__ = ()


class RecordType(types.NamedTuple):  # type: ignore[misc, name-defined]
    """The Numba type of a record: a named tuple that is itself and nothing else."""

    def __init__(self, fields: tuple[Any, ...], cls: type, verbs: Verbs) -> None:
        self.digest, self.methods = verbs
        super().__init__(fields, cls)
        self.name = f"{cls.__module__}.{cls.__qualname__}[{self.digest}]({', '.join(map(str, fields))})"

    @property
    def key(self) -> tuple[Any, ...]:
        cls = self.instance_class
        return cls.__module__, cls.__qualname__, self.types, self.digest

    def __reduce__(self) -> Any:  # methods stay in their process; what is alive with this key takes its place
        cls = self.instance_class
        return _restored, (self.types, getattr(cls, "_first", cls), self.digest)

    def is_current(self) -> bool:
        """Whether the methods still mean what they meant (a copy of a user's can't change)."""
        cls = self.instance_class
        return not _is_ours(cls) or verbs_of(cls, known={}).digest == self.digest


def _restored(fields: tuple[Any, ...], cls: Any, digest: str) -> RecordType:
    now = _package_verbs(cls) if _is_ours(cls) else verbs_of(cls)
    return RecordType(fields, cls, now if now.digest == digest else Verbs(digest, {}))


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("gumdp.")


register_model(RecordType)(models.TupleModel)


@typeof_impl.register(Record)
def _typeof_record(value: Any, context: Any) -> RecordType:
    cls = type(value)
    verbs = _package_verbs(cls) if _is_ours(cls) else cls._verbs
    return RecordType(tuple(typeof_impl(field, context) for field in value), cls, verbs)


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
    name = _own_name(cls.__name__)
    base = namedtuple(name, fields)  # type: ignore[misc]
    body = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__", "__annotations__")}
    traits = tuple(b for b in cls.__bases__ if b is not object)
    if not _is_ours(cls):
        body["__new__"] = _dated
    made = type(name, (Record, *traits, base), {**body, "__slots__": ()})
    made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
    return made


_names: set[str] = set()


def _own_name(name: str) -> str:
    """A name that no other record has: Numba takes named tuples for equal whose names and fields are."""
    free = (new for k in itertools.count(1) if (new := name if k == 1 else f"{name}_{k}") not in _names)
    _names.add(new := next(free))
    return new


def _dated(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A record of a user's, which means what its methods mean when it is made.

    Numba knows a named tuple by its class, so each meaning has a class of its own: the first one this, the later ones a
    subclass each.
    """
    now = verbs_of(cls)
    versions = cls.__dict__.get("_versions")
    if versions is None:
        cls._verbs, cls._versions = now, (versions := {now.digest: cls})
    if now.digest not in versions:
        body = {"__slots__": (), "__qualname__": cls.__qualname__, "__module__": cls.__module__}
        versions[now.digest] = type(_own_name(cls.__name__), (cls,), {**body, "_verbs": now, "_first": cls})
    return super(Record, cls).__new__(versions[now.digest], *args, **kwargs)


def _register(typ: type, verb: str, arity: int, implementation: Callable[[Any], Any]) -> None:
    def typer(self: Any, *args: Any) -> Any:
        return implementation(self)

    names = ["self", *(f"arg{k}" for k in range(arity))]
    kind = inspect.Parameter.POSITIONAL_ONLY
    typer.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    overload_method(typ, verb, strict=False, jit_options={"forceinline": True})(typer)


def _answer(verb: str) -> Callable[[Any], Any]:
    return lambda self: self.methods.get(verb)


for _verb, _arity in VERBS.items():
    _register(RecordType, _verb, _arity, _answer(_verb))


# --- functions that users wrote ---


READ_ONLY = types.Array(types.float64, 2, "C", readonly=True)  # an occupancy [S, A]
_alive: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # compiled functions by their digest


class Code:
    """A compiled function of the user's, as a value that records can hold and kernels can call.

    It means what the function means when this is made. What the function reads may change afterwards.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = getattr(function, "py_func", function)
        self.compiled: Any = self.function
        self.unknown: tuple[str, ...] = ()  # what it reads that can't be known again in another process
        if numba.config.DISABLE_JIT:
            self.digest = ""
            return
        if not isinstance(self.function, python_types.FunctionType):
            raise TypeError(f"a {type(self.function).__name__}")
        means = meaning(function)
        self.digest, self.unknown = means.digest, means.unknown
        self.compiled = _alive.get(self.digest)
        if self.compiled is None:
            means.finish()
            self.compiled = _alive[self.digest] = means.copies[0]

    def of_table(self) -> Code:
        """This function, compiled to make one number of a table that it only reads; raises what the compiler raises.

        Where the compiler can't tell that it only reads, it gets a copy, and fails if it changes that.
        """
        if numba.config.DISABLE_JIT:
            return self
        try:
            self.compiled.compile((READ_ONLY,))
            code = self
        except Exception:
            code = self._on_copies()
            code.compiled.compile((READ_ONLY,))
        result = code.compiled.overloads[READ_ONLY,].signature.return_type
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
        other.compiled = numba.njit(_nrt=True)(guarded)
        return other

    def of(self, table: Any) -> Any:
        """The answer for a table, which the function can only read."""
        return self.function(read_only(table))

    def call1(self, a: Any) -> Any:
        return self.function(a)

    def call2(self, a: Any, b: Any) -> Any:
        return self.function(a, b)

    def call3(self, a: Any, b: Any, c: Any) -> Any:
        return self.function(a, b, c)


type_of = numba.typeof  # the type that kernels see a value as


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
def _as_read_only(context: Any, array: Any) -> Any:
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


def _reader(self: Any) -> Any:
    f = self.compiled
    return lambda self, table: f(_as_read_only(table))


_register(CodeType, "of", 1, _reader)


def _caller(arity: int) -> Callable[[Any], Any]:
    def implementation(self: Any) -> Any:
        f = self.compiled
        return (lambda self, a: f(a), lambda self, a, b: f(a, b), lambda self, a, b, c: f(a, b, c))[arity - 1]

    return implementation


for _arity in (1, 2, 3):
    _register(CodeType, f"call{_arity}", _arity, _caller(_arity))


# --- unsigned arithmetic that means the same compiled and interpreted ---


def u64(x: Any) -> Any:
    """``x`` as an unsigned 64-bit number: native in kernels, a Python int when interpreted."""
    return int(x)


@overload(u64, strict=False)
def _u64(x: Any) -> Any:
    return lambda x: np.uint64(x)
