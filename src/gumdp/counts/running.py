"""The running occupancy, and what it takes to score it and to undo what a search did to it.

Scoring looks only at the cells that were touched since the root, and restores them in the same pass:
the cost of an iteration does not depend on the size of the occupancy.
How an objective answers is in ``gumdp.objectives.record``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.jit.record import allocating, kernel, part, u64


class Ledger(NamedTuple):
    """One running occupancy with its bookkeeping. All arrays are owned by the ledger."""

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


def new_ledger(objective: Any, shape: tuple[int, int], steps: int) -> Ledger:
    """A ledger of an empty occupancy [S, A] for ``steps`` steps in all."""
    cells = shape[0] * shape[1] + (shape[0] if objective.grouped() else 0)
    count = 0 if objective.dense() else objective.count()
    longest = 2 * steps + 1
    ledger = Ledger(
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
    open_ledger(objective, ledger)
    ledger.z_empty[:] = ledger.z_root
    return ledger


@allocating
def open_ledger(objective, ledger):
    """Make the ledger agree with ``ledger.root``."""
    cells = u64(ledger.root.size)
    ledger.d[:] = ledger.root
    if not objective.dense():
        for m in range(objective.count()):
            z = 0.0
            for i in range(cells):
                x = objective.term(m, i, ledger.root[i])
                ledger.base[u64(m) * cells + u64(i)] = x
                z += x
            ledger.z_root[m] = z


@part
def recall(ledger):
    """Make ``z`` the statistics of the root."""
    for m in range(ledger.z.size):
        ledger.z[m] = ledger.z_root[m]


@part
def settle(objective, ledger, steps):
    """The objective at ``ledger.d``, and how many cells differed; afterwards ``d`` equals ``root`` again, bit for bit.

    The first ``steps`` entries of ``path`` name every cell that differs. Which these were, and what they held, stays
    in ``touched`` and ``mass``.
    """
    d, root, touched, mass, base = ledger.d, ledger.root, ledger.touched, ledger.mass, ledger.base
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
            i = u64(ledger.path[k])
            x, r = d[i], root[i]
            touched[n], mass[n], d[i] = i, x, r
            if x != r:
                n += u64(1)
            k += u64(1)
    if not objective.dense():
        for m in range(objective.count()):
            z = ledger.z_root[m]
            j = u64(0)
            while j < n:
                i = u64(touched[j])
                z += objective.term(m, i, mass[j]) - base[u64(m) * cells + i]
                j += u64(1)
            ledger.z[m] = z
        value = objective.combine(ledger.z, 0)
    return value, n


@part
def add_mass(objective, ledger, i, w):
    """Cell ``i`` holds ``w`` more, for good."""
    x = ledger.root[i] + w
    ledger.root[i] = x
    ledger.d[i] = x
    if not objective.dense():
        cells = u64(ledger.root.size)
        for m in range(objective.count()):
            at = u64(m) * cells + i
            term = objective.term(m, i, x)
            ledger.z_root[m] += term - ledger.base[at]
            ledger.base[at] = term


@kernel
def commit(objective, ledger, cell, action, actions, w):
    """The pair (cell, action) really happened with weight ``w``."""
    add_mass(objective, ledger, u64(cell) * u64(actions) + u64(action), w)
    if objective.grouped():
        add_mass(objective, ledger, u64(ledger.pairs) + u64(cell), w)


@kernel
def worth(objective, ledger):
    """The objective at what really happened."""
    if objective.dense():
        return objective.value(ledger.root)
    return objective.combine(ledger.z_root, 0)


@allocating
def wipe(objective, ledger, actions, steps):
    """Empty the occupancy again, whose first ``steps`` pairs are in ``path``."""
    for t in range(steps):
        i = u64(ledger.path[t])
        erase(objective, ledger, i)
        if objective.grouped():
            erase(objective, ledger, u64(ledger.pairs) + i // u64(actions))
    if not objective.dense():
        ledger.z_root[:] = ledger.z_empty


@part
def erase(objective, ledger, i):
    """Cell ``i`` is empty."""
    ledger.root[i] = 0.0
    ledger.d[i] = 0.0
    if not objective.dense():
        for m in range(objective.count()):
            ledger.base[u64(m) * u64(ledger.root.size) + i] = objective.term(m, i, 0.0)
