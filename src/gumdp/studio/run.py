"""One run, a decision at a time: what ``run_trial`` plays, with the wheel free to be taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.bounds.along import Along
from gumdp.errors import GumdpError
from gumdp.jit.random import mixed, next_rng
from gumdp.models.compiled import next_state, start_state
from gumdp.objectives.compose import part_values
from gumdp.policies.base import Planner, bound
from gumdp.problem import Problem
from gumdp.results import Decision
from gumdp.seeding import streams
from gumdp.studio.scene import action_names
from gumdp.studio.treetop import treetop
from gumdp.studio.words import price, sentence

PACE = 0.04  # seconds between two looks at a decision that takes shape; the search looks up every 0.05

Tell = Callable[[dict[str, Any]], None]


class Run:
    """A trial under way. The same steps as ``run_trial`` with the same seed, and the same bits."""

    def __init__(self, problem: Problem, planner: Planner, seed: int, trial: int, stop: NDArray[np.uint8]) -> None:
        seeds = streams(seed, first=trial)[0]
        self.problem, self.model = problem, problem.model
        self.policy: Any = bound(planner, problem, seeds[1])
        self.policy.stop = stop
        self.tell: Tell | None = None
        self.told = 0.0
        self.names = action_names(self.model)
        self.env_rng = np.uint64(seeds[0])
        self.state = self.model.public(start_state(self.model.compiled(), self.env_rng))
        self.t = 0
        self.decision: Decision | None = None  # of step t, as long as it is not taken
        self.along: Along | None = None  # what no policy can go below, from each step on
        self.actions: list[int] = []
        self.by_hand: dict[int, int] = {}
        self.budgets: dict[int, int] = {}

    def listen(self, tell: Tell | None) -> None:
        """Have ``tell`` told of decisions that take shape; None lets go of the run, whose trees can be large."""
        self.tell = tell
        if hasattr(self.policy, "watch"):
            self.policy.watch(None if tell is None else self._think)

    @property
    def over(self) -> bool:
        """Whether all steps were made."""
        return self.t >= self.problem.steps

    def search_for(self, iterations: int) -> int:
        """Give the search so many iterations from the next decision on, which is of the step that is returned."""
        if not hasattr(self.policy, "search_for"):
            raise GumdpError("this planner does not search, so that it has no budget.")
        self.policy.search_for(iterations)
        step = self.t if self.decision is None else self.t + 1
        self.budgets[step] = iterations
        return step

    def think(self) -> Decision:
        """The planner's decision at this step, which nobody has to follow."""
        if self.decision is None:
            self.decision = self.policy.act(self.state)
        return self.decision

    def take(self, action: int | None = None) -> dict[str, Any]:
        """Take the decision, or another action; return what there is to say of the step."""
        decision = self.think()
        here, t = self.place(), self.t
        if action is not None:
            self.policy.tell(action)
            self.by_hand[t] = action
        taken = decision.action if action is None else action
        top = treetop(self.policy)
        self.actions.append(taken)
        self._move(taken)
        return {
            "t": t,
            "cell": here["cell"],
            "state": here["state"],
            "action": taken,
            "hand": action is not None,
            "price": price(decision, taken),
            "cost": self.cost(),
            "floor": self.floor(),
            "totals": self.policy.totals,
            "next": self.place(),
            **self.evidence(decision, top),
        }

    def _move(self, action: int) -> None:
        """The environment's turn, as ``run_trial`` has it."""
        self.env_rng = np.uint64(next_rng(self.env_rng))
        record = self.model.compiled()
        self.state = self.model.public(
            next_state(record, self.model.state(self.state), np.uint64(action), self.env_rng)
        )
        if self.problem.features is not None:
            self.policy.arrived(self.state, bits=int(mixed(self.env_rng)))
        self.t, self.decision = self.t + 1, None
        if not self.over and self.t % self.problem.horizon == 0:
            self.env_rng = np.uint64(next_rng(self.env_rng))
            self.state = self.model.public(start_state(record, self.env_rng))

    def place(self) -> dict[str, Any]:
        """Where it is now, and what can be done there."""
        s = self.model.state(self.state)
        compiled = self.model.compiled()
        allowed = [a for a in range(len(self.names)) if compiled.allowed(s, a)]
        return {"cell": int(compiled.cell(s)), "state": _numbers(self.state), "allowed": allowed}

    def cost(self) -> float:
        """The objective of what happened so far, as if the trial ended here."""
        problem, weights = self.problem, self.problem.weights
        if problem.features is None:
            occupancy = self.policy.occupancy
            return float(problem.value(occupancy / occupancy.sum()))
        share = weights[: self.t].sum() / weights.sum() if problem.scale == "mean" else 1.0
        return float(problem.value(np.array(list(self.policy.totals.values())) / share))

    def floor(self) -> float | None:
        """What no policy can end below on average, given what happened so far; None if nobody asked."""
        if self.along is None:
            return None
        return self.along(self.t, int(self.model.state(self.state)), self.policy.occupancy)

    def end(self) -> dict[str, Any]:
        """The value of the trial that is over, with its parts."""
        pairs = self.problem.features is None
        parts = part_values(self.problem.objective, self.policy.occupancy) if pairs else {}
        return {"value": self.policy.worth(), "parts": parts}

    def evidence(self, decision: Decision, top: Any) -> dict[str, Any]:
        """What a decision rests on."""
        return {
            "advice": decision.action,
            "values": decision.values,
            "errors": decision.errors,
            "visits": decision.visits,
            "iterations": decision.iterations,
            "nodes": decision.nodes,
            "depth": decision.depth,
            "seconds": decision.seconds,
            "forecast": decision.value if decision.plan is None else decision.plan,
            "proved": decision.proved,
            "why": sentence(decision, self.names),
            "top": top,
        }

    def _think(self, decision: Decision) -> None:
        """Tell of a decision that takes shape, not too often."""
        now = time.perf_counter()
        if self.tell is not None and now - self.told >= PACE:
            self.told = now
            self.tell({"say": "think", "t": self.t, **self.evidence(decision, treetop(self.policy))})


def _numbers(state: Any) -> list[float] | None:
    """A continuous state; None for the number of a state in a table."""
    return [float(x) for x in state] if isinstance(state, (tuple, list, np.ndarray)) else None
