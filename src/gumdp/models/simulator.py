"""Models given as functions: the next state, and the cell of the occupancy that a state falls into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, arity, check_int, items, show, unknown
from gumdp.jit.code import Code, reason
from gumdp.jit.record import type_of
from gumdp.models.base import Model
from gumdp.models.bins import Bins
from gumdp.models.classic_dynamics import is_certain
from gumdp.models.compiled import (
    Absorbing,
    Drawn,
    Ending,
    Fixed,
    Indexed,
    MaskedSimulation,
    Noisy,
    Restarting,
    Simulation,
    Still,
    start_state,
)
from gumdp.models.source import TERMINAL

UNIFORM = (0.5, 0.5, 0.5, 0.5)
MOST = 2**62  # cells, and actions
AGAIN = 7  # how often a step is tried again, to meet chance that is not the model's


class Simulator(Model):
    """A model whose dynamics are a Python function that Numba compiles.

    Args:
        step: ``step(state, action)`` → state, or ``step(state, action, u)`` where ``u`` holds four independent
            uniform numbers in [0, 1): all the randomness that a step may use.
        start: a state, or ``start(u)`` → state.
        index: ``index(state)`` → the cell of the occupancy, 0 … cells-1; or ``Bins``, which know their cells.
        cells, actions: how many there are.
        allowed: ``allowed(state, action)`` → whether the action can be taken there; at least one must be, everywhere.
        ended: ``ended(state)`` → whether an episode ends there; ``terminal`` says what then: ``"absorb"`` nothing
            changes any more, ``"restart"`` the next state is a start state.

    A state is a tuple of floats. The occupancy counts (cell, action) pairs, the dynamics stay as fine as they are.
    A search tree tells outcomes apart by their cell.

    >>> walk = Simulator(lambda x, a: (x[0] + (0.1 if a else -0.1),), (0.5,),
    ...                  lambda x: int(min(max(x[0], 0.0), 0.99) * 10), cells=10, actions=2)
    >>> walk.shape
    (10, 2)
    """

    def __init__(
        self,
        step: Callable[..., Any],
        start: Any,
        index: Callable[[Any], int] | Bins,
        cells: int | None = None,
        actions: int = 0,
        *,
        allowed: Callable[[Any, int], bool] | None = None,
        ended: Callable[[Any], bool] | None = None,
        terminal: str = "absorb",
        cell_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        grid: tuple[int, int] | None = None,
    ) -> None:
        begin, first = _begin(start)
        where, count = _where(index, cells, first)
        dynamics: Any = _dynamics(step, first)
        if ended is not None:
            if terminal not in TERMINAL[1:]:
                raise unknown("terminal", terminal, TERMINAL[1:])
            ending = _ending(ended, first)
            dynamics = Absorbing(dynamics, ending) if terminal == "absorb" else Restarting(dynamics, ending, begin)
        compiled: Any = Simulation(check_int("Simulator: actions", actions, 1, MOST), dynamics, begin, where)
        if allowed is not None:
            compiled = MaskedSimulation(compiled, _allowed(allowed, first, compiled.actions))
        self._fill(compiled, count, first)
        self.state_names = _names("cell_names", cell_names, count)
        self.action_names = _names("action_names", action_names, self.shape[1])
        self.grid = grid
        if isinstance(index, Bins):
            self._describe(index)

    @classmethod
    def from_record(cls, compiled: Simulation, bins: Bins, action_names: Sequence[str] | None = None) -> Simulator:
        """The model of a record that is compiled already: see ``gumdp.models.classic_dynamics``."""
        model = cls.__new__(cls)
        model._fill(compiled, bins.cells, start_state(compiled, np.uint64(0)))
        model.state_names, model.grid = None, None
        model.action_names = _names("action_names", action_names, model.shape[1])
        model._describe(bins)
        return model

    def _fill(self, world: Any, cells: int, first: Any) -> None:
        bare = world.simulation if isinstance(world, MaskedSimulation) else world
        self.shape = (cells, bare.actions)
        self.available = None
        self.bins: Bins | None = None
        self._compiled, self.first = world, first  # first: a start state, as an example
        self.deterministic = _is_certain(bare.dynamics)

    def _describe(self, bins: Bins) -> None:
        self.bins = bins
        self.state_names = self.state_names or tuple(bins.cell_names())
        self.grid, self.axes = self.grid or bins.grid, bins.axes

    def __repr__(self) -> str:
        return f"Simulator({self.shape[0]} cells, {self.shape[1]} actions)"

    @property
    def masked(self) -> bool:
        return isinstance(self._compiled, MaskedSimulation)

    def compiled(self) -> Any:
        return self._compiled

    def state(self, state: Any) -> Any:
        given = _as_state(state)
        if len(given) != len(self.first):
            raise GumdpError(f"state must be like {self.first!r}, not {show(state)}.")
        return given

    def public(self, state: Any) -> Any:
        return state


def _as_state(state: Any) -> tuple[float, ...]:
    try:
        return tuple(float(x) for x in state)
    except (TypeError, ValueError, OverflowError):
        raise GumdpError(f"a state must be a tuple of floats, not {show(state)}.") from None


def _begin(start: Any) -> tuple[Any, Any]:
    """The record of the start, and a start state."""
    if not callable(start):
        first = _as_state(start)
        return Fixed(first), first
    begin = Drawn(_code("start", start))
    first = _attempt("start", begin.code, UNIFORM)
    _check_state("start must return", first)
    return begin, first


def _dynamics(step: Any, first: Any) -> Any:
    """The record of the dynamics, tried once."""
    move = _code("step", step)
    noisy = arity(move.function) == 3
    given = (first, np.uint64(0), *([UNIFORM] if noisy else []))
    after = _attempt("step", move, *given)
    _check_state("step must return", after)
    if type_of(after) != type_of(first):
        raise GumdpError(
            f"Simulator: step must return a state like the one it gets, {type_of(first)}, "
            f"not {type_of(after)}; write 0.0 instead of 0 where a number is a float."
        )
    if any(repr(_attempt("step", move, *given)) != repr(after) for _ in range(AGAIN)):
        raise GumdpError(
            "Simulator: step leads to different states in the same situation; take all chance from u: "
            "step(state, action, u)."
        )
    return (Noisy if noisy else Still)(move)


def _is_certain(dynamics: Any) -> bool:
    """Whether a step has only one outcome."""
    if isinstance(dynamics, Absorbing):
        return _is_certain(dynamics.dynamics)
    if isinstance(dynamics, Restarting):
        return isinstance(dynamics.begin, Fixed) and _is_certain(dynamics.dynamics)
    return isinstance(dynamics, Still) or is_certain(dynamics)


def _where(index: Any, cells: int | None, first: Any) -> tuple[Any, int]:
    """The record of the cells, tried once, and how many there are."""
    if isinstance(index, Bins):
        if cells is not None and check_int("Simulator: cells", cells, 1, MOST) != index.cells:
            raise GumdpError(f"Simulator: cells is {cells}, but the bins have {index.cells}; leave cells out.")
        if index.shape is None or len(index.shape) != len(first):
            raise GumdpError(f"Simulator: the bins must have {len(first)} dimensions, as the states have.")
        return index.boxes(), index.cells
    count = check_int("Simulator: cells", cells, 1, MOST)
    where = _code("index", index)
    cell = _attempt("index", where, first)
    if not isinstance(cell, (int, np.integer)) or not 0 <= cell < count:
        raise GumdpError(f"Simulator: index must return a whole number from 0 to {count - 1}, not {show(cell)}.")
    return Indexed(count, where), count


def _ending(ended: Any, first: Any) -> Ending:
    code = _code("ended", ended)
    answer = _attempt("ended", code, first)
    if not isinstance(answer, (bool, np.bool_)):
        raise GumdpError(f"Simulator: ended must return True or False, not {show(answer)}.")
    return Ending(code)


def _allowed(allowed: Any, first: Any, actions: int) -> Code:
    """The mask, tried on every action of a start state."""
    code = _code("allowed", allowed)
    answers = [_attempt("allowed", code, first, np.uint64(a)) for a in range(actions)]
    wrong = [answer for answer in answers if not isinstance(answer, (bool, np.bool_))]
    if wrong:
        raise GumdpError(f"Simulator: allowed must return True or False, not {wrong[0]!r}.")
    if not any(answers):
        raise GumdpError(f"Simulator: allowed must leave an action everywhere; at the start, {first}, it leaves none.")
    return code


def _check_state(rule: str, state: Any) -> None:
    if not isinstance(state, tuple) or not all(isinstance(x, float) for x in state):
        raise GumdpError(
            f"Simulator: {rule} a tuple of floats, not {show(state)}; write 0.0 instead of 0 where a number is a float."
        )


def _names(what: str, names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    given = None if names is None else items(names)
    if names is not None and (given is None or len(given) != count or not all(isinstance(n, str) for n in given)):
        raise GumdpError(f"Simulator: {what} must be {count} strings.")
    return None if given is None else tuple(given)


def _code(what: str, function: Any) -> Code:
    if not callable(function):
        raise GumdpError(f"Simulator: {what} must be a function, not {type(function).__name__}.")
    try:
        return Code(function)
    except TypeError as error:
        raise GumdpError(f"Simulator: {what} must be a function that was written in Python, not {error}.") from None


def _attempt(what: str, code: Code, *args: Any) -> Any:
    """The function's answer, compiled."""
    try:
        return code.compiled(*args)
    except Exception as error:
        raise GumdpError(
            f"Simulator: {what} can't be compiled or fails: {type(error).__name__}: {reason(error)}."
        ) from error
