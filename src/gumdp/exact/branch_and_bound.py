"""Branch and bound over the occupancy MDP: the optimum where it can be proved, and how much is open where not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.average.rest import Instruments
from gumdp.average.rest_kernels import Task, new_desk
from gumdp.bounds.distinct import distinct_bound
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.history_tree_kernels import Rules
from gumdp.errors import GumdpError
from gumdp.exact.branch_kernels import (
    CORNERS,
    RANGE,
    TRAJECTORY,
    Limits,
    branch,
    enlarged_net,
    judge,
    new_net,
    revise,
    search,
)
from gumdp.exact.merging import merging_of
from gumdp.jit.callback import register, reraise
from gumdp.models.chain import chain_of
from gumdp.objectives.base import Array
from gumdp.objectives.tangent import PythonTangent
from gumdp.problem import Problem, check_problem

MEMORY = 1 << 30  # bytes that a net may take
CLOSE = 1e-12  # bounds this close to each other, relative to how much the objective varies, are one value
ROUNDS, FEWER, LARGE = 10, 3, 1000  # tangents tried at a node, and where there are more than LARGE pairs
WIDE = 300  # pairs up to which f is asked at every corner
PATIENCE = 0.1  # seconds after which a search looks up from its work


class BranchAndBound:
    """A search for the optimum that can be stopped at any time: between ``lower`` and ``upper`` it is."""

    def __init__(self, problem: Problem, name: str = "solve_exact") -> None:
        model = check_problem(name, problem)
        self.problem, self.name, cells = problem, name, problem.shape[0] * problem.shape[1]
        self.desk = new_desk(problem.shape, problem.steps)
        self.kit = Kit(problem, name, self.desk)
        self.merging, width, self.steepness = merging_of(problem, self.kit.record)
        children = np.diff(model.offsets).reshape(problem.shape).sum(axis=1).max()
        self.widest = int(max(children, problem.shape[1] * model.start_states.size)) + 1
        measures = len(self.merging.rows)
        each = 8 * (cells + width + measures) + 80 + 32  # and an edge or two
        self.most = max(4 * self.widest, MEMORY // each)
        room = min(self.most, 4 * self.widest + 64)
        self.net = new_net(room, room, cells, width, measures)
        self.path = np.zeros(problem.steps + 2, np.int64)
        self.expanded, self._checked, self._largest = 0, 0, (0.0, 0.0)
        self._root()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("kit", "desk")}  # records belong to their process

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.desk = new_desk(self.problem.shape, self.problem.steps)
        self.kit = Kit(self.problem, self.name, self.desk)

    def _root(self) -> None:
        net, kit = self.net, self.kit
        net.state[0], net.action[0], net.parent[0], net.step[0] = -1, -1, -1, 0
        net.key[0], net.first[0], net.last[0], net.code[0] = -1, -1, -1, 0
        net.slope[0], net.constant[0] = self.desk.slope, self.desk.constant[0]
        net.bound[0], net.upper[0] = max(kit.low, kit.limits.floor), kit.limits.ceiling
        net.size[:] = 1, 0
        rules = Rules(ROUNDS if kit.convex else 0, 1e-9 * kit.scale, kit.blur)
        branch(kit.task, self.merging, net, 0)
        for node in range(1, self.nodes):
            judge(kit.record, kit.task, net, self.desk, rules, kit.limits, node)
        revise(net, 0)
        self.expanded = 1
        self._check()

    @property
    def nodes(self) -> int:
        """States of the occupancy MDP that were looked at."""
        return int(self.net.size[0])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many of them there are at each step."""
        return np.bincount(self.net.step[1 : self.nodes], minlength=self.problem.steps).astype(np.int64)

    @property
    def optimal(self) -> bool:
        """Whether the bounds have met."""
        return not self.net.upper[0] - self.net.bound[0] > self.kit.limits.close

    @property
    def upper(self) -> float:
        """What the best policy found is worth at most, up to rounding."""
        return float(self.net.upper[0])

    @property
    def lower(self) -> float:
        """What no policy is below, rounding allowed for."""
        slack = self.kit.margin(*self._largest)
        slack += self.problem.steps * float(self.net.drift[0]) * self.steepness
        return min(self.upper, max(self.kit.limits.floor, float(self.net.bound[0]) - slack))

    def run(self, nodes: int | None, deadline: float) -> Iterator[int]:
        """Search until the bounds meet, so many nodes, the deadline, or the end of memory; yield the nodes so far."""
        limit = self.most if nodes is None else min(nodes, self.most)
        kit, times = self.kit, 8
        rules = Rules(kit.rounds, 1e-9 * kit.scale, kit.blur)
        while self.nodes + self.widest <= limit and not self.optimal and time.perf_counter() < deadline:
            count = max(1, min(times, (limit - self.nodes) // self.widest))
            self._make_room(count * self.widest)
            began = time.perf_counter()
            done = search(
                kit.record, kit.task, self.merging, self.net, self.desk, rules, kit.limits, self.path, count
            )  # fmt: skip
            self.expanded += int(done)
            self._check()
            yield self.nodes
            spent = time.perf_counter() - began
            left = min(PATIENCE, max(0.0, deadline - time.perf_counter()))
            times = max(1, min(2 * count, int(count * left / max(spent, 1e-9))))

    def _make_room(self, more: int) -> None:
        nodes, edges = (int(size) + more for size in self.net.size)
        room, links = self.net.state.size, self.net.edge_node.size
        if nodes > room or edges > links:
            room = room if nodes <= room else max(nodes, 2 * room)
            self.net = enlarged_net(self.net, room, links if edges <= links else max(edges, 2 * links))

    def _check(self) -> None:
        """Look at the new nodes: whether they have values, and how large their tangents are."""
        reraise()
        fresh = slice(self._checked, self.nodes)
        if np.isnan(self.net.upper[fresh]).any():
            raise GumdpError(
                f"the objective {self.problem.objective!r} is not a number at an occupancy that can come about."
            )
        constant, slope = self.net.constant[fresh], self.net.slope[fresh]
        self._largest = (
            max(self._largest[0], float(np.abs(constant).max(initial=0.0))),
            max(self._largest[1], float(slope.max(initial=0.0)), -float(slope.min(initial=0.0))),
        )
        self._checked = self.nodes


class Kit:
    """What a search works with: bounds of the objective, ready for the kernels. ``desk`` gets the first tangent."""

    def __init__(self, problem: Problem, name: str, desk: Any) -> None:
        self.problem = problem
        ends = problem.objective.bounds(problem.shape)
        spread = distinct_bound(problem)
        floor = max(-np.inf if spread is None else spread, -np.inf if ends is None else ends[0])
        ceiling = np.inf if ends is None else ends[1]
        self.convex = problem.objective.convex
        self._tools: Instruments | None = None
        if self.convex:
            self._bend(JensenTree(problem, name), desk)
        elif ends is None:
            raise GumdpError(
                f"{name}: branch and bound knows no bound for {problem.objective!r}, which is not convex; if you know "
                "one, say Function(f, bounds=(low, high)), or use the method 'backward-induction'."
            )
        else:
            self._range(problem, ends, desk)
        kind = _upper_kind(problem, self.convex)
        if kind == RANGE and self.convex:
            ceiling = min(ceiling, _highest(problem))
        self.limits = Limits(float(floor), float(ceiling), kind, CLOSE * self.scale)

    def _bend(self, tree: JensenTree, desk: Any) -> None:
        self._tools, cells = tree.tools, tree.tools.problem.shape[0] * tree.tools.problem.shape[1]
        self.record, self.task, self.scale = self._tools.tangents.record, self._tools.task, self._tools.scale
        self.blur, self.low = self._tools.blur(), tree.raw
        self.rounds = ROUNDS if cells <= LARGE else FEWER
        desk.constant[0], desk.slope[:] = tree.tangent

    def _range(self, problem: Problem, ends: tuple[float, float], desk: Any) -> None:
        self._worth = Worth(problem)
        number = register(self._worth)
        self.record = PythonTangent(number, number, np.zeros(0))  # is asked for values only: there are no tangents
        open_ = np.append(np.cumsum(problem.weights[::-1])[::-1], 0.0)
        chain = chain_of(check_problem("branch and bound", problem))
        self.task = Task(chain, problem.weights, problem.horizon, open_, np.zeros((0, 0)), 0.0 * open_)
        self.scale, self.blur, self.low, self.rounds = max(ends[1] - ends[0], 1e-12), 0.0, ends[0], 0
        desk.slope[:], desk.constant[0] = 0.0, ends[0]

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
