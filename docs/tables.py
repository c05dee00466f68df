"""Make the README's table against the paper afresh: ``python docs/tables.py``, which takes a few minutes."""

from __future__ import annotations

import re
from pathlib import Path

import gumdp
from gumdp.experiments.plan.paper import SETTINGS
from gumdp.report.listing import number
from gumdp.report.published import published
from gumdp.report.tables import digits

README = Path(__file__).parents[1] / "README.md"
PLACE = re.compile(
    r"(?<=<!-- made by docs/tables.py -->\n).*?(?=<!-- end -->)", re.DOTALL
)
ITERATIONS, TRIALS = 400, 200
HEADING = (
    "setting",
    "random (paper)",
    "best on average (paper)",
    "search (paper)",
    "search (ours)",
)


def row(name: str) -> tuple[str, str]:
    """A line of the table, and how ours compares with the published search: lower, agrees or higher."""
    problem = gumdp.zoo.load(name, **SETTINGS[name])
    result = gumdp.evaluate(
        problem, gumdp.MCTS(iterations=ITERATIONS), trials=TRIALS, seed=0
    )
    least = gumdp.lower_bound(problem, ["range", "distinct"]).value
    theirs = [
        published(name, planner) for planner in ("random", "solver", "mcts-paper")
    ]
    cells = [
        f"{name}¹" if SETTINGS[name] else name,
        *(number(entry.unrounded) for entry in theirs),
    ]
    if result.mean - least < 1e-4:
        cells.append(f"**{result.mean:.4f}** (no run can be better)")
    else:
        low, high = result.ci(0.9)
        mean, *ends = digits([result.mean, low, high], (high - low) / 2)
        cells.append(f"{mean} [{ends[0]}, {ends[1]}]")
    print(*cells, sep="  ")
    return f"| {' | '.join(cells)} |", theirs[-1].verdict(result.ci(0.9))


def who(names: list[str]) -> str:
    """These settings, in words."""
    return "any of the nine" if len(names) == len(SETTINGS) else ", ".join(names)


def table() -> str:
    """The table, with what it rests on above and what it says below."""
    lines = {name: row(name) for name in SETTINGS}
    words = {
        "lower": "clearly lower",
        "agrees": "not clearly different",
        "higher": "clearly higher",
    }
    found = {
        word: [name for name, (_, how) in lines.items() if how == word]
        for word in words
    }
    parts = [f"{words[word]} on {who(names)}" for word, names in found.items() if names]
    grid = [HEADING, ("---",) * len(HEADING)]
    return "\n".join(
        [
            "Mean cost of a trial; less is better. The paper's values are the means behind its Table 1, of 5 to 10",
            f"runs with 4000 iterations per decision; ours of {TRIALS} trials with {ITERATIONS}, each with a",
            f"90 % bootstrap interval (`gumdp evaluate NAME --iterations {ITERATIONS} --trials {TRIALS}`).",
            "",
            *(f"| {' | '.join(cells)} |" for cells in grid),
            *(line for line, _ in lines.values()),
            "",
            f"Against the published means, ours is {'; '.join(parts)}: those rest on few runs.",
            "",
            "",
        ]
    )


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    README.write_text(PLACE.sub(lambda _: table(), text, count=1), encoding="utf-8")
