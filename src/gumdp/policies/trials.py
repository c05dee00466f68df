"""Whole trials, played by a compiled decider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError
from gumdp.jit.callback import reraise
from gumdp.models.belief import Belief
from gumdp.models.belief_kernels import IMPOSSIBLE
from gumdp.policies.play import DONE, NOT_A_NUMBER, Itself, Trial, Unknown, play, setup_of
from gumdp.problem import Problem
from gumdp.results import Array
from gumdp.seeding import Seeds


def play_trials(problem: Problem, deciders: Sequence[Any], seeds: Seeds, stop: NDArray[np.uint8]) -> Array:
    """The values of the trials of ``seeds``; NaN for those that ``stop`` cut off.

    One compiled decider plays them one after the other. Two that share no memory play two at a time, which is quicker
    and makes no difference to the values.
    """
    sides = [Trial(decider, problem.running()) for decider in deciders]
    values = np.full(len(seeds), np.nan)
    if isinstance(problem.model, Belief):
        status = _play_worlds(problem, problem.model, sides[0], seeds, values, stop)
    else:
        setup = setup_of(problem)
        status = play(setup, Itself(setup.model), (sides[0], sides[-1]), len(sides), seeds, values, stop)
    reraise()
    if status == NOT_A_NUMBER:
        raise not_finite()
    return values


def _play_worlds(
    problem: Problem, belief: Belief, side: Trial, seeds: Seeds, values: Array, stop: NDArray[np.uint8]
) -> int:
    """Fill ``values`` with trials, each in a world of its own that is drawn from the belief; return a status."""
    for k, (world, _) in enumerate(seeds):
        truth = Unknown(belief.draw(int(world)).compiled())
        part = slice(k, k + 1)
        status = int(play(setup_of(problem), truth, (side, side), 1, seeds[part], values[part], stop))
        assert status != IMPOSSIBLE, "a world that was drawn from a belief is possible"
        if status != DONE:
            return status
    return DONE


def not_finite() -> GumdpError:
    """The error for an objective that is NaN or infinite in the middle of a search."""
    return GumdpError(
        "the objective is not finite at an occupancy that the search met; it must be finite at every occupancy."
    )
