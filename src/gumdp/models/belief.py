"""Worlds that are not known yet: a distribution over tables, which grows sharper with what is seen."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError, array_of_numbers, check_int, check_type, items, one_of, show
from gumdp.models.base import Model
from gumdp.models.belief_kernels import IMPOSSIBLE, Urns, observe_once
from gumdp.models.gymnasium.adapter import read_number
from gumdp.models.mixture_kernels import HEADER, Mixtures
from gumdp.models.source import TERMINAL, Source
from gumdp.models.tabular import Tabular
from gumdp.models.urns import Floats, Outcomes, counts_of, in_units, lay_out, new_mixtures, outcomes_of, prior_of

if TYPE_CHECKING:
    from gumdp.models.candidates import OneOf

STREAM = 0xBE11EF  # of the draws of worlds
MOST = 10**7  # states, and actions


class Belief(Model):
    """What is known about a world: for each state and action a Dirichlet distribution over what follows.

    Args:
        states, actions: how many there are.
        prior: the pseudo-count of every outcome that is possible: a number, or an array [S, A, S] ([S, A, K] with
            ``moves``). Small ones expect rows that are nearly deterministic, 1 holds all rows alike.
        start: a distribution [S], or one state.
        support: bool [S, A, S], or [S, S] whatever the action: which next states are possible. By default all.
        moves: for outcomes that are relative moves rather than next states: where each of K moves leads, [S, K] or
            [S, A, K]. ``support`` then says which moves are possible, [S, A, K] or [A, K].
        tied: a label for each pair, [S, A]: pairs of one label share one distribution, over next states, or over moves.
            What one teaches is then known of all of them.
        counts: what was seen already, [S, A, S] ([S, A, K] with ``moves``).
        available, state_names, action_names, grid: as in ``Tabular``.
        terminal: what ``play`` does when an episode of the environment ends: ``"restart"`` it, ``"absorb"``, that is to
            wait, or ``"continue"``.

    A planner on a belief plans for what it will learn. A belief never changes; ``after`` gives the next one.

    Two tied moves that lead to the same state can't be told apart. What is known is then a mixture of Dirichlet
    distributions, one for each way in which it can have been, exact up to 256 ways.

    >>> coin = Belief(states=2, actions=1, prior=1.0)
    >>> coin.after([0], [0], [1]).mean.dense()[0, 0].round(3).tolist()
    [0.333, 0.667]
    """

    def __init__(
        self,
        states: int,
        actions: int,
        prior: ArrayLike = 0.5,
        start: ArrayLike | int = 0,
        *,
        support: ArrayLike | None = None,
        moves: ArrayLike | None = None,
        tied: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        available: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        grid: tuple[int, int] | None = None,
        terminal: str = "restart",
    ) -> None:
        shape = check_int("Belief: states", states, 1, MOST), check_int("Belief: actions", actions, 1, MOST)
        names = {"state_names": state_names, "action_names": action_names, "grid": grid}
        free = blank(shape, start, available, names)
        made, ways = outcomes_of(shape, support, moves, tied, free.available)
        full = (*shape, ways)
        self._by_moves = moves is not None
        self._fill(free, made, prior_of(prior, full, made), counts_of(counts, full, made), np.ones(shape), terminal)

    @classmethod
    def around(cls, table: Tabular, strength: ArrayLike = 20.0) -> Belief:
        """A belief with the mean ``table``, as sure as after ``strength`` transitions of each pair.

        Only what the table holds possible is possible. ``strength`` is a number or an array [S, A]; where it is
        infinite, the row is known.

        >>> table = Tabular([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]])
        >>> bool(np.allclose(Belief.around(table, strength=20).mean.dense(), table.dense()))
        True
        """
        check_type("Belief.around: table", table, Tabular)
        given = array_of_numbers("Belief.around: strength", strength)
        if given.shape not in ((), table.shape) or not (given > 0.0).all():
            raise GumdpError(
                f"Belief.around: strength must be positive, a number or of shape {table.shape}, not {show(strength)}."
            )
        weights = np.broadcast_to(given, table.shape).ravel()
        if np.isinf(weights).all():
            return cls.of([table])
        rows = np.repeat(np.arange(weights.size), np.diff(table.offsets))
        known = np.isinf(weights)
        prior = np.where(known, 1.0, weights)[rows] * table.probabilities
        return belief_about(table, rows, table.successors, prior, np.zeros(rows.size), ~known)

    @classmethod
    def of(cls, tables: Sequence[Tabular], weights: ArrayLike | None = None) -> OneOf:
        """The belief that the world is one of ``tables``, with the probabilities ``weights`` (by default all alike).

        >>> here, there = [1, 0], [0, 1]
        >>> left, right = Tabular([[here, there]] * 2), Tabular([[there, here]] * 2)
        >>> Belief.of([left, right], [0.9, 0.1]).after([0], [0], [1]).weights
        array([0., 1.])
        """
        from gumdp.models.candidates import OneOf

        return OneOf(tables, weights)

    def _fill(
        self, free: Tabular, made: Outcomes, prior: Floats, counts: Floats, gains: Floats, terminal: str,
        source: Source | None = None,
    ) -> None:  # fmt: skip
        one_of("Belief: terminal", terminal, TERMINAL)
        self.shape, self.available, self.grid = free.shape, free.available, free.grid
        self.state_names, self.action_names, self.axes = free.state_names, free.action_names, free.axes
        self._free = free
        self._layout, self._held = lay_out(made, prior, counts, gains.ravel())
        self._mixtures = new_mixtures(self._layout)
        text = f"a belief about {self.shape[0]} states and {self.shape[1]} actions"
        self.source = source or Source(text, read_number, (), terminal)

    def __repr__(self) -> str:
        states, actions = self.shape
        return f"Belief({states} states, {actions} actions, {self._layout.first.size} unknown distributions)"

    def compiled(self) -> Any:
        return self.mean.compiled()  # what one step does, as far as is known

    def state(self, state: Any) -> np.uint64:
        return self._free.state(state)

    def public(self, state: Any) -> int:
        return int(state)

    @property
    def start(self) -> Floats:
        """The start distribution [S]."""
        return self._free.start

    @functools.cached_property
    def mean(self) -> Tabular:
        """The mean of all worlds that may be: the probabilities of the very next step."""
        return self._table(self._held[self._layout.balls()])

    def row(self, state: int, action: int) -> tuple[Any, Floats]:
        """What can follow (state, action), and the probabilities of the very next step.

        >>> support = np.eye(3, k=1, dtype=bool) | np.eye(3, dtype=bool)  # stay, or one on
        >>> Belief(states=3, actions=1, support=support).row(0, 0)
        (array([0, 1], dtype=int32), array([0.5, 0.5]))
        """
        pair = int(self.state(state)) * self.shape[1] + self.check_action(action)
        first, last = (int(i) for i in self._layout.offsets[pair : pair + 2])
        head = int(self._layout.heads[pair])
        shares = self._held[head + HEADER : head + HEADER + last - first] / self._held[head]
        successors, index = np.unique(self._layout.successors[first:last], return_inverse=True)
        chances: Floats = np.bincount(index.reshape(-1), shares).astype(float)
        return successors, chances

    def draw(self, seed: int = 0) -> Tabular:
        """A world, drawn from the belief.

        >>> world = Belief(states=2, actions=1).draw(seed=3)
        >>> bool(np.allclose(world.dense().sum(axis=2), 1.0))
        True
        """
        rng, layout = world_rng(seed), self._layout
        held = self._held.copy()
        for g in np.flatnonzero(self._mixtures.sizes > 1):
            size, width = self._mixtures.sizes[g], self._mixtures.widths[g]
            c = rng.choice(size, p=self._mixtures.weights[g, :size])
            first = self._mixtures.heads[g] + HEADER
            held[first : first + width] = self._mixtures.balls[g, c, :width]
        urn, places = layout.slots()
        balls = held[places]
        shares = np.where(held[layout.first + 1][urn] > 0.0, rng.standard_gamma(balls), balls)
        lost = np.flatnonzero(np.bincount(urn, shares) == 0.0)  # tiny pseudo-counts: all of it goes to one outcome
        for g in lost:
            own = np.flatnonzero(urn == g)
            shares[rng.choice(own, p=balls[own] / balls[own].sum())] = 1.0
        held[places] = shares / np.bincount(urn, shares)[urn]
        return self._table(held[layout.balls()])

    def after(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Belief:
        """The belief after these transitions were seen, which ``states[k], actions[k], next_states[k]`` give.

        >>> belief = Belief(states=2, actions=1, prior=0.5).after([0, 0, 0], [0, 0, 0], [1, 1, 1])
        >>> belief.mean.dense()[0].tolist()
        [[0.125, 0.875]]
        """
        rows = [items(x) for x in (states, actions, next_states)]
        if any(row is None for row in rows) or len({len(row) for row in rows if row is not None}) > 1:
            raise GumdpError("Belief.after: states, actions and next_states must be equally long lists.")
        record = self.simulation(len(rows[0] or []))
        for s, a, after in zip(*(row or [] for row in rows), strict=True):
            self.observe(record, int(self.state(s)), self.check_action(a), int(self.state(after)))
        return self.read(record)

    def observe(self, record: Any, s: int, a: int, after: int) -> None:
        """Let ``record``, of ``simulation``, know of a transition; raise ``GumdpError`` if it can't have been."""
        if not record.allowed(np.uint64(s), a):
            raise GumdpError(f"action {a} is not available in state {s}, but was taken there.")
        if observe_once(record, np.uint64(s), np.uint64(a), np.uint64(after)) == IMPOSSIBLE:
            raise GumdpError(
                f"action {a} in state {s} led to state {after}, which the belief holds for impossible; "
                f"{self._remedy(s, a, after)}."
            )

    def _remedy(self, s: int, a: int, after: int) -> str:
        if self._by_moves:
            return f"give moves one that leads from {s} to {after}"
        return f"allow it with support[{s}, {a}, {after}] = True"

    def uncertainty(self) -> Floats:
        """How far the row of each pair may be from its mean, [S, A]: the root of the mean squared distance.

        >>> belief = Belief(states=2, actions=1, prior=1.0).after([0] * 98, [0] * 98, [1] * 98)
        >>> belief.uncertainty().round(3).tolist()
        [[0.014], [0.408]]
        """
        layout, held = self._layout, self._held
        rows, balls = layout.rows(), held[layout.balls()]
        total, gains = held[layout.heads.astype(np.int64)], held[layout.heads.astype(np.int64) + 1]
        size = (self.shape[0] * self.shape[1], self.shape[0])
        alpha = sparse.csr_array((balls, (rows, layout.successors)), shape=size)  # adds up what leads to one state
        mean = sparse.diags_array(1.0 / np.maximum(total, 1e-300)) @ alpha
        spread = np.where(gains > 0.0, (1.0 - mean.multiply(mean).sum(axis=1)) / (total + 1.0), 0.0)
        for g in np.flatnonzero(self._mixtures.sizes > 1):
            for row in np.flatnonzero(layout.heads == self._mixtures.heads[g]):
                spread[row] = self._mixed_spread(int(g), int(row))
        live = layout.groups >= 0
        distance: Floats = np.sqrt(np.where(live, np.maximum(spread, 0.0), 0.0)).reshape(self.shape)
        return distance

    def _mixed_spread(self, g: int, row: int) -> float:
        """The mean squared distance of a row whose urn is mixture ``g``: within its components, and between them."""
        first, last = (int(x) for x in self._layout.offsets[row : row + 2])
        successors, size = self._layout.successors[first:last], int(self._mixtures.sizes[g])
        balls, weights = self._mixtures.balls[g, :size, : last - first], self._mixtures.weights[g, :size]
        to = (successors[:, None] == np.unique(successors)[None, :]).astype(float)
        alpha = balls @ to
        total = alpha.sum(axis=1, keepdims=True)
        square = (alpha * (alpha + 1.0) / (total * (total + 1.0))).sum(axis=1)
        mean = weights @ (alpha / total)
        return float(weights @ square - mean @ mean)

    # --- what searches and trials ask for ---

    def simulation(self, steps: int) -> Any:
        layout, mixtures = self._layout, self._mixtures
        scales, urns = in_units(layout, self._held, steps)
        return Urns(
            common=self._free.compiled(),
            actions=self.shape[1],
            offsets=layout.offsets,
            successors=layout.successors,
            heads=layout.heads,
            room=layout.room,
            stride=layout.stride,
            root=self._held.copy(),
            scales=scales,
            urns=urns,
            journal=np.zeros(2 * steps + 2, np.uint32),
            length=np.zeros(1, np.int64),
            seed=np.zeros(1, np.uint64),
            mixtures=Mixtures(*(part.copy() for part in mixtures)),
        )

    def read(self, record: Any) -> Belief:
        """The belief that ``record``, of ``simulation``, has come to."""
        belief = copy.copy(self)
        belief.__dict__.pop("mean", None)
        belief._held = record.root.copy()
        belief._mixtures = Mixtures(*(part.copy() for part in record.mixtures))
        return belief

    @property
    def known(self) -> Tabular | None:
        return None

    def check_world(self, name: str, world: Any) -> Tabular:
        """``world``, if it is a table that the belief holds possible."""
        check_type(name, world, Tabular)
        if world.shape != self.shape:
            raise GumdpError(f"{name} must have the shape {self.shape} of the belief, not {world.shape}.")
        extra = world.matrix.astype(bool).astype(int) - world.matrix.astype(bool).multiply(
            self.mean.matrix.astype(bool)
        )
        extra.eliminate_zeros()
        if extra.nnz:
            row, after = (int(i[0]) for i in extra.nonzero())
            s, a = divmod(row, self.shape[1])
            raise GumdpError(
                f"{name} can go from state {s} with action {a} to state {after}, which the belief holds for "
                f"impossible; {self._remedy(s, a, after)}."
            )
        checked: Tabular = world
        return checked

    def _table(self, shares: Floats) -> Tabular:
        """The table with these shares of the outcomes of each row, up to a factor."""
        offsets = self._layout.offsets.astype(np.int64)
        total = np.bincount(self._layout.rows(), shares, minlength=offsets.size - 1)
        chances = shares / total[self._layout.rows()]
        size = (self.shape[0] * self.shape[1], self.shape[0])
        return table_like(self._free, sparse.csr_array((chances, self._layout.successors, offsets), shape=size))


def belief_about(table: Tabular, rows: Any, successors: Any, prior: Floats, counts: Floats, unknown: Any) -> Belief:
    """A belief with the start and the names of ``table``: what can follow ``rows`` = s·A + a, which are in order.

    ``unknown`` [S·A]: which rows are to be learned; in the others ``prior`` is what is known.
    """
    belief = Belief.__new__(Belief)
    live = np.bincount(rows, minlength=table.shape[0] * table.shape[1]) > 0
    groups = np.where(live, np.cumsum(live) - 1, -1)
    following = np.asarray(successors, np.int64)
    belief._by_moves = False
    source = table.source
    belief._fill(
        table, Outcomes(rows, following, following, groups), prior, counts, np.asarray(unknown, float),
        "restart" if source is None else source.terminal, source,
    )  # fmt: skip
    return belief


def world_rng(seed: Any) -> np.random.Generator:
    """The generator that draws the world of a seed."""
    return np.random.default_rng([check_int("seed", seed, 0), STREAM])


def blank(shape: tuple[int, int], start: Any, available: Any, names: dict[str, Any]) -> Tabular:
    """A table in which nothing ever changes, for what a belief has in common with tables: start, mask and names."""
    loops = sparse.csr_array(np.repeat(np.eye(shape[0]), shape[1], axis=0))
    try:
        return Tabular(loops, start, available=available, **names)
    except GumdpError as error:
        raise GumdpError(str(error).replace("Tabular:", "Belief:")) from None


def table_like(free: Tabular, matrix: sparse.csr_array) -> Tabular:
    """A table with the start, the mask and the names of ``free``."""
    names: dict[str, Any] = {"state_names": free.state_names, "action_names": free.action_names, "grid": free.grid}
    return Tabular(matrix, free.start, available=free.available, **names)
