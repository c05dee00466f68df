"""A folder's report as files: tables, figures and the page; and the reproduction as a Markdown document."""

from __future__ import annotations

import os
from pathlib import Path

from gumdp.errors import GumdpError
from gumdp.report import figures
from gumdp.report.page import lead, page
from gumdp.report.published import RULE
from gumdp.report.story import Story, read_story
from gumdp.report.tables import sheets, verdicts


def write_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write tables, figures and the page of a folder's results to ``out``, its ``report`` folder by default.

    Returns the page's path: ``index.html``, which needs nothing beside it.
    """
    story = read_story(folder)
    if not story.sections:
        raise GumdpError(f"{folder} holds no trials yet; run something into it first.")
    out = Path(folder) / "report" if out is None else Path(out)
    try:
        for part in ("tables", "figures"):
            (out / part).mkdir(parents=True, exist_ok=True)
        drawings = {}
        for section in story.sections:
            for name in figures.figures_of(section):
                drawings[section.label, name] = figures.save(section, name, out / "figures")
        for sheet in sheets(story):
            text = f"{sheet.title}\n\n{sheet.markdown()}\n\n{sheet.legend}\n"
            _write(out / "tables" / f"{sheet.name}.md", text)
            _write(out / "tables" / f"{sheet.name}.tex", sheet.latex())
            _write(out / "tables" / f"{sheet.name}.html", f"{sheet.html()}\n")
        _write(out / "index.html", page(story, drawings))
    except OSError as error:
        raise GumdpError(f"the report can't be written to {out}: {error.strerror}.") from None
    return out / "index.html"


def write_reproduction(folder: str | Path, path: str | Path) -> None:
    """Write the comparison with the paper's Table 1 as a Markdown document."""
    story = read_story(folder)
    if not story.paper:
        raise GumdpError(f"{folder} holds nothing that the paper reports; make it with: gumdp reproduce --out {folder}")
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        _write(Path(path), reproduction(story))
    except OSError as error:
        raise GumdpError(f"{path} can't be written: {error.strerror}.") from None


def reproduction(story: Story) -> str:
    """The comparison with the paper's Table 1, disagreements explained."""
    found = verdicts(story)
    apart = [
        (section, line, verdict) for section, line, verdict in found if verdict != "agrees" and line.planner != "mcts"
    ]
    reasons = []
    for section, line, verdict in apart:
        theirs = section.published(line)
        note = theirs.note if theirs else ""
        reasons.append(f"- **{section.label}, {line.name}**: ours is {verdict}. {note or 'Not explained yet.'}")
    command = story.runs[-1]["command"] if story.runs else "gumdp reproduce"
    parts = [
        "# Reproduction of the paper's Table 1",
        f"Made by `{command}` with gumdp {story.version}.",
        lead(story),
        RULE,
        *(
            f"## {sheet.title}\n\n{sheet.legend}\n\n{sheet.markdown()}"
            for sheet in sheets(story)
            if sheet.name != "means"
        ),
        "## Where the published values and ours differ",
        "\n".join(reasons) if reasons else "Nowhere.",
    ]
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    aside = path.with_name(path.name + ".part")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)
