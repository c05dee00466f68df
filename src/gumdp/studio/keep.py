"""Where the trials of a race are kept: a store for each problem, which ``gumdp report`` reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gumdp import escape
from gumdp.errors import GumdpError
from gumdp.experiments.plan.arm import FORMAT, Arm
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.identity import canonical
from gumdp.experiments.plan.version import machine
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.results import Array
from gumdp.studio.messages import GIVEN

FOLDERS = 100  # that are tried, where others are in use
CODE = "function"  # the option under which a function that was typed in is kept


def arms_of(message: dict[str, Any], own: str) -> list[Arm]:
    """The arms of a race, one for each planner; none for a problem that can't be told from others of its name."""
    spec, seed = message["problem"], message["seed"]
    if spec["name"] == GIVEN and not own:
        return []
    name = own if spec["name"] == GIVEN else spec["name"]
    if spec["code"] is None:
        return [Arm(name, p["name"], spec["options"], p["options"], seed) for p in message["planners"]]
    options = {
        **spec["options"],
        CODE: spec["code"],
    }  # the text decides what is scored, so that it is part of the problem
    found = []
    for p in message["planners"]:
        identity = {
            "format": FORMAT,
            "problem": [name, canonical(options)],
            "planner": [p["name"], canonical(p["options"])],
        }
        found.append(Arm.restored(name, p["name"], options, p["options"], seed, identity={**identity, "seed": seed}))
    return found


@contextmanager
def storing(message: dict[str, Any], out: Path, own: str) -> Iterator[Keep]:
    """Where the trials of a race are kept: a folder of the problem's own, or nowhere, if it has no name."""
    arms = arms_of(message, own)
    if not arms:
        yield Keep(None, [], len(message["planners"]))
        return
    experiment = Experiment(tuple(arms), message["trials"], "studio", title=f"A race: {arms[0].problem}")
    name = arms[0].problem + (f"-{arms[0].problem_digest[:8]}" if arms[0].problem_options else "")
    store = _open(out, escape.file_name(name), experiment.version)
    with store:
        store.begin("studio", {**machine(), "study": experiment.study()}, "gumdp studio")
        began, status = time.perf_counter(), "interrupted"
        try:
            keep = Keep(store, arms, len(arms))
            yield keep
            status = "complete" if keep.complete(message["trials"]) else "stopped"
        finally:
            store.end(status, time.perf_counter() - began)


def _open(out: Path, name: str, version: str) -> Store:
    """A store for a problem; another tab may be racing into the first one."""
    for k in range(FOLDERS):
        try:
            return Store.open(out / (f"{name}-{k + 1}" if k else name), version)
        except GumdpError as error:
            if "another run is at work" not in str(error) or k == FOLDERS - 1:
                raise
    raise AssertionError


class Keep:
    """The store of a race, if there is one."""

    def __init__(self, store: Store | None, arms: list[Arm], count: int) -> None:
        self.store, self.arms, self.count = store, arms, count
        self.folder = None if store is None else store.folder
        self._known: dict[int, dict[int, float]] = {}

    def found(self) -> list[dict[int, float]]:
        """What is there already: for each planner, the values of trials by number."""
        if self.store is None:
            return [{} for _ in range(self.count)]
        stored = {one.arm.digest: one for one in self.store.arms(self.store.version)}
        numbered = [self.store.numbered(stored[arm.digest]) if arm.digest in stored else {} for arm in self.arms]
        self._known = dict(enumerate(numbered))
        return numbered

    def add(self, k: int, first: int, values: Array, seconds: float) -> None:
        """Store trials that ended."""
        if self.store is not None:
            known = self._known.get(k, {})
            fresh = [(first + i, float(v)) for i, v in enumerate(values) if first + i not in known]
            if fresh:
                self.store.add(self.arms[k], [Outcome(trial, value, seconds) for trial, value in fresh])

    def complete(self, total: int) -> bool:
        """Whether every trial is there."""
        assert self.store is not None
        return all(len([t for t in self.store.done(arm) if t < total]) == total for arm in self.arms)
