"""The paper's three illustrative problems, M_f1, M_f2 and M_f3."""

from __future__ import annotations

import gumdp
from gumdp.zoo.registry import Entry, register

DISCOUNT = 0.9
COSTS = (  # of M_f3, [k][s][a]
    ((0.5, 1.0), (1.0, 0.5), (1.5, 2.0)),
    ((1.5, 2.0), (0.5, 1.0), (0.5, 1.0)),
    ((1.0, 0.5), (1.5, 2.0), (1.0, 0.5)),
)


def three_states() -> gumdp.Tabular:
    """Three states, two actions: the intended state with probability 0.9, each other one with 0.05."""
    intended = [[1, 2], [1, 0], [0, 2]]  # [s][a]
    transitions = [[[0.9 if s == target else 0.05 for s in range(3)] for target in row] for row in intended]
    return gumdp.Tabular(transitions, start=0)


def m1_entropy(discount: float = DISCOUNT, horizon: int = 100) -> gumdp.Problem:
    """M_f1: visit the six pairs evenly."""
    return gumdp.Problem(three_states(), gumdp.normalized(gumdp.Entropy()), discount, horizon)


def two_states() -> gumdp.Tabular:
    """Two states: action 0 leads to the first and action 1 to the second with probability 0.9, else to the other."""
    return gumdp.Tabular([[[0.9, 0.1], [0.1, 0.9]]] * 2, start=0)


def m2_imitation(discount: float = DISCOUNT, horizon: int = 100) -> gumdp.Problem:
    """M_f2: live as β does, who takes action 0 with probability 0.8 in the first state and 0.2 in the second.

    The target is β's exact occupancy over an infinite horizon at the paper's discount, whatever the problem's own.
    """
    model = two_states()
    target = gumdp.occupancy.expected_occupancy(model, [[0.8, 0.2], [0.2, 0.8]], DISCOUNT)
    return gumdp.Problem(model, gumdp.normalized(gumdp.Imitation(target)), discount, horizon)


def m3_adversarial(discount: float = DISCOUNT, horizon: int = 100) -> gumdp.Problem:
    """M_f3: keep the largest of three costs small. Not normalised, as in Table 1."""
    return gumdp.Problem(three_states(), gumdp.WorstCase(COSTS), discount, horizon)


register(
    Entry(
        "m1-entropy",
        "three states, explore evenly (M_f1)",
        m1_entropy,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 0.1159, "solver": 0.0519, "mcts": 0.0092},
        shape=(3, 2),
        objective="entropy",
    )
)
register(
    Entry(
        "m2-imitation",
        "two states, imitate a policy (M_f2)",
        m2_imitation,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 0.0521, "solver": 0.0274, "mcts": 0.0015},
        shape=(2, 2),
        objective="imitation",
    )
)
register(
    Entry(
        "m3-adversarial",
        "three states, the largest of three costs (M_f3)",
        m3_adversarial,
        {"discount": DISCOUNT, "horizon": 100},
        published={"random": 1.2493, "solver": 1.2069, "mcts": 1.0708},
        shape=(3, 2),
        objective="worst case",
    )
)
