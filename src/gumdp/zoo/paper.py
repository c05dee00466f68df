"""The paper's three illustrative problems, M_f1, M_f2 and M_f3."""

from __future__ import annotations

import numpy as np

from gumdp.models.tabular import Tabular
from gumdp.objectives.compose import normalized
from gumdp.objectives.entropy import Entropy
from gumdp.problem import Problem
from gumdp.zoo.registry import Entry, register

DISCOUNT = 0.9


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


register(
    Entry(
        "m1-entropy",
        "three states, explore evenly (M_f1)",
        m1_entropy,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 0.1159, "solver": 0.0519, "mcts": 0.0092},
    )
)
