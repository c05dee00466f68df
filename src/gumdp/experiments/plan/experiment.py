"""An experiment: problems × planners × seeds, and how many trials of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gumdp.errors import GumdpError, check_int, check_type
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.code import Code, reached
from gumdp.experiments.plan.version import full_version
from gumdp.run import registry
from gumdp.seeding import BITS
from gumdp.zoo.registry import find

KEEP = ("occupancy", "trajectory", "totals")


@dataclass(frozen=True)
class Experiment:
    """A plan of arms, each with the same number of trials.

    Args:
        arms: what is played.
        trials: of each arm.
        name: what tables and folders are called.
        keep: ``"occupancy"``, ``"trajectory"`` and ``"totals"`` are stored with each trial on request; this plays the
            trials decision by decision, which is slower and gives the same values.
        modules: Python modules to import first, which register further problems; every worker imports them too.
        title: of the report.
        text: what the report says first.
        baseline: the planner that the others are compared with: a name, or a mapping of its ``name`` and options; the
            first one by default.
        candidates: the planners that are compared with it, in the same way; all others by default.
        code: those modules with where they are; found from ``modules`` if not given.

    >>> searches = {"name": "mcts", "iterations": [10, 20]}
    >>> plan = Experiment.grid(["m1-entropy", "m2-imitation"], ["random", searches])
    >>> len(plan.arms)
    6
    """

    arms: tuple[Arm, ...]
    trials: int = 10
    name: str = "experiment"
    keep: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    title: str = ""
    text: str = ""
    baseline: str | Mapping[str, Any] | None = None
    candidates: tuple[str | Mapping[str, Any], ...] | None = None
    code: Code | None = None

    def __post_init__(self) -> None:
        check_int("trials", self.trials, 1, BITS)
        if not self.arms:
            raise GumdpError("an experiment needs at least one arm: name at least one problem and one planner.")
        for what in self.keep:
            if what not in KEEP:
                raise GumdpError(f"keep must hold words out of {', '.join(KEEP)}, not {what!r}.")
        object.__setattr__(self, "arms", tuple({arm.digest: arm for arm in self.arms}.values()))
        check_type("title", self.title, str)
        check_type("text", self.text, str)
        for what, given in [("baseline", self.baseline), *(("candidate", one) for one in self.candidates or ())]:
            if given is not None and not any(_is(arm, *named(what, given)) for arm in self.arms):
                planners = ", ".join(dict.fromkeys(arm.planner_label for arm in self.arms))
                raise GumdpError(f"the {what} must be a planner of the experiment, one of {planners}, not {given!r}.")
        if self.code is None:
            object.__setattr__(self, "code", Code.named(self.modules))

    def study(self) -> dict[str, Any]:
        """What the report should know: kept with the results, so that it needs neither this plan nor its modules."""

        def compared(given: str | Mapping[str, Any]) -> dict[str, Any]:
            return {"name": given} if isinstance(given, str) else dict(given)

        return {
            "title": self.title or self.name,
            "text": self.text,
            "baseline": None if self.baseline is None else compared(self.baseline),
            "candidates": None if self.candidates is None else list(map(compared, self.candidates)),
            "problems": {arm.problem: find(arm.problem).summary for arm in self.arms},
            "planners": list(dict.fromkeys(arm.planner for arm in self.arms)),
        }

    @property
    def version(self) -> str:
        """Under what its trials are stored: the package's version, and a digest of the user's code, if there is some.

        That is the modules that it names, with all that these import of the user's own, and those in which the
        problems and planners of its arms were written.
        """
        assert self.code is not None
        planners = {entry.name: entry.build for entry in registry.entries()}
        builders = [find(arm.problem).build for arm in self.arms] + [planners[arm.planner] for arm in self.arms]
        named = {name for name, _ in self.code.modules}
        others = [builder for builder in builders if getattr(builder, "__module__", "") not in named]
        return full_version(self.code.digest(), reached(others))

    @classmethod
    def grid(
        cls,
        problems: Iterable[str | Mapping[str, Any]],
        planners: Iterable[str | Mapping[str, Any]],
        seeds: Sequence[int] = (0,),
        **options: Any,
    ) -> Experiment:
        """Every problem with every planner and every seed.

        A problem or a planner is a name, or a mapping of its ``name`` and its options; an option given as a list
        makes one of each.
        """
        options.setdefault("code", Code.named(options.get("modules", ())))
        rows = [one for given in problems for one in problem_variants(given)]
        columns = [one for given in planners for one in planner_variants(given)]
        arms = tuple(
            Arm(problem, planner, problem_options, planner_options, seed)
            for (problem, problem_options), (planner, planner_options), seed in itertools.product(rows, columns, seeds)
        )
        return cls(arms, **options)


def _is(arm: Arm, planner: str, options: Mapping[str, Any]) -> bool:
    return arm.planner == planner and all(arm.planner_options.get(k) == v for k, v in options.items())


def problem_variants(given: str | Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The (name, options) that a problem of a grid stands for.

    An option whose own value is a list is taken as it is, unless it is given as a list of lists.

    >>> problem_variants({"name": "m1-entropy", "horizon": [10, 20]})
    [('m1-entropy', {'horizon': 10}), ('m1-entropy', {'horizon': 20})]
    """
    name, options = named("problem", given)
    own = find(name).options
    lists = {key for key, value in own.items() if isinstance(value, list | tuple)}
    single = {
        k: [v] if k in lists and not any(isinstance(x, list | tuple) for x in v) else v for k, v in options.items()
    }
    return list_variants(name, single)


def planner_variants(given: str | Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The (name, options) that a planner of a grid stands for."""
    return list_variants(*named("planner", given))


def named(what: str, given: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and options of an entry of a grid."""
    if isinstance(given, str):
        return given, {}
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise GumdpError(f"a {what} must be a name, or a table with a name and options, not {given!r}.")
    return given["name"], {k: v for k, v in given.items() if k != "name"}


def list_variants(name: str, options: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """One of each for every option that is given as a list."""
    choices = [[(k, x) for x in v] if isinstance(v, list | tuple) else [(k, v)] for k, v in options.items()]
    return [(name, dict(combination)) for combination in itertools.product(*choices)]
