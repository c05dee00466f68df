"""Write the pages about the planner from the results of the study: ``python -m studies.report results/study``.

Each section appears if its results are there. ``make study`` runs the experiments first.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from gumdp.report.sheet import Sheet
from studies import tables
from studies.data import NINE, Folder, Played, compare, is_certain, verdict, verdicts
from studies.figures import AXES, curves, draw

STUDIES = Path(__file__).parent
DOCS = STUDIES.parent / "docs"
LIMITS = {"time-1ms": 0.001, "time-10ms": 0.01, "time-100ms": 0.1}
FEW, MORE, MANY = 100, 400, 4000
Pair = tuple[Played, Played]
COMPARED: tuple[tuple[tables.Budget, tables.Budget], ...] = (
    ({"iterations": FEW}, {"iterations": MANY}),
    ({"time_limit": 0.001}, {"time_limit": 0.001}),
    ({"time_limit": 0.01}, {"time_limit": 0.01}),
    ({"iterations": MORE}, {"iterations": MORE}),
)
BUDGETS: dict[str, tables.Budget] = {
    **{f"{n} iterations": {"iterations": n} for n in (25, FEW, MORE, 1600)},
    "1 ms": {"time_limit": 0.001},
}


def page(results: Path) -> str:
    """What to expect, what to change, and where it is weak."""
    parts = [read("opening"), *expectations(results), read("closing"), *origin(results)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def tables_page(results: Path, images: Path) -> str:
    """All the tables; the pictures among them are written into ``images``."""
    parts = [read("tables")]
    parts += other_problems(results)
    settings = Folder(results / "settings").clocked(Folder(results / "pace"))
    parts += against_paper(settings)
    parts += budgets(settings, images)
    parts += equal_time(results)
    parts += changes(Folder(results / "ablation", results / "ablation-1ms"))
    candidates = Folder(*(results / name for name in ("candidates", "candidates-1ms", "leaves")))
    parts += left_out(candidates.clocked(Folder(results / "candidates-pace")))
    parts += proofs(results / "certificates")
    parts += [read("former"), *origin(results)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def read(name: str) -> str:
    """What was written by hand."""
    return (STUDIES / f"{name}.md").read_text(encoding="utf-8")


def expectations(results: Path) -> Iterator[str]:
    """How often ours is better and worse, and where it is worse, by how much."""
    rows, lost, alone = [], [], []
    for what, pairs in {**unseen(results), **nine(results)}.items():
        if pairs:
            found = verdicts(pairs)
            counts = [str(found.count(word)) for word in ("better", "not worse", "worse")]
            trials = tables.trials_of(side for pair in pairs for side in pair)
            rows.append((what[0], *map(plainly, what[1:]), str(len(pairs)), *counts, trials))
            lost += [(what, pair) for pair, word in zip(pairs, found, strict=True) if word == "worse"]
            alone += [pair for pair, word in zip(pairs, found, strict=True) if word != verdict(compare(*pair))]
    if rows:
        heading = ("problems", "`MCTS()`", "`MCTS.paper()`", "how many", "better", "not worse", "worse", "trials")
        plain = [(*row[:-1], row[-1].strip(" ()").removesuffix(" trials")) for row in rows]
        yield Sheet("expect", "", heading, tuple(plain)).markdown(trusted=True)
        listed = tomllib.loads((STUDIES / "unseen.toml").read_text(encoding="utf-8"))["problems"]
        if sum(int(row[3]) for row in rows[:2]) < len(listed):
            yield f"The list has {len(listed)} problems; those that are not counted here have not been played yet."
        yield tables.losses(lost)
        if alone:
            yield tables.single(alone)


def unseen(results: Path) -> dict[tuple[str, str, str], list[Pair]]:
    """The comparisons on problems that nobody had looked at, with and without chance apart."""
    folder = Folder(*sorted(results.glob("unseen*")))  # played in one piece or in several
    found: dict[tuple[str, str, str], list[Pair]] = {}
    for ours, theirs in COMPARED:
        pairs = folder.pairs(ours, theirs)
        for word, certain in (("unseen, with chance", False), ("unseen, without", True)):
            kind = [pair for pair in pairs if is_certain(pair[0].arm) == certain]
            found[word, f"`MCTS({said(ours)})`", f"`MCTS.paper({said(theirs)})`"] = kind
    return found


def nine(results: Path) -> dict[tuple[str, str, str], list[Pair]]:
    """The comparisons on the paper's own settings: a fortieth of its iterations, and the same time."""
    played: list[tuple[str, tables.Budget, tables.Budget]] = [("settings", {"iterations": FEW}, {"iterations": MANY})]
    played += [(name, {"time_limit": limit}, {"time_limit": limit}) for name, limit in LIMITS.items()]
    return {
        ("the paper's nine", f"`MCTS({said(ours)})`", f"`MCTS.paper({said(theirs)})`"): Folder(results / name).pairs(
            ours, theirs
        )
        for name, ours, theirs in played
    }


def plainly(typed: str) -> str:
    """What a search may spend on a decision, for people.

    >>> plainly("`MCTS(100)`"), plainly("`MCTS.paper(time_limit=0.001)`")
    ('100 iterations', '1 ms')
    """
    budget = typed.partition("(")[2].rstrip(")`")
    limit = budget.removeprefix("time_limit=")
    return f"{budget} iterations" if limit == budget else f"{1000.0 * float(limit):g} ms"


def said(budget: tables.Budget) -> str:
    """A budget as it is typed.

    >>> said({"iterations": 100}), said({"time_limit": 0.001})
    ('100', 'time_limit=0.001')
    """
    ((name, value),) = budget.items()
    return str(value) if name == "iterations" else f"{name}={value}"


def against_paper(folder: Folder) -> Iterator[str]:
    """A fortieth of the paper's budget against all of it, and the same budget for both."""
    for ours, title in ((FEW, "A fortieth of the budget"), (MANY, "The same budget")):
        pairs = folder.pairs({"iterations": ours}, {"iterations": MANY})
        if pairs:
            yield f"## {title}"
            yield tables.versus(pairs, f"`MCTS({ours})`", f"`MCTS.paper({MANY})`")


def budgets(folder: Folder, images: Path) -> Iterator[str]:
    """The curves over iterations and over time."""
    lines = curves(folder)
    if lines:
        for name in AXES:
            draw(lines, name, images)
        arms = [played for by_planner in lines.values() for line in by_planner.values() for played in line]
        yield "## What more iterations buy"
        yield f"Both searches on each setting{tables.trials_of(arms)}; where there were fewer, the band is wider."
        yield "![Mean cost by iterations per decision, both searches, each setting](images/planning-iterations.png)"
        yield (
            f"{cost_of_iterations(folder)}"
            "Against the time that a decision took, in the median trial on the machine that made this page:"
        )
        yield "![Mean cost against milliseconds per decision, both searches, each setting](images/planning-seconds.png)"


def cost_of_iterations(folder: Folder) -> str:
    """How long a decision of ours takes, in those of the paper's with the same iterations."""
    budgets = {played.arm.planner_options["iterations"] for played in folder.arms}
    pairs = [pair for n in budgets for pair in folder.pairs({"iterations": n}, {"iterations": n})]
    if not pairs:
        return ""
    ratios = [ours.decision / theirs.decision for ours, theirs in pairs]
    return (
        f"With the same iterations, ours takes {min(ratios):.2g} to {max(ratios):.2g} times as long as the paper's.\n"
    )


def equal_time(results: Path) -> Iterator[str]:
    """Both searches with the same time for each decision."""
    found = {
        name: Folder(results / name).pairs({"time_limit": limit}, {"time_limit": limit})
        for name, limit in LIMITS.items()
    }
    if any(found.values()):
        yield "## The same time"
        yield (
            "Where a decision takes longer there are fewer trials: with 100 ms, 200 trials of both searches on the\n"
            "nine settings would take 17 hours. The fewer they are, the less “not worse” says: see the intervals."
        )
    for name, pairs in found.items():
        if pairs:
            yield f"### {1000 * LIMITS[name]:g} ms per decision"
            yield tables.versus(pairs, "`MCTS()`", "`MCTS.paper()`")
            trials = [len(ours.values) for ours, _ in pairs]
            if min(trials) < max(trials):
                more = [ours.arm.problem for ours, _ in pairs if len(ours.values) > min(trials)]
                yield (
                    f"All were played {min(trials)} times first; then {', '.join(more)}, which take less time, were\n"
                    f"played on, up to {max(trials)} times."
                )


def other_problems(results: Path) -> Iterator[str]:
    """Problems that are not the paper's: first those that nobody looked at before."""
    found = {what: pairs for what, pairs in unseen(results).items() if pairs}
    if found:
        yield "## Problems that nobody had looked at"
        yield "In the random problems, “10 × 4” are states × actions."
    for (kind, ours, theirs), pairs in found.items():
        yield f"### {kind.removeprefix('unseen, ').capitalize()}: {ours.strip('`')} and {theirs.strip('`')}"
        yield tables.versus(pairs, ours, theirs)
    others = Folder(results / "others", results / "once-unseen")
    if others.arms:
        yield "## Looked at while the planner was made"
    for ours, theirs in COMPARED:
        if pairs := others.pairs(ours, theirs):
            yield tables.versus(pairs, f"`MCTS({said(ours)})`", f"`MCTS.paper({said(theirs)})`")


def changes(folder: Folder) -> Iterator[str]:
    """One thing changed at a time."""
    if folder.arms:
        yield "## One thing changed at a time"
        yield from with_changes(folder)


def left_out(folder: Folder) -> Iterator[str]:
    """Candidates that are not in the search."""
    if folder.arms:
        yield (STUDIES / "candidates.md").read_text(encoding="utf-8")
        yield from with_changes(folder)


def with_changes(folder: Folder) -> Iterator[str]:
    """How often each change helps and hurts by budget; then by how much with few iterations: the nine, then others."""
    found = {
        label: budget
        for label, budget in BUDGETS.items()
        if tables.usual(folder, budget) and tables.changed(folder, budget)
    }
    yield (
        "On how many problems a change is better, **↓**, or worse, **↑**, than `MCTS()` as it is with the same\n"
        "budget, in the same trials; one-sided tests at 95 %."
    )
    yield tables.counts(folder, found)
    budget = {"iterations": FEW}
    problems = list(tables.usual(folder, budget))
    if problems:
        yield (
            f"By how much, with {FEW} iterations: the difference of the mean to that of the first row. *Time* is\n"
            "that of a decision, relative."
        )
    for group in ([p for p in problems if p in NINE], [p for p in problems if p not in NINE]):
        if group:
            yield tables.ablation(folder, group, budget)


def proofs(folder: Path) -> Iterator[str]:
    """What ``gumdp certify --json`` left in a folder, a file a setting."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    if found:
        yield "## How far from the best possible"
        level = min(c["level"] for c in found)
        searches = ", ".join(f"`{name}`" for name in sorted({c["parameters"] for c in found}))
        yield (
            f"`gumdp certify` of {searches}: with {100 * level:g} % confidence the mean cost of the planner is above "
            "that of the best of all policies by no more than the gap."
        )
        yield tables.certificates(found)


def origin(results: Path) -> list[str]:
    """Which code made the numbers."""
    versions = sorted({version for path in results.glob("*") for version in Folder(path).versions})
    if not versions:
        return []
    return ["---", f"Made by `make study` from trials of gumdp {', '.join(versions)}."]


def main(arguments: list[str] | None = None) -> None:
    """Write the pages and their pictures."""
    parser = argparse.ArgumentParser(prog="python -m studies.report", description=__doc__)
    parser.add_argument("results", type=Path, help="the folder that holds the folders of results")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the pages and images/ go")
    given = parser.parse_args(arguments)
    importlib.import_module("studies.unseen_problems")  # which gives its problems their names
    (given.docs / "planning.md").write_text(page(given.results), encoding="utf-8")
    text = tables_page(given.results, given.docs / "images")
    (given.docs / "planning-tables.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
