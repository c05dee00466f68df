"""A tree search written from scratch: a planner of one's own, in plain Python.

It is the paper's algorithm as one would write it at first: UCB1, one new node in each
iteration, uniform rollouts, mean back-ups, the most visited action.
``gumdp.MCTS.paper()`` is the same, compiled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gumdp


@dataclass
class Node:
    """What the search knows about one state of the occupancy MDP."""

    visits: dict[int, int] = field(default_factory=dict)  # by action
    totals: dict[int, float] = field(default_factory=dict)  # of the returns
    children: dict[tuple[int, Any], Node] = field(
        default_factory=dict
    )  # by action and next state


class UCT(gumdp.Planner):
    """Parameters of the search."""

    def __init__(
        self, iterations: int = 100, exploration: float = math.sqrt(2.0)
    ) -> None:
        self.iterations, self.exploration = iterations, exploration

    def __repr__(self) -> str:
        return f"UCT(iterations={self.iterations})"

    def bind(self, problem: gumdp.Problem, dice: int) -> gumdp.Policy:
        return UCTPolicy(problem, dice, self)


class UCTPolicy(gumdp.Policy):
    """The search at work on one trial."""

    def __init__(self, problem: gumdp.Problem, dice: int, planner: UCT) -> None:
        super().__init__(problem, dice)
        self.planner, self.generator = planner, np.random.default_rng(int(dice))

    def decide(self, state: Any) -> gumdp.Decision:
        root, model = Node(), self.problem.model
        for _ in range(self.planner.iterations):
            self.iterate(root, model.public(state))
        action = max(
            root.visits,
            key=lambda a: (root.visits[a], -root.totals[a] / root.visits[a]),
        )
        return gumdp.Decision(action, model.action_name(action))

    def iterate(self, root: Node, state: Any) -> None:
        """One simulation: down the tree, one new node, a rollout, and back."""
        problem, model, rng = self.problem, self.problem.model, self.generator
        occupancy, node, path = self.occupancy, root, []
        for t in range(self.t, problem.steps):
            if t > self.t and t % problem.horizon == 0:
                state = model.start_state(rng)
            action = (
                self.select(node, state)
                if node
                else int(rng.choice(model.actions(state)))
            )
            occupancy[model.row_of(state), action] += problem.weights[t]
            state = model.sample(state, action, rng)
            if node:
                path.append((node, action))
                known = node.children.get((action, state))
                if known is None:
                    node.children[action, state] = Node()
                node = known
        value = problem.value(occupancy)
        for visited, action in path:
            visited.visits[action] = visited.visits.get(action, 0) + 1
            visited.totals[action] = visited.totals.get(action, 0.0) + value

    def select(self, node: Node, state: Any) -> int:
        """An action that was never tried, or the one of least lower confidence bound."""
        actions = self.problem.model.actions(state)
        untried = [a for a in actions if a not in node.visits]
        if untried:
            return int(self.generator.choice(untried))
        log = math.log(sum(node.visits.values()))

        def bound(a: int) -> float:
            n = node.visits[a]
            return node.totals[a] / n - self.planner.exploration * math.sqrt(log / n)

        return min(actions, key=bound)


gumdp.register_planner(
    "uct",
    UCT,
    {"iterations": int, "exploration": float},
    summary="tree search in plain Python",
)
