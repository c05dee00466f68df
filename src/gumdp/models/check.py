"""Whether a model keeps its word: its answers, tried out."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int, check_type, show
from gumdp.models.base import Model

STEPS = 100  # of the random walk that a model is tried on


@dataclass(frozen=True)
class CheckReport:
    """What a check found; there is one only if nothing was wrong."""

    subject: str
    findings: tuple[tuple[str, str], ...]  # (property, what was seen)

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.findings)
        return "\n".join([f"{self.subject}: all in order", *(f"  {n:<{width}}  {seen}" for n, seen in self.findings)])


def check_model(model: Model, *, steps: int = STEPS, seed: int = 0) -> CheckReport:
    """Return a printable report if a model's answers agree with each other; raise ``GumdpError`` if two don't.

    On a random walk: the same generator gives the same states, a state that was sampled from stays as it is, its row
    and its actions are within the shape, unavailable actions are refused, and a model that is sent to another process
    goes on as the original does.

    >>> import gumdp
    >>> print(check_model(gumdp.zoo.load("m1-entropy").model).findings[0])
    ('states', 'the same walk of 100 steps twice')
    """
    check_type("check_model: model", model, Model)
    steps, seed = check_int("steps", steps, 1, 10**6), check_int("seed", seed, 0)
    first = walk(model, steps, seed)
    if walk(model, steps, seed) != first:
        raise GumdpError(
            f"check_model: {show(model)} gives other states for the same generator; all chance must come from it."
        )
    rows, actions = model.shape
    seen = {row for _, row, _ in first}
    if not all(0 <= row < rows for row in seen):
        raise GumdpError(f"check_model: {show(model)} has a state in row {max(seen)}; there are {rows} rows.")
    try:
        copy = pickle.loads(pickle.dumps(model))
    except Exception as error:
        sent = f"can't be sent to worker processes: {type(error).__name__}"
    else:
        if walk(copy, steps, seed) != first:
            raise GumdpError(f"check_model: a pickled copy of {show(model)} does not go on as the original does.")
        sent = "goes on in another process as here"
    return CheckReport(
        f"{model!r}",
        (
            ("states", f"the same walk of {steps} steps twice"),
            ("rows", f"{len(seen)} of {rows} seen"),
            ("actions", f"{len({a for *_, a in first})} of {actions} taken, those not available refused"),
            ("pickle", sent),
        ),
    )


def walk(model: Model, steps: int, seed: int) -> list[tuple[str, int, int]]:
    """(state, row, action) at each step of a random walk."""
    rng = np.random.default_rng(seed)
    state, path = model.start_state(rng), []
    for _ in range(steps):
        free = model.actions(state)
        if not free:
            raise GumdpError(f"check_model: {show(model)} has no action in state {show(state)}.")
        _refuse_others(model, state, free)
        action = free[int(rng.integers(len(free)))]
        path.append((repr(state), model.row_of(state), action))
        after = model.sample(state, action, rng)
        if repr(state) != path[-1][0]:
            raise GumdpError(f"check_model: {show(model)} changes the state it samples from; it must only read it.")
        state = after
    return path


def _refuse_others(model: Model, state: Any, free: list[int]) -> None:
    for action in set(range(model.shape[1])) - set(free):
        try:
            model.sample(state, action, np.random.default_rng(0))
        except GumdpError:
            continue
        raise GumdpError(
            f"check_model: {show(model)} takes action {action} in state {show(state)}, where it is not available."
        )
