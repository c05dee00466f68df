"""Compiled kernels on disk, safe to edit and safe to share between processes.

Numba's own cache looks at the kernel's own file only, so that an edited callee goes unnoticed. It keeps an index
of what there is, which every process must be able to read, whatever record types others brought; and two
processes that add to it at the same time can leave one's code under the other's key. Here a file's name says all:
the kernel, the digest of every kernel's source, and the digest of the argument types and the processor.
There is no index. Files are written aside and moved into place whole.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.serialize import dumps


@functools.cache
def kernel_digest() -> str:
    """The digest of every file of the package with something to compile: the version of all compiled loops."""
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).resolve().parent.parent
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        if b"gumdp.jit" in text:
            digest.update(path.relative_to(root).as_posix().encode() + text)
    return digest.hexdigest()[:16]


def cached(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: ``numba.njit`` with these options, and with this cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(cache=True, nogil=True, **options)(function)
        cache = getattr(compiled, "_cache", None)  # there is none when compilation is disabled
        if cache is not None:
            cache._cache_file = CacheFile(Path(cache.cache_path), cache._impl.filename_base, kernel_digest())
        return compiled

    return decorate


class CacheFile:
    """The files of one kernel; takes the place of Numba's ``IndexDataCacheFile``."""

    def __init__(self, folder: Path, base: str, version: str) -> None:
        self.folder, self.base, self.version = folder, base, version

    def path(self, key: Any) -> Path:
        """Where the code for ``key`` is: (argument types, processor, byte code)."""
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
        return self.folder / f"{self.base}-{self.version}-{digest}.nbc"

    def save(self, key: Any, data: Any) -> None:
        """Write the code for ``key``, and remove what other versions of this kernel left."""
        path = self.path(key)
        aside = path.with_suffix(f".{uuid.uuid4().hex[:16]}.tmp")
        try:
            aside.write_bytes(dumps(data))
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)
        self._remove(lambda name: f"-{self.version}-" not in name)

    def load(self, key: Any) -> Any:
        """The code for ``key``, or None."""
        try:
            return pickle.loads(self.path(key).read_bytes())
        except Exception:  # a file that can't be read, for whatever reason, is compiled anew
            return None

    def flush(self) -> None:
        """Remove every file of this kernel."""
        self._remove(lambda name: True)

    def _remove(self, which: Callable[[str], bool]) -> None:
        kernel = self.base.rsplit("-", 1)[0]  # without the number of its first line and the version of Python
        for path in self.folder.glob(f"{kernel}-*.nbc"):
            if which(path.name):
                path.unlink(missing_ok=True)
