"""Logs as they are: rows with holes, rows that name no next state, steps that were not written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError

NEEDED = ("state", "action", "next_state")
TRUE, FALSE = ("true", "yes", "t", "y", "1", "1.0"), ("false", "no", "f", "n", "0", "0.0", "")
WORDS = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False)
Columns = dict[str, Any]


def tidy(columns: Mapping[str, Any]) -> tuple[Columns, list[str]]:
    """The rows that say a whole transition, and in words how many others there were and why they were left out.

    Without a column next_state, the next row of the same episode says it. Where there is a column step, a gap in its
    numbers is a gap in the log.

    >>> rows, notes = tidy({"state": [0, 1, 2], "action": [0, 0, 1], "step": [0, 1, 5], "episode": [0, 0, 0]})
    >>> rows["next_state"].tolist(), notes
    ([1], ['2 rows after which the log has a gap or ends'])
    """
    table = {str(name): np.asarray(values) for name, values in columns.items()}
    for name in NEEDED[:2]:
        if name not in table:
            raise GumdpError(f"learn: the data needs a column {name!r}; it has {list(table)}.")
    sizes = {name: len(values) for name, values in table.items() if values.ndim > 0}
    if len(sizes) < len(table) or len(set(sizes.values())) > 1:
        raise GumdpError(f"learn: the columns must be equally long, not {sizes}.")
    notes: list[str] = []
    if "terminated" in table:
        table["terminated"] = truths("terminated", table["terminated"])
    if "next_state" not in table:
        table = _chained(table, notes)
    else:
        table = _without_holes(table, notes)
    return table, notes


def truths(name: str, values: NDArray[Any]) -> NDArray[np.bool_]:
    """A column as truths, also where it is written in words; nothing at all is not true.

    >>> truths("terminated", np.array(["yes", "0", ""])).tolist()
    [True, False, False]
    """
    if values.dtype.kind in "biu":
        return values.astype(bool)
    words = ["" if empty else str(x).strip().lower() for x, empty in zip(values.tolist(), _empty(values), strict=True)]
    if wrong := [word for word in words if word not in WORDS]:
        raise GumdpError(f"learn: {name} must be true or false, 1 or 0, in each row, not {wrong[0]!r}.")
    return np.array([WORDS[word] for word in words], bool)


def _without_holes(table: Columns, notes: list[str]) -> Columns:
    """The rows that say a state, an action and what followed."""
    whole = ~np.any([_empty(table[name]) for name in NEEDED], axis=0)
    if whole.all():
        return table
    notes.append(f"{_rows(int((~whole).sum()))} with nothing in {' or '.join(NEEDED)}")
    kept = {name: values[whole] for name, values in table.items()}
    return {name: _numbers(values) if name in NEEDED else values for name, values in kept.items()}


def _filled(values: NDArray[Any]) -> NDArray[Any]:
    """The column with something in its holes, which are not looked at, so that the rest is numbers or names."""
    empty = _empty(values)
    if not empty.any() or empty.all():
        return values
    filled = values.copy()
    filled[empty] = values[~empty][0]
    return _numbers(filled)


def _empty(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        holes = np.isnan(values)
        return holes if holes.ndim == 1 else np.asarray(holes.any(axis=tuple(range(1, holes.ndim))))
    if values.dtype.kind in "OU":
        return np.array([x is None or x != x or (isinstance(x, str) and not x.strip()) for x in values], bool)
    return np.zeros(len(values), bool)


def _numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Texts and objects as numbers, where now all of them are numbers."""
    if values.dtype.kind not in "OU":
        return values
    try:
        return np.array([float(x) for x in values])
    except (TypeError, ValueError):
        return np.array([str(x) for x in values]) if values.dtype.kind == "O" else values


def _chained(table: Columns, notes: list[str]) -> Columns:
    """The rows that the next row of the same episode continues, with the state of that row."""
    if "episode" not in table and "terminated" not in table:
        raise GumdpError(
            "learn: the data needs a column 'next_state', or a column 'episode' to tell which row follows which; "
            f"it has {list(table)}."
        )
    n = len(table["state"])
    follows = np.zeros(n, bool)
    follows[:-1] = ~_empty(table["state"])[1:]  # a row without an action still says where the last one led
    if "episode" in table:
        follows[:-1] &= table["episode"][1:] == table["episode"][:-1]
    if "terminated" in table:
        follows &= ~table["terminated"]
    if "step" in table:
        if table["step"].dtype.kind not in "iuf":
            raise GumdpError(
                f"learn: step must be the number of the step in each row, not {table['step'][:1].tolist()}."
            )
        follows[:-1] &= table["step"][1:] == table["step"][:-1] + 1
    holes = _empty(table["state"]) | _empty(table["action"])
    if holes.any():
        notes.append(f"{_rows(int(holes.sum()))} with nothing in state or action")
    if lost := int((~follows & ~holes).sum()):
        notes.append(f"{_rows(lost)} after which the log has a gap or ends")
    follows &= ~holes
    table |= {name: _filled(table[name]) for name in NEEDED[:2]}
    at = np.flatnonzero(follows)
    found = {name: values[at] for name, values in table.items() if name != "terminated"}
    breaks = np.cumsum(~follows)  # a new number after each gap: what follows it is the start of a piece
    if "terminated" in table:  # the row of a terminal state has no next one, but says that the step before ended there
        found["terminated"] = table["terminated"][at + 1]
    return {**found, "next_state": table["state"][at + 1], "episode": breaks[at]}


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
