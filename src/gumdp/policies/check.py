"""Whether a planner keeps its word: its decisions, tried out."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int, check_type, show
from gumdp.models.check import CheckReport
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.results import Decision

SLACK = 1e-9  # what rounding may do, relative to the size of a value


def check_planner(planner: Planner, problem: Problem, *, trials: int = 3, seed: int = 0) -> CheckReport:
    """Return a printable report if a planner does what experiments rely on; raise ``GumdpError`` if it doesn't.

    On a few trials of ``problem``: the same seed gives the same actions, also while other trials are under way. Only
    available actions are taken, and states that it is shown stay as they are. The running occupancy and the trial's
    value are those of what it did. The planner can be sent to a worker process and decides there as it does here.

    >>> import gumdp
    >>> print(check_planner(gumdp.Greedy(), gumdp.zoo.load("m1-entropy", horizon=10)))
    Greedy(): all in order
      seed       the same 10 actions for the same seed, in each of 3 trials
      actions    all available
      occupancy  that of the actions, and the value that goes with it
      pickle     decides in another process as here
    """
    check_type("check_planner: planner", planner, Planner)
    check_type("check_planner: problem", problem, Problem)
    seeds = range(check_int("seed", seed, 0), seed + check_int("trials", trials, 1, 10**4))
    plays = [trial(planner, problem, each) for each in seeds]
    if [trial(planner, problem, each) for each in seeds] != plays:
        raise GumdpError(
            f"check_planner: {show(planner)} takes other actions for the same seed; all chance must come from the seed "
            "that start() is given."
        )
    in_turn = zip(*(walk(planner, problem, each) for each in seeds), strict=True)  # a step of each, and so on
    if [list(line) for line in zip(*in_turn, strict=True)] != plays:
        raise GumdpError(
            f"check_planner: {show(planner)} takes other actions when several trials are under way, as on several "
            "threads; what a trial remembers must be in its policy, not in the planner and not in a global variable."
        )
    try:
        copy = pickle.loads(pickle.dumps(planner))
    except Exception as error:
        sent = f"can't be sent to worker processes: {type(error).__name__}"
    else:
        if [trial(copy, problem, each) for each in seeds] != plays:
            raise GumdpError(f"check_planner: a pickled copy of {show(planner)} takes other actions than the original.")
        sent = "decides in another process as here"
    return CheckReport(
        repr(planner),
        (
            ("seed", f"the same {problem.steps} actions for the same seed, in each of {trials} trials"),
            ("actions", "all available"),
            ("occupancy", "that of the actions, and the value that goes with it"),
            ("pickle", sent),
        ),
    )


def trial(planner: Planner, problem: Problem, seed: int) -> list[int]:
    """The actions of a trial, checked one by one."""
    return list(walk(planner, problem, seed))


def walk(planner: Planner, problem: Problem, seed: int) -> Iterator[int]:
    """The actions of a trial as they are taken, each of them checked."""
    model, rng = problem.model, np.random.default_rng(seed)
    policy = planner.start(problem, seed=seed)
    d = np.zeros(problem.shape)
    shares = problem.weights / problem.weights.sum() if problem.features is not None else problem.weights
    state: Any = None
    for t in range(problem.steps):
        state = model.start_state(rng) if t % problem.horizon == 0 else state
        before = repr(state)
        decision = policy.act(state)
        if not isinstance(decision, Decision):
            raise GumdpError(f"check_planner: act() of {show(planner)} must return a Decision, not {show(decision)}.")
        action = check_int("check_planner: the action of a decision", decision.action, 0)
        if action not in model.actions(state):
            raise GumdpError(
                f"check_planner: {show(planner)} takes action {action} in state {show(state)}, which is not available."
            )
        if repr(state) != before:
            raise GumdpError(f"check_planner: {show(planner)} changes the state it is shown; it must only read it.")
        d[model.row_of(state), action] += shares[t]
        yield action
        state = model.sample(state, action, rng)
        policy.arrived(state)
    value = problem.value(d if problem.features is None else np.array([*policy.totals.values()]))
    if not np.allclose(policy.occupancy, d, rtol=0.0, atol=1e-12):
        raise GumdpError(f"check_planner: the occupancy of {show(planner)}'s policy is not that of its actions.")
    if abs(policy.worth() - value) > SLACK * (1.0 + abs(value)):
        raise GumdpError(f"check_planner: worth() of {show(planner)}'s policy is not the objective at its occupancy.")
