"""The bound by information relaxation, from samples: see ``gumdp.bounds.relaxation_kernels``."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from gumdp.average.rest import ConvexSetup
from gumdp.average.rest_kernels import new_workspace
from gumdp.bounds.intervals import bernstein_margin
from gumdp.bounds.relaxation_kernels import Oracle, Penalised, clairvoyant, foresee
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array
from gumdp.seeding import streams

PILOT = 100  # draws of chance that only settle where outcomes are cut off
ROUNDS = 10
MEMORY = 1 << 30  # bytes that the costs to go may take


class Sampled(NamedTuple):
    """A bound that holds with a confidence."""

    value: float
    mean: float
    samples: int


def applies(tools: ConvexSetup) -> bool:
    """Whether there is any chance in the problem, and memory for the costs to go at every step."""
    cells = tools.problem.shape[0] * tools.problem.shape[1]
    chance = tools.model.probabilities.size > np.count_nonzero(np.diff(tools.model.offsets))
    return bool(chance or tools.model.start_states.size > 1) and 12 * cells * tools.problem.steps <= MEMORY


def clairvoyant_bound(
    tools: ConvexSetup, constant: float, slope: Array, level: float, seconds: float, seed: int, most: int
) -> Sampled | None:
    """A lower bound on the best possible value that is right with probability ``level``.

    None if there is no time for a useful number of samples.

    ``constant`` and ``slope`` are the tangent of Jensen's bound at the root. No outcome is below that bound, and
    cutting outcomes off above lowers their mean: so they are bounded, and the empirical Bernstein inequality
    (Maurer and Pontil 2009) holds for them, for any number of samples and without assumptions.
    """
    sampler = Sampler(tools, constant, slope, seed)
    sampler.draw(1)
    began = time.perf_counter()
    sampler.draw(3)
    each = (time.perf_counter() - began) / 3.0
    count = min(most, int(seconds / max(each, 1e-9)) - PILOT)
    if count < PILOT:
        return None
    pilot = sampler.draw(PILOT)
    cap = sampler.floor + 3.0 * max(float(pilot.max()) - sampler.floor, 1e-12)
    outcomes = np.minimum(sampler.draw(count), cap)
    width = cap - sampler.floor
    mean = float(outcomes.mean())
    margin = bernstein_margin(outcomes, width, 1.0 - level) + tools.margin(abs(constant), float(np.abs(slope).max()))
    return Sampled(max(mean - margin, sampler.floor), mean, count)


class Sampler:
    """Draws of chance, and what a clairvoyant makes of each."""

    def __init__(self, tools: ConvexSetup, constant: float, slope: Array, seed: int) -> None:
        (states, actions), steps = tools.problem.shape, tools.problem.steps
        cells = states * actions
        self.tools, self.constant, self.slope = tools, constant, np.ascontiguousarray(slope.ravel())
        self.oracle = Oracle(
            values=np.zeros((steps + 1, states)),
            means=np.zeros((steps, cells)),
            begin=np.zeros(1),
            next=np.zeros((steps, cells), np.int32),
            starts=np.zeros(tools.problem.episodes, np.int32),
        )
        foresee(tools.task, self.slope, self.oracle)
        self.record = Penalised(tools.tangents.record, cells)
        self.workspace = new_workspace((states, actions), steps)
        wide = new_workspace((1, cells + 1), 1)
        self.workspace = self.workspace._replace(**{k: getattr(wide, k) for k in ("g", "x", "y", "way", "corners")})
        self.rng = streams(seed)[0, 0]
        rounded = tools.margin(abs(constant), float(np.abs(slope).max()))
        self.floor = constant + float(self.oracle.begin[0]) - rounded  # no outcome is below

    def draw(self, count: int) -> Array:
        """The outcomes of so many draws."""
        outcomes = np.empty(count)
        self.rng = clairvoyant(
            self.record, self.tools.task, self.oracle, self.workspace, self.constant, self.slope, ROUNDS,
            1e-5 * self.tools.scale, self.tools.smoothing(), np.uint64(self.rng), outcomes,
        )  # fmt: skip
        reraise()
        if not np.isfinite(outcomes).all():
            raise FloatingPointError("a clairvoyant's outcome is not finite")
        return np.maximum(outcomes, self.floor)
