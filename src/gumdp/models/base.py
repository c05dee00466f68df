"""What every model answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, check_int, check_type, show
from gumdp.jit.callback import original_errors, reraise
from gumdp.models.compiled import next_state, start_state
from gumdp.models.source import Source


class Model(ABC):
    """A world to plan in: states, actions, and what happens. The occupancy counts (cell, action) pairs.

    In a tabular model a cell is a state; in a simulator of continuous states it is a box of them.

    >>> import gumdp
    >>> model = gumdp.zoo.load("frozenlake-entropy").model
    >>> model.shape, model.action_names
    ((16, 4), ('left', 'down', 'right', 'up'))
    """

    shape: tuple[int, int]  # cells, actions
    state_names: tuple[str, ...] | None  # a name for each cell
    action_names: tuple[str, ...] | None
    available: NDArray[np.bool_] | None  # [S, A]: which actions there are; None: all
    grid: tuple[int, int] | None  # rows, columns: how to draw the cells
    axes: tuple[str, str] | None = None  # a phase plane: the rows of the grid run to the right, its columns upwards
    interpreted: bool = False  # whether each step is a call of the interpreter's, and slow
    deterministic: bool = False  # whether an action is known to have one outcome in each state; the start may be drawn
    source: Source | None = None  # the environment or the data that the model was made of

    @property
    def masked(self) -> bool:
        """Whether some state lacks some action."""
        return self.available is not None

    @abstractmethod
    def compiled(self) -> Any:
        """The record that kernels call: see ``gumdp.models.compiled``."""

    @property
    def known(self) -> Any:
        """The table that the model is, or None where its probabilities are not known."""
        return None

    def simulation(self, steps: int) -> Any:
        """The record that a search of trials of so many steps may change: ``compiled()``, unless simulations learn."""
        return self.compiled()

    @abstractmethod
    def state(self, state: Any) -> Any:
        """A state of the user's, checked, as kernels take it."""

    @abstractmethod
    def public(self, state: Any) -> Any:
        """A state of the kernels', as users see it."""

    def start_state(self, rng: np.random.Generator) -> Any:
        """A start state, drawn with a generator of NumPy's.

        >>> import gumdp
        >>> gumdp.zoo.load("m1-entropy").model.start_state(np.random.default_rng(0))
        0
        """
        return self._asked(start_state, _bits(rng))

    def sample(self, state: Any, action: int, rng: np.random.Generator) -> Any:
        """A state that follows ``action`` in ``state``, drawn with a generator of NumPy's.

        >>> import gumdp
        >>> model, rng = gumdp.zoo.load("m1-entropy").model, np.random.default_rng(0)
        >>> sum(model.sample(0, 1, rng) == 2 for _ in range(1000)) > 800  # its probability is 0.9
        True
        """
        number, s = self.check_action(action), self.state(state)
        if not self.compiled().allowed(s, number):
            raise GumdpError(f"action {number} is not available in state {show(state)}.")
        return self._asked(next_state, s, np.uint64(number), _bits(rng))

    def check_action(self, action: Any) -> int:
        """``action`` as an int, if there is such an action."""
        number = check_int("action", action, 0)
        if number >= self.shape[1]:
            raise GumdpError(f"action must be below {self.shape[1]}, the number of actions, not {show(number)}.")
        return number

    @original_errors()
    def _asked(self, kernel: Any, *args: Any) -> Any:
        state = self.public(kernel(self.compiled(), *args))
        reraise()
        return state

    def row_of(self, state: Any) -> int:
        """The row of the occupancy that a state of the user's belongs to.

        >>> import gumdp
        >>> gumdp.zoo.load("m1-entropy").model.row_of(2)
        2
        """
        return int(self.compiled().cell(self.state(state)))

    def actions(self, state: Any) -> list[int]:
        """The actions that are available in a state of the user's.

        >>> import gumdp
        >>> gumdp.zoo.load("m1-entropy").model.actions(0)
        [0, 1]
        """
        s, model = self.state(state), self.compiled()
        return [a for a in range(self.shape[1]) if model.allowed(s, a)]

    def action_name(self, action: int) -> str:
        """The name of an action, or its number."""
        return self.action_names[action] if self.action_names else str(action)

    def state_name(self, cell: int) -> str:
        """The name of a cell, or its number."""
        return self.state_names[cell] if self.state_names else str(cell)


def _bits(rng: Any) -> np.uint64:
    check_type("rng", rng, np.random.Generator)
    return np.uint64(rng.integers(2**64, dtype=np.uint64))
