"""The top levels of a search tree as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text
from rich.tree import Tree

from gumdp.report.listing import number
from gumdp.report.terminal import action_label, state_label

if TYPE_CHECKING:
    from gumdp.models.base import Model
    from gumdp.search.view import SearchTree

BRANCHES = 3  # outcomes of an action that are shown


def tree_view(model: Model, tree: SearchTree, depth: int = 2) -> Tree:
    """The tree down to ``depth`` decisions.

    An action is shown with its share of the visits and its mean return. The most visited one is bold, and what
    came after it is shown, the most visited outcomes first.
    """
    visits = int(tree.visits[0].sum())
    view = Tree(Text(f"{state_label(model, int(tree.label[0]))}  {visits} visits, {len(tree)} nodes", "bold"))
    _add_actions(view, model, tree, 0, depth)
    return view


def _add_actions(view: Tree, model: Model, tree: SearchTree, node: int, depth: int) -> None:
    visits = tree.visits[node]
    if depth == 0 or visits.sum() == 0:
        return
    for action in np.flatnonzero(visits):
        best = action == visits.argmax()
        share = f"{100.0 * visits[action] / visits.sum():.0f} % of {visits.sum()}"
        text = f"{action_label(model, int(action))}  {share}, mean {number(tree.values[node, action])}"
        branch = view.add(Text(text, "bold" if best else ""))
        children = tree.children(node, int(action)) if best else ()
        for child in children[:BRANCHES]:
            label = f"→ {state_label(model, int(tree.label[child]))}  {tree.visits[child].sum() + 1} visits"
            _add_actions(branch.add(Text(label, "dim")), model, tree, int(child), depth - 1)
        if len(children) > BRANCHES:
            branch.add(Text(f"… {len(children) - BRANCHES} more outcomes", "dim"))
