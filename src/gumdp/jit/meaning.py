"""What a function means: a digest of all that it reaches, and a copy that reaches nothing else.

Numba freezes what compiled code reads (globals, closures, attributes of modules, other compiled functions) when it
compiles. Code that is kept must therefore be known by all of that. ``meaning`` walks from a function to everything
that its byte code names, writes each value into a digest, and builds a copy of the function whose globals hold just
those values. What is compiled is the copy. Something that the walk missed is then missing in the copy as well:
the compiler stops at it, where it would otherwise have taken a value that the digest knows nothing of.

- Python's own library, NumPy, Numba and SciPy are known by name and version.
- Everything else is the user's, wherever it is installed, and is known by its values: the byte code of functions
  (also of plain ones, which are compiled along, and of compiled ones, with their options), constants, arrays,
  named tuples, enumerations, attributes of modules one by one.
- The package's own functions are walked too, once in a process; ``gumdp.jit`` itself is known by its files.
- What has no digest (an object of a class of the user's, a module that is handed on, a function with an
  ``@overload`` of the user's) stays as it is, and the meaning is ``unknown``: code with it is compiled afresh,
  and never written to disk.
"""

from __future__ import annotations

import builtins
import enum
import hashlib
import sys
import types as python_types
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from gumdp.jit.bytecode import Read, anatomy
from gumdp.jit.linked import Kernel, KernelCompiler, LinkedCompiler, Part, Shared
from gumdp.jit.trust import address, home_of, is_trusted, release, taught_names

AFRESH = "afresh-"  # how the digest of an unknown meaning begins
_PLAIN = (bool, float, complex, str, bytes, type(None), type(...), range, slice)


Known = dict[Any, tuple[str, tuple[str, ...]]]  # of the package's functions: the digest, and what has none
_known: Known = {}


class Meaning(NamedTuple):
    """What some functions mean."""

    digest: str
    unknown: tuple[str, ...]  # what has no digest, in words
    copies: tuple[Any, ...]  # a compiled function each, of the copy
    declared: tuple[tuple[Any, list[Any]], ...]  # copies of functions that know certain signatures only

    def finish(self) -> None:
        """Compile what must be compiled before it is called."""
        for dispatcher, signatures in self.declared:
            for signature in signatures:
                dispatcher.compile(signature)
            dispatcher.disable_compile()


def _foundation() -> bytes:
    """A digest of all that every compiled function rests on: ``gumdp.jit``, the compiler, and its settings."""
    digest = hashlib.sha256(repr((sys.version, numba.__version__, llvmlite.__version__, np.__version__)).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    settings = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "ENABLE_AVX")
    digest.update(repr([(name, getattr(numba.config, name, None)) for name in settings]).encode())
    return digest.digest()


FOUNDATION = _foundation()  # read when the files are loaded, not later, when they may have changed


def meaning(*functions: Any, words: tuple[str, ...] = (), known: Known | None = None) -> Meaning:
    """What these functions mean together, as things are now; ``words`` are made a part of the digest."""
    walk = _Walk(known)
    walk.say("words", len(words), *words)
    copies = tuple(walk.value(f) for f in functions)
    digest = AFRESH + uuid.uuid4().hex[:16] if walk.unknown else walk.digest.hexdigest()[:24]
    for copy in walk.made:  # so that no two meanings share a name in machine code that is loaded from disk
        copy.__qualname__ = f"{copy.__name__}_{digest.replace('-', '_')}"
    return Meaning(digest, tuple(walk.unknown), copies, tuple(walk.declared))


def package_digest(function: Any, known: Known = _known) -> tuple[str, tuple[str, ...]]:
    """The digest of one of the package's functions, and what in it has none.

    The package's source does not change while it runs. ``known`` has what was found before; an empty one looks again.
    """
    if function not in known:
        walk = _Walk(known, copying=False)
        walk.function(function)
        known[function] = walk.digest.hexdigest()[:24], tuple(walk.unknown)
    return known[function]


class _Walk:
    """One walk: a digest of what was met, each value spelled so that no two spell alike, and the copies.

    ``known`` has what was found of the package before.
    """

    def __init__(self, known: Known | None = None, copying: bool = True) -> None:
        self.digest = hashlib.sha256(FOUNDATION)
        self.known = _known if known is None else known
        self.copying = copying
        self.unknown: list[str] = []
        self.made: list[python_types.FunctionType] = []
        self.declared: list[tuple[Any, list[Any]]] = []
        self._met: dict[int, tuple[int, Any, Any]] = {}  # the number, the original (kept alive), the copy
        self._open: list[int] = []  # the functions that are being spelled, each inside the one before
        self._modules: dict[int, python_types.ModuleType] = {}

    def say(self, kind: str, *words: Any) -> None:
        """Spell something: every word comes with its length."""
        for word in (kind, *words):
            spelled = word if isinstance(word, bytes) else str(word).encode("utf-8", "backslashreplace")
            self.digest.update(b"%d:" % len(spelled) + spelled)

    def value(self, value: Any) -> Any:
        """Spell ``value`` and return the copy of it that compiled code may read."""
        kind = type(value)
        if id(value) in self._met:
            number, _, copy = self._met[id(value)]
            self.say("again", number)
            if id(value) in self._open[:-1]:  # Numba's machine code for these, read back from disk, crashes
                self._stop("functions that call each other in a circle")
            return copy
        if kind is int:
            self.say("int", hex(value))
        elif kind in _PLAIN:
            self.say(kind.__name__, repr(value))
        elif kind in (tuple, list):
            self.say(kind.__name__, len(value))
            return kind(self.value(item) for item in value)
        elif kind in (set, frozenset):
            self.say(kind.__name__, *sorted(self._alone(item) for item in value))
        elif kind is dict:
            self.say("dict", len(value))
            return {self.value(key): self.value(item) for key, item in value.items()}
        elif kind is np.ndarray and not value.dtype.hasobject:
            return self._array(value)
        elif isinstance(value, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject:
            self.say("number", repr(value.dtype), value.tobytes())
        elif isinstance(value, np.dtype):
            self.say("dtype", repr(value), value.str)
        elif isinstance(value, enum.Enum):
            self.value(kind)
            self.say("member", value.name)
        elif isinstance(value, tuple) and hasattr(kind, "_fields"):
            self.value(kind)
            return tuple.__new__(kind, [self.value(item) for item in value])
        elif isinstance(value, types.Type) and kind.__module__.startswith("numba."):
            self.say("type", kind.__name__, value)
        elif isinstance(value, type):
            self._class(value)
        else:
            return self._callable(value)
        return value

    def _alone(self, value: Any) -> str:
        """The digest of a member of a set, whose order says nothing."""
        walk = _Walk(self.known, copying=False)
        walk.value(value)
        self.unknown += walk.unknown
        return walk.digest.hexdigest()

    def _array(self, array: Any) -> Any:
        copy = array.copy(order="K")
        copy.flags.writeable = array.flags.writeable
        self._meet(array, copy)
        layout = (copy.flags.c_contiguous, copy.flags.f_contiguous, copy.flags.writeable)
        self.say("array", repr(copy.dtype), copy.dtype.str, copy.shape, layout, copy.tobytes())
        return copy

    def _meet(self, original: Any, copy: Any) -> None:
        self._met[id(original)] = (len(self._met), original, copy)

    def _class(self, cls: type) -> None:
        if issubclass(cls, BaseException) or is_trusted(cls):
            self.say("class", cls.__module__, cls.__qualname__)
        elif issubclass(cls, enum.Enum):
            self.say("enum", cls.__mro__[1].__name__, len(cls.__members__))
            self._meet(cls, cls)
            for name, member in cls.__members__.items():
                self.say("name", name)
                self.value(member.value)
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            self.say("named tuple", cls.__module__, cls.__qualname__, *cls._fields)
            self.value(cls._field_defaults if hasattr(cls, "_field_defaults") else {})
        else:
            self._stop(f"the class {cls.__qualname__}")

    def _callable(self, value: Any) -> Any:
        """Functions, compiled or not; what is trusted; and all that remains."""
        python = getattr(value, "py_func", value)
        name = getattr(python, "__name__", None)
        if isinstance(name, str) and name in taught_names():
            self._stop(f"the function {name}, for which there is an @overload")
        elif type(python) is python_types.FunctionType and not is_trusted(python):
            home = home_of(python)
            if home.startswith("gumdp.jit."):
                self.say("jit", home, python.__qualname__)
            elif home.startswith("gumdp."):
                digest, unknown = package_digest(value, self.known)
                self.say("package", digest)
                self.unknown += unknown
            elif value is python or type(value) in (CPUDispatcher, Kernel, Part, Shared):
                return self.function(value)
            else:
                self._stop(f"a value of type {type(value).__name__}")
        elif isinstance(value, python_types.ModuleType) and is_trusted(value):
            self.say("module", value.__name__, release(value.__name__))
        elif is_trusted(value):
            home, name = address(value)
            self.say("trusted", home, name, release(home))
        elif isinstance(value, python_types.ModuleType):
            self._stop(f"the module {value.__name__} as a whole")
        else:
            self._stop(f"a value of type {type(value).__name__}")
        return value

    def _stop(self, what: str) -> None:
        self.unknown.append(what)

    def function(self, function: Any) -> Any:
        """Spell a function with all that it reads, and return the copy, ready to be compiled."""
        python = getattr(function, "py_func", function)
        space: dict[str, Any] = {"__builtins__": builtins}
        cells = tuple(python_types.CellType() for _ in python.__closure__ or ())
        copy = python_types.FunctionType(python.__code__, space, python.__name__, None, cells)
        copy.__defaults__ = self.value(python.__defaults__)
        copy.__kwdefaults__ = self.value(python.__kwdefaults__)
        compiled = self._compilable(function, copy)
        self._meet(function, compiled)
        self._open.append(id(function))
        self.made.append(copy)
        reads = list(dict.fromkeys(self._code(python.__code__)))
        for name, old, new in zip(python.__code__.co_freevars, python.__closure__ or (), cells, strict=True):
            attributes = [r.attributes for r in reads if r.cell and r.name == name]
            self.say("cell", name, len(attributes))
            try:
                new.cell_contents = self._read(old.cell_contents, attributes)
            except ValueError:  # an empty cell
                self.say("empty")
        for name in dict.fromkeys(r.name for r in reads if not r.cell):
            attributes = [r.attributes for r in reads if not r.cell and r.name == name]
            self.say("global", name, len(attributes))
            if name in python.__globals__:
                space[name] = self._read(python.__globals__[name], attributes)
        self._open.pop()
        return compiled

    def _compilable(self, function: Any, copy: Any) -> Any:
        """A compiled function of ``copy``, with the options of the original."""
        if not hasattr(function, "py_func"):
            self.say("function")
            return numba.njit(_nrt=True)(copy) if self.copying else function
        options, pipeline = function.targetoptions, function._compiler.pipeline_class
        self.say("compiled function")
        for known in (options, function.locals):
            self.value(dict(sorted(known.items())))
        if pipeline not in (Compiler, KernelCompiler, LinkedCompiler):
            self._stop(f"a function with a compiler of its own, {pipeline.__qualname__}")
        compiled = CPUDispatcher(copy, function.locals, options, pipeline) if self.copying else function
        if not function._can_compile:  # it knows the signatures that it was declared with, and no others
            signatures = [result.signature for result in function.overloads.values()]
            self.say("declared", *signatures)
            self.declared.append((compiled, signatures))
        return compiled

    def _code(self, code: python_types.CodeType) -> Iterable[Read]:
        """Spell the byte code; the variables that it and the code inside it read."""
        parts = anatomy(code)
        self.say("code", parts.text, len(parts.constants))
        if clash := taught_names().intersection(code.co_names):
            self._stop(f"the name {min(clash)}, for which there is an @overload")
        reads = list(parts.reads)
        for constant in parts.constants:
            if isinstance(constant, python_types.CodeType):
                reads += self._code(constant)
            else:
                self.value(constant)
        return reads

    def _read(self, value: Any, attributes: list[tuple[str, ...]]) -> Any:
        """Spell a variable: all of it, or of a module the attributes that are read."""
        if not isinstance(value, python_types.ModuleType) or is_trusted(value):
            return self.value(value)
        if not all(attributes):
            return self._callable(value)
        shadow = self._modules.setdefault(id(value), python_types.ModuleType(value.__name__))
        for name in dict.fromkeys(chain[0] for chain in attributes):
            rest = [chain[1:] for chain in attributes if chain[0] == name]
            self.say("attribute", name, len(rest))
            if hasattr(value, name):
                setattr(shadow, name, self._read(getattr(value, name), rest))
        return shadow


# --- what was compiled ---

# Compiled functions by their digest. Numba can't give machine code back: it is kept for whoever comes with the same
# function again, so that memory grows with the functions that there are, and not with how often they are met.
_kept: dict[str, Any] = {}


def once(digest: str, make: Callable[[], Any]) -> Any:
    """What ``make`` makes, made once in this process for what can be known again by its digest."""
    if digest.startswith(AFRESH):
        return make()
    if digest not in _kept:
        _kept[digest] = make()
    return _kept[digest]
