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
from gumdp.jit.cells import cells
from gumdp.jit.random import advance, high, low, mix
from gumdp.jit.record import kernel, part, record, shared, u64
from gumdp.policies.play import DONE, NOT_A_NUMBER, STOPPED, draw_ahead, rollout, rollout_both, widened
from gumdp.search.backup import close_edge, note_return
from gumdp.search.choose import recommended
from gumdp.search.outcome import spread
from gumdp.search.tree import Workspace, clear, find, forget, grow, look_at, make_room, reroot

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


class Task(NamedTuple):
    """What the search of one trial has to do."""

    root: Any  # the state to decide in
    rng: Any  # uint64: the generator
    left: Any  # int64: iterations; negative: it is over


class Simulation(NamedTuple):
    """One that has left the tree."""

    s: Any  # the state it has come to
    t: Any  # uint64: the step there,
    pause: Any  # uint64: and that at which the next episode begins
    depth: Any  # uint64: edges in the tree
    length: Any  # uint64: entries of its path
    leaf: Any  # int64: the node that was added, or -1
    chance: Any  # uint64: the generator afterwards
    expected: Any  # float64: see ``gumdp.search.leaf``
    varied: Any  # bool: whether it varies a plan


@shared
def search(setup, trials, tasks, number, t0, stop):
    """Do the tasks of the first ``number`` trials, all at step ``t0``; return a status.

    An iteration goes down the tree, simulates the rest, and backs up what that is worth. Each trial is searched as if
    it were alone, to the last bit. But the simulations of two trials go on side by side, step by step: a step has to
    wait for the one before it, and the processor has something else to do meanwhile.

    A tree that is full grows no more, but still learns. A search whose root is closed is over.
    """
    end = trials.decider.rules.leaf[0].final(u64(setup.weights.size), t0)
    for k in range(number):
        if tasks.left[k] >= 0:
            get_ready(setup, workspace_of(trials, k), trials.decider.rules[k], tasks[k], t0)
    none = u64(0)
    s = widened(setup.model, tasks.root[0], False)
    nowhere = Simulation(s, none, none, none, none, np.int64(-1), none, 0.0, False)
    simulations, lengths = cells((nowhere, nowhere)), cells((none, none))
    while True:
        if stop[0] != 0:
            return STOPPED
        under_way = np.int64(0)
        for k in range(number):
            if tasks.left[k] > 0 and is_open(trials, k):
                simulations[k] = descend(setup, workspace_of(trials, k), trials.decider.rules[k], tasks[k], t0, end)
                lengths[k] = simulations.length[k]
                under_way |= 1 << k
        if under_way == 0:
            return DONE
        if trials.decider.rules.leaf[0].goes_on():
            simulate(setup, trials, simulations, lengths, under_way, end)
        for k in range(number):
            if under_way & (1 << k):
                workspace, rules, rng = workspace_of(trials, k), trials.decider.rules[k], tasks.rng[k]
                status, rng = conclude(setup, workspace, rules, simulations[k], lengths[k], rng, t0, end)
                if status != DONE:
                    return status
                tasks.rng[k] = rng
                tasks.left[k] = tasks.left[k] - 1


@part
def workspace_of(trials, k):
    """What the search of the k-th trial changes as it goes."""
    return Workspace(trials.running[k], trials.decider.tree[k], trials.decider.tables[k])


@part
def get_ready(setup, workspace, rules, task, t0):
    """A search begins, or goes on."""
    tree = workspace.tree
    tree.label[0] = u64(setup.model.key(task.root))
    if tree.size[0] == 1:
        tree.phase[0] = low(mix(task.rng))
    if tree.seen[0] == 0.0:
        rules.leaf.prepare(setup, workspace, task.root, t0)
        rules.select.ready(setup, workspace, task.root, task.left)


@part
def is_open(trials, k):
    """Whether the search of the k-th trial has anything left to find out."""
    closed, incumbent = trials.decider.tree.closed[k], trials.decider.rules.incumbent[k]
    if closed[0] == 0 and incumbent.least() <= trials.decider.rules.floor[k]:
        close_root(trials.decider.tree[k], incumbent)
    return closed[0] == 0


@part
def descend(setup, workspace, rules, task, t0, end):
    """Go down the tree to where it ends, and add a node there."""
    model, objective, weights, horizon = setup
    running, tree, _ = workspace
    rng, actions = task.rng, u64(tree.squares.size)
    tracking, lists, late = rules.leaf.tracks(), rules.known.lists(), running.counts.is_late()
    final = late and rules.known.lists_last()
    tree.size[2] += 1
    s = widened(model, model.restore(task.root), False)
    t, pause, node, depth, length = t0, t0 - t0 % horizon + horizon, u64(0), u64(0), u64(0)
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
        look_at(tree, node)
    tree.size[1] = max(tree.size[1], np.int64(depth))
    expected = rules.leaf.depart(setup, workspace, s, (t0, t, end, pause), length)
    if rules.leaf.goes_on():
        chance = draw_ahead(running.draws, chance, t, end, pause, horizon)
    return Simulation(s, t, pause, depth, length, leaf, chance, expected, varied)


@part
def simulate(setup, trials, simulations, lengths, under_way, end):
    """Play the simulations that are under way to the end: the one that is behind alone, then both side by side."""
    both, k = under_way == 3, under_way - 1
    if both:
        k = 0 if simulations.t[0] <= simulations.t[1] else 1
    until, start = simulations.t[1 - k] if both else end, simulations[k]
    policy, running = trials.decider.rules.leaf[k].guide(), trials.running[k]
    s, length, pause = rollout(setup, policy, running, start.s, start.length, start.t, until, end, start.pause)
    if both:
        other = 1 - k
        with_it = trials.decider.rules.leaf[other].guide(), trials.running[other], simulations.s[other]
        one, two = (policy, running, s, length), (*with_it, simulations.length[other])
        length, lengths[other] = rollout_both(setup, one, two, until, end, pause)
    lengths[k] = length


@part
def conclude(setup, workspace, rules, one, length, rng, t0, end):
    """Learn from a simulation that has come to its end; a status, and the generator of the next iteration."""
    value = rules.leaf.score(setup, workspace, (t0, one.t, end, one.pause), length, one.expected)
    if not np.isfinite(value):
        return NOT_A_NUMBER, rng
    if one.varied:
        return DONE, rng
    rules.backup.back_up(setup, workspace, t0, one.depth, one.leaf, value)
    note_return(workspace.tree, value - rules.leaf.luck_of(one.depth))
    return DONE, rules.outcome.onward(rng, one.chance)


@kernel
def search_once(setup, trial, root, t0, iterations, rng, stop):
    """``search`` of one trial, for calls from Python: a status, and the generator afterwards."""
    task = Task(root, u64(rng), np.int64(iterations))
    tasks = cells((task, task))
    status = search(setup, cells((trial, trial)), tasks, 1, u64(t0), stop)
    return status, tasks.rng[0]


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
    tree: Any  # Tree
    spare: Any  # another one, to copy the part that is kept into
    tables: Any  # Tables

    def simulates(self):
        return True

    def commence(self, trials, k):
        clear(trials.decider.tree[k])
        trials.decider.rules.incumbent[k].drop()
        trials.decider.left[k][0] = self.trial
        return 0

    def decide(self, setup, trials, points, number, t, stop):
        task, none = Task(points.s[0], u64(0), np.int64(0)), np.int64(0)
        tasks, counts = cells((task, task)), cells((none, none))
        portions = 1 if self.iterations > 0 else PORTIONS
        for k in range(number):
            tree, count = trials.decider.tree[k], np.int64(self.iterations)
            if count == 0:
                count = share_of(trials.decider.left[k][0], self.shares[t])
            make_room(tree, count)
            forget(tree)
            tasks[k] = Task(points.s[k], points.rng[k], none)
            counts[k] = count
        for p in range(portions):
            for k in range(number):
                if tasks.left[k] >= 0:
                    tasks.left[k] = (counts[k] - trials.decider.tree.size[k][2]) // (portions - p)
            status = search(setup, trials, tasks, number, t, stop)
            if status != DONE:
                return status
            for k in range(number):
                tree = trials.decider.tree[k]
                if is_settled(tree, self.settles, counts[k] - tree.size[2]):
                    tasks.left[k] = np.int64(-1)
        for k in range(number):
            tree, rules = trials.decider.tree[k], trials.decider.rules[k]
            trials.decider.left[k][0] -= tree.size[2]
            points.rng[k] = rules.outcome.between(tasks.rng[k])
            points.action[k] = u64(recommended(rules, tree))
        return DONE

    def happened(self, trials, k, a, key):
        trials.decider.rules.incumbent[k].carry(a)
        tree = trials.decider.tree[k]
        if self.reuse:
            spare = trials.decider.spare[k]
            reroot(tree, spare, a, key)
            trials.decider.tree[k] = spare
            trials.decider.spare[k] = tree
        else:
            clear(tree)
        return 0
