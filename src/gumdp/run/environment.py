"""The occupancy MDP as a Gymnasium environment, for any library that learns in one.

``import gumdp`` registers it with Gymnasium: ``gymnasium.make("gumdp/Occupancy-v0", problem="m1-entropy")``; where
nobody has imported it, ``gymnasium.make("gumdp:gumdp/Occupancy-v0", …)`` does.
"""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gumdp.counts.hashed import Hashed
from gumdp.counts.running import commit_step
from gumdp.errors import GumdpError, check_bool, check_float, check_int, one_of, show
from gumdp.jit.random import mixed
from gumdp.models.compiled import next_state, start_state
from gumdp.models.simulator import Simulator
from gumdp.problem import Problem
from gumdp.registration import register

SHAPING = ("none", "progress")
UNAVAILABLE = ("replace", "refuse")


class OccupancyEnv(gymnasium.Env[Any, np.int64]):  # type: ignore[misc]
    """An episode is one trial: reward 0 until its last step, and then -f(d).

    Observations are ``state`` (its number, or the continuous state of a simulator), ``occupancy`` [S, A], the running
    occupancy, and ``time``, the steps made. Together they are all that the best policy needs to know. Where the problem
    counts features, ``totals`` [k] take the place of the occupancy.

    Args:
        problem: a ``Problem``, or the name of one in the zoo; or a dictionary of all these arguments, which is what
            RLlib makes of its ``env_config``.
        shaping: with ``"progress"`` each step pays discount·Φ(after) - Φ(before) on top, Φ being -f of the running
            occupancy scaled to mass 1, and 0 at the beginning and at the end: such a potential leaves the best
            policy what it is.
        discount: the discount of whoever learns, for the shaping.
        unavailable: an action that there is not in a state is ``"replace"``d by the next that there is (counted in the
            action that is taken, ``info["action"]``), or ``"refuse"``d with an error. ``action_masks()`` and
            ``info["action_mask"]`` say which there are.
        flat: observations as one vector, for libraries that want one: the state (one place for each, or its
            coordinates), the occupancy row by row, and the share of steps made.

    >>> env = OccupancyEnv("m1-entropy")
    >>> observation, _ = env.reset(seed=0)
    >>> sorted(observation), observation["state"], observation["time"]
    (['occupancy', 'state', 'time'], np.int64(0), np.int64(0))
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        problem: Problem | str | dict[str, Any],
        shaping: str = "none",
        discount: float = 1.0,
        unavailable: str = "replace",
        flat: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if isinstance(problem, dict):  # RLlib hands over all arguments in one
            OccupancyEnv.__init__(self, **_arguments(problem))
            return
        if isinstance(problem, str):
            from gumdp.zoo import load

            problem = load(problem)
        if not isinstance(problem, Problem):
            raise GumdpError(f"OccupancyEnv: problem must be a Problem or a name, not {type(problem).__name__}.")
        one_of("shaping", shaping, SHAPING)
        one_of("unavailable", unavailable, UNAVAILABLE)
        if render_mode is not None:
            raise GumdpError(f"OccupancyEnv: nothing is drawn, so render_mode must be None, not {show(render_mode)}.")
        self.problem = problem
        self.shaping = shaping == "progress"
        self.discount = check_float("OccupancyEnv: discount", discount, 0.0, 1.0)
        self.refuses = unavailable == "refuse"
        self.flat = check_bool("OccupancyEnv: flat", flat)
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(problem.shape[1])
        parts = {"state": self._state_space(), **self._counted_space(), "time": spaces.Discrete(problem.steps + 1)}
        self.observation_space = self._vectors(parts["state"]) if self.flat else spaces.Dict(parts)
        self._world = problem.model.compiled()
        self._state: Any = None
        self._time = problem.steps
        self._running, self._occupancy = self._empty()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._begin()
        self._time = 0
        self._running, self._occupancy = self._empty()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._time >= self.problem.steps:
            raise GumdpError("OccupancyEnv: there is no trial under way; call reset first.")
        number = check_int("OccupancyEnv: action", action, 0)
        if not self.action_space.contains(number):
            raise GumdpError(f"OccupancyEnv: action must be below {self.problem.shape[1]}, not {show(number)}.")
        number = self._taken(number)
        before = self._potential()
        if self._running is None:
            self._occupancy[self._cell, number] += self.problem.weights[self._time]
        self._time += 1
        over = self._time == self.problem.steps
        fresh = self._time % self.problem.horizon == 0
        if self._running is not None or not (over or fresh):
            model, bits = self.problem.model, self._bits()
            before_step = model.state(self._state)
            after = next_state(self._world, before_step, np.uint64(number), bits)
            self._count(before_step, number, after, bits)
            self._state = model.public(after)
        if fresh and not over:
            self._begin()
        reward = -self.problem.value(self._occupancy) if over else 0.0
        if self.shaping:
            reward += (0.0 if over else self.discount * self._potential()) - before
        return self._observation(), reward, over, False, self._info() | {"action": number}

    def _empty(self) -> tuple[Any, Any]:
        """Running totals, where totals are counted, and what is shown of what was counted so far: nothing."""
        if self.problem.features is None:
            return None, np.zeros(self.problem.shape)
        running = self.problem.running()
        return running, running.root

    def _count(self, s: Any, action: int, after: Any, bits: np.uint64) -> None:
        if self._running is not None:
            weight = self.problem.weights[self._time - 1]
            chance = np.uint64(mixed(bits))
            commit_step(self.problem.record, self._running, self._world, s, action, after, chance, weight)

    def _counted_space(self) -> dict[str, Any]:
        if isinstance(self.problem.counts, Hashed):
            raise GumdpError("OccupancyEnv: hashed cells can't be shown as a table; count features, or pairs.")
        if self.problem.features is not None:
            return {"totals": spaces.Box(-np.inf, np.inf, (self.problem.features.kinds,), np.float64)}
        return {"occupancy": spaces.Box(0.0, 1.0, self.problem.shape, np.float64)}

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions there are in the state now: what MaskablePPO asks for."""
        mask = np.zeros(self.problem.shape[1], bool)
        mask[self.problem.model.actions(self._state)] = True
        return mask

    def _taken(self, number: int) -> int:
        """The action, or the next that there is."""
        allowed = self.action_masks()
        if allowed[number]:
            return number
        if self.refuses:
            raise GumdpError(f"OccupancyEnv: action {number} is not available in state {self._cell}.")
        return int((number + np.argmax(np.roll(allowed, -number))) % self.problem.shape[1])

    @property
    def _cell(self) -> int:
        return int(self._world.cell(self.problem.model.state(self._state)))

    def _begin(self) -> None:
        self._state = self.problem.model.public(start_state(self._world, self._bits()))

    def _bits(self) -> np.uint64:
        return np.uint64(self.np_random.integers(2**64, dtype=np.uint64))

    def _potential(self) -> float:
        if self._running is not None:  # of totals as they are
            return -self.problem.value(self._occupancy) if self.shaping and self._time > 0 else 0.0
        mass = self._occupancy.sum()
        return 0.0 if mass == 0.0 or not self.shaping else -self.problem.value(self._occupancy / mass)

    def _state_space(self) -> Any:
        model = self.problem.model
        if isinstance(model, Simulator):
            return spaces.Box(-np.inf, np.inf, (len(model.first),), np.float64)
        return spaces.Discrete(model.shape[0])

    def _vectors(self, state: Any) -> Any:
        """The space of flat observations."""
        low, high = (np.zeros(state.n), np.ones(state.n)) if hasattr(state, "n") else (state.low, state.high)
        features = self.problem.features
        ends = (np.zeros(self._occupancy_size), np.ones(self._occupancy_size))
        if features is not None:
            ends = (np.full(features.kinds, -np.inf), np.full(features.kinds, np.inf))
        low, high = np.concatenate([low, ends[0], [0.0]]), np.concatenate([high, ends[1], [1.0]])
        return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    @property
    def _occupancy_size(self) -> int:
        return self.problem.shape[0] * self.problem.shape[1]

    def _observation(self) -> Any:
        shown: Any = np.int64(self._cell)
        if isinstance(self.problem.model, Simulator):
            shown = np.array(self._state)
        if self.flat:
            where = shown if np.ndim(shown) else np.eye(1, self.problem.shape[0], int(shown))[0]
            counted = self._occupancy if self._running is not None else np.minimum(self._occupancy.ravel(), 1.0)
            parts = [where, counted, [self._time / self.problem.steps]]
            return np.concatenate(parts).astype(np.float32)
        if self._running is not None:
            return {"state": shown, "totals": self._occupancy.copy(), "time": np.int64(self._time)}
        return {
            "state": shown,
            "occupancy": np.minimum(self._occupancy, 1.0),  # the last digit of a sum may exceed it
            "time": np.int64(self._time),
        }

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks().astype(np.int8)} if self.problem.model.masked else {}


register()


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an environment that came in one."""
    for name in given:
        one_of("OccupancyEnv: an argument", name, tuple(inspect.signature(OccupancyEnv).parameters))
    if "problem" not in given:
        raise GumdpError("OccupancyEnv: a dictionary of arguments must have a problem in it.")
    return given
