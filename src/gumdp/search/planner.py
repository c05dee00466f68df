"""Monte-Carlo tree search in the occupancy MDP: the paper's algorithm, and ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError
from gumdp.policies.base import Planner, Policy, Seeds, play_trials
from gumdp.policies.fixed import lottery
from gumdp.policies.rollout import Cheapest, Uniform
from gumdp.problem import Problem
from gumdp.results import Array
from gumdp.search.backup import Means
from gumdp.search.choose import Best
from gumdp.search.control_variate import control_variate as control_variate_of
from gumdp.search.control_variate_kernels import ControlVariate, NoControlVariate
from gumdp.search.leaf import Rollout
from gumdp.search.loop import Rules
from gumdp.search.options import DEFAULTS, PAPER, checked, differing
from gumdp.search.outcome import Outcomes
from gumdp.search.policy import Searcher, SearchPolicy
from gumdp.search.select import UCB1
from gumdp.search.tuning import SHARES, WIDTHS, Choice, tune

ITERATIONS = 1000  # per decision, where neither iterations nor a time limit are given
TUNED = ("randomness", "reuse", "exploration")  # what tuning decides where it is not given


class MCTS(Planner):
    """Monte-Carlo tree search: look ahead from the running occupancy, act, repeat.

    Args:
        iterations: simulated trajectories per decision.
        time_limit: seconds per decision; with both, whichever comes first.
        exploration: the constant c of the bound mean - c·√(log N / n). By default 2, or 6 if that does better in
            tuning: a few quick trials with fixed seeds, played once for each problem, in a second at most.
        scaled: multiply c by the standard deviation of the returns that this decision's search has seen.
        rollout: how trajectories go on below the tree: ``"uniform"``, ``"greedy"`` (the action of least
            marginal cost at the running occupancy), or a policy [S, A] or [H, S, A]. By default greedy
            where the objective has a cheap marginal cost, else uniform.
        randomness: the share of uniform steps in a greedy rollout. By default tuning decides on 0, 0.3 or 1.
        reuse: keep the part of the tree that the real step led to. By default tuning decides.
        choice: act by most ``"visits"`` or by least mean ``"value"``.
        paired: common random numbers: the n-th iterations of all actions at the root meet the same chance, so that
            luck cancels out when they are compared.
        even: in the tree, let the outcomes of an action come in the proportions of their probabilities, from a
            sequence that fills the unit interval evenly, rather than at random.
        ordered: try actions for the first time in the order of their marginal cost, in greedy rollouts' terms.
        control_variate: take off each return what was luck in its rollout, as far as a quadratic model of the
            objective can tell. It can on a table of moderate size, in rollouts that are uniform or follow a policy.
        threads: independent trees searched at the same time, their counts added up.
        keep_tree: attach the tree to each decision.

    Ties: an action that was never tried comes first, the first one from a random place on; equal bounds go to
    the action of lower number; equal visits to the lower mean, equal means to more visits, then to the lower
    number. The same seed gives the same decisions, unless a time limit cuts them short.

    >>> import gumdp
    >>> gumdp.run_trial(gumdp.zoo.load("m1-entropy"), gumdp.MCTS(iterations=50), seed=0).value < 0.05
    True
    """

    iterations: int | None
    time_limit: float | None
    threads: int
    keep_tree: bool

    def __init__(
        self,
        iterations: int | None = None,
        *,
        time_limit: float | None = None,
        exploration: float | None = None,
        scaled: bool = True,
        rollout: str | ArrayLike | None = None,
        randomness: float | None = None,
        reuse: bool | None = None,
        choice: str = "visits",
        paired: bool = True,
        even: bool = True,
        ordered: bool = True,
        control_variate: bool = True,
        threads: int = 1,
        keep_tree: bool = False,
        **former: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in DEFAULTS}
        if "corrected" in former:
            warnings.warn("MCTS: corrected is now control_variate.", DeprecationWarning, stacklevel=2)
            given["control_variate"] = former.pop("corrected")
        if former:
            raise TypeError(f"MCTS() got an unexpected keyword argument {next(iter(former))!r}")
        vars(self).update(checked(given))
        if self.iterations is None and self.time_limit is None:
            self.iterations = ITERATIONS
        if self.time_limit == 0.0 and self.iterations is None:
            raise GumdpError("MCTS: a time_limit of 0 leaves no time to search; give iterations too, or more time.")

    @property
    def options(self) -> dict[str, Any]:
        """Every option with its value."""
        return {name: getattr(self, name) for name in DEFAULTS}

    @classmethod
    def paper(cls, iterations: int | None = None, **options: Any) -> MCTS:
        """The paper's algorithm to the letter; 4000 iterations if neither they nor a time limit are given.

        UCB1 with the constant √2 on the objective as scored, one node an iteration, uniform rollouts to the
        horizon, mean back-up, a fresh tree for each decision, the most visited action.

        >>> MCTS.paper()
        MCTS.paper(iterations=4000)
        """
        if iterations is None and options.get("time_limit") is None:
            iterations = 4000
        return cls(**{**PAPER, "iterations": iterations, **options})

    def __repr__(self) -> str:
        own = [name for name in DEFAULTS if DEFAULTS[name] != PAPER[name]]
        paper = not any(name in own for name in differing(self.options, PAPER))
        shown = differing({**self.options, "keep_tree": False}, PAPER if paper else DEFAULTS)
        words = {k: "policy" if isinstance(v, np.ndarray | list | tuple) else repr(v) for k, v in shown.items()}
        return f"MCTS{'.paper' if paper else ''}({', '.join(f'{k}={v}' for k, v in words.items())})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return SearchPolicy(self, problem, dice)

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array | None:
        if self.time_limit is not None or self.threads > 1 or self.iterations is None:
            return None
        return play_trials(problem, Searcher(self, problem, self.iterations).decider(), seeds, stop)

    def rules(self, problem: Problem) -> tuple[Rules, bool]:
        """The parts of the search for ``problem``, and whether trees are kept, with what tuning decides."""
        options = self.options
        rollout = options["rollout"]
        if rollout is None:
            rollout = "uniform" if problem.record.dense() else "greedy"
        found = {name: options[name] for name in TUNED}
        if isinstance(rollout, str) and rollout == "greedy" and None in found.values():
            found = dict(zip(TUNED, self._tune(problem), strict=True))
        policy, control = self._rollouts(problem, rollout, found["randomness"])
        exploration = WIDTHS[0] if found["exploration"] is None else found["exploration"]
        rules = Rules(
            select=UCB1(exploration, options["scaled"], options["ordered"] and policy.tracks()),
            outcome=Outcomes(options["paired"], options["even"]),
            leaf=Rollout(policy, control),
            backup=Means(0),
            choice=Best(options["choice"] == "value"),
        )
        return rules, found["reuse"] is not False

    def _rollouts(self, problem: Problem, rollout: Any, randomness: float | None) -> tuple[Any, Any]:
        """The rollout policy as kernels call it, and its control variate."""
        policy: Any
        table, steady = None, True
        if not isinstance(rollout, str):
            policy, table = lottery("MCTS: rollout", rollout, problem), np.asarray(rollout, float)
        elif rollout == "uniform":
            policy = Uniform(problem.shape[1])
        else:
            assert randomness is not None
            policy, steady = Cheapest(problem.shape[1], round(randomness * 2**32)), randomness == 1.0
        known = self.options["control_variate"] and steady
        return policy, control_variate_of(problem, table) if known else NoControlVariate(0)

    def _tune(self, problem: Problem) -> Choice:
        apart = (*TUNED, "rollout", "iterations", "time_limit", "threads", "keep_tree")
        rest = {name: self.options[name] for name in DEFAULTS if name not in apart}

        def play(short: Problem, choice: Choice, iterations: int, seeds: Seeds) -> Array:
            tried: dict[str, Any] = {**rest, **dict(zip(TUNED, choice, strict=True))}
            planner = MCTS(iterations, rollout="greedy", **tried)
            values = planner.trials(short, seeds, np.zeros(1, np.uint8))
            assert values is not None
            return values

        a_sum = not problem.record.dense() and problem.record.count() == 1  # what a control variate is best at
        known = self.options["control_variate"] and a_sum and isinstance(control_variate_of(problem), ControlVariate)
        randomness, reuse, exploration = (self.options[name] for name in TUNED)
        usual = 1.0 if known else SHARES[0]
        return tune(problem, play, tuple(rest.values()), randomness, reuse, exploration, usual)
