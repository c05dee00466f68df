"""The paper's search as one would write it at first: node objects, dictionaries, the occupancy MDP step by step.

It is the readable specification of ``MCTS.paper()`` and the yardstick of its speed, and is imported by
the tests and by the benchmarks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

State = tuple[int, np.ndarray, int]  # of the occupancy MDP: a state, a running occupancy and a step


class Node:
    """What the search knows about one state of the occupancy MDP."""

    def __init__(self, state: State, actions: int) -> None:
        self.state = state
        self.visits = [0] * actions
        self.totals = [0.0] * actions
        self.children: dict[tuple[int, int], Node] = {}  # (action, next state)


class ReferenceSearch:
    """UCB1, one node an iteration, uniform rollouts, mean back-up, the most visited action."""

    def __init__(self, problem: Any, exploration: float = math.sqrt(2.0), seed: int = 0) -> None:
        self.problem = problem
        self.states, self.actions = problem.shape
        self.transitions = problem.model.dense()
        self.exploration = exploration
        self.rng = np.random.default_rng(seed)

    def step(self, state: State, action: int) -> State:
        """The next state of the occupancy MDP."""
        s, occupancy, t = state
        occupancy = occupancy.copy()
        occupancy[s, action] += self.problem.weights[t]
        return int(self.rng.choice(self.states, p=self.transitions[s, action])), occupancy, t + 1

    def is_over(self, state: State) -> bool:
        return state[2] == self.problem.steps

    def cost(self, state: State) -> float:
        return self.problem.value(state[1])

    def select(self, node: Node) -> int:
        untried = [a for a, n in enumerate(node.visits) if n == 0]
        if untried:
            return int(self.rng.choice(untried))
        log = math.log(sum(node.visits))

        def bound(a: int) -> float:
            return node.totals[a] / node.visits[a] - self.exploration * math.sqrt(log / node.visits[a])

        return min(range(self.actions), key=bound)

    def rollout(self, state: State) -> float:
        while not self.is_over(state):
            state = self.step(state, int(self.rng.integers(self.actions)))
        return self.cost(state)

    def iterate(self, root: Node) -> None:
        node, path = root, []
        while True:
            action = self.select(node)
            path.append((node, action))
            state = self.step(node.state, action)
            if self.is_over(state):
                break
            if (action, state[0]) not in node.children:
                node.children[action, state[0]] = Node(state, self.actions)
                break
            node = node.children[action, state[0]]
        value = self.rollout(state)
        for visited, action in path:
            visited.visits[action] += 1
            visited.totals[action] += value

    def search(self, state: State, iterations: int) -> Node:
        root = Node(state, self.actions)
        for _ in range(iterations):
            self.iterate(root)
        return root

    def trial(self, iterations: int) -> float:
        """The value of one trial of a single episode."""
        start = int(self.rng.choice(self.states, p=self.problem.model.start))
        state: State = (start, np.zeros(self.problem.shape), 0)
        while not self.is_over(state):
            state = self.step(state, self.recommend(self.search(state, iterations)))
        return self.cost(state)

    def recommend(self, root: Node) -> int:
        """The most visited action; among those, the one of least mean."""
        tried = [a for a in range(self.actions) if root.visits[a]]
        return min(tried, key=lambda a: (-root.visits[a], root.totals[a] / root.visits[a]))
