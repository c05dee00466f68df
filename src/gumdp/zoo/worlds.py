"""Worlds that people know, and a patrol of any size: where to spend one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gumdp
from gumdp.errors import check_float, check_int
from gumdp.zoo.registry import Entry, register

if TYPE_CHECKING:
    from gumdp.models.tabular import Tabular
    from gumdp.problem import Problem


def frozenlake8x8_entropy(discount: float = 0.9, horizon: int = 200, terminal: str = "table") -> Problem:
    """FrozenLake 8×8, slippery: see all of it before a hole keeps you."""
    model = gumdp.from_gymnasium("FrozenLake8x8-v1", terminal=terminal)
    return gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), discount, horizon)


def cliffwalking_budget(
    wind: float = 0.1, falls: float = 0.02, penalty: float = 10.0, discount: float = 1.0, horizon: int = 100
) -> Problem:
    """CliffWalking in the wind: see every square, but fall off the cliff in at most 2 % of the steps of this run.

    A gust turns a step to either side with the probability ``wind`` each. The goal leads back to the start.
    """
    import numpy as np

    from gumdp.models.gymnasium.opening import newest, open_environment

    wind = check_float("wind", wind, 0.0, 0.5)
    env = open_environment(newest("CliffWalking"))
    calm = gumdp.from_gymnasium(env, terminal="restart")
    assert isinstance(calm, gumdp.Tabular)
    steps = env.unwrapped.P
    drop = np.array([[sum(p for p, _, r, _ in steps[s][a] if r == -100) for a in range(4)] for s in range(48)])
    drop[47] = 0.0  # the goal restarts, whatever the action
    table = calm.dense()
    blown, risk = ((1 - 2 * wind) * x + wind * (x[:, [3, 0, 1, 2]] + x[:, [1, 2, 3, 0]]) for x in (table, drop))
    model = gumdp.Tabular(
        blown, calm.start, grid=calm.grid, state_names=calm.state_names, action_names=calm.action_names
    )
    objective = gumdp.normalized(gumdp.StateEntropy()) + gumdp.Constrained(np.zeros((48, 4)), risk, falls, penalty)
    return gumdp.Problem(model, objective, discount, horizon)


def cartpole_coverage(bins: int = 10, discount: float = 1.0, horizon: int = 200) -> Problem:
    """CartPole: balance the pole at every place of the track alike. A pole that fell stays where it is."""
    places = gumdp.Bins((check_int("bins", bins, 1), 1, 1, 1))
    model = gumdp.from_gymnasium("CartPole-v1", bins=places, terminal="absorb")
    return gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), discount, horizon)


def acrobot_coverage(bins: int = 8, discount: float = 1.0, horizon: int = 200) -> Problem:
    """Acrobot: bring both joints into every position alike, upright ones included."""
    count = check_int("bins", bins, 1)
    model = gumdp.from_gymnasium("Acrobot-v1", bins=gumdp.Bins((count, count, 1, 1)))
    return gumdp.Problem(model, gumdp.normalized(gumdp.StateEntropy()), discount, horizon)


def patrol_grid(rows: int, columns: int, slip: float) -> Tabular:
    """Squares, and the actions up, right, down, left, stay; a step goes to either side with probability ``slip``/2."""
    import numpy as np
    import scipy.sparse as sparse

    rows, columns, slip = (
        check_int("rows", rows, 1),
        check_int("columns", columns, 1),
        check_float("slip", slip, 0.0, 1.0),
    )
    squares = np.arange(rows * columns)
    r, c = np.divmod(squares, columns)
    ways = [(-1, 0), (0, 1), (1, 0), (0, -1)]
    after = [np.clip(r + down, 0, rows - 1) * columns + np.clip(c + right, 0, columns - 1) for down, right in ways] + [
        squares
    ]
    sides = [(1, 3), (0, 2), (1, 3), (0, 2), (4, 4)]
    source = squares * 5
    parts = []
    for a, (one, two) in enumerate(sides):
        for target, p in ((after[a], 1.0 - slip), (after[one], slip / 2), (after[two], slip / 2)):
            if p > 0.0:
                parts.append((source + a, target, np.full(squares.size, p)))
    row, column, chance = (np.concatenate(x) for x in zip(*parts, strict=True))
    matrix = sparse.csr_array((chance, (row, column)), shape=(5 * squares.size, squares.size))
    grid: Any = {"grid": (rows, columns), "action_names": ("up", "right", "down", "left", "stay")}
    return gumdp.Tabular(matrix, int(rows // 2 * columns + columns // 2), **grid)


def patrol(rows: int = 10, columns: int = 10, slip: float = 0.1, discount: float = 1.0, horizon: int = 200) -> Problem:
    """A watchman on a grid of any size: be everywhere alike, starting in the middle."""
    return gumdp.Problem(patrol_grid(rows, columns, slip), gumdp.normalized(gumdp.StateEntropy()), discount, horizon)


register(
    Entry(
        "frozenlake8x8-entropy",
        "FrozenLake 8×8, slippery: explore evenly",
        frozenlake8x8_entropy,
        {"discount": 0.9, "horizon": 200, "terminal": "table"},
        shape=(64, 4),
        objective="entropy",
    )
)
register(
    Entry(
        "cliffwalking-budget",
        "CliffWalking in the wind: explore, and keep a budget of falls",
        cliffwalking_budget,
        {"wind": 0.1, "falls": 0.02, "penalty": 10.0, "discount": 1.0, "horizon": 100},
        shape=(48, 4),
        objective="state entropy, budget",
    )
)
register(
    Entry(
        "cartpole-coverage",
        "CartPole: balance everywhere on the track",
        cartpole_coverage,
        {"bins": 10, "discount": 1.0, "horizon": 200},
        shape=(10, 2),
        objective="state entropy",
    )
)
register(
    Entry(
        "acrobot-coverage",
        "Acrobot: bring both joints into every position",
        acrobot_coverage,
        {"bins": 8, "discount": 1.0, "horizon": 200},
        shape=(64, 3),
        objective="state entropy",
    )
)
register(
    Entry(
        "patrol",
        "a watchman on a grid of any size: be everywhere alike",
        patrol,
        {"rows": 10, "columns": 10, "slip": 0.1, "discount": 1.0, "horizon": 200},
        shape=(100, 5),
        objective="state entropy",
    )
)
