"""Step weights, empirical and expected occupancies, and what truncating the horizon costs."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import spsolve

from gumdp.errors import GumdpError, real, whole
from gumdp.models.tabular import Tabular

Array = NDArray[np.float64]
DIRECT = 20_000  # states up to which the infinite-horizon equations are factorised


def step_weights(discount: float, horizon: int, episodes: int = 1) -> Array:
    """The share of each step in the occupancy, [episodes · horizon]: γ^t, or 1 when γ = 1, summing to 1.

    >>> step_weights(0.5, 2)
    array([0.66666667, 0.33333333])
    """
    weights = np.power(discount, np.arange(horizon, dtype=np.float64))
    return np.tile(weights / (weights.sum() * episodes), episodes)


def empirical_occupancy(
    states: ArrayLike, actions: ArrayLike, shape: tuple[int, int], discount: float, episodes: int = 1
) -> Array:
    """The occupancy [S, A] of one trajectory, its last action included: it sums to 1.

    d(s,a) = (1-γ)/(1-γ^H) Σ_t γ^t 1(s_t = s, a_t = a). With several episodes the trajectory is all of them
    in a row, and their occupancies are averaged.

    >>> empirical_occupancy([0, 1], [1, 0], (2, 2), discount=1.0)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    s, a = np.asarray(states), np.asarray(actions)
    if s.ndim != 1 or s.shape != a.shape or s.size == 0 or s.size % episodes:
        raise GumdpError(f"empirical_occupancy: {s.shape} states and {a.shape} actions are not {episodes} episodes.")
    for what, values, count in (("states", s, shape[0]), ("actions", a, shape[1])):
        if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= count:
            raise GumdpError(f"empirical_occupancy: {what} must be whole numbers from 0 to {count - 1}.")
    d = np.zeros(shape)
    np.add.at(d, (s, a), step_weights(discount, s.size // episodes, episodes))
    return d


def expected_occupancy(model: Tabular, policy: ArrayLike, discount: float, horizon: int | None = None) -> Array:
    """The expected occupancy [S, A] of a Markov policy, exactly.

    ``policy`` is [S, A], or [H, S, A] when it depends on the step. ``horizon=None`` is the infinite horizon
    (a stationary policy and a discount below 1), else occupancies are truncated and normalised as in a trial.

    >>> model = Tabular([[[0.0, 1.0]], [[1.0, 0.0]]])
    >>> expected_occupancy(model, [[1.0], [1.0]], discount=0.5)
    array([[0.66666667],
           [0.33333333]])
    """
    table = check_policy("expected_occupancy: policy", policy, model.shape, steps=horizon)
    if horizon is not None:
        return _truncated(model, table, step_weights(discount, whole("horizon", horizon, 1)))
    if table.ndim != 2:
        raise GumdpError("expected_occupancy: a policy [H, S, A] needs its horizon.")
    if not 0.0 < discount < 1.0:
        raise GumdpError(f"expected_occupancy: the infinite horizon needs a discount in (0, 1), not {discount:g}.")
    mass = _infinite(_under(model, table), model.start, discount)
    return table * mass[:, None]


def _truncated(model: Tabular, policy: Array, weights: Array) -> Array:
    total = np.zeros(model.shape)
    mass = model.start
    forward = model.matrix.T.tocsr()
    for t, w in enumerate(weights):
        pairs = mass[:, None] * (policy if policy.ndim == 2 else policy[t])
        total += w * pairs
        mass = forward @ pairs.ravel()
    return total


def _under(model: Tabular, policy: Array) -> sparse.csr_array:
    """The transition matrix [S, S] of a stationary policy."""
    states, actions = model.shape
    rows = sparse.csr_array((policy.ravel(), np.arange(states * actions), np.arange(states + 1) * actions))
    return rows @ model.matrix


def _infinite(chain: sparse.csr_array, start: Array, discount: float) -> Array:
    """(1-γ) Σ γ^t start·P^t, by factorising small systems and by summing the series of large ones."""
    if start.size <= DIRECT:
        system = sparse.eye_array(start.size, format="csc") - discount * chain.T.tocsc()
        mass: Array = np.asarray(spsolve(system, (1.0 - discount) * start))
        return mass.reshape(-1)
    forward = chain.T.tocsr()
    term = (1.0 - discount) * start
    total: Array = term.copy()
    for _ in range(math.ceil(math.log(1e-17) / math.log(discount))):
        term = discount * (forward @ term)
        total += term
    total /= total.sum()
    return total


def check_policy(name: str, policy: ArrayLike, shape: tuple[int, int], steps: int | None = None) -> Array:
    """``policy`` as an array [S, A] (or [steps, S, A]) of distributions over actions."""
    try:
        table = np.array(policy, dtype=np.float64)
    except (TypeError, ValueError):
        raise GumdpError(f"{name} must be an array of numbers, not {type(policy).__name__}.") from None
    if table.shape[-2:] != tuple(shape) or table.ndim not in (2, 3):
        raise GumdpError(f"{name} must have the shape {shape} or (H, {shape[0]}, {shape[1]}), not {table.shape}.")
    if table.ndim == 3 and steps is not None and table.shape[0] != steps:
        raise GumdpError(f"{name} is for {table.shape[0]} steps, not for {steps}.")
    if not (np.isfinite(table).all() and (table >= -1e-12).all()):
        raise GumdpError(f"{name} has an entry that is negative or not a number.")
    total = table.sum(axis=-1)
    if np.abs(total - 1.0).max() > 1e-6:
        where = np.unravel_index(int(np.abs(total - 1.0).argmax()), total.shape)
        raise GumdpError(
            f"{name} must be distributions over actions; the row {[int(i) for i in where]} sums to {total[where]:.9g}."
        )
    table = np.maximum(table, 0.0)
    table /= table.sum(axis=-1, keepdims=True)
    return table


def truncation_gap(lipschitz: float, discount: float, horizon: int) -> float:
    """What planning for ``horizon`` steps instead of forever can cost at most: 8·L·γ^H (Proposition 1).

    >>> truncation_gap(4.0, 0.9, 200) < 1e-7
    True
    """
    return 8.0 * real("lipschitz", lipschitz, 0.0) * discount ** whole("horizon", horizon, 1)


def horizon_for(tolerance: float, lipschitz: float, discount: float) -> int:
    """The least horizon whose truncation costs at most ``tolerance``: 8·L·γ^H ≤ tolerance.

    >>> horizon_for(0.01, lipschitz=4.0, discount=0.9)
    77
    """
    tolerance, lipschitz = real("tolerance", tolerance), real("lipschitz", lipschitz, 0.0)
    if tolerance <= 0.0:
        raise GumdpError(f"tolerance must be positive, not {tolerance:g}.")
    if not 0.0 < discount < 1.0:
        raise GumdpError(f"discount must be in (0, 1) for the infinite horizon, not {discount:g}.")
    if 8.0 * lipschitz <= tolerance:
        return 1
    guess = max(1, math.ceil(math.log(tolerance / (8.0 * lipschitz)) / math.log(discount)) - 1)
    while truncation_gap(lipschitz, discount, guess) > tolerance:
        guess += 1
    return guess
