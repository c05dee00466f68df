"""What bounds by Jensen's inequality work with: a convex problem, ready for the kernels."""

from __future__ import annotations

import numpy as np

from gumdp.errors import GumdpError
from gumdp.kernels.dynamic import chain_of
from gumdp.kernels.jensen import Desk
from gumdp.problem import Problem, check_problem
from gumdp.solvers.polytope import EPSILON, Truncated, rounding
from gumdp.solvers.tangents import Tangents


class Instruments:
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
        self.chain = chain_of(self.model)
        self.open = np.append(np.cumsum(problem.weights[::-1])[::-1], 0.0)  # [steps + 1]: the mass from step t on
        self.scale = _scale(problem)

    def set_out(self, desk: Desk) -> None:
        """Put a first tangent on the desk: the one at the uniform occupancy."""
        cells = self.problem.shape[0] * self.problem.shape[1]
        constant, slope = self.tangents.at(np.full(self.problem.shape, 1.0 / cells))
        desk.slope[:], desk.constant[0] = slope.ravel(), constant

    def margin(self, constant: float, steepest: float) -> float:
        """What rounding can add at most to a bound from tangents with slopes up to ``steepest``."""
        cells = self.problem.shape[0] * self.problem.shape[1]
        sums = EPSILON * (abs(constant) + steepest) * (2 * cells + 8 * self.problem.steps)
        return sums + rounding(Truncated(self.problem), steepest)


def _scale(problem: Problem) -> float:
    """About how much the objective varies."""
    ends = problem.objective.bounds(problem.shape)
    if ends is not None and ends[1] > ends[0]:
        return ends[1] - ends[0]
    cells = problem.shape[0] * problem.shape[1]
    even, one = np.full(problem.shape, 1.0 / cells), np.zeros(problem.shape)
    one[0, 0] = 1.0
    return max(abs(problem.value(one) - problem.value(even)), 1e-12)
