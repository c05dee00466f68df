"""The numbers that objectives are made of, met once, here."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError, describe

LARGEST = 1e100  # beyond, squares and products of costs leave the range of floating-point numbers
SHAPES = {1: "[K]", 2: "[S, A]", 3: "[K, S, A]"}


def number_table(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """``values`` as a read-only float array of our own with finite entries, of any shape but an empty one."""
    try:
        raw = np.asarray(values)
        table = np.array(raw, dtype=np.float64) if raw.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        table = None
    if table is None:
        raise GumdpError(f"{name} must be an array of numbers, not {describe(values)}.")
    if table.size == 0:
        raise GumdpError(f"{name} must have at least one entry, not the shape {table.shape}.")
    bad = ~(np.abs(table) <= LARGEST)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise GumdpError(
            f"{name} must be finite numbers up to {LARGEST:g}; the entry {list(where)} is {table[where]:g}."
        )
    table.flags.writeable = False
    return table


def cost_table(name: str, costs: ArrayLike, ndim: int = 2) -> NDArray[np.float64]:
    """``costs`` as a read-only float array of ``ndim`` dimensions with finite entries.

    With a dimension less they are costs of totals [k], and totals are a table of one row.
    """
    table = number_table(name, costs)
    if table.ndim == ndim - 1 and ndim > 1:
        table = table[..., None, :]
    if table.ndim != ndim:
        raise GumdpError(f"{name} must have the shape {SHAPES[ndim]}, not {table.shape}.")
    return table


def distribution(name: str, target: ArrayLike) -> NDArray[np.float64]:
    """``target`` as a read-only occupancy [S, A], used as given: not negative, with the sum 1."""
    table = cost_table(name, target)
    if table.min() < 0.0:
        s, a = np.unravel_index(int(table.argmin()), table.shape)
        raise GumdpError(f"{name} must be an occupancy; its entry (s={s}, a={a}) is negative: {table[s, a]:g}.")
    if abs(table.sum() - 1.0) > 1e-8:
        raise GumdpError(f"{name} must be an occupancy; it sums to {table.sum():.12g} instead of 1: divide by its sum.")
    return table


def match(name: str, table: NDArray[np.float64], shape: tuple[int, int]) -> None:
    """Raise unless the last two dimensions of ``table`` are ``shape``."""
    if table.shape[-2:] != tuple(shape):
        raise GumdpError(f"{name} is for occupancies of shape {table.shape[-2:]}, but the model has shape {shape}.")
