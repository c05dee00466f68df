"""A lower bound on what can still be reached from (s, o, t), by Jensen's inequality and linear programming duality.

For convex f and any policy, E[f(d)] ≥ f(E[d]), and E[d] = o + (what the rest of the run occupies on average), a point
of a polytope. With a tangent f(e) ≥ c + g·e the least value there is at least c + g·o + (the least total of the
costs g), and the last term is exact dynamic programming. So *every* tangent gives a valid bound; the work is to find
a good one. ``tighten`` does that by simplicial decomposition: plans that were cheapest for some tangent are mixed,
in the shares that make f least, and the tangent at the mixture is the next one to try.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import kernel, part
from gumdp.models.chain import at_start, copy, flow_forth, plan_back, plan_forth, put_start

CORNERS = 16  # plans that are mixed at a time
SWEEPS = 10  # exchanges of shares between two plans, for each plan and after each new one,
EFFORT = 20_000  # but not more than this over the number of cells
HALVINGS = 12  # of a step, at most


class Task(NamedTuple):
    """A problem as the kernels of this kind read it."""

    chain: Any
    weights: Any  # float64 [steps]
    horizon: int
    open: Any  # float64 [steps + 1]: the weight of all steps from t on
    warm_start: Any  # float64 [H, S·A]: a policy that is good on average
    hopes: Any  # float64 [steps + 1]: what there can be to gain by looking closer at a history of t steps, roughly


class Workspace(NamedTuple):
    """What ``tighten`` works with. The caller sets and reads ``slope`` and ``constant``: the tangent."""

    slope: Any  # float64 [S·A]: the tangent to begin with, and the best one afterwards
    constant: Any  # float64 [1]
    g: Any  # float64 [S·A]: the tangent that is being tried
    x: Any  # float64 [S·A]: the mixture
    y: Any  # float64 [S·A]: a point near it
    way: Any  # float64 [S·A]: a direction
    corners: Any  # float64 [CORNERS, S·A]: the occupancies of the plans
    shares: Any  # float64 [CORNERS]
    order: Any  # int64 [CORNERS]: where each corner was before the last ``share_out``
    begins: Any  # int64 [CORNERS]: the first action of each plan, -1 for the warm start
    choices: Any  # int32 [steps, S]
    values: Any  # float64 [S]
    spare: Any  # float64 [S]
    mass: Any  # float64 [S]
    counts: Any  # int64 [2]: plans made so far, corners of the mixture


def new_workspace(shape: tuple[int, int], steps: int, corners: int = CORNERS) -> Workspace:
    """A workspace for occupancies of this shape, and plans of so many steps."""
    cells = shape[0] * shape[1]
    return Workspace(
        slope=np.zeros(cells),
        constant=np.zeros(1),
        g=np.zeros(cells),
        x=np.zeros(cells),
        y=np.zeros(cells),
        way=np.zeros(cells),
        corners=np.zeros((corners, cells)),
        shares=np.zeros(corners),
        order=np.zeros(corners, np.int64),
        begins=np.zeros(corners, np.int64),
        choices=np.zeros((steps, shape[0]), np.int32),
        values=np.zeros(shape[0]),
        spare=np.zeros(shape[0]),
        mass=np.zeros(shape[0]),
        counts=np.zeros(2, np.int64),
    )


@part
def dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@part
def least_total(task, first, state, costs, workspace):
    """The least Σ_{k ≥ first} w_k·costs from ``state`` (from the start distribution if that is negative)."""
    plan_back(
        task.chain, task.weights, task.horizon, first, costs, workspace.choices, workspace.values, workspace.spare
    )
    workspace.counts[0] += 1
    return workspace.values[state] if state >= 0 else at_start(task.chain, workspace.values)


@part
def set_off(task, state, mass):
    """``mass`` becomes all in ``state``, or the start distribution if that is negative."""
    if state >= 0:
        mass[:] = 0.0
        mass[state] = 1.0
    else:
        put_start(task.chain, mass)


@part
def occupy(task, first, state, o, workspace, k):
    """Corner ``k`` becomes ``o`` and what the plan in ``choices`` adds to it on average."""
    corner = workspace.corners[k]
    set_off(task, state, workspace.mass)
    workspace.begins[k] = workspace.choices[first, state] if state >= 0 else -1
    copy(o, corner)
    plan_forth(
        task.chain, task.weights, task.horizon, first, workspace.choices, workspace.mass, workspace.spare, corner
    )


@part
def occupy_by_warm_start(task, first, state, o, workspace, k):
    """Corner ``k`` becomes ``o`` and what the warm start adds to it on average."""
    corner = workspace.corners[k]
    set_off(task, state, workspace.mass)
    workspace.begins[k] = -1
    copy(o, corner)
    flow_forth(task.chain, task.weights, task.horizon, first, task.warm_start, workspace.mass, workspace.spare, corner)


@part
def tangent_at(tangent, x, g, smoothing):
    """``g`` becomes a slope at ``x``; the constant is returned."""
    g[:] = 0.0
    return tangent.tangent(x, g, 1.0, smoothing)


@kernel
def tangent_once(tangent, x, g, smoothing):
    """``tangent_at``, for callers from Python."""
    return tangent_at(tangent, x, g, smoothing)


@part
def step_length(tangent, workspace, most, tolerance, smoothing):
    """How far from ``x`` along ``way``, at most ``most``, the objective falls."""
    x, y, way, g = workspace.x, workspace.y, workspace.way, workspace.g
    low, high = 0.0, most
    slope_low = dot(g, way)
    if not slope_low < 0.0:
        return 0.0
    for i in range(x.size):
        y[i] = x[i] + high * way[i]
    tangent_at(tangent, y, g, smoothing)
    slope_high = dot(g, way)
    if slope_high <= 0.0:
        return most
    side, at = 0, 0.0
    for _ in range(HALVINGS):  # regula falsi, Illinois
        at = (low * slope_high - high * slope_low) / (slope_high - slope_low)
        for i in range(x.size):
            y[i] = x[i] + at * way[i]
        tangent_at(tangent, y, g, smoothing)
        slope = dot(g, way)
        if slope <= 0.0:
            low, slope_low = at, slope
            if side < 0:
                slope_high *= 0.5
            side = -1
        else:
            high, slope_high = at, slope
            if side > 0:
                slope_low *= 0.5
            side = 1
        if abs(slope) <= tolerance:
            break
    return at


@kernel
def share_out(tangent, workspace, count, tolerance, smoothing):
    """Choose the shares of the ``count`` corners, and with them ``x``, so that the objective is nearly least.

    Returns how many corners keep a share; they are moved to the front, and ``order`` says where they were.
    """
    corners, shares, x, g = workspace.corners, workspace.shares, workspace.x, workspace.g
    for _ in range(max(4, min(SWEEPS * count, EFFORT // x.size))):
        tangent_at(tangent, x, g, smoothing)
        least, most, best, worst = np.inf, -np.inf, 0, 0
        for j in range(count):
            slope = dot(g, corners[j])
            if slope < least:
                least, best = slope, j
            if shares[j] > 0.0 and slope > most:
                most, worst = slope, j
        if not most - least > tolerance:
            break
        for i in range(x.size):
            workspace.way[i] = corners[best, i] - corners[worst, i]
        step = step_length(tangent, workspace, shares[worst], 0.1 * tolerance, smoothing)
        shares[best] += step
        shares[worst] -= step
        for i in range(x.size):
            x[i] = max(0.0, x[i] + step * workspace.way[i])
    kept = 0
    for j in range(count):
        if shares[j] > 0.0:
            workspace.order[kept] = j
            if kept < j:
                shares[kept] = shares[j]
                workspace.begins[kept] = workspace.begins[j]
                copy(corners[j], corners[kept])
            kept += 1
    for i in range(x.size):
        x[i] = 0.0
    for j in range(kept):
        for i in range(x.size):
            x[i] += shares[j] * corners[j, i]
    return kept


@kernel
def tighten(tangent, task, first, state, o, workspace, rounds, tolerance, smoothing):
    """A lower bound on E[f(d)] from (state, o, first), at least the one that the workspace's own tangent gives.

    Tries up to ``rounds`` further tangents, until the mixture's own value is within ``tolerance``. Afterwards
    ``counts[1]`` corners with their ``shares`` are the mixture.
    """
    x, g = workspace.x, workspace.g
    bound = workspace.constant[0] + dot(workspace.slope, o)
    bound += least_total(task, first, state, workspace.slope, workspace)
    occupy(task, first, state, o, workspace, 0)
    workspace.shares[0] = 1.0
    copy(workspace.corners[0], x)
    count = 1
    if rounds > 0 and task.warm_start.size > 0:
        occupy_by_warm_start(task, first, state, o, workspace, 1)
        workspace.shares[0], workspace.shares[1] = 0.0, 1.0
        copy(workspace.corners[1], x)
        count = share_out(tangent, workspace, 2, 0.1 * tolerance, smoothing)
    for _ in range(rounds):
        constant = tangent_at(tangent, x, g, smoothing)
        made = constant + dot(g, o) + least_total(task, first, state, g, workspace)
        if made > bound:
            bound = made
            copy(g, workspace.slope)
            workspace.constant[0] = constant
        if not tangent.value(x) - bound > tolerance:
            break
        if count == workspace.shares.size:
            count -= 1
            for j in range(count):  # the corner of the least share makes room
                if workspace.shares[j] < workspace.shares[count]:
                    swap_corners(workspace, j, count)
            for i in range(x.size):
                x[i] -= workspace.shares[count] * workspace.corners[count, i]
            for j in range(count):
                workspace.shares[j] /= 1.0 - workspace.shares[count]
            for i in range(x.size):
                x[i] = max(0.0, x[i] / (1.0 - workspace.shares[count]))
        occupy(task, first, state, o, workspace, count)
        workspace.shares[count] = 0.0
        count = share_out(tangent, workspace, count + 1, 0.1 * tolerance, smoothing)
    workspace.counts[1] = count
    return bound


@part
def swap_corners(workspace, j, k):
    """Corners ``j`` and ``k`` change places."""
    share, begin = workspace.shares[j], workspace.begins[j]
    workspace.shares[j], workspace.begins[j] = workspace.shares[k], workspace.begins[k]
    workspace.shares[k], workspace.begins[k] = share, begin
    for i in range(workspace.x.size):
        y = workspace.corners[j, i]
        workspace.corners[j, i] = workspace.corners[k, i]
        workspace.corners[k, i] = y
