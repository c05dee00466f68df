"""Models made of an environment itself: any one with finitely many actions, at the speed of Python."""

from __future__ import annotations

import itertools
import threading
import warnings
import weakref
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, show
from gumdp.jit.callback import register
from gumdp.models.base import Model
from gumdp.models.compiled import Clones
from gumdp.models.gymnasium.copying import deep_copy
from gumdp.models.gymnasium.observations import Cells
from gumdp.models.gymnasium.opening import title
from gumdp.models.gymnasium.ways import Live, Past, Way


class Snapshot:
    """A state of an environment: what was observed, and what it takes to go on from there."""

    __slots__ = ("__weakref__", "cell", "data", "number", "observation", "over", "reward", "stage")

    def __init__(
        self, stage: Stage, number: int, cell: int, observation: Any, over: bool, data: Any, reward: Any = None
    ) -> None:
        self.stage, self.number, self.cell = stage, number, cell
        self.observation, self.over, self.data = observation, over, data
        self.reward = reward  # for the step that led there

    def __repr__(self) -> str:
        return f"Snapshot({self.observation!r})"


class Clone(Model):
    """A model that plays a Gymnasium environment itself, and comes back to its states; states are ``Snapshot``s.

    The randomness of each step is set from the planner's own (in every generator inside the environment), so that the
    same seed gives the same answer, on any number of threads. What the environment hides from the player is in the
    copies: the planner sees through it.
    """

    interpreted = True

    def __init__(self, way: Way, cells: Cells, terminal: str, reward_kinds: int = 1, certain: bool = False) -> None:
        self._parts = (way, cells, terminal, certain and terminal != "restart", reward_kinds)
        self.reward_kinds = reward_kinds  # how many numbers a reward is made of
        self._set_up()
        self.way = way.name  # copy, save or replay
        self.shape = (cells.count, len(way.commands))
        self.state_names, self.grid, self.axes = cells.names, cells.grid, cells.axes
        self.action_names, self.available = None, None

    def _set_up(self) -> None:
        self.stage = Stage(*self._parts)
        self._world = Clones(self.stage.actions, register(self.stage))

    def __getstate__(self) -> dict[str, Any]:  # another process sets the stage itself
        return {name: value for name, value in vars(self).items() if name not in ("stage", "_world")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def __repr__(self) -> str:
        return f"Clone({self.shape[0]} cells, {self.shape[1]} actions)"

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether an action had one outcome in each state so far."""
        return self.stage.certain

    def compiled(self) -> Any:
        return self._world

    def state(self, state: Any) -> tuple[np.uint64, np.uint64]:
        if not isinstance(state, Snapshot) or state.stage is not self.stage:
            raise GumdpError(
                "state must be a Snapshot of this model: model.snapshot(env, observation) takes one, "
                f"not {type(state).__name__}."
            )
        return np.uint64(state.number), np.uint64(state.cell)

    def public(self, state: Any) -> Snapshot:
        return self.stage.keep(int(state[0]))

    def snapshot(self, env: Any, observation: Any, over: bool = False) -> Snapshot:
        """The state that a live environment is in, which is left alone; ``over`` if its episode has ended."""
        return self.stage.take(env, observation, over)

    def record(self, env: Any) -> Any:
        """The environment, which remembers from now on what happens to it, where that is how states are found again."""
        return recorder(env, self.stage.way) if self.stage.way.records else env


class Stage:
    """Where an environment is played: a live one for each thread, and the states to come back to.

    Kernels call ``reset``, ``step`` and ``restore`` (see ``gumdp.jit.callback``). A state is saved when it is
    first restored, which must be while the environment is still in it: rollouts save nothing.
    """

    def __init__(self, way: Way, cells: Cells, terminal: str, certain: bool = False, kinds: int = 1) -> None:
        self.way, self.cells, self.terminal, self.kinds = way, cells, terminal, kinds
        self.certain = certain  # whether nothing was left to chance so far
        self.actions = len(way.commands)
        self._numbers = itertools.count(1)
        self._saved: weakref.WeakValueDictionary[int, Snapshot] = weakref.WeakValueDictionary()
        self._local = threading.local()
        self._lives: list[tuple[threading.Thread, Live]] = []
        self._lock = threading.Lock()

    def reset(self, bits: int) -> tuple[int, int]:
        """Start an episode."""
        live = self._live()
        try:
            live.reset(self.way, bits)
        except GumdpError:
            raise
        except (Exception, SystemExit) as error:  # whatever the environment does
            raise self._failure(live, "reset", error) from error
        live.reward = 0.0
        return self._arrive(live)

    def step(self, number: int, action: int, bits: int) -> tuple[int, int]:
        """Act in the state ``number``, in which the environment must be."""
        live = self._live()
        if number != live.number:
            raise GumdpError("a cloned environment was stepped from a state that it is not in.")
        if live.over and self.terminal == "restart":
            return self.reset(bits)
        if live.over and self.terminal == "absorb":
            if np.any(live.reward):  # the reward of the end is paid once: from now on this is another state
                live.reward = 0.0
                live.number = next(self._numbers)
            return live.number, live.cell
        try:
            if self.certain:
                self._step_for_certain(live, action)
            else:
                _, live.reward, _, _ = live.step(self.way, action, bits)
        except GumdpError:
            raise
        except (Exception, SystemExit) as error:  # whatever the environment does
            raise self._failure(live, f"step({show(self.way.commands[action])})", error) from error
        return self._arrive(live)

    @staticmethod
    def _failure(live: Live, call: str, error: BaseException) -> GumdpError:
        """What to raise where the environment fails in the middle of a plan: what it said, in a sentence."""
        said = " ".join(str(error).split()) or "without a message"
        name = title(live.env)
        return GumdpError(f"{call} of {name} failed in the middle of a plan with {type(error).__name__}: {said}")

    def _step_for_certain(self, live: Live, action: int) -> None:
        """Act where nothing is left to chance, and see that it is so."""
        marks = self.way.chance.marks(live.env)
        _, live.reward, _, _ = live.step(self.way, action, None)
        if marks != self.way.chance.marks(live.env):
            self.certain = False
            warnings.warn(
                f"{title(live.env)} leaves something to chance after all, which no step of its test showed: a trial "
                "that is being planned took it for certain, and later ones won't.",
                stacklevel=2,
            )

    def amounts(self, number: int) -> Any:
        """The reward for the step that led to the state ``number``."""
        live = self._live()
        reward = live.reward if number == live.number else self._saved[number].reward
        if np.size(reward) != self.kinds and np.any(reward):  # at a start it is the number 0
            raise GumdpError(
                f"{title(live.env)} paid {np.size(reward)} numbers in a step, and {self.kinds} in its test."
            )
        return reward

    def restore(self, number: int) -> tuple[int, int]:
        """Go back to the state ``number``."""
        live = self._live()
        if number != live.number:
            self._load(live, self._saved[number])
        elif number not in self._saved:
            live.kept = self._put(live.env, live.number, live.cell, live.observation, live.over, live.past, live.reward)
        return live.number, live.cell

    def keep(self, number: int) -> Snapshot:
        """The state ``number`` for somebody outside, who may come back to it at any time."""
        self.restore(number)
        return self._saved[number]

    def take(self, env: Any, observation: Any, over: bool) -> Snapshot:
        """The state of an environment that is not ours."""
        cell = self.cells.number(observation, env)
        return self._put(env, next(self._numbers), cell, observation, over, getattr(env, "past", None))

    def _arrive(self, live: Live) -> tuple[int, int]:
        live.cell = self.cells.number(live.observation, live.env)
        live.number = next(self._numbers)
        return live.number, live.cell

    def _put(
        self, env: Any, number: int, cell: int, observation: Any, over: bool, past: Past | None, reward: Any = 0.0
    ) -> Snapshot:
        seen = deep_copy(observation, {})  # it may be an array of the environment's own, which changes
        snapshot = Snapshot(self, number, cell, seen, over, self.way.save(env, past), reward)
        self._saved[number] = snapshot
        return snapshot

    def _load(self, live: Live, snapshot: Snapshot) -> None:
        self.way.load(live, snapshot.data)
        live.number, live.cell = snapshot.number, snapshot.cell
        live.observation, live.over, live.reward = snapshot.observation, snapshot.over, snapshot.reward

    def _live(self) -> Live:
        live: Live | None = getattr(self._local, "live", None)
        if live is None:
            with self._lock:
                live = self._local.live = self._inherited() or self.way.spawn()
                self._lives.append((threading.current_thread(), live))
        return live

    def _inherited(self) -> Live | None:
        """The environment of a thread that is no more, or None."""
        for k, (thread, live) in enumerate(self._lives):
            if not thread.is_alive():
                del self._lives[k]
                return live
        return None


def recorder(env: Any, way: Way) -> Any:
    """``env`` wrapped so that ``past`` says what happened to it since its reset, which always has a seed."""
    import gymnasium

    class Recorder(gymnasium.Wrapper):  # type: ignore[misc]
        past: Past | None = None
        seeds = np.random.SeedSequence(0)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            if options:
                raise GumdpError("an environment that is replayed can't be reset with options.")
            if seed is None:
                seed = int(self.seeds.spawn(1)[0].generate_state(1)[0]) & 0x7FFFFFFF
            else:
                self.seeds = np.random.SeedSequence(seed)
            self.past = Past(None, -1, seed)
            way.chance.before_reset(self.env, seed)
            return self.env.reset(seed=seed)  # type: ignore[no-any-return]

        def step(self, action: Any) -> Any:
            chosen = next(k for k, command in enumerate(way.commands) if np.array_equal(command, action))
            self.past = Past(self.past, chosen, None)
            return self.env.step(action)

    return Recorder(env)
