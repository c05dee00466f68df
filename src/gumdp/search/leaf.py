"""Leaves: what a simulation is worth once it has left the tree.

A leaf value answers

=================================================  ====================================================================
``prepare(setup, workspace, root, t0)``             a decision begins
``final(steps, t0)``                                the step before which its simulations end, of ``steps`` in all
``tracks()``                                        whether the statistics of the running occupancy are to be followed
``estimate(setup, workspace, s, span, length, r)``  the value of a simulation that has come to state ``s`` and has
                                                   ``length`` entries on its path, and the generator ``r`` afterwards;
                                                   ``span`` = (t0, t, end, pause): the steps of the decision, of the
                                                   leaf, of the end, and at which the next episode begins. The
                                                   running occupancy is that of the root again.
=================================================  ====================================================================
"""

from __future__ import annotations

from typing import Any

from gumdp.counts.running import settle
from gumdp.jit.record import record, u64
from gumdp.policies.play import rollout


@record
class Rollout:
    """A rollout to the end by a policy, less what a control variate knows to be luck."""

    policy: Any  # see ``gumdp.policies.rollout``
    control: Any  # see ``gumdp.search.control_variate_kernels``

    def prepare(self, setup, workspace, root, t0):
        return self.control.prepare(setup.objective, workspace.running, root, t0)

    def final(self, steps, t0):
        return steps

    def tracks(self):
        return self.policy.tracks()

    def estimate(self, setup, workspace, s, span, length, rng):
        running = workspace.running
        t0, t, end, pause = span
        expected = self.control.expectation(setup.objective, running, setup.weights, t0, s, t, length)
        length, rng = rollout(setup, self.policy, running, s, t, end, pause, length, rng)
        value, changed = settle(setup.objective, running, length)
        return self.control.adjust(running, changed, expected, value), rng


@record
class Truncated:
    """Another leaf value, with simulations that end early: what comes after ``end`` is left out."""

    inner: Any
    end: int  # but never before the decision itself is scored

    def prepare(self, setup, workspace, root, t0):
        return self.inner.prepare(setup, workspace, root, t0)

    def final(self, steps, t0):
        return min(steps, max(u64(self.end), t0 + u64(1)))

    def tracks(self):
        return self.inner.tracks()

    def estimate(self, setup, workspace, s, span, length, rng):
        return self.inner.estimate(setup, workspace, s, span, length, rng)
