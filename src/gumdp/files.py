"""Files that are there whole or not at all, and archives of arrays from anywhere."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LARGEST = 4 << 30  # bytes that an archive may unpack to


def write(path: Path, content: str | bytes, *, through: bool = False) -> None:
    """Write a file aside and move it into place: readers see the old one or the new one, never a part."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    with aside(path, through=through) as target:
        target.write_bytes(data)


@contextmanager
def aside(path: Path, *, through: bool = False) -> Iterator[Path]:
    """A file to write to, which takes the place of ``path`` when all is in it; nothing is left of one that fails.

    A link is replaced, not followed. What is not a plain file, such as a pipe or a device, is refused; with
    ``through`` it is written to as it is.
    """
    try:
        if path.exists() and not path.is_file():
            if not through:
                raise OSError(errno.EINVAL, "it is not a plain file")
            yield path
            return
        number, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
        os.close(number)
        try:
            yield Path(name)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # not of the file aside, which nobody knows


def make_folder(folder: Path) -> Path:
    """Make a folder of ours inside another one: a link or a file in its place is refused, not followed."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink():
        raise OSError(errno.ELOOP, "there is a link in the place of a folder", str(folder))
    return folder


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an ``.npz`` file, which may be a stranger's: data only, and no more than fits into memory."""
    import numpy as np

    data = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(data) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST:
            raise OSError(errno.EFBIG, f"it would unpack to more than {LARGEST >> 20} MiB", str(path))
    with np.load(data, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
