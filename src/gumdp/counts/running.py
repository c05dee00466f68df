"""The running occupancy, and what it takes to score it and to undo what a search did to it.

Scoring looks only at the entries that were touched since the root, and restores them in the same pass:
the cost of an iteration does not depend on the size of the occupancy.
How an objective answers is in ``gumdp.objectives.record``, what a step adds in ``gumdp.counts.pairs``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.pairs import counts_of
from gumdp.jit.record import allocating, copy_to, kernel, part, u64


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
    draws: Any  # uint64 [2 · steps]: random bits for each step of a rollout, and for the start of an episode there
    history: Any  # uint64 [steps]: the rows of what really happened,
    taken: Any  # uint64 [steps]: the actions,
    length: Any  # int64 [1]: and how many those are
    probe: Any  # float64 [entries, or none]: scratch for asking what totals would be worth


def new_running(objective: Any, shape: tuple[int, int], steps: int, what: Any = None) -> RunningOccupancy:
    """An empty running occupancy for ``steps`` steps in all: [S, A], or of ``what`` is counted instead."""
    counts, entries = counts_of(objective, shape) if what is None else what.record(objective, shape, steps)
    count = 0 if objective.dense() else objective.count()
    longest = max(2 * steps, 0 if counts.by_entries() else entries) + 1
    running = RunningOccupancy(
        counts=counts,
        d=np.zeros(entries),
        root=np.zeros(entries),
        base=np.zeros(count * entries if counts.settled() else 0),
        z_root=np.zeros(count),
        z_empty=np.zeros(count),
        z=np.zeros(count),
        path=np.zeros(longest, np.uint64),
        touched=np.zeros(longest, np.uint64),
        mass=np.zeros(longest),
        draws=np.zeros(2 * steps, np.uint64),
        history=np.zeros(steps, np.uint64),
        taken=np.zeros(steps, np.uint64),
        length=np.zeros(1, np.int64),
        probe=np.zeros(0 if counts.by_entries() else entries),
    )
    if counts.settled():
        refresh(objective, running)
    else:
        what.fill_empty(objective, running.z_root)
    running.z_empty[:] = running.z_root
    return running


@allocating
def refresh(objective, running):
    """Make the running occupancy agree with ``running.root``."""
    entries = u64(running.root.size)
    copy_to(running.d, running.root, entries)
    running.counts.free_rows(False)
    if running.counts.settled() and not objective.dense():
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
    d, root, touched, mass = running.d, running.root, running.touched, running.mass
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
                z += objective.term(m, running.counts.name_of(i), mass[j]) - base_of(objective, running, m, i)
                j += u64(1)
            running.z[m] = z
        value = objective.combine(running.z, 0)
    running.counts.free_rows(False)
    return value, n


@part
def base_of(objective, running, m, i):
    """What entry ``i`` adds to statistic ``m`` in what really happened."""
    if running.counts.settled():
        return running.base[u64(m) * u64(running.d.size) + i]
    return objective.term(m, running.counts.name_of(i), running.root[i])


@part
def follow(objective, running, i, w):
    """Entry ``i`` is about to hold ``w`` more: bring the statistics ``z`` up to date."""
    x, name = running.d[i], running.counts.name_of(i)
    for m in range(objective.count()):
        running.z[m] += objective.term(m, name, x + w) - objective.term(m, name, x)


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
def leave(objective, running, model, s, a, w, length, tracking):
    """A simulation takes action ``a`` in state ``s``, which counts ``w``; returns the new length of the path.

    What shows only after the step is left to ``arrive``.
    """
    counts = running.counts
    if counts.by_entries():
        return visit(objective, running, counts.row_of(model, s), a, w, length, tracking)
    if not counts.is_late():
        counts.add_step(running.d, w, model, s, a, s, u64(0))
    return u64(running.d.size)  # any entry may have changed


@part
def arrive(running, model, s, a, after, bits, w):
    """A simulation has come from ``s`` to ``after``: count what shows only then."""
    if running.counts.is_late():
        running.counts.add_step(running.d, w, model, s, a, after, bits)


@part
def visit_pair(objective, running, pair, w, length):
    """``visit``, for a pair given as row · actions + action."""
    actions = u64(running.counts.actions)
    return visit(objective, running, pair // actions, pair % actions, w, length, False)


@part
def set_mass(objective, running, i, x):
    """Entry ``i`` holds ``x``, for good."""
    if not objective.dense():
        entries, name = u64(running.root.size), running.counts.name_of(i)
        for m in range(objective.count()):
            term = objective.term(m, name, x)
            running.z_root[m] += term - base_of(objective, running, m, i)
            if running.counts.settled():
                running.base[u64(m) * entries + i] = term
    running.root[i] = x
    running.d[i] = x


@kernel
def commit(objective, running, row, action, w):
    """Action ``action`` in ``row`` really happened, with weight ``w``."""
    counts, row, a = running.counts, u64(row), u64(action)
    for k in range(counts.entries()):
        i = counts.entry(k, row, a)
        set_mass(objective, running, i, running.root[i] + w)
    remember(running, row, a)


@part
def remember(running, row, a):
    """Action ``a`` in ``row`` is part of what really happened."""
    running.counts.keep_rows()
    running.history[running.length[0]] = row
    running.taken[running.length[0]] = a
    running.length[0] += 1


@kernel
def commit_step(objective, running, model, s, action, after, bits, w):
    """Action ``action`` was really taken in state ``s``, with weight ``w``, and led to ``after`` with these bits."""
    counts, a = running.counts, u64(action)
    row = counts.row_of(model, s)
    if counts.by_entries():
        commit(objective, running, row, a, w)
    else:
        counts.add_step(running.d, w, model, s, a, after, bits)
        adopt(objective, running)
        remember(running, row, a)


@kernel
def commit_amounts(objective, running, row, action, amounts, w):
    """Action ``action`` in ``row`` really happened and was worth these amounts, times ``w``."""
    for i in range(amounts.size):
        running.d[i] += w * amounts[i]
    adopt(objective, running)
    remember(running, u64(row), u64(action))


@part
def adopt(objective, running):
    """What the running totals are now is what really happened."""
    for i in range(running.d.size):
        if running.d[i] != running.root[i]:
            set_mass(objective, running, u64(i), running.d[i])


@kernel
def worth(objective, running):
    """The objective at what really happened."""
    if objective.dense():
        return objective.value(running.root)
    return objective.combine(running.z_root, 0)


@kernel
def wipe(objective, running):
    """Nothing has happened yet."""
    counts = running.counts
    if counts.by_entries():
        for t in range(running.length[0]):
            for k in range(counts.entries()):
                erase(objective, running, counts.entry(k, u64(running.history[t]), u64(running.taken[t])))
    else:
        for i in range(running.root.size):
            erase(objective, running, u64(i))
    counts.free_rows(True)
    for m in range(running.z_root.size):
        running.z_root[m] = running.z_empty[m]
    running.length[0] = 0


@part
def erase(objective, running, i):
    """Entry ``i`` is empty."""
    running.root[i] = 0.0
    running.d[i] = 0.0
    if running.counts.settled() and not objective.dense():
        for m in range(objective.count()):
            running.base[u64(m) * u64(running.root.size) + i] = objective.term(m, running.counts.name_of(i), 0.0)
