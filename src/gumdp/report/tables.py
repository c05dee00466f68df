"""The tables that results give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gumdp.report.comparisons import RULE as CLEARLY
from gumdp.report.comparisons import Pair
from gumdp.report.listing import number
from gumdp.report.published import ROWS, RULE, published
from gumdp.report.results import ArmResult
from gumdp.report.sheet import Item, Row, Sheet
from gumdp.report.story import NAMES, Line, Section, Story
from gumdp.zoo.registry import Published

MOST = 5  # decimals
WIDEST = 5  # planners that get a column each
LEGEND = "= agrees, ↓ ours is lower (better), ↑ ours is higher"


def digits(values: list[float], width: float) -> list[str]:
    """``values`` with as many decimals as show two digits of ``width``; four significant digits where that is 0.

    >>> digits([0.08937, 0.05306], 0.05), digits([-3.21e-8, -1e-9], 2e-8)
    (['0.089', '0.053'], ['-3.2e-08', '-1.0e-09'])
    """
    if not (width > 0.0 and math.isfinite(width)):
        return [number(value) for value in values]
    wanted = 1 - math.floor(math.log10(width))
    if wanted > MOST and max(map(abs, values)) < 10.0 ** (1 - MOST):
        return [f"{value:.1e}" for value in values]
    decimals = min(MOST, max(0, wanted))
    return [f"{value:.{decimals}f}" for value in values]


def with_interval(result: ArmResult, method: str = "bca") -> str:
    """A mean and its 90 % interval."""
    if not result.trials:
        return "–"
    low, high = result.interval(0.9, method)
    mean, *ends = digits([result.mean, low, high], (high - low) / 2)
    return f"{mean} [{ends[0]}, {ends[1]}]"


def sheets(story: Story) -> list[Sheet]:
    """Every table that the results give: first the one that tells most, and what is compared."""
    first, beside = means_table(story), published_table(story)
    if story.reproduces:
        first, beside = beside, first
    found = [first, comparison_table(story), gap_table(story), beside, time_table(story)]
    return [sheet for sheet in found if sheet.rows]


def published_table(story: Story) -> Sheet:
    """Table 1: ours with the paper's percentile intervals, above the published values, with a mark for agreement."""
    rows: list[Row] = []
    played = {line.planner for section in story.sections for line in section.played if not line.options}
    planners = [planner for planner in ROWS if planner in played]
    for section in story.sections:
        if any(line.published for line in section.lines):
            plain = {line.planner: line for line in section.played if not line.options}
            items = [_beside(section, planner, plain.get(planner)) for planner in planners]
            rows.append((_label(section), *items, _bound(section)))
    sizes = sorted({result.trials for result in story.results if result.trials})
    ours = f"Ours ({_range(sizes)} trials) with 90 % percentile intervals as in the paper; below, the published value."
    heading = ("setting", *(NAMES[planner] for planner in planners), "no policy is below")
    legend = f"{ours} {LEGEND}.{_noise(story)}"
    return Sheet("table1", "Ours and the paper's Table 1", heading, tuple(rows), legend, RULE)


def _beside(section: Section, planner: str, line: Line | None) -> Item:
    """Ours above the published value, if it was published for exactly this."""
    if line is None:
        return Item("–", str(published(section.problem, planner) or ""))
    if line.published is None:
        budget = line.best.iterations
        return Item(with_interval(line.best, "percentile"), f"{budget} iterations" if budget else "")
    result, theirs = line.published
    verdict = theirs.verdict(result.interval(0.9, "percentile"))
    return Item(with_interval(result, "percentile"), str(theirs), verdict)


def _label(section: Section) -> Item:
    """The problem, with what makes it different on a second line."""
    rest = section.label.removeprefix(section.problem)
    return Item(section.problem, rest)


def _bound(section: Section) -> str:
    return number(float(section.bound["value"])) if section.bound else "–"


def _noise(story: Story) -> str:
    """The word for means of few trials that are below what no true mean can be below."""
    below = [
        section.label
        for section in story.sections
        if section.bound and any(line.best.mean < float(section.bound["value"]) - 1e-12 for line in section.played)
    ]
    if not below:
        return ""
    return f" A mean below the lower bound ({', '.join(below)}) is sampling noise: the bound holds for the true mean."


def _gap(section: Section) -> str:
    """How far the planner of least mean can be from the best policy: to the upper end of its interval."""
    least = min(section.played, key=lambda line: line.best.mean, default=None)
    if not section.bound or least is None or not least.best.trials:
        return "–"
    return f"{max(0.0, least.best.interval(0.9, 'bca')[1] - float(section.bound['value'])):.2g}"


def _range(numbers: list[int]) -> str:
    return "no" if not numbers else f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def means_table(story: Story) -> Sheet:
    """A row for each problem, a column for each planner, with BCa intervals, the least mean bold, the lower bound."""
    names, bounds = story.planners, any(section.bound for section in story.sections)
    rows: list[Row] = []
    for section in story.sections:
        by_name = {line.name: line for line in section.played}
        least = min((line.best.mean for line in section.played), default=math.nan)
        items = [_mean(by_name.get(name), least if len(by_name) > 1 else math.nan) for name in names]
        rows.append((_label(section), *items, *([_bound(section), _gap(section)] if bounds else [])))
    legend = f"Means with 90 % BCa bootstrap intervals; lower is better, the least is bold.{_budgets(story)}"
    if bounds:
        legend += " No policy is below the lower bound, and the best planner here is at most the last number above the"
        legend += f" optimum.{_noise(story)}"
    heading = ("problem", *names, *(["lower bound", "best within"] if bounds else []))
    return _readable(Sheet("means", "Means of all planners", heading, tuple(rows), legend), story)


def _mean(line: Line | None, least: float) -> Item:
    if line is None:
        return Item("–")
    best = math.isclose(line.best.mean, least, rel_tol=1e-12, abs_tol=1e-15)
    return Item(with_interval(line.best), best=best)


def comparison_table(story: Story) -> Sheet:
    """Every candidate against the baseline, trial by trial under common random numbers."""
    pairs = story.pairs
    baselines = list(dict.fromkeys(pair.baseline.name for pair in pairs))
    several = len({pair.candidate.name for pair in pairs}) > 1
    rows = tuple(_pair_row(pair, several) for pair in pairs)
    candidates = ["candidate"] if several else []
    heading = ("problem", *candidates, "in words", "difference, 90 % interval", "effect", "lower in", "pairs")
    who = "Each candidate" if several or not pairs else pairs[0].candidate.name
    against = " and ".join(baselines)
    legend = (
        f"{who} against {against} on the same random numbers: the result in words, the mean difference with a BCa "
        "interval (negative: better), the effect size (Cohen's d of the pairs), and the share of the trials in which "
        f"the candidate is lower (ties count half).{_sides(pairs)}"
    )
    title = f"{'All' if several or not pairs else pairs[0].candidate.name} against {against}"
    return Sheet("comparison", title, heading, rows, legend, CLEARLY)


def _pair_row(pair: Pair, several: bool) -> Row:
    c = pair.comparison
    low, high = c.interval
    mean, *ends = (
        text if text[0] == "-" else f"+{text}" for text in digits([c.difference, low, high], (high - low) / 2)
    )
    interval = f"{mean} [{ends[0]}, {ends[1]}]".replace("-", "−")
    effect = f"{c.effect:+.2f}".replace("-", "−") if math.isfinite(c.effect) else "–"
    words = Item(pair.words, verdict={"better": "lower", "worse": "higher"}.get(pair.clear, ""))
    names = [pair.candidate.name] if several else []
    return (_label(pair.section), *names, words, interval, effect, f"{100 * c.wins:.0f} %", str(c.trials))


def _sides(pairs: Sequence[Pair]) -> str:
    budgets = sorted({side.iterations for pair in pairs for side in pair.sides if side.iterations})
    return f" Searches at {' and '.join(map(str, budgets))} iterations per decision." if budgets else ""


def gap_table(story: Story) -> Sheet:
    """How far the best planner can be from the optimum."""
    rows: list[Row] = []
    for section in story.sections:
        if section.gap is not None and section.bound is not None:
            best, upper, gap = section.gap
            by = str(section.bound.get("method", ""))
            rows.append((_label(section), _bound(section), by, best.name, number(upper), number(gap)))
    heading = ("problem", "no policy is below", "by", "best planner", "its mean is at most", "certified gap")
    legend = (
        "The optimum lies between the lower bound and the best planner's mean, for which the upper end of its 90 % "
        "interval stands (95 % confidence, one-sided)."
    )
    return Sheet("gaps", "Certified gaps", heading, tuple(rows), legend)


def time_table(story: Story) -> Sheet:
    """What a trial costs."""
    names = story.planners
    rows: list[Row] = []
    for section in story.sections:
        each = {line.name: line.best.seconds / line.best.trials for line in section.played}
        rows.append((_label(section), *(f"{each[name]:.2g}" if name in each else "–" for name in names)))
    legend = f"Of one core; compiling is not counted.{_budgets(story)}"
    return _readable(Sheet("times", "Seconds per trial", ("problem", *names), tuple(rows), legend), story)


def _readable(sheet: Sheet, story: Story) -> Sheet:
    """The table with a row for each problem; with a row for each planner where they are many, so that it fits."""
    if len(story.planners) <= max(WIDEST, len(story.sections)):
        return sheet
    heading = ("planner", *(section.label for section in story.sections))
    columns = zip(*sheet.rows, strict=True)
    next(columns)
    rows = tuple((name, *column) for name, column in zip(sheet.heading[1:], columns, strict=True))
    return replace(sheet, heading=heading, rows=rows)


def _budgets(story: Story) -> str:
    found = sorted({line.best.iterations for s in story.sections for line in s.lines if line.best.iterations})
    return f" Searches at {' and '.join(map(str, found))} iterations per decision." if found else ""


def verdicts(story: Story) -> list[tuple[Section, Line, Published, str]]:
    """Every comparison with the paper: (section, line, what the paper has, agrees | lower | higher)."""
    found = []
    for section in story.sections:
        for line in section.lines:
            if line.published is not None:
                result, theirs = line.published
                found.append((section, line, theirs, theirs.verdict(result.interval(0.9, "percentile"))))
    return found
