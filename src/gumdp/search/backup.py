"""Back-ups: what the edges of an iteration learn from its return.

A back-up answers ``back_up(workspace, depth, value)``: the first ``depth`` edges of ``tree.edges`` were taken, from
the nodes ``tree.nodes``, and the simulation was worth ``value``; and ``notes()``: whether it keeps notes of its own
for each edge.
"""

from __future__ import annotations

from gumdp.jit.record import part, record, u64
from gumdp.search.tree import inverse, inverse_root


@part
def add_return(workspace, depth, value):
    """Add a return to the means of the edges of this iteration."""
    tree, tables = workspace.tree, workspace.tables
    j = u64(0)
    while j < depth:
        e = u64(tree.edges[j])
        n = u64(tree.visits[e] + 1)
        tree.visits[e] = n
        tree.mean[e] += (value - tree.mean[e]) * inverse(tables, n)
        tree.inverse_root[e] = inverse_root(tables, n)
        tree.plays[u64(tree.nodes[j])] += 1
        j += u64(1)


@record
class Means:
    """The value of an edge is the mean of its returns."""

    nothing: int  # a record needs a field

    def back_up(self, workspace, depth, value):
        add_return(workspace, depth, value)
        return 0

    def notes(self):
        return False


@part
def note_return(tree, value):
    """What the root remembers of this decision's returns, for errors and to scale exploration."""
    if tree.seen[0] == 0.0:
        tree.seen[1] = value
    a, excess = u64(tree.edges[0]), value - tree.seen[1]
    tree.fresh[a] += 1
    tree.sums[a] += excess
    tree.squares[a] += excess * excess
    tree.seen[0] += 1.0
    tree.seen[2] += excess
    tree.seen[3] += excess * excess
