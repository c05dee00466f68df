"""Tables learned from logged transitions, which say where they are guesswork."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from gumdp.errors import GumdpError, check_float, check_int, items, one_of, show
from gumdp.models import logs
from gumdp.models.base import Model
from gumdp.models.belief import Belief, belief_about
from gumdp.models.bins import Bins
from gumdp.models.columns import columns_of
from gumdp.models.source import TERMINAL, Source
from gumdp.models.tabular import Tabular
from gumdp.models.urns import support_of

UNSEEN = ("loop", "uniform", "exclude")
AT_UNSEEN = {"loop": "stay where they are", "uniform": "lead anywhere", "exclude": "are not available"}
AFTER = {
    "absorb": "nothing changes any more",
    "restart": "the next state is a start state",
    "continue": "it goes on as logged",
}
DENSE = 50_000_000  # probabilities that a prior over all successors may take


class Learned(Tabular):
    """A tabular model estimated from transitions, with how much each of its rows rests on.

    ``samples`` [S, A] counts the transitions that a row was estimated from: 0 means guesswork.
    ``outside`` counts the observations that lay outside the bins.

    >>> import gumdp
    >>> states, actions, following = [0, 0, 1], [0, 0, 0], [1, 1, 0]
    >>> model = gumdp.learn((states, actions, following), shape=(2, 1))
    >>> model.samples.tolist()
    [[2], [1]]
    """

    samples: NDArray[np.int64]
    outside: int = 0
    seen: sparse.csr_array  # [(S·A), S]: how often each transition was logged
    fixed: NDArray[np.bool_]  # [S, A]: whether what follows is known without any data: after the end of an episode
    prior: float = 0.0

    def belief(self, prior: float | None = None, *, support: ArrayLike | None = None) -> Belief:
        """What the log says of the world, as a belief: counts on top of pseudo-counts for all that is possible.

        Args:
            prior: the pseudo-count of every next state that is possible; by default that of ``learn``, or else 0.5.
            support: bool [S, A, S], or [S, S] whatever the action: which next states are possible. What was logged
                always is.

        What follows the end of an episode is known. Where a cell of continuous states ended only some episodes, what
        followed counts as it was logged.

        >>> log = learn(([0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0]), shape=(2, 2))
        >>> log.belief(prior=0.5).mean.dense()[0].tolist()
        [[0.125, 0.875], [0.75, 0.25]]
        """
        return belief_of(self, prior, support)

    def __repr__(self) -> str:
        seen = np.count_nonzero(self.samples)
        return f"Learned({self.shape[0]} states, {self.shape[1]} actions, {seen} of {self.samples.size} pairs seen)"


def learn(
    data: Any,
    *,
    samples: int = 20_000,
    seed: int = 0,
    shape: tuple[int, int] | None = None,
    prior: float = 0.0,
    unseen: str = "loop",
    terminal: str = "absorb",
    start: ArrayLike | int | str | None = None,
    available: ArrayLike | None = None,
    bins: Bins | int | None = None,
    terminated: ArrayLike | None = None,
    episodes: ArrayLike | None = None,
    episode: int | None = None,
    index: Any = None,
    cells: int | None = None,
) -> Learned:
    """A tabular model estimated from transitions: p(s'|s,a) = (n(s,a,s') + prior) / (n(s,a) + prior · S).

    Args:
        data: logged transitions as arrays ``(states, actions, next_states)``, of numbers or of names; a pandas frame,
            an Arrow table, a dictionary, or the path of a CSV or Parquet file with the columns state, action and
            next_state (and terminated, episode, step, if there are: without next_state the next row of the episode says
            it; rows with holes are left out, and ``source`` says how many); a Minari dataset; a Gymnasium environment
            or its id, or a model of ours, which are sampled: ``samples`` random actions from ``seed``, starting afresh
            when an episode ends or after ``episode`` (200) steps.
        shape: (states, actions), where the data may not show all of them.
        prior: pseudo-counts of every successor, in rows that were seen.
        unseen: pairs that never occurred ``"loop"`` back to their state, lead to any state alike (``"uniform"``), or
            are not available (``"exclude"``).
        terminal: what follows a state that ended an episode: ``"absorb"``, ``"restart"``, or ``"continue"`` as logged.
            Where only some visits to a state ended one, it does so with their share.
        start: a distribution, a state or its name; by default the frequencies of the first states of episodes.
        available: bool [S, A], False where an action can't be taken.
        bins: for continuous states.
        terminated, episodes: with arrays, which transitions ended an episode, and the episode of each.
        index, cells: how to number observations that have no natural numbering, as in ``from_gymnasium``.

    >>> model = learn(([0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0]), shape=(2, 2))
    >>> model
    Learned(2 states, 2 actions, 2 of 4 pairs seen)
    >>> model.samples.tolist()
    [[3, 1], [0, 0]]
    """
    one_of("unseen", unseen, UNSEEN)
    one_of("terminal", terminal, TERMINAL)
    prior = check_float("learn: prior", prior, 0.0)
    shape = None if shape is None else _shape(shape)
    divided = bins if isinstance(bins, Bins) or bins is None else Bins(bins)
    if hasattr(data, "iterate_episodes"):
        log = logs.from_minari(data, divided, index, cells)
    elif (columns := columns_of(data)) is not None:
        log = logs.from_columns(columns, shape, divided)
    elif isinstance(data, (str, Model)) or hasattr(data, "reset"):
        walk = logs.Walk(check_int("learn: samples", samples, 1), check_int("seed", seed, 0), episode, terminal)
        log = logs.sample(data, walk, divided, index, cells)
    else:
        log = logs.from_arrays(data, shape, divided, terminated, episodes)
    return _fit(log, prior, unseen, terminal, start, available)


def _shape(shape: Any) -> tuple[int, int]:
    sizes = items(shape)
    if sizes is None or len(sizes) != 2:
        raise GumdpError(f"learn: shape must be (states, actions), not {show(shape)}.")
    states, actions = (check_int("learn: shape", size, 1, 2**40) for size in sizes)
    return states, actions


def _fit(log: logs.Log, prior: float, unseen: str, terminal: str, start: Any, available: ArrayLike | None) -> Learned:
    states, actions = log.shape
    rows = log.states * actions + log.actions
    mask = _mask(log.available if available is None else available, log)
    counts = np.bincount(rows, minlength=states * actions)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, log.successors)), shape=(states * actions, states))
    if start is None:
        start = np.bincount(log.starts, minlength=states) / log.starts.size
    elif isinstance(start, str):
        start = _named(start, log.names.get("state_names"))
    share = _ended_share(log) if terminal != "continue" else np.zeros(states)
    ends = share == 1.0
    fixed = np.repeat(ends, actions)
    guessed = (counts == 0) & ~fixed & mask.ravel()
    if unseen == "exclude":
        mask = mask & ~guessed.reshape(states, actions)
        stuck = ~mask.any(axis=1)  # a state that was never left keeps its actions, and loops
        mask[stuck] = True
        guessed &= np.repeat(stuck, actions)
    loops = guessed & (unseen != "uniform")
    if terminal == "absorb":
        loops |= fixed
    parts = [_estimate(matrix, counts, prior, ~fixed & ~guessed), _constant(loops, None, log.shape)]
    if unseen == "uniform":
        parts.append(_constant(guessed, np.full(states, 1.0 / states), log.shape))
    if terminal == "restart":
        parts.append(_constant(fixed, _as_distribution(start, states), log.shape))
    table = sum(parts[1:], parts[0])
    mixed = np.where(ends, 0.0, share).repeat(actions)
    if mixed.any():
        over = _constant(mixed > 0.0, _as_distribution(start, states) if terminal == "restart" else None, log.shape)
        table = sparse.diags_array(1.0 - mixed) @ table + sparse.diags_array(mixed) @ over
    model = Learned(table, start, available=None if mask.all() else mask, **log.names)
    model.samples, model.seen, model.prior = counts.reshape(states, actions), matrix, prior
    model.fixed = fixed.reshape(states, actions)
    model.outside, model.axes = log.outside, log.axes
    model.source = Source(_sentence(model, log, unseen, terminal, prior, share), log.read, log.commands, terminal)
    return model


def belief_of(model: Learned, prior: float | None, support: ArrayLike | None) -> Belief:
    """The belief of ``Learned.belief``."""
    states, actions = model.shape
    if states * actions * states > DENSE:
        raise GumdpError(
            f"Learned.belief: {states * actions} pairs with {states} possible next states each do not fit into memory; "
            "take a coarser grid."
        )
    least = (model.prior or 0.5) if prior is None else check_float("Learned.belief: prior", prior)
    if not least > 0.0:
        raise GumdpError(f"Learned.belief: prior must be positive, not {least:g}; say with support what is impossible.")
    shape = (states, actions, states)
    logged = model.seen.toarray().reshape(shape)
    possible = support_of("Learned.belief", support, shape) | (logged > 0.0)
    possible &= model.dense().sum(axis=2, keepdims=True) > 0.0  # available actions
    known = model.dense() * model.fixed[:, :, None]
    possible = np.where(model.fixed[:, :, None], known > 0.0, possible)
    at = np.nonzero(possible)
    fixed = model.fixed[at[0], at[1]]
    weights, counts = np.where(fixed, known[at], least), np.where(fixed, 0.0, logged[at])
    return belief_about(model, at[0] * actions + at[1], at[2], weights, counts, ~model.fixed)


def _ended_share(log: logs.Log) -> NDArray[np.float64]:
    """Of the visits to each state, the share with which an episode ended there: 1 in a terminal state.

    A cell of continuous states can be both: an episode that ended there once says little of the next visit.
    """
    ended = np.bincount(log.successors[log.terminated], minlength=log.shape[0])
    left = np.bincount(log.states, minlength=log.shape[0])
    share: NDArray[np.float64] = ended / np.maximum(ended + left, 1)
    return share


def _estimate(
    matrix: sparse.csr_array, counts: NDArray[np.int64], prior: float, wanted: NDArray[np.bool_]
) -> sparse.csr_array:
    """The rows that are wanted, as frequencies with the prior's pseudo-counts."""
    rows, states = matrix.shape
    total = counts + prior * states
    share = np.where(wanted & (total > 0), 1.0 / np.maximum(total, 1e-300), 0.0)
    scaled = sparse.csr_array(sparse.diags_array(share) @ matrix)
    if prior == 0.0:
        return scaled
    if rows * states > DENSE:
        raise GumdpError(
            f"learn: a prior over all {states} successors of {rows} pairs does not fit into memory; use prior=0."
        )
    return sparse.csr_array(scaled.toarray() + (prior * share)[:, None])


def _constant(
    wanted: NDArray[np.bool_], distribution: NDArray[np.float64] | None, shape: tuple[int, int]
) -> sparse.csr_array:
    """The rows that are wanted, all of them ``distribution``, or back to their own state."""
    size = (shape[0] * shape[1], shape[0])
    rows = np.flatnonzero(wanted)
    if distribution is None:
        return sparse.csr_array((np.ones(rows.size), (rows, rows // shape[1])), shape=size)
    if np.count_nonzero(distribution) * rows.size > DENSE:
        raise GumdpError(f"learn: unseen='uniform' for {rows.size} pairs does not fit into memory; use 'loop'.")
    column = sparse.csr_array((np.ones(rows.size), (rows, np.zeros(rows.size, int))), shape=(size[0], 1))
    return sparse.csr_array(column @ sparse.csr_array(distribution[None, :]))


def _mask(available: ArrayLike | None, log: logs.Log) -> NDArray[np.bool_]:
    if available is None:
        return np.ones(log.shape, bool)
    try:
        mask = np.array(available)
    except Exception:  # lists can be nested in any way
        mask = np.array(None)
    if mask.dtype != bool or mask.shape != log.shape:
        raise GumdpError(f"learn: available must be a bool array of shape {log.shape}, not {mask.dtype} {mask.shape}.")
    bad = np.flatnonzero(~mask[log.states, log.actions])
    if bad.size:
        s, a = int(log.states[bad[0]]), int(log.actions[bad[0]])
        raise GumdpError(
            f"learn: transition {bad[0]} takes action {a} in state {s}, which available forbids; "
            "correct the mask, or drop the transition."
        )
    return mask


def _named(start: str, names: Sequence[str] | None) -> int:
    """The number of the state of that name."""
    if names is None:
        raise GumdpError(f"learn: start is the name {show(start)}, but the states have numbers; give one of those.")
    if start not in names:
        near = get_close_matches(start, names, n=1) or names[:1]
        raise GumdpError(f"learn: start must be a state of the log, {near[0]!r} for instance, not {show(start)}.")
    return list(names).index(start)


def _as_distribution(start: Any, states: int) -> NDArray[np.float64]:
    if np.ndim(start) == 1:
        return np.asarray(start, dtype=np.float64)
    one = np.zeros(states)
    one[check_int("learn: start", start, 0)] = 1.0
    return one


def _sentence(
    model: Learned, log: logs.Log, unseen: str, terminal: str, prior: float, share: NDArray[np.float64]
) -> str:
    ends, sometimes = share == 1.0, int(((share > 0.0) & (share < 1.0)).sum())
    live = model.samples[~ends]
    seen = live[live > 0]
    never = int(live.size - seen.size)
    text = (
        f"learned from {log.text}: {seen.size} of {live.size} pairs seen, the median of them {np.median(seen):g} times"
    )
    text += f" (prior {prior:g})" if prior else ""
    text += f"; {never} pairs never seen {AT_UNSEEN[unseen]}" if never else ""
    text += f"; after {int(ends.sum())} terminal states {AFTER[terminal]}" if ends.any() else ""
    if sometimes:
        then = "starts afresh" if terminal == "restart" else "stays for a step"
        text += f"; in {sometimes} states some visits ended an episode, and with their share it {then}"
    text += f"; {log.outside} observations were outside the bins" if log.outside else ""
    return text + "."
