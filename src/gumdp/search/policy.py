"""A search at work: one decision after another, within iterations or time."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gumdp.counts.running import RunningOccupancy, new_running
from gumdp.jit.callback import original_errors, reraise
from gumdp.models.compiled import start_state
from gumdp.policies.base import Policy, not_finite
from gumdp.policies.play import NOT_A_NUMBER, setup_of
from gumdp.problem import Problem
from gumdp.results import Array, Decision
from gumdp.search.choose import recommend_once
from gumdp.search.loop import Search, search
from gumdp.search.outcome import between_once, spread
from gumdp.search.tree import Tree, Workspace, clear, copy_tree, forget, make_room, new_tables, new_tree, reroot
from gumdp.search.view import SearchTree

if TYPE_CHECKING:
    from gumdp.search.planner import MCTS

ROOM = 4  # nodes kept, in iterations of a decision, before a reused tree is dropped
START = 1000  # iterations that there is room for at first, where their number is not known
MEMORY = 1 << 30  # bytes that one tree may take
PATIENCE = 0.05  # seconds after which a search looks up from its work


class Searcher:
    """One search: its rules, its trees and the generator's state."""

    tree: Tree
    spare: Tree

    def __init__(self, planner: MCTS, problem: Problem, iterations: int) -> None:
        self.problem, self.iterations = problem, iterations
        self.setup = setup_of(problem)
        self.rules, self.reuse = planner.rules(problem)
        self.tables = new_tables()
        self.rng = np.uint64(0)
        self.resize((ROOM if self.reuse else 1) * iterations + 2)

    def decider(self) -> Search:
        """The search as the decider of whole trials."""
        trees = (self.tree, self.spare)
        return Search(self.rules, self.iterations, self.reuse, trees, np.zeros(1, np.int64), self.tables)

    def resize(self, nodes: int) -> None:
        """Make empty trees with room for ``nodes`` nodes, or for as many as fit into MEMORY."""
        actions, steps = self.problem.shape[1], self.problem.steps
        notes = bool(self.rules.select.notes() or self.rules.backup.notes())
        nodes = min(nodes, MEMORY // (20 + (32 if notes else 24) * actions))
        self.tree = new_tree(nodes, actions, steps, notes)
        self.spare = new_tree(nodes if self.reuse else 1, actions, steps, notes)

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
        state = model.state(model.public(start_state(self.setup.model, np.uint64(0))))
        self.run(running, state, 0, 0, np.zeros(1, np.uint8))

    def run(
        self, running: RunningOccupancy, state: Any, t: int, count: int, stop: NDArray[np.uint8]
    ) -> tuple[int, np.uint64]:
        """Run ``count`` more iterations of a decision; return the kernel's status and the generator's state."""
        workspace = Workspace(running, self.tree, self.tables)
        status, rng = search(self.setup, workspace, self.rules, state, np.uint64(t), count, self.rng, stop)
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
        self.rng = np.uint64(between_once(self.rules.outcome, self.rng))
        return done


class SearchPolicy(Policy):
    """A tree search at work on one trial."""

    def __init__(self, planner: MCTS, problem: Problem, dice: Any) -> None:
        super().__init__(problem, dice)
        self.planner = planner
        self._share = None if planner.iterations is None else -(-planner.iterations // planner.threads)
        self._searchers = [Searcher(planner, problem, self._share or START) for _ in range(planner.threads)]
        for k, searcher in enumerate(self._searchers):
            searcher.rng = np.uint64(dice) if k == 0 else np.uint64(spread(np.uint64(dice), np.uint64(k)))
        for _ in self._searchers[1:]:
            self._runnings.append(new_running(problem.record, problem.shape, problem.steps))
        if planner.time_limit is not None:
            self._searchers[0].compile(self._running)

    def decide(self, state: Any) -> Decision:
        began = time.perf_counter()
        limit = self.planner.time_limit
        deadline = None if limit is None else began + limit
        label = int(self.problem.model.compiled().key(state))
        for searcher in self._searchers:
            searcher.take_up(self._last_action, label, self._share)
        if len(self._searchers) == 1:
            done = self._searchers[0].search(self._running, state, self.t, self._share, deadline, self.stop)
        else:
            done = self._search_together(state, deadline)
        return self._report(done, time.perf_counter() - began)

    def _search_together(self, state: Any, deadline: float | None) -> int:
        """Search all trees at the same time, stopping all of them if the main thread is interrupted."""
        with ThreadPoolExecutor(len(self._searchers)) as pool:
            jobs: list[Future[int]] = [
                pool.submit(searcher.search, running, state, self.t, self._share, deadline, self.stop)
                for searcher, running in zip(self._searchers, self._runnings, strict=True)
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

    def _report(self, done: int, seconds: float) -> Decision:
        """The decision, with the evidence of all trees together."""
        actions = self.problem.shape[1]
        trees = [searcher.tree for searcher in self._searchers]
        visits = sum(tree.visits[:actions].astype(np.int64) for tree in trees)
        with np.errstate(invalid="ignore"):
            values = sum(tree.visits[:actions] * tree.mean[:actions] for tree in trees) / visits
        action = int(recommend_once(self._searchers[0].rules.choice, visits, values))
        return Decision(
            action=action,
            name=self.problem.model.action_name(action),
            values=values,
            errors=standard_errors(trees),
            visits=visits,
            iterations=done,
            depth=max(int(tree.size[1]) for tree in trees),
            nodes=sum(int(tree.size[0]) for tree in trees),
            seconds=seconds,
            tree=SearchTree.read(trees[0], self.cell) if self.planner.keep_tree else None,
        )


def standard_errors(trees: list[Tree]) -> Array:
    """The standard errors of the root's means, from the returns of this decision's own iterations."""
    n = sum(tree.fresh for tree in trees)
    shift = trees[0].seen[1]
    moved = [tree.seen[1] - shift for tree in trees]  # bring all sums to the same shift
    first = sum(tree.sums + tree.fresh * m for tree, m in zip(trees, moved, strict=True))
    second = sum(tree.squares + 2.0 * m * tree.sums + tree.fresh * m * m for tree, m in zip(trees, moved, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.maximum(0.0, second / n - (first / n) ** 2) * n / (n - 1)
        return np.where(n > 1, np.sqrt(variance / n), np.nan)
