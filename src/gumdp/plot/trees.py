"""The top levels of a search tree, as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gumdp.errors import GumdpError, check_float, check_int
from gumdp.models.base import Model
from gumdp.plot.ink import Axes, action_label, axes, model_of, state_label
from gumdp.search.view import SearchTree


@dataclass
class _Box:
    """Something to draw: a state or an action, what is below it, and its place."""

    text: str
    state: bool
    share: float  # of the iterations that came through
    value: float
    best: bool = False
    below: list[_Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def tree(search: SearchTree, model: Model, ax: Axes | None = None, depth: int = 2, *, share: float = 0.04) -> Axes:
    """Draw the first ``depth`` decisions of a search: what it tried, how often, and what it expects.

    Args:
        search: the ``tree`` of a decision of ``MCTS(keep_tree=True)``.
        model: whose states and actions these are; a problem will do.
        depth: how many decisions.
        share: branches that got less of the iterations than this are left out.

    Lines are as thick as the share of the iterations that went there. Actions say the cost that the search expects
    after them, and the most visited one of each state is drawn bold.

    >>> import gumdp, matplotlib
    >>> matplotlib.use("Agg")
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> decision = gumdp.MCTS(iterations=200, keep_tree=True).start(problem, seed=0).act(0)
    >>> gumdp.plot.tree(decision.tree, problem.model).get_title()
    '200 iterations'
    """
    if not isinstance(search, SearchTree):
        raise GumdpError("plot.tree: search must be decision.tree of a planner MCTS(keep_tree=True).")
    world, levels = model_of(model), check_int("plot.tree: depth", depth, 1)
    least = check_float("plot.tree: share", share, 0.0, 1.0)
    total = max(1, int(search.visits[0].sum()))
    root = _Box(state_label(world, int(search.label[0])), True, 1.0, float("nan"))
    _grow(root, search, world, 0, levels, least, total)
    leaves = _place(root, 0, 0.0)
    ax = axes(ax, 3.6 * levels + 1.0, max(2.4, 0.36 * leaves + 0.6))
    _draw(root, ax)
    ax.set_title(f"{total} iterations", fontsize=10)
    ax.set_xlim(-0.3, 2 * levels + 0.6)
    ax.set_ylim(-leaves + 0.3, 0.7)
    ax.set_axis_off()
    return ax


def _grow(box: _Box, search: SearchTree, model: Model, node: int, depth: int, least: float, total: int) -> None:
    visits = search.visits[node]
    for action in np.flatnonzero(visits >= max(1.0, least * total)):
        value, share = float(search.values[node, action]), float(visits[action] / total)
        text = f"{action_label(model, int(action))}  {value:.3g}  ({100 * share:.0f} %)"
        branch = _Box(text, False, share, value, best=bool(action == visits.argmax()))
        box.below.append(branch)
        if depth == 1:
            continue
        for child in search.children(node, int(action)):
            share = float((search.visits[child].sum() + 1) / total)
            if share >= least:
                outcome = _Box(state_label(model, int(search.label[child])), True, share, value)
                branch.below.append(outcome)
                _grow(outcome, search, model, int(child), depth - 1, least, total)


def _place(box: _Box, level: int, top: float) -> int:
    """Put the box beside the middle of what is below it; return how many lines that takes."""
    box.x, lines = float(level), 0
    for part in box.below:
        lines += _place(part, level + 1, top - lines)
    box.y = (box.below[0].y + box.below[-1].y) / 2 if box.below else top
    return max(1, lines)


def _draw(box: _Box, ax: Axes) -> None:
    for part in box.below:
        end = part.x + (0.12 if part.state else 0.0)
        ink = "#0072B2" if part.best or part.state else "#8a8a8a"
        ax.plot([box.x + (0.0 if box.state else 0.3), end], [box.y, part.y], color=ink, linewidth=0.5 + 5 * part.share,
                solid_capstyle="round", zorder=1, alpha=0.75)  # fmt: skip
        _draw(part, ax)
    frame = {"boxstyle": "round,pad=0.3", "facecolor": "#fff4d6" if box.state else "white", "linewidth": 0.8,
             "edgecolor": "#0072B2" if box.best else "#8a8a8a"}  # fmt: skip
    place = "center" if box.state else "left"
    weight = "bold" if box.best or box.x == 0.0 else "normal"
    ax.text(box.x + (0.12 if box.state and box.x else 0.0), box.y, box.text, ha=place, va="center", fontsize=8,
            weight=weight, bbox=frame, zorder=2)  # fmt: skip
