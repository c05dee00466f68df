"""The paper's Table 1 beside our results, and what it means to agree with it. The values stand in the zoo's entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gumdp.zoo.registry import Published, entries

if TYPE_CHECKING:
    from gumdp.experiments.plan.arm import Arm

ROWS = {"random": "random", "solver": "solver", "mcts-paper": "mcts", "mcts": "mcts"}  # our planner: its row
BUDGETS: Mapping[str, Mapping[str, Any]] = {"mcts-paper": {"iterations": 4000}}  # that a planner has without being told
RULE = (
    "A value agrees when our 90 % interval (percentile bootstrap, as in the paper) overlaps the published one, which "
    "is taken half a unit of its last printed digit wider at both ends, since it is rounded. That does not show that "
    "the two are equal: intervals of few runs are wide. Otherwise ours is lower or higher; lower is better. MCTS() "
    "is another algorithm than the published one: it is compared with the same row, and lower is what it is for. "
    "Published values stand only beside results of exactly the settings that they "
    "were published for: problem, options, horizon and iterations per decision."
)


def published(setting: str, planner: str) -> Published | None:
    """What the paper reports for ``planner`` in ``setting``; None if it has no such entry.

    >>> published("m1-entropy", "random").unrounded
    0.1159
    """
    publication = next((entry.publication for entry in entries() if entry.name == setting), None)
    return publication.values.get(ROWS.get(planner, "")) if publication else None


def published_for(arm: Arm) -> Published | None:
    """What the paper reports for exactly this problem, planner and budget; None if it reports something else.

    >>> from gumdp.experiments.plan.arm import Arm
    >>> published_for(Arm("m1-entropy", "mcts-paper", {}, {"iterations": 4000})).unrounded
    0.0092
    >>> published_for(Arm("m1-entropy", "mcts-paper", {"horizon": 20}, {"iterations": 4000})) is None
    True
    """
    publication = next((entry.publication for entry in entries() if entry.name == arm.problem), None)
    if publication is None or dict(arm.problem_options) != dict(publication.options):
        return None
    asked = {"iterations": publication.iterations} if ROWS.get(arm.planner) == "mcts" else {}
    if {**BUDGETS.get(arm.planner, {}), **arm.planner_options} != asked:
        return None
    return publication.values.get(ROWS.get(arm.planner, ""))
