"""The occupancies that the imitation settings are to imitate, and how they were made.

``python -m gumdp.zoo.targets`` makes them all again and writes them to ``data/``. The paper says only that an
"approximately optimal" policy is imitated, so that every recipe here is a reading of it:

=====================  =================================================================================================
``same-discount``       the ε-greedy policy (ε = 0.05) of an optimal action-value table at discount 0.99, its
                        occupancy at the discount 0.9 and over the 200 steps of the setting itself; the default
``published``           our best guess at what the published numbers were made with: for Taxi the same policy with
                        its occupancy at discount 0.99 over 100 steps, for FrozenLake the soft policy of
                        ``data/frozenlake_policy.json`` at discount 0.9 over 200 steps
=====================  =================================================================================================

MountainCar has one target: accelerate left until the position is below -0.85, from then on right, and coast with
probability 0.1 at each step; the mean occupancy of 100 000 such runs of 100 steps at discount 0.9.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, one_of
from gumdp.objectives.base import Array

DATA = Path(__file__).parent / "data"
GREED = 0.05  # ε: the share of uniform actions
FARSIGHT = 0.99  # the discount of the action values
TIE = 1e-9  # action values that are this close are equal: the first of them is taken
RUNS = 100_000  # of the MountainCar recipe
KINDS = {
    "frozenlake": ("same-discount", "published"),
    "taxi": ("same-discount", "published"),
    "mountaincar": ("same-discount",),
}


def target(world: str, kind: str) -> Array:
    """The shipped occupancy [S, A] for ``world`` made by the recipe ``kind``.

    >>> target("frozenlake", "published").shape
    (16, 4)
    """
    one_of(f"target for {world}", kind, KINDS[world])
    try:
        loaded: Array = np.load(DATA / f"{world}-{kind}.npy")
    except OSError as error:
        raise GumdpError(f"the shipped target {world}-{kind}.npy can't be read: {error}") from error
    return loaded


def make(world: str, kind: str) -> Array:
    """The occupancy that ``target`` ships, made afresh."""
    from gumdp.models.gymnasium.adapter import from_gymnasium
    from gumdp.models.gymnasium.opening import newest, open_environment
    from gumdp.models.tabular import Tabular
    from gumdp.occupancy import expected_occupancy

    if world == "mountaincar":
        return mountaincar()
    env = open_environment(newest({"frozenlake": "FrozenLake", "taxi": "Taxi"}[world]))
    if (world, kind) == ("frozenlake", "published"):
        policy = np.array(json.loads((DATA / "frozenlake_policy.json").read_text())["policy"])
    else:
        policy = epsilon_greedy(action_values(env.unwrapped.P, FARSIGHT))
    discount, horizon = (0.99, 100) if (world, kind) == ("taxi", "published") else (0.9, 200)
    model = from_gymnasium(env)
    assert isinstance(model, Tabular)
    return expected_occupancy(model, policy, discount, horizon)


def action_values(table: Any, discount: float) -> Array:
    """The optimal action values [S, A] of a Gymnasium table, whose episodes end where it says so."""
    states, actions = len(table), len(table[0])
    entries = [(s * actions + a, *e) for s in range(states) for a in range(actions) for e in table[s][a]]
    row, p, successor, reward, ended = (np.array(column) for column in zip(*entries, strict=True))
    gain, onward = np.zeros(states * actions), p * discount * ~ended.astype(bool)
    np.add.at(gain, row, p * reward)
    values: Array = np.zeros((states, actions))
    while True:
        future = np.zeros(states * actions)
        np.add.at(future, row, onward * values.max(axis=1)[successor])
        better = (gain + future).reshape(states, actions)
        if np.abs(better - values).max() < 1e-13:
            return better
        values = better


def epsilon_greedy(values: Array) -> Array:
    """The policy [S, A] that takes the first best action, and any action in a share ε of the steps."""
    best = np.argmax(values >= values.max(axis=1, keepdims=True) - TIE, axis=1)
    policy = np.full(values.shape, GREED / values.shape[1])
    policy[np.arange(best.size), best] += 1.0 - GREED
    return policy


def mountaincar(runs: int = RUNS, steps: int = 100, discount: float = 0.9, seed: int = 0) -> Array:
    """The mean occupancy [100, 3] of the MountainCar recipe."""
    from gumdp.occupancy import step_weights

    rng = np.random.default_rng(seed)
    position, velocity = rng.uniform(-0.6, -0.4, runs), np.zeros(runs)
    turned = np.zeros(runs, bool)
    total: Array = np.zeros(300)
    for weight in step_weights(discount, steps):
        turned |= position < -0.85
        action = np.where(rng.random(runs) < 0.1, 1, np.where(turned, 2, 0))
        row = np.clip(((position + 1.2) / 1.8 * 10).astype(int), 0, 9)
        column = np.clip(((velocity + 0.07) / 0.14 * 10).astype(int), 0, 9)
        total += weight * np.bincount((row * 10 + column) * 3 + action, minlength=300) / runs
        velocity = np.clip(velocity + (action - 1) * 0.001 - 0.0025 * np.cos(3 * position), -0.07, 0.07)
        position = np.clip(position + velocity, -1.2, 0.6)
        velocity[(position == -1.2) & (velocity < 0)] = 0.0
    total /= total.sum()
    return total.reshape(100, 3)


if __name__ == "__main__":
    for name, kinds in KINDS.items():
        for recipe in kinds:
            np.save(DATA / f"{name}-{recipe}.npy", make(name, recipe))
            print(f"{name}-{recipe}.npy")
