"""A folder's report as files: tables, figures and the page; and the reproduction as a Markdown document."""

from __future__ import annotations

from pathlib import Path

from gumdp import escape
from gumdp.errors import GumdpError
from gumdp.files import make_folder, write
from gumdp.report import figures
from gumdp.report.page import lead, page
from gumdp.report.story import Story, read_story
from gumdp.report.tables import sheets, verdicts


def write_report(results: Story | str | Path, out: str | Path | None = None) -> Path:
    """Write tables, figures and the page of a folder's results to ``out``, its ``report`` folder by default.

    Returns the page's path: ``index.html``, which needs nothing beside it.
    """
    story = results if isinstance(results, Story) else read_story(results)
    if not story.sections:
        raise GumdpError(f"{story.folder} holds no trials yet; run something into it first.")
    given = out is not None
    out = story.folder / "report" if out is None else Path(out)
    tables = sheets(story)
    try:
        if given:
            out.mkdir(parents=True, exist_ok=True)
        else:
            make_folder(out)
        for part in ("tables", "figures"):
            make_folder(out / part)
        drawings = {section.label: figures.save(section, out / "figures") for section in story.sections}
        for sheet in tables:
            heading = f"{escape.markdown(sheet.title)}\n\n{sheet.markdown()}\n\n{escape.markdown(sheet.legend)}\n"
            write(out / "tables" / f"{sheet.name}.md", heading)
            write(out / "tables" / f"{sheet.name}.tex", sheet.latex())
            write(out / "tables" / f"{sheet.name}.html", f"{sheet.html()}\n")
        overview = figures.overview(story, out / "figures")
        write(out / "index.html", page(story, tables, drawings, overview))
    except OSError as error:
        elsewhere = "" if given else "; name another place with --out"
        raise GumdpError(f"the report can't be written to {out}: {error.strerror}{elsewhere}.") from None
    return out / "index.html"


def write_reproduction(results: Story | str | Path, path: str | Path) -> None:
    """Write the comparison with the paper's Table 1 as a Markdown document."""
    story = results if isinstance(results, Story) else read_story(results)
    if not story.paper:
        make = f"make it with: gumdp reproduce --out {story.folder}"
        raise GumdpError(f"{story.folder} holds nothing that the paper reports; {make}")
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write(Path(path), reproduction(story), through=True)
    except OSError as error:
        raise GumdpError(f"{path} can't be written: {error.strerror}.") from None


def reproduction(story: Story) -> str:
    """The comparison with the paper's Table 1, disagreements explained."""
    reasons = [
        f"- **{escape.markdown(section.label)}, {escape.markdown(line.name)}**: ours is {verdict}. "
        f"{escape.markdown(theirs.note or 'Not explained yet.')}"
        for section, line, theirs, verdict in verdicts(story)
        if verdict != "agrees" and line.planner != "mcts"
    ]
    command = escape.printable(story.runs[-1]["command"] if story.runs else "gumdp reproduce").replace("`", "'")
    parts = [
        "# Reproduction of the paper's Table 1",
        f"Made by `{command}` with gumdp {escape.markdown(story.version)}.",
        *map(escape.markdown, lead(story)),
        *(
            f"## {escape.markdown(sheet.title)}\n\n{escape.markdown(sheet.legend)}\n\n{sheet.markdown()}"
            + (f"\n\n{escape.markdown(sheet.rule)}" if sheet.rule else "")
            for sheet in sheets(story)
            if sheet.name != "means"
        ),
        "## Where the published values and ours differ",
        "\n".join(reasons) if reasons else "Nowhere.",
    ]
    return "\n\n".join(parts) + "\n"
