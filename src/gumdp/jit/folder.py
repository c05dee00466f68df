"""A folder of the user's own for compiled code: what lies there is run, so no one else may write to it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
import uuid
import warnings
from pathlib import Path

HEAD = b"gumdp1"
DAY = 86400.0
UNUSED = 30 * DAY  # what was not used for so long is removed
MOST = 100  # files of one kernel; the ones used last stay


def user_cache() -> Path:
    """Where this user's programs keep what they can make again: the place that each system has for it."""
    if base := os.environ.get("GUMDP_CACHE_DIR"):
        return Path(base)
    if base := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(base) / "gumdp"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "gumdp" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gumdp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gumdp"


class Folder:
    """A folder of files with a checksum each. Where it can't be used it is empty, with one warning."""

    _standard: Folder | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.obstacle: str | None = None  # why it can't be used, once that is known
        self._ready = False

    @classmethod
    def standard(cls) -> Folder:
        """The one that all kernels share."""
        if cls._standard is None:
            try:
                path = user_cache()
            except RuntimeError:  # there is no home
                path = Path(os.devnull)
            cls._standard = cls(path / "kernels")
        return cls._standard

    def read(self, name: str) -> bytes | None:
        """What was written under ``name``; None if there is nothing, or not all of it, or if others could change it."""
        if not self._is_usable():
            return None
        path = self._file(name)
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                if not (stat.S_ISREG(status.st_mode) and _is_private(status)):
                    return None
                text = file.read()
            if time.time() - status.st_mtime > DAY:
                with contextlib.suppress(OSError):
                    os.utime(path)  # it is in use
        except OSError:
            return None
        body = text[len(HEAD) + 32 :]
        return body if text[: len(HEAD) + 32] == HEAD + hashlib.sha256(body).digest() else None

    def write(self, name: str, body: bytes) -> None:
        """Keep ``body`` under ``name``, if that can be done."""
        if not self._is_usable():
            return
        aside = self.path / f"{uuid.uuid4().hex}.tmp"
        try:
            with open(aside, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
                file.write(HEAD + hashlib.sha256(body).digest() + body)
            os.replace(aside, self._file(name))
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
            if not (os.name == "nt" and isinstance(error, PermissionError)):  # another process is reading it
                self._give_up(f"{error.strerror or error} ({self.path})")

    def tidy(self, start: str, keep: int = MOST) -> None:
        """Remove what was not used for long, and of the names that begin with ``start`` all but the newest."""
        with contextlib.suppress(OSError):
            dated = [(path.stat().st_mtime, path) for path in self.path.iterdir()]
            old = time.time() - UNUSED
            gone = [path for used, path in dated if used < old]
            mine = sorted((used, path) for used, path in dated if path.name.startswith(start))
            for path in gone + [path for _, path in mine[: max(len(mine) - keep, 0)]]:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.nbc"

    def _is_usable(self) -> bool:
        """Whether the folder is there, writable, and no one else's; the first time it is made and looked at."""
        if not self._ready and self.obstacle is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.mkdir(mode=0o700, exist_ok=True)
                status = os.lstat(self.path)
                if not stat.S_ISDIR(status.st_mode):
                    self._give_up(f"{self.path} is not a folder")
                elif not _is_private(status):
                    self._give_up(f"{self.path} belongs to someone else, or others may write to it")
            except OSError as error:
                self._give_up(f"{error.strerror or error} ({self.path})")
            self._ready = True
        return self.obstacle is None

    def _give_up(self, obstacle: str) -> None:
        if self.obstacle is None:
            self.obstacle = obstacle
            warnings.warn(
                f"compiled code can't be kept, so that each process compiles anew: {obstacle}. "
                "Set GUMDP_CACHE_DIR to a folder of your own.",
                stacklevel=2,
            )


def _is_private(status: os.stat_result) -> bool:
    """Whether this is the user's own, and no one else may change it."""
    if not hasattr(os, "geteuid"):
        return True  # Windows: the folder is under the user's profile, which has its own protection
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
