"""Which code made a number: the release, and a digest of the source that decides values."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import uuid
from pathlib import Path
from typing import Any

import gumdp
from gumdp.experiments.plan.source import DATA, package_digest

APART = ("report", "plot", "experiments", "cli", "studio")  # they show, store or start trials, and don't change them


@functools.cache
def version() -> str:
    """The version of the package under which trials are stored, e.g. ``0.1.0+5c1f09ab``.

    Behind the plus is a digest of every file of the package that can change a value, so that trials of edited code
    are never taken for trials of the code as it was: see ``gumdp.experiments.plan.source``. A docstring, a comment or
    a file that moves changes nothing. Trials of different versions are never mixed: each has its own rows in the
    store, and resuming counts only those of the running version.

    >>> version().split("+")[0] == gumdp.__version__
    True
    """
    return f"{gumdp.__version__}+{_digest(Path(gumdp.__file__).parent)}"


def _digest(root: Path) -> str:
    """The digest of the code in ``root``, noted beside Python's own compiled files: reading it all takes a second."""
    note = root / "__pycache__" / f"digest-{package_bytes()}.txt"
    with contextlib.suppress(OSError, ValueError):
        if re.fullmatch("[0-9a-f]{8}", text := note.read_text(encoding="ascii")):
            return text
    found = package_digest(root, APART)[:8]
    with contextlib.suppress(OSError):
        for old in note.parent.glob("digest-*.txt"):
            old.unlink(missing_ok=True)
        aside = note.with_suffix(f".{uuid.uuid4().hex}")
        aside.write_text(found, encoding="ascii")
        os.replace(aside, note)
    return found


def full_version(*users: str) -> str:
    """The package's version, and behind it the digests of the user's code, where there is some.

    >>> full_version("", "") == version(), full_version("ab12") == version() + ".ab12"
    (True, True)
    """
    return ".".join([version(), *(digest for digest in users if digest)])


@functools.cache
def package_bytes() -> str:
    """A digest of the package to the byte, quick: for processes that must have the very same one."""
    digest, root = hashlib.sha256(repr(APART).encode()), Path(gumdp.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", *DATA):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def machine() -> dict[str, Any]:
    """What the trials run on, to be kept with them."""
    from importlib import metadata

    packages = {}
    for name in ("numpy", "scipy", "numba", "cvxpy", "clarabel", "gymnasium"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "packages": packages,
    }


def _processor() -> str:
    """The processor's name, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
