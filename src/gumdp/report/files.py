"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    """Write a file aside and move it into place: readers see the old one or the new one, never a part."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    aside = path.with_name(f".{secrets.token_hex(6)}.part")
    try:
        with open(aside, "xb") as file:
            file.write(data)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
