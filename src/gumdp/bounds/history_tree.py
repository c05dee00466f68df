"""The Jensen tree as an object that grows: see ``gumdp.bounds.history_tree_kernels``."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from gumdp.average.frank_wolfe import frank_wolfe
from gumdp.average.gap import Certifier
from gumdp.average.mirror import mirror_descent
from gumdp.average.polytope import EPSILON, Truncated
from gumdp.average.rest import ConvexSetup
from gumdp.average.rest_kernels import new_workspace
from gumdp.bounds.history_tree_kernels import Rules, add, bound_leaf, enlarged, grow, new_history_tree
from gumdp.bounds.unsplit import Lifted, unsplit
from gumdp.distinct import reachable
from gumdp.jit.callback import reraise
from gumdp.problem import Problem

MEMORY = 1 << 30  # bytes that a tree may take
ROUNDS, FEWER = 10, 3  # tangents tried at a leaf, and where there are more than LARGE pairs
LARGE = 1000
BENT, LIFTS, FIRST = 2, 5, 400  # tangents tried where they are bent, steps of the ascent then, and at the root
SMALL = 5000  # variables of a linear programme that is worth solving for the root's sake
WORTHWHILE = 2e-3  # what the root must gain by bending, relative to how much the objective varies
STEPS = 300  # of the solver that finds the root's tangent
ADDITION = 4e-9  # seconds that dynamic programming takes for one transition, roughly
PATIENCE = 0.1  # seconds after which a growing tree looks up from its work


class JensenTree:
    """A lower bound that rises as the tree grows. The same growth gives the same bound.

    The root gets about ``seconds`` at most, where its care would take longer than that.
    """

    def __init__(self, problem: Problem, name: str = "lower_bound", seconds: float = np.inf) -> None:
        self.tools, self.seconds = ConvexSetup(name, problem), seconds
        self.problem, cells = problem, problem.shape[0] * problem.shape[1]
        chain = self.tools.task.chain
        self.sweep = ADDITION * problem.steps * int(chain.successors.size)  # seconds for a pass of dynamic programming
        children = np.diff(chain.offsets).reshape(problem.shape).sum(axis=1).max()
        begins = chain.start_states.size * (problem.shape[1] if problem.episodes > 1 else 1)  # where an episode begins
        self.widest = int(max(children, begins))
        self.most = max(2 * self.widest, MEMORY // (8 * cells + 64))  # nodes
        self.tree = new_history_tree(1, cells)  # a node is as large as the table: room comes with growth
        self.workspace = new_workspace(problem.shape, problem.steps)
        self.tolerance = 1e-7 * self.tools.scale
        self.rounds = ROUNDS if cells <= LARGE else FEWER
        self.expanded, self.milestone, self.bent = 0, 64, False
        self._root()
        self.root = self.raw

    def _root(self) -> None:
        """The bound before anything is drawn, with all the care that one node deserves."""
        tools, polytope = self.tools, Truncated(self.problem)
        search = frank_wolfe if tools.tangents.kinked else mirror_descent
        point = search(
            tools.tangents, polytope, polytope.uniform, tolerance=1e-7 * tools.scale,
            iterations=self._affordable(STEPS, self.sweep), deadline=math.inf,
        )  # fmt: skip
        tools.settle(point.policy)
        self.point = point.occupancy  # where f is least among the mean occupancies, nearly
        certifier = Certifier(tools.tangents, polytope)
        if certifier.look_at(point.occupancy) > 1e-3 * tools.scale and point.policy.size <= SMALL:
            certifier.cut(point, 1e-6 * tools.scale)  # kinks, perhaps ones that nobody told us about
        assert certifier.tangent is not None
        self.workspace.constant[0], self.workspace.slope[:] = certifier.tangent[0], certifier.tangent[1].ravel()
        add(tools.task, self.tree, -1, -1, -1, 1.0)
        rules = Rules(self._affordable(ROUNDS, self.round_seconds), 1e-9 * tools.scale, tools.smoothing())
        bound_leaf(tools.tangents.record, tools.task, self.tree, self.workspace, rules, 0)
        reraise()
        self.record, self.tangent = tools.tangents.record, (float(self.tree.constant[0]), self.tree.slope[0].copy())
        self.plain = self.bound
        rounds = self._affordable(FIRST, 4.0 * self.sweep)
        if self.record.over_pairs() and self._heavy() and rounds > LIFTS:
            self._unsplit(rounds)

    def _heavy(self) -> bool:
        """Whether a step weighs more than what a pair can expect in all: then it matters that it can't be split."""
        return bool(self.tools.task.weights.max() > 2.0 / reachable(self.problem)[0])

    @property
    def round_seconds(self) -> float:
        """About how long it takes to try one tangent."""
        return 3.0 * self.sweep + 500.0 * ADDITION * int(self.workspace.x.size)

    @property
    def leaf_seconds(self) -> float:
        """About how long it takes to bound one history."""
        return (self.rounds + 1) * self.round_seconds

    def _affordable(self, most: int, each: float) -> int:
        """How many of the root's rounds there is time for: by a count of operations, which no clock disturbs."""
        return int(np.clip(0.25 * self.seconds / each, 1, most))

    def _unsplit(self, rounds: int) -> None:
        """Take tangents that know what single steps weigh; at the leaves to come too, if the root gains by it."""
        tree, workspace, task = self.tree, self.workspace, self.tools.task
        plain, before = self.raw, self.tangent[1]
        tree.o[:] = 0.0
        tree.bound[0] = unsplit(self.record, task, 0, -1, tree.o, workspace, before, plain, rounds)
        reraise()
        tree.slope[0], tree.constant[0], self.bent = workspace.slope, workspace.constant[0], True
        if self.raw - plain > WORTHWHILE * self.tools.scale:
            self.record, self.rounds = Lifted(self.record, LIFTS), min(BENT, self.rounds)

    @property
    def raw(self) -> float:
        """The root's bound as computed."""
        return float(self.tree.bound[0])

    @property
    def bound(self) -> float:
        """The root's bound, rounding allowed for."""
        nodes = self.nodes
        steepest = max(abs(float(self.tree.slope[:nodes].max())), abs(float(self.tree.slope[:nodes].min())))
        margin = self.tools.margin(float(np.abs(self.tree.constant[:nodes]).max()), steepest)
        if self.bent:  # charges are differences of values and of tangents, one for each step
            margin += 8.0 * EPSILON * self.problem.steps * (self.tools.scale + steepest)
        return self.raw - margin

    @property
    def nodes(self) -> int:
        """Histories in the tree."""
        return int(self.tree.size[0])

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be gained: the bound is the optimum."""
        return not self.tree.potential_gain[0] > 0.0

    def grow(self, nodes: int | None = None, deadline: float = np.inf) -> Iterator[float]:
        """Let the tree grow to so many nodes, until the deadline, or until memory is full; yield its raw bound."""
        limit = self.most if nodes is None else min(nodes, self.most)
        times, record = int(np.clip(PATIENCE / (self.leaf_seconds * self.widest), 1, 8)), self.record
        while self.nodes + self.widest <= limit and not self.complete and time.perf_counter() < deadline:
            count = max(1, min(times, self.milestone - self.expanded, (limit - self.nodes) // self.widest))
            self._make_room(min(limit, self.nodes + count * self.widest))
            rules = Rules(self.rounds, self.tolerance, self.tools.smoothing())
            began = time.perf_counter()
            done = int(grow(record, self.tools.task, self.tree, self.workspace, rules, count, self.widest))
            reraise()
            spent = time.perf_counter() - began
            self._adapt(done)
            yield self.raw
            if done < count:
                break
            left = min(PATIENCE, max(0.0, deadline - time.perf_counter()))
            times = max(1, min(2 * count, int(count * left / max(spent, 1e-9))))

    def _make_room(self, nodes: int) -> None:
        if nodes > self.tree.state.size:
            self.tree = enlarged(self.tree, min(self.most, max(nodes, 2 * self.tree.state.size)))

    def _adapt(self, done: int) -> None:
        """Leaves need not be bounded more closely than a small part of what the tree has gained so far.

        That is looked up at milestones only, which don't depend on the clock: the same growth gives the same bound.
        """
        self.expanded += done
        if self.expanded == self.milestone:
            self.milestone += self.milestone // 4
            self.tolerance = max(1e-9 * self.tools.scale, 2e-3 * (self.raw - self.root))
