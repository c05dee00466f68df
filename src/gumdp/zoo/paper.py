"""The paper's three illustrative problems, M_f1, M_f2 and M_f3."""

from __future__ import annotations

import numpy as np

from gumdp.models.tabular import Tabular
from gumdp.objectives.compose import normalized
from gumdp.objectives.entropy import Entropy
from gumdp.objectives.imitation import Imitation
from gumdp.objectives.worst_case import WorstCase
from gumdp.occupancy import expected_occupancy
from gumdp.problem import Problem
from gumdp.zoo.registry import Entry, register

DISCOUNT = 0.9
COSTS = (  # of M_f3, [k][s][a]
    ((0.5, 1.0), (1.0, 0.5), (1.5, 2.0)),
    ((1.5, 2.0), (0.5, 1.0), (0.5, 1.0)),
    ((1.0, 0.5), (1.5, 2.0), (1.0, 0.5)),
)


def three_states() -> Tabular:
    """Three states, two actions: the intended state with probability 0.9, each other one with 0.05."""
    intended = [[1, 2], [1, 0], [0, 2]]  # [s][a]
    transitions = np.full((3, 2, 3), 0.05)
    for s, row in enumerate(intended):
        for a, target in enumerate(row):
            transitions[s, a, target] = 0.9
    return Tabular(transitions, start=0)


def m1_entropy(discount: float = DISCOUNT, horizon: int = 100) -> Problem:
    """M_f1: visit the six pairs evenly."""
    return Problem(three_states(), normalized(Entropy()), discount, horizon)


def two_states() -> Tabular:
    """Two states: action 0 leads to the first and action 1 to the second with probability 0.9, else to the other."""
    return Tabular([[[0.9, 0.1], [0.1, 0.9]]] * 2, start=0)


def m2_imitation(discount: float = DISCOUNT, horizon: int = 100) -> Problem:
    """M_f2: live as β does, who takes action 0 with probability 0.8 in the first state and 0.2 in the second.

    The target is β's exact occupancy over an infinite horizon at the paper's discount, whatever the problem's own.
    """
    model = two_states()
    target = expected_occupancy(model, [[0.8, 0.2], [0.2, 0.8]], DISCOUNT)
    return Problem(model, normalized(Imitation(target)), discount, horizon)


def m3_adversarial(discount: float = DISCOUNT, horizon: int = 100) -> Problem:
    """M_f3: keep the largest of three costs small. Not normalised, as in Table 1."""
    return Problem(three_states(), WorstCase(COSTS), discount, horizon)


register(
    Entry(
        "m1-entropy",
        "three states, explore evenly (M_f1)",
        m1_entropy,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 0.1159, "solver": 0.0519, "mcts": 0.0092},
    )
)
register(
    Entry(
        "m2-imitation",
        "two states, imitate a policy (M_f2)",
        m2_imitation,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 0.0521, "solver": 0.0274, "mcts": 0.0015},
    )
)
register(
    Entry(
        "m3-adversarial",
        "three states, the largest of three costs (M_f3)",
        m3_adversarial,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 1.2493, "solver": 1.2069, "mcts": 1.0708},
    )
)
