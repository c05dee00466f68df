"""The paper's Gymnasium settings: FrozenLake, Taxi and MountainCar, to explore and to imitate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gumdp
from gumdp.zoo.registry import Entry, Publication, Published, register

if TYPE_CHECKING:
    from gumdp.problem import Problem

DISCOUNT, HORIZON = 0.9, 200
COMMON = {"discount": DISCOUNT, "horizon": HORIZON, "terminal": "table"}
GUESS = "The target is our best guess at the published one, which the paper does not describe."


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
        publication=Publication(
            2,
            {
                "random": Published(0.51, 0.03, 0.03, 0.5103),
                "solver": Published(0.48, 0.03, 0.03, 0.4823),
                "mcts": Published(0.4, 0.03, 0.03, 0.4027),
            },
        ),
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
        publication=Publication(
            6,
            {
                "random": Published(0.07, 0.02, 0.02, 0.0692, GUESS),
                "solver": Published(0.05, 0.02, 0.02, 0.055, GUESS),
                "mcts": Published(0.02, 0.005, 0.006, 0.0204, GUESS),
            },
            {"target": "published"},
        ),
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
        publication=Publication(
            3,
            {
                "random": Published(0.65, 0.01, 0.01, 0.6468),
                "solver": Published(0.63, 0.01, 0.01, 0.6369),
                "mcts": Published(0.59, 0.0, 0.0, 0.5947),
            },
        ),
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
        publication=Publication(
            7,
            {
                "random": Published(0.08, 0.01, 0.01, 0.0787),
                "solver": Published(0.05, 0.001, 0.002, 0.0475, GUESS),
                "mcts": Published(0.05, 0.002, 0.002, 0.0489, GUESS),
            },
            {"target": "published"},
        ),
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
        publication=Publication(
            4,
            {
                "random": Published(0.72, 0.02, 0.02, 0.7182),
                "solver": Published(0.7, 0.03, 0.03, 0.6985),
                "mcts": Published(0.61, 0.02, 0.01, 0.6131),
            },
        ),
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
        publication=Publication(
            8,
            {
                "random": Published(0.18, 0.04, 0.04, 0.1787),
                "solver": Published(0.07, 0.01, 0.02, 0.0654),
                "mcts": Published(0.04, 0.01, 0.01, 0.0359),
            },
        ),
        shape=(100, 3),
        objective="imitation",
    )
)
