"""One self-contained HTML page: what was run, on what, the tables, the figures, how to run it again."""

from __future__ import annotations

import html
from collections.abc import Mapping

from gumdp.report.published import RULE
from gumdp.report.story import Section, Story
from gumdp.report.tables import Sheet, sheets, verdicts

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fdfdfc; --soft: #5b6470; --line: #d9dde2; --panel: #f4f5f6;
  --faint: #8a9099; --good: #00684c; --bad: #a8330c; --link: #0b5394;
  --of-random: #7f7f7f; --of-solver: #e69f00; --of-mcts-paper: #0072b2; --of-mcts: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --paper: #15181c; --soft: #a3abb5; --line: #343a42;
  --panel: #1d2126; --faint: #7d8590; --good: #4fc39b; --bad: #ff8f66; --link: #7cb8f2;
  --of-random: #a0a0a0; --of-solver: #f2b134; --of-mcts-paper: #4aa3e0; --of-mcts: #ff7a2e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem clamp(1rem, 3vw, 2.5rem) 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0 .3rem; } h2 { font-size: 1.35rem; margin: 3rem 0 .6rem; }
h3 { font-size: 1.08rem; margin: 2.2rem 0 .1rem; } p { max-width: 46rem; } a { color: var(--link); }
.lead { font-size: 1.1rem; color: var(--soft); margin-top: 0; } .note { color: var(--soft); font-size: .92rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .95rem; margin: 1.2rem 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .8rem; margin: 1.6rem 0; }
.facts div { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; }
.facts b { display: block; font-size: 1.5rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.facts span { color: var(--soft); font-size: .88rem; }
.scroll { overflow-x: auto; margin: .8rem 0; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem .35rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child { text-align: left; font-weight: 600; } thead th { color: var(--soft); font-weight: 600; }
td small, th small { color: var(--soft); font-weight: 400; }
tbody tr:hover { background: var(--panel); } .lower { color: var(--good); font-weight: 700; }
.agrees { color: var(--good); font-weight: 700; } .higher { color: var(--bad); font-weight: 700; }
.trio { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .88rem; padding: .1rem .3rem; }
svg text { fill: var(--ink); font-family: inherit !important; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem;
  overflow-x: auto; font-size: .9rem; }
.failed { border-left: 4px solid var(--bad); padding: .2rem 1rem; background: var(--panel); }
@media print { body { max-width: none; } nav { display: none; } .trio { break-inside: avoid; } }
"""
CAPTIONS = {
    "means": "Mean value of a trial, with 90 % intervals",
    "distributions": "Values of single trials",
    "curve": "Mean value over the iterations of a decision, with 90 % intervals",
}


def page(story: Story, drawings: Mapping[tuple[str, str], str]) -> str:
    """The page as text. ``drawings`` are the figures by (problem, name), as ``figures.inline`` makes them."""
    title = "The paper's evaluation, reproduced" if story.paper else f"Results in {story.folder.name}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="lead">{lead(story)}</p>',
        _failures(story),
        _facts(story),
        _contents(story),
        *map(_sheet, sheets(story)),
        '<h2 id="figures">Figures</h2>',
        *(_section(section, drawings) for section in story.sections),
        _again(story),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{html.escape(title)} · gumdp</title>\n<link rel="icon" href="data:,">\n<style>{STYLE}</style></head>\n'
        f"<body>\n{chr(10).join(part for part in parts if part)}\n</body></html>\n"
    )


def lead(story: Story) -> str:
    """The result in two sentences."""
    text = (
        "Single-trial planning: a controller acts once, and is scored by a function of where it spent its time. "
        "Every value is a cost: lower is better."
    )
    found = [verdict for _, line, verdict in verdicts(story) if line.planner != "mcts"]
    if found:
        text += f" {found.count('agrees')} of {len(found)} values that the paper reports agree with ours."
    pairs = [c for section in story.sections if (c := section.comparison("mcts", "mcts-paper"))]
    if pairs:
        better = sum(c.interval[1] < 0 for c in pairs)
        worse = sum(c.interval[0] > 0 for c in pairs)
        text += (
            f" On the same trials MCTS() is clearly lower than the paper's search in {better} of {len(pairs)} settings "
            f"and clearly higher in {worse}."
        )
    return text


def _failures(story: Story) -> str:
    if not story.failures:
        return ""
    items = "".join(f"<li>{html.escape(text)}</li>" for text in story.failures[:20])
    more = f"<p>and {len(story.failures) - 20} more.</p>" if len(story.failures) > 20 else ""
    head = "<p><b>Some trials failed</b> and are not in the tables.</p>"
    return f'<div class="failed">{head}<ul>{items}</ul>{more}</div>'


def _facts(story: Story) -> str:
    wall = sum(run["seconds"] or 0.0 for run in story.runs)
    search = [
        line.best
        for section in story.sections
        for line in section.lines
        if line.planner == "mcts-paper" and section.published(line) is not None
    ]
    facts = [
        (str(len(story.sections)), "problems"),
        (f"{story.trials:,}".replace(",", "\u202f"), "trials"),
        (_time(wall), f"on {_cores(story)} for all of it"),
    ]
    if search:
        count = sum(result.values.size for result in search)
        facts.append(
            (_time(sum(r.seconds for r in search)), f"of one core for the {count} trials of the paper's search")
        )
    found = [section.gap for section in story.sections if section.gap]
    if found:
        facts.append((f"{min(gap for _, _, gap in found):.2g}", "smallest certified gap to the optimum"))
    return '<div class="facts">' + "".join(f"<div><b>{a}</b><span>{b}</span></div>" for a, b in facts) + "</div>"


def _contents(story: Story) -> str:
    links = [(sheet.name, sheet.title) for sheet in sheets(story)]
    links += [("figures", "Figures"), ("again", "Run it again")]
    return "<nav>" + "".join(f'<a href="#{name}">{html.escape(title)}</a>' for name, title in links) + "</nav>"


def _sheet(sheet: Sheet) -> str:
    rule = f'<p class="note">{html.escape(RULE)}</p>' if sheet.name == "table1" else ""
    return (
        f'<h2 id="{sheet.name}">{html.escape(sheet.title)}</h2>\n<p class="note">{html.escape(sheet.legend)}</p>\n'
        f'<div class="scroll" tabindex="0">{sheet.html()}</div>{rule}'
    )


def _section(section: Section, drawings: Mapping[tuple[str, str], str]) -> str:
    found = [(name, drawings[section.label, name]) for name in CAPTIONS if (section.label, name) in drawings]
    figures = "".join(f"<figure>{svg}<figcaption>{CAPTIONS[name]}</figcaption></figure>" for name, svg in found)
    note = ""
    if section.bound is not None:
        note = f" · no policy is below {section.bound['value']:.4g}"
    return (
        f'<h3 id="{html.escape(section.label)}">{html.escape(section.label)}</h3>'
        f'<p class="note">{html.escape(section.title)}{note}</p><div class="trio">{figures}</div>'
    )


def _again(story: Story) -> str:
    rows = []
    for run in story.runs[-10:]:
        machine = run["machine"]
        packages = ", ".join(f"{k} {v}" for k, v in machine.get("packages", {}).items())
        rows.append(
            (
                run["started"],
                f"{run['engine']}, {machine.get('processor', '')}, {machine.get('cores', '?')} cores",
                f"Python {machine.get('python', '')}, {packages}",
                _time(run["seconds"]) if run["seconds"] is not None else "–",
                run["status"] or "ended without a word",
            )
        )
    sheet = Sheet("runs", "Runs", ("started", "on", "with", "took", "ended"), tuple(rows))
    commands = list(dict.fromkeys(run["command"] for run in story.runs))[-3:]
    lines = "\n".join([*commands, f"gumdp report {story.folder}", f"gumdp results {story.folder} --csv trials.csv"])
    return (
        f'<h2 id="again">Run it again</h2><p>gumdp {html.escape(story.version)}. The same seed gives the same numbers '
        f"to the bit, whatever the number of cores and the engine; a run that was cut short goes on with the same "
        f"command.</p>"
        f'<pre>{html.escape(lines)}</pre><div class="scroll" tabindex="0">{sheet.html()}</div>'
    )


def _cores(story: Story) -> str:
    cores = {run["machine"].get("cores") for run in story.runs}
    return html.escape(f"{cores.pop()} cores") if len(cores) == 1 else "several machines"


def _time(seconds: float) -> str:
    """A time as people read it."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
