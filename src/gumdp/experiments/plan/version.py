"""Which code made a number: the release, and a digest of the source that decides values."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from pathlib import Path
from typing import Any

import gumdp

APART = ("report", "plot", "experiments", "cli")  # they show, store or start trials, and don't change them


@functools.cache
def version() -> str:
    """The version under which trials are stored, e.g. ``0.1.0+5c1f09ab``.

    Behind the plus is a digest of every file of the package that can change a value, so that trials of edited code
    are never taken for trials of the code as it was. Trials of different versions are never mixed: each has its own
    rows in the store, and resuming counts only those of the running version.

    >>> version().split("+")[0] == gumdp.__version__
    True
    """
    root = Path(gumdp.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if inside.parts[0] not in APART and path.suffix in (".py", ".npy", ".json") and path.is_file():
            digest.update(inside.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{gumdp.__version__}+{digest.hexdigest()[:8]}"


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
