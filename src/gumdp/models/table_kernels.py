"""Building the compact form of tabular models."""

from __future__ import annotations

import numpy as np

from gumdp.jit.record import kernel

TOP = 0xFFFFFFFF


@kernel
def sort_rows(offsets, successors, probabilities):
    """Order each row by falling probability, equal ones by rising successor, in place: for short rows."""
    for row in range(offsets.size - 1):
        first, last = offsets[row], offsets[row + 1]
        for k in range(first + 1, last):
            s, p = successors[k], probabilities[k]
            j = k
            while j > first and (probabilities[j - 1] < p or (probabilities[j - 1] == p and successors[j - 1] > s)):
                successors[j], probabilities[j] = successors[j - 1], probabilities[j - 1]
                j -= 1
            successors[j], probabilities[j] = s, p


@kernel
def draw_limits(offsets, probabilities, limits):
    """Fill ``limits`` with the inclusive upper ends of the 32-bit draws of each entry; the last takes the rest."""
    for row in range(offsets.size - 1):
        first, last = offsets[row], offsets[row + 1]
        total = 0.0
        for k in range(first, last):
            total += probabilities[k]
            limits[k] = TOP if k == last - 1 else max(0, min(TOP, int(round(total * 4294967296.0)) - 1))


@kernel
def pad_rows(offsets, successors, limits, shift, to_successors, to_limits):
    """Put each row where row · 2^shift is."""
    for row in range(offsets.size - 1):
        first, target = offsets[row], row << shift
        for k in range(first, offsets[row + 1]):
            to_successors[target + k - first] = successors[k]
            to_limits[target + k - first] = limits[k]


@kernel
def check_rows(offsets, probabilities, wanted, tolerance):
    """The first wanted row that is not a distribution and its sum (NaN if an entry is bad), or (-1, 1)."""
    for row in range(offsets.size - 1):
        if not wanted[row]:
            continue
        total = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            p = probabilities[k]
            if not (p >= 0.0 and p <= 1.0 + tolerance):
                return row, np.nan
            total += p
        if not abs(total - 1.0) <= tolerance:
            return row, total
    return -1, 1.0
