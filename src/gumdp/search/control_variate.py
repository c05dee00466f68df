"""Control variates of rollouts: for which problems there are any, and their tables, computed once for each problem."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from gumdp.models.chain import chain_of
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.problem import Problem
from gumdp.search.control_variate_kernels import ControlVariate, NoControlVariate, fill_moments

ROOM = 1 << 22  # entries that each of the two tables may have
WORK = 200_000_000  # multiplications that they may take
SCRATCH = ("slope", "curve", "pieces", "swing", "sums", "stamps", "serial", "fit")  # what searches don't share

_known: weakref.WeakKeyDictionary[Problem, dict[bytes, ControlVariate | None]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def control_variate(problem: Problem, policy: Array | None = None) -> Any:
    """That of rollouts by ``policy``, [S, A] or [H, S, A], or of uniform ones; none where their moments are not known.

    It is known for tables of moderate size with an objective that is written in sums over cells.

    >>> import gumdp
    >>> control_variate(gumdp.zoo.load("m1-entropy")).cells, control_variate(gumdp.zoo.load("taxi-entropy"))
    (6, NoControlVariate(cells=0))
    """
    model = problem.model
    if not isinstance(model, Tabular) or problem.record.dense():
        return NoControlVariate(0)
    table = uniform(model) if policy is None else policy
    table = np.ascontiguousarray(table if table.ndim == 3 else table[None], float)
    with _lock:
        known = _known.setdefault(problem, {})
        key = table.tobytes()
        if key not in known:
            known[key] = _compute(problem, model, table)
        found = known[key]
    return NoControlVariate(0) if found is None else _with_its_own_scratch(found)


def _compute(problem: Problem, model: Tabular, policy: Array) -> ControlVariate | None:
    """The control variate under ``policy`` [1 or H, S, A], if it does not take too much."""
    states, times = problem.shape[0], problem.steps + 1
    places = times * states
    if places * states > ROOM:
        return None
    start, cells = span(problem)
    if not 0 < places * cells <= ROOM or times * cells * model.successors.size > WORK:
        return None
    first = np.empty((times, states, cells))
    second = np.empty_like(first)
    fill_moments(chain_of(model), policy, problem.weights, problem.horizon, start, first, second)
    count = problem.record.count()
    return ControlVariate(
        start=start, states=states, cells=cells, first=first.ravel(), second=second.ravel(), slope=np.zeros(cells),
        curve=np.zeros(cells), pieces=np.zeros(2 * count * cells), swing=np.zeros(count), sums=np.zeros(places),
        stamps=np.zeros(places, np.int64), serial=np.zeros(1, np.int64), fit=np.zeros(8),
    )  # fmt: skip


def _with_its_own_scratch(found: Any) -> Any:
    return found._replace(**{name: getattr(found, name).copy() for name in SCRATCH})


def span(problem: Problem) -> tuple[int, int]:
    """The first cell that the objective looks at and how many it spans: those whose terms depend on their mass.

    >>> import gumdp
    >>> span(gumdp.zoo.load("patrol", rows=2, columns=3))  # 6 squares, 5 actions, and the entropy of squares
    (30, 6)
    """
    objective, pairs = problem.record, problem.shape[0] * problem.shape[1]
    cells = np.arange(pairs + (problem.shape[0] if objective.grouped() else 0), dtype=np.uint64)
    some = (0.0, 0.1, 0.35, 0.8)
    seen = [
        int(c) for c in cells if any(len({objective.term(m, c, x) for x in some}) > 1 for m in range(objective.count()))
    ]
    return (seen[0], seen[-1] + 1 - seen[0]) if seen else (0, 0)


def uniform(model: Tabular) -> Array:
    """The policy [S, A] that takes any available action."""
    free: Array = np.ones(model.shape) if model.available is None else model.available.astype(float)
    shares: Array = free / free.sum(axis=1, keepdims=True)
    return shares
