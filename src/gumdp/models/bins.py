"""Bins: which cell of the occupancy a continuous observation falls into."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError, check_int, items, one_of, show
from gumdp.models.compiled import EdgeBoxes, EqualBoxes, cells_of

Array = NDArray[np.float64]
OUTSIDE = ("clip", "error")
MOST = 10_000_000  # cells that an occupancy may have
MOST = 2**31  # bins of a dimension


def _names(names: Any) -> tuple[str, ...] | None:
    given = None if names is None else items(names)
    if names is not None and (given is None or not all(isinstance(name, str) for name in given)):
        raise GumdpError(f"Bins: names must be a text for each dimension, not {show(names)}.")
    return None if given is None else tuple(given)


class Bins:
    """A division of continuous observations into cells, for the occupancy only: the dynamics stay continuous.

    Args:
        counts: how many equal bins, for each dimension or for all; a dimension with one bin does not count.
        low, high: the range of each dimension, or of all. Where they are not given, the environment's own range;
            a dimension that has none needs them.
        outside: ``"clip"`` puts observations outside the range into the nearest bin (``outside`` counts them),
            ``"error"`` refuses them.
        names: of the dimensions, for people.

    Cells are numbered row by row, the last dimension fastest.

    >>> bins = Bins((10, 10), low=(-1.2, -0.07), high=(0.6, 0.07))
    >>> bins.cells, bins.index([[-0.5, 0.0], [0.6, 0.07]]).tolist()
    (100, [35, 99])
    """

    def __init__(
        self,
        counts: int | Sequence[int],
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        *,
        outside: str = "clip",
        names: Sequence[str] | None = None,
    ) -> None:
        one_of("outside", outside, OUTSIDE)
        self.mode = outside
        self.names = _names(names)
        self.edges: tuple[Array, ...] | None = None  # of each dimension, if they are not equal bins
        several = items(counts) if isinstance(counts, (Sequence, np.ndarray)) else None
        self._spread = several is None  # one number is for every dimension
        self._counts = tuple(check_int("Bins: counts", c, 1, MOST) for c in ([counts] if several is None else several))
        self._low, self._high = _ends("low", low), _ends("high", high)
        self.shape: tuple[int, ...] | None = None  # bins of each dimension, once their number is known
        lists = (None if self._spread else self._counts, self._low, self._high)
        sizes = {len(x) for x in lists if x is not None}
        if len(sizes - {1}) > 1:
            raise GumdpError(f"Bins: counts, low and high must have equally many entries, not {sorted(sizes)}.")
        known = self._low is not None and self._high is not None and not np.isnan([*self._low, *self._high]).any()
        if known and (not self._spread or max(sizes) > 1):
            self._settle(max(sizes))

    @classmethod
    def at(cls, edges: Sequence[ArrayLike], *, outside: str = "clip", names: Sequence[str] | None = None) -> Bins:
        """Bins between given edges: one rising list for each dimension.

        >>> Bins.at([[0.0, 1.0, 10.0]]).index([[0.5], [5.0]]).tolist()
        [0, 1]
        """
        lists = []
        for k, values in enumerate(edges):
            line = np.array(values, dtype=np.float64)
            if line.ndim != 1 or line.size < 2 or not (np.diff(line) > 0).all() or not np.isfinite(line).all():
                raise GumdpError(f"Bins.at: the edges of dimension {k} must be two or more rising finite numbers.")
            lists.append(line)
        if not lists:
            raise GumdpError("Bins.at: there must be at least one dimension.")
        bins = cls(
            [x.size - 1 for x in lists], [x[0] for x in lists], [x[-1] for x in lists], outside=outside, names=names
        )
        bins.edges = tuple(lists)
        return bins

    @classmethod
    def quantiles(
        cls,
        samples: ArrayLike,
        counts: int | Sequence[int],
        *,
        outside: str = "clip",
        names: Sequence[str] | None = None,
    ) -> Bins:
        """Bins that hold equally many of ``samples`` [n, dimensions] each, as far as repeated values allow.

        >>> Bins.quantiles([[0.0], [1.0], [2.0], [100.0]], 2).edges[0].tolist()
        [0.0, 1.5, 100.0]
        """
        data = np.array(samples, dtype=np.float64)
        if data.ndim != 2 or data.size == 0 or not np.isfinite(data).all():
            raise GumdpError(f"Bins.quantiles: samples must be finite numbers [n, dimensions], not {data.shape}.")
        several = list(counts) if isinstance(counts, (Sequence, np.ndarray)) else [counts] * data.shape[1]
        if len(several) != data.shape[1]:
            raise GumdpError(f"Bins.quantiles: there are {len(several)} counts for {data.shape[1]} dimensions.")
        edges = []
        for k, count in enumerate(several):
            line = np.unique(np.quantile(data[:, k], np.linspace(0.0, 1.0, check_int("counts", count, 1) + 1)))
            edges.append(line if line.size > 1 else np.array([line[0], np.nextafter(line[0], math.inf)]))
        return cls.at(edges, outside=outside, names=names)

    def __repr__(self) -> str:
        if self.shape is None:
            return f"Bins({self._counts[0] if self._spread else self._counts}, ranges to come)"
        return f"Bins({' × '.join(map(str, self.shape))} = {self.cells} cells)"

    @property
    def cells(self) -> int:
        """How many cells there are."""
        if self.shape is None:
            raise GumdpError("Bins: the ranges are not known yet; give low and high.")
        return math.prod(self.shape)

    @property
    def grid(self) -> tuple[int, int] | None:
        """(rows, columns) if two dimensions are divided, else None."""
        divided = [n for n in self.shape or () if n > 1]
        return (divided[0], divided[1]) if len(divided) == 2 else None

    @property
    def axes(self) -> tuple[str, str] | None:
        """The names of the two dimensions of the grid."""
        if self.grid is None or self.names is None or self.shape is None:
            return None
        one, two = (name for name, n in zip(self.names, self.shape, strict=True) if n > 1)
        return one, two

    def over(self, low: ArrayLike, high: ArrayLike, names: Sequence[str] | None = None, what: str = "") -> Bins:
        """These bins with the ranges that were left open filled in from an environment's own."""
        theirs = np.atleast_1d(np.asarray(low, np.float64)), np.atleast_1d(np.asarray(high, np.float64))
        n = theirs[0].size
        mine = self.shape or (self._counts * n if self._spread else self._counts)
        if len(mine) != n:
            raise GumdpError(f"Bins: there are {len(mine)} dimensions, but {what} has {n}.")
        if self.edges is not None:
            return self
        ends = [
            given if end is None else np.where(np.isnan(end), given, end)
            for end, given in zip((self._low, self._high), theirs, strict=True)
        ]
        labels = self.names if self.names is not None else names
        filled = Bins(self._counts[0] if self._spread else self._counts, *ends, outside=self.mode, names=labels)
        filled._settle(n)
        return filled

    def index(self, observations: ArrayLike) -> NDArray[np.int64]:
        """The cells [n] of observations [n, dimensions]; the cell of a single one."""
        data, single = self._rows(observations)
        cells = np.empty(len(data), np.int64)
        cells_of(self.boxes(), data, cells)
        return cells[0] if single else cells

    def outside(self, observations: ArrayLike) -> int:
        """How many of the observations [n, dimensions] lie outside the range of a dimension that is divided."""
        data, _ = self._rows(observations)
        low, high = self._range
        beyond = (data < low) | (data > high)
        return int((beyond & (np.array(self.shape) > 1)).any(axis=1).sum())

    def boxes(self) -> Any:
        """The record that kernels call: see ``gumdp.models.compiled``."""
        if self.cells and self.edges is not None:
            firsts = np.concatenate([[0], np.cumsum([x.size for x in self.edges])])
            return EdgeBoxes(np.concatenate(self.edges), firsts, self.mode == "error")
        counts = np.array(self.shape, dtype=np.int64)
        return EqualBoxes(*self._range, counts, self.mode == "error")

    def cell_names(self) -> list[str]:
        """The middle of each cell, as 'position -0.57, velocity 0.007'."""
        counts = self.shape or ()
        names = self.names or [f"x{k}" for k in range(len(counts))]
        parts = []
        for k, (name, count) in enumerate(zip(names, counts, strict=True)):
            if count > 1:
                line = self.lines(k)
                middle = (line[1:] + line[:-1]) / 2.0
                middle[np.abs(middle) < 1e-12 * np.ptp(line)] = 0.0
                parts.append([f"{name} {x:.3g}" for x in middle])
        return [", ".join(p) for p in itertools.product(*parts)]

    def lines(self, dimension: int) -> Array:
        """The edges of the bins of one dimension, one more than there are bins.

        >>> Bins((2, 1), low=0.0, high=1.0).lines(0).tolist()
        [0.0, 0.5, 1.0]
        """
        low, high = self._range
        if self.edges is not None:
            return self.edges[dimension]
        return np.linspace(low[dimension], high[dimension], (self.shape or ())[dimension] + 1)

    @property
    def _range(self) -> tuple[Array, Array]:
        if self.shape is None or self._low is None or self._high is None:
            raise GumdpError("Bins: the ranges are not known yet; give low and high.")
        return self._low, self._high

    def _rows(self, observations: ArrayLike) -> tuple[Array, bool]:
        data = np.asarray(observations, dtype=np.float64)
        single = data.ndim == 1
        data = np.ascontiguousarray(np.atleast_2d(data))
        if self.cells and (data.ndim != 2 or data.shape[1] != len(self.shape or ())):
            raise GumdpError(f"observations must have the shape [n, {len(self.shape or ())}], not {data.shape}.")
        return data, single

    def _settle(self, n: int) -> None:
        """Now that there are ``n`` dimensions: one entry for each in counts and ranges, all of them checked."""
        self.shape = self._counts * n if self._spread else self._counts
        if sum(math.log(n) for n in self.shape) > math.log(MOST) + 1e-9:
            bins = " × ".join(map(str, self.shape[:4])) + (" × …" if n > 4 else "")
            raise GumdpError(
                f"Bins: {bins} bins of {n} dimensions make {many(self.shape)} cells, more than the {MOST:,} that can "
                "be counted; give fewer bins, or one bin to leave a dimension out."
            )
        lows, highs = (np.broadcast_to(end, (len(self.shape),)).copy() for end in self._range)
        self._low, self._high = lows, highs
        for k, count in enumerate(self.shape):
            low, high = lows[k], highs[k]
            if count > 1 and not (np.isfinite(low) and np.isfinite(high)):
                name = self.names[k] if self.names is not None else f"number {k}"
                raise GumdpError(
                    f"Bins: dimension {name} is not bounded ([{low:g}, {high:g}]); give low and high, "
                    "or one bin to leave it out."
                )
            if count > 1 and not low < high:
                raise GumdpError(f"Bins: low must be below high in dimension {k}, not {low:g} and {high:g}.")
        if self.names is not None and len(self.names) != len(self.shape):
            raise GumdpError(f"Bins: there are {len(self.names)} names for {len(self.shape)} dimensions.")


def many(sizes: Sequence[int]) -> str:
    """The product of the sizes, for people.

    >>> many([3] * 24), many([256] * 1000)
    ('282,429,536,481', 'about 10^2408')
    """
    power = sum(math.log10(n) for n in sizes)
    return f"{math.prod(sizes):,}" if power < 15 else f"about 10^{power:.0f}"


def _ends(what: str, values: ArrayLike | None) -> Array | None:
    """One end of the ranges as an array, NaN where it is left open."""
    if values is None:
        return None
    try:
        line = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise GumdpError(f"Bins: {what} must be numbers, not {show(values)}.") from None
    if line.ndim != 1 or line.size == 0:
        raise GumdpError(f"Bins: {what} must be a number for each dimension, not an array of shape {line.shape}.")
    return line
