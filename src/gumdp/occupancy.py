"""Step weights, empirical and expected occupancies, and what truncating the horizon costs."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import spsolve

from gumdp.errors import GumdpError, array_of_numbers, check_float, check_int
from gumdp.models.tabular import Tabular

Array = NDArray[np.float64]
DIRECT = 2_000  # states up to which the infinite-horizon equations are factorised: factors of larger ones can be dense
PATIENCE = 100_000  # terms of the series that sums them otherwise, at most


def step_weights(discount: float, horizon: int, episodes: int = 1) -> Array:
    """The share of each step in the occupancy, [episodes · horizon]: γ^t, or 1 when γ = 1, summing to 1.

    >>> step_weights(0.5, 2)
    array([0.66666667, 0.33333333])
    """
    discount = check_discount("step_weights: discount", discount)
    horizon, episodes = check_int("step_weights: horizon", horizon, 1), check_int("step_weights: episodes", episodes, 1)
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
    episodes = check_int("empirical_occupancy: episodes", episodes, 1)
    s, a = check_trajectory("empirical_occupancy", states, actions, shape)
    if s.size == 0 or s.size % episodes:
        raise GumdpError(f"empirical_occupancy: {s.size} steps are not {episodes} episodes of the same length.")
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
    check_tabular("expected_occupancy", model)
    table = check_policy("expected_occupancy: policy", policy, model.shape, horizon, model.available)
    if horizon is not None:
        return _truncated(model, table, step_weights(discount, horizon))
    if table.ndim != 2:
        raise GumdpError("expected_occupancy: a policy [H, S, A] needs its horizon.")
    discount = check_discount("expected_occupancy: discount", discount)
    if discount == 1.0:
        raise GumdpError("expected_occupancy: the infinite horizon needs a discount below 1; give a horizon.")
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
    terms = math.ceil(math.log(1e-17) / math.log(discount))
    if start.size <= DIRECT or terms > PATIENCE:
        system = sparse.eye_array(start.size, format="csc") - discount * chain.T.tocsc()
        mass: Array = np.asarray(spsolve(system, (1.0 - discount) * start))
        return mass.reshape(-1)
    forward = chain.T.tocsr()
    term = (1.0 - discount) * start
    total: Array = term.copy()
    for _ in range(terms):
        term = discount * (forward @ term)
        total += term
    total /= total.sum()
    return total


def occupancy_covariance(model: Tabular, policy: ArrayLike, discount: float, horizon: int) -> Array:
    """How the occupancy of one trial scatters about its mean under a Markov policy: the covariance [S·A, S·A].

    It is all that a quadratic objective needs to know of the randomness:
    E[f(d)] = f(E[d]) + Σ_ij A_ij Cov_ij for f(d) = dᵀAd + b·d. With K episodes the covariance is a K-th of this one.
    With x_t the indicator of the pair at step t and R_t[i] = E[Σ_{k>t} w_k x_k | x_t = i], summed backwards,
    E[d dᵀ] = Σ_t w_t E[x_t (w_t x_t + R_t[x_t])ᵀ] + the transpose of its second part.

    >>> model = Tabular([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> occupancy_covariance(model, [[0.5, 0.5], [0.5, 0.5]], discount=1.0, horizon=1)[:2, :2]
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    check_tabular("occupancy_covariance", model)
    horizon = check_int("occupancy_covariance: horizon", horizon, 1)
    table = check_policy("occupancy_covariance: policy", policy, model.shape, horizon, model.available)
    weights = step_weights(discount, horizon)
    policies = np.broadcast_to(table, (horizon, *model.shape))
    states, pairs = model.shape[0], model.shape[0] * model.shape[1]
    reach = np.zeros((horizon, pairs))  # P(x_t = i)
    mass, forward = model.start, model.matrix.T.tocsr()
    for t in range(horizon):
        reach[t] = (mass[:, None] * policies[t]).ravel()
        mass = forward @ reach[t]
    second = np.diag(weights**2 @ reach)
    rest = np.zeros((states, model.shape[1], pairs))  # E[Σ_{k>t} w_k x_k | the state and action at t]
    for t in range(horizon - 1, 0, -1):
        rest.reshape(pairs, pairs)[np.diag_indices(pairs)] += weights[t]
        rest = (model.matrix @ np.einsum("sa,sai->si", policies[t], rest)).reshape(rest.shape)
        cross = weights[t - 1] * reach[t - 1][:, None] * rest.reshape(pairs, pairs)
        second += cross + cross.T
    mean = weights @ reach
    return second - np.outer(mean, mean)


def check_policy(
    name: str,
    policy: ArrayLike,
    shape: tuple[int, int],
    steps: int | None = None,
    available: NDArray[np.bool_] | None = None,
) -> Array:
    """``policy`` as an array [S, A] (or [steps, S, A]) of distributions over the available actions."""
    table = array_of_numbers(name, policy)
    if table.shape[-2:] != tuple(shape) or table.ndim not in (2, 3) or table.size == 0:
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
    if available is not None and (table[..., ~available] > 0.0).any():
        s, a = (int(i) for i in np.argwhere((table > 0.0) & ~available)[0][-2:])
        raise GumdpError(f"{name} gives action {a} in state {s}, where it is not available, a probability.")
    table = np.maximum(table, 0.0)
    table /= table.sum(axis=-1, keepdims=True)
    return table


def check_tabular(name: str, model: object) -> Tabular:
    """``model``, if it is a table, whose probabilities are known."""
    if not isinstance(model, Tabular):
        raise GumdpError(f"{name} needs the probabilities of a Tabular model, not a {type(model).__name__}.")
    return model


def check_trajectory(
    name: str, states: ArrayLike, actions: ArrayLike, shape: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """``states`` and ``actions`` as arrays of indices, one of each for every step."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise GumdpError(f"{name}: shape must be a pair (states, actions), not {shape!r}.")
    shape = (check_int(f"{name}: states of shape", shape[0], 1), check_int(f"{name}: actions of shape", shape[1], 1))
    rows = []
    for what, given, count in (("states", states, shape[0]), ("actions", actions, shape[1])):
        try:
            values = np.asarray(given if np.size(given) else np.zeros(np.shape(given), np.intp))
        except (TypeError, ValueError):
            raise GumdpError(f"{name}: {what} must be a list of whole numbers.") from None
        inside = values.dtype.kind in "iu" and (values.size == 0 or 0 <= values.min() <= values.max() < count)
        if values.ndim != 1 or not inside:
            raise GumdpError(f"{name}: {what} must be a list of whole numbers from 0 to {count - 1}.")
        rows.append(values.astype(np.intp))
    if rows[0].size != rows[1].size:
        raise GumdpError(f"{name}: there must be one action for each state, not {rows[1].size} for {rows[0].size}.")
    return rows[0], rows[1]


def check_discount(name: str, discount: float) -> float:
    """``discount`` as a float in (0, 1]."""
    number = check_float(name, discount, 0.0, 1.0)
    if number == 0.0:
        raise GumdpError(f"{name} must be in (0, 1], not 0.")
    return number


def truncation_gap(lipschitz: float, discount: float, horizon: int) -> float:
    """What planning for ``horizon`` steps instead of forever can cost at most: 8·L·γ^H (Proposition 1).

    >>> truncation_gap(4.0, 0.9, 200) < 1e-7
    True
    """
    constant, discount = check_float("lipschitz", lipschitz, 0.0), check_discount("discount", discount)
    return 8.0 * constant * discount ** check_int("horizon", horizon, 1)


def horizon_for(tolerance: float, lipschitz: float, discount: float) -> int:
    """The least horizon whose truncation costs at most ``tolerance``: 8·L·γ^H ≤ tolerance.

    >>> horizon_for(0.01, lipschitz=4.0, discount=0.9)
    77
    """
    tolerance, lipschitz = check_float("tolerance", tolerance), check_float("lipschitz", lipschitz, 0.0)
    if tolerance <= 0.0:
        raise GumdpError(f"tolerance must be positive, not {tolerance:g}.")
    discount = check_discount("discount", discount)
    if discount == 1.0:
        raise GumdpError("discount must be below 1: without discounting no horizon is long enough.")
    if 8.0 * lipschitz <= tolerance:
        return 1
    guess = max(1, math.ceil(math.log(tolerance / (8.0 * lipschitz)) / math.log(discount)) - 1)
    while truncation_gap(lipschitz, discount, guess) > tolerance:
        guess += 1
    return guess
