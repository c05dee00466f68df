"""Monte-Carlo tree search in the occupancy MDP: select, grow, roll out, settle, back up.

The tree is flat. A *node* is a state reached by a sequence of actions and outcomes, an *edge* is
(node, action) = node · A + action. A node holds links and counts, never an occupancy: the search keeps one
running occupancy, changes it going down, and ``settle`` restores it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gumdp.counts.running import commit, recall, settle, worth
from gumdp.jit.random import advance, below, high, low, mix
from gumdp.jit.record import allocating, kernel, part, u64
from gumdp.policies.play import rollout, visit
from gumdp.policies.rollout import cost_of

DONE, STOPPED, NOT_A_NUMBER = 0, 1, 2
GOLDEN = 0x9E3779B1  # 2³² over the golden ratio: its multiples fill the circle evenly


class Tree(NamedTuple):
    """A search tree of at most ``sibling.size`` nodes, 20 + 24·A bytes each; node 0 is the root."""

    child: Any  # int32 [nodes · A]: the oldest child under an edge, or -1
    visits: Any  # int32 [nodes · A]
    mean: Any  # float64 [nodes · A]: of the returns
    inverse_root: Any  # float64 [nodes · A]: 1/√visits
    sibling: Any  # int32 [nodes]: the next child of the same edge, or -1
    label: Any  # uint64 [nodes]: the key of the state
    phase: Any  # uint32 [nodes]: where the outcomes of its actions begin
    plays: Any  # int32 [nodes]: visits of all edges together
    fresh: Any  # int64 [A]: at the root, the returns of this decision's own iterations,
    sums: Any  # float64 [A]: the sum of (return - shift),
    squares: Any  # float64 [A]: and of (return - shift)²
    nodes: Any  # uint64 [steps]: the nodes that the current iteration passed
    edges: Any  # uint64 [steps]: and the edges it took there
    size: Any  # int64 [2]: nodes in use, deepest edge
    seen: Any  # float64 [4]: of those returns, how many there are, the first one, which is the shift, and all sums


class Tables(NamedTuple):
    """Functions of a visit count below ``inverse.size``, looked up instead of computed."""

    inverse: Any  # float64 [n]: 1/n
    inverse_root: Any  # float64 [n]: 1/√n
    root_log: Any  # float64 [n]: √log n


class Rules(NamedTuple):
    """What steers a search."""

    exploration: float
    scaled: bool  # multiply exploration by the standard deviation of the returns seen
    by_value: bool  # act by least mean instead of most visits
    reuse: bool  # keep the subtree of what happened
    paired: bool  # the n-th iterations of the root's actions meet the same chance
    even: bool  # in the tree, outcomes come in the proportions of their probabilities
    ordered: bool  # actions that never were tried come in the order of their marginal cost, if the actor tracks it


def new_tree(nodes: int, actions: int, steps: int) -> Tree:
    """An empty tree with room for ``nodes`` nodes."""
    tree = Tree(
        child=np.empty(nodes * actions, np.int32),
        visits=np.empty(nodes * actions, np.int32),
        mean=np.empty(nodes * actions),
        inverse_root=np.empty(nodes * actions),
        sibling=np.empty(nodes, np.int32),
        label=np.empty(nodes, np.uint64),
        phase=np.empty(nodes, np.uint32),
        plays=np.empty(nodes, np.int32),
        fresh=np.empty(actions, np.int64),
        sums=np.empty(actions),
        squares=np.empty(actions),
        nodes=np.empty(steps, np.uint64),
        edges=np.empty(steps, np.uint64),
        size=np.zeros(2, np.int64),
        seen=np.zeros(4),
    )
    clear(tree)
    return tree


def new_tables(n: int = 1 << 14) -> Tables:
    """Tables for counts below ``n``."""
    k = np.arange(n, dtype=np.float64)
    k[0] = 1.0
    return Tables(1.0 / k, 1.0 / np.sqrt(k), np.sqrt(np.log(k)))


@part
def add_node(tree, node, label, phase):
    """Make ``node`` a childless, unvisited node."""
    actions = u64(tree.squares.size)
    e = node * actions
    end = e + actions
    while e < end:
        tree.child[e] = -1
        tree.visits[e] = 0
        tree.mean[e] = 0.0
        tree.inverse_root[e] = 0.0
        e += u64(1)
    tree.sibling[node] = -1
    tree.label[node] = label
    tree.phase[node] = phase
    tree.plays[node] = 0


@part
def adopt(tree, edge, node):
    """Put ``node`` under ``edge``, behind its oldest child: likely outcomes come early and are found first."""
    oldest = tree.child[edge]
    if oldest < 0:
        tree.child[edge] = node
    else:
        tree.sibling[node] = tree.sibling[u64(oldest)]
        tree.sibling[u64(oldest)] = node


@part
def grow(tree, edge, label, phase):
    """Add a child to ``edge``, if there is room."""
    if tree.size[0] < tree.sibling.size:
        new = u64(tree.size[0])
        add_node(tree, new, label, phase)
        adopt(tree, edge, new)
        tree.size[0] += 1


@kernel
def clear(tree):
    """A tree of nothing but its root."""
    add_node(tree, u64(0), u64(0), u64(0))
    tree.size[0] = 1
    forget(tree)


@kernel
def forget(tree):
    """Forget what only the search of one decision needs."""
    tree.fresh[:] = 0
    tree.sums[:] = 0.0
    tree.squares[:] = 0.0
    tree.size[1] = 0
    tree.seen[:] = 0.0


@part
def inverse(tables, n):
    """1/n."""
    return tables.inverse[n] if n < u64(tables.inverse.size) else 1.0 / float(n)


@part
def inverse_root(tables, n):
    """1/√n."""
    return tables.inverse_root[n] if n < u64(tables.inverse.size) else 1.0 / math.sqrt(float(n))


@part
def root_log(tables, n):
    """√log n."""
    return tables.root_log[n] if n < u64(tables.inverse.size) else math.sqrt(math.log(float(n)))


@part
def untried(model, objective, actor, running, tree, rules, node, s, w, draw):
    """An action that was never tried, or ``actions``: the cheapest, or the first from a random place on."""
    actions = u64(tree.squares.size)
    first, cell = node * actions, u64(model.cell(s)) * actions
    a, best, lowest = below(draw, actions), actions, np.inf
    for _ in range(actions):
        if tree.visits[first + a] == 0 and model.allowed(s, a):
            if not (rules.ordered and actor.tracks()):
                return a
            cost = cost_of(objective, running.d, running.z, cell + a, w)
            if cost < lowest or best == actions:
                best, lowest = a, cost
        a += u64(1)
        if a == actions:
            a = u64(0)
    return best


@part
def select(model, objective, actor, running, tree, tables, rules, node, s, w, width, draw):
    """The action to try: one that never was; else the one of least lower confidence bound."""
    actions = u64(tree.squares.size)
    first = node * actions
    plays = u64(tree.plays[node])
    if plays < actions:
        a = untried(model, objective, actor, running, tree, rules, node, s, w, draw)
        if a < actions:
            return a
    bonus = width * root_log(tables, plays)
    best = u64(0)
    lowest = np.inf
    a = u64(0)
    while a < actions:
        if model.allowed(s, a):
            bound = tree.mean[first + a] - bonus * tree.inverse_root[first + a]
            if bound < lowest:
                lowest = bound
                best = a
        a += u64(1)
    return best


@part
def find(tree, edge, label):
    """The child of ``edge`` with this label, or -1."""
    node = tree.child[edge]
    while node >= 0 and tree.label[u64(node)] != label:
        node = tree.sibling[u64(node)]
    return node


@part
def back_up(tree, tables, depth, value):
    """Add a return to the edges of this iteration."""
    j = u64(0)
    while j < depth:
        e = u64(tree.edges[j])
        n = u64(tree.visits[e] + 1)
        tree.visits[e] = n
        tree.mean[e] += (value - tree.mean[e]) * inverse(tables, n)
        tree.inverse_root[e] = inverse_root(tables, n)
        tree.plays[u64(tree.nodes[j])] += 1
        j += u64(1)
    if tree.seen[0] == 0.0:
        tree.seen[1] = value
    a, excess = u64(tree.edges[0]), value - tree.seen[1]
    tree.fresh[a] += 1
    tree.sums[a] += excess
    tree.squares[a] += excess * excess
    tree.seen[0] += 1.0
    tree.seen[2] += excess
    tree.seen[3] += excess * excess


@part
def width_of(tree, rules):
    """The constant of the confidence bound; as long as all returns are equal there is nothing to scale it to."""
    n = tree.seen[0]
    if rules.scaled and n > 1.0:
        mean = tree.seen[2] / n
        deviation = math.sqrt(max(0.0, tree.seen[3] / n - mean * mean))
        if deviation > 0.0:
            return rules.exploration * deviation
    return rules.exploration


@kernel
def spread(rng, k):
    """The k-th of many independent generator states that come from one."""
    return mix(u64(rng) ^ mix(u64(k)))


@kernel
def search(
    model, objective, actor, forecast, running, tree, tables, rules, weights, horizon, root, t0, iterations, rng, stop
):
    """Run ``iterations`` iterations from state ``root`` at step ``t0``.

    A tree that is full grows no more, but still learns. Returns a status and the generator's state, which paired
    iterations leave as it was: whoever begins the next decision advances it.
    """
    actions = u64(actor.actions)
    end = u64(weights.size)
    first_pause = t0 - t0 % horizon + horizon
    if tree.size[0] == 1:
        tree.phase[0] = low(mix(rng))
    if tree.seen[0] == 0.0:
        forecast.foresee(objective, running, root, t0)
    for _ in range(iterations):
        if stop[0] != 0:
            return STOPPED, rng
        s = model.restore(root)
        t, pause, node, depth, length = t0, first_pause, u64(0), u64(0), u64(0)
        if actor.tracks() and objective.tracks():
            recall(running)
        width = width_of(tree, rules)
        chance = rng
        while t < end:
            chance = advance(chance)
            bits = mix(chance)
            a = select(model, objective, actor, running, tree, tables, rules, node, s, weights[t], width, high(bits))
            edge = node * actions + a
            if rules.paired and depth == u64(0):
                chance = spread(rng, u64(tree.fresh[a]))
                bits = mix(chance)
            tree.edges[depth] = edge
            tree.nodes[depth] = node
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
                draw = u64(tree.phase[node]) + u64(tree.visits[edge]) * u64(GOLDEN)
                s = model.step(s, a, low(draw) if rules.even else bits)
            label = u64(model.key(s))
            child = find(tree, edge, label)
            if child < 0:
                grow(tree, edge, label, low(mix(bits)))
                break
            node = u64(child)
        tree.size[1] = max(tree.size[1], np.int64(depth))
        expected = forecast.expect(objective, running, weights, t0, s, t, length)
        length, chance = rollout(model, objective, actor, running, weights, horizon, s, t, pause, length, chance)
        value, changed = settle(objective, running, length)
        if not np.isfinite(value):
            return NOT_A_NUMBER, rng
        back_up(tree, tables, depth, forecast.adjust(running, changed, expected, value))
        rng = rng if rules.paired else chance
    return DONE, rng


@kernel
def recommend(visits, mean, by_value):
    """The action to take: most visits (then least mean), or least mean (then most visits); then the first."""
    best = -1
    for a in range(visits.size):
        if visits[a] > 0:
            if best < 0:
                best = a
            elif by_value:
                if mean[a] < mean[best] or (mean[a] == mean[best] and visits[a] > visits[best]):
                    best = a
            elif visits[a] > visits[best] or (visits[a] == visits[best] and mean[a] < mean[best]):
                best = a
    return best


@allocating
def reroot(tree, spare, action, label):
    """Copy into ``spare`` the subtree below the root's ``action`` and the outcome ``label``, as its own tree.

    Breadth first: node ``k`` of the copy is node ``order[k]`` of the original.
    """
    actions = u64(tree.squares.size)
    clear(spare)
    start = find(tree, u64(action), u64(label))
    if start < 0:
        return
    order = np.empty(tree.size[0], np.int64)
    order[0] = start
    spare.phase[0] = tree.phase[start]
    size = u64(1)
    k = u64(0)
    while k < size:
        old = u64(order[k])
        spare.plays[k] = tree.plays[old]
        a = u64(0)
        while a < actions:
            mine, theirs = k * actions + a, old * actions + a
            spare.visits[mine] = tree.visits[theirs]
            spare.mean[mine] = tree.mean[theirs]
            spare.inverse_root[mine] = tree.inverse_root[theirs]
            spare.child[mine] = -1
            node = tree.child[theirs]
            while node >= 0:
                order[size] = node
                spare.label[size] = tree.label[u64(node)]
                spare.phase[size] = tree.phase[u64(node)]
                spare.sibling[size] = -1
                if spare.child[mine] < 0:
                    spare.child[mine] = size
                else:
                    spare.sibling[size - u64(1)] = size
                size += u64(1)
                node = tree.sibling[u64(node)]
            a += u64(1)
        k += u64(1)
    spare.size[0] = size


@allocating
def copy_tree(tree, larger):
    """Make ``larger`` hold what ``tree`` does."""
    n, edges = tree.size[0], tree.size[0] * tree.squares.size
    larger.child[:edges] = tree.child[:edges]
    larger.visits[:edges] = tree.visits[:edges]
    larger.mean[:edges] = tree.mean[:edges]
    larger.inverse_root[:edges] = tree.inverse_root[:edges]
    larger.sibling[:n] = tree.sibling[:n]
    larger.label[:n] = tree.label[:n]
    larger.phase[:n] = tree.phase[:n]
    larger.plays[:n] = tree.plays[:n]
    larger.fresh[:] = tree.fresh
    larger.sums[:] = tree.sums
    larger.squares[:] = tree.squares
    larger.size[:] = tree.size
    larger.seen[:] = tree.seen


@kernel
def make_room(tree, iterations):
    """Start afresh if the tree could overflow in so many iterations."""
    if tree.size[0] + iterations > tree.sibling.size:
        clear(tree)


@kernel
def plan_trial(
    model, objective, actor, forecast, running, tree, spare, tables, rules, weights, horizon, iterations, seeds, stop
):
    """Play one trial from the generator states ``seeds`` = (world, search).

    Afterwards ``running.root`` is its occupancy and ``running.path`` its pairs. Returns a status and the value.
    """
    world, rng = u64(seeds[0]), u64(seeds[1])
    actions, horizon = u64(actor.actions), u64(horizon)
    s = model.restore(model.reset(mix(world)))
    end = u64(weights.size)
    clear(tree)
    t = u64(0)
    while t < end:
        make_room(tree, iterations)
        forget(tree)
        status, rng = search(
            model, objective, actor, forecast, running, tree, tables, rules, weights, horizon, s, t, iterations, rng,
            stop,
        )  # fmt: skip
        if status != DONE:
            return status, np.nan
        rng = advance(rng) if rules.paired else rng
        a = recommend(tree.visits[:actions], tree.mean[:actions], rules.by_value)
        commit(objective, running, model.cell(s), a, actions, weights[t])
        world = advance(world)
        s = model.step(model.restore(s), u64(a), mix(world))
        t += u64(1)
        if t < end and t % horizon == u64(0):
            world = advance(world)
            s = model.restore(model.reset(mix(world)))
        if rules.reuse:
            reroot(tree, spare, a, model.key(s))
            tree, spare = spare, tree
        else:
            clear(tree)
    return DONE, worth(objective, running)
