"""The search with one thing changed: kernels of the study, which the library itself can do without.

Whatever is not changed is the library's own code.
"""

from __future__ import annotations

import numba
import numpy as np
from candidate_parts import carry, choose, imagine, learn, line_up, outcome_of, survivor

from gumdp.counts.running import commit, recall, settle, worth
from gumdp.jit.random import advance, high, low, mix
from gumdp.jit.record import u64
from gumdp.policies.play import rollout, visit
from gumdp.search.loop import (
    DONE,
    GOLDEN,
    NOT_A_NUMBER,
    STOPPED,
    clear,
    find,
    forget,
    grow,
    make_room,
    recommend,
    reroot,
    spread,
    width_of,
)

# Compiled afresh in each process: the library's cache of compiled code knows its own files only.
compiled = numba.njit(nogil=True, _nrt=False)


@compiled
def explore(
    model, objective, actor, forecast, running, tree, tables, rules, change, notes, weights, horizon, root, t0,
    iterations, rng, stop,
):  # fmt: skip
    """Run ``iterations`` iterations, as ``gumdp.search.loop.search`` does but for the change.

    Sequential halving takes them for all that the decision has.
    """
    actions, end = u64(actor.actions), u64(weights.size)
    first_pause = t0 - t0 % horizon + horizon
    if tree.size[0] == 1:
        tree.phase[0] = low(mix(rng))
    if tree.seen[0] == 0.0:
        forecast.foresee(objective, running, root, t0)
        line_up(model, tree, change, model.restore(root), iterations)
    for _ in range(iterations):
        if stop[0] != 0:
            return STOPPED, rng
        s = model.restore(root)
        t, pause, node, depth, length = t0, first_pause, u64(0), u64(0), u64(0)
        if actor.tracks() and objective.tracks():
            recall(running)
        width, chance = width_of(tree, rules), rng
        while t < end:
            chance = advance(chance)
            bits = mix(chance)
            a = choose(
                model, objective, actor, running, tree, tables, rules, change, notes, node, depth, s, weights[t],
                width * change.stakes[t], iterations, high(bits),
            )  # fmt: skip
            edge = node * actions + a
            if rules.paired and depth == u64(0):
                chance = spread(rng, u64(tree.fresh[a]))
                bits = mix(chance)
            tree.edges[depth], tree.nodes[depth] = edge, node
            depth += u64(1)
            length = visit(objective, actor, running, u64(model.cell(s)), a, weights[t], length)
            t += u64(1)
            if t == end:
                break
            if t == pause:
                chance = advance(chance)
                s = model.reset(mix(chance))
                pause += horizon
            else:
                draw = u64(tree.phase[node]) + outcome_of(tree.visits[edge], change.widen) * u64(GOLDEN)
                s = model.step(s, a, low(draw) if rules.even else bits)
            label = u64(model.key(s))
            child = find(tree, edge, label)
            if child < 0:
                grow(tree, edge, label, low(mix(bits)))
                break
            node = u64(child)
        tree.size[1] = max(tree.size[1], np.int64(depth))
        expected = forecast.expect(objective, running, weights, t0, s, t, length)
        if change.average and t < end:
            length = imagine(running, change.future, t, u64(model.cell(s)), actions)
        else:
            length, chance = rollout(model, objective, actor, running, weights, horizon, s, t, pause, length, chance)
        value, changed = settle(objective, running, length)
        if not np.isfinite(value):
            return NOT_A_NUMBER, rng
        learn(tree, tables, notes, change.share, depth, forecast.adjust(running, changed, expected, value))
        rng = rng if rules.paired else chance
    return DONE, rng


@compiled
def carry_over(tree, spare, action, label, change, notes, others):
    """``candidate_parts.carry``, for decisions that are made one at a time."""
    carry(tree, spare, action, label, change, notes, others)


@compiled
def plan_changed(
    model, objective, actor, forecast, running, tree, spare, tables, rules, change, weights, horizon, iterations, seeds,
    stop,
):  # fmt: skip
    """Play one trial, as ``gumdp.search.loop.plan_trial`` does but for the change."""
    world, rng = u64(seeds[0]), u64(seeds[1])
    actions, horizon = u64(actor.actions), u64(horizon)
    notes, others = change.notes, change.spare
    s = model.restore(model.reset(mix(world)))
    end = u64(weights.size)
    clear(tree)
    t = u64(0)
    while t < end:
        make_room(tree, iterations)
        forget(tree)
        last = max(u64(change.cut), t + u64(1))
        status, rng = explore(
            model, objective, actor, forecast, running, tree, tables, rules, change, notes, weights[:last],
            min(horizon, last), s, t, iterations, rng, stop,
        )  # fmt: skip
        if status != DONE:
            return status, np.nan
        rng = advance(rng) if rules.paired else rng
        if change.halving:
            a = survivor(tree, change)
        else:
            a = recommend(tree.visits[:actions], tree.mean[:actions], rules.by_value)
        commit(objective, running, model.cell(s), a, actions, weights[t])
        world = advance(world)
        s = model.step(model.restore(s), u64(a), mix(world))
        t += u64(1)
        if t < end and t % horizon == u64(0):
            world = advance(world)
            s = model.restore(model.reset(mix(world)))
        if rules.reuse:
            key = u64(model.key(s))
            reroot(tree, spare, a, key)
            carry(tree, spare, a, key, change, notes, others)
            tree, spare, notes, others = spare, tree, others, notes
        else:
            clear(tree)
    return DONE, worth(objective, running)
