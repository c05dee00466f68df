"""Tables of the study, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gumdp.experiments.plan.arm import Arm
from gumdp.report.sheet import Item, Sheet
from studies.data import Folder, Played, compare, tally, verdict, verdicts

Budget = Mapping[str, Any]  # options of a planner that say how much it may search

MARKS = {"better": " ↓", "worse": " ↑", "not worse": ""}


def versus(pairs: Sequence[tuple[Played, Played]], ours: str, theirs: str) -> str:
    """One search against the other, a row a problem, with the count of verdicts in front."""
    rows, found = [], verdicts(pairs)
    for (a, b), word in zip(pairs, found, strict=True):
        result = compare(a, b)
        low, high = result.interval
        difference, *ends = [f"{value:+.2g}" if value else "0" for value in (result.difference, low, high)]
        means = [tidy(b.mean, high - low), tidy(a.mean, high - low)]
        rows.append((name(a.arm), *means, f"{difference} [{', '.join(ends)}]", bold(word)))
    heading = ("problem", theirs, ours, "difference, 90 % interval", "ours is")
    table = Sheet("versus", "", heading, tuple(rows)).markdown(trusted=True)
    return f"{ours} is {tally(found)}{trials_of(side for pair in pairs for side in pair)}.\n\n{table}"


def losses(lost: Sequence[tuple[tuple[str, str, str], tuple[Played, Played]]]) -> str:
    """Where ours is worse, each with its difference; or that there is no such problem."""
    if not lost:
        return "On none of them is ours worse by these tests."
    lines = []
    for (_, ours, theirs), (a, b) in lost:
        result = compare(a, b)
        low, high = result.interval
        lines.append(
            f"- {name(a.arm)}: {ours} {tidy(a.mean, high - low)}, {theirs} {tidy(b.mean, high - low)}, "
            f"difference {result.difference:+.2g} [{low:+.2g}, {high:+.2g}]"
        )
    return "\n".join(["Where ours is worse:", "", *lines])


def single(pairs: Sequence[tuple[Played, Played]]) -> str:
    """What single tests say that the correction leaves open, with any of the budgets."""
    found: dict[str, list[str]] = {"better": [], "worse": []}
    for a, b in pairs:
        found[verdict(compare(a, b))].append(name(a.arm))
    said = [f"{word} on {'; '.join(dict.fromkeys(names))}" for word, names in found.items() if names]
    return f"Single tests, without the correction, would also call it {'. They would call it '.join(said)}."


def usual(folder: Folder, budget: Budget) -> dict[str, Played]:
    """Our search as it is with this budget, by problem."""
    return {p: found for p in folder.problems() if (found := folder.find(p, "mcts", **budget))}


def changed(folder: Folder, budget: Budget) -> dict[str, dict[str, Played]]:
    """Our search with this budget and something else changed: by change, then by problem."""
    found: dict[str, dict[str, Played]] = {}
    for played in folder.arms:
        options = dict(played.arm.planner_options)
        own = {key: options.pop(key, None) for key in budget}
        if own == budget and options:
            found.setdefault(change(options), {})[played.arm.problem_label] = played
    return found


def ablation(folder: Folder, problems: Sequence[str], budget: Budget) -> str:
    """What each change does to the mean with this budget, a row a change, a column a problem."""
    ours = usual(folder, budget)
    rows = [("as it is", *(f"{ours[p].mean:.3g}" for p in problems), "", "1")]
    for label, by_problem in changed(folder, budget).items():
        arms, verdicts, ratios = [], [], []
        for p in problems:
            if p not in by_problem:
                arms.append("–")
                continue
            result = compare(by_problem[p], ours[p])
            verdicts.append(verdict(result))
            ratios.append(by_problem[p].decision / ours[p].decision)
            text = f"{result.difference:+.1g}" if result.difference else "0"
            arms.append(f"**{text}{MARKS[verdicts[-1]]}**" if MARKS[verdicts[-1]] else text)
        if verdicts:
            rows.append((label, *arms, count(verdicts), f"{np.exp(np.mean(np.log(ratios))):.2g}"))
    heading = ("change", *(name(ours[p].arm) for p in problems), "in all", "time")
    return Sheet("ablation", "", heading, tuple(rows)).markdown(trusted=True)


def counts(folder: Folder, budgets: Mapping[str, Budget]) -> str:
    """On how many problems each change is better and worse, a row a change, a column a budget."""
    heading, columns = ["change"], []
    for label, budget in budgets.items():
        ours, changes = usual(folder, budget), changed(folder, budget)
        played = [arm for by_problem in changes.values() for arm in by_problem.values()]
        problems = {p for by_problem in changes.values() for p in by_problem if p in ours}
        heading.append(f"{label}, {len(problems)} problems{trials_of(played)}")
        columns.append({
            text: count([verdict(compare(by_problem[p], ours[p])) for p in ours if p in by_problem])
            for text, by_problem in changes.items()
        })  # fmt: skip
    labels = dict.fromkeys(label for column in columns for label in column)
    rows = [(label, *(column.get(label, "–") for column in columns)) for label in labels]
    return Sheet("counts", "", tuple(heading), tuple(rows)).markdown(trusted=True)


def count(verdicts: Sequence[str]) -> str:
    """How often a change is better, and worse.

    >>> count(["better", "not worse", "worse", "worse"])
    '1 ↓ 2 ↑'
    """
    return f"{verdicts.count('better')} ↓ {verdicts.count('worse')} ↑"


def certificates(found: Iterable[dict[str, Any]]) -> str:
    """How far the search can be from the best policy, a row a setting."""
    rows = [
        (
            c["setting"],
            f"{c['lower']:.4g}",
            f"{c['mean']:.4g}",
            f"{c['upper']:.4g}",
            f"{c['gap']:.2g}",
            str(c["trials"]),
        )
        for c in found
    ]
    heading = ("setting", "no policy is below", "mean", "at most", "gap", "trials")
    return Sheet("certificates", "", heading, tuple(rows)).markdown(trusted=True)


def name(arm: Arm) -> str:
    """A problem in a few words: the random ones by what they are made of.

    >>> name(Arm("random-small", "random", {"states": 9, "seed": 3, "branching": 1}))
    '9 × 2 entropy, deterministic, seed 3'
    """
    if arm.problem != "random-small":
        return arm.problem_label.replace("(", " (", 1)
    has = {"states": 3, "actions": 2, "branching": 2, "objective": "entropy", "seed": 0, **arm.problem_options}
    parts = [f"{has['states']} × {has['actions']} {has['objective']}"]
    parts += ["deterministic"] if has["branching"] == 1 else []
    parts += [f"{has['branching']} outcomes"] if has["branching"] > 3 else []
    parts += [f"discount {has['discount']:g}"] if "discount" in has else []
    parts += [f"{has['episodes']} episodes"] if "episodes" in has else []
    return ", ".join([*parts, f"seed {has['seed']}"])


def change(options: dict[str, Any]) -> str:
    """Options as they are typed."""
    return ", ".join(f"`{key}={value!r}`" for key, value in options.items())


def tidy(value: float, width: float) -> str:
    """``value`` with two digits of the ``width`` of an interval, but no more than five digits.

    >>> tidy(0.0123456, 0.002), tidy(0.594012345, 1e-9), tidy(0.0, 0.0)
    ('0.0123', '0.59401', '0')
    """
    if width == 0.0:
        return f"{value:.5g}"
    places = max(0, 1 - math.floor(math.log10(width)))
    rounded = f"{value:.{places}f}"
    return rounded if len(rounded.lstrip("-0.")) <= 5 else f"{value:.5g}"


def bold(word: str) -> Item:
    """What is proved stands out."""
    return Item(word, best=word != "not worse")


def trials_of(arms: Iterable[Played]) -> str:
    """How many trials these cells have, in words."""
    counts = {len(played.values) for played in arms}
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f" ({low} trials)" if low == high else f" ({low} to {high} trials)"
