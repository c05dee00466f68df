"""Problem = model + objective + discount + horizon (+ episodes)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int
from gumdp.models.base import Model
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.objectives.function import as_objective
from gumdp.occupancy import check_discount, check_tabular, step_weights, truncation_gap

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

    >>> import gumdp
    >>> model = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    >>> gumdp.Problem(model, gumdp.Entropy(), discount=0.9, horizon=100)
    Problem(2 states × 2 actions, Entropy, discount 0.9, horizon 100)
    """

    def __init__(
        self, model: Model, objective: Any, discount: float, horizon: int, episodes: int = 1, name: str | None = None
    ) -> None:
        if not isinstance(model, Model):
            raise GumdpError(f"Problem: model must be a gumdp model, not {type(model).__name__}.")
        self.model = model
        self.objective = as_objective(objective)
        self.discount = check_discount("Problem: discount", discount)
        self.horizon = check_int("Problem: horizon", horizon, 1, MOST_STEPS)
        self.episodes = check_int("Problem: episodes", episodes, 1, MOST_STEPS // self.horizon)
        self.name = name
        self.objective.check_shape(self.shape)
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
        return f"Problem({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "record"}  # a record belongs to its process

    @property
    def shape(self) -> tuple[int, int]:
        """(S, A), the shape of an occupancy."""
        return self.model.shape

    @property
    def steps(self) -> int:
        """The decisions of a trial: horizon · episodes."""
        return self.horizon * self.episodes

    @functools.cached_property
    def weights(self) -> Array:
        """The share of each step in the occupancy, [steps], summing to 1."""
        return step_weights(self.discount, self.horizon, self.episodes)

    @functools.cached_property
    def record(self) -> Any:
        """The objective as kernels call it."""
        return self.objective.record(self.shape)

    def value(self, occupancy: Array) -> float:
        """f of an occupancy [S, A]."""
        d = np.asarray(occupancy, dtype=np.float64)
        if d.shape != self.shape:
            raise GumdpError(f"Problem.value: occupancy must have the shape {self.shape}, not {d.shape}.")
        return self.objective(d)

    def truncation_gap(self) -> float | None:
        """How much worse than the best infinite-horizon policy the best policy of this problem can be: 8Lγ^H.

        None if the objective knows no Lipschitz constant; with discount 1 there is no infinite horizon: 0.
        """
        if self.discount == 1.0:
            return 0.0
        constant = self.objective.lipschitz(self.shape)
        return None if constant is None else truncation_gap(constant, self.discount, self.horizon)

    def _try_objective(self) -> None:
        """Ask the objective once, so that a bad one is met here and not in the middle of a search."""
        d = np.full(self.shape, 1.0 / (self.shape[0] * self.shape[1]))
        before = d.copy()
        self.objective(d)
        if not np.array_equal(d, before):
            raise GumdpError("Problem: the objective changes the occupancy that it is given; it must only read it.")


def check_problem(name: str, problem: object) -> Tabular:
    """The model of ``problem``, if that is a problem with a table, whose probabilities are known."""
    if not isinstance(problem, Problem):
        raise GumdpError(f"{name}: problem must be a gumdp.Problem, not {type(problem).__name__}.")
    return check_tabular(name, problem.model)
