"""Lower bounds: numbers that no policy can beat, however much it remembers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gumdp.bounds.decomposition import ITERATIONS, Decomposition, TooLarge, tighten
from gumdp.bounds.decomposition_tree import ValueFunction, ValueTree, warm
from gumdp.bounds.distinct import distinct_bound, reachable
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.relaxation import PILOT, ROUNDS, applies, clairvoyant_bound
from gumdp.bounds.separable import NotSeparable
from gumdp.errors import GumdpError, check_float, check_int, unknown
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Objective, Shape
from gumdp.problem import Problem
from gumdp.results import Bound

METHODS = ("range", "distinct", "jensen", "clairvoyant", "jensen-tree", "decomposition")
CONVEX = METHODS[2:5]  # those that rest on Jensen's inequality
ROOT, SHARE, FIRST = (
    0.4,
    0.1,
    0.3,
)  # of the time: for Jensen's bound; of the rest: for the clairvoyant, and then the tree
SAMPLES = 20_000
CLIMB = 0.75  # of the decomposition's time, for its prices; the rest is for a tree of histories
HISTORIES = 20  # of the tree, for each of which the decomposition may climb one step, where they are limited


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
              at its best alone, with prices that make them agree as far as prices can. For tabular models.
        time_limit: seconds for all of them, compiling not counted. What would take longer is left out.
        nodes: histories in the tree at most; if they and not the time run out, the bound is the same each time.
            (The decomposition makes one step for every 20 of them.)
        level: the confidence of a sampled bound.
        progress: called with every bound as it comes, and as the tree tightens.

    Every minimum over policies enters through its own lower bound, a tangent of f and exact dynamic programming, and
    rounding is allowed for: nothing rests on a solver's tolerance. ``bound.parts`` lists all that were tried, and
    ``bound.skipped`` says why the others were not.

    >>> import gumdp
    >>> bound = gumdp.lower_bound(gumdp.zoo.load("m1-entropy"), nodes=1000)
    >>> bound.method, bool(0.0058 < bound.value < 0.0070)
    ('jensen-tree', True)
    """
    names = _chosen(problem, methods)
    search = Search(problem, check_float("lower_bound: time_limit", time_limit, 0.0), level, seed, nodes)
    parts: dict[str, Bound] = {}
    for bound in search.run(names):
        if bound.method not in parts or bound.value >= parts[bound.method].value:
            parts[bound.method] = bound
            if progress:
                progress(bound)
    skipped = tuple((name, why) for name, why in search.skipped.items() if name not in parts)
    if not parts:
        raise GumdpError(
            f"lower_bound: nothing is known about {problem.objective!r}: "
            + "; ".join(f"{name}: {why}" for name, why in skipped)
            + ". If you know more, say Function(f, bounds=(low, high)) or Function(f, gradient=…, convex=True)."
        )
    best = max(parts.values(), key=lambda bound: (bound.value, bound.level))
    return replace(best, seconds=search.seconds, parts=tuple(parts.values()), skipped=skipped, values=search.values)


def _chosen(problem: Problem, methods: Sequence[str] | str | None) -> list[str]:
    if not isinstance(problem, Problem):
        raise GumdpError(f"lower_bound: problem must be a gumdp.Problem, not {type(problem).__name__}.")
    if methods is None:
        return list(METHODS)
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in METHODS:
            raise unknown("method of lower_bound", name, METHODS)
        if why := obstacle(problem, name):
            raise GumdpError(f"lower_bound: the method {name} {why}; leave it out, and the others are tried.")
    return names


def obstacle(problem: Problem, name: str) -> str | None:
    """Why a method can't be applied to a problem, as far as that is known at once."""
    if name in METHODS[2:] and not isinstance(problem.model, Tabular):
        return "needs a tabular model"
    if name in CONVEX and not problem.objective.convex:
        return f"needs a convex objective, and {bent(problem.objective, problem.shape)!r} is not known to be convex"
    return None


def bent(f: Objective, shape: Shape) -> Objective:
    """The part of an objective for whose sake it is not known to be convex."""
    if f.exponential is not None:
        return bent(f.exponential[1], shape)
    parts = [part for _, part in (f.parts(shape) or (0.0, ()))[1] if not part.convex]
    return bent(parts[0], shape) if parts else f


class Search:
    """Bounds of one problem, the quick ones first."""

    def __init__(self, problem: Problem, time_limit: float, level: float, seed: int, nodes: int | None) -> None:
        self.problem, self.time_limit = problem, time_limit
        self.level = check_float("lower_bound: level", level, 0.0, 1.0)
        if not 0.0 < self.level < 1.0:
            raise GumdpError(f"lower_bound: level must be between 0 and 1, not {self.level:g}.")
        self.seed = check_int("lower_bound: seed", seed, 0)
        self.nodes = None if nodes is None else check_int("lower_bound: nodes", nodes, 1)
        self.skipped: dict[str, str] = {}
        self.left = time_limit  # what was not spent yet, compiling not counted
        self.tree: JensenTree | None = None
        self.values: ValueFunction | None = None
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The time since the search began."""
        return time.perf_counter() - self.began

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
        if {*CONVEX, "decomposition"} & set(names) and self.problem.objective.convex:
            yield from self._jensen(names)
        if "decomposition" in names:
            yield from self._decomposition(self.left)
        if "jensen-tree" in names and self.tree is not None:
            yield from self._tree(self.tree, self.left)

    def _spend(self, began: float, most: float) -> None:
        """Count the time since ``began``, but no more of it than ``most``: the rest was compiling."""
        self.left = max(0.0, self.left - min(time.perf_counter() - began, most))

    def _jensen(self, names: list[str]) -> Iterator[Bound]:
        began, share = time.perf_counter(), ROOT * self.time_limit
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
            yield Bound(sampled.value, "clairvoyant", f"who knew chance in advance {reached}", self.level, self.seconds)

    def _tree(self, tree: JensenTree, seconds: float) -> Iterator[Bound]:
        began, told = time.perf_counter(), tree.nodes
        one = tree.leaf_seconds * tree.widest
        if tree.nodes == 1 and one > seconds:
            self.skipped["jensen-tree"] = f"to look one step ahead would take about {one:.2g} s"
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
        self.values, told = values, time.perf_counter()
        tree = ValueTree(values, self.nodes)
        for value in tree.grow(deadline):
            if value > best and time.perf_counter() - told > 1.0:
                told = time.perf_counter()
                yield Bound(value, "decomposition", tree.reason, 1.0, self.seconds)
        if tree.bound > best:
            yield Bound(tree.bound, "decomposition", tree.reason, 1.0, self.seconds)


def _spread(steps: int, pairs: int) -> str:
    if pairs >= steps:
        return f"at best, all {steps} steps visit different pairs"
    return f"at best, {steps} steps are spread evenly over the {pairs} pairs there are"
