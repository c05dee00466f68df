"""Tiny problems with a belief, exactly: every (t, s, o, what was seen) that can come about.

The state of such a problem is the state of the world, the running occupancy, and the belief, which depends on how
often each transition was seen and on nothing else. Duff (2002), "Optimal learning: computational procedures for
Bayes-adaptive Markov decision processes", for costs that add up.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any, NamedTuple

import numpy as np

from gumdp.errors import GumdpError, check_int
from gumdp.models.belief import Belief
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy
from gumdp.problem import Problem
from gumdp.results import Decision, Solution

LIMIT = 100_000  # states, each of which takes a fraction of a millisecond

Seen = tuple[tuple[int, int, int], ...]  # the transitions, in order


class Place(NamedTuple):
    """What the best policy needs to know."""

    t: int
    state: int
    visits: tuple[int, ...]  # to each pair; with a discount or several episodes the pairs themselves, one after another
    seen: Seen


class BeliefTable:
    """The optimal value of every place of a problem with a belief."""

    def __init__(self, problem: Problem, limit: int) -> None:
        self.problem, self.limit = _of_pairs(problem), limit
        self.ordered = problem.discount < 1.0 or problem.episodes > 1
        self.values: dict[Place, Array] = {}  # of each action; NaN where it is not available
        self.beliefs: dict[Seen, Belief] = {(): self.belief}
        self.sizes = np.zeros(problem.steps, np.int64)
        starts = np.flatnonzero(self.belief.start)
        self.expected = sum(float(self.belief.start[s]) * self.value(self.first(int(s))) for s in starts)

    @property
    def belief(self) -> Belief:
        """The belief before anything was seen."""
        assert isinstance(self.problem.model, Belief)
        return self.problem.model

    def first(self, state: int) -> Place:
        """The place in which a trial that starts in ``state`` is."""
        pairs = self.problem.shape[0] * self.problem.shape[1]
        return Place(0, state, () if self.ordered else (0,) * pairs, ())

    def after(self, place: Place, action: int, state: int) -> Place:
        """The place after ``action`` in ``place`` led to ``state``, or to a new episode that starts there."""
        pair, t = place.state * self.problem.shape[1] + action, place.t + 1
        visits = (*place.visits, pair) if self.ordered else _added(place.visits, pair)
        if t % self.problem.horizon == 0:
            return Place(t, state, visits, place.seen)
        return Place(t, state, visits, tuple(sorted((*place.seen, (place.state, action, state)))))

    def known(self, seen: Seen) -> Belief:
        """The belief after these transitions."""
        if seen not in self.beliefs:
            self.beliefs[seen] = self.known(seen[:-1]).after(*([x] for x in seen[-1]))
        return self.beliefs[seen]

    def value(self, place: Place) -> float:
        """The least expected cost from ``place`` on."""
        return float(np.nanmin(self.action_values(place)))

    def action_values(self, place: Place) -> Array:
        """The least expected cost after each action in ``place``, [A]."""
        if place not in self.values:
            if len(self.values) >= self.limit:
                raise GumdpError(
                    f"solve_exact: the belief problem has more than {self.limit:,} states; "
                    "lower the horizon, give tighter support, or raise the limit."
                )
            self.sizes[place.t] += 1
            self.values[place] = np.full(self.problem.shape[1], np.nan)  # counted from now on
            for a in self.belief.actions(place.state):
                self.values[place][a] = self._action_value(place, a)
        return self.values[place]

    def _action_value(self, place: Place, action: int) -> float:
        problem = self.problem
        if place.t == problem.steps - 1:
            return problem.value(self._occupancy(self.after(place, action, place.state)))
        if (place.t + 1) % problem.horizon == 0:
            following, chances = np.arange(problem.shape[0]), self.belief.start
        else:
            following, chances = self.known(place.seen).row(place.state, action)
        return sum(
            float(p) * self.value(self.after(place, action, int(s)))
            for s, p in zip(following, chances, strict=True)
            if p > 0.0
        )

    def _occupancy(self, place: Place) -> Array:
        d = np.zeros(self.problem.shape[0] * self.problem.shape[1])
        if self.ordered:
            np.add.at(d, list(place.visits), self.problem.weights)
        else:
            d += self.problem.weights[0] * np.array(place.visits)
        return d.reshape(self.problem.shape)


def _added(visits: tuple[int, ...], pair: int) -> tuple[int, ...]:
    return (*visits[:pair], visits[pair] + 1, *visits[pair + 1 :])


class ExactOnBelief(Planner):
    """The optimal policy of a tiny problem with a belief: what ``solve_exact`` gives as ``solution.planner``."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = check_int("ExactOnBelief: limit", limit, 1)
        self._tables: weakref.WeakKeyDictionary[Problem, BeliefTable] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "ExactOnBelief()" if self.limit == LIMIT else f"ExactOnBelief(limit={self.limit})"

    def __reduce__(self) -> Any:  # the table is not sent along to other processes
        return ExactOnBelief, (self.limit,)

    def solve(self, problem: Problem) -> BeliefTable:
        """The values of ``problem``, computed once."""
        with self._lock:
            if problem not in self._tables:
                self._tables[problem] = BeliefTable(problem, self.limit)
            return self._tables[problem]

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _ExactPolicy(problem, dice, self.solve(problem))


class _ExactPolicy(Policy):
    def __init__(self, problem: Problem, dice: Any, table: BeliefTable) -> None:
        super().__init__(problem, dice)
        self._table = table
        self._place: Place | None = None  # of the last state seen

    def decide(self, state: Any) -> Decision:
        s, table = int(state), self._table
        place = table.first(s) if self._place is None else table.after(self._place, self._last_action, s)
        self._place = place
        values = table.action_values(place).copy()
        action = int(np.nanargmin(values))
        return Decision(action, self.problem.model.action_name(action), values=values)


def solve_belief(problem: Problem, limit: int | None) -> Solution:
    """The optimum over all policies that learn as they go."""
    began = time.perf_counter()
    planner = ExactOnBelief(LIMIT if limit is None else limit)
    table = planner.solve(problem)
    return Solution(
        value=table.expected,
        method="exact",
        status=f"the optimum over all policies that learn, from {table.sizes.sum():,} states of world, occupancy and "
        "belief.",
        planner=planner,
        sizes=table.sizes,
        seconds=time.perf_counter() - began,
        maximised=problem.objective.maximises,
    )


def _of_pairs(problem: Problem) -> Problem:
    """The problem with occupancies instead of totals."""
    if problem.counts is None:
        return problem
    if problem.features is None or problem.features.late:
        raise GumdpError(
            "solve_exact: with a belief it is for pairs, and for amounts that don't depend on the next state, "
            f"not for {problem.counts!r}."
        )
    return problem.over_pairs("solve_exact")
