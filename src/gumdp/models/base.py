"""What every model answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.models.source import Source


class Model(ABC):
    """A world to plan in: states, actions, and what happens. The occupancy counts (cell, action) pairs.

    In a tabular model a cell is a state; in a simulator of continuous states it is a box of them.
    """

    shape: tuple[int, int]  # cells, actions
    state_names: tuple[str, ...] | None  # a name for each cell
    action_names: tuple[str, ...] | None
    available: NDArray[np.bool_] | None  # [S, A]: which actions there are; None: all
    grid: tuple[int, int] | None  # rows, columns: how to draw the cells
    axes: tuple[str, str] | None = None  # a phase plane: the rows of the grid run to the right, its columns upwards
    interpreted: bool = False  # whether each step is a call of the interpreter's, and slow
    source: Source | None = None  # the environment or the data that the model was made of

    @abstractmethod
    def compiled(self) -> Any:
        """The record that kernels call: see ``gumdp.models.compiled``."""

    @abstractmethod
    def state(self, state: Any) -> Any:
        """A state of the user's, checked, as kernels take it."""

    @abstractmethod
    def public(self, state: Any) -> Any:
        """A state of the kernels', as users see it."""

    def action_name(self, action: int) -> str:
        """The name of an action, or its number."""
        return self.action_names[action] if self.action_names else str(action)

    def state_name(self, cell: int) -> str:
        """The name of a cell, or its number."""
        return self.state_names[cell] if self.state_names else str(cell)
