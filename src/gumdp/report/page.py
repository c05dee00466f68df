"""One self-contained HTML page: what was run, on what, the tables, the figures, how to run it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gumdp.report.sheet import Sheet, templates
from gumdp.report.tables import verdicts

if TYPE_CHECKING:
    from gumdp.report.figures import Drawing
    from gumdp.report.story import Section, Story

# Nothing is loaded and nothing runs, whatever has found its way into the page; only its own style counts.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
COSTS = "Every value is a cost: lower is better."


OPEN = 2  # tables that are seen at once; the others unfold


def page(
    story: Story,
    tables: Sequence[Sheet],
    drawings: Mapping[str, Sequence[Drawing]],
    overview: Drawing | None = None,
) -> str:
    """The page as text. ``drawings`` are the figures of each problem, by its label."""
    from markupsafe import Markup

    loader = templates().loader
    assert loader is not None
    sections = [
        {"place": k, "label": section.label, "note": _note(section), "drawings": drawings[section.label]}
        for k, section in enumerate(story.sections)
    ]
    return templates().get_template("page.html").render(
        story=story,
        policy=POLICY,
        style=Markup(loader.get_source(templates(), "style.css")[0]),
        lead=lead(story),
        failures=story.failures,
        facts=_facts(story),
        sheets=tables[:OPEN],
        folded=tables[OPEN:],
        overview=overview,
        sections=sections,
        commands=_commands(story),
        runs=_runs(story),
    )  # fmt: skip


def lead(story: Story) -> list[str]:
    """What it is about, and the result, in a paragraph each."""
    return [text for text in (story.study.text.strip(), " ".join([COSTS, *_findings(story)])) if text]


def _findings(story: Story) -> list[str]:
    """The result in a few sentences."""
    found = [verdict for _, line, _, verdict in verdicts(story) if line.planner != "mcts"]
    said = []
    if found:
        word = "agrees with" if found[0] == "agrees" else "differs from"
        alone = f"The one value that the paper reports {word} ours."
        many = f"{found.count('agrees')} of {len(found)} values that the paper reports agree with ours."
        said.append(alone if len(found) == 1 else many)
    return [*said, *_compared(story)]


def _compared(story: Story) -> list[str]:
    """How the candidates did against the baseline, those that did alike in one sentence."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for pair in story.pairs:
        counts.setdefault((pair.candidate.name, pair.baseline.name), Counter())[pair.clear] += 1
    groups: dict[tuple[str, str], list[str]] = {}
    for (candidate, baseline), count in counts.items():
        groups.setdefault((baseline, _outcome(count, baseline)), []).append(candidate)
    return [
        f"On the same random numbers, {in_a_row(names)} {'is' if len(names) == 1 else 'are'} {outcome}."
        for (_, outcome), names in groups.items()
    ]


def _outcome(count: Counter[str], baseline: str) -> str:
    """Better, worse or neither, and on how many problems."""
    total = count.total()
    many = "the one problem" if total == 1 else f"{total} problems"
    place = "" if total == 1 else " on {}"
    said = [
        f"clearly {word} than {baseline}" + place.format(count[word]) for word in ("better", "worse") if count[word]
    ]
    said[1:] = [text.replace(f" than {baseline}", "") for text in said[1:]]
    if not said:
        return f"not clearly different from {baseline} on {'any of ' if total > 1 else ''}{many}"
    return " and ".join(said) + (f" of {many}" if total > 1 else "")


def in_a_row(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> in_a_row(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _facts(story: Story) -> list[tuple[str, str]]:
    wall = sum(run["seconds"] or 0.0 for run in story.runs)
    search = [
        line.published[0]
        for section in story.sections
        for line in section.lines
        if line.planner == "mcts-paper" and line.published is not None
    ]
    count = len(story.sections)
    facts = [
        (str(count), "problem" if count == 1 else "problems"),
        (f"{story.trials:,}".replace(",", "\u202f"), "trials"),
        (_time(wall), f"on {_cores(story)} for all of it"),
    ]
    if search:
        trials = sum(result.trials for result in search)
        seconds = _time(sum(result.seconds for result in search))
        facts.append((seconds, f"of one core for the {trials} trials of the paper's search"))
    found = [section.gap for section in story.sections if section.gap]
    if found:
        least = min(gap for _, _, gap in found)
        facts.append((f"{least:.2g}" if least > 1e-12 else "0", "smallest certified gap to the optimum"))
    return facts


def _note(section: Section) -> str:
    bound = f"no policy is below {section.bound['value']:.4g}" if section.bound is not None else ""
    return " · ".join(part for part in (section.summary, bound) if part)


def _commands(story: Story) -> str:
    commands = list(dict.fromkeys(run["command"] for run in story.runs))[-3:]
    return "\n".join([*commands, f"gumdp report {story.folder}", f"gumdp results {story.folder} --csv trials.csv"])


def _runs(story: Story) -> Sheet:
    rows = []
    for run in story.runs[-10:]:
        machine = run["machine"]
        packages = ", ".join(f"{k} {v}" for k, v in machine.get("packages", {}).items())
        rows.append(
            (
                str(run["started"]),
                f"{run['engine']}, {machine.get('processor', '')}, {machine.get('cores', '?')} cores",
                f"Python {machine.get('python', '')}, {packages}",
                _time(run["seconds"]) if run["seconds"] is not None else "–",
                str(run["status"] or "ended without a word"),
            )
        )
    return Sheet("runs", "Runs", ("started", "on", "with", "took", "ended"), tuple(rows))


def _cores(story: Story) -> str:
    cores: set[Any] = {str(run["machine"].get("cores", "?")) for run in story.runs}
    return f"{cores.pop()} cores" if len(cores) == 1 else "several machines"


def _time(seconds: float) -> str:
    """A time as people read it."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
