"""Branch and bound over the occupancy MDP: a net of its states (s, o, t), each with a lower and an upper bound.

Nodes are made when they are first looked at, and equal ones are one node (see ``Merging``). The lower bound of a new
node is Jensen's, as in ``gumdp.bounds.history_tree_kernels``; the upper one is the value of a policy that anybody can
follow from there. Once a node has edges, its bounds are also the least over the actions of the mean over the outcomes.
On the way down to the next node to expand, always the action of the least lower bound (no other one can lift that of
the node), and the outcome that leaves the most open. A node before the last step is valued outright.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gumdp.average.rest_kernels import dot, least_total, set_off, tighten
from gumdp.bounds.history_tree_kernels import Rules, occupancy_of
from gumdp.exact.unfold_kernels import note, slot_of
from gumdp.jit.record import kernel, part
from gumdp.models.chain import copy, plan_forth

APART, BY_VISITS, BY_MEASURES = 0, 1, 2  # how nodes are merged
TRAJECTORY, CORNERS, RANGE = 0, 1, 2  # where upper bounds come from
FINE = 1e-3  # how closely nodes are bounded, relative to the gap that is open at the root


class Net(NamedTuple):
    """Nodes and edges, both with room for more; node 0 stands before the first state is drawn."""

    state: Any  # int32 [nodes]: -1 at the root
    action: Any  # int32 [nodes]: the action before the state, on the first way that led to the node
    parent: Any  # int32 [nodes]: the node before, on that way
    step: Any  # int32 [nodes]: the steps made
    bound: Any  # float64 [nodes]: no policy is below
    upper: Any  # float64 [nodes]: some policy is not above
    slope: Any  # float64 [nodes, S·A]: the tangent that gave the lower bound
    constant: Any  # float64 [nodes]
    first: Any  # int64 [nodes]: the first edge, -1 if there are none yet
    last: Any  # int64 [nodes]: one past the last edge
    key: Any  # int64 [nodes]: state and step
    code: Any  # int64 [nodes, …]: the running occupancy as whole numbers, where nodes are merged
    mark: Any  # float64 [nodes, M]: what it measures
    edge_action: Any  # int32 [edges]
    edge_chance: Any  # float64 [edges]: the probability of the outcome, given the action
    edge_node: Any  # int32 [edges]
    table: Any  # int32 [2^k]: nodes by the hash of (key, code)
    o: Any  # float64 [S·A]: the running occupancy of the node in hand
    size: Any  # int64 [2]: nodes and edges in use
    drift: Any  # float64 [1]: how much the measures of merged nodes differed at most, by rounding


class Merging(NamedTuple):
    """When two nodes of the same state and step are one.

    BY_VISITS: when the same pairs were visited with the same weights. BY_MEASURES: when all that the objective
    measures of the running occupancy, ``rows``·o, agrees but for rounding.
    """

    kind: int
    coding: Any  # a Coding
    rows: Any  # float64 [M, S·A]
    grain: float  # measures are told apart if they differ by more


class Limits(NamedTuple):
    """What is known of every node, and when to be content."""

    floor: float  # no trajectory's value is below
    ceiling: float  # nor above
    kind: int  # where upper bounds come from
    close: float  # bounds this close to each other are one value


def new_net(nodes: int, edges: int, cells: int, width: int, measures: int) -> Net:
    """A net with room for so many nodes and edges, and none in it."""
    slots = 1 << max(1, 2 * nodes - 1).bit_length() if width else 1
    return Net(
        state=np.empty(nodes, np.int32),
        action=np.empty(nodes, np.int32),
        parent=np.empty(nodes, np.int32),
        step=np.empty(nodes, np.int32),
        bound=np.empty(nodes),
        upper=np.empty(nodes),
        slope=np.empty((nodes, cells)),
        constant=np.empty(nodes),
        first=np.empty(nodes, np.int64),
        last=np.empty(nodes, np.int64),
        key=np.empty(nodes, np.int64),
        code=np.empty((nodes, width), np.int64),
        mark=np.empty((nodes, measures)),
        edge_action=np.empty(edges, np.int32),
        edge_chance=np.empty(edges),
        edge_node=np.empty(edges, np.int32),
        table=np.full(slots, -1, np.int32),
        o=np.zeros(cells),
        size=np.zeros(2, np.int64),
        drift=np.zeros(1),
    )


def enlarged_net(net: Net, nodes: int, edges: int) -> Net:
    """The same net with room for so many nodes and edges."""
    larger = new_net(nodes, edges, net.o.size, net.code.shape[1], net.mark.shape[1])
    for name, old, new in zip(Net._fields, net, larger, strict=True):
        if name in ("size", "drift"):
            new[:] = old
        elif name not in ("o", "table"):
            count = net.size[1 if name.startswith("edge") else 0]
            new[:count] = old[:count]
    if net.code.shape[1]:
        enter_all(larger)
    return larger


@kernel
def enter_all(net):
    """Enter all nodes into the empty table."""
    for node in range(1, net.size[0]):
        net.table[slot_of(net.table, net.key, net.code, net.key[node], net.code[node])] = node


@part
def describe(task, merging, net, before, pair, fresh):
    """Write into row ``fresh`` what tells the running occupancy after ``pair`` in node ``before`` from others.

    ``net.o`` is the running occupancy of ``before``. A negative ``pair`` is none.
    """
    t = net.step[before]
    if merging.kind == BY_VISITS:
        for j in range(net.code.shape[1]):
            net.code[fresh, j] = net.code[before, j]
        if pair >= 0:
            note(merging.coding, net.code[fresh], pair, t)
    elif merging.kind == BY_MEASURES:
        for m in range(net.mark.shape[1]):
            net.mark[fresh, m] = dot(merging.rows[m], net.o)
            if pair >= 0:
                net.mark[fresh, m] += merging.rows[m, pair] * task.weights[t]
            net.code[fresh, m] = int(np.floor(net.mark[fresh, m] / merging.grain + 0.5))


@kernel
def node_of(task, merging, net, before, pair, action, state):
    """The node in ``state`` after ``pair`` in node ``before``: one that there is, or a new one without bounds."""
    fresh = net.size[0]
    step = net.step[before] + (1 if pair >= 0 else 0)
    key = np.int64(step) * (net.o.size + 1) + state
    if merging.kind != APART:
        describe(task, merging, net, before, pair, fresh)
        slot = slot_of(net.table, net.key, net.code, key, net.code[fresh])
        if net.table[slot] >= 0:
            same = net.table[slot]
            for m in range(net.mark.shape[1]):
                net.drift[0] = max(net.drift[0], abs(net.mark[same, m] - net.mark[fresh, m]))
            return same
        net.table[slot] = fresh
    net.size[0] += 1
    net.state[fresh], net.action[fresh], net.parent[fresh], net.step[fresh] = state, action, before, step
    net.key[fresh], net.first[fresh], net.last[fresh] = key, -1, -1
    return np.int32(fresh)


@kernel
def branch(task, merging, net, node):
    """Give ``node`` its edges; the nodes that they lead to are without bounds if they are new."""
    chain, s, t = task.chain, net.state[node], net.step[node]
    occupancy_of(task, net, node)
    k = net.size[1]
    net.first[node] = k
    for a in range(chain.actions if s >= 0 else 1):
        r = s * chain.actions + a
        if s >= 0 and chain.offsets[r] == chain.offsets[r + 1]:
            continue
        action, pair = (a, r) if s >= 0 else (-1, -1)
        begins = s < 0 or (t + 1) % task.horizon == 0  # an episode
        low, high = (0, chain.start_states.size) if begins else (chain.offsets[r], chain.offsets[r + 1])
        for j in range(low, high):
            state = chain.start_states[j] if begins else chain.successors[j]
            net.edge_action[k] = action
            net.edge_chance[k] = chain.start_probabilities[j] if begins else chain.probabilities[j]
            net.edge_node[k] = node_of(task, merging, net, node, pair, action, state)
            k += 1
    net.size[1] = k
    net.last[node] = k


@kernel
def lay_plan(tangent, task, desk, kind, first, state, o, slope):
    """``desk.choices`` becomes a plan from (state, o, first); returns a number that its value is not above.

    TRAJECTORY: the plan that is best for the tangent; without chance, its value is that of its trajectory. CORNERS:
    a convex f is at most what lies linearly between its values at the corners, where all that is open goes to
    one pair; the plan is the best one for that. RANGE: any plan, of which nothing is known.
    """
    x, costs = desk.x, desk.y
    if kind == CORNERS:
        rest = task.open[first]
        copy(o, x)
        for i in range(o.size):
            x[i] = o[i] + rest
            costs[i] = tangent.value(x) / rest
            x[i] = o[i]
        return least_total(task, first, state, costs, desk)
    least_total(task, first, state, slope, desk)
    if kind == RANGE:
        return np.inf
    set_off(task, state, desk.mass)
    copy(o, x)
    plan_forth(task.chain, task.weights, task.horizon, first, desk.choices, desk.mass, desk.spare, x)
    return tangent.value(x)


@kernel
def judge(tangent, task, net, desk, rules, limits, node):
    """Bound a new node from below and from above, beginning with the tangent of its parent."""
    occupancy_of(task, net, node)
    parent, step, s, o = net.parent[node], net.step[node], net.state[node], net.o
    if step + 1 == task.weights.size:
        least = np.inf
        for a in range(task.chain.actions):
            r = s * task.chain.actions + a
            if task.chain.offsets[r] < task.chain.offsets[r + 1]:
                before = o[r]
                o[r] += task.weights[step]
                least = min(least, tangent.value(o))
                o[r] = before
        net.bound[node] = net.upper[node] = least
        copy(net.slope[parent], net.slope[node])
        net.constant[node] = net.constant[parent]
        return
    copy(net.slope[parent], desk.slope)
    desk.constant[0] = net.constant[parent]
    blur = rules.blur * task.open[step]
    low = tighten(tangent, task, step, s, o, desk, rules.rounds, rules.tolerance, blur)
    copy(desk.slope, net.slope[node])
    net.constant[node] = desk.constant[0]
    high = min(limits.ceiling, lay_plan(tangent, task, desk, limits.kind, step, s, o, net.slope[node]))
    net.upper[node] = high
    net.bound[node] = min(high, max(low, limits.floor))


@part
def promising(net, node, close):
    """The outcome that leaves the most open, of the action with the least lower bound; -1 if none does.

    Of actions whose bounds are ``close`` it is the one with the least upper bound.
    """
    k, end = net.first[node], net.last[node]
    least, lowest, best, most = np.inf, np.inf, -1, 0.0
    while k < end:
        a, low, high, child, open_ = net.edge_action[k], 0.0, 0.0, -1, 0.0
        while k < end and net.edge_action[k] == a:
            c, p = net.edge_node[k], net.edge_chance[k]
            low += p * net.bound[c]
            high += p * net.upper[c]
            gap = p * (net.upper[c] - net.bound[c] - close)
            if gap > open_:
                open_, child = gap, c
            k += 1
        if low < least - close or (low <= least + close and high < lowest):
            least, lowest, best, most = min(low, least), high, child, open_
    return best if most > 0.0 else -1


@kernel
def revise(net, node):
    """Tighten the bounds of ``node`` by those of the nodes after it."""
    k, end = net.first[node], net.last[node]
    least, lowest = np.inf, np.inf
    while k < end:
        a, low, high = net.edge_action[k], 0.0, 0.0
        while k < end and net.edge_action[k] == a:
            low += net.edge_chance[k] * net.bound[net.edge_node[k]]
            high += net.edge_chance[k] * net.upper[net.edge_node[k]]
            k += 1
        least, lowest = min(low, least), min(high, lowest)
    net.upper[node] = min(net.upper[node], lowest)
    net.bound[node] = min(net.upper[node], max(net.bound[node], least))


@kernel
def search(tangent, task, merging, net, desk, rules, limits, path, times):
    """Go down the net up to ``times`` times, each time to expand one node. Returns how many times it went.

    Fewer when the bounds of the root have met. The net needs room. ``path`` [steps + 2] is scratch.
    """
    for done in range(times):
        gap = net.upper[0] - net.bound[0]
        if not gap > limits.close:
            return done
        node, length = 0, 0
        path[0] = 0
        while net.first[node] >= 0:
            node = promising(net, node, 0.25 * limits.close)
            if node < 0:  # what is below was settled on another way: the bounds here are old
                break
            length += 1
            path[length] = node
        if node >= 0:
            fresh = net.size[0]
            branch(task, merging, net, node)
            care = Rules(rules.rounds, max(rules.tolerance, FINE * gap), rules.blur)
            for c in range(fresh, net.size[0]):
                judge(tangent, task, net, desk, care, limits, c)
        while length >= 0:
            revise(net, path[length])
            length -= 1
    return times
