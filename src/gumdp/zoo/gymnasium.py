"""The paper's Gymnasium settings: FrozenLake, Taxi and MountainCar, to explore and to imitate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gumdp
from gumdp.zoo.registry import Entry, register

if TYPE_CHECKING:
    from gumdp.problem import Problem

DISCOUNT, HORIZON = 0.9, 200
COMMON = {"discount": DISCOUNT, "horizon": HORIZON, "terminal": "table"}


def explore(name: str, discount: float, horizon: int, terminal: str) -> Problem:
    """Take every (state, action) pair of an environment evenly."""
    from gumdp.models.gymnasium.opening import newest

    model = gumdp.from_gymnasium(newest(name), terminal=terminal)
    return gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), discount, horizon)


def imitate(name: str, target: str, discount: float, horizon: int, terminal: str) -> Problem:
    """Spend time in an environment as the shipped target does: see ``gumdp.zoo.targets``."""
    from gumdp.models.gymnasium.opening import newest
    from gumdp.zoo import targets

    objective = gumdp.normalized(gumdp.Imitation(targets.target(name.lower(), target)))
    model = gumdp.from_gymnasium(newest(name), terminal=terminal)
    return gumdp.Problem(model, objective, discount, horizon)


def frozenlake_entropy(discount: float = DISCOUNT, horizon: int = HORIZON, terminal: str = "table") -> Problem:
    """FrozenLake 4×4, slippery: see all of it before a hole keeps you."""
    return explore("FrozenLake", discount, horizon, terminal)


def frozenlake_imitation(
    target: str = "same-discount", discount: float = DISCOUNT, horizon: int = HORIZON, terminal: str = "table"
) -> Problem:
    """FrozenLake 4×4, slippery: cross it as a nearly optimal policy does."""
    return imitate("FrozenLake", target, discount, horizon, terminal)


def taxi_entropy(discount: float = DISCOUNT, horizon: int = HORIZON, terminal: str = "table") -> Problem:
    """Taxi: never do the same thing in the same situation twice."""
    return explore("Taxi", discount, horizon, terminal)


def taxi_imitation(
    target: str = "same-discount", discount: float = DISCOUNT, horizon: int = HORIZON, terminal: str = "table"
) -> Problem:
    """Taxi: drive as a nearly optimal driver does."""
    return imitate("Taxi", target, discount, horizon, terminal)


def mountaincar_entropy(
    bins: int = 10, discount: float = DISCOUNT, horizon: int = HORIZON, terminal: str = "continue"
) -> Problem:
    """MountainCar: use every corner of the phase plane. The dynamics are continuous, the occupancy counts bins."""
    model = gumdp.from_gymnasium("MountainCar-v0", bins=bins, terminal=terminal)
    return gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), discount, horizon)


def mountaincar_imitation(
    target: str = "same-discount", discount: float = DISCOUNT, horizon: int = HORIZON, terminal: str = "continue"
) -> Problem:
    """MountainCar: swing back and drive up as a good driver does."""
    return imitate("MountainCar", target, discount, horizon, terminal)


register(
    Entry(
        "frozenlake-entropy",
        "FrozenLake 4×4, slippery: explore evenly",
        frozenlake_entropy,
        COMMON,
        published={"random": 0.5103, "solver": 0.4823, "mcts": 0.4027},
        shape=(16, 4),
        objective="entropy",
    )
)
register(
    Entry(
        "frozenlake-imitation",
        "FrozenLake 4×4, slippery: imitate a nearly optimal policy",
        frozenlake_imitation,
        {"target": "same-discount", **COMMON},
        published={"random": 0.0692, "solver": 0.0550, "mcts": 0.0204},
        shape=(16, 4),
        objective="imitation",
    )
)
register(
    Entry(
        "taxi-entropy",
        "Taxi: explore evenly",
        taxi_entropy,
        COMMON,
        published={"random": 0.6468, "solver": 0.6369, "mcts": 0.5947},
        shape=(500, 6),
        objective="entropy",
    )
)
register(
    Entry(
        "taxi-imitation",
        "Taxi: imitate a nearly optimal driver",
        taxi_imitation,
        {"target": "same-discount", **COMMON},
        published={"random": 0.0787, "solver": 0.0475, "mcts": 0.0489},
        shape=(500, 6),
        objective="imitation",
    )
)
register(
    Entry(
        "mountaincar-entropy",
        "MountainCar, 10×10 bins: explore evenly",
        mountaincar_entropy,
        {"bins": 10, **COMMON, "terminal": "continue"},
        published={"random": 0.7182, "solver": 0.6985, "mcts": 0.6131},
        shape=(100, 3),
        objective="entropy",
    )
)
register(
    Entry(
        "mountaincar-imitation",
        "MountainCar, 10×10 bins: imitate a good driver",
        mountaincar_imitation,
        {"target": "same-discount", **COMMON, "terminal": "continue"},
        published={"random": 0.1787, "solver": 0.0654, "mcts": 0.0359},
        shape=(100, 3),
        objective="imitation",
    )
)
