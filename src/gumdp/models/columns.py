"""Tables with columns, whoever made them: pandas frames, Arrow tables, dictionaries, files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, items, show

FILES = (".csv", ".parquet")


def columns_of(data: Any) -> dict[str, Any] | None:
    """The columns of a table or of a file, or None if it is neither."""
    if isinstance(data, Path) or (isinstance(data, str) and data.endswith(FILES)):
        return _from_file(Path(data))
    if isinstance(data, Mapping):
        listed = {str(name): items(values) for name, values in data.items()}
        wrong = [name for name, values in listed.items() if values is None]
        if wrong:
            raise GumdpError(f"learn: the column {show(wrong[0])} must be a list of values.")
        return {name: _array(values or []) for name, values in listed.items()}
    if hasattr(data, "column_names") and hasattr(data, "to_pydict"):  # Arrow
        _check_names(data.column_names)
        return {str(name): _array(values) for name, values in data.to_pydict().items()}
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):  # pandas
        _check_names(data.columns)
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
        try:
            return columns_of(parquet.read_table(path)) or {}
        except (OSError, ValueError) as error:
            raise GumdpError(f"learn: {str(path)!r} can't be read as a Parquet file: {_line(error)}") from None
    if path.suffix != ".csv":
        raise GumdpError(f"learn: files must be of the kinds {' and '.join(FILES)}, not {path.name!r}.")
    try:
        text = path.read_bytes().decode("utf-8-sig")  # spreadsheets put a mark before the first name
        mark = max(",;\t", key="".join(text.splitlines()[:1]).count)  # some of them separate by semicolons
        names, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise GumdpError(f"learn: {str(path)!r} can't be read as a CSV file: {_line(error)}") from None
    _check_names(names)
    for number, row in enumerate(rows, 1):
        if len(row) > len(names):
            raise GumdpError(f"learn: {str(path)!r} has {len(names)} columns, but {len(row)} in row {number}.")
    width = len(names)
    return {name: _parsed([*column]) for name, column in zip(names, _transposed(rows, width), strict=True)}


def _check_names(names: Iterable[Any]) -> None:
    """See that no two columns have the same name."""
    listed = [str(name) for name in names]
    twice = [name for k, name in enumerate(listed) if name in listed[:k]]
    if twice:
        raise GumdpError(f"learn: the data has two columns {show(twice[0])}; give one of them another name.")


def _transposed(rows: list[list[str]], width: int) -> list[tuple[str, ...]]:
    """Columns; where a row stops early, the rest of it is empty."""
    whole = (row + [""] * (width - len(row)) for row in rows)
    return list(zip(*whole, strict=True)) if rows else [()] * width


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


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
    """One value a row: numbers, names, or the numbers of a continuous state; what is neither stays as it is."""
    plain = [x.tolist() if hasattr(x, "tolist") else x for x in values]
    mixed = len({isinstance(x, str) for x in plain}) > 1  # NumPy would make a text of nan
    return np.array(plain, dtype=object) if mixed else np.array(plain)
