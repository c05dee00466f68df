"""Lower bounds: numbers that no policy can beat, however much it remembers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from gumdp.bounds.distinct import distinct_bound, reachable
from gumdp.bounds.history_tree import JensenTree
from gumdp.bounds.relaxation import applies, clairvoyant_bound
from gumdp.errors import GumdpError, check_float, check_int, unknown
from gumdp.models.tabular import Tabular
from gumdp.problem import Problem
from gumdp.results import Bound

METHODS = ("range", "distinct", "jensen", "clairvoyant", "jensen-tree")
SHARE = 0.1  # of the time that goes to the clairvoyant
SAMPLES = 20_000


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
              is a sum over the pairs (an entropy, imitation) it also counts that no step is split between pairs.
        time_limit: seconds for all of them, compiling not counted.
        nodes: histories in the tree at most; if they and not the time run out, the bound is the same each time.
        level: the confidence of a sampled bound.
        progress: called with every bound as it comes, and as the tree tightens.

    Every minimum over policies enters through its own lower bound, a tangent of f and exact dynamic programming, and
    rounding is allowed for: nothing rests on a solver's tolerance. ``bound.parts`` lists all that were tried.

    >>> import gumdp
    >>> bound = gumdp.lower_bound(gumdp.zoo.load("m1-entropy"), nodes=1000)
    >>> bound.method, bool(0.0058 < bound.value < 0.0070)
    ('jensen-tree', True)
    """
    names = _chosen(problem, methods)
    search = Search(problem, check_float("lower_bound: time_limit", time_limit, 0.0), level, seed, nodes)
    parts: dict[str, Bound] = {}
    for bound in search.run(names):
        parts[bound.method] = bound
        if progress:
            progress(bound)
    if not parts:
        raise GumdpError(
            f"lower_bound: nothing is known about {problem.objective!r}: it is not convex and has no bounds; "
            "if you know some, say Function(f, bounds=(low, high)) or Function(f, gradient=…, convex=True)."
        )
    best = max(parts.values(), key=lambda bound: (bound.value, bound.level))
    return Bound(best.value, best.method, best.reason, best.level, search.seconds, tuple(parts.values()))


def _chosen(problem: Problem, methods: Sequence[str] | str | None) -> list[str]:
    if not isinstance(problem, Problem):
        raise GumdpError(f"lower_bound: problem must be a gumdp.Problem, not {type(problem).__name__}.")
    convex, table = problem.objective.convex, isinstance(problem.model, Tabular)
    if methods is None:
        return list(METHODS if convex and table else METHODS[:2])
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in METHODS:
            raise unknown("method of lower_bound", name, METHODS)
        if name in METHODS[2:] and not (convex and table):
            what = "a convex objective" if not convex else "a tabular model"
            raise GumdpError(f"lower_bound: the method {name} needs {what}; leave it out, and the others are tried.")
    return names


class Search:
    """Bounds of one problem, the quick ones first."""

    def __init__(self, problem: Problem, time_limit: float, level: float, seed: int, nodes: int | None) -> None:
        self.problem, self.time_limit = problem, time_limit
        self.level = check_float("lower_bound: level", level, 0.0, 1.0)
        if not 0.0 < self.level < 1.0:
            raise GumdpError(f"lower_bound: level must be between 0 and 1, not {self.level:g}.")
        self.seed = check_int("lower_bound: seed", seed, 0)
        self.nodes = None if nodes is None else check_int("lower_bound: nodes", nodes, 1)
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The time since the search began."""
        return time.perf_counter() - self.began

    def run(self, names: list[str]) -> Iterator[Bound]:
        """Bounds as they come; a later one of the same method is better."""
        ends = self.problem.objective.bounds(self.problem.shape)
        if "range" in names and ends is not None:
            yield Bound(ends[0], "range", "no occupancy at all has a smaller value", 1.0, self.seconds)
        if "distinct" in names and (value := distinct_bound(self.problem)) is not None:
            pairs, _ = reachable(self.problem)
            yield Bound(value, "distinct", _spread(self.problem.steps, pairs), 1.0, self.seconds)
        if {"jensen", "clairvoyant", "jensen-tree"} & set(names):
            yield from self._jensen(names)

    def _jensen(self, names: list[str]) -> Iterator[Bound]:
        tree = JensenTree(self.problem)
        left = self.time_limit
        if "jensen" in names:
            reason = "the mean occupancy of a policy can't do better, and f is convex"
            yield Bound(tree.plain, "jensen", reason, 1.0, self.seconds)
        if "clairvoyant" in names and applies(tree.tools):
            share = SHARE * left if "jensen-tree" in names else left
            left -= share
            sampled = clairvoyant_bound(tree.tools, *tree.tangent, self.level, share, self.seed, SAMPLES)
            if sampled is not None:
                reached = f"reaches {sampled.mean:.6g} on average ({sampled.samples:,} samples)"
                reason = f"who knew chance in advance {reached}"
                yield Bound(sampled.value, "clairvoyant", reason, self.level, self.seconds)
        if "jensen-tree" in names:
            yield from self._tree(tree, left)

    def _tree(self, tree: JensenTree, seconds: float) -> Iterator[Bound]:
        told = 0
        next(tree.grow(self.nodes), None)  # after which all is compiled
        for _ in tree.grow(self.nodes, time.perf_counter() + seconds):
            if tree.nodes >= 2 * told:
                told = tree.nodes
                yield self._grown(tree)
        yield self._grown(tree)

    def _grown(self, tree: JensenTree) -> Bound:
        what = f"Jensen's bound below {tree.nodes:,} histories"
        reason = f"the optimum itself, from {tree.nodes:,} histories" if tree.complete else what
        return Bound(tree.bound, "jensen-tree", reason, 1.0, self.seconds)


def _spread(steps: int, pairs: int) -> str:
    if pairs >= steps:
        return f"at best, all {steps} steps visit different pairs"
    return f"at best, {steps} steps are spread evenly over the {pairs} pairs there are"
