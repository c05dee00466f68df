"""A planner of one's own: try every action some times, then go on at random."""

import numpy as np

import gumdp


class Rollout(gumdp.Planner):
    """Rollouts without a tree: Tesauro and Galperin (1996)."""

    def __init__(self, samples: int = 10) -> None:
        self.samples = samples

    def __repr__(self) -> str:
        return f"Rollout(samples={self.samples})"

    def bind(self, problem, dice):
        return RolloutPolicy(problem, dice, self.samples)


class RolloutPolicy(gumdp.Policy):
    """The planner at work on one trial."""

    def __init__(self, problem, dice, samples):
        super().__init__(problem, dice)
        self.samples, self.rng = samples, np.random.default_rng(int(dice))

    def decide(self, state):
        means = {
            a: np.mean([self.cost(state, a) for _ in range(self.samples)])
            for a in self.problem.model.actions(state)
        }
        return gumdp.Decision(min(means, key=means.get))

    def cost(self, state, action):
        """What this run would cost, if it went on with this action and then at random."""
        model, occupancy = self.problem.model, self.occupancy
        for weight in self.problem.weights[self.t :]:
            occupancy[model.row_of(state), action] += weight
            state = model.sample(state, action, self.rng)
            action = self.rng.choice(model.actions(state))
        return self.problem.value(occupancy)


gumdp.register_planner(
    "rollout", Rollout, {"samples": int}, summary="every action tried some times"
)
