"""The convex programme over the occupancy polytope, modelled with cvxpy: conic by Clarabel, linear by HiGHS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from gumdp.average.polytope import NOTHING, Stationary, Truncated, ratios
from gumdp.errors import GumdpError
from gumdp.objectives.base import Array
from gumdp.problem import Problem

Constraint = tuple[Array, float]  # costs [S, A] and a limit: costs·d must not exceed it


class Optimum(NamedTuple):
    """What the solver says: nothing here is certified."""

    policy: Array  # [S, A] or [H, S, A]
    prices: Array  # of the constraints, ≥ 0
    solver: str
    accurate: bool


def solve_programme(
    problem: Problem, polytope: Stationary | Truncated, constraints: Sequence[Constraint] = ()
) -> Optimum | None:
    """The policy of least f(d), by cvxpy; None when the solver breaks down.

    Raises a ``GumdpError`` if no occupancy meets the constraints.
    """
    import cvxpy

    flow, d, rules = _variables(cvxpy, polytope)
    value = problem.objective.expression(d)
    limits = [cvxpy.sum(cvxpy.multiply(costs, d)) <= limit for costs, limit in constraints]
    programme = cvxpy.Problem(cvxpy.Minimize(value), rules + limits)
    linear = programme.is_lp()
    solver: dict[str, Any] = {"solver": cvxpy.HIGHS} if linear else {"solver": cvxpy.CLARABEL, **TIGHT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            programme.solve(**solver)
        except cvxpy.error.SolverError:
            return None
    if programme.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE):
        raise GumdpError(
            "solve_infinite: no policy meets the constraints on average; raise a limit "
            f"(they are {', '.join(f'{limit:g}' for _, limit in constraints)})."
        )
    if flow.value is None or not np.isfinite(flow.value).all():
        return None
    table = np.asarray(flow.value, dtype=np.float64).reshape(polytope.uniform.shape)
    prices = np.array([max(0.0, float(rule.dual_value)) for rule in limits])
    accurate = programme.status == cvxpy.OPTIMAL
    return Optimum(ratios(table, polytope.uniform, NOTHING), prices, "HiGHS" if linear else "Clarabel", accurate)


TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def _variables(cvxpy: Any, polytope: Stationary | Truncated) -> tuple[Any, Any, list[Any]]:
    """The variables [S, A] or [H, S·A], the occupancy d [S, A] that they make, and the rules they obey."""
    model, (states, actions) = polytope.model, polytope.shape
    leave = sparse.kron(sparse.eye_array(states), np.ones((1, actions)), format="csr")  # [S, S·A]: Σ_a
    arrive = model.matrix.T.tocsr()  # [S, S·A]: Σ P(s'|s,a)
    forbidden = None if model.available is None else ~model.available
    if isinstance(polytope, Stationary):
        d = cvxpy.Variable((states, actions), nonneg=True)
        gamma = polytope.discount
        rules = [(leave - gamma * arrive) @ cvxpy.vec(d, order="C") == (1.0 - gamma) * model.start]
        if forbidden is not None:
            rules.append(d[forbidden] == 0.0)
        return d, d, rules
    horizon = polytope.horizon
    flow = cvxpy.Variable((horizon, states * actions), nonneg=True)
    rules = [leave @ flow[0] == model.start]
    if horizon > 1:
        rules.append(flow[1:] @ leave.T == flow[:-1] @ arrive.T)
    if forbidden is not None:
        rules.append(flow[:, forbidden.ravel()] == 0.0)
    weights = polytope.weights.reshape(-1, horizon).sum(axis=0)
    return flow, cvxpy.reshape(weights @ flow, (states, actions), order="C"), rules
