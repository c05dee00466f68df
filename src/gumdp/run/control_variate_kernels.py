"""How lucky a trial was: the sum of what each stroke of chance changed, as Jensen's bound sees it."""

from __future__ import annotations

from gumdp.average.rest_kernels import tighten
from gumdp.jit.record import kernel, part
from gumdp.models.chain import copy

MANY = 64  # outcomes beyond which it does not pay to look at all of them


@part
def worth_after(tangent, task, t, s, o, workspace, slope, constant, rules):
    """Jensen's bound at (s, o, t), found from the tangent that is given, whatever was found before."""
    copy(slope, workspace.slope)
    workspace.constant[0] = constant
    return tighten(tangent, task, t, s, o, workspace, rules.rounds, rules.tolerance, rules.smoothing * task.open[t])


@kernel
def stroke(tangent, task, t, outcomes, chances, first, end, came, o, slope, constant, workspace, rules):
    """V(came) - E[V] at step ``t`` over the outcomes ``first`` … ``end``; the workspace keeps the tangent of came."""
    mean, rest = 0.0, 1.0
    for j in range(first, end):
        if outcomes[j] != came:
            mean += chances[j] * worth_after(tangent, task, t, outcomes[j], o, workspace, slope, constant, rules)
            rest -= chances[j]
    value = worth_after(tangent, task, t, came, o, workspace, slope, constant, rules)
    return value - (mean + rest * value)


@kernel
def luck(tangent, task, states, actions, o, slope, workspace, rules, steps):
    """Σ_t V(s_{t+1}) - E[V(s_{t+1}) | the history so far] over the first ``steps`` steps of a trial.

    V is any function of the history: here, what ``tighten`` finds from the tangent of the history before. Each
    summand has mean 0 whatever the policy does, so the sum can be taken off the value of a trial without changing its
    mean; and it is most of what makes values differ. ``o`` and ``slope`` are scratch; ``workspace`` has the root's.
    """
    chain, total = task.chain, 0.0
    o[:] = 0.0
    for t in range(min(steps, actions.size)):
        fresh = t % task.horizon == 0
        r = states[t - 1] * chain.actions + actions[t - 1] if t > 0 else 0
        outcomes = chain.start_states if fresh else chain.successors
        chances = chain.start_probabilities if fresh else chain.probabilities
        first = 0 if fresh else chain.offsets[r]
        end = chain.start_states.size if fresh else chain.offsets[r + 1]
        if 1 < end - first <= MANY:
            copy(workspace.slope, slope)
            constant = workspace.constant[0]
            total += stroke(
                tangent, task, t, outcomes, chances, first, end, states[t], o, slope, constant, workspace, rules
            )
        o[states[t] * chain.actions + actions[t]] += task.weights[t]
    return total
