"""Pictures: one function each, Matplotlib axes in and out. Without axes, each makes a figure of its own.

Colours can be told apart by people who see fewer of them, and on paper.
"""

from __future__ import annotations

from gumdp.plot.animation import animate
from gumdp.plot.curves import bounds, budget, comparison
from gumdp.plot.maps import occupancy
from gumdp.plot.measures import measure, shares
from gumdp.plot.paths import totals, trajectory
from gumdp.plot.trees import tree

__all__ = [
    "animate",
    "bounds",
    "budget",
    "comparison",
    "measure",
    "occupancy",
    "shares",
    "totals",
    "trajectory",
    "tree",
]
