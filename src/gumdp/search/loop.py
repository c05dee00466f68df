"""Monte-Carlo tree search in the occupancy MDP: select, grow, estimate, back up.

The loop knows none of the rules: each is a small record whose verbs are compiled into it.

==============  ==============================================
``select``       ``gumdp.search.select``: which action to try
``outcome``      ``gumdp.search.outcome``: which chance it meets
``leaf``         ``gumdp.search.leaf``: what a leaf is worth
``backup``       ``gumdp.search.backup``: what edges learn of it
``choice``       ``gumdp.search.choose``: which action to take
==============  ==============================================

Browne and others (2012), "A survey of Monte Carlo tree search methods".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import recall, visit
from gumdp.jit.random import advance, high, low, mix
from gumdp.jit.record import kernel, record, u64
from gumdp.policies.play import DONE, NOT_A_NUMBER, STOPPED
from gumdp.search.backup import note_return
from gumdp.search.tree import Workspace, clear, find, forget, grow, make_room, reroot


class Rules(NamedTuple):
    """The parts that a search is made of."""

    select: Any
    outcome: Any
    leaf: Any
    backup: Any
    choice: Any


@kernel
def search(setup, workspace, rules, root, t0, iterations, rng, stop):
    """Run ``iterations`` iterations from state ``root`` at step ``t0``.

    A tree that is full grows no more, but still learns. Returns a status and the generator's state.
    """
    model, objective, weights, horizon = setup
    running, tree, _ = workspace
    actions, end = u64(tree.squares.size), rules.leaf.final(u64(weights.size), t0)
    first_pause = t0 - t0 % horizon + horizon
    tracking = rules.leaf.tracks()
    if tree.size[0] == 1:
        tree.phase[0] = low(mix(rng))
    if tree.seen[0] == 0.0:
        rules.leaf.prepare(setup, workspace, root, t0)
        rules.select.ready(setup, workspace, root, iterations)
    for _ in range(iterations):
        if stop[0] != 0:
            return STOPPED, rng
        s = model.restore(root)
        t, pause, node, depth, length = t0, first_pause, u64(0), u64(0), u64(0)
        if tracking and objective.tracks():
            recall(running)
        width = rules.select.width(tree)
        chance = rng
        while t < end:
            chance = advance(chance)
            bits = mix(chance)
            a = rules.select.select(setup, workspace, node, depth, s, t, width, high(bits))
            edge = node * actions + a
            if depth == u64(0):
                chance = rules.outcome.chance(rng, chance, tree, a)
                bits = mix(chance)
            tree.edges[depth] = edge
            tree.nodes[depth] = node
            depth += u64(1)
            length = visit(objective, running, u64(model.cell(s)), a, weights[t], length, tracking)
            t += u64(1)
            if t == end:
                break
            if t == pause:
                chance = advance(chance)
                s = model.reset(mix(chance))
                pause += horizon
            else:
                s = model.step(s, a, rules.outcome.draw(tree, node, edge, bits))
            label = u64(model.key(s))
            child = find(tree, edge, label)
            if child < 0:
                grow(tree, edge, label, low(mix(bits)))
                break
            node = u64(child)
        tree.size[1] = max(tree.size[1], np.int64(depth))
        value, chance = rules.leaf.estimate(setup, workspace, s, (t0, t, end, pause), length, chance)
        if not np.isfinite(value):
            return NOT_A_NUMBER, rng
        rules.backup.back_up(workspace, depth, value)
        note_return(tree, value)
        rng = rules.outcome.onward(rng, chance)
    return DONE, rng


@record
class Search:
    """A search as the decider of whole trials: see ``gumdp.policies.play``."""

    rules: Any  # Rules
    iterations: int  # per decision
    reuse: bool  # keep the subtree of what happened
    trees: Any  # (Tree, Tree): they take turns
    side: Any  # int64 [1]: whose turn it is
    tables: Any  # Tables

    def simulates(self):
        return True

    def commence(self):
        clear(self.trees[self.side[0]])
        return 0

    def decide(self, setup, running, s, t, rng, stop):
        tree = self.trees[self.side[0]]
        make_room(tree, self.iterations)
        forget(tree)
        workspace = Workspace(running, tree, self.tables)
        status, rng = search(setup, workspace, self.rules, s, t, self.iterations, rng, stop)
        actions = tree.squares.size
        a = self.rules.choice.recommend(tree.visits[:actions], tree.mean[:actions]) if status == DONE else 0
        return status, self.rules.outcome.between(rng), u64(a)

    def happened(self, a, key):
        tree, spare = self.trees[self.side[0]], self.trees[1 - self.side[0]]
        if self.reuse:
            reroot(tree, spare, a, key)
            self.side[0] = 1 - self.side[0]
        else:
            clear(tree)
        return 0
