"""Stored trials as CSV and Parquet, a row each."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gumdp import escape
from gumdp.errors import GumdpError, show
from gumdp.experiments.store.reader import StoredArm
from gumdp.experiments.store.store import COLUMNS, Store
from gumdp.files import aside

ROWS = 50_000  # at a time: exports of any size take little memory


def to_csv(store: Store, path: str | Path, arms: Iterable[StoredArm] | None = None) -> int:
    """Write every trial, or those of some arms, to a CSV file, and return how many there were."""
    count = 0
    with _file(path) as target, open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in store.rows(arms):
            writer.writerow([escape.csv_field(x) for x in row])
            count += 1
    return count


def to_parquet(store: Store, path: str | Path, arms: Iterable[StoredArm] | None = None) -> int:
    """As ``to_csv``, to a Parquet file. Needs pyarrow: the extra ``parquet``."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise GumdpError("Parquet files need pyarrow: pip install 'gumdp[parquet]'.") from None
    kinds: dict[str, Any] = {"trial": pyarrow.int64(), "value": pyarrow.float64(), "seconds": pyarrow.float64()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    rows, count = store.rows(arms), 0
    with _file(path) as target, pyarrow.parquet.ParquetWriter(str(target), schema) as writer:
        while part := list(itertools.islice(rows, ROWS)):
            columns = [
                pyarrow.array(column, kind.type) for column, kind in zip(zip(*part, strict=True), schema, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            count += len(part)
    return count


@contextmanager
def _file(path: str | Path) -> Iterator[Path]:
    """A file to write to, which takes the place of ``path`` when all is in it; or a sentence why it can't."""
    try:
        with aside(Path(path), through=True) as target:
            yield target
    except (OSError, ValueError) as error:
        if isinstance(error, GumdpError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise GumdpError(f"{show(str(path))} can't be written: {reason}.") from None
