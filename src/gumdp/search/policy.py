"""A search at work: one decision after another, within iterations or time."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gumdp.counts.running import RunningOccupancy
from gumdp.errors import check_int
from gumdp.jit.callback import original_errors, reraise
from gumdp.jit.compiling import clock
from gumdp.models.compiled import next_state, start_state
from gumdp.models.tabular import Tabular
from gumdp.policies.base import Policy, not_finite
from gumdp.policies.play import NOT_A_NUMBER, Trial, setup_of
from gumdp.policies.saving import arrays_in, put
from gumdp.problem import Problem
from gumdp.results import Decision
from gumdp.search.backup import Means
from gumdp.search.budget import Budget
from gumdp.search.choose import Best, recommend_once
from gumdp.search.control_variate_kernels import NoControlVariate
from gumdp.search.evidence import evidence_of, root_of
from gumdp.search.incumbent import carry_once, share_plans
from gumdp.search.leaf import Rollout
from gumdp.search.loop import PORTIONS, Search, is_settled_once, search_once
from gumdp.search.outcome import between_once, spread
from gumdp.search.tree import (
    Tree,
    bytes_per_node,
    clear,
    copy_tree,
    forget,
    make_room,
    new_tables,
    new_tree,
    reroot,
)
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

    def __init__(self, planner: MCTS, problem: Problem, budget: Budget) -> None:
        self.problem, self.budget, self.planner = problem, budget, planner
        self.setup = setup_of(problem)
        self.rules, self.reuse = planner.rules(problem)
        self.shared = budget.trial_iterations is not None
        by_visits = isinstance(self.rules.choice, Best) and not self.rules.choice.by_value
        self.settles = bool(by_visits and np.isinf(planner.tuned(problem).choice.commitment))
        self.tables = new_tables()
        self.rng = np.uint64(0)
        self._left = np.zeros(1, np.int64)
        self.look: Callable[[int], None] | None = None  # called after each portion, with the iterations done
        self.resize(self._room(budget.most or START))

    def _room(self, iterations: int) -> int:
        return (ROOM if self.reuse else 1) * iterations + 2

    def fit(self, iterations: int) -> None:
        """Have room for decisions of so many iterations."""
        old = self.tree
        if self._room(iterations) > old.sibling.size:
            self.resize(self._room(iterations))
            copy_tree(old, self.tree)

    def decider(self) -> Search:
        """The search as kernels see it."""
        return Search(
            rules=self.rules,
            iterations=self.budget.iterations or 0,
            trial=self.budget.trial_iterations or 0,
            shares=self.budget.shares,
            left=self._left,
            settles=self.settles,
            reuse=self.reuse,
            tree=self.tree,
            spare=self.spare,
            tables=self.tables,
        )

    def resize(self, nodes: int) -> None:
        """Make empty trees with room for ``nodes`` nodes, or for as many as fit into MEMORY."""
        actions, steps = self.problem.shape[1], self.problem.steps
        rules = self.rules
        kept = {
            "notes": bool(rules.select.notes() or rules.backup.notes()),
            "values": not isinstance(rules.backup, Means),
            "phases": bool(getattr(rules.outcome, "even", True)),
        }
        nodes = min(nodes, MEMORY // bytes_per_node(actions, **kept))
        self.tree = new_tree(nodes, actions, steps, **kept)
        self.spare = new_tree(nodes if self.reuse else 1, actions, steps, **kept)

    def take_up(self, action: int, label: int, iterations: int | None) -> None:
        """Begin the next decision: keep the subtree of what happened, if it is to be kept and there is room."""
        if self.reuse and action >= 0:
            reroot(self.tree, self.spare, action, np.uint64(label))
            self.tree, self.spare = self.spare, self.tree
        else:
            clear(self.tree)
        carry_once(self.rules.incumbent, action)
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

    def arrays(self, prefix: str) -> dict[str, Any]:
        """What there is to keep between two decisions, by name: the generator, the tree, and what parts remember."""
        kept = {f"{prefix}.rng": np.array(self.rng), f"{prefix}.room": np.array(self.tree.sibling.size)}
        nodes = int(self.tree.size[0]) if self.reuse else 1
        for name, array in arrays_in(self.tree, f"{prefix}.tree"):
            kept[name] = array[: array.size // self.tree.sibling.size * nodes] if _by_node(self.tree, array) else array
        fresh = dict(arrays_in(self.planner.rules(self.problem)[0], f"{prefix}.rules"))
        own = arrays_in(self.rules, f"{prefix}.rules")
        return kept | {name: array for name, array in own if not np.array_equal(array, fresh[name])}

    def restore(self, prefix: str, arrays: dict[str, Any]) -> None:
        """Become what was kept."""
        rng, room = np.zeros((), np.uint64), np.zeros((), np.int64)
        put(f"{prefix}.rng", rng, arrays)
        put(f"{prefix}.room", room, arrays)
        self.rng = np.uint64(rng)
        if int(room) != self.tree.sibling.size:
            self.resize(int(room))
        put(f"{prefix}.tree.size", self.tree.size, arrays)
        nodes = int(self.tree.size[0]) if self.reuse else 1
        for name, array in arrays_in(self.tree, f"{prefix}.tree"):
            target = array[: array.size // self.tree.sibling.size * nodes] if _by_node(self.tree, array) else array
            put(name, target, arrays)
        for name, array in arrays_in(self.rules, f"{prefix}.rules"):
            if name in arrays:
                put(name, array, arrays)

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
        trial = Trial(self.decider(), running)
        status, rng = search_once(self.setup, trial, state, np.uint64(t), count, self.rng, stop)
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
        """Search until all is proved, the budget is used up, or ``stop[0]`` is set; return the iterations done.

        Work comes in portions of PATIENCE seconds at most, so that Ctrl-C and the deadline are noticed. A decision that
        has its share of a trial's budget is over as soon as it is settled. The first portion is run even where
        ``stop[0]`` is set already: it does nothing then, but it compiles the search.
        """
        began, done, portion, look_ups = time.perf_counter(), 0, 8, PORTIONS if self.shared else 1
        goal = None if iterations is None else iterations // look_ups
        while True:
            count = portion if goal is None else min(portion, goal - done)
            status, self.rng = self.run(running, state, t, count, stop)
            done = int(self.tree.size[2])
            if status == NOT_A_NUMBER:
                reraise()
                raise not_finite()
            now = time.perf_counter()
            if iterations is None:
                self.grow()
            if self.look is not None:
                self.look(done)
            if iterations is not None and done == goal:
                if done == iterations or is_settled_once(self.tree, self.settles, iterations - done):
                    break
                look_ups -= 1
                goal = done + (iterations - done) // look_ups
            if stop[0] or self.tree.closed[0] or (deadline is not None and now >= deadline):
                break
            patience = PATIENCE if deadline is None else min(PATIENCE, deadline - now)
            portion = max(1, min(8 * portion, int(patience * done / (now - began))))
        self.rng = np.uint64(between_once(self.rules.outcome, self.rng))
        return done

    def search_in(self, table: Tabular, running: RunningOccupancy, state: Any, t: int, stop: NDArray[np.uint8]) -> int:
        """Search afresh as if ``table`` were the world, where what is known of it is a belief; the iterations done."""
        self.setup = self.setup._replace(model=table.compiled())
        leaf = self.rules.leaf
        if isinstance(leaf, Rollout):  # its control variate asks a belief
            without: Any = leaf
            self.rules = self.rules._replace(leaf=without._replace(control=NoControlVariate(0)))
        iterations = self.budget.most or START
        self.take_up(-1, 0, iterations)
        return self.search(running, state, t, iterations, None, stop)


def _by_node(tree: Tree, array: Any) -> bool:
    """Whether an array of a tree has so many entries for each node."""
    edges = ("child", "visits", "mean", "shut", "notes")
    nodes = ("sibling", "label", "phase", "plays", "worth", "share", "closed")
    return any(array is getattr(tree, name) for name in (*edges, *nodes))


class SearchPolicy(Policy):
    """A tree search at work on one trial."""

    resumes = True

    def __init__(self, planner: MCTS, problem: Problem, dice: Any) -> None:
        super().__init__(problem, dice)
        self.planner, self._began = planner, 0.0
        self._budget = Budget.of(planner, problem)
        self._allowed = np.array(
            [self._budget.trial_iterations or 0, self._budget.trial_seconds or 0.0]
        )  # what is left
        self._debt = 0.0  # seconds that setting up took, to be paid back
        found = time.perf_counter()
        self.setup = planner.tuned(problem)
        if time.perf_counter() - found > self.setup.seconds > 0.0:  # found now, not before
            self._debt = self.setup.seconds
        self._searchers = [Searcher(planner, problem, self._budget) for _ in range(planner.threads)]
        for k, searcher in enumerate(self._searchers):
            searcher.rng = np.uint64(dice) if k == 0 else np.uint64(spread(np.uint64(dice), np.uint64(k)))
        for _ in self._searchers[1:]:
            self._runnings.append(problem.running())
        if self._beliefs:
            self._beliefs += [searcher.setup.model for searcher in self._searchers]
        asked = planner.information and self._beliefs
        self._unlearning = Searcher(planner, problem, self._budget) if asked else None
        if planner.time_limit is not None or planner.trial_time is not None:
            self._searchers[0].compile(self._running)

    def watch(self, tell: Callable[[Decision], None] | None) -> None:
        """Have ``tell`` called with each decision as it takes shape, some twenty times a second; None ends that."""

        def look(done: int) -> None:
            if tell is not None:
                tell(self._report(done * len(self._searchers), clock() - self._began))

        self._searchers[0].look = None if tell is None else look

    def search_for(self, iterations: int) -> None:
        """Search for so many iterations from the next decision on."""
        share = -(-check_int("iterations", iterations, 1) // len(self._searchers))
        self._budget = self._budget._replace(iterations=share, trial_iterations=None)
        for searcher in self._searchers:
            searcher.fit(share)
            searcher.shared = False

    def decide(self, state: Any) -> Decision:
        began = self._began = clock()
        iterations, seconds = self._allowance()
        deadline = None if seconds is None else time.perf_counter() + seconds
        label = int(self.problem.model.compiled().key(state))
        last = self._last_action if self._is_expected(state) else -1
        for searcher in self._searchers:
            searcher.take_up(last, label, iterations)
        if len(self._searchers) == 1:
            done = self._searchers[0].search(self._running, state, self.t, iterations, deadline, self.stop)
        else:
            done = self._search_together(state, iterations, deadline)
        share_plans([searcher.rules.incumbent for searcher in self._searchers])
        taken = clock() - began
        self._allowed -= int(self._searchers[0].tree.size[2]), taken
        decision = self._report(done, taken)
        if self._unlearning is None:
            return decision
        return replace(decision, information=self._value_without_learning(self._unlearning, state) - decision.value)

    def _value_without_learning(self, searcher: Searcher, state: Any) -> float:
        """What a search expects that takes the mean of the belief for the world."""
        assert self.belief is not None
        searcher.rng = np.uint64(spread(self.rng, np.uint64(self.t)))
        searcher.search_in(self.belief.mean, self._running, state, self.t, self.stop)
        return float(searcher.tree.mean[recommend_once(searcher.rules, searcher.tree)])

    def _allowance(self) -> tuple[int | None, float | None]:
        """The iterations and the seconds that this decision may take; what setting up took is paid back bit by bit."""
        budget, share = self._budget, self._budget.shares[self.t]
        iterations, seconds = budget.iterations, budget.seconds
        if budget.trial_iterations is not None:
            iterations = max(1, int(self._allowed[0] * share + 0.5))
        if budget.trial_seconds is not None:
            self._allowed[1] -= self._debt
            self._debt = 0.0
            seconds = max(0.0, float(self._allowed[1] * share))
        elif seconds is not None and self._debt > 0.0:
            paid = min(self._debt, seconds / 2.0)
            self._debt, seconds = self._debt - paid, seconds - paid
        return iterations, seconds

    def _is_expected(self, state: Any) -> bool:
        """Whether ``state`` is what the tree says; a box may hold many states of which only one was simulated."""
        model = self.problem.model
        if not model.deterministic or model.interpreted or model.known is not None or self._left is None:
            return True
        return bool(next_state(model.compiled(), self._left, np.uint64(self._last_action), np.uint64(0)) == state)

    def _arrays(self) -> dict[str, Any]:
        arrays = super()._arrays() | {"allowed": self._allowed}
        for k, searcher in enumerate(self._searchers):
            arrays |= searcher.arrays(f"search{k}")
        return arrays

    def _take(self, arrays: dict[str, Any]) -> None:
        super()._take(arrays)
        put("allowed", self._allowed, arrays)
        for k, searcher in enumerate(self._searchers):
            searcher.restore(f"search{k}", arrays)

    def _search_together(self, state: Any, iterations: int | None, deadline: float | None) -> int:
        """Search all trees at the same time, stopping all of them if the main thread is interrupted."""
        with ThreadPoolExecutor(len(self._searchers)) as pool:
            jobs: list[Future[int]] = [
                pool.submit(searcher.search, running, state, self.t, iterations, deadline, self.stop)
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
        """The decision, with the evidence of all trees together, or of one that is sure of all there is."""
        everyone = [searcher.tree for searcher in self._searchers]
        sure = [tree for tree in everyone if tree.closed[0]]
        trees = sure[:1] or everyone
        found, rules = evidence_of(trees), self._searchers[0].rules
        action = int(recommend_once(rules, root_of(trees, found)))
        best = float(rules.incumbent.value_of(action))
        if sure and rules.incumbent.holds():
            best = min(best, float(found.values[action]))
        return Decision(
            action=action,
            name=self.problem.model.action_name(action),
            values=found.values,
            errors=found.errors,
            visits=found.visits,
            iterations=done,
            depth=max(int(tree.size[1]) for tree in trees),
            nodes=sum(int(tree.size[0]) for tree in everyone),
            seconds=seconds,
            proved=bool(sure),
            plan=best if np.isfinite(best) else None,
            setup=str(self.setup),
            tree=SearchTree.read(trees[0], self.cell) if self.planner.keep_tree else None,
        )
