"""Models from Gymnasium environments: their own table, a compiled simulator, or copies of the environment."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, array_of_numbers, failures_of, one_of
from gumdp.models.base import Model
from gumdp.models.bins import Bins
from gumdp.models.gymnasium.classic import simulate, twin_of
from gumdp.models.gymnasium.clone import Clone
from gumdp.models.gymnasium.elsewhere import Elsewhere
from gumdp.models.gymnasium.enumerate import NotTable, enumerated
from gumdp.models.gymnasium.examine import HORIZON, Verdict, examine, rehearse
from gumdp.models.gymnasium.observations import Cells, cells_for
from gumdp.models.gymnasium.opening import actions_of, changed_by, open_environment, pays_its_own, specification, title
from gumdp.models.gymnasium.presets import preset_of
from gumdp.models.gymnasium.table import from_table, names_of
from gumdp.models.gymnasium.ways import Anew, Copy, Given, Maker, Replay, Way
from gumdp.models.source import TERMINAL, Source

SEED = 7  # of the test that a way back stands
SLOW = 50.0  # iterations per second, below which there is advice
WORDS = {
    "Copy": "copies", "Given": "save and restore", "Preset": "save and restore", "Arcade": "save and restore",
    "Replay": "replay", "Anew": "replay in a new environment", "Elsewhere": "copies in processes",
}  # fmt: skip
METHODS = ("table", "simulator", "enumerate", "clone", "copy", "save", "replay", "process")


@failures_of("from_gymnasium: the environment")
def from_gymnasium(
    env: Any,
    *,
    method: str | None = None,
    terminal: str | None = None,
    start: ArrayLike | None = None,
    bins: Bins | int | Sequence[int] | Mapping[Any, Any] | None = None,
    torques: int | ArrayLike = 5,
    index: Callable[..., int] | str | None = None,
    cells: int | None = None,
    save: Callable[[Any], Any] | None = None,
    restore: Callable[[Any, Any], None] | None = None,
    actions: int | Sequence[Any] | None = None,
    **options: Any,
) -> Model:
    """A model of a Gymnasium environment, which says what it is made of: ``print(model.source)``.

    Args:
        env: an environment, the id of one, or a function that makes one; ``options`` go to ``gymnasium.make``.
        method: ``"table"`` takes the transition table that the environment publishes, ``"simulator"`` a compiled
            twin of its dynamics, ``"enumerate"`` a table that is made by visiting every state, for small worlds that
            always start in the same one (tried by default where rewards are vectors), ``"clone"`` the environment
            itself: it returns to states by ``"copy"``, by ``"save"`` and restore, or by ``"replay"`` of the
            actions from a reset with the same seed, the first that stands a test with this environment. By default
            the first of all that there is. ``"process"``: copies in a process for each thread, for simulators in Python
            that take milliseconds per step, with ``MCTS(threads=…)`` or ``evaluate(…, workers=…)``.
        terminal: what follows a state that ends an episode, as trials go on for their whole horizon:
            ``"table"`` (or ``"continue"``) whatever the environment's own dynamics say, ``"absorb"`` the same
            state forever, ``"restart"`` a new start state.
        start: the distribution of start states [S], for a table without one.
        bins: how observations are divided into cells for the occupancy: ``Bins``, so many equal bins in each dimension,
            or ``{name or number: count}`` for some of them (``(count, low, high)`` for one without bounds of its own).
            The dynamics stay continuous.
        torques: Pendulum's actions: so many torques between its extremes, or a list of them.
        index, cells: for a clone, ``index(observation)`` or ``index(observation, env)`` is the cell, 0 … cells-1;
            needed where observations have no natural numbering. ``index="hash"``: a hash of the observation's bytes
            (of images: of 8 × 8 blocks in 8 shades), for ``Problem(…, counts=Hashed())``.
        save, restore: for a clone that can't be copied, or not quickly: ``save(env)`` returns what
            ``restore(env, saved)`` needs to bring any environment of the kind back into that state.
        actions: those to choose from, where there are too many: a list, or so many levels in each dimension.

    >>> from_gymnasium("FrozenLake-v1", map_name="8x8", terminal="restart")
    Tabular(64 states, 4 actions, 674 transitions)
    """
    method = None if method is None else one_of("method", method, METHODS)
    terminal = None if terminal is None else one_of("terminal", terminal, ("table", *TERMINAL))
    terminal = "continue" if terminal == "table" else terminal
    if (save is None) != (restore is None):
        raise GumdpError("from_gymnasium: save and restore go together; give both or neither.")
    opened, given = open_environment(env, **options), method
    if method is None:
        method = _choose(opened) if actions is None and save is None else "clone"
    if method == "table":
        return _table(opened, terminal or "continue", start)
    if method == "enumerate":
        return _enumerated(opened, terminal, actions_of(opened, actions))
    if given is None and save is None and index is None and bins is None and _pays_vectors(opened):
        with contextlib.suppress(NotTable):
            return _enumerated(opened, terminal, actions_of(opened, actions))
    divided = bins if isinstance(bins, (Bins, Mapping)) or bins is None else Bins(bins)
    if method == "simulator":
        if isinstance(divided, Mapping):
            raise GumdpError("from_gymnasium: bins for a compiled simulator must be Bins or counts for each dimension.")
        return _simulator(opened, terminal, divided, torques)
    commands, numbering = actions_of(opened, actions), _numbered(opened, divided, index, cells)
    maker = Maker(opened, None if opened is env or isinstance(env, str) else env)
    own = None if save is None or restore is None else (save, restore)
    return _clone(opened, method, terminal or "restart", numbering, commands, maker, own)


def _numbered(env: Any, bins: Any, index: Any, cells: int | None) -> Any:
    """The cells of a clone; where rewards are what counts, a hash will do if there is nothing better."""
    try:
        return cells_for(env, title(env), bins, index, cells)
    except GumdpError:
        if index is not None or bins is not None or not _pays_vectors(env):
            raise
        return cells_for(env, title(env), None, "hash")


def _choose(env: Any) -> str:
    """The fastest method that is faithful to this environment."""
    if changed_by(env) is None and _publishes(env):
        return "table"
    if changed_by(env) is None and twin_of(env) is not None:
        return "simulator"
    return "clone"


def _pays_vectors(env: Any) -> bool:
    """Whether rewards are vectors, as MO-Gymnasium has them."""
    shape: tuple[int, ...] | None = getattr(getattr(env.unwrapped, "reward_space", None), "shape", None)
    return shape is not None and math.prod(shape) > 1


def _enumerated(env: Any, terminal: str | None, commands: tuple[Any, ...]) -> Model:
    try:
        model, read = enumerated(env, commands, terminal or "absorb")
    except NotTable as error:
        raise NotTable(f"from_gymnasium: {title(env)} can't be written down as a table: {error}.") from error
    after = "the next state is the start" if terminal == "restart" else "nothing changes any more, and nothing is paid"
    model.source = Source(
        f"{title(env)}: a table of all that can follow, {model.shape[0]} states and {model.shape[1]} actions, with its "
        f"rewards; after a terminal state {after}.",
        read=read,
        commands=commands,
        terminal=terminal or "absorb",
        spec=specification(env, wrapped=False),
    )
    return model


def _publishes(env: Any) -> bool:
    """Whether the environment has a table of transitions that tells the whole truth."""
    import gymnasium

    world = env.unwrapped
    spaces = (env.observation_space, env.action_space)
    fickle = bool(getattr(world, "fickle_passenger", False))  # Taxi: the goal may change, which its table leaves out
    listed = isinstance(getattr(world, "P", None), (Mapping, Sequence))
    return listed and all(isinstance(s, gymnasium.spaces.Discrete) for s in spaces) and not fickle


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
    model = from_table(world.P, array_of_numbers("from_gymnasium: start", start), terminal, **names_of(world))
    if pays_its_own(env):
        model.rewards = None  # those of the table are not what is paid
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
        spec=specification(env, wrapped=False),
    )
    return model


def _simulator(env: Any, terminal: str | None, bins: Bins | None, torques: int | ArrayLike) -> Model:
    if (wrapper := changed_by(env)) is not None:
        raise GumdpError(f"from_gymnasium: the wrapper {wrapper} may change what a simulator of {title(env)} does.")
    model = simulate(env, title(env), terminal, bins, torques)
    assert model.source is not None
    model.source = replace(model.source, spec=specification(env, wrapped=False))
    return model


def _clone(
    env: Any, method: str, terminal: str, cells: Cells, commands: tuple[Any, ...], maker: Maker, own: Any
) -> Model:
    way, verdict, refused, kinds = _way_in(env, method, commands, maker, own)
    model = Clone(way, cells, terminal, reward_kinds=kinds, certain=verdict.certain)
    after = {"continue": "goes on as it does", "absorb": "stays as it is", "restart": "starts afresh"}[terminal]
    why = "".join(f"; no {name}, as {fault}" for name, fault in refused)
    note = f"; {verdict.note}" if verdict.note else ""
    if model.deterministic:
        note = "; nothing was left to chance in a walk of some hundred steps, so that plans are kept"
    if verdict.note:
        warnings.warn(f"{title(env)}: {verdict.note}.", stacklevel=4)
    speed = f"about {_rounded(verdict.rate)} iterations per second at a horizon of {HORIZON}"
    speed += " (more with MCTS(depth=…), which looks fewer steps ahead)" if verdict.rate < SLOW else ""
    model.source = Source(
        f"{title(env)}: {way.text}, {cells.text} and {model.shape[1]} actions; every step is a call of Python, "
        "hundreds of times slower than a table: "
        f"{speed}{why}; after a terminal state it {after}{note}.",
        read=model.snapshot,
        commands=commands,
        terminal=terminal,
        spec=specification(env, wrapped=True),
    )
    return model


def _way_in(
    env: Any, method: str, commands: tuple[Any, ...], maker: Maker, own: tuple[Any, Any] | None
) -> tuple[Way, Verdict, list[tuple[str, str]], int]:
    """The first way back into a state that stands the test, why those before it did not, and the size of a reward."""
    stand = maker()
    script = rehearse(stand, commands, SEED)
    refused: list[tuple[str, str]] = []
    parts = maker, commands, script.chance
    ways: list[Way | None] = [Copy(*parts), preset_of(stand, *parts), Replay(*parts), Anew(*parts)]
    if method == "process":
        ways = [Elsewhere(*parts)]
    if own is not None:
        ways = [Given(*parts, *own)]
    for way in ways:
        if way is None or method not in ("clone", way.name):
            continue
        verdict = examine(way, maker(), script)
        if not verdict.fault:
            return way, verdict, refused, script.kinds
        refused.append((WORDS[type(way).__name__], verdict.fault))
    reasons = "; ".join(f"no {name}, as {fault}" for name, fault in refused) or "it offers no methods for its state"
    raise GumdpError(
        f"from_gymnasium: there is no way back into a state of {title(env)}: {reasons}. "
        + (
            "Correct save(env) and restore(env, saved)."
            if own is not None
            else "Give save=function(env) and restore=function(env, saved), or a function that makes the environment."
        )
    )


def _rounded(rate: float) -> str:
    """Two figures are enough."""
    return f"{float(f'{rate:.1g}'):,.0f}" if rate >= 1.0 else f"{rate:.1g}"


def read_number(env: Any, observation: Any, over: bool = False) -> int:
    """The state is the number that the environment shows."""
    return int(observation) - int(env.observation_space.start)
