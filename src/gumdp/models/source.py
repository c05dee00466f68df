"""Where a model comes from, and how to speak with the environment that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TERMINAL = ("continue", "absorb", "restart")  # what follows a state that ends an episode; "table" says "continue"


@dataclass(frozen=True)
class Source:
    """What a model was made of, in one sentence, and the two translations that acting in an environment takes.

    >>> import gumdp
    >>> print(gumdp.from_gymnasium("FrozenLake-v1").source)
    FrozenLake-v1: its own transition table, 16 states and 4 actions; after a terminal state it goes on as in the table.
    """

    text: str
    read: Callable[..., Any]  # (environment, observation, whether its episode is over) → a state of the model
    commands: tuple[Any, ...]  # what the environment calls each action
    terminal: str = "continue"  # one of TERMINAL: what the model does after a state that ends an episode
    spec: Any = field(default=None, repr=False, compare=False)  # Gymnasium's, to make the same environment again

    def __str__(self) -> str:
        return self.text


def observation_is_state(env: Any, observation: Any, over: bool = False) -> Any:
    """The state is what the environment shows."""
    return observation
