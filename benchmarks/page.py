"""The page *How fast* of the documentation, its picture, and the history of the ratios."""

from __future__ import annotations

import datetime
import json
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs" / "speed.md", ROOT / "docs" / "images" / "growth.png"
HISTORY = Path(__file__).resolve().parent / "history.jsonl"
BEGIN, END = "<!-- {}: made by make bench -->", "<!-- end -->"
RECENT, SLOWER = 5, 1.1  # a ratio counts as slower if it is so much above the median of so many before


def write(results: dict[str, Any]) -> None:
    """Bring the page up to date with those parts that were measured."""
    text = PAGE.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        if name in results and (body := make(results[name])):
            text = filled(text, name, body)
    PAGE.write_text(text, encoding="utf-8")
    if "growth" in results:
        draw(results["growth"])


def filled(text: str, name: str, body: str) -> str:
    """The text with ``body`` between the marks of ``name``.

    >>> filled("a <!-- x: made by make bench -->old<!-- end --> b", "x", "new")
    'a <!-- x: made by make bench -->\\nnew\\n<!-- end --> b'
    """
    before, rest = text.split(BEGIN.format(name), 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN.format(name)}\n{body}\n{END}{after}"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    lines = [headings, [":--", *["--:"] * (len(headings) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def limit(rows: list[dict[str, Any]]) -> str:
    """Against bare rollouts."""
    headings = [
        "problem",
        "µs per iteration",
        "× bare",
        "two bare at once × bare",
        "a trial × bare",
        "two trials at once × bare",
        "two trials at once × bare in C",
        "`MCTS()` × paper",
    ]
    return table(headings, [
        [f"`{r['problem']}`", f"{r['us_an_iteration']:.2f}", f"{r['ratio_root']:.2f}", f"{r['ratio_bare_both']:.2f}",
         f"{r['ratio_trial']:.2f}", f"{r['ratio_two_trials']:.2f}",
         f"{r['ratio_two_trials_to_c']:.2f}" if "ratio_two_trials_to_c" in r else "",
         f"{r['ours_to_paper_trial']:.2g}"] for r in rows
    ])  # fmt: skip


def python(rows: list[dict[str, Any]]) -> str:
    """Against plain Python."""
    return table(["problem", "plain Python, µs", "compiled, µs", "ratio"], [
        [f"`{r['problem']}`", f"{r['python_us']:.0f}", f"{r['compiled_us']:.2f}", f"{r['ratio']:.0f}"] for r in rows
    ])  # fmt: skip


def packages(rows: list[dict[str, Any]]) -> str:
    """Against packages, as far as they are installed; nothing if none is."""
    measured = [
        [r["package"], f"{r['us_an_iteration']:.3g}", f"{r['ratio']:.3g}", f"{r['ratio_cpu']:.3g}"]
        for r in rows if "ratio" in r
    ]  # fmt: skip
    if len(measured) < 2:
        return ""
    words = (
        "Packages for tree search, on `m1-entropy` with rollouts of 100 steps. mctx runs 128 searches at once on every "
        "core that it finds, gumdp two on one core:\n\n"
    )
    return words + table(["package", "µs per iteration", "× ours, on the clock", "× ours, of the processor"], measured)


def threads(rows: list[dict[str, Any]]) -> str:
    """Two threads."""
    (row,) = rows
    return (
        f"On two cores, two threads play {row['trials_speedup']:.2f} times as many trials per second as one, and "
        f"search {row['root_parallel_speedup']:.2f} times as many iterations per second for one decision "
        f"(`{row['problem']}`)."
    )


def startup(rows: list[dict[str, Any]]) -> str:
    """The first answer of a new process."""
    return table(["a new process, with its imports", "first time, s", "of the processor", "next time, s"], [
        [r["what"], f"{r['cold']:.1f}", f"{r['cold_cpu']:.1f}", f"{r['warm']:.2f}"] for r in rows
    ])  # fmt: skip


def growth(found: dict[str, dict[str, float]]) -> str:
    """The ends of the curves, in words; the picture has the rest."""
    iterations, memory = found["iterations"], found["bytes_a_node"]
    few, many = iterations["1000"], iterations[max(iterations, key=int)]
    return (
        f"An iteration of a search with {int(max(iterations, key=int)):,} iterations takes {many / few:.2f} times as "
        f"long as one of 1,000: the tree no longer fits into the processor's cache. A node takes "
        f"{memory['2']:.0f} bytes at two actions and {memory['4']:.0f} at four."
    )


TABLES = {
    "limit": limit, "python": python, "packages": packages, "threads": threads, "startup": startup, "growth": growth,
}  # fmt: skip


def draw(found: dict[str, dict[str, float]]) -> None:
    """The time per iteration over the size of the problem and of the search."""
    import matplotlib

    matplotlib.use("Agg")
    from docs.narrow import also_narrow
    from matplotlib import pyplot

    labels = {"states": "states", "actions": "actions", "horizon": "steps of a trial", "iterations": "iterations"}
    figure, axes = pyplot.subplots(2, 2, figsize=(7.0, 5.4), layout="constrained")
    for ax, (name, label) in zip(axes.flat, labels.items(), strict=True):
        sizes = [int(n) for n in found[name]]
        ax.plot(sizes, list(found[name].values()), color="#0072B2", marker="o", markersize=4)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [short(n) for n in sizes])
        ax.minorticks_off()
        ax.set_xlabel(label)
        ax.set_ylim(0.0, 1.15 * max(found[name].values()))
        ax.spines[["top", "right"]].set_visible(False)
    figure.supylabel("µs per iteration")
    with also_narrow():
        figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def short(n: int) -> str:
    """A number for an axis."""
    for size, letter in ((10**6, "M"), (1000, "k")):
        if n >= size:
            return f"{n // size}{letter}"
    return str(n)


def ratios(results: dict[str, Any]) -> dict[str, float]:
    """What can be compared between runs: ratios that were taken in one run."""
    found = {}
    for row in results.get("limit", ()):
        for key in ("ratio_root", "ratio_trial", "ratio_two_trials", "ours_to_paper_trial"):
            found[f"{row['problem']} {key}"] = row[key]
    for row in results.get("python", ()):
        found[f"{row['problem']} compiled to python"] = 1.0 / row["ratio"]
    return {name: round(value, 4) for name, value in found.items()}


def remember(results: dict[str, Any], history: Path = HISTORY) -> list[str]:
    """Add a line to the history; what has become slower, in words."""
    now, before = (
        ratios(results),
        [json.loads(line) for line in history.read_text().splitlines()] if history.exists() else [],
    )
    slower = []
    for name, value in now.items():
        known = [row["ratios"][name] for row in before if name in row["ratios"]][-RECENT:]
        if known and value > SLOWER * statistics.median(known):
            slower.append(f"{name}: {value:.3g}, where it was {statistics.median(known):.3g}")
    if now:
        facts = {key: results[key] for key in ("gumdp", "numba", "python_version", "machine")}
        line = {"date": datetime.date.today().isoformat(), **facts, "ratios": now}
        with history.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return slower
