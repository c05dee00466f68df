"""Monte-Carlo tree search in the occupancy MDP: select, grow, estimate, back up.

The loop knows none of the rules: each is a small record whose verbs are compiled into it.

==============  ==============================================
``select``       ``gumdp.search.select``: which action to try
``outcome``      ``gumdp.search.outcome``: which chance it meets
``leaf``         ``gumdp.search.leaf``: what a leaf is worth
``backup``       ``gumdp.search.backup``: what edges learn of it
``choice``       ``gumdp.search.choose``: which action to take
``known``        ``gumdp.search.known``: which outcomes there are
``incumbent``    ``gumdp.search.incumbent``: the best plans found
==============  ==============================================

Browne and others (2012), "A survey of Monte Carlo tree search methods".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import arrive, leave, recall
from gumdp.jit.random import advance, high, low, mix
from gumdp.jit.record import kernel, part, record, shared, u64
from gumdp.policies.play import DONE, NOT_A_NUMBER, STOPPED
from gumdp.search.backup import close_edge, note_return
from gumdp.search.choose import recommended
from gumdp.search.outcome import spread
from gumdp.search.tree import Workspace, clear, find, forget, grow, make_room, reroot

PORTIONS = 8  # a decision that may end early looks up so often


class Rules(NamedTuple):
    """The parts that a search is made of."""

    select: Any
    outcome: Any
    leaf: Any
    backup: Any
    choice: Any
    known: Any
    incumbent: Any
    floor: Any  # float64: no trial is worth less


@shared
def search(setup, workspace, rules, root, t0, iterations, rng, stop):
    """Run ``iterations`` iterations from state ``root`` at step ``t0``.

    A tree that is full grows no more, but still learns. A search whose root is closed is over. Returns a status and the
    generator's state.
    """
    model, objective, weights, horizon = setup
    running, tree, _ = workspace
    actions, end = u64(tree.squares.size), rules.leaf.final(u64(weights.size), t0)
    first_pause = t0 - t0 % horizon + horizon
    tracking, lists, late = rules.leaf.tracks(), rules.known.lists(), running.counts.is_late()
    final = late and rules.known.lists_last()
    tree.label[0] = u64(model.key(root))
    if tree.size[0] == 1:
        tree.phase[0] = low(mix(rng))
    if tree.seen[0] == 0.0:
        rules.leaf.prepare(setup, workspace, root, t0)
        rules.select.ready(setup, workspace, root, iterations)
    for _ in range(iterations):
        if stop[0] != 0:
            return STOPPED, rng
        if tree.closed[0] != 0:
            break
        if rules.incumbent.least() <= rules.floor:
            close_root(tree, rules.incumbent)
            break
        tree.size[2] += 1
        s = model.restore(root)
        t, pause, node, depth, length = t0, first_pause, u64(0), u64(0), u64(0)
        leaf = np.int64(-1)
        if tracking and objective.tracks():
            recall(running)
        width = rules.select.width(tree)
        chance, varied = rng, rules.incumbent.due(tree, end - t0)
        if varied:
            chance = spread(mix(rng), u64(tree.size[2]))
            rules.incumbent.alter(t0, end, chance)
        while t < end and not varied:
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
            length = leave(objective, running, model, s, a, weights[t], length, tracking)
            t += u64(1)
            after = s
            if late:  # the last step of an episode leads somewhere too
                after = count_late(setup, workspace, rules, (node, edge, depth - u64(1)), s, a, t, bits, final)
            if t == end and not final:
                break
            if t == pause and not final:
                chance = advance(chance)
                s = model.reset(mix(chance))
                pause += horizon
            elif late:
                s = after
            else:
                s = model.step(s, a, rules.outcome.draw(tree, node, edge, bits))
            if lists and not final and tree.visits[edge] > 0:
                s = rules.known.another(tree, edge, (tree.label[node], a, t), s, low(mix(bits)))
            label = u64(model.key(s))
            child = find(tree, edge, label)
            if child < 0:
                leaf = grow(tree, edge, label, low(mix(bits)))
                break
            node = u64(child)
        tree.size[1] = max(tree.size[1], np.int64(depth))
        value, chance = rules.leaf.estimate(setup, workspace, s, (t0, t, end, pause), length, chance)
        if not np.isfinite(value):
            return NOT_A_NUMBER, rng
        if varied:
            continue
        rules.backup.back_up(setup, workspace, t0, depth, leaf, value)
        note_return(tree, value - rules.leaf.luck_of(depth))
        rng = rules.outcome.onward(rng, chance)
    return DONE, rng


@part
def count_late(setup, workspace, rules, at, s, a, t, bits, final):
    """Take action ``a`` in ``s``, the step before ``t``, and count what shows only after it; return where it led.

    ``at`` = (node, edge, depth); ``final``: whether outcomes that are closed are left out.
    """
    model, running, tree = setup.model, workspace.running, workspace.tree
    node, edge, depth = at
    draw = rules.outcome.draw(tree, node, edge, bits)
    after = model.step(s, a, draw)
    if final and tree.visits[edge] > 0:
        after = rules.known.another(tree, edge, (tree.label[node], a, t), after, low(mix(bits)))
    rules.leaf.foresee(running, s, a, t - u64(1), depth)
    arrive(running, model, s, a, after, draw, setup.weights[t - u64(1)])
    rules.leaf.look_back(running, after, t, depth)
    return after


@part
def share_of(left, share):
    """The iterations of a decision that gets this share of those that are left for the trial."""
    return np.int64(max(1.0, left * share + 0.5))


@part
def is_settled(tree, settles, left):
    """Whether all is known, or ``left`` more iterations can't change who has most visits, if that ``settles`` it."""
    first, second = 0, 0
    for a in range(tree.squares.size):
        n = tree.visits[a]
        if n > first:
            first, second = n, first
        elif n > second:
            second = n
    return tree.closed[0] != 0 or (settles and first - second > left)


@kernel
def is_settled_once(tree, settles, left):
    """``is_settled``, for calls from Python."""
    return is_settled(tree, settles, left)


@part
def close_root(tree, incumbent):
    """A plan has been found that none can beat: its first action is the best, for certain."""
    a, least = u64(0), incumbent.least()
    while a < u64(tree.squares.size):
        if incumbent.value_of(a) == least:
            tree.visits[a] += 1
            close_edge(tree, a, least)
        a += u64(1)
    tree.closed[0] = 1
    tree.worth[0] = least


@record
class Search:
    """A search as the decider of whole trials: see ``gumdp.policies.play``."""

    rules: Any  # Rules
    iterations: int  # per decision; 0: a share of those of the trial
    trial: int  # iterations of a trial
    shares: Any  # float64 [steps]: of what is left for the trial, see ``gumdp.search.budget``
    left: Any  # int64 [1]
    settles: bool  # whether a decision of such a trial is over when its visits can't change it
    reuse: bool  # keep the subtree of what happened
    trees: Any  # (Tree, Tree): they take turns
    side: Any  # int64 [1]: whose turn it is
    tables: Any  # Tables

    def simulates(self):
        return True

    def commence(self):
        clear(self.trees[self.side[0]])
        self.rules.incumbent.drop()
        self.left[0] = self.trial
        return 0

    def decide(self, setup, running, s, t, rng, stop):
        tree = self.trees[self.side[0]]
        count, portions = np.int64(self.iterations), 1
        if count == 0:
            count, portions = share_of(self.left[0], self.shares[t]), PORTIONS
        make_room(tree, count)
        forget(tree)
        workspace = Workspace(running, tree, self.tables)
        status = DONE
        for k in range(portions):
            part_of_it = (count - tree.size[2]) // (portions - k)
            status, rng = search(setup, workspace, self.rules, s, t, part_of_it, rng, stop)
            if status != DONE or is_settled(tree, self.settles, count - tree.size[2]):
                break
        self.left[0] -= tree.size[2]
        a = recommended(self.rules, tree) if status == DONE else 0
        return status, self.rules.outcome.between(rng), u64(a)

    def happened(self, a, key):
        self.rules.incumbent.carry(a)
        tree, spare = self.trees[self.side[0]], self.trees[1 - self.side[0]]
        if self.reuse:
            reroot(tree, spare, a, key)
            self.side[0] = 1 - self.side[0]
        else:
            clear(tree)
        return 0
