"""Values of trials without most of their luck."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gumdp.average.rest_kernels import new_workspace
from gumdp.bounds.decomposition_tree import ValueFunction
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.history_tree_kernels import Rules
from gumdp.bounds.paths import Starts
from gumdp.jit.callback import reraise
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Array
from gumdp.policies.base import Planner, Policy, Seeds
from gumdp.problem import Problem
from gumdp.run.control_variate_kernels import luck
from gumdp.run.evaluate import play_trial

ROUNDS = 6
OPEN = 0.01  # the open mass below which chance changes too little to be looked at


class Controlled(Planner):
    """A planner whose trials are valued without the luck they had: with the same mean, and closer to it.

    ``source`` says how lucky a trial was: Jensen's bound, the value function of a decomposition, or bounds of single
    starts. ``raw`` collects the values as they really were.
    """

    def __init__(self, planner: Planner, source: JensenTree | ValueFunction | Starts) -> None:
        self.planner = planner
        self.luck = JensenLuck(source) if isinstance(source, JensenTree) else source.luck
        self.raw: dict[int, float] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.planner.name

    def bind(self, problem: Problem, dice: Any) -> Policy:
        return self.planner.bind(problem, dice)

    def trials(self, problem: Problem, seeds: Seeds, stop: Any) -> Array:
        values = np.empty(len(seeds))
        for k, pair in enumerate(seeds):
            trial = play_trial(problem, self.planner, pair, stop=stop)
            states = trial.cells if isinstance(problem.model, Tabular) else trial.states
            values[k] = trial.value - self.luck(states, trial.actions)
            with self._lock:
                self.raw[int(pair[0])] = trial.value
        return values


class JensenLuck:
    """How lucky a trial was, as Jensen's bound sees it."""

    def __init__(self, tree: JensenTree) -> None:
        self.tools = tree.tools
        self.constant, self.slope = tree.tangent
        self.steps = int(np.count_nonzero(self.tools.task.open > OPEN))

    def __call__(self, states: Any, actions: Any) -> float:
        problem, tools = self.tools.problem, self.tools
        workspace = new_workspace(problem.shape, problem.steps)
        workspace.slope[:], workspace.constant[0] = self.slope, self.constant
        rules = Rules(ROUNDS, 1e-5 * tools.scale, tools.smoothing())
        cells = problem.shape[0] * problem.shape[1]
        total = luck(
            tools.tangents.record, tools.task, states, actions, np.zeros(cells), np.zeros(cells), workspace, rules,
            self.steps,
        )  # fmt: skip
        reraise()
        return float(total)
