"""The occupancy MDP: an ordinary Markov decision process whose state remembers the running occupancy.

This is the specification, written to be read. ``gumdp.solve_exact`` solves the same thing compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gumdp.errors import GumdpError
from gumdp.objectives.base import Array
from gumdp.problem import Problem, check_problem


class OccupancyState(NamedTuple):
    """A state (s, o, t): where one is, the running occupancy so far, and how many steps were made."""

    state: int
    running: tuple[float, ...]  # [S·A], row by row, not normalised: o(s,a) = Σ_{k<t} γ^k 1(s_k = s, a_k = a)
    step: int


class OccupancyMDP:
    """The finite-horizon MDP whose optimal policies are the optimal policies of a single-trial problem.

    States are (s, o, t), actions those of the model, s moves as in the model and o by ``sigma``. Nothing costs
    anything until the last step is made; then the cost is f(scale · o), with the scale that makes the mass 1.
    In a problem of several episodes the weight of a step is γ to the power of its place in its episode, and
    after the last step of an episode the next state is drawn from the start distribution.

    The paper leaves t out, since the sum of o tells it; it stands here because with rounding and several
    episodes reading it off is needless work. It also identifies states with histories, which does not hold for
    every discount (see ``gumdp.theory.history_of``) and is not needed: (s, o, t) is Markov in any case.

    >>> import gumdp
    >>> model = gumdp.Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
    >>> process = OccupancyMDP(gumdp.Problem(model, gumdp.Entropy(), discount=0.5, horizon=2))
    >>> [(p, first)] = process.initial()
    >>> first
    OccupancyState(state=0, running=(0.0, 0.0, 0.0, 0.0), step=0)
    >>> for p, following in process.transitions(first, action=0): print(p, following)
    0.5 OccupancyState(state=0, running=(1.0, 0.0, 0.0, 0.0), step=1)
    0.5 OccupancyState(state=1, running=(1.0, 0.0, 0.0, 0.0), step=1)
    """

    def __init__(self, problem: Problem) -> None:
        self.model = check_problem("OccupancyMDP", problem)
        self.problem = problem
        self.weights = np.tile(problem.discount ** np.arange(problem.horizon, dtype=np.float64), problem.episodes)
        self.scale = 1.0 / self.weights.sum()

    def __repr__(self) -> str:
        return f"OccupancyMDP({self.problem!r})"

    def initial(self) -> list[tuple[float, OccupancyState]]:
        """The states in which a trial can start, with their probabilities."""
        nothing = (0.0,) * (self.problem.shape[0] * self.problem.shape[1])
        return [(p, OccupancyState(s, nothing, 0)) for p, s in self._restarts()]

    def actions(self, state: OccupancyState) -> list[int]:
        """The actions that are available in a state; none once the trial is over."""
        if self.is_terminal(state):
            return []
        available = self.model.available
        return [a for a in range(self.problem.shape[1]) if available is None or available[state.state, a]]

    def sigma(self, s: int, o: tuple[float, ...], a: int, t: int) -> tuple[float, ...]:
        """The running occupancy after action ``a`` in state ``s`` at step ``t``: γ^t more at (s, a).

        >>> import gumdp
        >>> process = OccupancyMDP(gumdp.zoo.load("m1-entropy", discount=0.5))
        >>> process.sigma(0, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), 1, 1)
        (1.0, 0.5, 0.0, 0.0, 0.0, 0.0)
        """
        pair = s * self.problem.shape[1] + a
        return (*o[:pair], o[pair] + float(self.weights[t]), *o[pair + 1 :])

    def transitions(self, state: OccupancyState, action: int) -> list[tuple[float, OccupancyState]]:
        """The states that can follow, with their probabilities."""
        if action not in self.actions(state):
            raise GumdpError(
                f"OccupancyMDP: action {action!r} is not available in state {state.state} at step {state.step}."
            )
        s, o, t = state
        after = self.sigma(s, o, action, t)
        if (t + 1) % self.problem.horizon == 0 and t + 1 < self.problem.steps:
            following = self._restarts()  # the next episode begins
        else:
            successors, probabilities = self.model.row(s, action)
            following = [(float(p), int(successor)) for successor, p in zip(successors, probabilities, strict=True)]
        return [(p, OccupancyState(successor, after, t + 1)) for p, successor in following]

    def is_terminal(self, state: OccupancyState) -> bool:
        """Whether all steps were made."""
        return state.step >= self.problem.steps

    def occupancy(self, state: OccupancyState) -> Array:
        """The running occupancy as an array [S, A], on the scale on which that of a whole trial sums to 1."""
        running: Array = np.array(state.running).reshape(self.problem.shape)
        running *= self.scale
        return running

    def terminal_cost(self, state: OccupancyState) -> float:
        """f of the occupancy once all steps were made, else 0.

        >>> import gumdp
        >>> process = OccupancyMDP(gumdp.zoo.load("m1-entropy", discount=1.0, horizon=2))
        >>> process.terminal_cost(OccupancyState(0, (2.0, 0.0, 0.0, 0.0, 0.0, 0.0), 2))
        1.0
        """
        return self.problem.value(self.occupancy(state)) if self.is_terminal(state) else 0.0

    def action_values(self, state: OccupancyState, value: Callable[[OccupancyState], float]) -> dict[int, float]:
        """Q(state, a) = Σ P(next) · value(next) for each available action."""
        return {
            a: sum(p * value(following) for p, following in self.transitions(state, a)) for a in self.actions(state)
        }

    def backup(self, state: OccupancyState, value: Callable[[OccupancyState], float]) -> float:
        """The Bellman backup: min_a Σ P(next) · value(next), or the terminal cost where the trial is over.

        >>> import gumdp
        >>> process = OccupancyMDP(gumdp.zoo.load("m1-entropy", horizon=3))
        >>> optimal = lambda state: process.backup(state, optimal)
        >>> round(sum(p * optimal(state) for p, state in process.initial()), 6)
        0.389521
        """
        if self.is_terminal(state):
            return self.terminal_cost(state)
        return min(self.action_values(state, value).values())

    def _restarts(self) -> list[tuple[float, int]]:
        starts = zip(self.model.start_probabilities, self.model.start_states, strict=True)
        return [(float(p), int(s)) for p, s in starts]
