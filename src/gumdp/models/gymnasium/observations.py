"""Which cell of the occupancy an observation of a Gymnasium environment belongs to."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, arity, check_int, items, one_of, show
from gumdp.models.bins import MOST, Bins, many

HASHES = 1 << 52  # cells by a hash
NAMED = 100_000  # cells, above which they have no names


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


def cells_for(
    env: Any, name: str, bins: Bins | Mapping[Any, Any] | None, index: Any = None, cells: int | None = None
) -> Cells:
    """The numbering that the user gave, or the natural one of the observation space."""
    if isinstance(index, str):
        one_of("index of from_gymnasium", index, ("hash",))
        return Cells(hash_of, HASHES, "observations by a hash of 52 bits")
    if index is not None:
        given = check_int("from_gymnasium: cells", cells, 1)
        return Cells(_two_arguments(index), given, f"{given} cells of its own index")
    if type(env.unwrapped).__module__.startswith("minigrid."):
        return _squares(env.unwrapped)
    space = env.observation_space
    if bins is not None:
        return _boxes(space, bins, name)
    count = count_of(space)
    if count is not None and count <= MOST:
        return Cells(_Natural(space, name), count, f"{count} observations", _numbers(space))
    parts = dimensions(space)
    if parts is None:
        raise GumdpError(
            f"from_gymnasium: the observations of {name}, {told(space)}, have no natural numbering; give "
            "index=function(observation) or function(observation, env), and cells=how many there are."
        )
    what = "are continuous" if count is None else f"are {many([count])}, more than the {MOST:,} that can be counted"
    some = f"{{{parts[0].name!r}: 8}}" if parts else "{…}"
    raise GumdpError(
        f"from_gymnasium: the observations of {name} {what}, {told(space)}; give bins=gumdp.Bins(…) to divide them, "
        f"bins={some} to divide some of their {len(parts)} dimensions, or index and cells."
    )


def hash_of(observation: Any, env: Any = None) -> int:
    """A number of 52 bits that equal observations share, and hardly any others.

    An image (whole numbers in two or three dimensions, 32 wide and high at least) is taken coarsely, so that what is
    alike is the same: the means of 8 × 8 blocks, in 8 shades.

    >>> hash_of(np.zeros(3)) == hash_of(np.zeros(3)) != hash_of(np.ones(3))
    True
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in _arrays(observation):
        if part.dtype == np.uint8 and part.ndim in (2, 3) and min(part.shape[:2]) >= 32:
            rows, columns = (np.arange(n) * 8 // n for n in part.shape[:2])
            grey = part.reshape(*part.shape[:2], -1).mean(axis=2)
            sums = np.zeros((8, 8))
            np.add.at(sums, (rows[:, None], columns[None, :]), grey)
            sizes = np.bincount(rows)[:, None] * np.bincount(columns)[None, :]
            part = (sums / sizes // 32).astype(np.uint8)
        digest.update(str((part.shape, part.dtype.str)).encode() + part.tobytes())
    return int.from_bytes(digest.digest(), "little") % HASHES


def _arrays(observation: Any) -> list[Any]:
    if isinstance(observation, Mapping):
        return [part for key in sorted(observation) for part in _arrays(observation[key])]
    if isinstance(observation, tuple):
        return [part for each in observation for part in _arrays(each)]
    return [np.ascontiguousarray(observation)]


class _Natural:
    """The number of an observation in a space of finitely many."""

    def __init__(self, space: Any, name: str) -> None:
        self.space, self.name = space, name

    def __call__(self, observation: Any, env: Any) -> int:
        try:
            return number_in(self.space, observation)
        except (TypeError, ValueError, KeyError, IndexError):
            raise GumdpError(
                f"{self.name} showed {show(observation)}, which is not in its observation space {told(self.space)}; "
                "give index=function(observation), and cells=how many there are."
            ) from None


class _InBins:
    """The cell of an observation that is made of numbers."""

    def __init__(self, bins: Bins, space: Any) -> None:
        self.space = space
        self.chosen = [k for k, count in enumerate(bins.shape or ()) if count > 1]  # of an image, a few of very many
        self.bins = _only(bins, self.chosen)

    def __call__(self, observation: Any, env: Any) -> int:
        if self.bins is None:
            return 0
        numbers = np.ravel(observation) if type(self.space).__name__ == "Box" else flat(self.space, observation)
        return int(self.bins.index(numbers[self.chosen]))


def _boxes(space: Any, bins: Bins | Mapping[Any, Any], name: str) -> Cells:
    parts = None if type(space).__name__ == "Discrete" else dimensions(space)
    if parts is None:
        raise GumdpError(f"from_gymnasium: bins are for observations made of numbers, but {name} has {told(space)}.")
    if isinstance(bins, Mapping):
        bins = _some(parts, bins, name)
    low, high = np.array([p.low for p in parts]), np.array([p.high for p in parts])
    names = None if type(space).__name__ == "Box" and len(space.shape) == 1 else [p.name for p in parts]
    divided = bins.over(low, high, names, what=f"an observation of {name}")
    titles = tuple(divided.cell_names()) if divided.cells <= NAMED else None
    shown = [n for n in divided.shape or () if n > 1]
    text = repr(divided) if len(parts) < 8 else f"{divided.cells} cells of {len(shown)} of {len(parts)} dimensions"
    return Cells(_InBins(divided, space), divided.cells, text, titles, divided.grid, divided.axes, divided)


def _only(bins: Bins, chosen: list[int]) -> Bins | None:
    """The bins of some dimensions; None for none."""
    if not chosen:
        return None
    lines = [bins.lines(k) for k in chosen]
    if bins.edges is not None:
        return Bins.at(lines, outside=bins.mode)
    counts = [x.size - 1 for x in lines]
    return Bins(counts, [x[0] for x in lines], [x[-1] for x in lines], outside=bins.mode)


def _some(parts: list[Dimension], bins: Mapping[Any, Any], name: str) -> Bins:
    """Bins of the dimensions that were chosen: ``{name or number: count}`` or ``{…: (count, low, high)}``."""
    counts = np.ones(len(parts), np.int64)
    low, high = np.full(len(parts), np.nan), np.full(len(parts), np.nan)
    for key, value in bins.items():
        chosen = [k for k, p in enumerate(parts) if key in (k, p.name) or p.name.startswith((f"{key}[", f"{key}."))]
        if not chosen:
            raise GumdpError(
                f"from_gymnasium: {key!r} in bins is no dimension of an observation of {name}; there are "
                f"{', '.join(p.name for p in parts[:8])}{' …' if len(parts) > 8 else ''}."
            )
        given = items(value) or [value]
        if len(given) not in (1, 3):
            raise GumdpError(f"from_gymnasium: bins[{key!r}] must be a count or (count, low, high), not {show(value)}.")
        counts[chosen] = check_int(f"from_gymnasium: bins[{key!r}]", given[0], 1)
        if len(given) == 3:
            low[chosen], high[chosen] = given[1:]
    return Bins(counts.tolist(), low, high)


def _squares(world: Any) -> Cells:
    """MiniGrid: the square that the agent stands on."""
    rows, columns = int(world.height), int(world.width)
    names = tuple(f"row {k // columns} column {k % columns}" for k in range(rows * columns))
    return Cells(_where, rows * columns, f"{rows} × {columns} squares", names, (rows, columns))


def _where(observation: Any, env: Any) -> int:
    world = env.unwrapped
    return int(world.agent_pos[1]) * int(world.width) + int(world.agent_pos[0])


@dataclass(frozen=True)
class Dimension:
    """One number of an observation."""

    name: str
    low: float
    high: float


def dimensions(space: Any, name: str = "") -> list[Dimension] | None:
    """The numbers that an observation is made of, in the order of ``flat``; None if it is made of something else."""
    kind = type(space).__name__
    if kind in ("Tuple", "Dict"):
        found: list[Dimension] = []
        for key, part in zip(_keys(space), _parts(space), strict=True):
            inner = dimensions(part, f"{name}.{key}" if name else str(key))
            if inner is None:
                return None
            found += inner
        return found
    if kind == "Discrete":
        return [Dimension(name or "x0", float(space.start), float(space.start + space.n - 1))]
    if kind not in ("Box", "MultiDiscrete", "MultiBinary"):
        return None
    low, high = (np.broadcast_to(np.asarray(end, float), space.shape).ravel() for end in _ends(space))
    size = low.size
    names = [f"{name}[{k}]" if name else f"x{k}" for k in range(size)] if size > 1 or not name else [name]
    return [Dimension(n, float(a), float(b)) for n, a, b in zip(names, low, high, strict=True)]


def flat(space: Any, observation: Any) -> Any:
    """The numbers of an observation, one after the other."""
    kind = type(space).__name__
    if kind in ("Tuple", "Dict"):
        values = [observation[key] for key in space.spaces] if kind == "Dict" else list(observation)
        return np.concatenate([flat(part, x) for part, x in zip(_parts(space), values, strict=True)])
    return np.ravel(np.asarray(observation, dtype=np.float64))


def _ends(space: Any) -> tuple[Any, Any]:
    """The least and the greatest value of each number of a space."""
    kind = type(space).__name__
    if kind == "Box":
        return space.low, space.high
    start = np.asarray(getattr(space, "start", 0))
    return start, start + (space.nvec if kind == "MultiDiscrete" else 2) - 1


def told(space: Any) -> str:
    """A space, as it goes into a sentence."""
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else text[:97] + "…"


def count_of(space: Any) -> int | None:
    """How many observations a space has, or None if there is no telling."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n)
    if kind in ("Tuple", "Dict"):
        parts = [count_of(part) for part in _parts(space)]
        return None if None in parts else math.prod(p or 0 for p in parts)
    if kind in ("MultiDiscrete", "MultiBinary") or (kind == "Box" and np.issubdtype(space.dtype, np.integer)):
        low, high = _ends(space)
        sizes = np.broadcast_to(np.asarray(high, object) - np.asarray(low, object) + 1, space.shape).ravel()
        return math.prod(int(n) for n in sizes)
    return None


def _parts(space: Any) -> list[Any]:
    return list(space.spaces.values()) if type(space).__name__ == "Dict" else list(space.spaces)


def _keys(space: Any) -> list[Any]:
    return list(space.spaces) if type(space).__name__ == "Dict" else list(range(len(space.spaces)))


def number_in(space: Any, observation: Any) -> int:
    """The number of an observation, the last part fastest; a ValueError if it is not in the space."""
    kind = type(space).__name__
    number = 0
    if kind in ("Tuple", "Dict"):
        parts = [observation[key] for key in space.spaces] if kind == "Dict" else list(observation)
        for part, value in zip(_parts(space), parts, strict=True):
            number = number * (count_of(part) or 1) + number_in(part, value)
        return number
    if kind == "Discrete":
        number = int(observation) - int(space.start)
        if not 0 <= number < int(space.n) or int(observation) != observation:
            raise ValueError
        return number
    low, high = (np.broadcast_to(end, space.shape).ravel() for end in _ends(space))
    for value, least, most in zip(np.ravel(observation).tolist(), low.tolist(), high.tolist(), strict=True):
        if not least <= value <= most or value != int(value):
            raise ValueError
        number = number * (most - least + 1) + int(value) - least
    return number


def _numbers(space: Any) -> tuple[str, ...] | None:
    """Names of the observations of a small integer box: the numbers themselves."""
    if type(space).__name__ != "Box" or (count_of(space) or 0) > NAMED:
        return None
    lines = [range(int(a), int(b) + 1) for a, b in zip(space.low.ravel(), space.high.ravel(), strict=True)]
    return tuple(", ".join(map(str, numbers)) for numbers in itertools.product(*lines))


def _two_arguments(index: Any) -> Callable[[Any, Any], int]:
    if not callable(index):
        raise GumdpError(f"from_gymnasium: index must be a function, not {type(index).__name__}.")
    if arity(index) >= 2:
        given: Callable[[Any, Any], int] = index
        return given
    return lambda observation, env: index(observation)
