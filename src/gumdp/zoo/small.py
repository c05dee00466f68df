"""Problems small enough to be solved exactly: deterministic variants of the paper's, and random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gumdp
from gumdp.errors import GumdpError, check_int, unknown
from gumdp.zoo.paper import COSTS, three_states, two_states
from gumdp.zoo.registry import Entry, register

if TYPE_CHECKING:
    import numpy as np

DISCOUNT = 0.9
HORIZON = 12
KINDS = ("entropy", "state-entropy", "imitation", "worst-case", "quadratic", "linear")


def deterministic(model: gumdp.Tabular) -> gumdp.Tabular:
    """``model`` with every action leading where it most probably leads.

    >>> deterministic(two_states()).row(0, 1)[0].tolist()
    [1]
    """
    import numpy as np

    return gumdp.Tabular(np.eye(model.shape[0])[model.dense().argmax(axis=2)], model.start)


def m1_deterministic(discount: float = DISCOUNT, horizon: int = HORIZON) -> gumdp.Problem:
    """M_f1 in which every action succeeds."""
    return gumdp.Problem(deterministic(three_states()), gumdp.normalized(gumdp.Entropy()), discount, horizon)


def m2_deterministic(discount: float = DISCOUNT, horizon: int = HORIZON) -> gumdp.Problem:
    """M_f2 in which every action succeeds, also for the policy that is imitated."""
    model = deterministic(two_states())
    target = gumdp.occupancy.expected_occupancy(model, [[0.8, 0.2], [0.2, 0.8]], DISCOUNT)
    return gumdp.Problem(model, gumdp.normalized(gumdp.Imitation(target)), discount, horizon)


def m3_deterministic(discount: float = DISCOUNT, horizon: int = HORIZON) -> gumdp.Problem:
    """M_f3 in which every action succeeds."""
    return gumdp.Problem(deterministic(three_states()), gumdp.WorstCase(COSTS), discount, horizon)


def random_small(
    states: int = 3,
    actions: int = 2,
    branching: int = 2,
    objective: str = "entropy",
    seed: int = 0,
    discount: float = DISCOUNT,
    horizon: int = 6,
    episodes: int = 1,
) -> gumdp.Problem:
    """A random problem: each action leads to ``branching`` states with random probabilities.

    ``objective`` is one of entropy, state-entropy, imitation, worst-case, quadratic and linear, with random numbers
    where it needs some. The same options give the same problem.

    >>> random_small(states=4, branching=2).model.successors.size
    16
    """
    import numpy as np

    states, actions = check_int("random-small: states", states, 1), check_int("random-small: actions", actions, 1)
    branching = check_int("random-small: branching", branching, 1)
    if branching > states:
        raise GumdpError(f"random-small: branching must be at most {states}, the number of states, not {branching}.")
    rng = np.random.default_rng(check_int("random-small: seed", seed, 0))
    transitions = np.zeros((states, actions, states))
    for s in range(states):
        for a in range(actions):
            transitions[s, a, rng.permutation(states)[:branching]] = rng.dirichlet(np.ones(branching))
    model = gumdp.Tabular(transitions, start=0)
    return gumdp.Problem(model, _objective(objective, model, rng), discount, horizon, episodes)


def _objective(kind: str, model: gumdp.Tabular, rng: np.random.Generator) -> gumdp.Objective:
    import numpy as np

    states, actions = model.shape
    if kind == "entropy":
        return gumdp.normalized(gumdp.Entropy())
    if kind == "state-entropy":
        return gumdp.normalized(gumdp.StateEntropy())
    if kind == "imitation":
        policy = rng.dirichlet(np.ones(actions), size=states)
        return gumdp.normalized(gumdp.Imitation(gumdp.occupancy.expected_occupancy(model, policy, DISCOUNT)))
    if kind == "worst-case":
        return gumdp.WorstCase(rng.uniform(size=(3, states, actions)))
    if kind == "quadratic":
        root = rng.normal(size=(states * actions, states * actions))
        return gumdp.Quadratic(root @ root.T)
    if kind == "linear":
        return gumdp.Linear(rng.uniform(size=(states, actions)))
    raise unknown("objective of random-small", kind, KINDS)


for _name, _summary, _build, _optimum, _shape, _objective_name in (
    ("m1-deterministic", "M_f1 without chance", m1_deterministic, 0.0027014470178, (3, 2), "entropy"),
    ("m2-deterministic", "M_f2 without chance", m2_deterministic, 4.0533429840e-05, (2, 2), "imitation"),
    ("m3-deterministic", "M_f3 without chance", m3_deterministic, 1.0690985717449, (3, 2), "worst case"),
):
    register(
        Entry(
            _name,
            _summary,
            _build,
            {"discount": DISCOUNT, "horizon": HORIZON},
            optimum=_optimum,
            shape=_shape,
            objective=_objective_name,
        )
    )
register(
    Entry(
        "random-small",
        "a random problem, the same for the same seed",
        random_small,
        {
            "states": 3,
            "actions": 2,
            "branching": 2,
            "objective": "entropy",
            "seed": 0,
            "discount": DISCOUNT,
            "horizon": 6,
            "episodes": 1,
        },
        optimum=0.0897617912410,
        shape=(3, 2),
        objective="any",
    )
)
