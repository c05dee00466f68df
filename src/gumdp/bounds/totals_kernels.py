"""Dynamic programming over a state and two running totals, on a grid: see ``gumdp.bounds.totals``.

A function on the grid stands for its bilinear interpolation L. Moved by a part θ of the width, it has its kinks between
the points. Its values at the points, interpolated, are above it by at most θ(1-θ)·D, at a kink where the second
difference D is positive. So much is taken off at the points next to the kink: then what is interpolated is nowhere
above L. Columns are treated as rows are. Where only every second point of a grid is kept, it is D/2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import kernel, part
from gumdp.objectives.record import whole_value


class Moves(NamedTuple):
    """Where pairs lead on the grid in one step, and what they cost."""

    costs: Any  # float64 [S·A]
    rows: Any  # int64 [S·A]: from the first point of this grid to this row of the next one,
    columns: Any  # int64 [S·A]
    below: Any  # float64 [S·A]: and so much of its width beyond
    beside: Any  # float64 [S·A]
    scale: int  # points of the next grid to a point of this one, 1 or 2


class Planes(NamedTuple):
    """Linear bounds on what can be reached with the running totals y: slope·y + what is ahead."""

    slopes: Any  # float64 [n, 2]
    ahead: Any  # float64 [T + 1, n, S]


@part
def gather(chain, r, ahead, top, left, rows, columns, into):
    """``into`` becomes the mean of ``ahead`` after pair ``r``, from this row and column on."""
    for m in range(rows):
        out = into[m]
        j = chain.offsets[r]
        p, row = chain.probabilities[j], ahead[chain.successors[j], top + m]
        for b in range(columns):
            out[b] = p * row[left + b]
        for j in range(chain.offsets[r] + 1, chain.offsets[r + 1]):
            p, row = chain.probabilities[j], ahead[chain.successors[j], top + m]
            for b in range(columns):
                out[b] += p * row[left + b]


@part
def bent(a, b, c):
    """The second difference of three numbers."""
    return (a - b) + (c - b)


@part
def move_rows(share, rows, columns, source, into):
    """Row m of ``into`` becomes that which lies the ``share`` of a width below row m + 1 of the source, or less."""
    rest, loss = 1.0 - share, share * (1.0 - share)
    for m in range(rows):
        w, x, y, z, out = source[m], source[m + 1], source[m + 2], source[m + 3], into[m]
        for b in range(columns):
            most = max(0.0, max(bent(w[b], x[b], y[b]), bent(x[b], y[b], z[b])))
            out[b] = rest * x[b] + share * y[b] - loss * most


@part
def move_columns(share, rows, columns, source, into):
    """The same for columns."""
    rest, loss = 1.0 - share, share * (1.0 - share)
    for m in range(rows):
        row, out = source[m], into[m]
        for b in range(columns):
            most = max(0.0, max(bent(row[b], row[b + 1], row[b + 2]), bent(row[b + 1], row[b + 2], row[b + 3])))
            out[b] = rest * row[b + 1] + share * row[b + 2] - loss * most


@part
def thin_out(rows, columns, source, spare, into):
    """``into`` becomes every second row and column of the source, beginning with the third, or less."""
    for m in range(rows):
        v, w, x, y, z = source[2 * m], source[2 * m + 1], source[2 * m + 2], source[2 * m + 3], source[2 * m + 4]
        out = spare[m]
        for b in range(2 * columns + 3):
            out[b] = x[b] - 0.5 * max(0.0, max(bent(v[b], w[b], x[b]), bent(x[b], y[b], z[b])))
    for m in range(rows):
        row, out = spare[m], into[m]
        for b in range(columns):
            k = 2 * b
            most = max(bent(row[k], row[k + 1], row[k + 2]), bent(row[k + 2], row[k + 3], row[k + 4]))
            out[b] = row[k + 2] - 0.5 * max(0.0, most)


@kernel
def back_up(chain, moves, ahead, now, core, one, two, start, stop):
    """``now`` [S, rows, columns] becomes a bound of the cost from there on, in rows start … stop of the core.

    ``ahead`` is that of the next step; ``core`` the first and the last row and column that are looked at; ``one`` and
    ``two`` are scratch.
    """
    low, high, scale = core[2], core[3], moves.scale
    more = 2 if scale == 2 else 0
    rows, columns = scale * (stop - start - 1) + 1 + 2 * more, scale * (high - low - 1) + 1 + 2 * more
    for s in range(now.shape[0]):
        for i in range(start, stop):
            for b in range(low, high):
                now[s, i, b] = np.inf
        for r in range(s * chain.actions, (s + 1) * chain.actions):
            if chain.offsets[r] == chain.offsets[r + 1]:
                continue
            top, left = scale * start - more + moves.rows[r] - 1, scale * low - more + moves.columns[r] - 1
            gather(chain, r, ahead, top, left, rows + 3, columns + 3, one)
            move_rows(moves.below[r], rows, columns + 3, one, two)
            move_columns(moves.beside[r], rows, columns, two, one)
            if scale == 2:
                thin_out(stop - start, high - low, one, two, one)
            for i in range(start, stop):
                out, found, cost = now[s, i], one[i - start], moves.costs[r]
                for b in range(low, high):
                    out[b] = min(out[b], cost + found[b - low])


@kernel
def from_start(chain, ahead):
    """``ahead`` becomes what an episode is worth before its start is drawn, whatever the state."""
    for i in range(ahead.shape[1]):
        for b in range(ahead.shape[2]):
            total = 0.0
            for j in range(chain.start_states.size):
                total += chain.start_probabilities[j] * ahead[chain.start_states[j], i, b]
            for s in range(ahead.shape[0]):
                ahead[s, i, b] = total


@part
def highest(planes, t, s, x, y):
    """The largest of the linear bounds."""
    most = -np.inf
    for n in range(planes.slopes.shape[0]):
        most = max(most, planes.slopes[n, 0] * x + planes.slopes[n, 1] * y + planes.ahead[t, n, s])
    return most


@kernel
def fill_rim(planes, t, low, width, loss, now, core, inner):
    """``now`` becomes the largest of the linear bounds less ``loss`` outside the core, and no more at its edge.

    ``inner`` are the rows and columns of the core that have no such neighbours.
    """
    for i in range(now.shape[1]):
        row, deep = core[0] <= i < core[1], inner[0] <= i < inner[1]
        for b in range(now.shape[2]):
            if deep and inner[2] <= b < inner[3]:
                continue
            for s in range(now.shape[0]):
                value = highest(planes, t, s, width[0] * (low[0] + i), width[1] * (low[1] + b)) - loss
                now[s, i, b] = min(now[s, i, b], value) if row and core[2] <= b < core[3] else value


@kernel
def look_ahead(chain, weights, horizon, costs, rows, planes):
    """``planes.ahead[t, n, s]`` becomes the least Σ w·(costs + slope·rows) of the steps from t on, on average."""
    steps, states = weights.size, planes.ahead.shape[2]
    for n in range(planes.slopes.shape[0]):
        x, y = planes.slopes[n, 0], planes.slopes[n, 1]
        for t in range(steps - 1, -1, -1):
            again, begin = (t + 1) % horizon == 0, 0.0
            if again:
                for j in range(chain.start_states.size):
                    begin += chain.start_probabilities[j] * planes.ahead[t + 1, n, chain.start_states[j]]
            for s in range(states):
                least = np.inf
                for r in range(s * chain.actions, (s + 1) * chain.actions):
                    if chain.offsets[r] == chain.offsets[r + 1]:
                        continue
                    q = weights[t] * (costs[r] + x * rows[0, r] + y * rows[1, r]) + begin
                    if not again:
                        for j in range(chain.offsets[r], chain.offsets[r + 1]):
                            q += chain.probabilities[j] * planes.ahead[t + 1, n, chain.successors[j]]
                    least = min(least, q)
                planes.ahead[t, n, s] = least


@kernel
def value_at(objective, z, values):
    """``values[n]`` becomes the objective at the totals ``z[n]``."""
    for n in range(values.size):
        values[n] = whole_value(objective, z[n])
