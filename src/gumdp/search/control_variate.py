"""Control variates of rollouts: for which problems there are any, and their tables, computed once for each problem."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from gumdp.counts.features import TableFeatures
from gumdp.models.belief import Belief
from gumdp.models.chain import chain_of
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.problem import Problem
from gumdp.search.belief_variate_kernels import BeliefControlVariate
from gumdp.search.control_variate_kernels import ControlVariate, NoControlVariate, fill_moments
from gumdp.search.total_variate_kernels import TotalsControlVariate, fill_total_moments

ROOM = 1 << 22  # entries that each of the two tables may have
WORK = 200_000_000  # multiplications that they may take
LEARNING = 1_000_000  # and that a decision may take in a world that is not known yet
SCRATCH = ("slope", "curve", "pieces", "swing", "sums", "stamps", "serial", "fit", "luck")  # what searches don't share

_known: weakref.WeakKeyDictionary[Problem, dict[bytes, Any]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def control_variate(problem: Problem, policy: Array | None = None, follows: bool = True) -> Any:
    """That of rollouts by ``policy``, [S, A] or [H, S, A], or of uniform ones; none where their moments are not known.

    They are known for tables of moderate size: of totals, and of occupancies whose objective is written in sums over
    cells. ``follows``: whether the luck of totals in the tree is wanted too. Of a belief only occupancies are taken.

    >>> import gumdp
    >>> control_variate(gumdp.zoo.load("m1-entropy")).cells, control_variate(gumdp.zoo.load("taxi-entropy"))
    (6, NoControlVariate(cells=0))
    """
    model = _table(problem)
    if model is None:
        return _of_belief(problem, policy)
    table = uniform(model) if policy is None else policy
    table = np.ascontiguousarray(table if table.ndim == 3 else table[None], float)
    with _lock:
        known = _known.setdefault(problem, {})
        key = table.tobytes()
        if key not in known:
            known[key] = (_of_occupancies if problem.features is None else _of_totals)(problem, model, table)
        found = known[key]
    made = found._replace(**{name: getattr(found, name).copy() for name in SCRATCH if name in found._fields})
    return made if follows or not luck_in_tree(made).size else made._replace(luck=np.empty(0))


def idle(problem: Problem) -> Any:
    """One that is switched off, for rollouts of which nothing is known: to kernels of the same type as that of uniform
    ones, so that a search that tries both is compiled once.
    """
    if _table(problem) is None:
        made = _of_belief(problem, None)
        return made._replace(cells=0)
    none = np.empty((0, 0, 0))
    if problem.features is None:
        return _made_of_occupancies(problem, none, none, 0)
    return _made_of_totals(none, none, np.empty((0, 0, 0, 0)), 0)


def _table(problem: Problem) -> Tabular | None:
    """The table whose moments are to be computed; None if they can't be known, or would take too much."""
    model, times, (states, actions) = problem.model.known, problem.steps + 1, problem.shape
    if model is None:
        return None
    if isinstance(problem.features, TableFeatures):
        kinds = problem.features.kinds
        few = times * states * actions * kinds <= ROOM and times * kinds * model.successors.size <= WORK
        return model if few else None
    if problem.counts is not None or problem.record.dense() or times * states * states > ROOM:
        return None
    _, cells = span(problem)
    few = 0 < times * states * cells <= ROOM and times * cells * model.successors.size <= WORK
    return model if few else None


def _of_belief(problem: Problem, policy: Array | None) -> Any:
    """That in a world that is not known yet."""
    model, (states, actions), steps = problem.model, problem.shape, problem.steps
    if not isinstance(model, Belief) or model.known is not None or problem.counts is not None or problem.record.dense():
        return NoControlVariate(0)
    mean = model.mean
    table = uniform(mean) if policy is None else np.asarray(policy, float)
    if table.ndim != 2 or steps * mean.successors.size > LEARNING:
        return NoControlVariate(0)
    start, cells = span(problem)
    if cells == 0:
        return NoControlVariate(0)
    count = problem.record.count()
    return BeliefControlVariate(
        start=start, states=states, actions=actions, cells=cells, policy=table.ravel(), begins=np.array(mean.start),
        first=np.zeros(cells), second=np.zeros(cells), slope=np.zeros(cells), pieces=np.zeros(2 * count * cells),
        swing=np.zeros(count), prices=np.zeros(states * actions), worth=np.zeros((steps + 1) * states),
        after=np.zeros(steps * states * actions), here=np.zeros(states), there=np.zeros(states), fit=np.zeros(8),
    )  # fmt: skip


def luck_in_tree(control: Any) -> Array:
    """Where ``control`` writes down the luck of each step in the tree, [steps]; empty if it does not."""
    return control.luck if isinstance(control, TotalsControlVariate) else np.empty(0)


def _of_occupancies(problem: Problem, model: Tabular, policy: Array) -> ControlVariate:
    """That under ``policy`` [1 or H, S, A]."""
    start, cells = span(problem)
    first = np.empty((problem.steps + 1, problem.shape[0], cells))
    second = np.empty_like(first)
    fill_moments(chain_of(model), policy, problem.weights, problem.horizon, start, first, second)
    return _made_of_occupancies(problem, first, second, start)


def _made_of_occupancies(problem: Problem, first: Array, second: Array, start: int) -> ControlVariate:
    times, states, cells = first.shape
    count = problem.record.count()
    return ControlVariate(
        start=start, states=states, cells=cells, first=first.ravel(), second=second.ravel(),
        slope=np.zeros(cells), curve=np.zeros(cells), pieces=np.zeros(2 * count * cells), swing=np.zeros(count),
        sums=np.zeros(times * states), stamps=np.zeros(times * states, np.int64), serial=np.zeros(1, np.int64),
        fit=np.zeros(8),
    )  # fmt: skip


def _of_totals(problem: Problem, model: Tabular, policy: Array) -> TotalsControlVariate:
    """The same for totals."""
    features, (states, actions), times = problem.features, problem.shape, problem.steps + 1
    assert isinstance(features, TableFeatures)
    first, taken = np.empty((times, states, features.kinds)), np.empty((times - 1, states, actions, features.kinds))
    second = np.empty_like(first)
    fill_total_moments(
        chain_of(model), policy, problem.weights, problem.horizon, features.values, features.late, first, second, taken
    )
    return _made_of_totals(first, second, taken, problem.steps if features.late and problem.episodes == 1 else 0)


def _made_of_totals(first: Array, second: Array, taken: Array, follows: int) -> TotalsControlVariate:
    _, states, actions, kinds = taken.shape
    return TotalsControlVariate(
        states=states, actions=actions, cells=kinds, first=first.ravel(), second=second.ravel(), taken=taken.ravel(),
        slope=np.zeros(kinds), fit=np.zeros(8), luck=np.zeros(follows),
    )  # fmt: skip


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
