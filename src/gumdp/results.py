"""What comes out: frozen, printable, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp import statistics
from gumdp.errors import GumdpError, check_float
from gumdp.proofs import Bound as Bound
from gumdp.proofs import Certificate as Certificate
from gumdp.proofs import Solution as Solution

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Decision:
    """One action, with why it was taken. Arrays have an entry for each action.

    Attributes:
        action: the number of the action that was chosen.
        name: its name, if the model has names.
        values: the estimated cost of the trial after each action; NaN where one was never tried.
        errors: standard errors of those values; 0 where they are exact, and where all returns so far were the same.
        visits: how often the search tried each action.
        iterations: simulated trajectories for this decision.
        depth: depth of the search tree, in decisions.
        nodes: nodes of the search tree.
        seconds: how long the decision took.
        proved: whether the action is the best there is, beyond doubt, and its value exact. Values of other
            actions may be estimates.
        setup: how the search was set up, and on what evidence.
        plan: in deterministic problems: the value of the best complete trajectory found.
        tree: the search tree, with ``MCTS(keep_tree=True)``.
        information: on a ``Belief``, with ``MCTS(information=True)``: how much lower the value is because
            simulations learn.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy", horizon=4)
    >>> decision = gumdp.MCTS(iterations=2000).start(problem, seed=0).act(0)
    >>> decision.proved, round(decision.value, 5)
    (True, 0.23888)
    """

    action: int
    name: str = ""
    values: Array | None = None
    errors: Array | None = None
    visits: Counts | None = None
    iterations: int = 0
    depth: int = 0
    nodes: int = 0
    seconds: float = 0.0
    proved: bool = False
    setup: str = field(default="", repr=False)
    plan: float | None = None
    tree: Any = field(default=None, repr=False)
    information: float | None = None

    @property
    def value(self) -> float:
        """The value of the chosen action: what the planner expects this trial to end with."""
        return float("nan") if self.values is None else float(self.values[self.action])


@dataclass(frozen=True)
class Trial:
    """One trial: what happened, and its value.

    Attributes:
        value: what the trial cost: the objective at its occupancy or totals.
        states: the state before each step: [T] integers, or [T, n] floats in a simulator.
        actions: the action of each step, [T].
        cells: the occupancy's row of each step, [T].
        occupancy: the share of the time at each state and action, [S, A]; it sums to 1.
        planner: which planner played.
        seed: the seed that was given.
        trial: the number of the trial under that seed.
        seconds: how long the trial took.
        decisions: one ``Decision`` for each step, where they were kept.
        parts: the value of each term of a sum of objectives, by name.
        totals: what was counted, by name, where that is not pairs (``Features``).
        maximised: whether the value is the negative of a utility.
        reality: how reality differed from the model, if the trial was played in a real environment.
        belief: what is known of the world at the last decision, on a ``Belief``.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m2-imitation", horizon=5)
    >>> trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=0)
    >>> trial.states.size, trial.actions.size, trial.occupancy.shape
    (5, 5, (2, 2))
    """

    value: float
    states: Any
    actions: Counts
    cells: Counts
    occupancy: Array
    planner: str
    seed: int
    trial: int = 0
    seconds: float = 0.0
    decisions: tuple[Decision, ...] = field(default=(), repr=False)
    parts: Mapping[str, float] = field(default_factory=dict)
    totals: Mapping[str, float] = field(default_factory=dict)
    maximised: bool = False
    reality: Reality | None = field(default=None, repr=False)
    belief: Any = field(default=None, repr=False)

    @property
    def rewards(self) -> Array | None:
        """What the real environment paid at each step: [T], or [T, k] where it pays k kinds; None in a model."""
        return None if self.reality is None else self.reality.rewards

    @property
    def utility(self) -> float:
        """What a utility gave: the negative of the value."""
        return -self.value

    def __str__(self) -> str:
        word, worth = ("utility", self.utility) if self.maximised else ("value", self.value)
        text = f"{self.planner}: {word} {worth:.6g} after {self.actions.size} steps ({self.seconds:.3g} s)"
        if self.totals:
            text += ", " + ", ".join(f"{name} {total:.6g}" for name, total in self.totals.items())
        return text if self.reality is None else f"{text}; {self.reality}"


@dataclass(frozen=True)
class Measure:
    """What a quantity was in each of many trials.

    Attributes:
        name: what was measured.
        values: the quantity in each trial.

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
        """How probable it is that a trial keeps the limit: value ≤ ``limit``, but for rounding."""
        bound = check_float("limit", limit)
        kept = int((self.values <= statistics.allowed(bound)).sum())
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
            first = f"the planner's first estimate was {self.expected[0]:.6g}"
            text = f"{first} (a search's is the mean of simulations, which act less carefully); {text}"
        return f"{text}; {self.ended}" if self.ended else text


@dataclass(frozen=True)
class Evaluation:
    """The values of independent trials of one planner on one problem.

    Attributes:
        values: the cost of each trial.
        planner: which planner played.
        problem: what it played.
        seed: the seed of the trials.
        seconds: how long they took together.
        beta: the risk aversion of an ``entropic`` objective.
        measures: what else was measured, by name: see ``evaluate``.
        setup: how the planner was set up for the problem, and on what evidence.
        maximised: whether the values are negatives of a utility.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> result = gumdp.evaluate(problem, gumdp.Random(), trials=200, seed=0)
    >>> low, high = result.ci(0.9)
    >>> print(f"{result.mean:.2f}, 90 % interval [{low:.2f}, {high:.2f}]")
    0.08, 90 % interval [0.08, 0.09]
    """

    values: Array
    planner: str
    problem: str
    seed: int
    seconds: float
    beta: float | None = None
    measures: Mapping[str, Measure] = field(default_factory=dict, repr=False)
    setup: str = field(default="", repr=False)
    maximised: bool = False

    @property
    def utility(self) -> float:
        """The mean of what a utility gave: the negative of the mean value."""
        return -self.mean

    @property
    def mean(self) -> float:
        """The mean value: the estimate of E[f(d)], d being the average over the episodes of a trial."""
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

    def risk(self, level: float = 0.9) -> Probability:
        """Of an objective that is 0 or 1 in each trial (``Chance``, ``Target``): the probability of 1."""
        if not np.isin(self.values, (0.0, 1.0)).all():
            raise GumdpError("risk is for objectives that are 0 or 1: Chance(f, limit) or Target(costs, budget).")
        bad = int(self.values.sum())
        interval = statistics.clopper_pearson(bad, self.values.size, level)
        return Probability("broken", bad / self.values.size, interval, float(level))

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
        mean, (low, high) = f"mean {self.mean:.6g}", self.ci(0.9)
        if self.maximised:
            mean, low, high = f"mean utility {self.utility:.6g}", -high, -low
        text = f"{self.planner} on {self.problem}: {mean}, 90 % interval [{low:.6g}, {high:.6g}]"
        if self.beta is not None:
            text += f", certainty equivalent {self.certainty_equivalent:.6g}"
        return f"{text}, {self.values.size} trials, {self.seconds:.3g} s"
