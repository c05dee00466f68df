"""Results folders in the studio: tables, comparisons, and what it takes to play a stored trial again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gumdp.errors import GumdpError
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.database import FILE
from gumdp.experiments.store.store import Store
from gumdp.report.comparisons import compare_results
from gumdp.report.results import ArmResult, read_results, result_data
from gumdp.run import registry
from gumdp.studio.keep import CODE
from gumdp.studio.messages import GIVEN
from gumdp.zoo.registry import names

DEEPEST = 3  # folders in folders that are looked at
MOST = 1000  # stores, and trials shown of an arm


class Shelf:
    """The stores in one folder, by number: the page names no paths, and none outside is read."""

    def __init__(self, root: Path | None, own: str = "") -> None:
        self.root, self.own = root, own

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the page asked for."""
        if self.root is None:
            raise GumdpError("the studio was started without a folder of results; start it with gumdp studio FOLDER.")
        kind = message["do"]
        if kind == "stores":
            return {"say": "stores", "root": str(self.root), "stores": [self._name(path) for path in self.stores()]}
        stores = self.stores()
        if message["store"] >= len(stores):
            raise GumdpError("there is no such store any more; look again.")
        with Store.read(stores[message["store"]]) as store:
            results = read_results(store)
            if kind == "arms":
                return {
                    "say": "arms",
                    "store": message["store"],
                    "arms": [_row(result, self.own) for result in results],
                }
            if kind == "trials":
                return {"say": "trials", **_trials(_pick(results, message["arm"]), message)}
            one, other = _pick(results, message["arm"]), _pick(results, message["other"])
            return {"say": "compared", **_compared(one, other)}

    def stores(self) -> list[Path]:
        """The folders with results in them, in the order of their names; links are not followed."""
        assert self.root is not None
        found: list[Path] = []
        start = len(self.root.parts)
        for folder, inside, files in os.walk(self.root, followlinks=False):
            path = Path(folder)
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            if len(path.parts) - start >= DEEPEST:
                inside.clear()
            if FILE in files and len(found) < MOST:
                found.append(path)
        return sorted(found)

    def _name(self, path: Path) -> str:
        assert self.root is not None
        return str(path.relative_to(self.root)) if path != self.root else path.name or str(path)


def _pick(results: list[ArmResult], index: int) -> ArmResult:
    if index >= len(results):
        raise GumdpError("there is no such row any more; look again.")
    return results[index]


def _row(result: ArmResult, own: str) -> dict[str, Any]:
    arm = result.arm
    options = dict(arm.problem_options)
    spec = {"name": GIVEN if arm.problem == own else arm.problem, "options": options, "code": options.pop(CODE, None)}
    return {
        **result_data(result),
        "problem_label": arm.problem_label,
        "planner_label": arm.planner_label,
        "spec": spec,  # what the page opens, to play a trial again
        "known": arm.planner in registry.names() and _known(arm),
    }


def _known(arm: Arm) -> bool:
    """Whether the problem is what it was when the trials were made."""
    if CODE in arm.problem_options:
        return True  # the text is all there is
    if arm.problem not in names():
        return False
    try:
        return Arm(arm.problem, "random", arm.problem_options).problem_key == arm.problem_key
    except GumdpError:  # it has other options by now
        return False


def _trials(result: ArmResult, message: dict[str, Any]) -> dict[str, Any]:
    numbered = [(key & 0xFFFFFFFF, value) for key, value in result.numbered.items()]
    return {"store": message["store"], "arm": message["arm"], "trials": numbered[:MOST], "all": len(numbered)}


def _compared(one: ArmResult, other: ArmResult) -> dict[str, Any]:
    if one.arm.problem_key != other.arm.problem_key:
        raise GumdpError("only planners on the same problem can be compared.")
    found = compare_results(one, other)
    if found is None:
        raise GumdpError("there is nothing to compare: they share fewer than two trials.")
    return {
        "one": one.arm.planner_label,
        "other": other.arm.planner_label,
        "problem": one.arm.problem_label,
        "words": str(found),
        "verdict": found.verdict,
        "difference": found.difference,
        "interval": found.interval,
        "wins": found.wins,
        "trials": found.trials,
        "differences": found.differences[:MOST],
    }
