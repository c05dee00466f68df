"""Tables of results, as Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from gumdp.report.listing import number
from gumdp.report.published import ROWS, published
from gumdp.report.results import CellResult
from gumdp.report.story import NAMES, Line, Section, Story

MARKS = {"agrees": "=", "lower": "↓", "higher": "↑"}
LEGEND = "= agrees, ↓ ours is lower (better), ↑ ours is higher"


@dataclass(frozen=True)
class Sheet:
    """A table of words: a title, a heading and rows. The first column is text, the others are numbers. A cell may have
    a second line, for what belongs to its number."""

    name: str  # of files
    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: str = ""

    def markdown(self) -> str:
        """The table for a README.

        >>> print(Sheet("a", "A", ("x", "y"), (("1", "2"),)).markdown())
        | x | y |
        |:--|--:|
        | 1 | 2 |
        """
        lines = [self.heading, *self.rows]
        text = [
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in line) + " |" for line in lines
        ]
        text.insert(1, "|:--" + "|--:" * (len(self.heading) - 1) + "|")
        return "\n".join(text)

    def latex(self) -> str:
        """The table for a paper; needs booktabs."""
        body = [" & ".join(map(_tex, line)) + r" \\" for line in (self.heading, *self.rows)]
        columns = "l" + "r" * (len(self.heading) - 1)
        return "\n".join(
            [
                f"% {self.title}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                body[0],
                r"\midrule",
                *body[1:],
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def html(self) -> str:
        """The table for a page."""
        head = "".join(f"<th scope=col>{html.escape(cell)}</th>" for cell in self.heading)
        rows = "".join(f"<tr>{''.join(_cell(k, cell) for k, cell in enumerate(row))}</tr>\n" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"


def _cell(k: int, text: str) -> str:
    first, line, second = html.escape(text).partition("\n")
    for verdict, mark in MARKS.items():
        if first.endswith(f" {mark}"):
            first = f'{first[:-1]}<span class="{verdict}" title="{verdict}">{mark}</span>'
    content = first + (f"<br><small>{second}</small>" if line else "")
    return f"<th scope=row>{content}</th>" if k == 0 else f"<td>{content}</td>"


TEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "−": "$-$", "·": r"$\cdot$", "↓": r"$\downarrow$",
       "↑": r"$\uparrow$", "–": "--", "×": r"$\times$", "≥": r"$\ge$", "≤": r"$\le$"}  # fmt: skip


def _tex(text: str) -> str:
    lines = ["".join(TEX.get(letter, letter) for letter in line) for line in text.split("\n")]
    return lines[0] if len(lines) == 1 else r"\shortstack[r]{" + r"\\".join(lines) + "}"


def digits(values: list[float], width: float) -> list[str]:
    """``values`` with as many decimals as show two digits of ``width``; four significant digits where that is 0.

    >>> digits([0.08937, 0.05306], 0.05)
    ['0.089', '0.053']
    """
    if not width > 0.0:
        return [number(value) for value in values]
    decimals = min(5, max(0, 1 - math.floor(math.log10(width))))
    return [f"{value:.{decimals}f}" for value in values]


def with_interval(result: CellResult, method: str = "bca") -> str:
    """A mean and its 90 % interval."""
    if not result.values.size:
        return "–"
    low, high = result.interval(0.9, method)
    mean, *ends = digits([result.mean, low, high], (high - low) / 2)
    return f"{mean} [{ends[0]}, {ends[1]}]"


def sheets(story: Story) -> list[Sheet]:
    """Every table that the results give."""
    found = [published_table(story) if story.paper else None, means_table(story)]
    found += [gap_table(story), comparison_table(story), time_table(story)]
    return [sheet for sheet in found if sheet is not None and sheet.rows]


def published_table(story: Story) -> Sheet:
    """Table 1: ours with the paper's percentile intervals, above the published values, with a mark for agreement."""
    columns = [(planner, NAMES[planner]) for planner in ROWS]
    rows = []
    for section in story.sections:
        if not any(section.published(line) for line in section.lines):
            continue
        cells = []
        for planner, name in columns:
            line = next((line for line in section.lines if line.name == name and line.best.values.size), None)
            theirs = section.published(line) if line else None
            if line is None or theirs is None:
                cells.append(f"–\n{published(section.problem, planner) or ''}")
                continue
            mark = MARKS[theirs.verdict(line.best.interval(0.9, "percentile"))]
            cells.append(f"{with_interval(line.best, 'percentile')} {mark}\n{theirs}")
        rows.append((_label(section), *cells, _bound(section)))
    sizes = sorted({line.best.values.size for s in story.sections for line in s.lines if line.best.values.size})
    ours = f"Ours ({_range(sizes)} trials) with 90 % percentile intervals as in the paper; below, the published value."
    legend = f"{ours} {LEGEND}."
    heading = ("setting", *(name for _, name in columns), "no policy is below")
    return Sheet("table1", "Ours and the paper's Table 1", heading, tuple(rows), legend)


def _label(section: Section) -> str:
    """The problem, with what makes it different on a second line."""
    rest = section.label.removeprefix(section.problem)
    return f"{section.problem}\n{rest}" if rest else section.label


def _bound(section: Section) -> str:
    return number(float(section.bound["value"])) if section.bound else "–"


def _range(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def means_table(story: Story) -> Sheet:
    """A row for each problem, a column for each planner, with BCa intervals, and the lower bound."""
    names = [name for _, name in story.planners]
    rows = []
    for section in story.sections:
        by_name = {line.name: line for line in section.lines}
        cells = [with_interval(by_name[name].best) if name in by_name else "–" for name in names]
        rows.append((_label(section), *cells, _bound(section)))
    legend = f"Means with 90 % BCa bootstrap intervals; lower is better.{_budgets(story)}"
    return Sheet("means", "Means of all planners", ("problem", *names, "lower bound"), tuple(rows), legend)


def gap_table(story: Story) -> Sheet:
    """How far the best planner can be from the optimum."""
    rows = []
    for section in story.sections:
        if section.gap is not None and section.bound is not None:
            best, upper, gap = section.gap
            by = str(section.bound["method"])
            rows.append((_label(section), _bound(section), by, best.name, number(upper), number(gap)))
    heading = ("problem", "no policy is below", "by", "best planner", "its mean is at most", "certified gap")
    legend = (
        "The optimum lies between the lower bound and the best planner's mean, for which the upper end of its 90 % "
        "interval stands (95 % confidence, one-sided)."
    )
    return Sheet("gaps", "Certified gaps", heading, tuple(rows), legend)


def comparison_table(story: Story) -> Sheet:
    """Ours against the paper's search, trial by trial under common random numbers."""
    rows = []
    for section in story.sections:
        c = section.comparison("mcts", "mcts-paper")
        if c is not None:
            low, high = c.interval
            interval = f"{c.difference:+.3g} [{low:+.3g}, {high:+.3g}]".replace("-", "−")
            effect, p = f"{c.effect:+.2f}".replace("-", "−"), f"{c.p_better:.2g}"
            rows.append((_label(section), str(c.trials), interval, effect, f"{100 * c.improvement:.0f} %", p))
    heading = ("problem", "pairs", "difference, 90 % interval", "effect size", "probability of improvement", "p")
    legend = (
        "MCTS() minus MCTS.paper() on the same random numbers: BCa interval of the mean difference, Cohen's d of the "
        "pairs, the probability that a trial is lower, and the one-sided p-value of a paired t-test for lower."
    )
    return Sheet("comparison", "MCTS() against MCTS.paper()", heading, tuple(rows), legend)


def time_table(story: Story) -> Sheet:
    """What a trial costs."""
    names = [name for _, name in story.planners]
    rows = []
    for section in story.sections:
        each = {line.name: line.best.seconds / line.best.values.size for line in section.lines if line.best.values.size}
        rows.append((_label(section), *(f"{each[name]:.2g}" if name in each else "–" for name in names)))
    legend = f"Of one core; compiling is not counted.{_budgets(story)}"
    return Sheet("times", "Seconds a trial", ("problem", *names), tuple(rows), legend)


def _budgets(story: Story) -> str:
    found = sorted({line.best.iterations for s in story.sections for line in s.lines if line.best.iterations})
    return f" Searches at {' and '.join(map(str, found))} iterations a decision." if found else ""


def verdicts(story: Story) -> list[tuple[Section, Line, str]]:
    """Every comparison with the paper: (section, line, agrees | lower | higher)."""
    found = []
    for section in story.sections:
        for line in section.lines:
            theirs = section.published(line)
            if theirs is not None and line.best.values.size:
                found.append((section, line, theirs.verdict(line.best.interval(0.9, "percentile"))))
    return found
