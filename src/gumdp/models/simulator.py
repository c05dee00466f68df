"""Models given as functions: the next state, and the cell of the occupancy that a state falls into."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from gumdp.errors import GumdpError, whole
from gumdp.kernels.record import Code
from gumdp.kernels.worlds import Drawn, Fixed, Noisy, Simulation, Still
from gumdp.models.base import Model


class Simulator(Model):
    """A model whose dynamics are a Python function that Numba compiles.

    Args:
        step: ``step(state, action)`` → state, or ``step(state, action, u)`` where ``u`` holds four independent
            uniform numbers in [0, 1): all the randomness that a step may use.
        start: a state, or ``start(u)`` → state.
        index: ``index(state)`` → the cell of the occupancy, 0 … cells-1.
        cells, actions: how many there are.

    A state is a tuple of floats (fast) or a one-dimensional array. The occupancy counts (cell, action) pairs,
    the dynamics stay as fine as they are. A search tree tells outcomes apart by their cell.

    >>> walk = Simulator(lambda x, a: (x[0] + (0.1 if a else -0.1),), (0.5,),
    ...                  lambda x: int(min(max(x[0], 0.0), 0.99) * 10), cells=10, actions=2)
    >>> walk.shape
    (10, 2)
    """

    def __init__(
        self,
        step: Callable[..., Any],
        start: Any,
        index: Callable[[Any], int],
        cells: int,
        actions: int,
        *,
        cell_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        grid: tuple[int, int] | None = None,
    ) -> None:
        self.shape = (whole("Simulator: cells", cells, 1), whole("Simulator: actions", actions, 1))
        self.state_names = tuple(cell_names) if cell_names is not None else None
        self.action_names = tuple(action_names) if action_names is not None else None
        for what, names, count in (
            ("cell_names", self.state_names, self.shape[0]),
            ("action_names", self.action_names, self.shape[1]),
        ):
            if names is not None and len(names) != count:
                raise GumdpError(f"Simulator: {what} must be {count} strings.")
        self.available = None
        self.grid = grid
        uniform = (0.5, 0.5, 0.5, 0.5)
        if callable(start):
            begin: Any = Drawn(_code("start", start))
            first = _attempt("start", begin.code, uniform)
        else:
            first = _as_state(start)
            begin = Fixed(first)
        noisy = len(inspect.signature(getattr(step, "py_func", step)).parameters) == 3
        move = _code("step", step)
        after = _attempt("step", move, first, np.uint64(0), *([uniform] if noisy else []))
        if numba.typeof(after) != numba.typeof(first):
            raise GumdpError(
                f"Simulator: step must return a state like the one it gets, {numba.typeof(first)}, "
                f"not {numba.typeof(after)}; write 0.0 instead of 0 where a number is a float."
            )
        where = _code("index", index)
        cell = _attempt("index", where, first)
        if not isinstance(cell, (int, np.integer)) or not 0 <= cell < self.shape[0]:
            raise GumdpError(
                f"Simulator: index must return a whole number from 0 to {self.shape[0] - 1}, not {cell!r}."
            )
        self._first = first
        self._world = Simulation(self.shape[1], self.shape[0], (Noisy if noisy else Still)(move), begin, where)

    def __repr__(self) -> str:
        return f"Simulator({self.shape[0]} cells, {self.shape[1]} actions)"

    def world(self) -> Any:
        return self._world

    def state(self, state: Any) -> Any:
        given = _as_state(state)
        if numba.typeof(given) != numba.typeof(self._first) or np.shape(given) != np.shape(self._first):
            raise GumdpError(f"state must be like {self._first!r}, not {state!r}.")
        return given

    def public(self, state: Any) -> Any:
        return state


def _as_state(state: Any) -> Any:
    try:
        if isinstance(state, np.ndarray):
            return np.ascontiguousarray(state, dtype=np.float64)
        return tuple(float(x) for x in state)
    except (TypeError, ValueError):
        raise GumdpError(f"a state must be a tuple of floats or an array, not {state!r}.") from None


def _code(what: str, function: Any) -> Code:
    if not callable(function):
        raise GumdpError(f"Simulator: {what} must be a function, not {type(function).__name__}.")
    try:
        return Code(function)
    except TypeError as error:
        raise GumdpError(f"Simulator: {what} reads {error}, which compiled code can't be made of.") from None


def _attempt(what: str, code: Code, *args: Any) -> Any:
    """The function's answer, compiled."""
    try:
        return code.compiled(*args)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise GumdpError(f"Simulator: {what} can't be compiled or fails: {type(error).__name__}: {reason}") from error
