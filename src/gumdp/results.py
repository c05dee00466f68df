"""What comes out: frozen, printable, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp import statistics
from gumdp.errors import check_float

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Decision:
    """One action, with why it was taken. Arrays have an entry for each action."""

    action: int
    name: str = ""
    values: Array | None = None  # mean return of each action, NaN where it was never tried
    errors: Array | None = None  # standard errors of those means
    visits: Counts | None = None
    iterations: int = 0
    depth: int = 0  # of the search tree, in decisions
    nodes: int = 0
    seconds: float = 0.0
    tree: Any = field(default=None, repr=False)  # a SearchTree, if asked for

    @property
    def value(self) -> float:
        """The mean return of the chosen action: what the planner expects this trial to end with."""
        return float("nan") if self.values is None else float(self.values[self.action])


@dataclass(frozen=True)
class Trial:
    """One trial: what happened, and its value."""

    value: float
    states: Any  # [T] ints, or [T, n] floats in a simulator
    actions: Counts  # [T]
    cells: Counts  # [T]: the occupancy's row of each step
    occupancy: Array  # [S, A], sums to 1
    planner: str
    seed: int
    trial: int = 0
    seconds: float = 0.0
    decisions: tuple[Decision, ...] = field(default=(), repr=False)
    parts: Mapping[str, float] = field(default_factory=dict)  # what each term of a sum was worth, by name
    reality: Reality | None = field(default=None, repr=False)  # if it was played in a real environment

    @property
    def rewards(self) -> Array | None:
        """What the real environment paid at each step: [T], or [T, k] where it pays k kinds; None in a model."""
        return None if self.reality is None else self.reality.rewards

    def __str__(self) -> str:
        text = f"{self.planner}: value {self.value:.6g} after {self.actions.size} steps ({self.seconds:.3g} s)"
        return text if self.reality is None else f"{text}; {self.reality}"


@dataclass(frozen=True)
class Measure:
    """What a quantity was in each of many trials.

    >>> late = Measure("late", np.array([0.0, 0.02, 0.04, 0.1]))
    >>> print(late.probability(0.05))
    P(late ≤ 0.05) = 0.75, 90 % interval [0.249, 0.987]
    """

    name: str
    values: Array

    @property
    def mean(self) -> float:
        """The mean over the trials."""
        return float(self.values.mean())

    def ci(self, level: float = 0.9) -> tuple[float, float]:
        """A bootstrap confidence interval of the mean."""
        return statistics.bootstrap(self.values, level)

    def quantile(self, q: float) -> float:
        """The q-quantile of the values."""
        return statistics.quantile(self.values, q)

    def probability(self, limit: float, level: float = 0.9) -> Probability:
        """How probable it is that a trial keeps the limit: value ≤ ``limit``."""
        bound = check_float("limit", limit)
        kept = int((self.values <= bound).sum())
        interval = statistics.clopper_pearson(kept, self.values.size, level)
        return Probability(f"{self.name} ≤ {bound:g}", kept / self.values.size, interval, float(level))

    def __str__(self) -> str:
        low, high = self.quantile(0.05), self.quantile(0.95)
        return f"{self.name}: mean {self.mean:.4g}, 5 to 95 % of the trials {low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class Probability:
    """A probability, estimated from trials, with an interval that holds it as often as it says, or more often."""

    event: str
    value: float
    interval: tuple[float, float]  # Clopper–Pearson
    level: float

    def __str__(self) -> str:
        low, high = self.interval
        return f"P({self.event}) = {self.value:.3g}, {100 * self.level:g} % interval [{low:.3g}, {high:.3g}]"


@dataclass(frozen=True)
class Reality:
    """How a trial in a real environment differed from what the model and the planner made of it."""

    expected: Array  # [T]: the value that the planner expected to end with, before each step; NaN if it did not say
    likelihood: Array  # [T]: what probability the model gave to the state that really followed; NaN: not known
    rewards: Array  # [T]: what the environment itself paid; [T, k] where it pays k kinds
    terminated: Counts  # the steps after which an episode was over
    restarts: Counts  # the steps after which the environment was reset
    outside: int = 0  # observations that lay outside the bins
    ended: str = ""  # why the trial stopped before its horizon, if it did
    frames: tuple[Any, ...] = field(default=(), repr=False)  # what the environment drew, if asked for
    samples: int | None = None  # simulated steps that likelihoods rest on; None: the model's table

    @property
    def surprises(self) -> Counts:
        """The steps after which something happened that the model held impossible, which only a table can say."""
        return np.flatnonzero(self.likelihood == 0.0)

    @property
    def unseen(self) -> Counts:
        """The steps after which something happened that none of the simulated steps had shown."""
        return np.flatnonzero(np.isnan(self.likelihood)) if self.samples else self.surprises

    def __str__(self) -> str:
        steps = self.likelihood.size
        text = f"{self.surprises.size} of {steps} steps led where the model said they can't"
        if self.samples is not None:
            text = f"{self.unseen.size} of {steps} steps led where none of {self.samples} simulated ones did"
        if self.samples == 0:
            text = f"none of {steps} steps was simulated for comparison"
        if np.isfinite(self.expected[:1]).any():
            text = f"the planner had expected {self.expected[0]:.6g}; {text}"
        return f"{text}; {self.ended}" if self.ended else text


@dataclass(frozen=True)
class Evaluation:
    """The values of independent trials of one planner on one problem."""

    values: Array
    planner: str
    problem: str
    seed: int
    seconds: float
    beta: float | None = None  # the risk aversion of an entropic objective
    measures: Mapping[str, Measure] = field(default_factory=dict, repr=False)  # what else was measured, by name

    @property
    def mean(self) -> float:
        """The mean value: the estimate of F_{1,H} (F_{K,H} with K episodes)."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        return float(self.values.std(ddof=1) / np.sqrt(self.values.size)) if self.values.size > 1 else float("nan")

    @property
    def certainty_equivalent(self) -> float:
        """What an entropic objective stands for: log(mean)/β. The mean, for any other objective."""
        return self.mean if self.beta is None else float(np.log(self.mean) / self.beta)

    def ci(self, level: float = 0.9, method: str = "percentile") -> tuple[float, float]:
        """A bootstrap confidence interval of the mean: ``percentile`` (the paper's) or ``bca``."""
        return statistics.bootstrap(self.values, level, method)

    def quantile(self, q: float) -> float:
        """The q-quantile of the values."""
        return statistics.quantile(self.values, q)

    def cvar(self, level: float = 0.9) -> float:
        """The mean of the worst share 1 - level of the values."""
        return statistics.cvar(self.values, level)

    def entropic_risk(self, beta: float = 1.0) -> float:
        """The certainty equivalent of the values for a risk aversion beta."""
        return statistics.entropic_risk(self.values, beta)

    def __str__(self) -> str:
        low, high = self.ci(0.9)
        text = f"{self.planner} on {self.problem}: mean {self.mean:.6g}, 90 % interval [{low:.6g}, {high:.6g}]"
        if self.beta is not None:
            text += f", certainty equivalent {self.certainty_equivalent:.6g}"
        return f"{text}, {self.values.size} trials, {self.seconds:.3g} s"


@dataclass(frozen=True)
class Solution:
    """The answer of a solver: a value, how to attain it, and how sure that is."""

    value: float
    method: str  # in a few words
    status: str  # a sentence: what was found, and what to do if that is not enough
    gap: float = 0.0  # how far the value can be from the optimum; NaN if that is not known
    policy: Array | None = field(default=None, repr=False)  # [S, A], where a stationary policy attains it
    occupancy: Array | None = field(default=None, repr=False)  # [S, A], the expected one
    planner: Any = field(default=None, repr=False)  # acts on it: for run_trial and evaluate
    sizes: Counts | None = field(default=None, repr=False)  # states of the occupancy MDP at each step
    iterations: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"value {self.value:.9g} ({self.method}, {self.seconds:.3g} s): {self.status}"


@dataclass(frozen=True)
class Bound:
    """A number that the value of no policy is below, and why."""

    value: float
    method: str  # range, distinct, jensen, clairvoyant, jensen-tree or decomposition
    reason: str  # what it rests on
    level: float = 1.0  # the probability with which it holds: 1, unless it was sampled
    seconds: float = 0.0
    parts: tuple[Bound, ...] = field(default=(), repr=False)  # every bound that was tried
    skipped: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # the methods that were not, and why
    values: Any = field(default=None, repr=False, compare=False)  # what made it the decomposition's, for ``certify``

    def __str__(self) -> str:
        sure = "" if self.level == 1.0 else f" with {100.0 * self.level:g} % confidence"
        return f"no policy is below {self.value:.6g}{sure}: {self.reason} ({self.seconds:.3g} s)"


@dataclass(frozen=True)
class Certificate:
    """How far a planner can be from the best possible policy, at most."""

    upper: float  # what the planner's value is at most
    lower: float  # what the value of no policy is below
    level: float  # the confidence in both together
    mean: float  # of the planner's trials, without their luck if ``controlled``
    standard_error: float
    planner: str
    problem: str
    trials: int
    seed: int
    interval: str  # what the upper limit rests on: student or bernstein
    controlled: bool
    bound: Bound
    values: Array = field(repr=False)  # of the trials, as they were
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
