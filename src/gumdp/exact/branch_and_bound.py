"""Branch and bound over the occupancy MDP: the optimum where it can be proved, and how much is open where not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.average.rest import ConvexSetup
from gumdp.average.rest_kernels import Task, new_workspace
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.history_tree_kernels import Rules
from gumdp.distinct import distinct_bound
from gumdp.errors import GumdpError
from gumdp.exact.branch_kernels import (
    CORNERS,
    RANGE,
    TRAJECTORY,
    Limits,
    branch,
    enlarged_graph,
    judge,
    new_graph,
    revise,
    search,
)
from gumdp.exact.merging import merging_of
from gumdp.jit.callback import register, reraise
from gumdp.models.chain import chain_of
from gumdp.objectives.base import Array
from gumdp.objectives.tangent import PythonTangent
from gumdp.policies.base import Planner
from gumdp.problem import Problem, check_problem

MEMORY = 1 << 30  # bytes that a graph may take
CLOSE = 1e-12  # bounds this close to each other, relative to how much the objective varies, are one value
ROUNDS, FEWER, LARGE = 10, 3, 1000  # tangents tried at a node, and where there are more than LARGE pairs
WIDE = 300  # pairs up to which f is asked at every corner
PATIENCE = 0.1  # seconds after which a search looks up from its work


class BranchAndBound:
    """A search for the optimum that can be stopped at any time: between ``lower`` and ``upper`` it is."""

    def __init__(self, problem: Problem, name: str = "solve_exact") -> None:
        model = check_problem(name, problem)
        self.problem, self.name, cells = problem, name, problem.shape[0] * problem.shape[1]
        self.workspace = new_workspace(problem.shape, problem.steps)
        self.setup = Setup(problem, name, self.workspace)
        self.merging, width, self.steepness = merging_of(problem, self.setup.record)
        children = np.diff(model.offsets).reshape(problem.shape).sum(axis=1).max()
        self.widest = int(max(children, problem.shape[1] * model.start_states.size)) + 1
        measures = len(self.merging.rows)
        each = 8 * (cells + width + measures) + 80 + 32  # and an edge or two
        self.most = max(4 * self.widest, MEMORY // each)
        room = min(self.most, 4 * self.widest + 64)
        self.graph = new_graph(room, room, cells, width, measures)
        self.path = np.zeros(problem.steps + 2, np.int64)
        self.expanded, self._checked, self._largest = 0, 0, (0.0, 0.0)
        self.incumbent: tuple[float, Planner] | None = None  # (value, planner) of a policy known from elsewhere
        self._root()

    def __getstate__(self) -> dict[str, Any]:
        return {
            k: v for k, v in vars(self).items() if k not in ("setup", "workspace")
        }  # records belong to their process

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.workspace = new_workspace(self.problem.shape, self.problem.steps)
        self.setup = Setup(self.problem, self.name, self.workspace)

    def _root(self) -> None:
        graph, setup = self.graph, self.setup
        graph.state[0], graph.action[0], graph.parent[0], graph.step[0] = -1, -1, -1, 0
        graph.key[0], graph.first[0], graph.last[0], graph.code[0] = -1, -1, -1, 0
        graph.slope[0], graph.constant[0] = self.workspace.slope, self.workspace.constant[0]
        graph.bound[0], graph.upper[0] = max(setup.low, setup.limits.floor), setup.limits.ceiling
        graph.size[:] = 1, 0
        rules = Rules(ROUNDS if setup.convex else 0, 1e-9 * setup.scale, setup.smoothing)
        branch(setup.task, self.merging, graph, 0)
        for node in range(1, self.nodes):
            judge(setup.record, setup.task, graph, self.workspace, rules, setup.limits, node)
        revise(graph, 0)
        self.expanded = 1
        self._check()

    def start_from(self, known: tuple[float, Planner] | None) -> None:
        """Take the value of a known policy, (value, planner), for an upper bound, if it is one."""
        if known is not None and known[0] < self.upper:
            self.incumbent, self.graph.upper[0] = known, known[0]
            revise(self.graph, 0)

    @property
    def nodes(self) -> int:
        """States of the occupancy MDP that were looked at."""
        return int(self.graph.size[0])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many of them there are at each step."""
        return np.bincount(self.graph.step[1 : self.nodes], minlength=self.problem.steps).astype(np.int64)

    @property
    def optimal(self) -> bool:
        """Whether the bounds have met."""
        return not self.graph.upper[0] - self.graph.bound[0] > self.setup.limits.close

    @property
    def upper(self) -> float:
        """What the best policy found is worth at most, up to rounding."""
        return float(self.graph.upper[0])

    @property
    def lower(self) -> float:
        """What no policy is below, rounding allowed for."""
        slack = self.setup.margin(*self._largest)
        slack += self.problem.steps * float(self.graph.drift[0]) * self.steepness
        return min(self.upper, max(self.setup.limits.floor, float(self.graph.bound[0]) - slack))

    def run(self, nodes: int | None, deadline: float) -> Iterator[int]:
        """Search until the bounds meet, so many nodes, the deadline, or the end of memory; yield the nodes so far."""
        limit = self.most if nodes is None else min(nodes, self.most)
        setup, times = self.setup, 8
        rules = Rules(setup.rounds, 1e-9 * setup.scale, setup.smoothing)
        while self.nodes + self.widest <= limit and not self.optimal and time.perf_counter() < deadline:
            count = max(1, min(times, (limit - self.nodes) // self.widest))
            self._make_room(count * self.widest)
            began = time.perf_counter()
            done = search(
                setup.record,
                setup.task,
                self.merging,
                self.graph,
                self.workspace,
                rules,
                setup.limits,
                self.path,
                count,
            )
            self.expanded += int(done)
            self._check()
            yield self.nodes
            spent = time.perf_counter() - began
            left = min(PATIENCE, max(0.0, deadline - time.perf_counter()))
            times = max(1, min(2 * count, int(count * left / max(spent, 1e-9))))

    def _make_room(self, more: int) -> None:
        nodes, edges = (int(size) + more for size in self.graph.size)
        room, links = self.graph.state.size, self.graph.edge_node.size
        if nodes > room or edges > links:
            room = room if nodes <= room else max(nodes, 2 * room)
            self.graph = enlarged_graph(self.graph, room, links if edges <= links else max(edges, 2 * links))

    def _check(self) -> None:
        """Look at the new nodes: whether they have values, and how large their tangents are."""
        reraise()
        fresh = slice(self._checked, self.nodes)
        if np.isnan(self.graph.upper[fresh]).any():
            raise GumdpError(
                f"the objective {self.problem.objective!r} is not a number at an occupancy that can come about."
            )
        constant, slope = self.graph.constant[fresh], self.graph.slope[fresh]
        self._largest = (
            max(self._largest[0], float(np.abs(constant).max(initial=0.0))),
            max(self._largest[1], float(slope.max(initial=0.0)), -float(slope.min(initial=0.0))),
        )
        self._checked = self.nodes


class Setup:
    """What a search works with: bounds of the objective, ready for kernels. ``workspace`` gets the first tangent."""

    def __init__(self, problem: Problem, name: str, workspace: Any) -> None:
        self.problem = problem
        ends = problem.objective.bounds(problem.shape)
        spread = distinct_bound(problem)
        floor = max(-np.inf if spread is None else spread, -np.inf if ends is None else ends[0])
        ceiling = np.inf if ends is None else ends[1]
        self.convex = problem.objective.convex
        self._tools: ConvexSetup | None = None
        if self.convex:
            self._unsplit(JensenTree(problem, name), workspace)
        elif ends is None:
            raise GumdpError(
                f"{name}: branch and bound knows no bound for {problem.objective!r}, which is not convex; if you know "
                "one, say Function(f, bounds=(low, high)), or use the method 'backward-induction'."
            )
        else:
            self._range(problem, ends, workspace)
        kind = _upper_kind(problem, self.convex)
        if kind == RANGE and self.convex:
            ceiling = min(ceiling, _highest(problem))
        self.limits = Limits(float(floor), float(ceiling), kind, CLOSE * self.scale)

    def _unsplit(self, tree: JensenTree, workspace: Any) -> None:
        self._tools, cells = tree.tools, tree.tools.problem.shape[0] * tree.tools.problem.shape[1]
        self.record, self.task, self.scale = self._tools.tangents.record, self._tools.task, self._tools.scale
        self.smoothing, self.low = self._tools.smoothing(), tree.raw
        self.rounds = ROUNDS if cells <= LARGE else FEWER
        workspace.constant[0], workspace.slope[:] = tree.tangent

    def _range(self, problem: Problem, ends: tuple[float, float], workspace: Any) -> None:
        self._worth = Worth(problem)
        number = register(self._worth)
        self.record = PythonTangent(number, number, np.zeros(0))  # is asked for values only: there are no tangents
        open_ = np.append(np.cumsum(problem.weights[::-1])[::-1], 0.0)
        chain = chain_of(check_problem("branch and bound", problem))
        self.task = Task(chain, problem.weights, problem.horizon, open_, np.zeros((0, 0)), 0.0 * open_)
        self.scale, self.smoothing, self.low, self.rounds = max(ends[1] - ends[0], 1e-12), 0.0, ends[0], 0
        workspace.slope[:], workspace.constant[0] = 0.0, ends[0]

    def margin(self, constant: float, steepest: float) -> float:
        """What rounding can add to a lower bound at most."""
        return 0.0 if self._tools is None else self._tools.margin(constant, steepest)


class Worth:
    """f of a flat occupancy, checked."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __call__(self, d: Array) -> float:
        return self.problem.objective(d.reshape(self.problem.shape))


def _upper_kind(problem: Problem, convex: bool) -> int:
    """Where upper bounds come from: without chance from trajectories, else, for convex f, from corners."""
    model = check_problem("branch and bound", problem)
    certain = int(np.diff(model.offsets).max()) == 1
    if certain and (model.start_states.size == 1 or problem.episodes == 1):
        return TRAJECTORY
    return CORNERS if convex and problem.shape[0] * problem.shape[1] <= WIDE else RANGE


def _highest(problem: Problem) -> float:
    """The largest value of a convex f: at one of the corners."""
    highest, d = -np.inf, np.zeros(problem.shape[0] * problem.shape[1])
    for i in range(d.size):
        d[i] = 1.0
        highest = max(highest, problem.value(d.reshape(problem.shape)))
        d[i] = 0.0
    return highest
