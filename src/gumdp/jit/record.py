"""Records: small immutable structures whose methods compiled kernels may call.

A kernel must call the objective, the dynamics and the policy that the user brought at native speed,
be compiled once per combination, and be found in the disk cache by the next process.
``@record`` turns a class with annotated fields and plain methods into a named tuple
that Numba sees as a type of its own. The same text then runs compiled inside kernels and interpreted
under ``NUMBA_DISABLE_JIT=1``, with identical results. Records nest.

The type's identity holds a digest of what the record's methods mean, with all that they reach, at the time when
the record is made (see ``gumdp.jit.meaning``), so that an edit of any of it is an edit of every kernel that uses it.
"""

from __future__ import annotations

import functools
import itertools
import types as python_types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numba
import numpy as np
from numba.core import types
from numba.core.boxing import unbox_tuple
from numba.extending import (
    lower_builtin,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from gumdp.jit.cache import cached
from gumdp.jit.linked import Kernel, Part, Shared
from gumdp.jit.meaning import Known, meaning
from gumdp.jit.unboxing import unbox_whole
from gumdp.jit.verb import teach

T = TypeVar("T")


# Three kinds of compiled function: kernels, what allocates, and parts, which are inlined. Reference counts of arrays
# would cost an atomic operation each time one is handed on, so neither kernels nor parts keep any: they can't allocate.
def kernel(function: Callable[..., Any]) -> Any:
    """A function that Python calls, and kernels too."""
    return function if numba.config.DISABLE_JIT else cached(Kernel(function))


def shared(function: Callable[..., Any]) -> Any:
    """A kernel that other kernels call without taking it in, so that it is compiled once for all of them."""
    return function if numba.config.DISABLE_JIT else cached(Shared(function))


def allocating(function: Callable[..., Any]) -> Any:
    """A function that makes arrays."""
    return function if numba.config.DISABLE_JIT else cached(numba.njit(nogil=True, _nrt=True)(function))


def part(function: Callable[..., Any]) -> Any:
    """A function that is called from kernels, and always inlined."""
    return function if numba.config.DISABLE_JIT else Part(function)


VERBS = {  # what kernels may ask of a record, with the number of arguments
    # objectives: see gumdp.objectives.record
    "count": 0, "term": 3, "combine": 2, "price": 5, "rank": 5, "tracks": 0, "grouped": 0, "dense": 0, "value": 1,
    # tangents: see gumdp.objectives.tangent
    "tangent": 4, "unsplit": 7, "own": 2, "point": 2,
    # what a step adds: see gumdp.counts.pairs
    "by_entries": 0, "entries": 0, "entry": 3, "row_of": 2, "name_of": 1, "settled": 0, "free_rows": 1, "keep_rows": 0,
    "is_late": 0, "add_step": 7, "cost_at": 9,
    # models: see gumdp.models.compiled
    "reset": 1, "step": 3, "cell": 1, "key": 1, "pick": 2, "allowed": 2, "restore": 1, "ended": 1, "image": 3,
    # beliefs: see gumdp.models.belief_kernels
    "observe": 3, "expect": 3, "scatter": 3, "unstep": 0,
    # policies: see gumdp.policies.rollout
    "choose": 9,
    # who decides in a trial: see gumdp.policies.play
    "commence": 2, "decide": 6, "happened": 4, "simulates": 0, "teach": 4,
    # parts of a search: see gumdp.search.loop
    "ready": 4, "width": 1, "select": 8, "notes": 0, "chance": 4, "draw": 4, "onward": 2, "between": 1,
    "prepare": 4, "final": 2, "foresee": 5, "look_back": 4, "luck_of": 1, "depart": 5, "goes_on": 0, "guide": 0,
    "score": 5, "back_up": 6, "recommend": 2,
    "lists": 0, "lists_last": 0, "possible": 2, "number": 3, "probability": 4, "another": 5,
    "holds": 0, "record_from": 1, "keep": 4, "due": 1, "alter": 3, "varying": 0, "admits": 2, "least": 0, "value_of": 1,
    "carry": 1, "drop": 0,
    # control variates: see gumdp.search.control_variate_kernels
    "expectation": 7, "adjust": 6,
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

    _hash: int | None = None

    def __init__(self, fields: tuple[Any, ...], cls: type, verbs: Verbs) -> None:
        self.digest, self.methods = verbs
        super().__init__(fields, cls)
        self.name = f"{cls.__module__}.{cls.__qualname__}[{self.digest}]({', '.join(map(str, fields))})"

    @property
    def key(self) -> tuple[Any, ...]:
        cls = self.instance_class
        return cls.__module__, cls.__qualname__, self.types, self.digest

    def __hash__(self) -> int:  # asked some hundred thousand times
        if self._hash is None:
            self._hash = hash(self.key)
        return self._hash

    __eq__ = types.NamedTuple.__eq__  # type: ignore[attr-defined]

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


@register_model(RecordType)
@register_model(types.NamedTuple)  # type: ignore[attr-defined]
class _RecordModel(models.TupleModel):  # type: ignore[misc]
    """Our records and named tuples are handed on as one value. Numba takes those of others apart for every call."""

    def __init__(self, manager: Any, typ: Any) -> None:
        super().__init__(manager, typ)
        self.whole = isinstance(typ, RecordType) or _is_ours(typ.instance_class)

    def get_argument_type(self) -> Any:
        return self.get_value_type() if self.whole else super().get_argument_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value if self.whole else super().as_argument(builder, value)

    def from_argument(self, builder: Any, value: Any) -> Any:
        return value if self.whole else super().from_argument(builder, value)


@unbox(RecordType)
@unbox(types.NamedTuple)  # type: ignore[attr-defined]
def _unbox_record(typ: Any, obj: Any, c: Any) -> Any:
    whole = isinstance(typ, RecordType) or _is_ours(typ.instance_class)
    return unbox_whole(typ, obj, c) if whole else unbox_tuple(typ, obj, c)


@typeof_impl.register(Record)
def _typeof_record(value: Any, context: Any) -> RecordType:
    cls = type(value)
    verbs = _package_verbs(cls) if _is_ours(cls) else cls._verbs
    return RecordType(tuple(typeof_impl(field, context) for field in value), cls, verbs)


def meaning_of(value: Record) -> str:
    """A digest of what the methods of a record mean."""
    cls: Any = type(value)
    verbs: Verbs = _package_verbs(cls) if _is_ours(cls) else cls._verbs
    return verbs.digest


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Return ``cls`` as an immutable named tuple whose methods compiled kernels can call.

    >>> import numpy as np
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


@functools.cache
def part_of(method: Callable[..., Any] | None) -> Part | None:
    """A method as a part of kernels, the same one every time."""
    return None if method is None else Part(method)


teach(RecordType, frozenset(VERBS), lambda typ, verb: part_of(typ.methods.get(verb)))


def copied(value: Any, known: dict[int, Any] | None = None) -> Any:
    """A record, or any tuple of such, with arrays of its own; what was one array in several places is one again."""
    known = {} if known is None else known
    if isinstance(value, np.ndarray):
        return known.setdefault(id(value), value.copy())
    if not isinstance(value, tuple):
        return value
    fields = [copied(each, known) for each in value]
    return type(value)(*fields) if hasattr(value, "_fields") else tuple(fields)


type_of = numba.typeof  # the type that kernels see a value as


# --- unsigned arithmetic that means the same compiled and interpreted ---


def u64(x: Any) -> Any:
    """``x`` as an unsigned 64-bit number: native in kernels, a Python int when interpreted."""
    return int(x)


@type_callable(u64)
def _type_u64(context: Any) -> Any:
    return lambda x: types.uint64


@lower_builtin(u64, types.Any)
def _lower_u64(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.cast(builder, args[0], signature.args[0], types.uint64)


@part
def copy_to(target: Any, source: Any, count: Any) -> None:
    """Make the first ``count`` entries of ``target`` those of ``source``.

    A slice would do the same, and compile two seconds longer for the message that shapes differ.
    """
    for k in range(count):
        target[k] = source[k]
