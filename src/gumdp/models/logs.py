"""Logged transitions: read from arrays, tables with columns, a Minari dataset, an environment or a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, check_int, describe, failures_of, show
from gumdp.jit.callback import original_errors
from gumdp.models.base import Model
from gumdp.models.bins import Bins
from gumdp.models.columns import numbered
from gumdp.models.gymnasium.adapter import read_number
from gumdp.models.gymnasium.observations import Cells, cells_for, flat
from gumdp.models.gymnasium.opening import actions_of, open_environment, title
from gumdp.models.gymnasium.table import names_of
from gumdp.models.sampling import wander
from gumdp.models.tidy import tidy, truths

Ints = NDArray[np.int64]
EPISODE = 200  # steps after which a sampled episode is broken off


@dataclass(frozen=True)
class Log:
    """Transitions (state, action, next state), and where episodes began."""

    states: Ints
    actions: Ints
    successors: Ints
    terminated: NDArray[np.bool_]  # whether the episode was over in the next state
    starts: Ints  # the first states of episodes
    shape: tuple[int, int]
    text: str  # what it is, in a few words
    read: Callable[..., Any] = read_number
    commands: tuple[Any, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)  # what is known for people
    outside: int = 0  # observations that were clipped into the bins
    axes: tuple[str, str] | None = None
    available: NDArray[np.bool_] | None = None  # [S, A]: which actions there are, where the source says so


def from_arrays(
    data: Any,
    shape: tuple[int, int] | None,
    bins: Bins | None,
    terminated: Any = None,
    episodes: Any = None,
) -> Log:
    """A log of three arrays: states, actions, next states; a new number in ``episodes`` begins an episode."""
    try:
        states, actions, successors = data
    except (TypeError, ValueError):
        raise GumdpError(
            "learn: data must be (states, actions, next_states), a frame with those columns, a Minari dataset, "
            f"a Gymnasium environment or a model, not {type(data).__name__}."
        ) from None
    outside = 0
    if bins is not None:
        before, after = (np.asarray(x, dtype=np.float64) for x in (states, successors))
        outside = bins.outside(before) + bins.outside(after)
        states, successors = bins.index(before), bins.index(after)
    states, successors, state_names = numbered(states, successors)
    actions, _, action_names = numbered(actions, actions)
    rows = {"states": states, "actions": actions, "next_states": successors}
    whole_rows = {name: _whole_numbers(name, values) for name, values in rows.items()}
    sizes = {name: len(values) for name, values in whole_rows.items()}
    if len(set(sizes.values())) > 1:
        raise GumdpError(f"learn: states, actions and next_states must be equally long, not {list(sizes.values())}.")
    n = sizes["states"]
    if n == 0:
        raise GumdpError("learn: there is not one transition in the data.")
    s, a, t = whole_rows.values()
    if shape is None:
        count = bins.cells if bins is not None else 1 + int(max(s.max(), t.max()))
        shape = (count, 1 + int(a.max()))
    for name, values, count in (("states", s, shape[0]), ("actions", a, shape[1]), ("next_states", t, shape[0])):
        bad = np.flatnonzero((values < 0) | (values >= count))
        if bad.size:
            raise GumdpError(
                f"learn: {name}[{bad[0]}] is {values[bad[0]]}; it must be from 0 to {count - 1}: "
                f"correct it, or give another shape than {shape}."
            )
    over = np.zeros(n, bool) if terminated is None else _flags(terminated, n)
    first = np.zeros(n, bool)
    first[0] = True
    if episodes is not None:
        number = _column("episodes", episodes, n)
        first[1:] = number[1:] != number[:-1]
    first[1:] |= over[:-1]
    return Log(
        s, a, t, over, s[first], shape, f"{n} logged transitions",
        read=_BinReader(bins) if bins is not None else read_number,
        commands=tuple(range(shape[1])), names=_described(bins) | _called(shape, state_names, action_names),
        outside=outside, axes=None if bins is None else bins.axes,
    )  # fmt: skip


def _column(name: str, values: Any, n: int) -> NDArray[Any]:
    """One value for each transition."""
    try:
        column = np.asarray(values)
    except Exception:  # lists can be nested in any way
        column = np.array(None)
    if column.shape != (n,):
        raise GumdpError(f"learn: {name} must have an entry for each of the {n} transitions, not {describe(values)}.")
    return column


def _flags(terminated: Any, n: int) -> NDArray[np.bool_]:
    return truths("terminated", _column("terminated", terminated, n))


def from_columns(columns: Mapping[str, Any], shape: tuple[int, int] | None, bins: Bins | None) -> Log:
    """A log of the columns state, action, next_state, and optionally terminated, episode and step."""
    table, notes = tidy(columns)
    rows = table["state"], table["action"], table["next_state"]
    log = from_arrays(rows, shape, bins, terminated=table.get("terminated"), episodes=table.get("episode"))
    return replace(log, text=f"{log.text} (left out: {', '.join(notes)})") if notes else log


def from_minari(dataset: Any, bins: Bins | None, index: Any, cells: int | None) -> Log:
    """A log of all episodes of a Minari dataset."""
    space = dataset.observation_space
    name = str(getattr(dataset, "id", None) or dataset.spec.dataset_id)
    numbering = cells_for(_Spaces(space, dataset.action_space), name, bins, index, cells)
    try:
        commands = actions_of(_Spaces(space, dataset.action_space))
    except GumdpError:
        raise GumdpError(
            f"learn: the recorded actions of {name}, {dataset.action_space}, are not finitely many; put them into "
            "classes first, and give (states, actions, next_states) as arrays."
        ) from None
    rows: list[tuple[Ints, Ints, Ints, NDArray[np.bool_]]] = []
    outside = 0
    for episode in dataset.iterate_episodes():
        seen = _each(episode.observations, len(episode) + 1)
        if numbering.bins is not None:
            outside += numbering.bins.outside(np.array([flat(space, x) for x in seen]))
        line = np.array([numbering.number(x, None) for x in seen], dtype=np.int64)
        actions = _numbers_of(episode.actions, commands, len(episode))
        rows.append((line[:-1], actions, line[1:], np.asarray(episode.terminations, bool)))
    if not rows:
        raise GumdpError(f"learn: the dataset {name} has no episodes.")
    s, a, t, over = (np.concatenate(x) for x in zip(*rows, strict=True))
    starts = np.array([row[0][0] for row in rows], dtype=np.int64)
    return Log(
        s, a, t, over, starts, (numbering.count, len(commands)), f"{s.size} transitions of {name}",
        read=_CellReader(numbering), commands=commands, names=_described(numbering.bins), outside=outside,
        axes=numbering.axes,
    )  # fmt: skip


def _numbers_of(actions: Any, commands: tuple[Any, ...], count: int) -> Ints:
    """Which of the commands each recorded action is."""
    if isinstance(commands[0], int):
        return np.asarray(actions, dtype=np.int64).ravel() - commands[0]
    numbers = {_flattened(command): k for k, command in enumerate(commands)}
    return np.array([numbers[_flattened(action)] for action in _each(actions, count)], np.int64)


def _flattened(action: Any) -> tuple[Any, ...]:
    """An action that is made of several numbers, as something that can be looked up."""
    parts = action.values() if isinstance(action, dict) else action if isinstance(action, tuple) else (action,)
    return tuple(x for part in parts for x in np.ravel(part).tolist())


@dataclass(frozen=True)
class Walk:
    """Random actions to take: how many, from which seed, starting afresh after how many, and after terminal states."""

    samples: int
    seed: int
    episode: int | None
    terminal: str

    @property
    def limit(self) -> int:
        """The steps after which an episode is broken off."""
        return check_int("learn: episode", EPISODE if self.episode is None else self.episode, 1)


@original_errors()
def sample(data: Any, walk: Walk, bins: Bins | None, index: Any, cells: int | None) -> Log:
    """A log of random actions in a model or in a Gymnasium environment."""
    if isinstance(data, Model):
        return from_model(data, walk)
    env = open_environment(data)
    numbering = cells_for(env, title(env), bins, index, cells)
    with failures_of(f"learn: {title(env)}"):
        return from_environment(env, walk, numbering)


def from_environment(env: Any, walk: Walk, numbering: Cells) -> Log:
    """A log of random actions in a Gymnasium environment."""
    name, commands = title(env), actions_of(env)
    rng = np.random.default_rng(walk.seed)
    rows, starts, seen = [], [], []
    state, steps = -1, 0
    for k in range(walk.samples):
        if state < 0:
            observation, _ = env.reset(seed=walk.seed if k == 0 else None)
            state, steps = numbering.number(observation, env), 0
            starts.append(state)
            seen.append(observation)
        action = int(rng.integers(len(commands)))
        observation, _, terminated, truncated, _ = env.step(commands[action])
        after = numbering.number(observation, env)
        seen.append(observation)
        rows.append((state, action, after, bool(terminated)))
        steps += 1
        state = -1 if truncated or steps == walk.limit or (terminated and walk.terminal != "continue") else after
    s, a, t, over = (np.array(x) for x in zip(*rows, strict=True))
    outside = 0 if numbering.bins is None else numbering.bins.outside([flat(env.observation_space, x) for x in seen])
    known = names_of(env.unwrapped) if numbering.count == getattr(env.observation_space, "n", None) else {}
    return Log(
        s, a, t, over.astype(bool), np.array(starts), (numbering.count, len(commands)),
        f"{walk.samples} random transitions of {name}",
        read=_CellReader(numbering), commands=commands, names=known or _described(numbering.bins),
        outside=outside, axes=numbering.axes,
    )  # fmt: skip


def from_model(model: Model, walk: Walk) -> Log:
    """A log of random actions in a model."""
    samples = walk.samples
    rows = np.empty((samples, 3), np.int64)
    begun = np.zeros(samples, np.bool_)
    rng = np.random.SeedSequence(walk.seed).generate_state(1, np.uint64)[0]
    wander(model.compiled(), rng, walk.limit, rows, begun)
    s, a, t = (np.ascontiguousarray(rows[:, k]) for k in range(3))
    names = {"state_names": model.state_names, "action_names": model.action_names, "grid": model.grid}
    source = model.source
    return Log(
        s, a, t, np.zeros(samples, bool), s[begun], model.shape, f"{samples} random transitions of {model!r}",
        read=_ModelReader(model), commands=() if source is None else source.commands, names=names,
        axes=model.axes, available=model.available,
    )  # fmt: skip


class _BinReader:
    """The state of a learned model is the cell of the observation."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins

    def __call__(self, env: Any, observation: Any, over: bool = False) -> int:
        return int(self.bins.index(np.ravel(observation)))


class _CellReader:
    """The state of a learned model is the cell that its numbering gives."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells

    def __call__(self, env: Any, observation: Any, over: bool = False) -> int:
        return self.cells.number(observation, env)


class _ModelReader:
    """The state of a learned model is the cell of the model that it was learned from."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __call__(self, env: Any, observation: Any, over: bool = False) -> int:
        source = self.model.source
        state = observation if source is None else source.read(env, observation, over)
        return int(self.model.compiled().cell(self.model.state(state)))


@dataclass(frozen=True)
class _Spaces:
    """Just enough of an environment to say what its observations and actions are."""

    observation_space: Any
    action_space: Any
    spec: Any = None

    @property
    def unwrapped(self) -> Any:
        return self


def _each(observations: Any, count: int) -> list[Any]:
    """The observations of an episode one by one: datasets keep tuples and dictionaries of arrays."""
    if isinstance(observations, dict):
        parts = {key: _each(value, count) for key, value in observations.items()}
        return [{key: line[k] for key, line in parts.items()} for k in range(count)]
    if isinstance(observations, tuple):
        columns = [_each(value, count) for value in observations]
        return [tuple(line[k] for line in columns) for k in range(count)]
    return list(observations[:count])


def _called(shape: tuple[int, int], states: tuple[str, ...], actions: tuple[str, ...]) -> dict[str, Any]:
    """The names that the data itself had for all of the states, and for all of the actions."""
    both = {"state_names": (states, shape[0]), "action_names": (actions, shape[1])}
    return {what: names for what, (names, count) in both.items() if len(names) == count}


def _described(bins: Bins | None) -> dict[str, Any]:
    return {} if bins is None else {"state_names": bins.cell_names(), "grid": bins.grid}


CONTINUOUS = " (put continuous actions into groups first, as np.digitize does, and give the groups' numbers)"


def _whole_numbers(name: str, values: Any) -> Ints:
    """The values as whole numbers, or an error that names the first that is not."""
    line = np.asarray(values)
    if line.ndim != 1:
        hint = "" if line.ndim != 2 else CONTINUOUS if name == "actions" else " (give bins for continuous states)"
        raise GumdpError(f"learn: {name} must be a list of whole numbers, not an array of shape {line.shape}{hint}.")
    if line.size and line.dtype.kind not in "iub":
        if line.dtype.kind != "f":
            raise GumdpError(f"learn: {name} must be whole numbers, not {show(_first_word(line.tolist()))}.")
        bad = np.flatnonzero(~np.isfinite(line) | (line != np.rint(line)))
        if bad.size:
            hint = CONTINUOUS if name == "actions" else ""
            raise GumdpError(f"learn: {name}[{bad[0]}] is {line[bad[0]]}; it must be a whole number{hint}.")
    return line.astype(np.int64)


def _first_word(values: list[Any]) -> Any:
    """The first value that is no number, if there is one."""
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return values[0]
