"""The paper's theory as problems: memory matters (Theorem 1), and the general case is hard (Theorem 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import gumdp
from gumdp.errors import GumdpError, check_float, check_int
from gumdp.zoo.registry import Entry, register

if TYPE_CHECKING:
    from gumdp.policies.fixed import Markov, Stationary
    from gumdp.policies.history import NonMarkov

DISCOUNT = 0.9


# --- Theorem 1: stationary < Markov < non-Markov ---


def theorem1(discount: float = DISCOUNT, horizon: int = 200) -> gumdp.Problem:
    """Balance the time in two states, which are entered by a choice in a third, every other step.

    From s0, action a1 leads to s1 and a2 to s2; both lead back to s0. A coin decides whether the trial starts in s1
    or s2. f(d) = d(s1)² + d(s2)², and since d(s1) + d(s2) is the same for every trajectory, only the balance counts.

    >>> import gumdp
    >>> problem = theorem1()
    >>> round(gumdp.exact_value(problem, markov_planner(problem)), 6), round(markov_value(0.9), 6)
    (0.144505, 0.144505)
    """
    to_s0, to_s1, to_s2 = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    model = gumdp.Tabular(
        [[to_s1, to_s2], [to_s0, to_s0], [to_s0, to_s0]],
        start=[0.0, 0.5, 0.5],
        state_names=("s0", "s1", "s2"),
        action_names=("a1", "a2"),
    )
    return gumdp.Problem(model, gumdp.Quadratic.of_states([0.0, 1.0, 1.0]), discount, horizon)


def stationary_planner(share: float = 0.5) -> Stationary:
    """The stationary policy of ``theorem1`` that takes a1 in s0 with probability ``share``; 1/2 is the best."""
    share = check_float("share", share, 0.0, 1.0)
    return gumdp.Stationary([[share, 1.0 - share], [1.0, 0.0], [1.0, 0.0]])


def markov_planner(problem: gumdp.Problem) -> Markov:
    """π_M of the proof of Theorem 1: in s0, a2 at the steps 1, 5, 9, … and a1 at the steps 3, 7, 11, …"""
    a1, a2 = [1.0, 0.0], [0.0, 1.0]
    return gumdp.Markov([[a2 if t % 4 == 1 else a1, a1, a1] for t in range(problem.horizon)])


def nonmarkov_planner() -> NonMarkov:
    """π_NM of the proof of Theorem 1: π_M if the trial started in s1, and the other way round if in s2."""
    return gumdp.NonMarkov(_alternate)


def _alternate(states: Sequence[int], actions: Sequence[int]) -> int:
    if states[-1] != 0:
        return 0
    first = len(actions) % 4 == 1  # 1, 5, 9, …
    return int(first) if states[0] == 1 else int(not first)


def stationary_bound(discount: float) -> float:
    """The lower bound of appendix B.1 on F_1 of every stationary policy in ``theorem1``.

    It treats what happens after step 5 as if it came out as expected, and takes the best of all policies.
    """
    g = _below_one(discount)
    return (2 - 2 * g**2 + 2 * g**4 - 2 * g**6 + 2 * g**8 - 2 * g**10 + g**12) / (2 * (1 + g) ** 2)


def stationary_value(discount: float, share: float = 0.5) -> float:
    """F_1 of ``stationary_planner(share)`` itself, which the paper does not need.

    x = d(s1) is (1-γ) Σ_k γ^2k b_k with independent coins b_k, the first fair, the others of probability ``share``;
    f = x² + (1/(1+γ) - x)², so that E[f] = 2·Var(x) + f(E[x]).
    """
    g, p = _below_one(discount), check_float("share", share, 0.0, 1.0)
    mean = (1 - g) * (0.5 + p * g**2 / (1 - g**2))
    variance = (1 - g) ** 2 * (0.25 + p * (1 - p) * g**4 / (1 - g**4))
    return 2 * variance + mean**2 + (1 / (1 + g) - mean) ** 2


def markov_value(discount: float) -> float:
    """F_1(π_M) in ``theorem1``, over an infinite horizon.

    The paper prints (1-γ)² in the denominator where (1+γ)² is meant: the terms of the sum that it simplifies,
    f(x) = x² + (1/(1+γ) - x)² at x = (1-γ)/(1-γ⁴) and at γ⁴ times that, give the latter.

    >>> round(markov_value(0.9), 6)
    0.144505
    """
    g = _below_one(discount)
    return (1 + g**2 - g**6 + g**8) / ((1 + g) ** 2 * (1 + g**2) ** 2)


def nonmarkov_value(discount: float) -> float:
    """F_1(π_NM) in ``theorem1``, over an infinite horizon: d(s1) and d(s2) are (1-γ)/(1-γ⁴) and γ² times that.

    >>> nonmarkov_value(0.9) < markov_value(0.9) < stationary_bound(0.9)
    True
    """
    g = _below_one(discount)
    return (1 + g**4) / ((1 + g) ** 2 * (1 + g**2) ** 2)


def _below_one(discount: float) -> float:
    g = check_float("discount", discount, 0.0, 1.0)
    if g in (0.0, 1.0):
        raise GumdpError(f"discount must be above 0 and below 1 over an infinite horizon, not {g:g}.")
    return g


# --- Theorem 3: subset sum ---


def subset_sum(
    numbers: Sequence[int], target: int, discount: float = DISCOUNT, horizon: int | None = None
) -> gumdp.Problem:
    """A problem whose optimum is 0 exactly when some of ``numbers`` add up to ``target``, else at least 1.

    State i asks whether to include number i. The cost is (n·d - target)², where n undoes the weight of each step, so
    that n·d is the sum of what was included. After the last number nothing matters any more; ``horizon`` is how
    many steps there are, at least one for each number.

    >>> import gumdp
    >>> round(gumdp.solve_exact(subset_sum([3, 34, 4, 12, 5, 2], 9)).value, 9)
    0.0
    >>> round(gumdp.solve_exact(subset_sum([3, 34, 4, 12, 5, 2], 30)).value, 9)
    16.0
    """
    if isinstance(numbers, (str, bytes)) or not hasattr(numbers, "__len__") or len(numbers) == 0:
        raise GumdpError(f"subset_sum: numbers must be a list of at least one whole number, not {numbers!r}.")
    values = [check_int(f"subset_sum: number {i}", n, 0) for i, n in enumerate(numbers)]
    goal = check_int("subset_sum: target", target, 0)
    count = len(values)
    steps = count if horizon is None else check_int("subset_sum: horizon", horizon, count)
    stays = [[float(s == min(i + 1, count)) for s in range(count + 1)] for i in range(count + 1)]
    model = gumdp.Tabular(
        [[row, row] for row in stays],
        state_names=[*(f"number {i}: {n}" for i, n in enumerate(values)), "done"],
        action_names=("include", "leave out"),
    )
    weights = gumdp.occupancy.step_weights(discount, steps)
    costs = [[n / w, 0.0] for n, w in zip(values, weights, strict=False)]
    return gumdp.Problem(model, gumdp.Quadratic.residual([*costs, [0.0, 0.0]], goal), discount, steps)


register(
    Entry(
        "theorem1",
        "three states, balance two of them: stationary < Markov < non-Markov (Theorem 1)",
        theorem1,
        {"discount": DISCOUNT, "horizon": 200},
        known={
            "stationary at least": stationary_bound(DISCOUNT),
            "Markov": markov_value(DISCOUNT),
            "non-Markov": nonmarkov_value(DISCOUNT),
        },
        shape=(3, 2),
        objective="quadratic",
    )
)
register(
    Entry(
        "subset-sum",
        "include numbers until they add up: NP-hard (Theorem 3)",
        subset_sum,
        {"numbers": (3, 34, 4, 12, 5, 2), "target": 9, "discount": DISCOUNT, "horizon": None},
        optimum=0.0,  # 4 + 5
        shape=(7, 2),
        objective="quadratic",
    )
)
