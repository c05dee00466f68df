"""The candidates that are not in the library: its search with exactly one thing changed, as the planner ``candidate``.

An experiment file names this module: ``modules = ["candidates"]``.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
from candidate_parts import Change
from candidate_search import carry_over, explore, plan_changed
from numpy.typing import NDArray

from gumdp import MCTS, GumdpError, Problem, Solver, Tabular
from gumdp.counts.running import RunningOccupancy
from gumdp.errors import check_float, one_of
from gumdp.policies import registry
from gumdp.policies.base import Policy
from gumdp.policies.registry import Option, PlannerEntry
from gumdp.results import Array
from gumdp.search.control_variate_kernels import Blind
from gumdp.search.loop import Rules
from gumdp.search.planner import Workspace

SOLVER = Solver()  # which solves a problem once for all candidates
LARGEST = 1 << 22  # numbers in a table of expected occupancies: 32 MB

_futures: weakref.WeakKeyDictionary[Problem, Array] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class Candidate(MCTS):
    """``MCTS(iterations)`` with its audition, but for one thing; with no option given it is the same to the last bit.

    Args:
        iterations: simulated trajectories a decision.
        time_limit: seconds a decision.
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
        super().__init__(iterations, time_limit=time_limit)
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

    def workspace(self, problem: Problem, iterations: int) -> ChangedDesk:
        return ChangedDesk(self, problem, iterations)

    def equip(self, problem: Problem) -> tuple[Any, Any, Rules]:
        if "rollout" in self.changed:
            return MCTS(self.iterations, rollout=SOLVER.solve(problem).planner.policy).equip(problem)
        actor, forecast, rules = super().equip(problem)
        if "prior" in self.changed:
            rules = rules._replace(exploration=self.changed["prior"])
        if "stakes" in self.changed:
            rules = rules._replace(exploration=self.changed["stakes"], scaled=False)
        if "cut" in self.changed or "leaf" in self.changed:
            forecast = Blind(0)  # there is no rollout to the end that it would be a forecast of
        return actor, forecast, rules

    def change(self, problem: Problem, nodes: int) -> Change:
        """What the kernels do differently, for trees of ``nodes`` nodes."""
        actions, weights = problem.shape[1], problem.weights
        return Change(
            halving="root" in self.changed,
            prior="prior" in self.changed,
            share=self.changed.get("backup", 0.0),
            average="leaf" in self.changed,
            widen=self.changed.get("widen", 1.0),
            stakes=np.cumsum(weights[::-1])[::-1].copy() if "stakes" in self.changed else np.ones(weights.size),
            cut=cut_of(problem, self.changed.get("cut", 0.0)),
            future=future_of(problem) if "leaf" in self.changed else np.zeros(1),
            notes=np.zeros(nodes * actions),
            spare=np.zeros(nodes * actions),
            origin=np.zeros(nodes, np.int64),
            alive=np.zeros(actions, np.uint8),
            round=np.zeros(3, np.int64),
        )


class ChangedDesk(Workspace):
    """What the search of a candidate works with."""

    def __init__(self, planner: Candidate, problem: Problem, iterations: int) -> None:
        self.planner = planner
        super().__init__(planner, problem, iterations)

    def resize(self, nodes: int) -> None:
        super().resize(nodes)
        self.change = self.planner.change(self.problem, self.tree.sibling.size)

    def grow(self) -> None:
        notes = self.change.notes
        super().grow()
        if self.change.notes is not notes:
            self.change.notes[: notes.size] = notes

    def take_up(self, action: int, label: int, iterations: int | None) -> None:
        super().take_up(action, label, iterations)
        if self.reuse and action >= 0:
            change = self.change
            carry_over(self.spare, self.tree, action, np.uint64(label), change, change.notes, change.spare)
            self.change = change._replace(notes=change.spare, spare=change.notes)

    def compile(self, running: RunningOccupancy) -> None:
        super().compile(running)
        carry_over(self.spare, self.tree, 0, np.uint64(0), self.change, self.change.notes, self.change.spare)

    def run(
        self, running: RunningOccupancy, state: Any, t: int, count: int, stop: NDArray[np.uint8]
    ) -> tuple[int, np.uint64]:
        problem, change = self.problem, self.change
        last = max(change.cut, t + 1)
        status, rng = explore(
            problem.model.compiled(),
            problem.record,
            self.actor,
            self.forecast,
            running,
            self.tree,
            self.tables,
            self.rules,
            change,
            change.notes,
            problem.weights[:last],
            np.uint64(min(problem.horizon, last)),
            state,
            np.uint64(t),
            count,
            self.rng,
            stop,
        )
        return status, np.uint64(rng)

    def play(
        self, running: RunningOccupancy, iterations: int, seeds: Any, stop: NDArray[np.uint8]
    ) -> tuple[int, float]:
        problem = self.problem
        status, value = plan_changed(
            problem.model.compiled(),
            problem.record,
            self.actor,
            self.forecast,
            running,
            self.tree,
            self.spare,
            self.tables,
            self.rules,
            self.change,
            problem.weights,
            problem.horizon,
            iterations,
            seeds,
            stop,
        )
        return status, value


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


ENTRY = PlannerEntry(
    "candidate",
    "tree search with one thing changed",
    lambda **options: Candidate(**options),
    (
        Option("iterations", int, "simulated trajectories a decision"),
        Option("time_limit", float, "seconds a decision"),
        Option("root", ("halving",), "sequential halving at the root"),
        Option("prior", float, "constant of a bound with priors"),
        Option("stakes", float, "constant of a bound that is scaled to the weight of the rest"),
        Option("widen", float, "exponent of progressive widening"),
        Option("backup", float, "share of the children's values"),
        Option("cut", float, "weight that simulations leave out"),
        Option("leaf", ("average",), "leaves at expected occupancies"),
        Option("rollout", ("solver",), "rollouts by the infinite-trials policy"),
    ),
)
registry.PLANNERS = (*registry.PLANNERS, ENTRY)
