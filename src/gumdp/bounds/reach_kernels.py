"""When each cell of a simulator can be reached, from boxes of states whose images are known to lie in other boxes."""

from __future__ import annotations

from typing import Any, NamedTuple

from gumdp.jit.record import kernel, part, u64

FAR = 255  # the release of a cell that is not reached soon
LENGTH = 30  # steps that are looked at one by one
SLIVER = 1e-9  # of the width of a box: so near to its edge, a point is taken to be on both sides


class Ahead(NamedTuple):
    """The steps, and when cells can be reached."""

    weights: Any  # float64 [T]
    fresh: Any  # float64 [T, N]: what step t costs at an item that was never visited
    cheapest: Any  # float64 [T, cells]: at the cheapest item of a cell
    beyond: Any  # float64 [T + 1]: the least of that, from step t on
    release: Any  # uint8 [boxes, cells]: the first step at which a cell can be reached; [0, 0] where that is not known
    low: Any  # float64 [2]: the lower corner of all boxes,
    width: Any  # float64 [2]: and the sides of one
    counts: Any  # int64 [2]
    bins: Any  # int64 [2]: cells are numbered row by row


@part
def index(ahead, k, x, off):
    """The number of a box in dimension ``k``, of a point moved by ``off`` widths."""
    at = (x - ahead.low[k]) / ahead.width[k] + off
    return int(min(max(at, 0.0), ahead.counts[k] - 1.0))


@part
def rows_between(ahead, low, high, off):
    """The boxes that a box may touch, from row to row and from column to column; its states have two numbers."""
    return (
        index(ahead, 0, low[0], -off), index(ahead, 0, high[0], off),
        index(ahead, 1, low[-1], -off), index(ahead, 1, high[-1], off),
    )  # fmt: skip


@kernel
def lay_boxes(world, where, actions, ahead, spans, now):
    """``now`` [boxes, words] becomes the cells of each box, as bits; ``spans`` [boxes·A, 4] where its images lie."""
    across, bins = ahead.counts[1], ahead.bins[1]
    for i in range(ahead.counts[0]):
        for j in range(across):
            x, v = ahead.low[0] + i * ahead.width[0], ahead.low[1] + j * ahead.width[1]
            dx, dv = SLIVER * ahead.width[0], SLIVER * ahead.width[1]
            end = (x + ahead.width[0] - dx, v + ahead.width[1] - dv)
            first, last = int(where.cell((x + dx, v + dv))), int(where.cell(end))
            for row in range(first // bins, last // bins + 1):
                for column in range(first % bins, last % bins + 1):
                    c = row * bins + column
                    now[i * across + j, c >> 6] |= u64(1) << u64(c & 63)
            far = (x + ahead.width[0] + dx, v + ahead.width[1] + dv)
            for a in range(actions):
                low, high = world.image((x - dx, v - dv), far, u64(a))
                at = (i * across + j) * actions + a
                spans[at, 0], spans[at, 1], spans[at, 2], spans[at, 3] = rows_between(ahead, low, high, SLIVER)


@kernel
def release_cells(actions, ahead, spans, now, later):
    """Fill in ``ahead.release``: the first step at which each cell can be reached from each box."""
    boxes, words, across = now.shape[0], now.shape[1], ahead.counts[1]
    for k in range(LENGTH):
        for b in range(boxes):
            for word in range(words):
                seen = now[b, word]
                if k > 0:
                    for at in range(b * actions, (b + 1) * actions):
                        for i in range(spans[at, 0], spans[at, 1] + 1):
                            for j in range(spans[at, 2], spans[at, 3] + 1):
                                seen |= now[i * across + j, word]
                    fresh = seen & ~now[b, word]
                else:
                    fresh = seen
                later[b, word] = seen
                c = word << 6
                while fresh != u64(0):
                    if fresh & u64(1):
                        ahead.release[b, c] = k
                    fresh >>= u64(1)
                    c += 1
        for b in range(boxes):
            for word in range(words):
                now[b, word] = later[b, word]


@part
def released(ahead, first, last, low, high, work):
    """``work.release`` becomes the first step at which each cell can be reached from a box in cells first … last."""
    cells = work.release.size
    if ahead.release.size == 0:
        for c in range(cells):
            work.release[c] = 0 if c == first else 1
        return
    top, bottom, left, right = rows_between(ahead, low, high, SLIVER)
    for c in range(cells):
        work.release[c] = FAR
    for i in range(top, bottom + 1):
        for j in range(left, right + 1):
            b = i * ahead.counts[1] + j
            for c in range(cells):
                work.release[c] = min(work.release[c], int(ahead.release[b, c]))
