"""How the urns of a belief are laid out: which outcomes each pair has, and which pairs share one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, array_of_numbers, describe
from gumdp.models.mixture_kernels import HEADER, Mixtures

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
COMPONENTS = 256  # of a mixture, at most; the least likely are left out
DENSE = 50_000_000  # outcomes that there may be in all
EVEN = 8  # outcomes up to which all urns get the room of the widest: how long a draw takes is then foreseen


@dataclass(frozen=True)
class Outcomes:
    """What can follow each pair: entry i is an outcome of ``rows[i]`` = s·A + a, rows in order."""

    rows: Ints  # [n]
    places: Ints  # [n]: the outcome's number, by which tied pairs share it
    successors: Ints  # [n]
    groups: Ints  # [S·A]: the urn of each row; -1 where the action is not available


@dataclass(frozen=True)
class Layout:
    """The urns, one after another: see ``gumdp.models.belief_kernels.Urns``."""

    offsets: Any  # uint32 or int64 [S·A + 1]
    successors: Any  # int32 [n]
    heads: Any  # uint32 or int64 [S·A]
    groups: Ints  # [S·A]: the urn of each row, or -1
    first: Ints  # [G]: where each urn begins
    widths: Ints  # [G]: how many outcomes it has
    room: int  # how many it has room for, or 0: as many as it has
    stride: int  # entries from the urn of one row to that of the next, or 0: ``heads`` says where they are
    vague: Ints  # the urns of which an outcome can't always be told from what is seen

    def balls(self) -> Ints:
        """Where the ball of each outcome of each row is, [n]."""
        rows = self.rows()
        places = np.arange(rows.size) - self.offsets.astype(np.int64)[rows]
        where: Ints = self.heads.astype(np.int64)[rows] + HEADER + places
        return where

    def slots(self) -> tuple[Ints, Ints]:
        """The urn of each ball, urn after urn, and where the ball is."""
        urns = np.repeat(np.arange(self.first.size), self.widths)
        within = np.arange(urns.size) - np.repeat(np.cumsum(self.widths) - self.widths, self.widths)
        return urns, self.first[urns] + HEADER + within

    def rows(self) -> Ints:
        """The row of each outcome, [n]."""
        return np.repeat(np.arange(self.heads.size), np.diff(self.offsets.astype(np.int64)))


def outcomes_of(
    shape: tuple[int, int], support: Any, moves: Any, tied: Any, available: Mask | None
) -> tuple[Outcomes, int]:
    """What can follow each pair, from what the user says, and how many numbers an outcome can have."""
    states, actions = shape
    wanted = np.ones(shape, bool) if available is None else available
    where = None if moves is None else _moves(moves, shape)
    ways = states if where is None else where.shape[2]
    if states * actions * ways > DENSE:
        raise GumdpError(
            f"Belief: {states} states × {actions} actions × {ways} outcomes do not fit into memory; "
            "give moves, a few for each state."
        )
    possible = support_of("Belief", support, (states, actions, ways)) & wanted[:, :, None]
    empty = np.argwhere(~possible.any(axis=2) & wanted)
    if empty.size:
        s, a = (int(i) for i in empty[0])
        raise GumdpError(f"Belief: support has no next state for (s={s}, a={a}); each pair needs at least one.")
    at = np.nonzero(possible)
    successors = at[2] if where is None else np.broadcast_to(where, (states, actions, ways))[at]
    groups = np.where(wanted.ravel(), _groups(tied, shape), -1)
    _, packed = np.unique(groups, return_inverse=True)
    groups = np.where(groups >= 0, packed.reshape(-1) - int((groups < 0).any()), -1)
    made = Outcomes(at[0] * actions + at[1], at[2], successors, groups)
    if tied is not None:
        _check_ties(made, possible.reshape(-1, ways), shape)
    return made, ways


def support_of(name: str, support: Any, shape: tuple[int, int, int]) -> Mask:
    """``support`` as a bool array of ``shape``; all True if it is None."""
    if support is None:
        return np.ones(shape, bool)
    try:
        mask = np.asarray(support)
        if mask.dtype != bool:
            raise TypeError
        if mask.shape == (shape[0], shape[2]) and shape[0] == shape[2]:  # [S, S]: whatever the action
            mask = mask[:, None, :]
        elif mask.shape == shape[1:]:  # [A, K]: wherever one is
            mask = mask[None]
        elif mask.shape != shape:
            raise TypeError
        return np.broadcast_to(mask, shape)
    except Exception:  # what came can be anything at all
        raise GumdpError(f"Belief: support must be a bool array of shape {shape}, not {describe(support)}.") from None


def _moves(moves: Any, shape: tuple[int, int]) -> Ints:
    """Where each move leads, [S, 1 or A, K]."""
    states, actions = shape
    table = _whole_numbers(moves)
    if table is not None and table.ndim == 2:
        table = table[:, None, :]
    fits = table is not None and table.ndim == 3 and table.size > 0 and table.shape[:2] in ((states, 1), shape)
    if table is None or not fits or table.min() < 0 or table.max() >= states:
        raise GumdpError(
            f"Belief: moves must be the next states of each move, whole numbers from 0 to {states - 1}, in an array "
            f"({states}, moves) or ({states}, {actions}, moves), not {describe(moves)}."
        )
    return table


def _groups(tied: Any, shape: tuple[int, int]) -> Ints:
    """A label for each row, from 0 on."""
    if tied is None:
        return np.arange(shape[0] * shape[1])
    labels = _whole_numbers(tied)
    if labels is None or labels.shape != shape:
        raise GumdpError(f"Belief: tied must be whole numbers, labels of shape {shape}, not {describe(tied)}.")
    return np.unique(labels.ravel(), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _whole_numbers(values: Any) -> Ints | None:
    """``values`` as an array of whole numbers, or None if they are not."""
    try:
        array = np.asarray(values)
    except Exception:  # what came can be anything at all
        return None
    return array.astype(np.int64) if array.dtype.kind in "iu" else None


def _check_ties(made: Outcomes, possible: Mask, shape: tuple[int, int]) -> None:
    live = made.groups >= 0
    _, first = np.unique(made.groups[live], return_index=True)
    leader = np.flatnonzero(live)[first][np.maximum(made.groups, 0)]
    odd = np.flatnonzero(live & (possible != possible[leader]).any(axis=1))
    if odd.size:
        (s, a), (s0, a0) = divmod(int(odd[0]), shape[1]), divmod(int(leader[odd[0]]), shape[1])
        raise GumdpError(
            f"Belief: (s={s}, a={a}) and (s={s0}, a={a0}) are tied, but have other possible outcomes; "
            "give them the same support, or moves, which mean the same in each state."
        )


def prior_of(prior: Any, shape: tuple[int, int, int], made: Outcomes) -> Floats:
    """The pseudo-count of each outcome, [n]."""
    table = array_of_numbers("Belief: prior", prior)
    try:
        full = np.broadcast_to(table, shape)
    except ValueError:
        raise GumdpError(f"Belief: prior must be a number or of shape {shape}, not {table.shape}.") from None
    values = full.reshape(shape[0] * shape[1], shape[2])[made.rows, made.places]
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if bad.size:
        s, a = divmod(int(made.rows[bad[0]]), shape[1])
        raise GumdpError(
            f"Belief: prior must be positive and finite, not {values[bad[0]]:g} at (s={s}, a={a}); "
            "say with support which next states are impossible."
        )
    return values


def counts_of(counts: Any, shape: tuple[int, int, int], made: Outcomes) -> Floats:
    """How often each outcome was seen, [n]."""
    if counts is None:
        return np.zeros(made.rows.size)
    table = array_of_numbers("Belief: counts", counts)
    if table.shape != shape:
        raise GumdpError(f"Belief: counts must have the shape {shape}, not {table.shape}.")
    if not (np.isfinite(table).all() and (table >= 0.0).all()):
        s, a, k = (int(i) for i in np.argwhere(~(np.isfinite(table) & (table >= 0.0)))[0])
        raise GumdpError(f"Belief: counts must be finite and not negative, not {table[s, a, k]:g} at ({s}, {a}, {k}).")
    flat = table.reshape(-1, shape[2])
    seen = np.zeros(flat.shape, bool)
    seen[made.rows, made.places] = True
    lost = np.argwhere((flat > 0.0) & ~seen)
    if lost.size:
        (s, a), k = divmod(int(lost[0][0]), shape[1]), int(lost[0][1])
        raise GumdpError(
            f"Belief: counts has {flat[lost[0][0], k]:g} for the outcome {k} of (s={s}, a={a}), which support holds "
            "for impossible; set it True there."
        )
    return flat[made.rows, made.places]


def lay_out(made: Outcomes, prior: Floats, counts: Floats, gains: Floats) -> tuple[Layout, Floats]:
    """The urns: how they stand, and what they hold. ``gains`` [S·A] is what a draw adds to an urn: 1, or 0 if known."""
    made, prior, counts = _merged(made, prior, counts)
    rows, groups = made.groups.size, made.groups[made.rows]
    _, leaders = np.unique(groups, return_index=True)  # the first outcome of each group
    leads = made.rows == made.rows[leaders][groups]  # outcomes of the first row of their group
    widths = np.bincount(groups[leads])
    start = np.concatenate([[0], np.cumsum(widths)[:-1]])
    lengths = np.bincount(made.rows, minlength=rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    slots = start[groups] + np.arange(made.rows.size) - offsets[made.rows]
    balls = np.zeros(int(widths.sum()))
    balls[slots[leads]] = prior[leads]
    if not np.allclose(balls[slots], prior, rtol=1e-12, atol=0.0):
        raise GumdpError("Belief: prior must be the same for tied pairs.")
    np.add.at(balls, slots, counts)
    order = np.lexsort((np.arange(made.rows.size), -balls[slots], made.rows))
    widest = int(widths.max())
    room = widest if widest <= EVEN else 0
    rooms = np.full(widths.size, room) if room else widths
    first = np.concatenate([[0], np.cumsum(rooms + HEADER)])
    held, first = np.zeros(first[-1]), first[:-1]
    held[first] = np.add.reduceat(balls, start)
    held[first + 1] = gains[made.rows[leaders]]
    within = np.arange(made.rows.size) - offsets[made.rows]
    held[first[groups] + HEADER + within] = balls[slots][order]
    kind = np.uint32 if max(held.size, made.rows.size) < 2**32 else np.int64
    heads = np.where(made.groups >= 0, first[np.maximum(made.groups, 0)], 0)
    stride = room + HEADER if room and np.array_equal(made.groups, np.arange(rows)) else 0
    pairs = np.unique(made.rows * (made.successors.max() + 1) + made.successors, return_counts=True)
    twice = np.unique(made.groups[pairs[0][pairs[1] > 1] // (made.successors.max() + 1)])
    layout = Layout(
        offsets.astype(kind), made.successors[order].astype(np.int32), heads.astype(kind), made.groups, first, widths,
        room, stride, twice.astype(np.int64),
    )  # fmt: skip
    return layout, held


def _merged(made: Outcomes, prior: Floats, counts: Floats) -> tuple[Outcomes, Floats, Floats]:
    """The same with equal next states of a pair taken together, where the pair has an urn of its own."""
    alone = (np.bincount(made.groups[made.groups >= 0]) == 1)[np.maximum(made.groups, 0)]
    size = int(max(made.successors.max(), made.places.max())) + 1
    names = np.where(alone[made.rows], made.successors, made.places)
    keys, index, inverse = np.unique(made.rows * size + names, return_index=True, return_inverse=True)
    if keys.size == made.rows.size:
        return made, prior, counts
    together = Outcomes(made.rows[index], made.places[index], made.successors[index], made.groups)
    inverse = inverse.reshape(-1)
    return together, np.bincount(inverse, prior).astype(float), np.bincount(inverse, counts).astype(float)


def in_units(layout: Layout, held: Floats, steps: int) -> tuple[Floats, NDArray[np.uint32]]:
    """The units that a ball counts for, at the head of each urn, and the urns in whole units.

    So many that an urn stays below 2³² in a trial of so many steps, and a power of 2: a probability is as near to what
    it should be as a draw of 32 bits can make it.
    """
    most = held[layout.first] + steps * held[layout.first + 1]
    powers = 2.0 ** np.floor(31.0 - np.log2(most))
    scales, units = np.zeros(held.size), np.zeros(held.size, np.uint32)
    scales[layout.first] = powers
    urns, places = layout.slots()
    units[places] = (held[places] * powers[urns] + 0.5).astype(np.uint32)
    units[layout.first] = (held[layout.first] * powers + 0.5).astype(np.uint32)
    units[layout.first + 1] = (held[layout.first + 1] * powers).astype(np.uint32)
    return scales, units


def new_mixtures(layout: Layout) -> Mixtures:
    """Urns that can be mixtures, all of them known still."""
    urns, widest = layout.vague, int(layout.widths[layout.vague].max(initial=0))
    room = COMPONENTS if urns.size else 0
    return Mixtures(
        heads=layout.first[urns],
        widths=layout.widths[urns],
        sizes=np.ones(urns.size, np.int64),
        weights=np.ones((urns.size, room)),
        balls=np.zeros((urns.size, room, widest)),
        new_weights=np.zeros(room),
        new_balls=np.zeros((room, widest)),
        open=np.zeros(2, np.int64),
    )
