"""One cell's share of a separable objective, as a dynamic programme of its own: see ``gumdp.bounds.decomposition``.

The share x that a cell has so far is looked at on a grid. Between two points of it, x = (1-θ)·x_j + θ·x_{j+1}, a value
is bounded from below by the chord less the most that φ(· + y) can be under its own chord there, whatever y is still
to come. That is exact for squares, and second order in the width of the grid for an entropy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gumdp.jit.record import kernel, part, u64

NEAR = 1e-9  # of the width of a grid: so near to a point, a share that jumps is taken to be there


class Cells(NamedTuple):
    """Linear statistics z_i = Σ v_i(s,a)·d(s,a), and what each of them costs: φ_i(z_i), the sum of four shapes."""

    offsets: Any  # int64 [N + 1]
    pairs: Any  # int32 [n]: where v is not 0
    amounts: Any  # float64 [n]: v there
    least: Any  # float64 [N]: v is nowhere below, 0 included,
    most: Any  # float64 [N]: nor above
    entropy: Any  # float64 [N]: e ≥ 0 of e·z·log z, for z ≥ 0
    square: Any  # float64 [N]: q of q·z²
    hinge: Any  # float64 [N]: p ≥ 0 of p·max(0, z - kink)
    kink: Any  # float64 [N]
    jump: Any  # float64 [N]: h ≥ 0 of h·[z > limit]; such a cell has no other shape
    limit: Any  # float64 [N]
    low: Any  # float64 [N]: the grid's first point
    span: Any  # float64 [N]: and how far its last one is from there
    bent: Any  # bool [N]: whether points lie closer together near the first: x = low + span·(j/(n-1))²
    after: Any  # float64 [N]: φ is nowhere less steep beyond the last point,
    before: Any  # float64 [N]: nor steeper below the first one
    begin: Any  # float64 [N]: the share before the first step that is looked at


class Run(NamedTuple):
    """The steps of a trial."""

    chain: Any  # gumdp.models.chain.Chain
    weights: Any  # float64 [T]
    horizon: int
    open: Any  # float64 [T + 1]: the weight of the steps from there on
    block: Any  # int32 [T]: whose multipliers a step has
    steps: int  # those from here on are not looked at,
    first: int  # nor those before this one,
    origin: int  # at which the state is this one; -1 where it is still to be drawn


class Scratch(NamedTuple):
    """What one thread works with."""

    x: Any  # float64 [n]: the grid,
    own: Any  # float64 [n]: and z·log z there
    v: Any  # float64 [S·A]
    now: Any  # float64 [S·n]
    ahead: Any  # float64 [S·n]
    q: Any  # float64 [n]
    moved: Any  # float64 [n]
    to: Any  # int32 [n]: where a visit leads from each point: between this one and the next,
    share: Any  # float64 [n]: so far along,
    loss: Any  # float64 [n]: and what is lost by the chord
    choices: Any  # uint16 [T·S·n], or [1] where they are not asked for


@part
def xlogx(x):
    return x * math.log(x) if x > 0.0 else 0.0


@part
def phi(cells, i, x):
    """What cell i costs when its share is x in the end."""
    value = cells.entropy[i] * xlogx(x) + cells.square[i] * x * x + cells.hinge[i] * max(0.0, x - cells.kink[i])
    return value + (cells.jump[i] if x > cells.limit[i] else 0.0)


@part
def lay_grid(cells, i, x, own):
    """Put the points of cell i into ``x``."""
    last = x.size - 1
    for j in range(x.size):
        at = j / last
        x[j] = cells.low[i] + cells.span[i] * (at * at if cells.bent[i] else at)
        own[j] = xlogx(x[j])


@part
def place(cells, i, x, own, at, rest):
    """(j, θ, loss) of a share: V(share) ≥ (1-θ)·V(x_j) + θ·V(x_{j+1}) - loss, when ``rest`` of the weight is open."""
    last = x.size - 1
    far = (at - x[0]) / cells.span[i]
    if far <= 0.0:
        return 0, 0.0, -far * cells.span[i] * cells.before[i] + (cells.jump[i] if far < 0.0 else 0.0)
    if far >= 1.0:
        return last - 1, 1.0, (1.0 - far) * cells.span[i] * cells.after[i]
    j = min(last - 1, int(last * (math.sqrt(far) if cells.bent[i] else far)))
    while j > 0 and x[j] > at:
        j -= 1
    while j < last - 1 and x[j + 1] <= at:
        j += 1
    width = x[j + 1] - x[j]
    share = (at - x[j]) / width
    if cells.jump[i] > 0.0:  # a value never falls with the share: that of the point below is a bound
        return j, 1.0 if share > 1.0 - NEAR else 0.0, 0.0
    bend = share * (1.0 - share) * width
    loss = cells.square[i] * bend * width
    if cells.entropy[i] > 0.0:
        loss += cells.entropy[i] * max(0.0, (1.0 - share) * own[j] + share * own[j + 1] - xlogx(at))
    kink = cells.kink[i]
    if cells.hinge[i] > 0.0 and x[j] + rest * cells.least[i] < kink < x[j + 1] + rest * cells.most[i]:
        loss += cells.hinge[i] * bend
    return j, share, loss


@part
def aim(cells, i, work, step, rest):
    """Where a visit that adds ``step`` to the share leads from each point of the grid."""
    for j in range(work.x.size):
        work.to[j], work.share[j], work.loss[j] = place(cells, i, work.x, work.own, work.x[j] + step, rest)


@part
def mean_ahead(chain, r, cost, work):
    """``work.q`` becomes the cost and the mean of what is ahead, after pair ``r``, at every point."""
    size, one, two = u64(work.x.size), u64(1), u64(2)
    j, end = u64(chain.offsets[r]), u64(chain.offsets[r + 1])
    q, ahead, p, next_ = work.q, work.ahead, chain.probabilities, chain.successors
    b, at = u64(0), u64(next_[j]) * size
    if j + two < end:  # three at once: memory is the bottleneck
        more, most = u64(next_[j + one]) * size, u64(next_[j + two]) * size
        p0, p1, p2 = p[j], p[j + one], p[j + two]
        while b < size:
            q[b] = cost + p0 * ahead[at + b] + p1 * ahead[more + b] + p2 * ahead[most + b]
            b += one
        j += u64(3)
    else:
        p0 = p[j]
        while b < size:
            q[b] = cost + p0 * ahead[at + b]
            b += one
        j += one
    while j < end:
        b, at, p0 = u64(0), u64(next_[j]) * size, p[j]
        while b < size:
            q[b] += p0 * ahead[at + b]
            b += one
        j += one


@part
def begin_again(chain, states, size, now, ahead):
    """``ahead`` becomes what an episode is worth before its start is drawn, at every point."""
    for b in range(size):
        total = 0.0
        for j in range(chain.start_states.size):
            total += chain.start_probabilities[j] * now[chain.start_states[j] * size + b]
        for s in range(states):
            ahead[s * size + b] = total


@part
def least_of(run, cells, i, lam, t, s, work, keep, last_v):
    """``work.now`` of state ``s`` becomes its value at step ``t``; returns the v that ``aim`` was asked for."""
    chain, size = run.chain, u64(work.x.size)
    w, k, at = run.weights[t], run.block[t], u64(s) * size
    plan = (u64(t) * u64(work.now.size) + at) if keep else u64(0)
    b = u64(0)
    while b < size:
        work.now[at + b] = math.inf
        b += u64(1)
    for a in range(chain.actions):
        r = s * chain.actions + a
        if chain.offsets[r] == chain.offsets[r + 1]:
            continue
        mean_ahead(chain, r, w * lam[k, r], work)
        q, v = work.q, work.v[r]
        if v != 0.0:
            if v != last_v:
                aim(cells, i, work, w * v, run.open[t + 1])
                last_v = v
            for c in range(size):
                j, share = work.to[c], work.share[c]
                work.moved[c] = (1.0 - share) * work.q[j] + share * work.q[j + 1] - work.loss[c]
            q = work.moved
        b = u64(0)
        if keep:
            while b < size:
                if q[b] < work.now[at + b]:
                    work.now[at + b] = q[b]
                    work.choices[plan + b] = a
                b += u64(1)
        else:
            while b < size:
                work.now[at + b] = min(q[b], work.now[at + b])
                b += u64(1)
    return last_v


@kernel
def look_back(run, cells, i, lam, work, keep, table):
    """(the least expected λ-costs and φ of cell ``i`` from where the run begins on; the largest number met).

    ``lam`` [blocks, S·A] are the cell's multipliers per unit of weight. With ``keep`` the choices are kept for
    ``look_forth``. ``table`` [K, S, n] gets the values of the first K steps.
    """
    chain, size = run.chain, work.x.size
    states = work.now.size // size
    work.v[:] = 0.0
    for j in range(cells.offsets[i], cells.offsets[i + 1]):
        work.v[cells.pairs[j]] = cells.amounts[j]
    lay_grid(cells, i, work.x, work.own)
    for s in range(states):
        for b in range(size):
            work.ahead[s * size + b] = phi(cells, i, work.x[b])
    largest = 0.0
    for t in range(run.steps - 1, run.first - 1, -1):
        last_v = 0.0
        for s in range(states):
            last_v = least_of(run, cells, i, lam, t, s, work, keep, last_v)
        if t - run.first < table.shape[0]:
            for s in range(states):
                for b in range(size):
                    table[t - run.first, s, b] = work.now[s * size + b]
        if t % run.horizon == 0:
            begin_again(chain, states, size, work.now, work.ahead)
        else:
            b, end = u64(0), u64(work.now.size)
            while b < end:
                work.ahead[b] = work.now[b]
                b += u64(1)
        for b in range(work.now.size):
            largest = max(largest, abs(work.now[b]))
    j, share, loss = place(cells, i, work.x, work.own, cells.begin[i], run.open[run.first])
    if run.origin >= 0:
        at = run.origin * size + j
        return (1.0 - share) * work.now[at] + share * work.now[at + 1] - loss, largest
    return (1.0 - share) * work.ahead[j] + share * work.ahead[j + 1] - loss, largest


@part
def put(chain, mass, size, b, m):
    """Add the mass ``m`` at point ``b`` to the states where episodes start."""
    for j in range(chain.start_states.size):
        mass[chain.start_states[j] * size + b] += chain.start_probabilities[j] * m


@kernel
def look_forth(run, cells, i, work, flow):
    """Add to ``flow`` [blocks, S·A] the weight of the visits that the choices of cell ``i`` bring on average."""
    chain, size = run.chain, work.x.size
    states = work.now.size // size
    mass, after = work.now, work.ahead
    mass[:] = 0.0
    j, share, _ = place(cells, i, work.x, work.own, cells.begin[i], run.open[run.first])
    if run.origin >= 0:
        mass[run.origin * size + j] = 1.0 - share
        mass[run.origin * size + j + 1] = share
    else:
        put(chain, mass, size, j, 1.0 - share)
        put(chain, mass, size, j + 1, share)
    for t in range(run.first, run.steps):
        w, k, last_v = run.weights[t], run.block[t], 0.0
        fresh = (t + 1) % run.horizon == 0
        after[:] = 0.0
        for s in range(states):
            for b in range(size):
                m = mass[s * size + b]
                if not m > 0.0:
                    continue
                r = s * chain.actions + work.choices[(t * states + s) * size + b]
                flow[k, r] += w * m
                v = work.v[r]
                low, high = m, 0.0
                c = b
                if v != 0.0:
                    if v != last_v:
                        aim(cells, i, work, w * v, run.open[t + 1])
                        last_v = v
                    c = work.to[b]
                    high = m * work.share[b]
                    low = m - high
                if fresh:
                    put(chain, after, size, c, low)
                    if high > 0.0:
                        put(chain, after, size, c + 1, high)
                else:
                    for j in range(chain.offsets[r], chain.offsets[r + 1]):
                        p, at = chain.probabilities[j], chain.successors[j] * size + c
                        after[at] += p * low
                        if high > 0.0:
                            after[at + 1] += p * high
        b, end = u64(0), u64(mass.size)
        while b < end:
            mass[b] = after[b]
            b += u64(1)


@part
def take_mean(table, start, stop, mean):
    """``mean`` becomes that of the rows of ``table``, in columns ``start`` … ``stop``."""
    for c in range(start, stop):
        mean[c] = 0.0
    for i in range(table.shape[0]):
        for c in range(start, stop):
            mean[c] += table[i, c]
    for c in range(start, stop):
        mean[c] /= table.shape[0]


@kernel
def ascend(lam, flow, first, second, width, rate, fades, corrections, mean):
    """One step of Adam (Kingma and Ba 2015) for λ [N, blocks·width], up the flows, which become 0.

    Flows and steps are taken relative to their means over the cells, so that Σ_i λ^i stays as it is.
    """
    count, columns = lam.shape
    for start in range(0, columns, width):
        stop = start + width
        take_mean(flow, start, stop, mean)
        for i in range(count):
            for c in range(start, stop):
                g = flow[i, c] - mean[c]
                first[i, c] = fades[0] * first[i, c] + (1.0 - fades[0]) * g
                second[i, c] = fades[1] * second[i, c] + (1.0 - fades[1]) * g * g
                size = math.sqrt(second[i, c] / corrections[1])
                flow[i, c] = rate * first[i, c] / corrections[0] / (size + 1e-300)
        take_mean(flow, start, stop, mean)
        for i in range(count):
            for c in range(start, stop):
                lam[i, c] += flow[i, c] - mean[c]
                flow[i, c] = 0.0
