"""Models from Gymnasium environments: their own table, a compiled simulator, or copies of the environment."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, one_of, unknown
from gumdp.models.base import Model
from gumdp.models.bins import Bins
from gumdp.models.gymnasium.classic import simulate, twin_of
from gumdp.models.gymnasium.clone import Clone
from gumdp.models.gymnasium.observations import Cells, cells_for
from gumdp.models.gymnasium.table import from_table, names_of
from gumdp.models.source import TERMINAL, Source

PACKAGES = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid"}
METHODS = ("table", "simulator", "clone")
HARMLESS = {  # wrappers that leave states, actions and transitions alone
    "ClipReward", "HumanRendering", "NormalizeReward", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics",
    "RecordVideo", "RenderCollection", "TimeLimit", "TransformReward",
}  # fmt: skip


def from_gymnasium(
    env: Any,
    *,
    method: str | None = None,
    terminal: str | None = None,
    start: ArrayLike | None = None,
    bins: Bins | int | Sequence[int] | None = None,
    torques: int | ArrayLike = 5,
    index: Callable[..., int] | None = None,
    cells: int | None = None,
    save: Callable[[Any], Any] | None = None,
    restore: Callable[[Any, Any], None] | None = None,
    **options: Any,
) -> Model:
    """A model of a Gymnasium environment, which says what it is made of: ``print(model.source)``.

    Args:
        env: an environment, or the id of one; ``options`` go to ``gymnasium.make``.
        method: ``"table"`` takes the transition table that the environment publishes, ``"simulator"`` a compiled
            twin of its dynamics, ``"clone"`` copies of the environment itself. By default the first that there is.
        terminal: what follows a state that ends an episode, as trials go on for their whole horizon:
            ``"table"`` (or ``"continue"``) whatever the environment's own dynamics say, ``"absorb"`` the same
            state forever, ``"restart"`` a new start state.
        start: the distribution of start states [S], for a table without one.
        bins: how continuous observations are divided into cells for the occupancy: ``Bins``, or so many equal bins
            in each dimension. The dynamics stay continuous.
        torques: Pendulum's actions: so many torques between its extremes, or a list of them.
        index, cells: for a clone, ``index(observation)`` or ``index(observation, env)`` is the cell, 0 … cells-1;
            needed where observations have no natural numbering.
        save, restore: for a clone that can't be copied, or not quickly: ``save(env)`` returns what
            ``restore(env, saved)`` needs to bring any environment of the kind back into that state.

    >>> from_gymnasium("FrozenLake-v1", map_name="8x8", terminal="restart")
    Tabular(64 states, 4 actions, 674 transitions)
    """
    method = None if method is None else one_of("method", method, METHODS)
    terminal = None if terminal is None else one_of("terminal", terminal, ("table", *TERMINAL))
    terminal = "continue" if terminal == "table" else terminal
    env = open_environment(env, **options)
    if method is None:
        method = _choose(env)
    if method == "table":
        return _table(env, terminal or "continue", start)
    divided = bins if isinstance(bins, Bins) or bins is None else Bins(bins)
    if method == "simulator":
        return _simulator(env, terminal, divided, torques)
    return _clone(env, terminal or "restart", cells_for(env, title(env), divided, index, cells), save, restore)


def open_environment(env: Any, **options: Any) -> Any:
    """The environment itself, made if ``env`` is an id."""
    import gymnasium
    from gymnasium.error import Error, NameNotFound, NamespaceNotFound, VersionNotFound

    if isinstance(env, str):
        _register(env)
        try:
            return gymnasium.make(env, **options)
        except (NameNotFound, NamespaceNotFound, VersionNotFound):
            near = difflib.get_close_matches(env, gymnasium.registry, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else "gymnasium.registry has those that there are."
            raise GumdpError(f"unknown Gymnasium environment {env!r}; {hint}") from None
        except (Error, ImportError, TypeError) as error:
            raise GumdpError(f"gymnasium.make({env!r}) failed: {error}") from error
    if not isinstance(env, gymnasium.Env):
        raise GumdpError(f"expected a Gymnasium environment or the id of one, not {type(env).__name__}.")
    if options:
        raise GumdpError(f"{sorted(options)[0]} is for making an environment, but one was given: make it so yourself.")
    return env


def _register(name: str) -> None:
    """Import the package that knows the environment, if it is one that has to be imported first."""
    package = next((package for start, package in PACKAGES.items() if name.startswith(start)), None)
    if package is not None:
        try:
            importlib.import_module(package)
        except ImportError:
            raise GumdpError(f"{name} needs the package {package}: pip install 'gumdp[{package}]'.") from None


def newest(name: str) -> str:
    """The id of the newest registered version of an environment, as 'Taxi' → 'Taxi-v4'.

    >>> newest("FrozenLake")
    'FrozenLake-v1'
    """
    import gymnasium

    versions = [spec.version for spec in gymnasium.registry.values() if spec.namespace is None and spec.name == name]
    if not versions:
        raise unknown("Gymnasium environment", name, gymnasium.registry)
    return f"{name}-v{max(v or 0 for v in versions)}"


def title(env: Any) -> str:
    """What to call an environment in a sentence."""
    spec = getattr(env, "spec", None)
    return spec.id if spec is not None else type(env.unwrapped).__name__


def changed_by(env: Any) -> str | None:
    """The name of a wrapper that may change states, actions or transitions, or None."""
    import gymnasium

    while isinstance(env, gymnasium.Wrapper):
        if type(env).__name__ not in HARMLESS or not type(env).__module__.startswith("gymnasium."):
            return type(env).__name__
        env = env.env
    return None


def unwatched(env: Any) -> Any:
    """The environment without the outer wrappers that change nothing."""
    import gymnasium

    while isinstance(env, gymnasium.Wrapper) and type(env).__name__ in HARMLESS:
        env = env.env
    return env


def actions_of(env: Any) -> tuple[int, ...]:
    """What the environment calls its actions, which must be finitely many."""
    import gymnasium

    space = env.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return tuple(range(int(space.start), int(space.start + space.n)))
    raise GumdpError(
        f"from_gymnasium: {title(env)} has the action space {space}; it must be Discrete. "
        "Wrap the environment in gymnasium.wrappers.TransformAction with a list of the actions to choose from."
    )


def _choose(env: Any) -> str:
    """The fastest method that is faithful to this environment."""
    if changed_by(env) is None and _publishes(env):
        return "table"
    if changed_by(env) is None and twin_of(env) is not None:
        return "simulator"
    return "clone"


def _publishes(env: Any) -> bool:
    """Whether the environment has a table of transitions that tells the whole truth."""
    import gymnasium

    world = env.unwrapped
    spaces = (env.observation_space, env.action_space)
    fickle = bool(getattr(world, "fickle_passenger", False))  # Taxi: the goal may change, which its table leaves out
    return hasattr(world, "P") and all(isinstance(s, gymnasium.spaces.Discrete) for s in spaces) and not fickle


def _table(env: Any, terminal: str, start: ArrayLike | None) -> Model:
    if (wrapper := changed_by(env)) is not None:
        raise GumdpError(f"from_gymnasium: the wrapper {wrapper} may change what the table of {title(env)} says.")
    if not _publishes(env):
        raise GumdpError(f"from_gymnasium: {title(env)} publishes no transition table that holds; use another method.")
    world = env.unwrapped
    commands = actions_of(env)
    if start is None:
        start = getattr(world, "initial_state_distrib", getattr(world, "isd", None))
    if start is None:
        raise GumdpError(f"from_gymnasium: {title(env)} does not say where episodes start; give start=[…].")
    model = from_table(world.P, np.asarray(start, dtype=np.float64), terminal, **names_of(world))
    after = {
        "continue": "it goes on as in the table",
        "absorb": "nothing changes any more",
        "restart": "the next state is a start state",
    }[terminal]
    states, actions = model.shape
    model.source = Source(
        f"{title(env)}: its own transition table, {states} states and {actions} actions; "
        f"after a terminal state {after}.",
        read=read_number,
        commands=commands,
        terminal=terminal,
    )
    return model


def _simulator(env: Any, terminal: str | None, bins: Bins | None, torques: int | ArrayLike) -> Model:
    if (wrapper := changed_by(env)) is not None:
        raise GumdpError(f"from_gymnasium: the wrapper {wrapper} may change what a simulator of {title(env)} does.")
    return simulate(env, title(env), terminal, bins, torques)


def _clone(env: Any, terminal: str, cells: Cells, save: Any, restore: Any) -> Model:
    if (save is None) != (restore is None):
        raise GumdpError("from_gymnasium: save and restore go together; give both or neither.")
    model = Clone(env, actions_of(env), cells, terminal, save, restore)
    after = {"continue": "goes on as it does", "absorb": "stays as it is", "restart": "starts afresh"}[terminal]
    model.source = Source(
        f"{title(env)}: copies of the environment itself, {cells.text} and {model.shape[1]} actions; every step is a "
        f"call of Python, hundreds of times slower than a table; after a terminal state it {after}.",
        read=model.snapshot,
        commands=actions_of(env),
        terminal=terminal,
    )
    return model


def read_number(env: Any, observation: Any, over: bool = False) -> int:
    """The state is the number that the environment shows."""
    return int(observation) - int(env.observation_space.start)
