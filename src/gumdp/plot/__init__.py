"""Pictures: one function each, Matplotlib axes in and out. Without axes, each makes a figure of its own.

Colours can be told apart by people who see fewer of them, and on paper.
"""

from __future__ import annotations

from gumdp.plot.curves import budget, comparison
from gumdp.plot.maps import occupancy
from gumdp.plot.paths import trajectory
from gumdp.plot.trees import tree

__all__ = ["budget", "comparison", "occupancy", "trajectory", "tree"]
