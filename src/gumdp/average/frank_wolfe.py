"""Frank–Wolfe with fully corrective steps: the cheapest plans, mixed in the best shares."""

from __future__ import annotations

import time

import numpy as np

from gumdp.average.gap import Certifier
from gumdp.average.mirror import SMOOTHINGS
from gumdp.average.point import Point, Progress
from gumdp.average.polytope import Corner, Plan, Stationary, Truncated
from gumdp.average.rest_kernels import new_workspace, share_out
from gumdp.average.tangents import Tangents
from gumdp.jit.callback import reraise
from gumdp.objectives.base import Array

CORNERS = 200


def frank_wolfe(
    tangents: Tangents,
    polytope: Stationary | Truncated,
    policy: Array,
    *,
    tolerance: float,
    iterations: int,
    deadline: float,
    progress: Progress | None = None,
) -> Point:
    """Lower f over mixtures of deterministic plans, adding the plan that is cheapest under the gradient.

    After each new plan pairs of plans exchange shares until that gains nothing (pairwise steps). Objectives with
    kinks are smoothed, less and less. The linear oracle's gap comes with every iteration.
    """
    mix = Mixture(tangents, polytope, policy)
    gap = np.inf
    for done in range(1, iterations + 1):
        corner = mix.look()
        gap = mix.best.value - mix.certifier.bound if tangents.objective.convex else np.nan
        if progress:
            progress(done, mix.best.value, gap)
        if gap <= tolerance or time.perf_counter() > deadline:
            break
        if mix.near < 0.05 * gap and mix.sharpen():  # what is left is the smoothing's
            continue
        if not mix.add(corner, tolerance) and not mix.sharpen():
            break
    return mix.best._replace(policy=mix.policy(), gap=gap, iterations=done)


class Mixture:
    """Plans with shares; their occupancy is the mean of theirs, weighted by the shares.

    The policy that makes a mixture is worked out once, at the end: it has a row for each step, state and action.
    """

    def __init__(self, tangents: Tangents, polytope: Stationary | Truncated, policy: Array) -> None:
        self.tangents, self.polytope = tangents, polytope
        self.certifier = Certifier(tangents, polytope)
        self.smoothings = list(SMOOTHINGS) if tangents.kinked else [0.0]
        self.near = np.inf  # how far the mixture is from the optimum of the smoothed objective, at most
        self.workspace = new_workspace(polytope.shape, 1, CORNERS)
        self.plans = [polytope.hold(policy)]
        self.chosen: tuple[Array, list[Plan]] | None = None  # of the best: shares, and plans
        occupancy = polytope.occupancy(policy)
        self.workspace.corners[0], self.workspace.shares[0], self.workspace.x[:] = (
            occupancy.ravel(),
            1.0,
            occupancy.ravel(),
        )
        self.best = Point(policy, occupancy, tangents.value(occupancy), np.nan, 0)

    @property
    def occupancy(self) -> Array:
        """The mixture's occupancy."""
        return np.array(self.workspace.x, dtype=np.float64).reshape(self.polytope.shape)

    def look(self) -> Corner:
        """The cheapest plan under the gradient, whose cost bounds f from below."""
        constant, slope = self.tangents.at(self.occupancy, self.smoothings[0])
        corner = self.polytope.cheapest(slope)
        self.near = float((slope * (self.occupancy - corner.occupancy)).sum())
        if self.tangents.objective.convex:
            self.certifier.note(constant, slope, corner)
        return corner

    def add(self, corner: Corner, tolerance: float) -> bool:
        """Mix the corner in. False when that changes nothing."""
        workspace, count = self.workspace, len(self.plans)
        if count == CORNERS:
            return False
        workspace.corners[count], workspace.shares[count] = corner.occupancy.ravel(), 0.0
        self.plans.append(self.polytope.hold(corner.plan))
        before = workspace.x.copy()
        kept = int(share_out(self.tangents.record, workspace, count + 1, 0.01 * tolerance, self.smoothings[0]))
        reraise()
        self.plans = [self.plans[k] for k in workspace.order[:kept]]
        value = self.tangents.value(self.occupancy)
        if value < self.best.value:
            self.best = Point(self.best.policy, self.occupancy, value, np.nan, 0)
            self.chosen = np.array(workspace.shares[:kept]), list(self.plans)
        return bool(np.abs(workspace.x - before).max() > 1e-15)

    def policy(self) -> Array:
        """The policy of the best mixture."""
        if self.chosen is None:
            return self.best.policy
        return self.polytope.mixed(*self.chosen)

    def sharpen(self) -> bool:
        """Smooth less, if that is possible."""
        if len(self.smoothings) == 1:
            return False
        self.smoothings.pop(0)
        return True
