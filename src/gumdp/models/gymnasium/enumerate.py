"""Tables of small worlds that publish none: every state is visited, and every action tried, by stepping copies.

Chance is found out exactly where it is one or more calls of ``np_random.random()``: as a function of the number that
it returns, what happens is constant up to a threshold, which bisection finds to the last bit.
"""

from __future__ import annotations

import copy
import random
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sparse

from gumdp.errors import GumdpError, show
from gumdp.models.gymnasium.opening import unwatched
from gumdp.models.gymnasium.ways import bare_copy
from gumdp.models.tabular import Tabular

MOST = 20_000  # states
SECONDS = 10.0  # of this thread: how busy the machine is must not decide what becomes of a world
GRID = 64  # parts of [0, 1) in which thresholds are looked for
RESETS = 32  # with different seeds: a start that is the same each time is the only one
CHECKS = 2  # other ways into a state on which it must behave as on the first
LAST = 1.0 - 2.0**-53

Key = tuple[Any, bool]  # what was observed, and whether the episode is over
Outcomes = dict[tuple[Key, tuple[float, ...]], float]  # probability of each (key, reward)


class NotTable(GumdpError):
    """Why a world can't be written down as a table."""


class Scripted:
    """A generator that returns what it is told, one number after another, and says when there is none left."""

    def __init__(self, numbers: tuple[float, ...]) -> None:
        self.numbers, self.calls = numbers, 0

    def random(self, size: Any = None, *rest: Any, **more: Any) -> float:
        """The next number."""
        if size is not None or rest or more:
            raise NotTable("it draws several numbers at once")
        self.calls += 1
        if self.calls > len(self.numbers):
            raise _OneMore
        return self.numbers[self.calls - 1]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotTable(f"it draws chance with np_random.{name}")

    def __deepcopy__(self, memo: Any) -> Scripted:
        return self


class _OneMore(Exception):
    pass


class Enumeration:
    """Every state of an environment, with what follows each action."""

    def __init__(self, env: Any, commands: tuple[Any, ...]) -> None:
        try:
            self.env, self.commands = bare_copy(env), commands
        except Exception as error:  # a simulator that can't be copied
            raise NotTable(f"it can't be copied ({type(error).__name__}: {error})") from error
        self.until = time.thread_time() + SECONDS
        self.start, first = self._start()
        self.found: dict[Key, list[Outcomes]] = {}
        self.seen: dict[Key, Any] = {self.start: first[1]}  # an example of each observation
        checked: dict[Key, int] = {}
        queue = deque([(self.start, first[0])])
        while queue:
            key, here = queue.popleft()
            if key in self.found:
                if checked.get(key, 0) < CHECKS:
                    checked[key] = checked.get(key, 0) + 1
                    if any(self._outcomes(here, c)[0] != o for c, o in zip(commands, self.found[key], strict=True)):
                        raise NotTable("what it shows is not all of its state")
                continue
            if len(self.found) >= MOST or time.thread_time() > self.until:
                raise NotTable(f"it has more than {len(self.found):,} states, or takes too long")
            self.found[key] = []
            for command in commands:
                outcomes, following = self._outcomes(here, command)
                self.found[key].append(outcomes)
                for after, (there, observation) in following.items():
                    self.seen.setdefault(after, observation)
                    if not after[1]:
                        queue.append((after, there))

    def _start(self) -> tuple[Key, tuple[Any, Any]]:
        starts: dict[Key, tuple[Any, Any]] = {}
        for seed in range(RESETS):
            env = bare_copy(self.env)
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002 (environments that draw from it are the matter here)
            observation, _ = env.reset(seed=seed)
            starts.setdefault((frozen(observation), False), (env, observation))
        if len(starts) > 1:
            raise NotTable("episodes start in different states")
        return next(iter(starts.items()))

    def _outcomes(self, env: Any, command: Any) -> tuple[Outcomes, dict[Key, tuple[Any, Any]]]:
        """What follows a command, with probabilities, and an example of each outcome."""
        examples: dict[Key, tuple[Any, Any]] = {}

        def run(numbers: tuple[float, ...]) -> Outcomes:
            there, dice = bare_copy(env), Scripted(numbers)
            there.unwrapped.np_random = dice
            states = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002
            try:
                observation, reward, over, _, _ = there.step(copy.copy(command))
            except _OneMore:
                return divided(lambda u: run((*numbers, u)))
            if states != (random.getstate(), np.random.get_state()[1].tobytes()):  # type: ignore[index]  # noqa: NPY002
                raise NotTable("it draws chance from a generator that all programs share")
            key = frozen(observation), bool(over)
            examples.setdefault(key, (there, observation))
            return {(key, tuple(np.atleast_1d(np.asarray(reward, np.float64)).tolist())): 1.0}

        return run(()), examples


def divided(outcome: Callable[[float], Outcomes]) -> Outcomes:
    """The mixture of the outcomes over a uniform number in [0, 1), of which they are a step function."""
    ends = [0.0, *(k / GRID for k in range(1, GRID)), LAST]
    made = [outcome(u) for u in ends]
    total: Outcomes = {}
    begin = 0.0
    for low, high, one, other in zip(ends, ends[1:], made, made[1:], strict=False):
        if one == other:
            continue
        while np.nextafter(low, 1.0) < high:
            middle = 0.5 * (low + high)
            here = outcome(middle)
            if here == one:
                low = middle
            elif here == other:
                high = middle
            else:
                raise NotTable("chance has more outcomes than can be told apart")
        _mix(total, one, high - begin)
        begin = high
    _mix(total, made[-1], 1.0 - begin)
    return total


def _mix(total: Outcomes, part: Outcomes, share: float) -> None:
    for key, p in part.items():
        total[key] = total.get(key, 0.0) + share * p


def frozen(observation: Any) -> Any:
    """An observation as something that can be compared and looked up."""
    if isinstance(observation, dict):
        return tuple((key, frozen(observation[key])) for key in sorted(observation))
    if isinstance(observation, (tuple, list)):
        return tuple(frozen(part) for part in observation)
    array = np.asarray(observation)
    return array.item() if array.ndim == 0 else (array.shape, array.tobytes())


def enumerated(env: Any, commands: tuple[Any, ...], terminal: str) -> tuple[Tabular, Callable[..., int]]:
    """The table of an environment, with its rewards, and how its states are read off what it shows.

    A state in which the same step can have different rewards there is once for each.
    """
    try:
        world = Enumeration(unwatched(env), commands)
    except GumdpError:
        raise
    except Exception as error:  # whatever the environment raises
        raise NotTable(f"it fails with {type(error).__name__}: {error}") from error
    split = {
        key for rows in world.found.values() for row in rows for key, _ in row
        if len({reward for other, reward in row if other == key}) > 1
    }  # fmt: skip
    numbers: dict[tuple[Key, tuple[float, ...] | None], int] = {(world.start, None): 0}
    for rows in world.found.values():
        for row in rows:
            for key, reward in row:
                numbers.setdefault((key, reward if key in split else None), len(numbers))
    entries: dict[tuple[int, int], tuple[float, tuple[float, ...]]] = {}
    nothing = (0.0,) * len(next(iter(world.found[world.start][0]))[1])
    for (key, _), number in numbers.items():
        for a in range(len(commands)):
            at = number * len(commands) + a
            if key in world.found:
                for (after, reward), p in world.found[key][a].items():
                    entries[at, numbers[after, reward if after in split else None]] = p, reward
            else:  # the episode is over
                entries[at, 0 if terminal == "restart" else number] = 1.0, nothing
    model = _tabular(entries, len(numbers), len(commands), [show(world.seen[key]) for key, _ in numbers])
    by_key: dict[Key, int] = {}
    for (key, _), number in numbers.items():
        by_key.setdefault(key, number)

    if split:
        model.looks = np.array([by_key[key] for key, _ in numbers], np.int64)

    def read(env: Any, observation: Any, over: bool = False) -> int:
        try:
            return by_key[frozen(observation), bool(over)]
        except KeyError:
            raise GumdpError(f"the table knows no state that shows {show(observation)}.") from None

    return model, read


def _tabular(entries: dict[Any, Any], states: int, actions: int, names: list[str]) -> Tabular:
    rows, columns = np.array([at for at, _ in entries]), np.array([after for _, after in entries])
    shares = np.array([p for p, _ in entries.values()])
    matrix = sparse.csr_array((shares, (rows, columns)), shape=(states * actions, states))
    model = Tabular(matrix, 0, state_names=names)
    attach_rewards(model, {at: reward for at, (_, reward) in entries.items()})
    return model


def attach_rewards(model: Tabular, rewards: dict[tuple[int, int], Any]) -> None:
    """``model.rewards`` becomes what each transition pays, from {(row, next state): reward}; what is missing pays 0."""
    kinds = len(np.atleast_1d(next(iter(rewards.values()))))
    rows = np.repeat(np.arange(model.offsets.size - 1), np.diff(model.offsets))
    pairs = zip(rows.tolist(), model.successors.tolist(), strict=True)
    table = [np.atleast_1d(rewards.get(pair, np.zeros(kinds))) for pair in pairs]
    model.rewards = np.array(table, dtype=np.float64)
