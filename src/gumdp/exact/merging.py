"""When two histories need not be told apart: what an objective measures of an occupancy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.exact.branch_kernels import APART, BY_MEASURES, BY_VISITS, Merging
from gumdp.exact.unfold import coding_of
from gumdp.problem import Problem

GRAIN = 1e-12  # relative to the largest entry of the measures


def merging_of(problem: Problem, record: Any) -> tuple[Merging, int, float]:
    """How to merge the occupancy states of a problem, how long their codes are, and how steep f is in the measures.

    An objective that reads the occupancy only through a few linear measures (a budget, the costs of a few storms, a
    sum that must be met) can't tell histories apart that measure the same: then (s, measures, t) is state enough.
    """
    cells = problem.shape[0] * problem.shape[1]
    coding, width = coding_of(problem)
    nothing = np.zeros((0, cells))
    measured = record.measures()
    if measured is not None and len(measured[0]) < cells:
        rows, steepness = measured
        grain = GRAIN * max(float(np.abs(rows).max()), 1e-300)
        return Merging(BY_MEASURES, coding, np.ascontiguousarray(rows), grain), len(rows), steepness
    if problem.discount == 1.0 or problem.episodes > 1:
        return Merging(BY_VISITS, coding, nothing, 1.0), width, 0.0
    return Merging(APART, coding, nothing, 1.0), 0, 0.0
