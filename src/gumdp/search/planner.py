"""Monte-Carlo tree search in the occupancy MDP: the paper's algorithm, and ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.counts.hashed import BoundCells
from gumdp.distinct import distinct_bound
from gumdp.errors import GumdpError
from gumdp.jit.record import copied
from gumdp.models.belief import Belief
from gumdp.policies.base import Planner, Policy, Seeds, play_trials
from gumdp.policies.fixed import lottery
from gumdp.policies.rollout import Cheapest, Uniform
from gumdp.problem import Problem
from gumdp.results import Array
from gumdp.search.backup import Growing, Means
from gumdp.search.budget import Budget
from gumdp.search.choose import Best
from gumdp.search.control_variate import control_variate as control_variate_of
from gumdp.search.control_variate import idle, luck_in_tree
from gumdp.search.control_variate_kernels import NoControlVariate
from gumdp.search.incumbent import Logged, NoIncumbent, can_replay, new_incumbent
from gumdp.search.known import Unlisted, known_outcomes
from gumdp.search.leaf import Rollout, ahead
from gumdp.search.loop import Rules
from gumdp.search.options import DEFAULTS, PAPER, checked, differing
from gumdp.search.outcome import Outcomes
from gumdp.search.policy import START, Searcher, SearchPolicy
from gumdp.search.select import UCB1, Polynomial
from gumdp.search.tuning import PLANS, SAFE, SHARES, Choice, Tuned, tune

ITERATIONS = 1000  # per decision, where neither iterations nor a time limit are given
LANES = 2  # trials that are played side by side: see ``gumdp.search.loop.search``
PACE = 100.0  # visits after which an action is valued half by the mean of its returns, half by what is best below
ROUNDING = 1e-12  # of a value, as a share of the objective's range
TUNED = Choice._fields  # what tuning decides where it is not given
APART = (*TUNED, "rollout", "iterations", "time_limit", "trial_iterations", "trial_time", "threads", "keep_tree",
         "information")  # fmt: skip
DIFFERENCES = 128  # multiplications that a greedy step may take with an objective that is a plain function


class MCTS(Planner):
    """Monte-Carlo tree search: look ahead from the running occupancy, act, repeat.

    Args:
        iterations: simulated trajectories per decision.
        time_limit: seconds per decision; with both, whichever comes first.
        trial_iterations, trial_time: instead, a budget for the whole trial. Each decision gets a share in proportion
            to the square root of the weight of the steps left; what it does not need goes to the others.
        exploration: the constant c of the bound value - c·N^(1/4)/√n; 2 by default.
        bonus: ``"polynomial"``, as above, or ``"logarithmic"``: c·√(log N / n).
        scaled: multiply c by the standard deviation of the returns that this decision's search has seen.
        rollout: how trajectories go on below the tree: ``"uniform"``, ``"greedy"`` (the action of least
            marginal cost at the running occupancy), or a policy [S, A] or [H, S, A]. By default tuning decides:
            a few quick trials with fixed seeds, played once for each problem; see ``tuned``.
        randomness: the share of uniform steps in a greedy rollout. By default tuning decides on 1, 0.3 or 0.
        depth: how many steps a simulation looks ahead, for slow simulators; by default to the end. The rest of the run
            is approximated: the objective sees the running occupancy, simulated steps included, scaled up to a whole
            run. So ``decision.values`` are biased, and more iterations don't change that. Trials and evaluations
            score what really happened, as always. Nothing is proved then, no plan is kept, and there are no control
            variates: these need rollouts to the end.
        reuse: keep the part of the tree that the real step led to. By default tuning decides.
        choice: act by most ``"visits"`` or by least mean ``"value"``.
        backup: the value of an action: the ``"mean"`` of its returns, or ``"growing"``: with more visits, it moves from
            the mean to the value of the best actions after it.
        solve: close subtrees that have been searched completely, on tables and in deterministic problems. They get no
            more iterations, and a decision whose whole tree is closed is ``proved``.
        commitment: in deterministic problems the best trajectory found for each action is kept, and the action
            taken is one whose trajectory is within so many standard deviations of the best; infinite: any. By default
            tuning decides.
        variations: spend some iterations on varying the best of these trajectories, unless there are enough for all
            trajectories there can be.
        paired: common random numbers: the n-th iterations of all actions at the root use the same random numbers, so
            that noise cancels out when they are compared.
        even: quasi-random outcomes: in the tree, the outcomes of an action come in the proportions of their
            probabilities, by a low-discrepancy sequence. Not on a ``Belief``, where all actions use the same tables
            instead.
        ordered: try actions for the first time in the order of their marginal cost, as greedy rollouts rank them.
        control_variate: subtract from each return the noise of its rollout that a quadratic model of the objective
            explains. For tables and beliefs of moderate size, and rollouts that are uniform or follow a policy.
        threads: independent trees searched at the same time, their counts added up.
        keep_tree: attach the tree to each decision.
        information: on a ``Belief``, search a second time in its mean: ``decision.information``, the value of
            information, is how much lower the value is when simulations learn.

    Ties: an action that was never tried comes first, the first one from a random place on; equal bounds go to
    the action of lower number; equal visits to the lower mean, equal means to more visits, then to the lower
    number. The same seed gives the same decisions, unless a time limit cuts them short.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> round(gumdp.run_trial(problem, gumdp.MCTS(iterations=50), seed=0).value, 3)
    0.023
    """

    batch = LANES

    iterations: int | None
    time_limit: float | None
    trial_iterations: int | None
    trial_time: float | None
    threads: int
    keep_tree: bool
    information: bool

    def __init__(
        self,
        iterations: int | None = None,
        *,
        time_limit: float | None = None,
        trial_iterations: int | None = None,
        trial_time: float | None = None,
        exploration: float | None = None,
        bonus: str = "polynomial",
        scaled: bool = True,
        rollout: str | ArrayLike | None = None,
        randomness: float | None = None,
        depth: int | None = None,
        reuse: bool | None = None,
        choice: str = "visits",
        backup: str = "growing",
        solve: bool = True,
        commitment: float | None = None,
        variations: bool = True,
        paired: bool = True,
        even: bool = True,
        ordered: bool = True,
        control_variate: bool = True,
        threads: int = 1,
        keep_tree: bool = False,
        information: bool = False,
        **former: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in DEFAULTS}
        if "corrected" in former:
            warnings.warn("MCTS: corrected is now control_variate.", DeprecationWarning, stacklevel=2)
            given["control_variate"] = former.pop("corrected")
        if former:
            raise TypeError(f"MCTS() got an unexpected keyword argument {next(iter(former))!r}")
        vars(self).update(checked(given))
        trial = self.trial_iterations is not None or self.trial_time is not None
        if trial and (self.iterations is not None or self.time_limit is not None):
            raise GumdpError(
                "MCTS: iterations and time_limit are for a decision, trial_iterations and trial_time for a trial; "
                "give one kind of them."
            )
        if self.trial_time == 0.0 and self.trial_iterations is None:
            raise GumdpError(
                "MCTS: a trial_time of 0 leaves no time to search; give trial_iterations too, or more time."
            )
        if self.iterations is None and self.time_limit is None and not trial:
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
        if iterations is None and not any(name in options for name in ("time_limit", "trial_iterations", "trial_time")):
            iterations = 4000
        return cls(**{**PAPER, "iterations": iterations, **options})

    def __repr__(self) -> str:
        own = [name for name in DEFAULTS if DEFAULTS[name] != PAPER[name]]
        paper = not any(name in own for name in differing(self.options, PAPER))
        shown = differing({**self.options, "keep_tree": False, "information": False}, PAPER if paper else DEFAULTS)
        words = {k: "policy" if isinstance(v, np.ndarray | list | tuple) else repr(v) for k, v in shown.items()}
        return f"MCTS{'.paper' if paper else ''}({', '.join(f'{k}={v}' for k, v in words.items())})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return SearchPolicy(self, problem, dice)

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array | None:
        if self.time_limit is not None or self.trial_time is not None or self.threads > 1:
            return None
        searcher = Searcher(self, problem, Budget.of(self, problem))
        sides = min(len(seeds), 1 if problem.model.interpreted or isinstance(problem.model, Belief) else LANES)
        return play_trials(problem, [copied(searcher.decider()) for _ in range(sides)], seeds, stop)

    def rules(self, problem: Problem) -> tuple[Rules, bool]:
        """The parts of the search for ``problem``, and whether trees are kept, with what tuning decides."""
        options, found = self.options, self.tuned(problem).choice
        policy, control = self._rollouts(problem, found.randomness)
        depth = options["depth"]
        solves = options["solve"] and depth is None
        known = known_outcomes(problem) if solves else Unlisted(0)
        floor = floor_of(problem) if solves else -np.inf
        incumbent: Any = NoIncumbent(0)
        committed = bool(np.isfinite(found.commitment))
        budget = Budget.of(self, problem)
        if (committed or solves) and self._plans(problem):
            varies, each = options["variations"] and committed, budget.iterations or 0
            incumbent = new_incumbent(problem, found.commitment, varies, each)
            policy = Logged(policy, incumbent.log, incumbent.place)
        looks_near = known.lists() and not known.lists_last()  # there the returns of a control variate are as good
        near = near_end(problem, budget.most or START) if looks_near else 0
        pace = PACE if options["backup"] == "growing" else np.inf
        means = options["backup"] == "mean" and not known.lists()
        rules = Rules(
            select=self._selection(found.exploration, options["ordered"] and policy.tracks(), near),
            outcome=Outcomes(options["paired"], options["even"] and not self._learns(problem)),
            leaf=Rollout(policy, control, incumbent) if depth is None else ahead(problem, policy, depth),
            backup=Means(0) if means else Growing(pace, near, known, floor, luck_in_tree(control)),
            choice=Best(options["choice"] == "value"),
            known=known,
            incumbent=incumbent,
            floor=floor,
        )
        return rules, found.reuse

    def tuned(self, problem: Problem) -> Tuned:
        """What tuning chose for ``problem``, with its evidence; what is given stays as it is.

        >>> import gumdp
        >>> print(MCTS(100, rollout="uniform").tuned(gumdp.zoo.load("m1-entropy")))
        uniform rollouts (all is given)
        """
        given = {name: self.options[name] for name in TUNED if self.options[name] is not None}
        rollout = self.options["rollout"]
        greedy = self._may_be_greedy(problem)
        usual = SAFE if greedy else SAFE._replace(randomness=1.0)
        if problem.model.interpreted and rollout is None and guided(problem):
            usual = usual._replace(randomness=SHARES[0])
        if problem.model.interpreted and self._plans(problem):  # nobody can try out what is better there
            usual = usual._replace(commitment=PLANS[0])
        changes: list[dict[str, Any]] = []
        if greedy:
            changes += [{"randomness": each} for each in SHARES]
        if self._plans(problem):
            changes += [{"commitment": each} for each in PLANS]
        if rollout is None:
            changes += [{"reuse": False}]
        changes = [change for change in changes if not change.keys() & given.keys()]
        about = (*self._key(), floor_of(problem), guided(problem))
        return tune(problem, self._play(), about, usual._replace(**given), changes, keep=True)

    def explain(self, problem: Problem) -> str:
        found = self.tuned(problem)
        return str(found) if found.duels else ""

    def _plans(self, problem: Problem) -> bool:
        """Whether whole trajectories are simulated that can be played again."""
        return self.options["depth"] is None and can_replay(problem)

    @staticmethod
    def _learns(problem: Problem) -> bool:
        """Whether simulations play in worlds of a belief: then chance decides on the world, which all actions share."""
        return isinstance(problem.model, Belief) and problem.model.known is None

    def _may_be_greedy(self, problem: Problem) -> bool:
        """Whether rollouts may be greedy: where a marginal cost is cheap, or can be had by a few differences."""
        rollout = self.options["rollout"]
        if rollout is not None:
            return isinstance(rollout, str) and rollout == "greedy"
        pairs, actions = problem.shape[0] * problem.shape[1], problem.shape[1]
        return guided(problem) or (problem.features is None and pairs * actions <= DIFFERENCES)

    def _selection(self, exploration: float, ordered: bool, near: int) -> Any:
        scaled = self.options["scaled"]
        if self.options["bonus"] == "logarithmic":
            return UCB1(exploration, scaled, ordered)
        return Polynomial(exploration, scaled, ordered, near)

    def _rollouts(self, problem: Problem, randomness: float) -> tuple[Any, Any]:
        """The rollout policy as kernels call it, and its control variate."""
        policy: Any
        rollout, table, steady = self.options["rollout"], None, True
        if rollout is not None and not isinstance(rollout, str):
            policy, table = lottery("MCTS: rollout", rollout, problem), np.asarray(rollout, float)
        elif rollout == "uniform" or not self._may_be_greedy(problem):
            policy = Uniform(problem.shape[1])
        else:
            policy, steady = Cheapest(problem.shape[1], round(randomness * 2**32)), randomness == 1.0
        if not self.options["control_variate"] or self.options["depth"] is not None:
            return policy, NoControlVariate(0)
        follows = self.options["backup"] != "mean"
        return policy, control_variate_of(problem, table, follows=follows) if steady else idle(problem)

    def _key(self) -> tuple[Any, ...]:
        """What else tuning depends on."""
        rollout = self.options["rollout"]
        told = rollout if rollout is None or isinstance(rollout, str) else np.asarray(rollout).tobytes()
        return (*(self.options[name] for name in DEFAULTS if name not in APART), told)

    def _play(self) -> Any:
        rest = {name: self.options[name] for name in DEFAULTS if name not in APART}

        def play(short: Problem, choice: Choice, iterations: int, seeds: Seeds) -> Array:
            planner = MCTS(iterations, rollout=self.options["rollout"], **rest, **choice._asdict())
            values = planner.trials(short, seeds, np.zeros(1, np.uint8))
            assert values is not None
            return values

        return play


def near_end(problem: Problem, iterations: int) -> int:
    """From how many steps before the end on so many iterations see much of what is left: twice the depth they reach.

    >>> import gumdp
    >>> near_end(gumdp.zoo.load("m1-entropy"), 100), near_end(gumdp.zoo.load("mountaincar-entropy"), 100)
    (5, 8)
    """
    table = problem.model.known
    outcomes = 1.0 if table is None else table.successors.size / np.count_nonzero(np.diff(table.offsets))
    return int(2.0 * np.log(iterations) / max(np.log(2.0), np.log(problem.shape[1] * outcomes)))


def floor_of(problem: Problem) -> float:
    """What no trial of ``problem`` is worth less than, to within rounding, by what its objective says of itself."""
    endless = isinstance(problem.counting, BoundCells) and not problem.counting.named  # cells that no shape knows of
    if endless or problem.features is not None or abs(problem.weights.sum() - 1.0) > ROUNDING:
        return -np.inf
    ends = problem.objective.bounds(problem.shape)
    if ends is None:
        return -np.inf
    least = distinct_bound(problem)
    return max(ends[0], -np.inf if least is None else least) + ROUNDING * (ends[1] - ends[0])


def guided(problem: Problem) -> bool:
    """Whether the marginal cost of an action is cheap to have, so that rollouts can follow it."""
    if problem.features is not None:
        return problem.features.guides
    return not problem.record.dense()
