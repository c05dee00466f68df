"""A grid of boxes over the states of a simulator: where each of them can lead, and which a piece of the start reaches.

A path of states becomes a path of boxes: from a box one may go on to every box that its image touches. Every true path
is among these, and the fewer and the wider the boxes, the more others are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gumdp.jit.record import kernel, part, u64

SLIVER = 1e-9  # of the width of a box: so near to its edge, a point is taken to be on both sides
NONE = 1 << 30  # the first column of a row of which nothing is reached


class Grid(NamedTuple):
    """Boxes of two dimensions, numbered row by row."""

    low: Any  # float64 [2]: the lower corner of all boxes,
    width: Any  # float64 [2]: and the sides of one
    counts: Any  # int64 [2]
    bins: Any  # int64 [2]: of the cells, which are numbered row by row, too
    cells: Any  # int32 [boxes, 2]: the first and the last cell that a box meets
    spans: Any  # int32 [boxes·A, 4]: the rows and the columns that its image touches, from … to


class Window(NamedTuple):
    """The boxes that can be reached k steps after the first one: of each row, some columns that have no gap."""

    left: Any  # int32 [L + 1, rows]
    right: Any  # int32 [L + 1, rows]
    at: Any  # int64 [L + 1, rows]: where the values of a row are, its column 0


@part
def index(grid, k, x, off):
    """The number of a box in dimension ``k``, of a point moved by ``off`` widths."""
    at = (x - grid.low[k]) / grid.width[k] + off
    return int(min(max(at, 0.0), grid.counts[k] - 1.0))


@part
def rows_between(grid, low, high):
    """The boxes that a box may touch, from row to row and from column to column; its states have two numbers."""
    return (
        index(grid, 0, low[0], -SLIVER), index(grid, 0, high[0], SLIVER),
        index(grid, 1, low[-1], -SLIVER), index(grid, 1, high[-1], SLIVER),
    )  # fmt: skip


@kernel
def lay_boxes(world, where, actions, grid):
    """Fill in ``grid.cells`` and ``grid.spans``."""
    for i in range(grid.counts[0]):
        for j in range(grid.counts[1]):
            b = i * grid.counts[1] + j
            x, v = grid.low[0] + i * grid.width[0], grid.low[1] + j * grid.width[1]
            dx, dv = SLIVER * grid.width[0], SLIVER * grid.width[1]
            end = (x + grid.width[0] - dx, v + grid.width[1] - dv)
            grid.cells[b, 0], grid.cells[b, 1] = int(where.cell((x + dx, v + dv))), int(where.cell(end))
            far = (x + grid.width[0] + dx, v + grid.width[1] + dv)
            for a in range(actions):
                low, high = world.image((x - dx, v - dv), far, u64(a))
                span = grid.spans[b * actions + a]
                span[0], span[1], span[2], span[3] = rows_between(grid, low, high)


@kernel
def open_window(grid, actions, low, high, window):
    """Fill in ``window`` for paths from the box (low, high); how many values it has."""
    top, bottom, left, right = rows_between(grid, low, high)
    window.left[:] = NONE
    window.right[:] = -1
    window.left[0, top : bottom + 1] = left
    window.right[0, top : bottom + 1] = right
    size, rows = 0, grid.counts[0]
    for k in range(window.left.shape[0]):
        for i in range(rows):
            window.at[k, i] = size - window.left[k, i]
            size += max(0, window.right[k, i] + 1 - window.left[k, i])
            if k + 1 == window.left.shape[0]:
                continue
            for j in range(window.left[k, i], window.right[k, i] + 1):
                b = i * grid.counts[1] + j
                for r in range(b * actions, (b + 1) * actions):
                    for to in range(grid.spans[r, 0], grid.spans[r, 1] + 1):
                        window.left[k + 1, to] = min(window.left[k + 1, to], grid.spans[r, 2])
                        window.right[k + 1, to] = max(window.right[k + 1, to], grid.spans[r, 3])
    return size


@part
def least_of(window, values, k, top, bottom, left, right):
    """(the least value at step ``k`` among these rows and columns, its row and column), where they can be reached."""
    best, row, column = math.inf, -1, -1
    for i in range(top, bottom + 1):
        for j in range(max(left, window.left[k, i]), min(right, window.right[k, i]) + 1):
            if values[window.at[k, i] + j] < best:
                best, row, column = values[window.at[k, i] + j], i, j
    return best, row, column
