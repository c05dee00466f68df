"""Leaves: what a simulation is worth once it has left the tree.

A leaf value answers

=================================================  ====================================================================
``prepare(setup, workspace, root, t0)``             a decision begins
``final(steps, t0)``                                the step before which its simulations end, of ``steps`` in all
``foresee(running, s, a, t, depth)``                in the tree, action ``a`` is to be taken in ``s`` at step ``t``
``look_back(running, s, t, depth)``                 and has led to ``s``, before step ``t``
``luck_of(depth)``                                  how much of the return so many steps in the tree owe to luck
``tracks()``                                        whether the statistics of the running occupancy are to be followed
``depart(setup, workspace, s, span, length)``       a simulation leaves the tree in state ``s`` with ``length`` entries
                                                   on its path; ``span`` = (t0, t, end, pause): the steps of the
                                                   decision, of the leaf, of the end, and at which the next episode
                                                   begins. Returns a number to remember until it is scored
``goes_on()``                                       whether it then goes on to the end,
``guide()``                                         and by which policy
``score(setup, workspace, span, length, number)``   what it is worth then. The running occupancy is that of the root
                                                   again.
=================================================  ====================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gumdp.counts.running import settle
from gumdp.jit.record import part, record, u64
from gumdp.problem import Problem
from gumdp.search.control_variate_kernels import Unfollowed


@record
class Rollout:
    """A rollout to the end by a policy, less what a control variate knows to be luck."""

    policy: Any  # see ``gumdp.policies.rollout``
    control: Any  # see ``gumdp.search.control_variate_kernels``
    incumbent: Any  # see ``gumdp.search.incumbent``

    def prepare(self, setup, workspace, root, t0):
        return self.control.prepare(setup, workspace.running, root, t0)

    def final(self, steps, t0):
        return steps

    def tracks(self):
        return self.policy.tracks()

    def foresee(self, running, s, a, t, depth):
        return self.control.foresee(running, s, a, t, depth)

    def look_back(self, running, s, t, depth):
        return self.control.look_back(running, s, t, depth)

    def luck_of(self, depth):
        return self.control.luck_of(depth)

    def depart(self, setup, workspace, s, span, length):
        t0, t, _, _ = span
        self.incumbent.record_from(t - t0)
        return self.control.expectation(setup.objective, workspace.running, setup.weights, t0, s, t, length)

    def goes_on(self):
        return True

    def guide(self):
        return self.policy

    def score(self, setup, workspace, span, length, expected):
        running = workspace.running
        t0, t, end, _ = span
        value, changed = settle(setup.objective, running, length)
        self.incumbent.keep(workspace.tree, t - t0, end - t0, value)
        if t == end or self.incumbent.varying():  # nothing was left to luck
            return value
        return self.control.adjust(setup, running, span, changed, expected, value)


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

    def foresee(self, running, s, a, t, depth):
        return self.inner.foresee(running, s, a, t, depth)

    def look_back(self, running, s, t, depth):
        return self.inner.look_back(running, s, t, depth)

    def luck_of(self, depth):
        return self.inner.luck_of(depth)

    def depart(self, setup, workspace, s, span, length):
        return self.inner.depart(setup, workspace, s, span, length)

    def goes_on(self):
        return self.inner.goes_on()

    def guide(self):
        return self.inner.guide()

    def score(self, setup, workspace, span, length, number):
        return self.inner.score(setup, workspace, span, length, number)


@record
class Ahead(Unfollowed):
    """A rollout that ends ``depth`` steps after the decision, as if the rest of the run went on as it went so far.

    The occupancy is scaled up to the mass that it will have at the end. Of a cost that adds up that is the mean cost so
    far; of an entropy, how even the run has been. No simulation sees what only a longer one shows: values are biased,
    and no number of iterations mends that.
    """

    policy: Any  # see ``gumdp.policies.rollout``
    depth: int
    reach: Any  # float64 [steps + 1]: the weights of the steps before each, summed
    scaled: Any  # float64 [entries, or none]: scratch

    def prepare(self, setup, workspace, root, t0):
        return 0

    def final(self, steps, t0):
        return min(steps, t0 + u64(self.depth))

    def tracks(self):
        return self.policy.tracks()

    def depart(self, setup, workspace, s, span, length):
        return 0.0

    def goes_on(self):
        return True

    def guide(self):
        return self.policy

    def score(self, setup, workspace, span, length, number):
        objective, running, end = setup.objective, workspace.running, span[2]
        forecast, last = 0.0, u64(self.reach.size - 1)
        if end < last:
            forecast = value_of_multiple(objective, running, self.reach[last] / self.reach[end], self.scaled)
        value, _ = settle(objective, running, length)
        if end < last:
            value = forecast
        return value


def ahead(problem: Problem, policy: Any, depth: int) -> Ahead:
    """The leaf value of simulations of ``depth`` steps."""
    entries = problem.running().d.size if problem.record.dense() else 0
    return Ahead(policy, depth, np.append(0.0, np.cumsum(problem.weights)), np.zeros(entries))


@part
def value_of_multiple(objective, running, factor, scaled):
    """The objective at ``factor`` times the running occupancy."""
    d = running.d
    if objective.dense():
        for i in range(d.size):
            scaled[i] = factor * d[i]
        return objective.value(scaled)
    for m in range(objective.count()):
        z = running.z_empty[m]
        for i in range(d.size):
            if d[i] != 0.0:
                name = running.counts.name_of(u64(i))
                z += objective.term(m, name, factor * d[i]) - objective.term(m, name, 0.0)
        running.z[m] = z
    return objective.combine(running.z, 0)
