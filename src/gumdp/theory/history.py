"""Running occupancies, and the histories that they came from.

The running occupancy o_t(s,a) = Σ_{k<t} γ^k 1(s_k = s, a_k = a) is all that a planner has to remember.
Proposition 2 of the paper says that it determines the history, one to one. That is true for every rational
discount below 1, and not for every other one: for γ = (√5-1)/2, 1 = γ + γ², so that the pairs (x, y, y) and
(y, x, x) leave the same occupancy behind; with γ = 1 every reordering does; and a float holds 53 bits, which
a long history does not fit into. So nothing here is built on the bijection, and ``history_of`` says when it fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError, check_float, check_int
from gumdp.occupancy import Array, check_discount, check_trajectory

History = tuple[tuple[int, int], ...]  # the (state, action) pairs, first to last

LONGEST = 40  # steps; all sets of half of them are looked through, and soon beyond rounding hides the order anyway
CROWD = 100_000  # sets of steps that fit one entry, more of which are not looked through
EPSILON = float(np.finfo(np.float64).eps)


def running_occupancy(states: ArrayLike, actions: ArrayLike, shape: tuple[int, int], discount: float) -> Array:
    """The running occupancy [S, A] after these steps, not normalised: o(s,a) = Σ_t γ^t 1(s_t = s, a_t = a).

    >>> running_occupancy([0, 1, 0], [1, 0, 1], (2, 2), discount=0.5)
    array([[0.  , 1.25],
           [0.5 , 0.  ]])
    """
    discount = check_discount("running_occupancy: discount", discount)
    s, a = check_trajectory("running_occupancy", states, actions, shape)
    running = np.zeros(shape)
    np.add.at(running, (s, a), np.power(discount, np.arange(s.size, dtype=np.float64)))
    return running


def history_of(
    running: ArrayLike, discount: float, steps: int | None = None, tolerance: float | None = None
) -> History:
    """The only history that leaves this running occupancy [S, A] behind, as (state, action) pairs.

    A ``GumdpError`` says so when there is none or more than one. The number of steps follows from the sum
    of the entries and need not be given. ``tolerance`` is how far a sum of weights may be from an entry; if not
    given, as far as the rounding of that sum explains.

    >>> history_of([[0.0, 1.25], [0.5, 0.0]], discount=0.5)
    ((0, 1), (1, 0), (0, 1))
    """
    found = histories_of(running, discount, steps, tolerance, most=2)
    if not found:
        raise GumdpError(f"history_of: running is not the occupancy of any history at discount {discount:g}.")
    if len(found) > 1:
        raise GumdpError(
            f"history_of: several histories leave this occupancy behind at discount {discount:g}, "
            f"for example {_text(found[0])} and {_text(found[1])}; histories_of lists them."
        )
    return found[0]


def histories_of(
    running: ArrayLike,
    discount: float,
    steps: int | None = None,
    tolerance: float | None = None,
    most: int = 1000,
) -> list[History]:
    """Every history that leaves this running occupancy [S, A] behind, or the first ``most`` of them.

    >>> golden = (5**0.5 - 1) / 2
    >>> running = running_occupancy([0, 0, 0], [0, 1, 1], (1, 2), golden)
    >>> for history in histories_of(running, golden): print(history)
    ((0, 0), (0, 1), (0, 1))
    ((0, 1), (0, 0), (0, 0))
    """
    discount = check_discount("histories_of: discount", discount)
    most = check_int("histories_of: most", most, 1)
    if tolerance is not None:
        tolerance = check_float("histories_of: tolerance", tolerance, 0.0)
    entries = _entries(running)
    length = _steps(entries, discount, steps)
    if discount == 1.0:
        orders = _orders(entries, length, most)
    else:
        if length > LONGEST:
            raise GumdpError(
                f"histories_of: {length} steps are too many: at most {LONGEST} can be told apart, since rounding "
                f"lets other histories fit as well before long."
            )
        orders = _assignments(entries, discount, length, tolerance, most)
    return sorted(orders)


def _entries(running: ArrayLike) -> dict[tuple[int, int], float]:
    """The pairs with mass, in order, and their masses."""
    try:
        table = np.array(running, dtype=np.float64)
    except (TypeError, ValueError):
        raise GumdpError(f"running must be an array [S, A] of numbers, not {type(running).__name__}.") from None
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0.0).any():
        raise GumdpError(f"running must be an array [S, A] of numbers of at least 0, not one of shape {table.shape}.")
    return {(int(s), int(a)): float(table[s, a]) for s, a in np.argwhere(table > 0.0)}


def _steps(entries: dict[tuple[int, int], float], discount: float, steps: int | None) -> int:
    """The length of the histories: (1 - γ^length)/(1 - γ) is the sum of the entries."""
    total = math.fsum(entries.values())
    if steps is not None:
        return check_int("steps", steps, 0)
    if discount == 1.0:
        return round(total)
    left = 1.0 - total * (1.0 - discount)  # γ^length, up to the rounding of the sum
    if left * (1.0 - discount) <= 64.0 * EPSILON:
        raise GumdpError("the sum of running does not tell the number of steps; give steps.")
    return round(math.log(left) / math.log(discount))


def _orders(entries: dict[tuple[int, int], float], length: int, most: int) -> list[History]:
    """Without discounting: the orders in which the pairs can have come, counted by whole numbers."""
    counts = {pair: round(mass) for pair, mass in entries.items()}
    if sum(counts.values()) != length or any(abs(counts[pair] - mass) > 1e-9 for pair, mass in entries.items()):
        return []

    def orders(left: int) -> Iterator[History]:
        if left == 0:
            yield ()
        for pair, count in counts.items():
            if count > 0:
                counts[pair] -= 1
                for rest in orders(left - 1):
                    yield (pair, *rest)
                counts[pair] += 1

    if len(counts) == 1:
        return [tuple(counts) * length]
    return [order for order, _ in zip(orders(length), range(most), strict=False)]


def _assignments(
    entries: dict[tuple[int, int], float], discount: float, length: int, tolerance: float | None, most: int
) -> list[History]:
    """The ways to give each step to one pair such that the weights of a pair's steps add up to its mass.

    For each pair, the sets of steps that fit (as bits); then a choice of one set a pair that shares out all steps.
    """
    weights = np.power(discount, np.arange(length, dtype=np.float64))
    sums = _half_sums(weights)
    options = []
    for pair, mass in entries.items():
        # each of at most `length` additions rounds by half a unit of the sum, and so does each power
        slack = (length + 2) * EPSILON * mass if tolerance is None else tolerance
        options.append((pair, _sets_of_steps(sums, length // 2, mass, slack)))
    options.sort(key=lambda option: len(option[1]))
    everything = (1 << length) - 1
    found: list[History] = []

    def choose(k: int, taken: int, owners: dict[int, tuple[int, int]]) -> None:
        if k == len(options):
            if taken == everything:
                found.append(tuple(owners[t] for t in range(length)))
            return
        pair, sets = options[k]
        for steps in sets:
            if len(found) < most and not steps & taken:
                mine = {t: pair for t in range(length) if steps >> t & 1}
                choose(k + 1, taken | steps, {**owners, **mine})

    choose(0, 0, {})
    return found


def _half_sums(weights: Array) -> tuple[Array, Array, NDArray[np.intp]]:
    """The sums of all sets of steps of the first half, those of the second half in rising order, and which they are."""

    def sums(part: Array) -> Array:
        total = np.zeros(1)
        for w in part:
            total = np.concatenate([total, total + w])
        return total

    half = weights.size // 2
    second = sums(weights[half:])
    order = np.argsort(second, kind="stable")
    return sums(weights[:half]), second[order], order


def _sets_of_steps(sums: tuple[Array, Array, NDArray[np.intp]], half: int, mass: float, slack: float) -> list[int]:
    """The sets of steps, as bits, whose weights add up to ``mass``, give or take ``slack``."""
    first, second, order = sums
    low = np.searchsorted(second, mass - slack - first, side="left")
    high = np.searchsorted(second, mass + slack - first, side="right")
    if (high - low).sum() > CROWD:
        raise GumdpError(f"histories_of: more than {CROWD} sets of steps fit one entry; this can't be told apart.")
    return [
        int(k) | int(order[j]) << half for k in np.flatnonzero(high > low) for j in range(int(low[k]), int(high[k]))
    ]


def _text(history: History) -> str:
    shown = ", ".join(str(pair) for pair in history[:6])
    return f"({shown}{', …' if len(history) > 6 else ''})"
