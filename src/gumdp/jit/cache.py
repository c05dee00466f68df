"""Compiled kernels on disk, safe to edit and safe to share between processes.

Numba's own cache looks at the kernel's own file only, so that an edited callee goes unnoticed. It keeps an index
of what there is, which every process must be able to read, whatever record types others brought; and two
processes that add to it at the same time can leave one's code under the other's key. Here a file's name says all:
the kernel, and a digest of what it reaches (see ``gumdp.jit.meaning``), of the types of its arguments, which have
the digests of records and of users' functions in them, and of the processor. There is no index.
Files are written aside and moved into place whole, and begin with a checksum of what they hold.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
from collections.abc import Iterator
from typing import Any

from numba.core import sigutils, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from gumdp.jit.folder import Folder
from gumdp.jit.meaning import AFRESH, package_digest


def cached(compiled: Any) -> Any:
    """A compiled function, with this cache."""
    compiled._cache = KernelCache(compiled)
    return compiled


class KernelCache(_Cache):  # type: ignore[misc]
    """The files of one kernel; takes the place of Numba's ``FunctionCache``."""

    def __init__(self, kernel: Any, folder: Folder | None = None) -> None:
        self.kernel = kernel
        self.name = f"{kernel.__module__}.{kernel.__qualname__}".removeprefix("gumdp.")
        self.enabled = True
        self._folder = folder

    @property
    def folder(self) -> Folder:
        return self._folder or Folder.standard()

    @property
    def cache_path(self) -> str:
        return str(self.folder.path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel compiled for these arguments, or None."""
        target_context.refresh()
        name = self._file(sig, target_context.codegen())
        data = self.folder.read(name) if name else None
        if data is not None:
            try:
                needs, state = pickle.loads(data)
                if all(_is_there(*need) for need in needs):
                    return CompileResult._rebuild(target_context, *state)
            except Exception:  # whole, but not to be used here, for whatever reason
                pass
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these arguments, unless it can't be known for what it is."""
        name = self._file(sig, data.codegen)
        if name and _is_portable(data) and self._is_current(sig):
            try:
                body = dumps((_needs(data.library), data._reduce()))
            except Exception:  # a type of the user's that can't be pickled
                return
            self.folder.write(name, body)
            self.folder.tidy(f"{self.name}-")

    def _file(self, sig: Any, codegen: Any) -> str | None:
        """The name of the file for these arguments; None if there can be none."""
        digest, unknown = package_digest(self.kernel)
        arguments = ", ".join(map(spelled, sigutils.normalize_signature(sig)[0]))
        if not self.enabled or unknown or AFRESH in arguments or " at 0x" in arguments:
            return None
        key = repr((digest, arguments, codegen.magic_tuple()))
        return f"{self.name}-{hashlib.sha256(key.encode()).hexdigest()[:40]}"

    def _is_current(self, sig: Any) -> bool:
        """Whether the package still means what its digests say: a test may have put in another constant."""
        arguments = sigutils.normalize_signature(sig)[0]
        records = [typ for typ in _parts(arguments) if hasattr(typ, "is_current")]
        return package_digest(self.kernel, {}) == package_digest(self.kernel) and all(r.is_current() for r in records)

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def flush(self) -> None:
        """Remove every file of this kernel."""
        self.folder.tidy(f"{self.name}-", keep=0)


def spelled(typ: Any) -> str:
    """The name of a Numba type, with the names of the fields of named tuples, which Numba leaves out."""
    if isinstance(typ, types.BaseTuple):  # type: ignore[attr-defined]
        fields = getattr(typ, "fields", ())
        return f"{typ.name}<{', '.join(fields)}; {', '.join(map(spelled, typ.types))}>"
    return str(typ)


def _parts(arguments: Any) -> Iterator[Any]:
    for typ in arguments:
        yield typ
        yield from _parts(getattr(typ, "types", ()))


def _needs(library: Any) -> list[tuple[str, str, tuple[Any, ...], str]]:
    """What must be in the process before this code, in words that another process understands."""
    return [
        (need.kernel.__module__, need.kernel.__qualname__, need.arguments, need.symbol)
        for need in getattr(library, "needs", ())
    ]


def _is_there(module: str, name: str, arguments: tuple[Any, ...], symbol: str) -> bool:
    """Whether the process has this kernel under this name, loaded or compiled if need be."""
    kernel = getattr(importlib.import_module(module), name)
    kernel.compile(arguments)
    return bool(kernel.overloads[arguments].fndesc.llvm_func_name == symbol)


def _is_portable(compiled: Any) -> bool:
    """Whether machine code holds no address of this process."""
    return not compiled.library.has_dynamic_globals and all(part.can_cache for part in compiled.lifted)
