"""Paths from a box, bounded by prices: what their steps still to come cost at least, on a grid of boxes.

Each φ is bent: below a share x that is its own, its tangent at x takes its place. What comes of it, φ̃, is convex and
nowhere above φ. So a step of weight w raises it by at least φ̃(z₀ + w) - φ̃(z₀), whatever the share is by then, if it
was z₀ when the paths began: charges that depend on the step and the item alone. The cheapest rest of a path is then
dynamic programming over boxes, and one look-up bounds a path: its own φ̃, and the rest from where it leads.

x = 0 suits an item that is visited once at most. Where several steps go, x should be about what they bring in the
end. Paths that bring less pay too little, by the tangent; so the x are chosen for the paths of the least bound.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gumdp.bounds.grid_kernels import least_of, rows_between
from gumdp.bounds.paths_kernels import phi, push, sink, slope_of, trail_of
from gumdp.jit.record import kernel, part, u64


class Rest(NamedTuple):
    """Prices, and what the steps still to come cost by them; what one thread works with."""

    trail: Any  # int32 [T]: pairs of a path
    z: Any  # float64 [N]: shares
    touch: Any  # float64 [N]: x
    slope: Any  # float64 [N]: of the tangent there
    offset: Any  # float64 [N]: and its value at 0
    charges: Any  # float64 [L, S·A]
    tail: Any  # float64 [T + 1]: the least charges from each step on
    values: Any  # float64 [n]: what is left to pay in each box of the window
    turn: Any  # float64 [N]: where to x should go, relative to it,
    visits: Any  # float64 [N]: how often the paths of the least bounds visit an item,
    mass: Any  # float64 [N]: and what they bring there
    small: Any  # float64 [N]: what the rest of one of them brings
    large: Any  # float64 [N]: and how many steps of it are larger than x


@part
def bent(items, rest, i, x):
    """φ̃ of item i."""
    return phi(items, i, x) if x >= rest.touch[i] else rest.offset[i] + rest.slope[i] * x


@kernel
def settle(items, ahead, grid, window, rest):
    """``rest.values`` becomes the least that is to be paid from each box, by the prices at ``rest.touch``."""
    for i in range(rest.touch.size):
        x = rest.touch[i]
        rest.slope[i] = slope_of(items, i, x) if x > 0.0 else 0.0
        rest.offset[i] = phi(items, i, x) - rest.slope[i] * x
    length, across, actions = window.left.shape[0] - 1, grid.counts[1], items.actions
    for k in range(ahead.weights.size - 1, -1, -1):
        least = math.inf
        for r in range(items.costs.size):
            i, w = r // items.shared, ahead.weights[k]
            charge = bent(items, rest, i, w) - bent(items, rest, i, 0.0) + w * (items.costs[r] - items.least[i])
            least = min(least, charge)
            if k < length:
                rest.charges[k, r] = charge
        rest.tail[k] = rest.tail[k + 1] + least
    for k in range(length, -1, -1):
        for i in range(grid.counts[0]):
            for j in range(window.left[k, i], window.right[k, i] + 1):
                if k == length:
                    rest.values[window.at[k, i] + j] = rest.tail[length]
                else:
                    rest.values[window.at[k, i] + j] = to_pay(items, grid, window, rest, k, i * across + j, actions)


@part
def to_pay(items, grid, window, rest, k, b, actions):
    """What is to be paid from box ``b`` at step ``k`` on; every box that its image touches is in the window."""
    paid, bins, first, last = math.inf, grid.bins[1], grid.cells[b, 0], grid.cells[b, 1]
    for a in range(actions):
        r, after = b * actions + a, math.inf
        for i in range(grid.spans[r, 0], grid.spans[r, 1] + 1):
            at = window.at[k + 1, i]
            for j in range(at + grid.spans[r, 2], at + grid.spans[r, 3] + 1):
                after = min(after, rest.values[j])
        if first == last:
            paid = min(paid, rest.charges[k, first * actions + a] + after)
        else:
            for up in range(first // bins, last // bins + 1):
                for along in range(first % bins, last % bins + 1):
                    paid = min(paid, rest.charges[k, (up * bins + along) * actions + a] + after)
    return paid


@part
def next_box(items, grid, window, rest, k, b, actions):
    """(what is to be paid from box ``b`` at step ``k`` on, the pair that is chosen, the row and column after it)."""
    paid, pair, row, column, bins = math.inf, 0, 0, 0, grid.bins[1]
    first, last = grid.cells[b, 0], grid.cells[b, 1]
    for a in range(actions):
        span = grid.spans[b * actions + a]
        after, i, j = least_of(window, rest.values, k + 1, span[0], span[1], span[2], span[3])
        for up in range(first // bins, last // bins + 1):
            for along in range(first % bins, last % bins + 1):
                r = (up * bins + along) * actions + a
                if rest.charges[k, r] + after < paid:
                    paid, pair, row, column = rest.charges[k, r] + after, r, i, j
    return paid, pair, row, column


# --- the tree ---


@part
def more_of(items, rest, r, w, plain):
    """What a step of weight ``w`` adds at pair ``r``: by φ if ``plain``, else by φ̃."""
    i = r // items.shared
    z, more = rest.z[i], w * (items.costs[r] - items.least[i])
    if plain:
        return more + phi(items, i, z + w) - phi(items, i, z)
    return more + bent(items, rest, i, z + w) - bent(items, rest, i, z)


@part
def follow(world, items, ahead, rest, length, low, high, plain):
    """(the box where the path in ``rest.trail`` leads, what it costs); its shares are in ``rest.z`` then."""
    value = 0.0
    for k in range(length):
        r, w = rest.trail[length - 1 - k], ahead.weights[k]
        value += more_of(items, rest, r, w, plain)
        rest.z[r // items.shared] += w
        low, high = world.image(low, high, u64(r % items.actions))
    return low, high, value


@part
def forget(items, rest, length):
    """No item has a share any more."""
    for k in range(length):
        rest.z[rest.trail[k] // items.shared] = 0.0


@kernel
def spread(world, model, items, ahead, grid, window, paths, low, high, rest, size, times):
    """Look at what follows up to ``times`` paths from the box (low, high), those of the least bound first; how many.

    Fewer are when the tree has ``size`` paths or is full, or when its least bound is that of a whole path: then it is
    the optimum.
    """
    length, bins, actions = window.left.shape[0] - 1, grid.bins[1], items.actions
    empty = items.constant
    bottom = items.constant
    for i in range(rest.touch.size):
        empty += phi(items, i, 0.0)
        bottom += bent(items, rest, i, 0.0)
    for done in range(times):
        node = paths.heap[0]
        t = trail_of(paths, node, rest)
        if t == ahead.weights.size or paths.size[0] >= size or paths.size[0] + items.costs.size > paths.parent.size:
            return done
        paths.size[1] -= 1
        paths.heap[0] = paths.heap[paths.size[1]]
        sink(paths, 0)
        late, w, bound = t + 1 >= length, ahead.weights[t], paths.bound[node]
        plain = 0.0
        if late:
            _, _, plain = follow(world, items, ahead, rest, t, low, high, True)
            forget(items, rest, t)
        at, end, value = follow(world, items, ahead, rest, t, low, high, False)
        first, last = int(model.cell(at)), int(model.cell(end))
        for a in range(actions):
            after = rest.tail[t + 1]
            if not late:
                one, two = world.image(at, end, u64(a))
                i0, i1, j0, j1 = rows_between(grid, one, two)
                after, _, _ = least_of(window, rest.values, t + 1, i0, i1, j0, j1)
            for row in range(first // bins, last // bins + 1):
                for column in range(first % bins, last % bins + 1):
                    r = (row * bins + column) * actions + a
                    found = bottom + value + more_of(items, rest, r, w, False) + after
                    if late:
                        found = max(found, empty + plain + more_of(items, rest, r, w, True) + ahead.beyond[t + 1])
                    push(paths, node, r, max(bound, found), True)
        forget(items, rest, t)
    return times


@kernel
def lean(world, items, ahead, grid, window, paths, low, high, rest, most):
    """Fill in ``rest.turn``, ``visits`` and ``mass``: the mean over up to ``most`` leaves of (about) the least bounds.

    The slope of a path's bound in x is φ''(x)·x·turn, where turn = (small steps of the rest)/x + (number of its large
    ones), and - (x - z)/x where the path is still on the tangent.
    """
    rest.turn[:] = 0.0
    rest.visits[:] = 0.0
    rest.mass[:] = 0.0
    length, count = window.left.shape[0] - 1, min(most, paths.size[1])
    for q in range(count):
        t = trail_of(paths, paths.heap[q], rest)
        at, end, _ = follow(world, items, ahead, rest, t, low, high, False)
        rest.small[:] = 0.0
        rest.large[:] = 0.0
        for k in range(t):
            rest.visits[rest.trail[k] // items.shared] += 1.0
        if t < length:
            i0, i1, j0, j1 = rows_between(grid, at, end)
            _, row, column = least_of(window, rest.values, t, i0, i1, j0, j1)
            while t < length and row >= 0:
                _, r, row, column = next_box(items, grid, window, rest, t, row * grid.counts[1] + column, items.actions)
                i, w = r // items.shared, ahead.weights[t]
                rest.visits[i] += 1.0
                rest.mass[i] += w
                if w < rest.touch[i]:
                    rest.small[i] += w
                else:
                    rest.large[i] += 1.0
                t += 1
        for i in range(rest.touch.size):
            x = rest.touch[i]
            rest.mass[i] += rest.z[i]
            if x > 0.0:
                rest.turn[i] += rest.small[i] / x + rest.large[i] + min(0.0, rest.z[i] / x - 1.0)
            rest.z[i] = 0.0
    for i in range(rest.touch.size):
        rest.turn[i] /= count
        rest.visits[i] /= count
        rest.mass[i] /= count
