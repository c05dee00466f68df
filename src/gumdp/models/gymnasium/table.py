"""Models from the transition tables that some environments publish: FrozenLake, Taxi, CliffWalking and their like."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError
from gumdp.models.gymnasium.enumerate import attach_rewards
from gumdp.models.tabular import Tabular

LETTERS = {"S": "start", "F": "ice", "H": "hole", "G": "goal"}
PLACES = ("red", "green", "yellow", "blue")
FIELDS = [("row", np.int64), ("next", np.int64), ("p", np.float64), ("ended", np.bool_), ("reward", np.float64)]


def from_table(table: Any, start: ArrayLike, terminal: str, **names: Any) -> Tabular:
    """The model of a Gymnasium table ``table[s][a] = [(probability, next state, reward, terminated), …]``.

    ``terminal`` says what follows a state in which an episode ended: ``"continue"`` as the table has it,
    ``"absorb"`` stays there forever, ``"restart"`` draws a new start state, whatever the action.
    """
    entries, states, actions = _read(table)
    rows = states * actions
    matrix = sparse.csr_array((entries["p"], (entries["row"], entries["next"])), shape=(rows, states))
    ends = np.unique(entries["next"][entries["ended"]])
    if terminal != "continue":
        _check_ends(entries, ends, np.asarray(start), actions)
        matrix = _replace(matrix, ends, actions, np.asarray(start, np.float64) if terminal == "restart" else None)
    model = Tabular(matrix, start, **names)
    going_on = entries if terminal == "continue" else entries[~np.isin(entries["row"] // actions, ends)]
    rewards: dict[tuple[int, int], float] = {}
    for row, after, reward in going_on[["row", "next", "reward"]].tolist():
        if rewards.setdefault((row, after), reward) != reward:
            return model  # the same step pays now this, now that: the next state does not say which
    attach_rewards(model, rewards)
    return model


def _read(table: Any) -> tuple[NDArray[Any], int, int]:
    """Every entry of the table, and the numbers of states and actions."""
    try:
        states, actions = len(table), len(table[0])
        entries = [
            (s * actions + a, successor, p, bool(ended), reward)
            for s in range(states)
            for a in range(actions)
            for p, successor, reward, ended in table[s][a]
        ]
        return np.array(entries, dtype=FIELDS), states, actions
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise GumdpError(
            "from_gymnasium: the environment's P is not a table P[state][action] = [(probability, next state, reward, "
            f"terminated), …] ({type(error).__name__}: {error}); use method='clone'."
        ) from error


def _check_ends(entries: NDArray[Any], ends: NDArray[np.int64], start: NDArray[Any], actions: int) -> None:
    """Raise if an episode can be over or not over in the same state: then no state stands for its end."""
    going_on = entries[~np.isin(entries["row"] // actions, ends)]
    reached = np.flatnonzero(start > 0)
    while True:
        onward = going_on["next"][np.isin(going_on["row"] // actions, reached)]
        wider = np.union1d(reached, onward)
        if wider.size == reached.size:
            break
        reached = wider
    passing = going_on[
        np.isin(going_on["row"] // actions, reached) & ~going_on["ended"] & np.isin(going_on["next"], ends)
    ]
    if passing.size:
        s, a = divmod(int(passing["row"][0]), actions)
        raise GumdpError(
            f"from_gymnasium: an episode ends on some ways into state {int(passing['next'][0])} and goes on when "
            f"(s={s}, a={a}) leads there, so that no state stands for its end; use terminal='table'."
        )


def _replace(
    matrix: sparse.csr_array, ends: NDArray[np.int64], actions: int, start: NDArray[np.float64] | None
) -> sparse.csr_array:
    """The matrix with the rows of the states ``ends`` leading to ``start``, or back to the state itself."""
    keep = np.ones(matrix.shape[0])
    rows = (ends[:, None] * actions + np.arange(actions)).ravel()
    keep[rows] = 0.0
    if start is None:
        fresh = sparse.csr_array((np.ones(rows.size), (rows, rows // actions)), shape=matrix.shape)
    else:
        column = sparse.csr_array((np.ones(rows.size), (rows, np.zeros(rows.size, int))), shape=(matrix.shape[0], 1))
        fresh = column @ sparse.csr_array(start[None, :])
    return sparse.csr_array(sparse.diags_array(keep) @ matrix + fresh)


def names_of(world: Any) -> dict[str, Any]:
    """What is known of an environment for people: names of states and actions, and a grid to draw."""
    kind = type(world).__name__
    if kind == "FrozenLakeEnv":
        rows, columns = world.desc.shape
        squares = [LETTERS.get(letter.decode(), letter.decode()) for letter in world.desc.ravel()]
        return {
            "action_names": ("left", "down", "right", "up"),
            "state_names": [f"row {k // columns} column {k % columns}, {what}" for k, what in enumerate(squares)],
            "grid": (rows, columns),
        }
    if kind == "CliffWalkingEnv":
        rows, columns = world.shape
        return {
            "action_names": ("up", "right", "down", "left"),
            "state_names": [f"row {k // columns} column {k % columns}" for k in range(rows * columns)],
            "grid": (rows, columns),
        }
    if kind == "TaxiEnv":
        return {
            "action_names": ("south", "north", "east", "west", "pick up", "drop off"),
            "state_names": [_taxi(world, s) for s in range(world.observation_space.n)],
        }
    return {}


def _taxi(world: Any, state: int) -> str:
    row, column, passenger, goal = (int(x) for x in world.decode(state))
    where = "in the taxi" if passenger == len(PLACES) else f"at {PLACES[passenger]}"
    return f"taxi at row {row} column {column}, passenger {where}, to {PLACES[goal]}"
