"""Which cell of the occupancy an observation of a Gymnasium environment belongs to."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int
from gumdp.models.bins import Bins

MOST = 100_000_000  # cells that an occupancy may have


@dataclass(frozen=True)
class Cells:
    """A numbering of observations: ``index(observation, env)`` in 0 … count-1."""

    index: Callable[[Any, Any], int]
    count: int
    text: str  # what is counted, in a few words
    names: tuple[str, ...] | None = None
    grid: tuple[int, int] | None = None
    axes: tuple[str, str] | None = None
    bins: Bins | None = None

    def number(self, observation: Any, env: Any) -> int:
        """The cell, checked."""
        cell = int(self.index(observation, env))
        if not 0 <= cell < self.count:
            raise GumdpError(f"index returned {cell} for {observation!r}; it must be from 0 to {self.count - 1}.")
        return cell


def cells_for(env: Any, name: str, bins: Bins | None, index: Any = None, cells: int | None = None) -> Cells:
    """The numbering that the user gave, or the natural one of the observation space."""
    if index is not None:
        given = check_int("from_gymnasium: cells", cells, 1)
        return Cells(_two_arguments(index), given, f"{given} cells of its own index")
    if type(env.unwrapped).__module__.startswith("minigrid."):
        return _squares(env.unwrapped)
    space = env.observation_space
    if bins is not None or type(space).__name__ == "Box":
        return _boxes(space, bins, name)
    count = count_of(space)
    if count is None:
        raise GumdpError(
            f"from_gymnasium: the observations of {name}, {space}, have no natural numbering; give "
            "index=function(observation) or function(observation, env), and cells=how many there are."
        )
    if count > MOST:
        raise GumdpError(f"from_gymnasium: {name} has {count:,} observations, too many to count; give index and cells.")
    return Cells(_Natural(space), count, f"{count} observations")


class _Natural:
    """The number of an observation in a space of finitely many."""

    def __init__(self, space: Any) -> None:
        self.space = space

    def __call__(self, observation: Any, env: Any) -> int:
        return number_in(self.space, observation)


class _InBins:
    """The cell of a continuous observation."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins

    def __call__(self, observation: Any, env: Any) -> int:
        return int(self.bins.index(np.ravel(observation)))


def _boxes(space: Any, bins: Bins | None, name: str) -> Cells:
    if type(space).__name__ != "Box":
        raise GumdpError(f"from_gymnasium: bins are for continuous observations, but {name} has {space}.")
    if bins is None:
        raise GumdpError(
            f"from_gymnasium: the observations of {name} are continuous, {space}; give bins=gumdp.Bins(…) to divide "
            "them, or index and cells."
        )
    divided = bins.over(space.low.ravel(), space.high.ravel(), what=f"an observation of {name}")
    names = tuple(divided.cell_names())
    return Cells(_InBins(divided), divided.cells, repr(divided), names, divided.grid, divided.axes, divided)


def _squares(world: Any) -> Cells:
    """MiniGrid: the square that the agent stands on."""
    rows, columns = int(world.height), int(world.width)
    names = tuple(f"row {k // columns} column {k % columns}" for k in range(rows * columns))
    return Cells(_where, rows * columns, f"{rows} × {columns} squares", names, (rows, columns))


def _where(observation: Any, env: Any) -> int:
    world = env.unwrapped
    return int(world.agent_pos[1]) * int(world.width) + int(world.agent_pos[0])


def count_of(space: Any) -> int | None:
    """How many observations a space has, or None if there is no telling."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n)
    if kind == "MultiDiscrete":
        return math.prod(int(n) for n in np.ravel(space.nvec))
    if kind == "MultiBinary":
        return int(2 ** int(np.prod(space.n)))
    if kind in ("Tuple", "Dict"):
        parts = [count_of(part) for part in _parts(space)]
        return None if None in parts else math.prod(p or 0 for p in parts)
    return None


def _parts(space: Any) -> list[Any]:
    return list(space.spaces.values()) if type(space).__name__ == "Dict" else list(space.spaces)


def number_in(space: Any, observation: Any) -> int:
    """The number of an observation, the last part fastest."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(observation) - int(space.start)
    if kind in ("MultiDiscrete", "MultiBinary"):
        sizes = np.ravel(space.nvec) if kind == "MultiDiscrete" else np.full(int(np.prod(space.n)), 2)
        start = getattr(space, "start", 0)
        return int(np.ravel_multi_index(tuple(np.ravel(np.asarray(observation) - start)), tuple(sizes)))
    parts = [observation[key] for key in space.spaces] if kind == "Dict" else list(observation)
    number = 0
    for part, value in zip(_parts(space), parts, strict=True):
        number = number * (count_of(part) or 1) + number_in(part, value)
    return number


def _two_arguments(index: Any) -> Callable[[Any, Any], int]:
    if not callable(index):
        raise GumdpError(f"from_gymnasium: index must be a function, not {type(index).__name__}.")
    if len(inspect.signature(index).parameters) >= 2:
        given: Callable[[Any, Any], int] = index
        return given
    return lambda observation, env: index(observation)
