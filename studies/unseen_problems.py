"""Problems of the study that the zoo does not have: plain functions as costs, all or nothing, large tables, noise.

An experiment file names this module: ``modules = ["unseen_problems"]``.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

import gumdp


def wave(d):
    """Not convex: good occupancies look bad until they are complete."""
    return np.sin(5.0 * d[0, 0]) + d[1, 1] ** 2


def notch(d):
    """A hole in a slope."""
    return 0.3 * d[1, 0] - np.exp(-60.0 * (d[0, 0] - 0.4) ** 2)


def balance(d):
    """The largest distance of a pair from an equal share, as a plain function."""
    return np.abs(d - 1.0 / d.size).max()


FUNCTIONS = {"wave": wave, "notch": notch, "balance": balance}


def own_cost(
    cost: str, states: int, actions: int, branching: int, discount: float, horizon: int, seed: int
) -> gumdp.Problem:
    """A random table with a cost that is a plain function."""
    table = gumdp.zoo.load("random-small", states=states, actions=actions, branching=branching, seed=seed).model
    return gumdp.Problem(table, FUNCTIONS[cost], discount, horizon)


def all_or_nothing(
    states: int, actions: int, branching: int, discount: float, horizon: int, seed: int
) -> gumdp.Problem:
    """Keep a random cost below what a tenth of random trials do: 0 or 1."""
    table = gumdp.zoo.load("random-small", states=states, actions=actions, branching=branching, seed=seed).model
    costs = np.random.default_rng(seed).uniform(size=(states, actions))
    random = gumdp.Problem(table, gumdp.Linear(costs), discount, horizon)
    limit = float(np.quantile(gumdp.evaluate(random, gumdp.Random(), trials=400, seed=seed).values, 0.1))
    return gumdp.Problem(table, gumdp.Target(costs, limit), discount, horizon)


def torus(side: int, slip: float, discount: float, horizon: int) -> gumdp.Problem:
    """The entropy of the squares of a large torus, on which a move goes astray with probability ``slip``."""
    squares = np.arange(side * side)
    row, column = np.divmod(squares, side)
    moves = [((row + r) % side) * side + (column + c) % side for r, c in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    steps = [sparse.csr_array((np.ones(squares.size), (squares, to)), shape=(squares.size,) * 2) for to in moves]
    astray = sum(steps[1:], steps[0]) / 4.0
    model = gumdp.Tabular.from_matrices([(1.0 - slip) * step + slip * astray for step in steps], 0)
    return gumdp.Problem(model, gumdp.StateEntropy(), discount, horizon)


def whole_meals(z):
    """How many meals there are, of one unit of everything each."""
    return np.floor(z.min())


def vector_totals(
    utility: str, kinds: int, late: bool, states: int, actions: int, branching: int, discount: float, horizon: int,
    seed: int,
) -> gumdp.Problem:  # fmt: skip
    """Random rewards of several kinds, by pair or by transition, and a utility of what one run brings of each."""
    table = gumdp.zoo.load("random-small", states=states, actions=actions, branching=branching, seed=seed).model
    shape = (states, actions, states, kinds) if late else (states, actions, kinds)
    rewards = np.random.default_rng(seed).exponential(size=shape)
    utilities = {"minimum": gumdp.Minimum(), "nash": gumdp.Nash(), "meals": gumdp.Utility(whole_meals)}
    return gumdp.Problem(table, utilities[utility], discount, horizon, counts=gumdp.Features(rewards), scale="sum")


def gusts(state, action, u):
    """A boat that is pushed by the wind."""
    push = 0.12 * (action - 1.0) + 0.1 * (u[0] - 0.5)
    return (min(max(state[0] + push, 0.0), 1.0),)


def sailing(cells: int, discount: float, horizon: int) -> gumdp.Problem:
    """A noisy simulator: be everywhere on a river, with each of the three actions."""
    return gumdp.Problem(
        gumdp.Simulator(gusts, (0.5,), gumdp.Bins([cells], low=[0.0], high=[1.0]), actions=3),
        gumdp.normalized(gumdp.Entropy()), discount, horizon,
    )  # fmt: skip


TABLE = {"states": 6, "actions": 3, "branching": 2, "seed": 0}
FAMILIES = {
    "own-cost": (own_cost, {**TABLE, "cost": "wave", "discount": 1.0, "horizon": 8}),
    "all-or-nothing": (all_or_nothing, {**TABLE, "discount": 0.95, "horizon": 30}),
    "torus": (torus, {"side": 100, "slip": 0.1, "discount": 1.0, "horizon": 60}),
    "vector-totals": (
        vector_totals,
        {**TABLE, "utility": "minimum", "kinds": 2, "late": False, "discount": 1.0, "horizon": 30},
    ),
    "sailing": (sailing, {"cells": 8, "discount": 0.95, "horizon": 60}),
}
for _name, (_build, _options) in FAMILIES.items():
    gumdp.register_problem(_name, _build, _options)
