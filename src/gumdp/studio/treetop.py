"""The top of a search tree, read while it grows: a few hundred nodes at most, however large the tree is."""

from __future__ import annotations

from typing import Any

OUTCOMES = 2  # shown of each action
LOOKED = 64  # outcomes that are looked at to find them
ACTIONS = 3  # shown of each outcome


def treetop(policy: Any) -> list[dict[str, Any]] | None:
    """For each action at the root: visits, mean, and its likeliest outcomes with what was tried most there."""
    searchers = getattr(policy, "_searchers", None)
    if not searchers:
        return None
    tree = searchers[0].tree
    actions = tree.squares.size
    return [
        {**_edge(tree, a, a), "kids": [_outcome(tree, node, actions) for node in _busiest(tree, a)]}
        for a in range(actions)
        if tree.visits[a] > 0
    ]


def _edge(tree: Any, edge: int, action: int) -> dict[str, Any]:
    return {"a": action, "n": int(tree.visits[edge]), "q": float(tree.mean[edge])}


def _busiest(tree: Any, edge: int) -> list[int]:
    found: list[int] = []
    node = int(tree.child[edge])
    while node >= 0 and len(found) < LOOKED:
        found.append(node)
        node = int(tree.sibling[node])
    return sorted(found, key=lambda n: -int(tree.plays[n]))[:OUTCOMES]


def _outcome(tree: Any, node: int, actions: int) -> dict[str, Any]:
    edges = sorted(range(actions), key=lambda a: -int(tree.visits[node * actions + a]))[:ACTIONS]
    kids = [_edge(tree, node * actions + a, a) for a in edges if tree.visits[node * actions + a] > 0]
    return {"s": int(tree.label[node]), "n": int(tree.plays[node]), "kids": kids}
