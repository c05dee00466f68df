"""Where nothing is left to chance, a history is a path: the first steps of each exactly, and a bound of the rest.

The rest of a path is bounded without its dynamics: after a step in the cell where it is, it may be anywhere. Let an
item (a pair, or a state) have the share z so far and the convex cost φ. The steps still to come that go there cost
ψ(Σ w), ψ(y) = φ(z + y) - φ(z). With the tangent of φ at z + ξ, of slope g, and what it lacks at z, c = φ(z + ξ) - g·ξ -
φ(z) ≤ 0,

    ψ(Σ w) ≥ c + Σ over w < ξ of g·w + Σ over w ≥ ξ of (ψ(w) - c),

since (ψ - c)(y)/y is least at ξ. So each step may take the cheapest item, by charges that depend on
nothing else, and every ξ ≥ 0 gives a bound. ξ = 0 where an item is visited once; where steps crowd, it is about what
they bring.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gumdp.bounds.decomposition_kernels import xlogx
from gumdp.jit.record import kernel, part, u64

ROUNDS = 2  # of the ascent in ξ
LENGTH = 30  # steps that are looked at one by one
FAR = LENGTH  # the release of a cell that is not looked at


class Ahead(NamedTuple):
    """The steps."""

    weights: Any  # float64 [T]
    fresh: Any  # float64 [T, N]: what step t costs at an item that was never visited
    cheapest: Any  # float64 [T, cells]: at the cheapest item of a cell
    beyond: Any  # float64 [T + 1]: the least of that, from step t on


class Items(NamedTuple):
    """What has a share of its own: each pair, or each cell with all its actions. φ(z) = e·z·log z + q·z² + a hinge."""

    entropy: Any  # float64 [N]
    square: Any  # float64 [N]
    hinge: Any  # float64 [N]
    kink: Any  # float64 [N]
    least: Any  # float64 [N]: the cheapest of its pairs
    costs: Any  # float64 [S·A]: the linear cost of each pair
    actions: int
    shared: int  # the actions that have a share together: 1, or all of them
    constant: float


class Paths(NamedTuple):
    """A tree of paths; node 0 is the empty path. The heap has the leaves, the least bound first."""

    parent: Any  # int32 [n]
    pair: Any  # int32 [n]: the last pair of the path
    bound: Any  # float64 [n]
    looked: Any  # bool [n]: whether the bound is its own, not its parent's
    heap: Any  # int32 [n]
    size: Any  # int64 [2]: nodes, and leaves


class Work(NamedTuple):
    """What one thread works with."""

    trail: Any  # int32 [T]: pairs of a path
    z: Any  # float64 [N]: shares; 0 but for the items that were visited
    visited: Any  # int32 [N]
    active: Any  # int32 [N]: visited, or taken by the rest
    untouched: Any  # int32 [N]: cells that can be reached, of which nothing was taken
    own: Any  # float64 [N]: φ(z),
    reached: Any  # float64 [N]: and φ(z + y)
    y: Any  # float64 [N]: what the rest brings
    xi: Any  # float64 [N]
    lacks: Any  # float64 [N]: c
    slope: Any  # float64 [N]
    small: Any  # float64 [N]
    large: Any  # float64 [N]
    release: Any  # int32 [cells]: when each can be reached from where the path leads; used up,
    near: Any  # int32 [cells]: and kept
    alone: Any  # float64 [N, LENGTH]: what each step costs at an active item, if no other goes there
    open: Any  # float64 [LENGTH]: and in the cheapest untouched cell


@part
def phi(items, i, x):
    """What item i costs when its share is x, by the cheapest of its pairs."""
    value = items.entropy[i] * xlogx(x) + items.square[i] * x * x + items.hinge[i] * max(0.0, x - items.kink[i])
    return value + items.least[i] * x


@part
def slope_of(items, i, x):
    """A slope of φ at x > 0."""
    value = items.least[i] + 2.0 * items.square[i] * x + (items.hinge[i] if x > items.kink[i] else 0.0)
    return value + (items.entropy[i] * (math.log(x) + 1.0) if items.entropy[i] > 0.0 else 0.0)


# --- the rest of a path ---


@part
def join(items, ahead, work, t, end, active, c, each):
    """The items of cell ``c`` become active: what each step would cost there alone is looked up or computed."""
    for i in range(c * each, (c + 1) * each):
        work.active[active] = i
        work.y[i], work.large[i], work.xi[i] = 0.0, 0.0, 0.0
        if work.z[i] == 0.0:
            work.own[i] = phi(items, i, 0.0)
        for k in range(end):
            if work.z[i] == 0.0:
                work.alone[i, k] = ahead.fresh[t + k, i]
            else:
                work.alone[i, k] = phi(items, i, work.z[i] + ahead.weights[t + k]) - work.own[i]
        work.reached[i] = work.own[i]
        active += 1
    return active


@part
def sort_cells(items, ahead, work, t, end, visited, each):
    """(active items, untouched cells): those of cells that were visited, and cells that were not and can be reached."""
    active, untouched = 0, 0
    for q in range(visited):
        c = work.visited[q] // each
        if work.release[c] < LENGTH:
            active = join(items, ahead, work, t, end, active, c, each)
            work.near[c] = work.release[c]
            work.release[c] = FAR  # not again
    for c in range(work.release.size):
        if work.release[c] < LENGTH:
            work.untouched[untouched] = c
            untouched += 1
            work.near[c] = work.release[c]
    return active, untouched


@part
def crowd(items, ahead, work, t, end, active, untouched, each):
    """Let every step take what is cheapest given those before; (active items, untouched cells).

    ``work.y`` becomes what they bring to each item and ``work.large`` how many they are.
    """
    for k in range(end):
        w, best, chosen, new = ahead.weights[t + k], math.inf, -1, -1
        for q in range(active):
            i = work.active[q]
            if work.near[i // each] <= k:
                more = work.alone[i, k]
                if work.y[i] > 0.0:
                    more = phi(items, i, work.z[i] + work.y[i] + w) - work.reached[i]
                if more < best:
                    best, chosen = more, i
        for q in range(untouched):
            c = work.untouched[q]
            if work.near[c] <= k and ahead.cheapest[t + k, c] < best:
                best, new = ahead.cheapest[t + k, c], q
        if new >= 0:
            c, first = work.untouched[new], active
            active = join(items, ahead, work, t, end, active, c, each)
            untouched -= 1
            work.untouched[new] = work.untouched[untouched]
            chosen = work.active[first]
            for q in range(first, active):
                if work.alone[work.active[q], k] < work.alone[chosen, k]:
                    chosen = work.active[q]
        work.y[chosen] += w
        work.large[chosen] += 1.0
        work.reached[chosen] = phi(items, chosen, work.z[chosen] + work.y[chosen])
    return active, untouched


@part
def left_over(ahead, work, t, end, untouched):
    """``work.open`` becomes the least that each step costs in a cell that nobody took."""
    for k in range(end):
        best = math.inf
        for q in range(untouched):
            c = work.untouched[q]
            if work.near[c] <= k:
                best = min(best, ahead.cheapest[t + k, c])
        work.open[k] = best


@part
def charged(items, ahead, work, t, end, active, each):
    """The bound of the rest by the ξ there are; sets which steps go where."""
    total = 0.0
    for q in range(active):
        i = work.active[q]
        work.small[i], work.large[i], work.lacks[i], work.slope[i] = 0.0, 0.0, 0.0, 0.0
        if work.xi[i] > 0.0:
            x = work.z[i] + work.xi[i]
            work.slope[i] = slope_of(items, i, x)
            work.lacks[i] = min(0.0, phi(items, i, x) - work.slope[i] * work.xi[i] - work.own[i])
            total += work.lacks[i]
    for k in range(end):
        w, best, chosen = ahead.weights[t + k], work.open[k], -1
        for q in range(active):
            i = work.active[q]
            if work.near[i // each] <= k:
                charge = work.slope[i] * w if w < work.xi[i] else work.alone[i, k] - work.lacks[i]
                if charge < best:
                    best, chosen = charge, i
        total += best
        if chosen >= 0 and w < work.xi[chosen]:
            work.small[chosen] += w
        elif chosen >= 0:
            work.large[chosen] += 1.0
    return total


@part
def rest_of(items, ahead, work, t, visited):
    """A lower bound of what the steps from ``t`` on add; ``work.release`` and ``work.z`` say where the path is."""
    each = items.actions // items.shared
    end = min(LENGTH, ahead.weights.size - t)
    active, untouched = sort_cells(items, ahead, work, t, end, visited, each)
    active, untouched = crowd(items, ahead, work, t, end, active, untouched, each)
    left_over(ahead, work, t, end, untouched)
    for q in range(active):
        i = work.active[q]
        work.xi[i] = 0.9 * work.y[i] if work.large[i] > 1.5 else 0.0
    best, step = charged(items, ahead, work, t, end, active, each), 0.5
    for _ in range(ROUNDS):
        for q in range(active):
            i = work.active[q]
            if work.xi[i] > 0.0:
                turn = work.small[i] / work.xi[i] - 1.0 + work.large[i]
                work.xi[i] *= math.exp(step * min(1.0, max(-1.0, turn)))
            elif work.large[i] > 1.5:
                work.xi[i] = 0.3 * work.y[i] + 0.5 * ahead.weights[t + end - 1]
        best = max(best, charged(items, ahead, work, t, end, active, each))
        step *= 0.6
    for q in range(active):
        work.xi[work.active[q]] = 0.0
    best = max(best, charged(items, ahead, work, t, end, active, each))
    return best + ahead.beyond[t + end]


# --- the tree ---


@part
def sink(paths, at):
    """Let the leaf at this place of the heap go down to where it belongs."""
    heap, size = paths.heap, paths.size[1]
    node = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and paths.bound[heap[child + 1]] < paths.bound[heap[child]]:
            child += 1
        if paths.bound[node] <= paths.bound[heap[child]]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = node


@part
def push(paths, parent, pair, bound, looked):
    """A new leaf."""
    node, at = paths.size[0], paths.size[1]
    paths.parent[node], paths.pair[node], paths.bound[node], paths.looked[node] = parent, pair, bound, looked
    paths.size[0] += 1
    paths.size[1] += 1
    while at > 0 and paths.bound[paths.heap[(at - 1) // 2]] > bound:
        paths.heap[at] = paths.heap[(at - 1) // 2]
        at = (at - 1) // 2
    paths.heap[at] = node


@kernel
def plant(paths):
    """The empty path, about which nothing is known."""
    paths.size[:] = 0
    push(paths, -1, -1, -math.inf, False)


@part
def trail_of(paths, node, work):
    """The length of a path; ``work.trail`` becomes its pairs, the last one first."""
    length = 0
    while paths.parent[node] >= 0:
        work.trail[length] = paths.pair[node]
        length += 1
        node = paths.parent[node]
    return length


@part
def walk(dynamics, items, ahead, work, length, s):
    """(the state where the path in ``work.trail`` leads, its linear costs, how many items it visits)."""
    linear, visited = items.constant, 0
    for k in range(length):
        r, w = work.trail[length - 1 - k], ahead.weights[k]
        i = r // items.shared
        if work.z[i] == 0.0:
            work.visited[visited] = i
            visited += 1
        work.z[i] += w
        linear += w * (items.costs[r] - items.least[i])
        s = dynamics.step(s, u64(r % items.actions), u64(0))
    return s, linear, visited


@part
def widen(model, items, ahead, paths, s, c, node, t, value, work):
    """The children of a path to a state in cell ``c``; ``value`` is its φ and its linear costs."""
    bound, ends = paths.bound[node], t + 1 == ahead.weights.size
    for a in range(items.actions):
        if not model.allowed(s, u64(a)):
            continue
        r = c * items.actions + a
        if ends:
            i, w = r // items.shared, ahead.weights[t]
            more = phi(items, i, work.z[i] + w) - phi(items, i, work.z[i])
            more += w * (items.costs[r] - items.least[i])
            push(paths, node, r, max(bound, value + more), True)
        else:
            push(paths, node, r, bound, False)


@kernel
def grow(dynamics, model, items, ahead, paths, start, work, times):
    """Look at up to ``times`` paths from a start, those of the least bound first; how many were.

    Fewer are when the tree is full, or when its least bound is that of a whole path: then it is the optimum.
    """
    for done in range(times):
        node = paths.heap[0]
        t = trail_of(paths, node, work)
        if t == ahead.weights.size or paths.size[0] + items.actions > paths.parent.size:
            return done
        s, linear, visited = walk(dynamics, items, ahead, work, t, start)
        c = int(model.cell(s))
        value = linear
        for q in range(visited):
            i = work.visited[q]
            work.own[i] = phi(items, i, work.z[i])
            value += work.own[i]
        for i in range(work.z.size):
            if work.z[i] == 0.0 and items.hinge[i] > 0.0:
                value += phi(items, i, 0.0)
        if paths.looked[node]:
            paths.size[1] -= 1
            paths.heap[0] = paths.heap[paths.size[1]]
            sink(paths, 0)
            widen(model, items, ahead, paths, s, c, node, t, value, work)
        else:
            for other in range(work.release.size):
                work.release[other] = 0 if other == c else 1
            paths.looked[node] = True
            paths.bound[node] = max(paths.bound[node], value + rest_of(items, ahead, work, t, visited))
            sink(paths, 0)
        for q in range(visited):
            work.z[work.visited[q]] = 0.0
    return times
