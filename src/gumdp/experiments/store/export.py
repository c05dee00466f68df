"""Stored trials as CSV and Parquet, a row each."""

from __future__ import annotations

import csv
import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gumdp import escape
from gumdp.errors import GumdpError, show
from gumdp.experiments.store.store import COLUMNS, Store

ROWS = 50_000  # at a time: exports of any size take little memory


def to_csv(store: Store, path: str | Path) -> int:
    """Write every trial to a CSV file, and return how many there were."""
    count = 0
    with _aside(path) as target, open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in store.rows():
            writer.writerow([escape.csv_field(x) for x in row])
            count += 1
    return count


def to_parquet(store: Store, path: str | Path) -> int:
    """Write every trial to a Parquet file, and return how many there were. Needs pyarrow: the extra ``parquet``."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise GumdpError("Parquet files need pyarrow: pip install 'gumdp[parquet]'.") from None
    kinds: dict[str, Any] = {"trial": pyarrow.int64(), "value": pyarrow.float64(), "seconds": pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    rows, count = store.rows(), 0
    with _aside(path) as target, pyarrow.parquet.ParquetWriter(str(target), schema) as writer:
        while part := list(itertools.islice(rows, ROWS)):
            columns = [
                pyarrow.array(column, kind.type) for column, kind in zip(zip(*part, strict=True), schema, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            count += len(part)
    return count


@contextmanager
def _aside(path: str | Path) -> Iterator[Path]:
    """A file to write to, which takes the place of ``path`` when all is in it; nothing is left of one that fails.

    What is not a plain file, such as a pipe, is written to as it is.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
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
    except (OSError, ValueError) as error:
        if isinstance(error, GumdpError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise GumdpError(f"{show(str(path))} can't be written: {reason}.") from None
