"""Monte-Carlo tree search in the occupancy MDP: the paper's algorithm, and ours."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gumdp.counts.running import RunningOccupancy, new_running
from gumdp.errors import GumdpError, check_bool, check_float, check_int, one_of, unknown
from gumdp.jit.callback import original_errors, reraise
from gumdp.policies.base import Planner, Policy, Seeds
from gumdp.policies.fixed import lottery
from gumdp.policies.play import next_world, start_state
from gumdp.policies.rollout import Cheapest, Uniform
from gumdp.problem import Problem
from gumdp.results import Array, Decision
from gumdp.search.control_variate import forecast
from gumdp.search.control_variate_kernels import Blind, Forecast
from gumdp.search.loop import (
    NOT_A_NUMBER,
    Rules,
    Tables,
    Tree,
    clear,
    copy_tree,
    forget,
    make_room,
    new_tables,
    new_tree,
    plan_trial,
    recommend,
    reroot,
    search,
    spread,
)
from gumdp.search.tuning import SHARES, WIDTHS, Choice, audition
from gumdp.search.view import SearchTree

ITERATIONS = 1000  # a decision, where neither iterations nor a time limit are given
ROOM = 4  # nodes kept, in iterations of a decision, before a reused tree is dropped
MEMORY = 1 << 30  # bytes that one tree may take
PATIENCE = 0.05  # seconds after which a search looks up from its work


class MCTS(Planner):
    """Monte-Carlo tree search: look ahead from the running occupancy, act, repeat.

    Args:
        iterations: simulated trajectories a decision.
        time_limit: seconds a decision; with both, whichever comes first.
        exploration: the constant c of the bound mean - c·√(log N / n). By default 2, or 6 if that does better in an
            audition: a few quick trials with fixed seeds, played once for each problem, in a second at most.
        scaled: multiply c by the standard deviation of the returns that this decision's search has seen.
        rollout: how trajectories go on below the tree: ``"uniform"``, ``"greedy"`` (the action of least
            marginal cost at the running occupancy), or a policy [S, A] or [H, S, A]. By default greedy
            where the objective has a cheap marginal cost, else uniform.
        randomness: the share of uniform steps in a greedy rollout. By default the audition decides on 0, 0.3 or 1.
        reuse: keep the part of the tree that the real step led to. By default the audition decides.
        choice: act by most ``"visits"`` or by least mean ``"value"``.
        paired: let the n-th iterations of all actions at the root meet the same chance, so that luck cancels out
            when they are compared.
        even: in the tree, let the outcomes of an action come in the proportions of their probabilities, from a
            sequence that fills the unit interval evenly, rather than at random.
        corrected: take off each return what was luck in its rollout, as far as a quadratic model of the objective
            can tell. It can on a table of moderate size, in rollouts that are uniform or follow a policy.
        ordered: try actions for the first time in the order of their marginal cost, in greedy rollouts' terms.
        threads: independent trees searched at the same time, their counts added up.
        keep_tree: attach the tree to each decision.

    Ties: an action that was never tried comes first, the first one from a random place on; equal bounds go to
    the action of lower number; equal visits to the lower mean, equal means to more visits, then to the lower
    number. The same seed gives the same decisions, unless a time limit cuts them short.

    >>> import gumdp
    >>> gumdp.run_trial(gumdp.zoo.load("m1-entropy"), gumdp.MCTS(iterations=50), seed=0).value < 0.05
    True
    """

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
        corrected: bool = True,
        threads: int = 1,
        keep_tree: bool = False,
    ) -> None:
        if iterations is None and time_limit is None:
            iterations = ITERATIONS
        self.iterations = None if iterations is None else check_int("MCTS: iterations", iterations, 1)
        self.time_limit = None if time_limit is None else check_float("MCTS: time_limit", time_limit, 0.0)
        if self.time_limit == 0.0 and self.iterations is None:
            raise GumdpError("MCTS: a time_limit of 0 leaves no time to search; give iterations too, or more time.")
        self.exploration = None if exploration is None else check_float("MCTS: exploration", exploration, 0.0)
        self.scaled = check_bool("MCTS: scaled", scaled)
        if isinstance(rollout, str) and rollout not in ("uniform", "greedy"):
            raise unknown("rollout", rollout, ["uniform", "greedy"])
        self.rollout = rollout
        self.randomness = None if randomness is None else check_float("MCTS: randomness", randomness, 0.0, 1.0)
        self.reuse = None if reuse is None else check_bool("MCTS: reuse", reuse)
        self.choice = one_of("choice", choice, ["visits", "value"])
        self.paired = check_bool("MCTS: paired", paired)
        self.even = check_bool("MCTS: even", even)
        self.ordered = check_bool("MCTS: ordered", ordered)
        self.corrected = check_bool("MCTS: corrected", corrected)
        self.threads = check_int("MCTS: threads", threads, 1, 1024)
        self.keep_tree = check_bool("MCTS: keep_tree", keep_tree)

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
        return cls(iterations, **{**PAPER, **options})

    def __repr__(self) -> str:
        mine = {k: getattr(self, k) for k in (*PAPER, "time_limit", "randomness", "threads")}
        paper = all(mine[k] == v for k, v in PAPER.items() if not isinstance(mine[k], np.ndarray))
        defaults = {**(PAPER if paper else DEFAULTS), "time_limit": None, "randomness": None, "threads": 1}
        shown = {"iterations": self.iterations} if self.iterations else {}
        shown |= {k: v for k, v in mine.items() if not isinstance(v, str | float | int | None) or v != defaults[k]}
        inside = ", ".join(f"{k}={'policy' if isinstance(v, np.ndarray) else repr(v)}" for k, v in shown.items())
        return f"MCTS{'.paper' if paper else ''}({inside})"

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return _SearchPolicy(self, problem, dice)

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array | None:
        if self.time_limit is not None or self.threads > 1 or self.iterations is None:
            return None
        return play_out(self, problem, self.iterations, seeds, stop)

    def workspace(self, problem: Problem, iterations: int) -> Workspace:
        """What a search of so many iterations a decision works with."""
        return Workspace(self, problem, iterations)

    def equip(self, problem: Problem) -> tuple[Any, Any, Rules]:
        """The rollout policy as kernels call it, its forecast, and the rules, with what an audition decides."""
        rollout = self.rollout
        if rollout is None:
            rollout = "uniform" if problem.record.dense() else "greedy"
        randomness, reuse, exploration = self.randomness, self.reuse, self.exploration
        if isinstance(rollout, str) and rollout == "greedy" and None in (randomness, reuse, exploration):
            randomness, reuse, exploration = self._audition(problem)
        rules = Rules(
            WIDTHS[0] if exploration is None else exploration,
            self.scaled,
            self.choice == "value",
            reuse is not False,
            self.paired,
            self.even,
            self.ordered,
        )
        actions = problem.shape[1]
        actor: Any
        policy, steady = None, True
        if not isinstance(rollout, str):
            actor, policy = lottery("MCTS: rollout", rollout, problem), np.asarray(rollout, float)
        elif rollout == "uniform":
            actor = Uniform(actions)
        else:
            assert randomness is not None
            actor, steady = Cheapest(actions, round(randomness * 2**32)), randomness == 1.0
        return actor, forecast(problem, policy) if self.corrected and steady else Blind(0), rules

    def _audition(self, problem: Problem) -> Choice:
        rest = {name: getattr(self, name) for name in DEFAULTS if name not in ("reuse", "rollout", "exploration")}

        def play(short: Problem, choice: Choice, iterations: int, seeds: Seeds) -> Array:
            share, reuse, exploration = choice
            planner = MCTS(iterations, rollout="greedy", randomness=share, reuse=reuse, exploration=exploration, **rest)
            return play_out(planner, short, iterations, seeds, np.zeros(1, np.uint8))

        a_sum = not problem.record.dense() and problem.record.count() == 1  # what a forecast is best at
        usual = 1.0 if self.corrected and a_sum and isinstance(forecast(problem), Forecast) else SHARES[0]
        given = self.randomness, self.reuse, self.exploration
        return audition(problem, play, tuple(rest.values()), *given, usual)


PAPER = {
    "exploration": math.sqrt(2.0),
    "scaled": False,
    "rollout": "uniform",
    "reuse": False,
    "choice": "visits",
    "paired": False,
    "even": False,
    "ordered": False,
    "corrected": False,
}
DEFAULTS = {
    "exploration": None, "scaled": True, "rollout": None, "reuse": None, "choice": "visits", "paired": True,
    "even": True, "ordered": True, "corrected": True,
}  # fmt: skip


def not_finite() -> GumdpError:
    """The error for an objective that is NaN or infinite in the middle of a search."""
    return GumdpError(
        "the objective is not finite at an occupancy that the search met; it must be finite at every occupancy."
    )


class Workspace:
    """What one search works with: trees, tables and the generator's state."""

    tree: Tree
    spare: Tree
    tables: Tables

    def __init__(self, planner: MCTS, problem: Problem, iterations: int) -> None:
        self.problem = problem
        self.actor, self.forecast, self.rules = planner.equip(problem)
        self.reuse = self.rules.reuse
        self.rng = np.uint64(0)
        self.tables = new_tables()
        self.resize((ROOM if self.reuse else 1) * iterations + 2)

    def resize(self, nodes: int) -> None:
        """Make empty trees with room for ``nodes`` nodes, or for as many as fit into MEMORY."""
        actions, steps = self.problem.shape[1], self.problem.steps
        nodes = min(nodes, MEMORY // (20 + 24 * actions))
        self.tree = new_tree(nodes, actions, steps)
        self.spare = new_tree(nodes if self.reuse else 1, actions, steps)

    def take_up(self, action: int, label: int, iterations: int | None) -> None:
        """Begin the next decision: keep the subtree of what happened, if it is to be kept and there is room."""
        if self.reuse and action >= 0:
            reroot(self.tree, self.spare, action, np.uint64(label))
            self.tree, self.spare = self.spare, self.tree
        else:
            clear(self.tree)
        make_room(self.tree, self.tree.sibling.size // 2 if iterations is None else iterations)
        forget(self.tree)

    def grow(self) -> None:
        """Double the room when a search without a limit on iterations has filled half of it."""
        if 2 * self.tree.size[0] > self.tree.sibling.size:
            old = self.tree
            self.resize(2 * old.sibling.size)
            if self.tree.sibling.size > old.sibling.size:
                copy_tree(old, self.tree)
            else:
                self.tree = old

    @original_errors()
    def compile(self, running: RunningOccupancy) -> None:
        """Have the search compiled before the clock of the first decision starts."""
        model = self.problem.model
        state = model.state(model.public(start_state(model.compiled(), np.uint64(0))))
        self.run(running, state, 0, 0, np.zeros(1, np.uint8))

    def run(
        self, running: RunningOccupancy, state: Any, t: int, count: int, stop: NDArray[np.uint8]
    ) -> tuple[int, np.uint64]:
        """Run ``count`` more iterations of a decision; return the kernel's status and the generator's state."""
        problem = self.problem
        status, rng = search(
            problem.model.compiled(),
            problem.record,
            self.actor,
            self.forecast,
            running,
            self.tree,
            self.tables,
            self.rules,
            problem.weights,
            np.uint64(problem.horizon),
            state,
            np.uint64(t),
            count,
            self.rng,
            stop,
        )
        return status, np.uint64(rng)

    @original_errors()
    def search(
        self,
        running: RunningOccupancy,
        state: Any,
        t: int,
        iterations: int | None,
        deadline: float | None,
        stop: NDArray[np.uint8],
    ) -> int:
        """Search until the iterations or the time are used up, or ``stop[0]`` is set; return the iterations done.

        Work comes in portions of PATIENCE seconds at most, so that Ctrl-C and the deadline are noticed.
        """
        began, done, portion = time.perf_counter(), 0, 8
        while not stop[0]:
            count = portion if iterations is None else min(portion, iterations - done)
            status, self.rng = self.run(running, state, t, count, stop)
            if status == NOT_A_NUMBER:
                reraise()
                raise not_finite()
            done += count
            now = time.perf_counter()
            if iterations is None:
                self.grow()
            if done == iterations or (deadline is not None and now >= deadline):
                break
            patience = PATIENCE if deadline is None else min(PATIENCE, deadline - now)
            portion = max(1, min(8 * portion, int(patience * done / (now - began))))
        if self.rules.paired:
            self.rng = np.uint64(next_world(self.rng))
        return done

    def play(
        self, running: RunningOccupancy, iterations: int, seeds: Any, stop: NDArray[np.uint8]
    ) -> tuple[int, float]:
        """Play a whole trial from its two seeds; return the kernel's status and the value."""
        problem = self.problem
        status, value = plan_trial(
            problem.model.compiled(),
            problem.record,
            self.actor,
            self.forecast,
            running,
            self.tree,
            self.spare,
            self.tables,
            self.rules,
            problem.weights,
            problem.horizon,
            iterations,
            seeds,
            stop,
        )
        return status, value


def play_out(planner: MCTS, problem: Problem, iterations: int, seeds: Seeds, stop: NDArray[np.uint8]) -> Array:
    """The values of the trials of ``seeds``, with so many iterations a decision."""
    workspace = planner.workspace(problem, iterations)
    values = np.full(len(seeds), np.nan)
    for k, pair in enumerate(seeds):
        running = new_running(problem.record, problem.shape, problem.steps)
        status, values[k] = workspace.play(running, iterations, pair, stop)
        reraise()
        if status == NOT_A_NUMBER:
            raise not_finite()
    return values


class _SearchPolicy(Policy):
    def __init__(self, planner: MCTS, problem: Problem, dice: Any) -> None:
        super().__init__(problem, dice)
        self.planner = planner
        share = None if planner.iterations is None else -(-planner.iterations // planner.threads)
        self._share = share
        self._workspaces = [planner.workspace(problem, share or ITERATIONS) for _ in range(planner.threads)]
        for k, workspace in enumerate(self._workspaces):
            workspace.rng = np.uint64(dice) if k == 0 else np.uint64(spread(np.uint64(dice), np.uint64(k)))
        for _ in self._workspaces[1:]:
            self._runnings.append(new_running(problem.record, problem.shape, problem.steps))
        if planner.time_limit is not None:
            self._workspaces[0].compile(self._running)

    def decide(self, state: Any) -> Decision:
        began = time.perf_counter()
        limit = self.planner.time_limit
        deadline = None if limit is None else began + limit
        label = int(self.problem.model.compiled().key(state))
        for workspace in self._workspaces:
            workspace.take_up(self._last_action, label, self._share)
        if len(self._workspaces) == 1:
            done = self._workspaces[0].search(self._running, state, self.t, self._share, deadline, self.stop)
        else:
            done = self._search_together(state, deadline)
        return self._report(state, done, time.perf_counter() - began)

    def _search_together(self, state: Any, deadline: float | None) -> int:
        """Search all trees at the same time, stopping all of them if the main thread is interrupted."""
        with ThreadPoolExecutor(len(self._workspaces)) as pool:
            jobs: list[Future[int]] = [
                pool.submit(workspace.search, running, state, self.t, self._share, deadline, self.stop)
                for workspace, running in zip(self._workspaces, self._runnings, strict=True)
            ]
            try:
                while wait(jobs, timeout=0.2).not_done:
                    pass
            except BaseException:
                self.stop[0] = 1
                wait(jobs)
                self.stop[0] = 0
                raise
            return sum(job.result() for job in jobs)

    def _report(self, state: Any, done: int, seconds: float) -> Decision:
        """The decision, with the evidence of all trees together."""
        actions = self.problem.shape[1]
        trees = [workspace.tree for workspace in self._workspaces]
        visits = sum(tree.visits[:actions].astype(np.int64) for tree in trees)
        with np.errstate(invalid="ignore"):
            values = sum(tree.visits[:actions] * tree.mean[:actions] for tree in trees) / visits
        action = int(recommend(visits, values, self.planner.choice == "value"))
        return Decision(
            action=action,
            name=self.problem.model.action_name(action),
            values=values,
            errors=standard_errors(trees, actions),
            visits=visits,
            iterations=done,
            depth=max(int(tree.size[1]) for tree in trees),
            nodes=sum(int(tree.size[0]) for tree in trees),
            seconds=seconds,
            tree=SearchTree.read(trees[0], self.cell) if self.planner.keep_tree else None,
        )


def standard_errors(trees: list[Tree], actions: int) -> Array:
    """The standard errors of the root's means, from the returns of this decision's own iterations."""
    n = sum(tree.fresh for tree in trees)
    shift = trees[0].seen[1]
    moved = [tree.seen[1] - shift for tree in trees]  # bring all sums to the same shift
    first = sum(tree.sums + tree.fresh * m for tree, m in zip(trees, moved, strict=True))
    second = sum(tree.squares + 2.0 * m * tree.sums + tree.fresh * m * m for tree, m in zip(trees, moved, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.maximum(0.0, second / n - (first / n) ** 2) * n / (n - 1)
        return np.where(n > 1, np.sqrt(variance / n), np.nan)
