"""Everyday operations, judged by what happens in one run: a service level, fairness, a budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import gumdp
from gumdp.errors import check_float, check_int
from gumdp.zoo.registry import Entry, register

if TYPE_CHECKING:
    from gumdp.problem import Problem

ORDERS = (0, 4, 8)  # what can be ordered at once
FULL = 8  # customers that fit into each queue
WORN = 9  # the last wear before a machine breaks; WORN + 1 is broken


def inventory(
    capacity: int = 10,
    demand: float = 2.0,
    level: float = 0.9,
    penalty: float = 1.0,
    discount: float = 1.0,
    horizon: int = 28,
) -> Problem:
    """A shop: little stock and few orders, and shelves that are not empty on 90 % of the mornings of this run.

    A state is the stock in the morning; the order arrives at once, then the day's Poisson demand is met as far as
    possible. Cost of a day: stock/capacity · 0.5 for holding, 0.5 for an order; ``penalty`` is the price of the share
    of empty mornings beyond 1 - ``level``.
    """
    import numpy as np

    capacity, rate = check_int("capacity", capacity, max(ORDERS)), check_float("demand", demand, 0.0)
    level = check_float("level", level, 0.0, 1.0)
    table = np.zeros((capacity + 1, len(ORDERS), capacity + 1))
    chances = [math.exp(-rate) * rate**k / math.factorial(k) for k in range(capacity)]
    for stock in range(capacity + 1):
        for a, order in enumerate(ORDERS):
            shelf = min(capacity, stock + order)
            table[stock, a, shelf - np.arange(shelf)] = chances[:shelf]
            table[stock, a, 0] = 1.0 - sum(chances[:shelf])
    costs = 0.5 * np.arange(capacity + 1)[:, None] / capacity + 0.5 * (np.array(ORDERS) > 0)
    empty = np.zeros_like(costs)
    empty[0] = 1.0
    model = gumdp.Tabular(
        table,
        capacity // 2,
        state_names=[f"stock {k}" for k in range(capacity + 1)],
        action_names=[f"order {n}" for n in ORDERS],
    )
    return gumdp.Problem(model, gumdp.Constrained(costs, empty, 1.0 - level, penalty), discount, horizon)


def queue_fairness(
    first: float = 0.35, second: float = 0.35, service: float = 0.85, weight: float = 2.0,
    discount: float = 1.0, horizon: int = 20,
) -> Problem:  # fmt: skip
    """One server, two kinds of customers: whom to serve so that neither kind waits more, by its weight, in this run.

    A state is the two queues, up to 8 customers each; ``first`` and ``second`` are the probabilities of an arrival in a
    step, ``service`` that of serving whoever is chosen. The cost is the larger of the mean lengths of the two queues
    over 8, the first one counted ``weight`` times.
    """
    import numpy as np

    arrivals = check_float("first", first, 0.0, 1.0), check_float("second", second, 0.0, 1.0)
    done, weight = check_float("service", service, 0.0, 1.0), check_float("weight", weight, 0.0)
    n = FULL + 1
    table = np.zeros((n * n, 2, n * n))
    for one in range(n):
        for two in range(n):
            for a in range(2):
                left = [one, two]
                left[a] = max(0, left[a] - 1)
                for queues, p in (((one, two), 1.0 - done), (tuple(left), done)):
                    for x in (0, 1):
                        for y in (0, 1):
                            q = p * (arrivals[0] if x else 1 - arrivals[0]) * (arrivals[1] if y else 1 - arrivals[1])
                            table[one * n + two, a, min(FULL, queues[0] + x) * n + min(FULL, queues[1] + y)] += q
    lengths = np.stack(np.divmod(np.arange(n * n), n)) / FULL  # [2, S]
    costs = np.repeat((lengths * np.array([[weight], [1.0]]))[:, :, None], 2, axis=2)
    model = gumdp.Tabular(
        table, 0, grid=(n, n), action_names=("serve the first", "serve the second"),
        state_names=[f"{one} and {two} waiting" for one in range(n) for two in range(n)],
    )  # fmt: skip
    return gumdp.Problem(model, gumdp.WorstCase(costs), discount, horizon)


def maintenance(budget: float = 0.3, penalty: float = 1.0, discount: float = 1.0, horizon: int = 30) -> Problem:
    """A machine that wears: lose little production, and spend no more on it than the budget of this run.

    Running wears it by 0, 1 or 2 and breaks it with the probability 0.04 · wear. Service takes 3 off the wear and costs
    1, replacing it costs 1.5, either stops production for a step. A broken machine produces nothing, and replacing it
    succeeds only in one of three steps. ``budget`` is the mean spending a step, ``penalty`` the price of each unit
    beyond it.
    """
    import numpy as np

    states = WORN + 2
    table = np.zeros((states, 3, states))
    for wear in range(WORN + 1):
        for more, p in ((0, 0.4), (1, 0.4), (2, 0.2)):
            table[wear, 0, min(WORN, wear + more)] += (1.0 - 0.04 * wear) * p
        table[wear, 0, WORN + 1] += 0.04 * wear
        table[wear, 1, max(0, wear - 3)] = 1.0
        table[wear, 2, 0] = 1.0
    table[WORN + 1, :2, WORN + 1] = 1.0
    table[WORN + 1, 2, [0, WORN + 1]] = 1.0 / 3.0, 2.0 / 3.0
    lost = np.ones((states, 3))
    lost[: WORN + 1, 0] = 0.0
    spent = np.broadcast_to([0.0, 1.0, 1.5], (states, 3))
    model = gumdp.Tabular(
        table,
        0,
        action_names=("run", "service", "replace"),
        state_names=[*(f"wear {k}" for k in range(WORN + 1)), "broken"],
    )
    return gumdp.Problem(model, gumdp.Constrained(lost, spent, budget, penalty), discount, horizon)


register(
    Entry(
        "inventory-service",
        "a shop: little stock, and a service level met in this run",
        inventory,
        {"capacity": 10, "demand": 2.0, "level": 0.9, "penalty": 1.0, "discount": 1.0, "horizon": 28},
        shape=(11, 3),
        objective="cost, service level",
    )
)
register(
    Entry(
        "queue-fairness",
        "one server, two kinds of customers: neither waits more in this run",
        queue_fairness,
        {"first": 0.35, "second": 0.35, "service": 0.85, "weight": 2.0, "discount": 1.0, "horizon": 20},
        shape=(81, 2),
        objective="worst case",
    )
)
register(
    Entry(
        "maintenance-budget",
        "a machine that wears: produce, within the budget of this run",
        maintenance,
        {"budget": 0.3, "penalty": 1.0, "discount": 1.0, "horizon": 30},
        shape=(11, 3),
        objective="cost, budget",
    )
)
