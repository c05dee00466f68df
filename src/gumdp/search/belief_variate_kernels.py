"""The control variate of rollouts in a world that is not known yet: see ``gumdp.search.control_variate_kernels``.

A simulation learns, so that nobody knows the moments of its rollouts in advance. But at each of its steps the belief
says how likely each outcome is. For any values of states, the value of the outcome less its mean under the belief at
that moment has mean 0 (a martingale difference): it is luck, whatever the values are. Here they are what the
mean of the belief leads to expect of a rollout, at prices that are the objective's slopes at the expected occupancy.
Henderson and Glynn (2002), "Approximating martingales for variance reduction in Markov process simulation".
"""

from __future__ import annotations

from typing import Any

from gumdp.jit.record import copy_to, part, record, u64
from gumdp.search.control_variate_kernels import Unfollowed, fade, lay, rate_of, without_luck

CLUSTER = 4.0  # visits of a cell that come together, about


@part
def fill(array, value):
    """Put ``value`` everywhere."""
    for i in range(array.size):
        array[i] = value


@part
def foresee_masses(control, setup, s, t):
    """Fill ``first`` and ``second``: the moments of what a rollout from ``s`` at ``t`` on adds to each cell, about."""
    model, weights, here, there = setup.model, setup.weights, control.here, control.there
    states, actions, pairs = u64(control.states), u64(control.actions), u64(control.prices.size)
    fill(control.first, 0.0)
    fill(here, 0.0)
    here[s] = 1.0
    left, squares = 0.0, 0.0
    while t < u64(weights.size):
        w, fresh = weights[t], (t + u64(1)) % u64(setup.horizon) == u64(0)
        left += w
        squares += w * w
        fill(there, 0.0)
        x = u64(0)
        while x < states:
            a = u64(0)
            while a < actions and here[x] > 0.0:
                row = x * actions + a
                mass = here[x] * control.policy[row]
                if mass > 0.0:
                    add_mass(control, row, mass * w)
                    add_mass(control, pairs + x, mass * w)
                    if not fresh:
                        model.scatter(row, mass, there)
                a += u64(1)
            if fresh:
                there[x] = control.begins[x]
            x += u64(1)
        copy_to(here, there, states)
        t += u64(1)
    for i in range(control.cells):
        mean = control.first[i]
        control.second[i] = mean * (mean + CLUSTER * squares / left)


@part
def add_mass(control, cell, mass):
    """Cell ``cell`` is expected to get ``mass`` more, if the objective looks at it."""
    if u64(control.start) <= cell < u64(control.start + control.cells):
        control.first[cell - u64(control.start)] += mass


@part
def slope_at(control, cell):
    """What a unit of mass more in ``cell`` costs."""
    if u64(control.start) <= cell < u64(control.start + control.cells):
        return control.slope[cell - u64(control.start)]
    return 0.0


@part
def set_prices(control, objective, running):
    """The price of each pair: the slope of quadratics along the objective, at the expected masses."""
    cells, pairs = u64(control.cells), u64(control.prices.size)
    fill(control.slope, 0.0)
    for m in range(objective.count()):
        lay(control, objective, running, u64(m), u64(0))
    for m in range(objective.count()):
        rate, at = rate_of(control, objective, running, u64(m)), u64(2) * u64(m) * cells
        i = u64(0)
        while i < cells:
            curve = control.pieces[at + cells + i]
            control.slope[i] += rate * (control.pieces[at + i] + 2.0 * curve * control.first[i])
            i += u64(1)
    row = u64(0)
    while row < pairs:
        control.prices[row] = slope_at(control, row) + slope_at(control, pairs + row // u64(control.actions))
        row += u64(1)


@part
def look_back_over(control, setup, t0):
    """Fill ``worth`` and ``after`` from step ``t0`` on: what a rollout costs on average, from a state, after a pair."""
    model, weights, worth = setup.model, setup.weights, control.worth
    states, actions, pairs = u64(control.states), u64(control.actions), u64(control.prices.size)
    t = u64(weights.size)
    x = u64(0)
    while x < states:
        worth[t * states + x] = 0.0
        x += u64(1)
    while t > t0:
        t -= u64(1)
        w, then, again = weights[t], (t + u64(1)) * states, 0.0
        fresh = (t + u64(1)) % u64(setup.horizon) == u64(0)
        x = u64(0)
        while x < states and fresh:
            again += control.begins[x] * worth[then + x]
            x += u64(1)
        x = u64(0)
        while x < states:
            sum, row = 0.0, x * actions
            while row < (x + u64(1)) * actions:
                if control.policy[row] > 0.0:
                    later = again if fresh else model.expect(row, worth, then)
                    control.after[t * pairs + row] = later
                    sum += control.policy[row] * (w * control.prices[row] + later)
                row += u64(1)
            worth[t * states + x] = sum
            x += u64(1)


@record
class BeliefControlVariate(Unfollowed):
    """What rollouts under a policy of the state alone are expected to cost, by the mean of the belief."""

    start: int  # the first cell that the objective looks at
    states: int
    actions: int
    cells: int  # how many it looks at; 0: nothing is known of these rollouts, in a search that may use others
    policy: Any  # float64 [S · A]
    begins: Any  # float64 [S]: where episodes begin
    first: Any  # float64 [cells]: expected masses of a rollout from the root
    second: Any  # float64 [cells]: means of their squares, about
    slope: Any  # float64 [cells]
    pieces: Any  # float64 [count · 2 · cells]: see ControlVariate
    swing: Any  # float64 [count]
    prices: Any  # float64 [S · A]
    worth: Any  # float64 [(steps + 1) · S]
    after: Any  # float64 [steps · S · A]
    here: Any  # float64 [S]: scratch
    there: Any  # float64 [S]: scratch
    fit: Any  # float64 [8]: see without_luck

    def prepare(self, setup, running, s, t):
        if self.cells == 0:
            return 0
        setup.model.restore(s)
        foresee_masses(self, setup, s, t)
        set_prices(self, setup.objective, running)
        look_back_over(self, setup, t)
        fade(self.fit, t)
        return 0

    def expectation(self, objective, running, weights, t0, s, t, length):
        return 0.0 if self.cells == 0 else self.worth[t * u64(self.states) + s]

    def adjust(self, setup, running, span, changed, expected, value):
        if self.cells == 0:
            return value
        t0, t, k, _ = span
        model, excess, step = setup.model, -expected, u64(running.counts.entries())
        states, pairs = u64(self.states), u64(self.prices.size)
        while k > t:
            k -= u64(1)
            row = u64(running.path[(k - t0) * step])
            excess += setup.weights[k] * self.prices[row]
            model.unstep()
            if (k + u64(1)) % u64(setup.horizon) != u64(0):
                excess -= model.expect(row, self.worth, (k + u64(1)) * states) - self.after[k * pairs + row]
        return without_luck(self.fit, excess, value)
