"""How long a plan will take, roughly, before anything is run."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gumdp.experiments.plan.arm import Arm

STEP = 10e-9  # seconds that a simulated step of a search takes, tree included: 7 to 12 ns on the paper's settings
PLAY = 50e-9  # seconds that a real step takes without a search
COMPILE = 5.0  # seconds for each new combination of world, objective and planner


def trial_seconds(arm: Arm) -> float:
    """About how long one trial of ``arm`` takes on one core.

    A search of n iterations at step t simulates the H - t steps that are left: n·H²/2 steps in all.
    """
    from gumdp.search.planner import MCTS

    steps, planner = arm.make_problem().steps, arm.make_planner()
    if not isinstance(planner, MCTS):
        return PLAY * steps
    if planner.time_limit is not None:
        return planner.time_limit * steps
    if planner.trial_time is not None:
        return planner.trial_time
    if planner.trial_iterations is not None:
        return STEP * planner.trial_iterations * steps / 2
    return STEP * (planner.iterations or 0) * steps * steps / 2


def run_seconds(arms: Iterable[Arm], trials: int, workers: int | None = None) -> float:
    """About how long ``trials`` of each of ``arms`` take on ``workers`` cores, compiling included."""
    arms = list(arms)
    kinds = {(arm.problem, arm.planner) for arm in arms}
    return COMPILE * len(kinds) + sum(map(trial_seconds, arms)) * trials / (workers or os.cpu_count() or 1)


def in_words(seconds: float) -> str:
    """A rough time as people say it.

    >>> in_words(3.2), in_words(200), in_words(10_000)
    ('about 3 seconds', 'about 3 minutes', 'about 2.8 hours')
    """
    if seconds < 99:
        return f"about {seconds:.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
