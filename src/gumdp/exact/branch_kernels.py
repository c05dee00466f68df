"""Branch and bound over the occupancy MDP: a graph of its states (s, o, t), each with a lower and an upper bound.

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


class StateGraph(NamedTuple):
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


def new_graph(nodes: int, edges: int, cells: int, width: int, measures: int) -> StateGraph:
    """A graph with room for so many nodes and edges, and none in it."""
    slots = 1 << max(1, 2 * nodes - 1).bit_length() if width else 1
    return StateGraph(
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


def enlarged_graph(graph: StateGraph, nodes: int, edges: int) -> StateGraph:
    """The same graph with room for so many nodes and edges."""
    larger = new_graph(nodes, edges, graph.o.size, graph.code.shape[1], graph.mark.shape[1])
    for name, old, new in zip(StateGraph._fields, graph, larger, strict=True):
        if name in ("size", "drift"):
            new[:] = old
        elif name not in ("o", "table"):
            count = graph.size[1 if name.startswith("edge") else 0]
            new[:count] = old[:count]
    if graph.code.shape[1]:
        enter_all(larger)
    return larger


@kernel
def enter_all(graph):
    """Enter all nodes into the empty table."""
    for node in range(1, graph.size[0]):
        graph.table[slot_of(graph.table, graph.key, graph.code, graph.key[node], graph.code[node])] = node


@part
def describe(task, merging, graph, before, pair, fresh):
    """Write into row ``fresh`` what tells the running occupancy after ``pair`` in node ``before`` from others.

    ``graph.o`` is the running occupancy of ``before``. A negative ``pair`` is none.
    """
    t = graph.step[before]
    if merging.kind == BY_VISITS:
        for j in range(graph.code.shape[1]):
            graph.code[fresh, j] = graph.code[before, j]
        if pair >= 0:
            note(merging.coding, graph.code[fresh], pair, t)
    elif merging.kind == BY_MEASURES:
        for m in range(graph.mark.shape[1]):
            graph.mark[fresh, m] = dot(merging.rows[m], graph.o)
            if pair >= 0:
                graph.mark[fresh, m] += merging.rows[m, pair] * task.weights[t]
            graph.code[fresh, m] = int(np.floor(graph.mark[fresh, m] / merging.grain + 0.5))


@kernel
def node_of(task, merging, graph, before, pair, action, state):
    """The node in ``state`` after ``pair`` in node ``before``: one that there is, or a new one without bounds."""
    fresh = graph.size[0]
    step = graph.step[before] + (1 if pair >= 0 else 0)
    key = np.int64(step) * (graph.o.size + 1) + state
    if merging.kind != APART:
        describe(task, merging, graph, before, pair, fresh)
        slot = slot_of(graph.table, graph.key, graph.code, key, graph.code[fresh])
        if graph.table[slot] >= 0:
            same = graph.table[slot]
            for m in range(graph.mark.shape[1]):
                graph.drift[0] = max(graph.drift[0], abs(graph.mark[same, m] - graph.mark[fresh, m]))
            return same
        graph.table[slot] = fresh
    graph.size[0] += 1
    graph.state[fresh], graph.action[fresh], graph.parent[fresh], graph.step[fresh] = state, action, before, step
    graph.key[fresh], graph.first[fresh], graph.last[fresh] = key, -1, -1
    return np.int32(fresh)


@kernel
def branch(task, merging, graph, node):
    """Give ``node`` its edges; the nodes that they lead to are without bounds if they are new."""
    chain, s, t = task.chain, graph.state[node], graph.step[node]
    occupancy_of(task, graph, node)
    k = graph.size[1]
    graph.first[node] = k
    for a in range(chain.actions if s >= 0 else 1):
        r = s * chain.actions + a
        if s >= 0 and chain.offsets[r] == chain.offsets[r + 1]:
            continue
        action, pair = (a, r) if s >= 0 else (-1, -1)
        begins = s < 0 or (t + 1) % task.horizon == 0  # an episode
        low, high = (0, chain.start_states.size) if begins else (chain.offsets[r], chain.offsets[r + 1])
        for j in range(low, high):
            state = chain.start_states[j] if begins else chain.successors[j]
            graph.edge_action[k] = action
            graph.edge_chance[k] = chain.start_probabilities[j] if begins else chain.probabilities[j]
            graph.edge_node[k] = node_of(task, merging, graph, node, pair, action, state)
            k += 1
    graph.size[1] = k
    graph.last[node] = k


@kernel
def lay_plan(tangent, task, workspace, kind, first, state, o, slope):
    """``workspace.choices`` becomes a plan from (state, o, first); returns a number that its value is not above.

    TRAJECTORY: the plan that is best for the tangent; without chance, its value is that of its trajectory. CORNERS:
    a convex f is at most what lies linearly between its values at the corners, where all that is open goes to
    one pair; the plan is the best one for that. RANGE: any plan, of which nothing is known.
    """
    x, costs = workspace.x, workspace.y
    if kind == CORNERS:
        rest = task.open[first]
        copy(o, x)
        for i in range(o.size):
            x[i] = o[i] + rest
            costs[i] = tangent.value(x) / rest
            x[i] = o[i]
        return least_total(task, first, state, costs, workspace)
    least_total(task, first, state, slope, workspace)
    if kind == RANGE:
        return np.inf
    set_off(task, state, workspace.mass)
    copy(o, x)
    plan_forth(task.chain, task.weights, task.horizon, first, workspace.choices, workspace.mass, workspace.spare, x)
    return tangent.value(x)


@kernel
def judge(tangent, task, graph, workspace, rules, limits, node):
    """Bound a new node from below and from above, beginning with the tangent of its parent."""
    occupancy_of(task, graph, node)
    parent, step, s, o = graph.parent[node], graph.step[node], graph.state[node], graph.o
    if step + 1 == task.weights.size:
        least = np.inf
        for a in range(task.chain.actions):
            r = s * task.chain.actions + a
            if task.chain.offsets[r] < task.chain.offsets[r + 1]:
                before = o[r]
                o[r] += task.weights[step]
                least = min(least, tangent.value(o))
                o[r] = before
        graph.bound[node] = graph.upper[node] = least
        copy(graph.slope[parent], graph.slope[node])
        graph.constant[node] = graph.constant[parent]
        return
    copy(graph.slope[parent], workspace.slope)
    workspace.constant[0] = graph.constant[parent]
    smoothing = rules.smoothing * task.open[step]
    low = tighten(tangent, task, step, s, o, workspace, rules.rounds, rules.tolerance, smoothing)
    copy(workspace.slope, graph.slope[node])
    graph.constant[node] = workspace.constant[0]
    high = min(limits.ceiling, lay_plan(tangent, task, workspace, limits.kind, step, s, o, graph.slope[node]))
    graph.upper[node] = high
    graph.bound[node] = min(high, max(low, limits.floor))


@part
def promising(graph, node, close):
    """The outcome that leaves the most open, of the action with the least lower bound; -1 if none does.

    Of actions whose bounds are ``close`` it is the one with the least upper bound.
    """
    k, end = graph.first[node], graph.last[node]
    least, lowest, best, most = np.inf, np.inf, -1, 0.0
    while k < end:
        a, low, high, child, open_ = graph.edge_action[k], 0.0, 0.0, -1, 0.0
        while k < end and graph.edge_action[k] == a:
            c, p = graph.edge_node[k], graph.edge_chance[k]
            low += p * graph.bound[c]
            high += p * graph.upper[c]
            gap = p * (graph.upper[c] - graph.bound[c] - close)
            if gap > open_:
                open_, child = gap, c
            k += 1
        if low < least - close or (low <= least + close and high < lowest):
            least, lowest, best, most = min(low, least), high, child, open_
    return best if most > 0.0 else -1


@kernel
def revise(graph, node):
    """Tighten the bounds of ``node`` by those of the nodes after it."""
    k, end = graph.first[node], graph.last[node]
    least, lowest = np.inf, np.inf
    while k < end:
        a, low, high = graph.edge_action[k], 0.0, 0.0
        while k < end and graph.edge_action[k] == a:
            low += graph.edge_chance[k] * graph.bound[graph.edge_node[k]]
            high += graph.edge_chance[k] * graph.upper[graph.edge_node[k]]
            k += 1
        least, lowest = min(low, least), min(high, lowest)
    graph.upper[node] = min(graph.upper[node], lowest)
    graph.bound[node] = min(graph.upper[node], max(graph.bound[node], least))


@kernel
def search(tangent, task, merging, graph, workspace, rules, limits, path, times):
    """Go down the graph up to ``times`` times, each time to expand one node. Returns how many times it went.

    Fewer when the bounds of the root have met. The graph needs room. ``path`` [steps + 2] is scratch.
    """
    for done in range(times):
        gap = graph.upper[0] - graph.bound[0]
        if not gap > limits.close:
            return done
        node, length = 0, 0
        path[0] = 0
        while graph.first[node] >= 0:
            node = promising(graph, node, 0.25 * limits.close)
            if node < 0:  # what is below was settled on another way: the bounds here are old
                break
            length += 1
            path[length] = node
        if node >= 0:
            fresh = graph.size[0]
            branch(task, merging, graph, node)
            care = Rules(rules.rounds, max(rules.tolerance, FINE * gap), rules.smoothing)
            for c in range(fresh, graph.size[0]):
                judge(tangent, task, graph, workspace, care, limits, c)
        while length >= 0:
            revise(graph, path[length])
            length -= 1
    return times
