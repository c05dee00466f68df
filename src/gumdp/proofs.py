"""What is known for sure: solutions, lower bounds and certificates. Frozen and printable, like all results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Solution:
    """The answer of a solver: a value, how to attain it, and how sure that is.

    Attributes:
        value: the value that was found.
        method: how, in a few words.
        status: a sentence: what was found, and what to do if that is not enough.
        gap: how far the value can be from the optimum; NaN if that is not known.
        policy: the stationary policy [S, A] that attains it, where there is one.
        occupancy: its expected occupancy, [S, A].
        planner: the policy that attains the value, for ``run_trial`` and ``evaluate``.
        sizes: the number of states of the occupancy MDP at each step, by ``solve_exact``.
        iterations: of the solver.
        seconds: how long it took.
        maximised: whether the value is the negative of a utility.

    >>> import gumdp
    >>> solution = gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=4))
    >>> solution.status
    'the optimum over all policies, from 259 states of the occupancy MDP.'
    """

    value: float
    method: str
    status: str
    gap: float = 0.0
    policy: Array | None = field(default=None, repr=False)
    occupancy: Array | None = field(default=None, repr=False)
    planner: Any = field(default=None, repr=False)
    sizes: Counts | None = field(default=None, repr=False)
    iterations: int = 0
    seconds: float = 0.0
    maximised: bool = False

    @property
    def utility(self) -> float:
        """What a utility is worth: the negative of the value."""
        return -self.value

    def __str__(self) -> str:
        worth = f"utility {self.utility:.9g}" if self.maximised else f"value {self.value:.9g}"
        return f"{worth} ({self.method}, {self.seconds:.3g} s): {self.status}"


@dataclass(frozen=True)
class Bound:
    """A number that the value of no policy is below, and why.

    Attributes:
        value: no policy has a mean cost below this.
        method: ``range``, ``distinct``, ``jensen``, ``clairvoyant``, ``jensen-tree``, ``decomposition``,
            ``totals``, ``paths`` or ``worlds``.
        reason: what it rests on, in a sentence.
        level: the probability with which it holds: 1, unless it was sampled.
        seconds: how long it took.
        parts: every bound that was tried.
        skipped: the methods that were not tried, each with the reason.
        values: what ``certify`` needs for its control variates.

    >>> import gumdp
    >>> bound = gumdp.lower_bound(gumdp.zoo.load("m1-entropy"), "jensen")
    >>> print(f"no policy is below {bound.value:.4f}: {bound.reason}")
    no policy is below 0.0024: the mean occupancy of a policy can't do better, and f is convex
    """

    value: float
    method: str
    reason: str
    level: float = 1.0
    seconds: float = 0.0
    parts: tuple[Bound, ...] = field(default=(), repr=False)
    skipped: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    values: Any = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        sure = "" if self.level == 1.0 else f" with {100.0 * self.level:g} % confidence"
        return f"no policy is below {self.value:.6g}{sure}: {self.reason} ({self.seconds:.3g} s)"


@dataclass(frozen=True)
class Certificate:
    """How far a planner can be from the best possible policy, at most.

    Attributes:
        upper: the planner's mean cost is at most this.
        lower: no policy's mean cost is below this.
        level: the confidence in both together.
        mean: the mean of the planner's trials, with control variates if ``controlled``.
        standard_error: of that mean.
        planner: which planner is certified.
        problem: on which problem.
        trials: how many were played.
        seed: the seed of the trials.
        interval: what the upper limit rests on: ``student`` or ``bernstein``.
        controlled: whether control variates were used.
        bound: the lower bound, with its reason.
        values: the costs of the trials, as they were.
        seconds: how long it took.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m2-imitation", horizon=8)
    >>> certificate = gumdp.certify(problem, gumdp.Greedy(), trials=100, nodes=500)
    >>> print(f"between {certificate.lower:.3f} and {certificate.upper:.3f}")
    between 0.005 and 0.010
    """

    upper: float
    lower: float
    level: float
    mean: float
    standard_error: float
    planner: str
    problem: str
    trials: int
    seed: int
    interval: str
    controlled: bool
    bound: Bound
    values: Array = field(repr=False)
    seconds: float = 0.0

    @property
    def gap(self) -> float:
        """The planner's value is within this of the best possible."""
        return max(0.0, self.upper - self.lower)

    def __str__(self) -> str:
        return (
            f"with {100.0 * self.level:g} % confidence {self.planner} is within {self.gap:.2g}"
            f" of the best possible policy on {self.problem}: its value is at most {self.upper:.6g},"
            f" and no policy is below {self.lower:.6g} ({self.trials} trials, {self.seconds:.3g} s)"
        )
