"""The candidates that are not in the library: its search with exactly one thing changed, as the planner ``candidate``.

An experiment file names this module: ``modules = ["candidates"]``.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import Any

import numpy as np
from candidate_parts import Expected, Halving, Mixed, Priors, Stakes, Survivor, Widening

from gumdp import MCTS, BestOnAverage, GumdpError, Problem, Tabular, register_planner
from gumdp.errors import check_float, one_of
from gumdp.policies.base import Policy
from gumdp.results import Array
from gumdp.run.registry import Option
from gumdp.search.control_variate_kernels import NoControlVariate
from gumdp.search.leaf import Truncated
from gumdp.search.loop import Rules

SOLVER = BestOnAverage()  # which solves a problem once for all candidates
FORMER: dict[str, Any] = {  # the search that these were tried in
    "bonus": "logarithmic", "backup": "mean", "solve": False, "commitment": math.inf, "variations": False,
}  # fmt: skip
LARGEST = 1 << 22  # numbers in a table of expected occupancies: 32 MB

_futures: weakref.WeakKeyDictionary[Problem, Array] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class Candidate(MCTS):
    """``MCTS(iterations, **FORMER)``, but for one thing; with no option given it is the same to the last bit.

    Args:
        iterations: simulated trajectories a decision.
        time_limit: seconds per decision.
        root: ``"halving"``: at the root, sequential halving instead of the confidence bound. In each of ⌈log₂ A⌉
            rounds the actions that are still in share the same number of iterations, then those of the better half
            stay; the last round takes what is left over. The survivor is played.
        prior: the constant c of the bound mean - c·deviation·p·√N / (1 + n) with the prior p, a softmax of minus the
            marginal costs, in standard deviations of those at the node. An action that was never tried counts as
            the mean of its siblings: none needs to be tried before the others are tried again.
        stakes: the constant of the confidence bound at a step, in units of the objective, is this times the weight of
            all steps from there on, instead of some standard deviations of the returns.
        widen: progressive widening. The outcomes of an action, n times tried, are no more than ⌊n^widen⌋ draws, which
            take turns; they are kept as draws, so that it works for simulators too.
        backup: λ of the value of an edge, (1 - λ)·mean of returns + λ·mean of its children's values, weighted by
            visits, each the least value of its tried actions.
        cut: simulations end where the weight of what would still come is below this; the decisions there look one
            step ahead. A return is off by what so little mass can change, at most L·cut for an objective with the
            L1 Lipschitz constant L: the best plan for cut returns costs at most 2·L·cut more than the best plan.
        leaf: ``"average"``: no rollouts; a leaf is worth the objective at the running occupancy plus the expected
            occupancy of the rest under the infinite-trials policy. For small tables.
        rollout: ``"solver"``: rollouts by the infinite-trials policy, as in ``MCTS(rollout=policy)``.

    >>> Candidate(100, root="halving")
    Candidate(iterations=100, root='halving')
    """

    def __init__(
        self,
        iterations: int | None = None,
        *,
        time_limit: float | None = None,
        root: str | None = None,
        prior: float | None = None,
        stakes: float | None = None,
        widen: float | None = None,
        backup: float | None = None,
        cut: float | None = None,
        leaf: str | None = None,
        rollout: str | None = None,
    ) -> None:
        super().__init__(iterations, time_limit=time_limit, **FORMER)
        given = {
            "root": root, "prior": prior, "stakes": stakes, "widen": widen, "backup": backup, "cut": cut, "leaf": leaf,
            "rollout": rollout,
        }  # fmt: skip
        self.changed = {name: value for name, value in given.items() if value is not None}
        if len(self.changed) > 1:
            raise GumdpError(f"candidate: change one thing at a time, not {' and '.join(self.changed)}.")
        for name, word in (("root", "halving"), ("leaf", "average"), ("rollout", "solver")):
            if name in self.changed:
                one_of(f"{name} of a candidate", self.changed[name], [word])
        for name, most in (("prior", None), ("stakes", None), ("widen", 1.0), ("backup", 1.0), ("cut", 1.0)):
            if name in self.changed:
                self.changed[name] = check_float(f"candidate: {name}", self.changed[name], 0.0, most)

    def __repr__(self) -> str:
        budget = {"iterations": self.iterations, "time_limit": self.time_limit}
        options = {**{name: value for name, value in budget.items() if value is not None}, **self.changed}
        return f"Candidate({', '.join(f'{name}={value!r}' for name, value in options.items())})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        if "root" in self.changed:
            raise GumdpError(
                "candidate: sequential halving has to know its iterations and plays whole trials; give it no"
                " time_limit, and leave keep out of the experiment."
            )
        return super().bind(problem, dice)

    def rules(self, problem: Problem) -> tuple[Rules, bool]:
        if "rollout" in self.changed:
            return MCTS(self.iterations, rollout=SOLVER.solve(problem).planner.policy, **FORMER).rules(problem)
        rules, reuse = super().rules(problem)
        for name, value in self.changed.items():
            rules = CHANGES[name](rules, problem, value)
        return rules, reuse


def halved(rules: Rules, problem: Problem, value: Any) -> Rules:
    """Sequential halving at the root."""
    alive = np.zeros(problem.shape[1], np.uint8)
    return rules._replace(select=Halving(rules.select, alive, np.zeros(4, np.int64)), choice=Survivor(alive))


def with_priors(rules: Rules, problem: Problem, constant: float) -> Rules:
    """Bounds with priors."""
    return rules._replace(select=Priors(rules.select._replace(exploration=constant)))


def at_stake(rules: Rules, problem: Problem, constant: float) -> Rules:
    """Bounds scaled to the weight of the rest."""
    rest = np.cumsum(problem.weights[::-1])[::-1].copy()
    return rules._replace(select=Stakes(rules.select._replace(exploration=constant, scaled=False), rest))


def widened(rules: Rules, problem: Problem, exponent: float) -> Rules:
    """Progressive widening."""
    return rules._replace(outcome=Widening(rules.outcome, exponent))


def mixed(rules: Rules, problem: Problem, share: float) -> Rules:
    """Back-ups that mix means with the children's values."""
    return rules._replace(backup=Mixed(share))


def cut_short(rules: Rules, problem: Problem, least: float) -> Rules:
    """Simulations that end early; there is no rollout to the end that a control variate would know."""
    bare = rules.leaf._replace(control=NoControlVariate(0))
    return rules._replace(leaf=Truncated(bare, cut_of(problem, least)))


def averaged(rules: Rules, problem: Problem, value: Any) -> Rules:
    """Leaves at expected occupancies."""
    bare = rules.leaf._replace(control=NoControlVariate(0))
    return rules._replace(leaf=Expected(future_of(problem), bare))


CHANGES = {
    "root": halved,
    "prior": with_priors,
    "stakes": at_stake,
    "widen": widened,
    "backup": mixed,
    "cut": cut_short,
    "leaf": averaged,
}


def cut_of(problem: Problem, least: float) -> int:
    """The first step from which on the weights add up to less than ``least``."""
    if least > 0.0 and problem.episodes > 1:
        raise GumdpError("candidate: cut is for one episode; the weight of later ones is never small.")
    rest = np.cumsum(problem.weights[::-1])[::-1]
    return int(np.count_nonzero(rest >= least))


def future_of(problem: Problem) -> Array:
    """The expected occupancies of the steps from t on, from each state, under the infinite-trials policy.

    Flat: [steps, S, cells]. A cell is a pair; after the pairs come the states, if the objective needs their masses.
    """
    with _lock:
        if problem not in _futures:
            _futures[problem] = expected_rest(problem, SOLVER.solve(problem).planner.policy).ravel()
        return _futures[problem]


def expected_rest(problem: Problem, policy: Array) -> Array:
    """The table of ``future_of`` for any policy, [S, A] or [H, S, A]."""
    model, (states, actions), steps = problem.model, problem.shape, problem.steps
    pairs = states * actions
    cells = pairs + (states if problem.record.grouped() else 0)
    if not isinstance(model, Tabular) or steps * states * cells > LARGEST or cells > 2 * steps:
        raise GumdpError("candidate: leaf='average' is for small tables and no fewer steps than half of the pairs.")
    own = np.zeros((pairs, cells))  # where a step's weight goes
    own[np.arange(pairs), np.arange(pairs)] = 1.0
    if cells > pairs:
        own[np.arange(pairs), pairs + np.arange(pairs) // actions] = 1.0
    table = np.zeros((steps + 1, states, cells))
    for t in reversed(range(steps)):
        if (t + 1) % problem.horizon == 0:
            after = np.broadcast_to(model.start @ table[t + 1], (pairs, cells))
        else:
            after = model.matrix @ table[t + 1]
        rest = (problem.weights[t] * own + after).reshape(states, actions, cells)
        chosen = policy if policy.ndim == 2 else policy[t % problem.horizon]
        table[t] = np.einsum("sa,sac->sc", chosen, rest)
    return table[:steps]


OPTIONS = (
    Option("iterations", int, "simulated trajectories a decision"),
    Option("time_limit", float, "seconds per decision"),
    Option("root", ("halving",), "sequential halving at the root"),
    Option("prior", float, "constant of a bound with priors"),
    Option("stakes", float, "constant of a bound that is scaled to the weight of the rest"),
    Option("widen", float, "exponent of progressive widening"),
    Option("backup", float, "share of the children's values"),
    Option("cut", float, "weight that simulations leave out"),
    Option("leaf", ("average",), "leaves at expected occupancies"),
    Option("rollout", ("solver",), "rollouts by the infinite-trials policy"),
)
register_planner("candidate", Candidate, OPTIONS, summary="tree search with one thing changed")
