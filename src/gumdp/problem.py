"""Problem = model + objective + discount + horizon (+ episodes, + what counts)."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gumdp.counts.features import BoundFeatures, Features, TableFeatures
from gumdp.counts.hashed import BoundCells, Hashed
from gumdp.counts.memory import Memory, remember
from gumdp.counts.running import RunningOccupancy, new_running
from gumdp.errors import GumdpError, array_of_numbers, check_int, one_of, show
from gumdp.jit.digest import changed_in
from gumdp.models.base import Model
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array, Objective
from gumdp.objectives.function import Function, as_objective
from gumdp.objectives.through import Through
from gumdp.objectives.utility import Utility
from gumdp.occupancy import check_discount, check_tabular, step_weights, truncation_gap

SCALES = ("mean", "sum")
MOST_PAIRS = 10**9  # of a table of them
MOST_STEPS = 10**9  # of a trial; beyond, its bookkeeping alone takes tens of gigabytes


class Problem:
    """Minimise E[f(d)], d the occupancy of one trial.

    Args:
        model: the world.
        objective: a cost of the occupancy: one of ``gumdp``'s, or any Python function of an [S, A] array.
        discount: in (0, 1]; with 1 every step of the horizon counts the same.
        horizon: steps of a trajectory.
        episodes: a trial plays so many trajectories one after another, and is scored on the average of
            their occupancies.
        counts: what a step adds: by default a pair of state and action; ``Features(phi)``: k totals, of which the
            objective is a function; ``Hashed(cell)``: pairs again, without a table of them.
        scale: totals as shares of all steps, ``"mean"``, as occupancies have it, or as ``"sum"``: the discounted
            return (the mean of those of the episodes).

    >>> import gumdp
    >>> model = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    >>> gumdp.Problem(model, gumdp.Entropy(), discount=0.9, horizon=100)
    Problem(2 states × 2 actions, Entropy, discount 0.9, horizon 100)
    """

    def __init__(
        self,
        model: Model,
        objective: Any,
        discount: float,
        horizon: int,
        episodes: int = 1,
        name: str | None = None,
        *,
        counts: Any = None,
        scale: str = "mean",
    ) -> None:
        if not isinstance(model, Model):
            raise GumdpError(f"Problem: model must be a gumdp model, not {type(model).__name__}.")
        self.model = model
        self.counts, self.scale = _counts(counts), one_of("scale", scale, SCALES)
        if self.scale == "sum" and not isinstance(self.counts, Features):
            raise GumdpError('Problem: scale="sum" is for counts=Features(…); occupancies sum to 1.')
        self.objective = of_totals(objective) if isinstance(self.counts, Features) else as_objective(objective)
        self.discount = check_discount("Problem: discount", discount)
        self.horizon = check_int("Problem: horizon", horizon, 1, MOST_STEPS)
        self.episodes = check_int("Problem: episodes", episodes, 1, MOST_STEPS // self.horizon)
        self.name = name
        self.objective.check_shape(self.counted)
        self._try_objective()

    def __repr__(self) -> str:
        cells = "states" if type(self.model).__name__ == "Tabular" else "cells"
        parts = [
            f"{self.shape[0]} {cells} × {self.shape[1]} actions",
            repr(self.objective).replace("Entropy(floor=1e-06)", "Entropy"),
            f"discount {self.discount:g}",
            f"horizon {self.horizon}",
        ]
        if self.episodes > 1:
            parts.append(f"{self.episodes} episodes")
        if self.counts is not None:
            parts.append(f"the {self.scale} of {', '.join(self.names)}" if self.names else repr(self.counts))
        return f"Problem({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        own = ("record", "counting")  # records belong to their process
        return {k: v for k, v in vars(self).items() if k not in own}

    def replace(self, **changes: Any) -> Problem:
        """This problem with another model, objective, discount, horizon, episodes, name, counts or scale.

        >>> import gumdp
        >>> gumdp.zoo.load("m1-entropy").replace(horizon=7).horizon
        7
        """
        given = ("model", "objective", "discount", "horizon", "episodes", "name", "counts", "scale")
        return Problem(**{**{each: getattr(self, each) for each in given}, **changes})

    @property
    def shape(self) -> tuple[int, int]:
        """(S, A), the shape of an occupancy."""
        return self.model.shape

    @functools.cached_property
    def counting(self) -> BoundFeatures | BoundCells | None:
        """What a step adds in this model; None for pairs in a table."""
        return None if self.counts is None else self.counts.bind(self.model, self.weights, self.horizon)

    @property
    def features(self) -> BoundFeatures | None:
        """What a step adds to the totals; None where pairs are counted."""
        return self.counting if isinstance(self.counting, BoundFeatures) else None

    @property
    def counted(self) -> tuple[int, int]:
        """The shape of what the objective is a function of: (S, A), or (1, k) for k totals."""
        if isinstance(self.counting, BoundCells):
            return self.counting.shape
        return self.shape if self.features is None else (1, self.features.kinds)

    @property
    def names(self) -> tuple[str, ...]:
        """What the totals are called; none where pairs are counted."""
        return () if self.features is None else self.features.names

    def running(self) -> RunningOccupancy:
        """An empty running occupancy, or empty running totals, for a trial.

        It is refused where something that a compiled function reads is no longer what it was.
        """
        made = new_running(self.record, self.shape, self.steps, self.counting)
        changed = changed_in(self.record, self.model.compiled(), made.counts)
        if changed is not None:
            raise GumdpError(
                f"the function {changed.function.__name__}, or something that it reads, was changed after it was "
                "compiled; make the model and the problem again."
            )
        return made

    def over_pairs(self, name: str) -> Problem:
        """This problem with occupancies instead of totals: what each pair adds on average counts for it.

        The same problem, where what a step adds does not depend on the next state; else its best mean totals are the
        same, and so are bounds by averaging.
        """
        features = self.features
        if not isinstance(features, TableFeatures):
            raise GumdpError(f"{name} is for tables with features, not for {self.counts!r} of a {self.model!r}.")
        objective = Through(self.objective, self.weights.sum() * features.means.T, *self._ends(features))
        return self.replace(objective=objective, counts=None, scale="mean")

    def _ends(self, features: TableFeatures) -> tuple[Array, Array]:
        """What the totals lie between."""
        total = float(self.weights.sum())
        return total * features.values.min(axis=0), total * features.values.max(axis=0)

    def in_pairs(self, name: str) -> tuple[Problem, Memory | None]:
        """This problem with occupancies instead of totals, every policy worth the same.

        Where what a step adds depends on the next state, states remember it (``gumdp.counts.memory``).
        """
        features = self.features
        if not isinstance(features, TableFeatures) or not features.late:
            return self.over_pairs(name), None
        if self.episodes > 1 or self.discount == 0.0:
            raise GumdpError(f"{name}: amounts that depend on the next state need one episode, and a discount above 0.")
        memory = remember(features.model, features.values)
        if memory is None:
            raise GumdpError(f"{name}: too many states would have to remember what the step to them added.")
        weights = step_weights(self.discount, self.horizon + 1)
        paid = np.repeat(memory.amounts, memory.model.shape[1], axis=0) * (self.weights[0] / weights[1])
        objective = Through(self.objective, paid.T, *self._ends(features))
        changes = {"objective": objective, "horizon": self.horizon + 1, "counts": None, "scale": "mean"}
        return self.replace(model=memory.model, **changes), memory

    @property
    def steps(self) -> int:
        """The decisions of a trial: horizon · episodes."""
        return self.horizon * self.episodes

    @functools.cached_property
    def weights(self) -> Array:
        """The share of each step in the occupancy, [steps], summing to 1; with ``scale="sum"``, relative to the first.

        Those of K episodes are divided by K in both cases.
        """
        weights = step_weights(self.discount, self.horizon, self.episodes)
        return weights if self.scale == "mean" else weights / (weights[0] * self.episodes)

    @functools.cached_property
    def record(self) -> Any:
        """The objective as kernels call it."""
        return self.objective.record(self.counted)

    def value(self, occupancy: Array) -> float:
        """f of an occupancy [S, A], or of totals [k]."""
        d = array_of_numbers("Problem.value: occupancy", occupancy)
        if self.features is not None:
            if d.shape != (self.features.kinds,):
                raise GumdpError(f"Problem.value: totals must have the shape ({self.features.kinds},), not {d.shape}.")
            return self.objective(d[None, :])
        rows = d.ndim == 2 and d.shape[1] == self.shape[1] and isinstance(self.counts, Hashed)
        if d.shape != self.shape and not rows:
            raise GumdpError(f"Problem.value: occupancy must have the shape {self.shape}, not {d.shape}.")
        return self.objective(d)

    def truncation_gap(self) -> float | None:
        """How much worse than the best infinite-horizon policy the best policy of this problem can be: 8Lγ^H.

        None if the objective knows no Lipschitz constant; with discount 1 there is no infinite horizon: 0.
        """
        if self.discount == 1.0:
            return 0.0
        if self.features is not None:
            return None
        constant = self.objective.lipschitz(self.shape)
        return None if constant is None else truncation_gap(constant, self.discount, self.horizon)

    def _try_objective(self) -> None:
        """Ask the objective once, so that a bad one is met here and not in the middle of a search."""
        if self.features is not None:
            self.objective(np.zeros(self.counted))
            d = self.features.typical[None, :].copy()
        elif isinstance(self.counts, Hashed):
            return  # its terms are tried one by one, and a table of the whole space there is not
        elif math.prod(self.shape) > MOST_PAIRS:
            raise GumdpError(
                f"Problem: {self.shape[0]:,} cells × {self.shape[1]} actions are too many for a table of pairs: give "
                'counts=gumdp.Hashed(), count something else, as counts=gumdp.Features("reward"), or make the model '
                "with fewer cells (bins of some dimensions, for example)."
            )
        else:
            d = np.full(self.shape, 1.0 / (self.shape[0] * self.shape[1]))
        before = d.copy()
        self.objective(d)
        if not np.array_equal(d, before):
            raise GumdpError("Problem: the objective changes the occupancy that it is given; it must only read it.")


def _counts(counts: Any) -> Any:
    if counts is None or isinstance(counts, Features | Hashed):
        return counts
    hint = f"; write counts=Features({show(counts)})" if callable(counts) or hasattr(counts, "shape") else ""
    raise GumdpError(f"Problem: counts must be Features(…) or Hashed(…), not {show(counts)}{hint}.")


def of_totals(objective: Any) -> Objective:
    """``objective`` as a function of totals: a plain function is a cost of them, with what is known of it."""
    if isinstance(objective, Function) and not isinstance(objective, Utility):
        return Utility.cost(objective)
    return objective if isinstance(objective, Objective) else Utility(objective, maximise=False)


def check_problem(name: str, problem: object, totals: bool = False) -> Tabular:
    """The model of ``problem``, if that is a problem with a table, whose probabilities are known.

    ``totals``: whether problems that count features are welcome.
    """
    if not isinstance(problem, Problem):
        raise GumdpError(f"{name}: problem must be a gumdp.Problem, not {type(problem).__name__}.")
    if problem.counts is not None and not totals:
        raise GumdpError(f"{name} is for problems that count pairs, not for {problem.counts!r}.")
    if isinstance(problem.counts, Hashed):
        raise GumdpError(f"{name} needs a table of pairs or totals, not {problem.counts!r}.")
    return check_tabular(name, problem.model)
