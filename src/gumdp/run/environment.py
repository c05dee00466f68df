"""The occupancy MDP as a Gymnasium environment, for any library that learns in one.

Importing this module registers ``gumdp/Occupancy-v0``; ``gymnasium.make("gumdp.environment:gumdp/Occupancy-v0",
problem="m1-entropy")`` imports it by itself.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gumdp.errors import GumdpError, check_float, check_int, unknown
from gumdp.models.compiled import next_state, start_state
from gumdp.models.simulator import Simulator
from gumdp.problem import Problem

SHAPING = ("none", "progress")


class OccupancyEnv(gymnasium.Env[dict[str, Any], np.int64]):  # type: ignore[misc]
    """An episode is one trial: reward 0 until its last step, and then -f(d).

    Observations are ``state`` (its number, or the continuous state of a simulator), ``occupancy`` [S, A], the running
    occupancy, and ``time``, the steps made. Together they are all that the best policy needs to know.

    Args:
        problem: a ``Problem``, or the name of one in the zoo.
        shaping: with ``"progress"`` each step pays discount·Φ(after) - Φ(before) on top, Φ being -f of the running
            occupancy scaled to mass 1, and 0 at the beginning and at the end: such a potential leaves the best
            policy what it is.
        discount: the discount of whoever learns, for the shaping.

    >>> env = OccupancyEnv("m1-entropy")
    >>> observation, _ = env.reset(seed=0)
    >>> sorted(observation), observation["state"], observation["time"]
    (['occupancy', 'state', 'time'], np.int64(0), np.int64(0))
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        problem: Problem | str,
        shaping: str = "none",
        discount: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        if isinstance(problem, str):
            from gumdp.zoo import load

            problem = load(problem)
        if not isinstance(problem, Problem):
            raise GumdpError(f"OccupancyEnv: problem must be a Problem or a name, not {type(problem).__name__}.")
        if shaping not in SHAPING:
            raise unknown("shaping", shaping, SHAPING)
        if render_mode is not None:
            raise GumdpError(f"OccupancyEnv: nothing is drawn, so that render_mode must be None, not {render_mode!r}.")
        self.problem = problem
        self.shaping = shaping == "progress"
        self.discount = check_float("OccupancyEnv: discount", discount, 0.0, 1.0)
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(problem.shape[1])
        self.observation_space = spaces.Dict(
            {
                "state": self._state_space(),
                "occupancy": spaces.Box(0.0, 1.0, problem.shape, np.float64),
                "time": spaces.Discrete(problem.steps + 1),
            }
        )
        self._world = problem.model.compiled()
        self._state: Any = None
        self._time = problem.steps
        self._occupancy = np.zeros(problem.shape)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self._begin()
        self._time = 0
        self._occupancy = np.zeros(self.problem.shape)
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        if self._time >= self.problem.steps:
            raise GumdpError("OccupancyEnv: there is no trial under way; call reset first.")
        number = check_int("OccupancyEnv: action", action, 0)
        if not self.action_space.contains(number):
            raise GumdpError(f"OccupancyEnv: action must be below {self.problem.shape[1]}, not {number}.")
        allowed = self.problem.model.available
        if allowed is not None and not allowed[self._cell, number]:
            raise GumdpError(f"OccupancyEnv: action {number} is not available in state {self._cell}.")
        before = self._potential()
        self._occupancy[self._cell, number] += self.problem.weights[self._time]
        self._time += 1
        over = self._time == self.problem.steps
        if not over and self._time % self.problem.horizon == 0:
            self._begin()
        elif not over:
            model = self.problem.model
            after = next_state(self._world, model.state(self._state), np.uint64(number), self._bits())
            self._state = model.public(after)
        reward = -self.problem.value(self._occupancy) if over else 0.0
        if self.shaping:
            reward += (0.0 if over else self.discount * self._potential()) - before
        return self._observation(), reward, over, False, self._info()

    @property
    def _cell(self) -> int:
        return int(self._world.cell(self.problem.model.state(self._state)))

    def _begin(self) -> None:
        self._state = self.problem.model.public(start_state(self._world, self._bits()))

    def _bits(self) -> np.uint64:
        return np.uint64(self.np_random.integers(2**64, dtype=np.uint64))

    def _potential(self) -> float:
        mass = self._occupancy.sum()
        return 0.0 if mass == 0.0 or not self.shaping else -self.problem.value(self._occupancy / mass)

    def _state_space(self) -> Any:
        model = self.problem.model
        if isinstance(model, Simulator):
            return spaces.Box(-np.inf, np.inf, (len(model.first),), np.float64)
        return spaces.Discrete(model.shape[0])

    def _observation(self) -> dict[str, Any]:
        shown: Any = np.int64(self._cell)
        if isinstance(self.problem.model, Simulator):
            shown = np.array(self._state)
        return {
            "state": shown,
            "occupancy": np.minimum(self._occupancy, 1.0),  # the last digit of a sum may exceed it
            "time": np.int64(self._time),
        }

    def _info(self) -> dict[str, NDArray[np.int8]]:
        allowed = self.problem.model.available
        return {} if allowed is None else {"action_mask": allowed[self._cell].astype(np.int8)}


gymnasium.register(id="gumdp/Occupancy-v0", entry_point="gumdp.run.environment:OccupancyEnv")
