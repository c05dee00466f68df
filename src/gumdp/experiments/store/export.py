"""Stored trials as CSV and Parquet, a row each."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

from gumdp import escape
from gumdp.errors import GumdpError
from gumdp.experiments.store.store import COLUMNS, Store

ROWS = 50_000  # at a time: exports of any size take little memory


def to_csv(store: Store, path: str | Path) -> int:
    """Write every trial to a CSV file, and return how many there were."""
    count = 0
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for row in store.rows():
                writer.writerow([escape.csv_field(x) for x in row])
                count += 1
    except OSError as error:
        raise GumdpError(f"{path} can't be written: {error.strerror}.") from None
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
    try:
        with pyarrow.parquet.ParquetWriter(str(path), schema) as writer:
            while part := list(itertools.islice(rows, ROWS)):
                columns = [
                    pyarrow.array(column, kind.type)
                    for column, kind in zip(zip(*part, strict=True), schema, strict=True)
                ]
                writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
                count += len(part)
    except OSError as error:
        raise GumdpError(f"{path} can't be written: {error.strerror or error}.") from None
    return count
