"""What bounds by Jensen's inequality work with: a convex problem, ready for the kernels."""

from __future__ import annotations

import numpy as np

from gumdp.average.polytope import EPSILON, Truncated, rounding
from gumdp.average.rest_kernels import Task, Workspace
from gumdp.average.tangents import Tangents
from gumdp.errors import GumdpError
from gumdp.models.chain import chain_of
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem

SMOOTHING = 0.01  # of kinks, relative to the mass that is still open


class ConvexSetup:
    """The tables and tangents of a convex tabular problem."""

    def __init__(self, name: str, problem: Problem) -> None:
        self.model = check_problem(name, problem)
        self.problem = problem
        if not problem.objective.convex:
            raise GumdpError(
                f"{name} needs a convex objective, and {problem.objective!r} is not known to be one"
                " (a function of yours: say Function(f, gradient=…, convex=True) if it is)."
            )
        self.tangents = Tangents(problem.objective, problem.shape)
        self.scale = _scale(problem)
        weights = problem.weights
        # What a closer look can gain is Jensen's gap of the rest, which grows with the squares of its weights.
        open_, hopes = (np.append(np.cumsum(w[::-1])[::-1], 0.0) for w in (weights, weights**2))
        self.task = Task(chain_of(self.model), weights, problem.horizon, open_, np.zeros((0, 0)), hopes)

    def set_out(self, workspace: Workspace) -> None:
        """Put a first tangent on the workspace: the one at the uniform occupancy."""
        cells = self.problem.shape[0] * self.problem.shape[1]
        constant, slope = self.tangents.at(np.full(self.problem.shape, 1.0 / cells))
        workspace.slope[:], workspace.constant[0] = slope.ravel(), constant

    def settle(self, policy: Array) -> None:
        """Take ``policy`` [H, S, A] as the warm start with which every mixture of plans begins."""
        self.task = self.task._replace(warm_start=np.ascontiguousarray(policy.reshape(len(policy), -1)))

    def smoothing(self, step: int = 0) -> float:
        """How much to smooth kinks at a step: less and less, as less is open."""
        return SMOOTHING * float(self.task.open[step]) if self.tangents.kinked else 0.0

    def margin(self, constant: float, steepest: float) -> float:
        """What rounding can add at most to a bound from a tangent with this constant, and slopes up to ``steepest``.

        Rows of the table that don't quite sum to 1 count as well: the exact recursion multiplies by them.
        """
        cells, steps = self.problem.shape[0] * self.problem.shape[1], self.problem.steps
        sums = np.add.reduceat(self.model.probabilities, self.model.offsets[:-1][np.diff(self.model.offsets) > 0])
        slack = EPSILON * (2 * cells + 8 * steps) + steps * float(np.abs(sums - 1.0).max())
        return slack * (abs(constant) + steepest) + rounding(Truncated(self.problem), steepest)


def _scale(problem: Problem) -> float:
    """About how much the objective varies."""
    ends = problem.objective.bounds(problem.shape)
    if ends is not None and ends[1] > ends[0]:
        return ends[1] - ends[0]
    cells = problem.shape[0] * problem.shape[1]
    even, one = np.full(problem.shape, 1.0 / cells), np.zeros(problem.shape)
    one[0, 0] = 1.0
    return max(abs(problem.value(one) - problem.value(even)), 1e-12)
