"""Lower bounds: numbers that no policy can beat, however much it remembers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gumdp.bounds.decomposition import ITERATIONS, Decomposition, TooLarge, tighten
from gumdp.bounds.decomposition_tree import AT_ONCE, BELOW, STEPS, RefinedTree, ValueFunction, ValueTree, warm
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.methods import AVERAGES, CONVEX, METHODS, check_level, chosen, obstacle
from gumdp.bounds.paths import PathBound, Starts
from gumdp.bounds.relaxation import PILOT, ROUNDS, applies, clairvoyant_bound
from gumdp.bounds.separable import NotSeparable
from gumdp.bounds.statistics import NotFew
from gumdp.bounds.totals import TotalsBound
from gumdp.bounds.worlds import METHODS as QUICK
from gumdp.bounds.worlds import bound_of_worlds
from gumdp.distinct import distinct_bound, reachable
from gumdp.errors import GumdpError, check_call, check_float, check_int
from gumdp.jit.compiling import clock
from gumdp.models.belief import Belief
from gumdp.models.candidates import OneOf
from gumdp.models.tabular import Tabular
from gumdp.problem import Problem
from gumdp.results import Bound

PASS, APART = 3e-8, 8e-6  # seconds: of a pass over the table by pair and step; of taking an objective apart by pair
ROOT, SHARE, FIRST = 0.4, 0.1, 0.15  # of the time: for Jensen's bound; of the rest: for the clairvoyant, then the tree
SAMPLES = 20_000
CLIMB = 0.75  # of the decomposition's time, for its prices; the rest is for a tree of histories
PART = 0.25  # of the time that is left, for the first two histories that get prices of their own; else they get none
TOTALS = 0.7  # of the time that is left, for a grid of totals
HISTORIES = 20  # of the tree, for each of which the decomposition may climb one step, where they are limited
POINTS = 200  # of a grid of totals for each of them, then


def lower_bound(
    problem: Problem,
    methods: Sequence[str] | str | None = None,
    *,
    time_limit: float = 10.0,
    nodes: int | None = None,
    level: float = 0.99,
    seed: int = 0,
    progress: Callable[[Bound], None] | None = None,
) -> Bound:
    """The best of several lower bounds on the value of every policy, history-dependent or not.

    Totals (``counts=Features(…)``) are taken as what occupancies add up to; where they depend on the next state, states
    remember what the step to them added, unless there are too many: then only bounds that look at averages apply.

    Args:
        methods: which ones to try, by default all that apply:

            - ``"range"``: the objective's own least value;
            - ``"distinct"``: for entropies; no step is split between pairs, and there are only so many pairs;
            - ``"jensen"``: E[f(d)] ≥ f(E[d]), and E[d] is in the occupancy polytope. For convex objectives and
              tabular models, as the next two;
            - ``"clairvoyant"``: the mean of what one could reach who knew how chance will fall, by sampling;
            - ``"jensen-tree"``: Jensen's bound below the first steps of each history, best first. Where the objective
              is a sum over the pairs (an entropy, imitation) it also counts that no step is split between pairs;
            - ``"decomposition"``: for sums over pairs, states or other linear statistics, convex or not: each of them
              at its best alone, with prices that make them agree as far as prices can. For tabular models;
            - ``"totals"``: for the largest of three costs, and for other functions of one or two linear statistics,
              convex or not: dynamic programming over the running totals. For tabular models;
            - ``"paths"``: for simulators in which only the start is left to chance, and convex sums over pairs or
              states: the first steps of the best paths from each piece of the start, and a bound of what follows.
        time_limit: seconds for all of them, compiling not counted. What would take longer is left out.
        nodes: histories in the tree at most; if they and not the time run out, the bound is the same each time.
            (The decomposition makes one step for every 20 of them.)
        level: the confidence of a sampled bound.
        progress: called with every bound as it comes, and as the tree tightens.

    Every minimum over policies enters through its own lower bound, a tangent of f and exact dynamic programming, and
    rounding is allowed for: nothing rests on a solver's tolerance. ``bound.parts`` lists all that were tried, and
    ``bound.skipped`` says why the others were not.

    Where the model is a ``Belief``: the mean over worlds of the bound for each, which holds for who is told the world
    before the trial, and so for everybody. Worlds are drawn until the time is over, unless they are a few candidates.

    >>> import gumdp
    >>> bound = gumdp.lower_bound(gumdp.zoo.load("m1-entropy"), nodes=1000)
    >>> bound.method, bool(0.0058 < bound.value < 0.0070)
    ('jensen-tree', True)
    """
    if isinstance(problem, Problem) and isinstance(problem.model, Belief):
        return _over_worlds(problem, methods, time_limit, nodes, level, seed)
    problem, why = _of_occupancies(problem)
    names = chosen(problem, methods)
    check_call("lower_bound: progress", progress)
    search = Search(problem, check_float("lower_bound: time_limit", time_limit, 0.0), level, seed, nodes)
    if why:
        names = [name for name in names if name in AVERAGES]
        search.skipped |= {name: why for name in METHODS if name not in AVERAGES}
    parts = _best_of_each(search.run(names), progress)
    skipped = tuple((name, why) for name, why in search.skipped.items() if name not in parts)
    if not parts:
        raise _nothing_known(problem, skipped)
    best = max(parts.values(), key=lambda bound: (bound.value, bound.level))
    return replace(best, seconds=search.seconds, parts=tuple(parts.values()), skipped=skipped, values=search.values)


def _best_of_each(bounds: Iterable[Bound], progress: Callable[[Bound], None] | None) -> dict[str, Bound]:
    """The best bound of each method, by its name; ``progress`` hears of each that is better than the one before."""
    parts: dict[str, Bound] = {}
    for bound in bounds:
        if bound.method not in parts or bound.value >= parts[bound.method].value:
            parts[bound.method] = bound
            if progress:
                progress(bound)
    return parts


def _nothing_known(problem: Problem, skipped: Sequence[tuple[str, str]]) -> GumdpError:
    reasons = {why: ", ".join(name for name, other in skipped if other == why) for _, why in skipped}
    return GumdpError(
        f"lower_bound: no method applies to {problem.objective!r}. If you know more about it, say "
        "Function(f, bounds=(low, high)) or Function(f, gradient=…, convex=True). The methods: "
        + "; ".join(f"{names}: {why}" for why, names in reasons.items())
        + "."
    )


def _over_worlds(
    problem: Problem, methods: Sequence[str] | str | None, time_limit: float, nodes: int | None, level: float, seed: int
) -> Bound:
    limit, sure = check_float("lower_bound: time_limit", time_limit, 0.0), check_level(level)
    belief = problem.model
    if methods is None and isinstance(belief, Belief) and not isinstance(belief, OneOf):
        likely = problem.replace(model=belief.mean)
        methods = [name for name in QUICK if obstacle(likely, name) is None]

    def each(table: Tabular, seconds: float, within: float) -> Bound:
        return lower_bound(
            problem.replace(model=table), methods, time_limit=seconds, nodes=nodes, level=within, seed=seed
        )

    return bound_of_worlds(problem, each, limit, sure, check_int("lower_bound: seed", seed, 0))


def _of_occupancies(problem: Problem) -> tuple[Problem, str]:
    """The problem as one of occupancies, and why only averages of it are the same, if that is so."""
    if not isinstance(problem, Problem) or problem.counts is None:
        return problem, ""
    averages = problem.over_pairs("lower_bound")
    try:
        return problem.in_pairs("lower_bound")[0], ""
    except GumdpError as error:
        return averages, str(error).removeprefix("lower_bound: ").rstrip(".")


class Search:
    """Bounds of one problem, the quick ones first."""

    def __init__(self, problem: Problem, time_limit: float, level: float, seed: int, nodes: int | None) -> None:
        self.problem, self.time_limit = problem, time_limit
        self.level = check_level(level)
        self.seed = check_int("lower_bound: seed", seed, 0)
        self.nodes = None if nodes is None else check_int("lower_bound: nodes", nodes, 1)
        self.skipped: dict[str, str] = {}
        self.left = time_limit  # what was not spent yet, compiling not counted
        self.tree: JensenTree | None = None
        self.values: ValueFunction | Starts | None = None
        self.began = clock.whole()

    @property
    def pairs(self) -> int:
        """How many pairs of a state and an action there are."""
        return self.problem.shape[0] * self.problem.shape[1]

    @property
    def seconds(self) -> float:
        """The time since the search began, compiling not counted."""
        return clock.whole() - self.began

    def run(self, names: list[str]) -> Iterator[Bound]:
        """Bounds as they come; a later one of the same method is better."""
        for name in names:
            if why := obstacle(self.problem, name):
                self.skipped[name] = why
        names = [name for name in names if name not in self.skipped]
        ends = self.problem.objective.bounds(self.problem.shape)
        if "range" in names and ends is None:
            self.skipped["range"] = "the objective does not say between which bounds it lies"
        elif "range" in names and ends is not None:
            yield Bound(ends[0], "range", "no occupancy at all has a smaller value", 1.0, self.seconds)
        if "distinct" in names and (value := distinct_bound(self.problem)) is not None:
            pairs, _ = reachable(self.problem)
            yield Bound(value, "distinct", _spread(self.problem.steps, pairs), 1.0, self.seconds)
        elif "distinct" in names:
            self.skipped["distinct"] = "is for entropies, and for what is made of them and of parts with known bounds"
        if {*CONVEX, "decomposition", "totals"} & set(names) and self.problem.objective.convex:
            yield from self._jensen(names)
        if "totals" in names:
            yield from self._totals(TOTALS * self.left if len(names) > 1 else self.left)
        if "decomposition" in names:
            yield from self._decomposition(self.left)
        if "jensen-tree" in names and self.tree is not None:
            yield from self._tree(self.tree, self.left)
        if "paths" in names:
            yield from self._paths(self.left)

    def _spend(self, began: float, most: float) -> None:
        """Count the time since ``began``, but no more of it than ``most``: the rest was compiling."""
        self.left = max(0.0, self.left - min(time.perf_counter() - began, most))

    def _jensen(self, names: list[str]) -> Iterator[Bound]:
        began, share = time.perf_counter(), ROOT * self.time_limit
        if (one := PASS * self.pairs * self.problem.steps) > self.time_limit:
            why = f"one pass over the table would take about {one:.2g} s; a larger time_limit allows it"
            self.skipped |= dict.fromkeys((name for name in names if name in CONVEX), why)
            return
        try:
            self.tree = tree = JensenTree(self.problem, seconds=share)
        except GumdpError as error:  # no gradient, for instance
            self.skipped |= dict.fromkeys((name for name in names if name in CONVEX), str(error).rstrip("."))
            return
        self._spend(began, share)
        if "jensen" in names:
            reason = "the mean occupancy of a policy can't do better, and f is convex"
            yield Bound(tree.plain, "jensen", reason, 1.0, self.seconds)
        if "clairvoyant" in names:
            yield from self._clairvoyant(tree, SHARE * self.left if len(names) > 1 else self.left)
        if "jensen-tree" in names:
            yield from self._tree(tree, FIRST * self.left if "decomposition" in names else self.left)

    def _clairvoyant(self, tree: JensenTree, share: float) -> Iterator[Bound]:
        began = time.perf_counter()
        if not applies(tree.tools):
            self.skipped["clairvoyant"] = "needs chance in the problem, and memory for the costs to go at every step"
        elif 2 * PILOT * ROUNDS * tree.sweep > share:
            self.skipped["clairvoyant"] = f"{2 * PILOT} samples would take longer than its share of the time"
        else:
            sampled = clairvoyant_bound(tree.tools, *tree.tangent, self.level, share, self.seed, SAMPLES)
            self._spend(began, share)
            if sampled is None:
                self.skipped["clairvoyant"] = f"there was no time for {PILOT} samples"
                return
            reached = f"reaches {sampled.mean:.6g} on average ({sampled.samples:,} samples)"
            yield Bound(
                sampled.value, "clairvoyant", f"an oracle that knows all outcomes {reached}", self.level, self.seconds
            )

    def _tree(self, tree: JensenTree, seconds: float) -> Iterator[Bound]:
        began, told = time.perf_counter(), tree.nodes
        one = tree.leaf_seconds * tree.widest
        if tree.nodes == 1 and one > seconds:
            self.skipped["jensen-tree"] = f"to look one step ahead would take about {one:.2g} s"
            if tree.bound > tree.plain:
                yield Bound(tree.bound, "jensen-tree", "Jensen's bound, no step being split", 1.0, self.seconds)
            return
        if tree.nodes == 1:
            next(tree.grow(self.nodes), None)  # after which all is compiled
            began = max(began, time.perf_counter() - 16.0 * one)
        for _ in tree.grow(self.nodes, began + seconds):
            if tree.nodes >= 2 * told:
                told = tree.nodes
                yield self._grown(tree)
        self._spend(began, seconds)
        yield self._grown(tree)

    def _grown(self, tree: JensenTree) -> Bound:
        what = f"Jensen's bound below {tree.nodes:,} histories"
        reason = f"the optimum itself, from {tree.nodes:,} histories" if tree.complete else what
        return Bound(tree.bound, "jensen-tree", reason, 1.0, self.seconds)

    def _decomposition(self, seconds: float) -> Iterator[Bound]:
        tree = self.tree
        if tree is not None and tree.complete:
            self.skipped["decomposition"] = "the optimum is known already"
            return
        if (one := APART * self.pairs) > seconds:
            self.skipped["decomposition"] = f"to take the objective apart would take about {one:.2g} s"
            return
        warm()
        began = time.perf_counter()
        try:
            made = Decomposition(self.problem, *(() if tree is None else (tree.point, tree.tangent[1])))
            if made.sum.linear and tree is not None:
                raise NotSeparable("what is known of the objective is a cost of each pair: Jensen's bound says as much")
            made.check_time(seconds)
        except (NotSeparable, TooLarge) as error:
            self.skipped["decomposition"] = str(error)
            return
        iterations = ITERATIONS if self.nodes is None else min(ITERATIONS, self.nodes // HISTORIES)
        best = -np.inf
        for value in tighten(made, began + CLIMB * seconds, iterations):
            best = max(best, value)
            yield Bound(value, "decomposition", made.reason, 1.0, self.seconds)
        yield from self._branch(made, best, began + seconds)
        self._spend(began, seconds)

    def _branch(self, made: Decomposition, best: float, deadline: float) -> Iterator[Bound]:
        """Bounds from a tree of histories on the decomposition's value function, where they are above ``best``."""
        values = ValueFunction(made, deadline)
        if not values.ready:
            return
        self.values, tree = values, ValueTree(values, self.nodes)
        yield from self._risen(tree, tree.grow(deadline, BELOW), best)
        best = max(best, tree.bound)
        if self.tree is not None and best < self.tree.bound:
            return  # which makes better use of the time
        if self.nodes is None:
            refine = AT_ONCE * STEPS * made.pace < PART * (deadline - time.perf_counter())
        else:
            refine = self.nodes > (1 + AT_ONCE) * BELOW
        rest = RefinedTree(tree) if refine else tree
        yield from self._risen(rest, rest.grow(deadline, self.nodes), best)

    def _risen(self, tree: ValueTree | RefinedTree, values: Iterable[float], best: float) -> Iterator[Bound]:
        told = time.perf_counter()
        for value in values:
            if value > best and time.perf_counter() - told > 1.0:
                told, best = time.perf_counter(), value
                yield Bound(value, "decomposition", tree.reason, 1.0, self.seconds)
        if tree.bound > best:
            yield Bound(tree.bound, "decomposition", tree.reason, 1.0, self.seconds)

    def _totals(self, seconds: float) -> Iterator[Bound]:
        tree = self.tree
        if tree is not None and tree.complete:
            self.skipped["totals"] = "the optimum is known already"
            return
        try:
            made = TotalsBound(self.problem, None if tree is None else tree.point)
        except NotFew as error:
            self.skipped["totals"] = str(error)
            return
        made.warm()
        began = time.perf_counter()
        for value in made.grow(began + seconds, np.inf if self.nodes is None else float(POINTS * self.nodes)):
            yield Bound(value, "totals", made.reason, 1.0, self.seconds)
        self._spend(began, seconds)
        if made.points == 0:
            self.skipped["totals"] = "even a coarse grid would take longer than its share of the time"

    def _paths(self, seconds: float) -> Iterator[Bound]:
        laid = clock.whole()
        try:
            made = PathBound(self.problem, seconds, self.level, self.seed, self.nodes)
        except (NotSeparable, TooLarge) as error:
            self.skipped["paths"] = str(error)
            return
        next(made.grow(most=1), None)  # after which all is compiled
        began = told = time.perf_counter()
        if self.nodes is None:  # boxes take their time, too
            seconds = max(0.0, seconds - (clock.whole() - laid))
        for value in made.grow(began + seconds, self.nodes):
            if time.perf_counter() - told > max(1.0, 0.5 * (told - began)):
                told = time.perf_counter()
                yield Bound(value, "paths", made.reason, made.level, self.seconds)
        self._spend(began, seconds)
        self.values = made.fortune()
        yield Bound(made.value, "paths", made.reason, made.level, self.seconds)


def _spread(steps: int, pairs: int) -> str:
    if pairs >= steps:
        return f"at best, all {steps} steps visit different pairs"
    return f"at best, {steps} steps are spread evenly over the {pairs} pairs there are"
