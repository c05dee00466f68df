"""Tables with columns, whoever made them: pandas frames, Arrow tables, dictionaries, files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.errors import GumdpError

FILES = (".csv", ".parquet")


def columns_of(data: Any) -> dict[str, Any] | None:
    """The columns of a table or of a file, or None if it is neither."""
    if isinstance(data, Path) or (isinstance(data, str) and data.endswith(FILES)):
        return _from_file(Path(data))
    if isinstance(data, Mapping):
        return {str(name): _array(list(values)) for name, values in data.items()}
    if hasattr(data, "column_names") and hasattr(data, "to_pydict"):  # Arrow
        return {str(name): _array(values) for name, values in data.to_pydict().items()}
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):  # pandas
        return {str(name): _array(data[name].tolist()) for name in data.columns}
    return None


def numbered(first: Any, second: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Names as numbers, in their order, for both lists alike, and the names; numbers are left alone.

    >>> one, two, names = numbered(["b", "a"], ["a", "c"])
    >>> one.tolist(), two.tolist(), names
    ([1, 0], [0, 2], ('a', 'b', 'c'))
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.dtype.kind not in "US" or two.dtype.kind not in "US":
        return first, second, ()
    names, numbers = np.unique(np.concatenate([one.ravel(), two.ravel()]), return_inverse=True)
    return numbers[: one.size], numbers[one.size :], tuple(map(str, names))


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise GumdpError(f"learn: there is no file {str(path)!r}.")
    if path.suffix == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise GumdpError("learn: Parquet files need the package pyarrow: pip install 'gumdp[parquet]'.") from None
        return columns_of(parquet.read_table(path)) or {}
    if path.suffix != ".csv":
        raise GumdpError(f"learn: files must be of the kinds {' and '.join(FILES)}, not {path.name!r}.")
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file)) or [[]]
    return {name: _parsed([row[k] for row in rows]) for k, name in enumerate(names)}


def _parsed(texts: list[str]) -> Any:
    """The column of a text file as numbers or truths, if all of it is that."""
    words = {"true": True, "false": False}
    if all(text.lower() in words for text in texts):
        return np.array([words[text.lower()] for text in texts])
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)


def _array(values: list[Any]) -> Any:
    """One value a row: numbers, names, or the numbers of a continuous state."""
    return np.array([x.tolist() if hasattr(x, "tolist") else x for x in values])
