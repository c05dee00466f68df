"""Whether an objective keeps its word: its answers, tested against each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.counts.rehearsal import rehearse
from gumdp.counts.running import new_running
from gumdp.errors import GumdpError, check_int, show
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.function import as_objective

STEP = 1e-6  # of the differences that gradients are compared with
SLACK = 1e-9  # what rounding may do, relative to the size of the values
LARGE = 5_000  # pairs beyond which cvxpy is not asked: it would take seconds
STEPS = 12  # of the short trials among the occupancies


@dataclass(frozen=True)
class ObjectiveReport:
    """What ``check_objective`` found; there is one only if nothing was wrong."""

    objective: str
    shape: Shape
    findings: tuple[tuple[str, str], ...]  # (property, what was seen)

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.findings)
        rows = [f"  {name:<{width}}  {seen}" for name, seen in self.findings]
        return "\n".join([f"{self.objective} on {self.shape[0]} × {self.shape[1]} pairs: all in order", *rows])


def check_objective(objective: Any, shape: Shape, samples: int = 100, seed: int = 0) -> ObjectiveReport:
    """Return a printable report if an objective's answers agree with each other; raise ``GumdpError`` if two don't.

    ``objective`` is any objective or plain function of an occupancy, ``shape`` is (S, A). On ``samples`` random
    occupancies, full, sparse, of short trials and of one pair: the value is one finite number, the same each time, and
    leaves the occupancy alone; the gradient agrees with differences along the simplex; convexity, bounds and
    Lipschitz constant hold where they are declared (the constant above ``lipschitz_floor``); cvxpy's expression,
    the compiled record and the sum that it says it is give the same value, and so does re-scoring after a few entries
    changed; tangents of a convex objective touch it and are nowhere above it.

    >>> import gumdp
    >>> print(check_objective(gumdp.Linear([[0.0, 1.0]]), (1, 2)).findings[2][1])
    agrees with differences at 100 points
    >>> product = gumdp.Function(lambda d: d[0, 0] * d[0, 1], convex=True)
    >>> check_objective(product, (1, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gumdp.errors.GumdpError: check_objective: Function(<lambda>) says that it is convex, but ...
    """
    try:
        states, actions = shape
    except (TypeError, ValueError):
        raise GumdpError(f"check_objective: shape must be (S, A), not {show(shape)}.") from None
    size = (check_int("check_objective: S of shape", states, 1), check_int("check_objective: A of shape", actions, 1))
    case = Case(as_objective(objective), size, check_int("samples", samples, 1, 10**6), check_int("seed", seed, 0))
    case.objective.check_shape(size)
    findings = tuple((name, check(case)) for name, check in CHECKS)
    return ObjectiveReport(repr(case.objective), size, findings)


class Case:
    """An objective under test, with the occupancies to try it on."""

    def __init__(self, objective: Objective, shape: Shape, samples: int, seed: int) -> None:
        self.objective, self.shape, self.samples, self.seed = objective, shape, samples, seed
        self.entries = shape[0] * shape[1]
        self.scale = 1.0  # 1 + the largest |value| so far: what rounding is relative to

    def fail(self, sentence: str) -> GumdpError:
        """The error that names the objective."""
        return GumdpError(f"check_objective: {self.objective!r} {sentence}.")

    def value(self, d: Array) -> float:
        """f(d), of an occupancy that must stay as it is."""
        before = d.copy()
        value = self.objective(d)
        if not np.array_equal(d, before):
            raise self.fail("changes the occupancy that it is given; it must only read it")
        self.scale = max(self.scale, 1.0 + abs(value))
        return value

    def ask(self, question: str, *args: Any) -> Any:
        """An optional answer; whatever it raises becomes our error."""
        try:
            answer = getattr(self.objective, question)
            return answer(*args) if callable(answer) else answer
        except GumdpError:
            raise
        except Exception as error:
            raise self.fail(f"fails to say its {question}, with {type(error).__name__}: {error}") from error

    def same(self, one: float, two: float, slack: float = SLACK) -> bool:
        """Whether two values are equal up to rounding."""
        return abs(one - two) <= slack * self.scale

    def occupancies(self) -> Iterator[tuple[Array, Array]]:
        """``samples`` pairs of occupancies, always the same ones."""
        rng = np.random.default_rng(self.seed)
        for k in range(self.samples):
            yield self.draw(rng, k % 4), self.draw(rng, (k // 4) % 4)

    def draw(self, rng: np.random.Generator, kind: int) -> Array:
        """A random occupancy: full (0), of a few pairs (1), of a short trial (2), of one pair (3)."""
        d = np.zeros(self.entries)
        if kind == 0:
            d = rng.dirichlet(np.ones(self.entries))
        elif kind == 2:
            np.add.at(d, rng.integers(self.entries, size=STEPS), trial_weights(rng))
        else:
            few = rng.permutation(self.entries)[: 1 if kind == 3 else 1 + rng.integers(8)]
            d[few] = rng.dirichlet(np.ones(few.size))
        return d.reshape(self.shape)


def trial_weights(rng: np.random.Generator) -> Array:
    """The weights of the steps of a short discounted trial."""
    weights = rng.uniform(0.3, 1.0) ** np.arange(STEPS)
    return np.asarray(weights / weights.sum())


def check_value(case: Case) -> str:
    """One finite number, the same each time, whatever was asked in between."""
    first = []
    for d, e in case.occupancies():
        first += [case.value(d), case.value(e)]
    again = [case.value(x) for pair in reversed(list(case.occupancies())) for x in reversed(pair)]
    for one, two in zip(first, reversed(again), strict=True):
        if one != two:
            raise case.fail(f"is not deterministic: it gave {one:.17g}, and then {two:.17g} for the same occupancy")
    return f"finite and the same each time, from {min(first):.6g} to {max(first):.6g}"


def check_bounds(case: Case) -> str:
    """No value lies outside the declared bounds."""
    ends = case.ask("bounds", case.shape)
    if ends is None:
        return "none declared"
    low, high = ends
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise case.fail(f"declares the bounds ({low}, {high}), which are not two finite numbers in order")
    for pair in case.occupancies():
        for value in map(case.value, pair):
            if not low - SLACK * case.scale <= value <= high + SLACK * case.scale:
                raise case.fail(f"declares the bounds ({low:.6g}, {high:.6g}), but has the value {value:.9g}")
    return f"({low:.6g}, {high:.6g}) hold"


def check_gradient(case: Case) -> str:
    """The slope along a direction lies between the differences to the left and to the right, which may differ."""
    rng = np.random.default_rng(case.seed)
    h = min(STEP, 0.25 / case.entries)
    for _ in range(case.samples):
        d = 0.5 * case.draw(rng, 0) + 0.5 / case.entries
        before = d.copy()
        slope = case.ask("gradient", d)
        if slope is None:
            return "none declared"
        if np.shape(slope) != case.shape or not np.isfinite(slope).all():
            raise case.fail(f"has a gradient that is not finite numbers of shape {case.shape}, but {slope!r}")
        if not np.array_equal(d, before):
            raise case.fail("changes the occupancy that its gradient is given; it must only read it")
        v = case.draw(rng, 0) - d
        middle, ahead, behind = case.value(d), case.value(d + h * v), case.value(d - h * v)
        sides = sorted([(ahead - middle) / h, (middle - behind) / h])
        along = float((slope * v).sum())
        slack = 1e-6 * (case.scale + abs(along))
        if not sides[0] - slack <= along <= sides[1] + slack:
            raise case.fail(
                f"has a gradient that says {along:.9g} along a direction in which differences say {np.mean(sides):.9g}"
            )
    return f"agrees with differences at {case.samples} points"


def check_convexity(case: Case) -> str:
    """No value lies above a chord."""
    if not case.ask("convex"):
        return "not declared"
    rng = np.random.default_rng(case.seed)
    for d, e in case.occupancies():
        t = rng.uniform()
        ends, inside = (case.value(d), case.value(e)), case.value(t * d + (1.0 - t) * e)
        chord = t * ends[0] + (1.0 - t) * ends[1]
        if inside > chord + SLACK * case.scale:
            raise case.fail(
                f"says that it is convex, but between two occupancies with the values {ends[0]:.9g} and {ends[1]:.9g} "
                f"it is {inside:.9g}, above the chord, {chord:.9g}"
            )
    return f"holds on {case.samples} segments"


def check_lipschitz(case: Case) -> str:
    """No two occupancies above the floor, near or far, differ by more than the constant allows."""
    constant = case.ask("lipschitz", case.shape)
    if constant is None:
        return "none declared"
    if not (np.isfinite(constant) and constant >= 0.0):
        raise case.fail(f"declares the Lipschitz constant {constant}, which is not a finite number of at least 0")
    floor = float(case.ask("lipschitz_floor"))
    if floor * case.entries >= 1.0:
        return f"{constant:.6g} is for entries of at least {floor:g}, which no occupancy of this shape has"
    steepest = 0.0
    for pair in case.occupancies():
        d, far = (floor + (1.0 - floor * case.entries) * x for x in pair)
        for e in (far, d + 1e-3 * (far - d)):
            apart, change = float(np.abs(d - e).sum()), abs(case.value(d) - case.value(e))
            if change > constant * apart + SLACK * case.scale:
                raise case.fail(
                    f"declares the Lipschitz constant {constant:.9g}, but changes by {change:.9g} between occupancies "
                    f"{apart:.9g} apart, {change / apart:.9g} as much"
                )
            steepest = max(steepest, change / apart if apart > 0.0 else 0.0)
    above = f" (entries of at least {floor:g})" if floor else ""
    return f"{constant:.6g} holds{above}; the steepest slope seen is {steepest:.6g}"


def check_expression(case: Case) -> str:
    """The expression for cvxpy has the same value, and is as convex as declared."""
    if case.entries > LARGE:
        return f"not looked at beyond {LARGE} pairs"
    import cvxpy

    d = cvxpy.Variable(case.shape)
    expression = case.ask("expression", d)
    if expression is None:
        return "none declared"
    if case.ask("convex") and not expression.is_convex():
        raise case.fail("says that it is convex, but cvxpy can't see that of its expression")
    for d.value, _ in case.occupancies():
        value, theirs = case.value(d.value), float(expression.value)
        if not case.same(value, theirs):
            raise case.fail(f"has an expression for cvxpy that is {theirs:.9g} where the value is {value:.9g}")
    return "has the same value"


def check_record(case: Case) -> str:
    """What kernels call has the same value."""
    for value, _, _, summed in rehearsals(case):
        if not case.same(value, summed):
            raise case.fail(f"is {value:.9g} where its record, as kernels call it, gives {summed:.9g}")
    return f"{type(record_of(case)).__name__} has the same value"


def check_rescoring(case: Case) -> str:
    """Re-scoring after some entries changed has the same value as looking at all of it, and undoes what was done."""
    for value, quick, astray, _ in rehearsals(case):
        if not case.same(value, quick):
            raise case.fail(f"is {value:.9g} where re-scoring the entries that changed gives {quick:.9g}")
        if astray:
            raise case.fail(f"leaves entries of the running occupancy changed when it is re-scored: {astray} of them")
    return f"agrees with fresh values at {2 * case.samples} occupancies"


def check_tangent(case: Case) -> str:
    """Its tangents, smoothed or not, are nowhere above a convex objective; as they are, they touch it."""
    if not case.ask("convex") or case.entries > LARGE:
        return f"not looked at{f' beyond {LARGE} pairs' if case.entries > LARGE else ': not convex'}"
    try:
        record = case.ask("tangent", case.shape)
    except GumdpError as error:  # of a part that has no gradient
        return f"none: {error}"
    if record is None:
        return "none declared"
    for d, e in case.occupancies():
        value, there, at = case.value(d), case.value(e), d.ravel()
        if not case.same(value, own := float(record.value(at))):
            raise case.fail(f"is {value:.9g} where its tangent record says {own:.9g}")
        for smoothing in (0.0, 0.01):
            slope = np.zeros(case.entries)
            constant = record.tangent(at, slope, 1.0, smoothing)
            reraise()
            touch, below = constant + slope @ at, constant + slope @ e.ravel()
            if below > there + SLACK * case.scale:
                raise case.fail(f"is {there:.9g} where a tangent of its record, taken elsewhere, is {below:.9g}")
            if smoothing == 0.0 and not case.same(value, touch, 1e-6):
                raise case.fail(f"is {value:.9g} where the tangent of its record at this place is {touch:.9g}")
        check_claims(case, record, d, e)
    return f"{type(record).__name__} is below it and touches it"


def check_claims(case: Case, record: Any, d: Array, e: Array) -> None:
    """What the tangent record says of f besides: that it is a sum over the pairs, or what it measures."""
    change, (x, y) = case.value(d) - case.value(e), (d.ravel(), e.ravel())
    if record.over_pairs():
        own = sum(record.own(i, x[i]) - record.own(i, y[i]) for i in range(case.entries))
        if not case.same(change, own):
            raise case.fail(f"changes by {change:.9g} where its tangent record's sum over the pairs does by {own:.9g}")
    if measured := record.measures():
        rows, steepness = measured
        most = steepness * float(np.abs(rows @ (x - y)).max())
        if abs(change) > most + SLACK * case.scale:
            raise case.fail(f"changes by {abs(change):.9g}, which its measures say is at most {most:.9g}")


def check_structure(case: Case) -> str:
    """Whatever it says that it is has the same value."""
    said: dict[str, Callable[[Array], float]] = {}
    if total := case.ask("separable", case.shape):
        said["separable"] = total.value
    if made := case.ask("parts", case.shape):
        said["parts"] = lambda d: made[0] + sum(factor * part.value(d) for factor, part in made[1])
    if power := case.ask("exponential"):
        said["exponential"] = lambda d: float(np.exp(power[0] * power[1].value(d)))
    for pair in case.occupancies():
        for d in pair:
            for name, formula in said.items():
                if not case.same(value := case.value(d), other := formula(d)):
                    raise case.fail(f"is {value:.9g} where what it answers to {name} is {other:.9g}")
    return f"{', '.join(said)}: the same value" if said else "none declared"


def rehearsals(case: Case) -> Iterator[tuple[float, float, int, float]]:
    """For each occupancy: its value, the one re-scored with what it did not restore, and the one added up."""
    record = record_of(case)
    rng = np.random.default_rng(case.seed)
    running = new_running(record, case.shape, case.entries)
    for pair in case.occupancies():
        for d in pair:
            pairs = rng.permutation(np.flatnonzero(d)).astype(np.uint64)
            known = int(rng.integers(pairs.size + 1))
            result = rehearse(record, running, pairs, d.ravel()[pairs.astype(np.intp)], known)
            reraise()
            yield case.value(d), *result


def record_of(case: Case) -> Any:
    """The objective's record; that it may be slow is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.ask("record", case.shape)


CHECKS: tuple[tuple[str, Callable[[Case], str]], ...] = (
    ("value", check_value),
    ("bounds", check_bounds),
    ("gradient", check_gradient),
    ("convexity", check_convexity),
    ("Lipschitz constant", check_lipschitz),
    ("expression", check_expression),
    ("compiled record", check_record),
    ("re-scoring", check_rescoring),
    ("tangent", check_tangent),
    ("structure", check_structure),
)
