"""Objectives as sums over linear statistics of the occupancy: f(d) ≥ c + costs·d + Σ_i φ_i(v_i·d)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gumdp.average.polytope import EPSILON
from gumdp.average.tangents import Tangents
from gumdp.bounds.decomposition_kernels import NEAR, Cells
from gumdp.errors import GumdpError
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.separable import Terms

Mask = NDArray[np.bool_]
BLURS = (1e-4, 1e-3, 1e-2)  # of the kinks of a part that only its tangents can stand for
BEYOND = 0.05  # how far a grid reaches beyond the shares that there can be, relative to them
HEIGHTS = ("entropy", "square", "hinge", "jump")  # what a part can be multiplied by a factor in
LOST = 1e-5  # what may be lost at a state in which pairs become one statistic
SHAPES = (*HEIGHTS, "kink", "limit")


class Row(NamedTuple):
    """A linear statistic: v, where it is not 0."""

    where: NDArray[np.int64]
    amounts: Array

    def of(self, d: Array) -> float:
        """v·d of a flat occupancy."""
        return float(self.amounts @ d[self.where])

    @property
    def simple(self) -> bool:
        """Whether it is the share of a pair, or of some pairs together."""
        return bool((self.amounts == 1.0).all())


class NotSeparable(Exception):
    """Why an objective is not a sum over statistics, nor bounded by one."""


class Separable:
    """A sum over statistics that the objective is nowhere below; equal to it unless ``minorant``.

    A convex part that is not such a sum is replaced by its tangent at the occupancy ``at``; the exponential of a sum,
    by its own: exp(y) ≥ exp(m)·(1 + y - m). Statistics that no trajectory can change (``alive`` [S·A] says which
    pairs can be visited) are left out. In states that nobody leaves (``last`` [S]) actions can be spread as evenly as
    one likes: there the pairs become one statistic, the least that their sum can come to.
    """

    def __init__(
        self,
        objective: Objective,
        shape: Shape,
        at: Array,
        alive: NDArray[np.bool_],
        last: NDArray[np.bool_] | None = None,
    ) -> None:
        self.shape, self.at, self.alive = shape, at, alive.ravel()
        self.constant, self.costs = 0.0, np.zeros(shape[0] * shape[1])
        self.minorant = False
        self._rows: dict[Any, Row] = {}
        self._shapes: dict[Any, dict[str, float]] = {}
        self._add(objective, 1.0)
        for state in np.flatnonzero(last) if last is not None else ():
            self._merge(int(state))
        self.linear = not self._rows  # whether nothing is left but a cost of each pair
        if self.linear:
            self._put("none", Row(np.zeros(1, np.int64), np.ones(1)), {})  # costs nothing, and carries the others

    @property
    def count(self) -> int:
        """How many statistics there are."""
        return len(self._rows)

    @property
    def rows(self) -> list[Row]:
        """The statistics."""
        return list(self._rows.values())

    @property
    def steepness(self) -> Array:
        """φ_i' at ``at``, [N], with care where it is infinite."""
        d = self.at.ravel()
        slopes = np.zeros(self.count)
        for i, (row, shapes) in enumerate(zip(self._rows.values(), self._shapes.values(), strict=True)):
            z = row.of(d)
            slopes[i] = 2.0 * shapes["square"] * z + shapes["hinge"] * (z > shapes["kink"])
            if shapes["entropy"] > 0.0:
                slopes[i] += shapes["entropy"] * (np.log(max(z, 1e-9)) + 1.0)
        return slopes

    def matched(self, slope: Array) -> Array:
        """φ_i' at ``at``, where φ_i has a kink such that the gradient of the sum comes near to ``slope`` [S·A]."""
        slopes, rest = self.steepness, slope - self.costs
        heights = [shapes["hinge"] for shapes in self._shapes.values()]
        kinked = np.flatnonzero(heights)
        for i, row in enumerate(self.rows):
            if not heights[i]:
                rest[row.where] -= slopes[i] * row.amounts
        table = np.zeros((rest.size, kinked.size))
        for k, row in enumerate([self.rows[i] for i in kinked]):
            table[row.where, k] = row.amounts
        if kinked.size:
            fit = np.linalg.lstsq(table[self.alive], rest[self.alive], rcond=None)[0]
            slopes[kinked] = np.clip(fit, 0.0, np.array(heights)[kinked])
        return slopes

    def value(self, d: Array) -> float:
        """The sum at an occupancy [S, A]."""
        flat, total = d.ravel(), self.constant + float(self.costs @ d.ravel())
        for row, shapes in zip(self._rows.values(), self._shapes.values(), strict=True):
            z = row.of(flat)
            total += shapes["entropy"] * z * np.log(z) if z > 0.0 else 0.0
            total += shapes["square"] * z * z + shapes["hinge"] * max(0.0, z - shapes["kink"])
            total += shapes["jump"] * (z > shapes["limit"])
        return total

    def cells(
        self, width: float = 1.0, steps: int = 0, even: bool = False, begin: Array | None = None, rest: float = 1.0
    ) -> Cells:
        """The statistics for kernels, on grids of this relative width for so many steps.

        ``even`` if every step weighs the same: then the shares of a pair are the points of an even grid. Else their
        grids begin at ``begin`` [N], what there is of each statistic already, and end where the ``rest`` can lead.
        """
        begin = np.zeros(self.count) if begin is None else begin
        columns = {name: np.array([s[name] for s in self._shapes.values()], dtype=np.float64) for name in SHAPES}
        rows = self.rows
        least = np.array([min(0.0, float(row.amounts.min())) for row in rows])
        most = np.array([max(0.0, float(row.amounts.max())) for row in rows])
        simple = np.array([row.simple for row in rows], dtype=bool)
        span = most - least
        exact = simple & even
        moved = simple & ~exact & (columns["jump"] == 0.0)
        low = np.where(moved, begin, np.where(simple, 0.0, least - BEYOND * span))
        wide = np.where(exact, span, np.where(simple, (1.0 + BEYOND) * span, (1.0 + 2.0 * BEYOND) * span))
        wide = np.where(moved, (rest + BEYOND) * span, wide)
        after, before = _slopes(columns, low, low + wide, span)
        columns["limit"] = columns["limit"] + (steps * NEAR * width + (64.0 + 4.0 * steps) * EPSILON) * wide
        return Cells(
            offsets=np.concatenate([[0], np.cumsum([row.where.size for row in rows])]).astype(np.int64),
            pairs=np.concatenate([np.zeros(0, int), *(row.where for row in rows)]).astype(np.int32),
            amounts=np.concatenate([np.zeros(0), *(row.amounts for row in rows)]),
            least=least, most=most, low=low, span=wide, bent=(columns["entropy"] > 0.0) & ~exact,
            after=after, before=before, begin=begin, **columns,
        )  # fmt: skip

    # --- what an objective is made of ---

    def _add(self, f: Objective, factor: float) -> None:
        """Add ``factor`` times what an objective says of itself."""
        if (parts := f.parts(self.shape)) is not None:
            shift, terms = parts
            self.constant += factor * shift
            for own, part in terms:
                self._add(part, factor * own)
        elif f.exponential is not None:
            beta, inner = f.exponential
            m = beta * inner.value(self.at)
            self.minorant = True
            self.constant += factor * np.exp(m) * (1.0 - m)
            self._add(inner, factor * np.exp(m) * beta)
        elif (known := f.separable(self.shape)) is not None:
            self.constant += factor * known.constant
            self.costs += factor * np.broadcast_to(known.costs, self.shape).ravel()
            for summed in known.terms:
                self._terms(summed, factor, repr(f))
        else:
            self._tangent(f, factor)

    def _terms(self, terms: Terms, factor: float, name: str) -> None:
        """Add the terms of one kind of statistic."""
        rows = self._rows_of(terms.of)
        columns = {each: np.broadcast_to(np.asarray(getattr(terms, each), float), len(rows)) for each in SHAPES}
        if min(columns[each].min() for each in ("entropy", "hinge", "jump")) < 0.0:
            raise NotSeparable(
                f"{name} has an entropy, a kink or a jump with a negative sign, which is not bounded here"
            )
        scaled = {each: factor * columns[each] for each in HEIGHTS}
        for i in np.flatnonzero(sum(np.abs(column) for column in scaled.values())):
            key, row = rows[i]
            smooth = {each: float(scaled[each][i]) for each in ("entropy", "square") if scaled[each][i] != 0.0}
            if key is not None and smooth and self.alive[row.where].any():
                self._put(key, row, smooth)
                smooth = {}
            rough = {each: float(scaled[each][i]) for each in ("hinge", "jump") if scaled[each][i] != 0.0}
            if (key is None and smooth) or rough:
                self._statistic(
                    row, kink=float(columns["kink"][i]), limit=float(columns["limit"][i]), **smooth, **rough
                )

    def _merge(self, state: int) -> None:
        """Let the share of a state stand for those of its n pairs, if all have the same φ, with the least for its sum.

        Σ z·log z ≥ x·log(x/n), and with z = x/n + δ, Σ (q·z² + c·z) ≥ q·x²/n + c̄·x - Σ (c - c̄)²/4q.
        """
        actions = self.shape[1]
        pairs = [r for r in range(state * actions, (state + 1) * actions) if self.alive[r]]
        shapes = [self._shapes.get(("pair", r)) for r in pairs]
        if (
            len(pairs) < 2
            or any(each is None or each != shapes[0] for each in shapes)
            or ("state", state) in self._rows
        ):
            return
        one, n = dict(shapes[0] or {}), len(pairs)
        apart = float(((self.costs[pairs] - self.costs[pairs].mean()) ** 2).sum())
        if one["hinge"] or one["jump"] or one["square"] < 0.0 or (apart and not one["square"]):
            return
        loss = apart / (4.0 * one["square"]) if apart else 0.0
        if loss > LOST:
            return
        for r in pairs:
            del self._rows["pair", r], self._shapes["pair", r]
        self.minorant = True
        self.constant -= loss
        self.costs[pairs] = self.costs[pairs].mean() - one["entropy"] * np.log(n)
        self._put(("state", state), Row(np.array(pairs), np.ones(n)), one | {"square": one["square"] / n})

    def _rows_of(self, of: Any) -> list[tuple[Any, Row]]:
        """The statistics that terms speak of, each with what it is known by; None for one that is not shared."""
        states, actions = self.shape
        if isinstance(of, np.ndarray):
            found = [(np.flatnonzero(v), v) for v in of.reshape(len(of), -1)]
            return [(None, Row(where, np.array(v[where], dtype=np.float64))) for where, v in found]
        if of == "pairs":
            return [(("pair", r), Row(np.array([r]), np.ones(1))) for r in range(states * actions)]
        rows = np.arange(states * actions).reshape(self.shape)
        return [(("state", s), Row(rows[s], np.ones(actions))) for s in range(states)]

    def _tangent(self, f: Objective, factor: float) -> None:
        """Add a tangent of a convex part."""
        if not f.convex:
            raise NotSeparable(f"{f!r} is neither convex nor a sum over statistics of the occupancy")
        try:
            tangents = Tangents(f, self.shape)
        except GumdpError as error:
            raise NotSeparable(str(error)) from None
        made = [
            tangents.at(self.at, smoothing) for smoothing in (BLURS if tangents.kinked else (0.0,))
        ]  # a mean is as valid
        self.minorant = True
        self.constant += factor * float(np.mean([c for c, _ in made]))
        self.costs += factor * np.mean([g for _, g in made], axis=0).ravel()

    def _statistic(self, row: Row, **shapes: float) -> None:
        if row.where.size:
            self._put(("statistic", self.count), row, shapes)
        else:
            self.constant += shapes.get("hinge", 0.0) * max(0.0, -shapes.get("kink", 0.0))
            self.constant += shapes.get("jump", 0.0) * (shapes.get("limit", 0.0) < 0.0)

    def _put(self, key: Any, row: Row, shapes: dict[str, float]) -> None:
        self._rows[key] = row
        held = self._shapes.setdefault(key, dict.fromkeys(SHAPES, 0.0))
        for name, value in shapes.items():
            held[name] += value


def _slopes(columns: dict[str, Array], low: Array, high: Array, span: Array) -> tuple[Array, Array]:
    """The least slope of φ(· + y) beyond the grid, and the greatest one below it, whatever y is still to come.

    No statistic moves by more than ``span`` in all, up or down; those with an entropy only rise.
    """
    squares = 2.0 * columns["square"]
    last, most = (columns["entropy"] * (np.log(np.maximum(x, 1e-300)) + 1.0) for x in (high, high + span))
    after = last + np.minimum(squares * (high - span), squares * (high + span))
    before = most + columns["hinge"] + np.maximum(squares * (low - span), squares * (low + span))
    return after, before
