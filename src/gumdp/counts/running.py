"""The running occupancy, and what it takes to score it and to undo what a search did to it.

Scoring looks only at the cells that were touched since the root, and restores them in the same pass:
the cost of an iteration does not depend on the size of the occupancy.
How an objective answers is in ``gumdp.objectives.record``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import allocating, kernel, part, u64


class RunningOccupancy(NamedTuple):
    """One running occupancy with its bookkeeping. All arrays are owned by the running occupancy."""

    pairs: Any  # uint64: S · A; the masses of the states, if any, come after these cells
    d: Any  # float64 [cells]: the running occupancy, changed by the search and restored
    root: Any  # float64 [cells]: the occupancy of what really happened
    base: Any  # float64 [count · cells]: term(m, i, root[i])
    z_root: Any  # float64 [count]: the statistics of root
    z_empty: Any  # float64 [count]: the statistics of the empty occupancy
    z: Any  # float64 [count]: scratch
    path: Any  # uint64 [2 · steps]: the cells that changed, in order
    touched: Any  # uint64: the distinct ones among them
    mass: Any  # float64: what each of those held


def new_running(objective: Any, shape: tuple[int, int], steps: int) -> RunningOccupancy:
    """An empty running occupancy [S, A] for ``steps`` steps in all."""
    cells = shape[0] * shape[1] + (shape[0] if objective.grouped() else 0)
    count = 0 if objective.dense() else objective.count()
    longest = 2 * steps + 1
    running = RunningOccupancy(
        pairs=np.uint64(shape[0] * shape[1]),
        d=np.zeros(cells),
        root=np.zeros(cells),
        base=np.zeros(count * cells),
        z_root=np.zeros(count),
        z_empty=np.zeros(count),
        z=np.zeros(count),
        path=np.zeros(longest, np.uint64),
        touched=np.zeros(longest, np.uint64),
        mass=np.zeros(longest),
    )
    refresh(objective, running)
    running.z_empty[:] = running.z_root
    return running


@allocating
def refresh(objective, running):
    """Make the running occupancy agree with ``running.root``."""
    cells = u64(running.root.size)
    running.d[:] = running.root
    if not objective.dense():
        for m in range(objective.count()):
            z = 0.0
            for i in range(cells):
                x = objective.term(m, i, running.root[i])
                running.base[u64(m) * cells + u64(i)] = x
                z += x
            running.z_root[m] = z


@part
def recall(running):
    """Make ``z`` the statistics of the root."""
    for m in range(running.z.size):
        running.z[m] = running.z_root[m]


@part
def settle(objective, running, steps):
    """The objective at ``running.d``, and how many cells differed; afterwards ``d`` equals ``root`` again, bit for bit.

    The first ``steps`` entries of ``path`` name every cell that differs. Which these were, and what they held, stays
    in ``touched`` and ``mass``.
    """
    d, root, touched, mass, base = running.d, running.root, running.touched, running.mass, running.base
    cells = u64(d.size)
    value = 0.0
    if objective.dense():
        value = objective.value(d)
    n = u64(0)
    if cells <= steps:
        i = u64(0)
        while i < cells:
            x, r = d[i], root[i]
            touched[n], mass[n], d[i] = i, x, r
            if x != r:
                n += u64(1)
            i += u64(1)
    else:
        k = u64(0)
        while k < steps:
            i = u64(running.path[k])
            x, r = d[i], root[i]
            touched[n], mass[n], d[i] = i, x, r
            if x != r:
                n += u64(1)
            k += u64(1)
    if not objective.dense():
        for m in range(objective.count()):
            z = running.z_root[m]
            j = u64(0)
            while j < n:
                i = u64(touched[j])
                z += objective.term(m, i, mass[j]) - base[u64(m) * cells + i]
                j += u64(1)
            running.z[m] = z
        value = objective.combine(running.z, 0)
    return value, n


@part
def add_mass(objective, running, i, w):
    """Cell ``i`` holds ``w`` more, for good."""
    x = running.root[i] + w
    running.root[i] = x
    running.d[i] = x
    if not objective.dense():
        cells = u64(running.root.size)
        for m in range(objective.count()):
            at = u64(m) * cells + i
            term = objective.term(m, i, x)
            running.z_root[m] += term - running.base[at]
            running.base[at] = term


@kernel
def commit(objective, running, cell, action, actions, w):
    """The pair (cell, action) really happened with weight ``w``."""
    add_mass(objective, running, u64(cell) * u64(actions) + u64(action), w)
    if objective.grouped():
        add_mass(objective, running, u64(running.pairs) + u64(cell), w)


@kernel
def worth(objective, running):
    """The objective at what really happened."""
    if objective.dense():
        return objective.value(running.root)
    return objective.combine(running.z_root, 0)


@allocating
def wipe(objective, running, actions, steps):
    """Empty the occupancy again, whose first ``steps`` pairs are in ``path``."""
    for t in range(steps):
        i = u64(running.path[t])
        erase(objective, running, i)
        if objective.grouped():
            erase(objective, running, u64(running.pairs) + i // u64(actions))
    if not objective.dense():
        running.z_root[:] = running.z_empty


@part
def erase(objective, running, i):
    """Cell ``i`` is empty."""
    running.root[i] = 0.0
    running.d[i] = 0.0
    if not objective.dense():
        for m in range(objective.count()):
            running.base[u64(m) * u64(running.root.size) + i] = objective.term(m, i, 0.0)
