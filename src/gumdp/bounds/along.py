"""Jensen's bound along a trial: what no policy can end below on average, given what has happened so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.average.rest_kernels import new_workspace, tighten
from gumdp.bounds.history_tree import JensenTree
from gumdp.jit.callback import reraise
from gumdp.models.tabular import Tabular
from gumdp.problem import Problem

ROUNDS = 6  # tangents tried at a step


class Along:
    """A lower bound at each step of a trial, each found from the one before: ask in the order of the steps.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=2)
    >>> along, policy = Along(problem), gumdp.Random().start(problem)
    >>> ends = [along(2, 0, occupancy) for occupancy in (np.full((3, 2), 1 / 6), np.eye(3, 2) / 2)]
    >>> [bool(abs(a - problem.value(b)) < 1e-9) for a, b in zip(ends, (np.full((3, 2), 1 / 6), np.eye(3, 2) / 2))]
    [True, True]
    """

    def __init__(self, problem: Problem, seconds: float = 1.0) -> None:
        tree = JensenTree(problem, "lower_bound", seconds)
        self.problem, self.tools = problem, tree.tools
        self.seconds = (ROUNDS + 1) * tree.round_seconds  # about how long a step takes
        self.workspace = new_workspace(problem.shape, problem.steps)
        self.constant, self.slope = tree.tangent

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether there is such a bound: for tables, and convex functions of the occupancy."""
        return problem.counts is None and isinstance(problem.model, Tabular) and bool(problem.objective.convex)

    def __call__(self, t: int, state: int, occupancy: Any) -> float:
        """The bound after ``t`` steps, in ``state``, with the running occupancy [S, A] of those steps."""
        if t >= self.problem.steps:
            return float(self.problem.value(occupancy))
        tools, workspace, o = self.tools, self.workspace, np.ascontiguousarray(occupancy, np.float64).ravel()
        if t == 0:
            workspace.slope[:], workspace.constant[0] = self.slope, self.constant
        found = tighten(
            tools.tangents.record, tools.task, t, state, o, workspace, ROUNDS, 1e-5 * tools.scale, tools.smoothing(t)
        )
        reraise()
        return float(found) - tools.margin(float(workspace.constant[0]), float(np.abs(workspace.slope).max()))
