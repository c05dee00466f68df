"""The running occupancy, and what it takes to score it and to undo what a search did to it.

Scoring looks only at the entries that were touched since the root, and restores them in the same pass:
the cost of an iteration does not depend on the size of the occupancy.
How an objective answers is in ``gumdp.objectives.record``, what a step adds in ``gumdp.counts.pairs``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.pairs import counts_of
from gumdp.jit.record import allocating, kernel, part, u64


class RunningOccupancy(NamedTuple):
    """One running occupancy with its bookkeeping, which owns all arrays."""

    counts: Any  # what a step adds: see ``gumdp.counts.pairs``
    d: Any  # float64 [entries]: the running occupancy, changed by the search and restored
    root: Any  # float64 [entries]: the occupancy of what really happened
    base: Any  # float64 [count · entries]: term(m, i, root[i])
    z_root: Any  # float64 [count]: the statistics of root
    z_empty: Any  # float64 [count]: the statistics of the empty occupancy
    z: Any  # float64 [count]: scratch
    path: Any  # uint64 [2 · steps]: the entries that a simulation changed, in order
    touched: Any  # uint64: the distinct ones among them
    mass: Any  # float64: what each of those held
    history: Any  # uint64 [steps]: the pairs of what really happened
    length: Any  # int64 [1]: how many those are


def new_running(objective: Any, shape: tuple[int, int], steps: int) -> RunningOccupancy:
    """An empty running occupancy [S, A] for ``steps`` steps in all."""
    counts, entries = counts_of(objective, shape)
    count = 0 if objective.dense() else objective.count()
    longest = 2 * steps + 1
    running = RunningOccupancy(
        counts=counts,
        d=np.zeros(entries),
        root=np.zeros(entries),
        base=np.zeros(count * entries),
        z_root=np.zeros(count),
        z_empty=np.zeros(count),
        z=np.zeros(count),
        path=np.zeros(longest, np.uint64),
        touched=np.zeros(longest, np.uint64),
        mass=np.zeros(longest),
        history=np.zeros(steps, np.uint64),
        length=np.zeros(1, np.int64),
    )
    refresh(objective, running)
    running.z_empty[:] = running.z_root
    return running


@allocating
def refresh(objective, running):
    """Make the running occupancy agree with ``running.root``."""
    entries = u64(running.root.size)
    running.d[:] = running.root
    if not objective.dense():
        for m in range(objective.count()):
            z = 0.0
            for i in range(entries):
                x = objective.term(m, i, running.root[i])
                running.base[u64(m) * entries + u64(i)] = x
                z += x
            running.z_root[m] = z


@part
def recall(running):
    """Make ``z`` the statistics of the root."""
    for m in range(running.z.size):
        running.z[m] = running.z_root[m]


@part
def settle(objective, running, steps):
    """The objective at ``running.d``, and how many entries differed; afterwards ``d`` is ``root`` again, bit for bit.

    The first ``steps`` entries of ``path`` name every entry that differs. Which these were, and what they held, stays
    in ``touched`` and ``mass``.
    """
    d, root, touched, mass, base = running.d, running.root, running.touched, running.mass, running.base
    entries = u64(d.size)
    value = 0.0
    if objective.dense():
        value = objective.value(d)
    n = u64(0)
    if entries <= steps:
        i = u64(0)
        while i < entries:
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
                z += objective.term(m, i, mass[j]) - base[u64(m) * entries + i]
                j += u64(1)
            running.z[m] = z
        value = objective.combine(running.z, 0)
    return value, n


@part
def follow(objective, running, i, w):
    """Entry ``i`` is about to hold ``w`` more: bring the statistics ``z`` up to date."""
    x = running.d[i]
    for m in range(objective.count()):
        running.z[m] += objective.term(m, i, x + w) - objective.term(m, i, x)


@part
def visit(objective, running, row, a, w, length, tracking):
    """A simulation adds ``w`` for action ``a`` in ``row``; the path, ``length`` long, remembers what changed.

    ``tracking``: whether somebody reads the statistics ``z`` on the way. Returns the new length.
    """
    counts = running.counts
    for k in range(counts.entries()):
        i = counts.entry(k, row, a)
        if tracking and objective.tracks():
            follow(objective, running, i, w)
        running.d[i] += w
        running.path[length] = i
        length += u64(1)
    return length


@part
def visit_pair(objective, running, pair, w, length):
    """``visit``, for a pair given as row · actions + action."""
    actions = u64(running.counts.actions)
    return visit(objective, running, pair // actions, pair % actions, w, length, False)


@part
def add_mass(objective, running, i, w):
    """Entry ``i`` holds ``w`` more, for good."""
    x = running.root[i] + w
    running.root[i] = x
    running.d[i] = x
    if not objective.dense():
        entries = u64(running.root.size)
        for m in range(objective.count()):
            at = u64(m) * entries + i
            term = objective.term(m, i, x)
            running.z_root[m] += term - running.base[at]
            running.base[at] = term


@kernel
def commit(objective, running, row, action, w):
    """Action ``action`` in ``row`` really happened, with weight ``w``."""
    counts, row, a = running.counts, u64(row), u64(action)
    for k in range(counts.entries()):
        add_mass(objective, running, counts.entry(k, row, a), w)
    running.history[running.length[0]] = row * u64(counts.actions) + a
    running.length[0] += 1


@kernel
def worth(objective, running):
    """The objective at what really happened."""
    if objective.dense():
        return objective.value(running.root)
    return objective.combine(running.z_root, 0)


@kernel
def wipe(objective, running):
    """Nothing has happened yet."""
    counts, actions = running.counts, u64(running.counts.actions)
    for t in range(running.length[0]):
        pair = u64(running.history[t])
        for k in range(counts.entries()):
            erase(objective, running, counts.entry(k, pair // actions, pair % actions))
    for m in range(running.z_root.size):
        running.z_root[m] = running.z_empty[m]
    running.length[0] = 0


@part
def erase(objective, running, i):
    """Entry ``i`` is empty."""
    running.root[i] = 0.0
    running.d[i] = 0.0
    if not objective.dense():
        for m in range(objective.count()):
            running.base[u64(m) * u64(running.root.size) + i] = objective.term(m, i, 0.0)
