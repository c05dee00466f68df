"""gumdp reproduce and report: the paper's evaluation, and pages to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gumdp.cli.experiments import make_engine, play, resume_line, summary_data, takes_engine, tell_end
from gumdp.cli.output import console, json_option, print_json
from gumdp.errors import GumdpError, check_int

if TYPE_CHECKING:
    from gumdp.experiments.plan.experiment import Experiment
    from gumdp.report.story import Story


@click.command("reproduce")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder.")
@click.option("--trials", type=int, default=None, help="Of each arm; 10, as in the paper, if not given.")
@click.option("--settings", default=None, metavar="A,B,…", help="Names or parts of names; all nine if not given.")
@click.option("--curves/--no-curves", default=True, show_default=True, help="Budgets below 4000 iterations too.")
@click.option("--quick", is_flag=True, help="A small one: 4 trials, up to 200 iterations.")
@click.option(
    "--document", type=click.Path(path_type=Path), default=None, help="Also write the comparison as Markdown."
)
@takes_engine
@json_option()
def reproduce(
    out: Path, trials: int | None, settings: str | None, curves: bool, quick: bool, document: Path | None, engine: str,
    address: str | None, workers: int | None, as_json: bool,
) -> int:  # fmt: skip
    """Run the paper's evaluation, or what is missing of it. It makes Table 1, the figures of appendix C, and a page.

    Nine settings; random, solver, the paper's search and ours, and a lower bound of what any policy can attain.

    \b
    Example:
      gumdp reproduce --quick --settings m2 --out results/quick

    Without --quick it takes about five minutes on two cores; interrupted, the same command goes on from there.
    """
    from gumdp.report.document import write_report, write_reproduction
    from gumdp.report.story import read_story

    experiment = plan(settings, trials, curves, quick)
    resume = resume_line()
    summary = play(experiment, out, make_engine(engine, workers, address, None), resume, bounds=True)
    story = read_story(out)
    page = write_report(story)
    if document is not None:
        write_reproduction(story, document)
    if as_json:
        facts = {**summary_data(summary), "page": str(page), "title": story.title}
        print_json({**facts, "table": table_data(story), "comparisons": comparison_data(story)})
    else:
        _print_story(story, page)
    return tell_end(summary, resume)


def plan(settings: str | None, trials: int | None, curves: bool, quick: bool) -> Experiment:
    """The reproduction that the options ask for."""
    from gumdp.experiments.plan.paper import BUDGETS, QUICK, reproduction

    chosen = None if settings is None else [word.strip() for word in settings.split(",")]
    count = check_int("trials", trials, 1) if trials is not None else 4 if quick else 10
    budgets = QUICK if quick else BUDGETS
    return reproduction(chosen, count, budgets if curves else budgets[-1:])


def table_data(story: Story) -> list[dict[str, Any]]:
    """The results as plain data, with published values where they were published for the same settings."""
    rows = []
    for section in story.sections:
        for line in section.lines:
            result, theirs = line.published or (line.best, None)
            interval = result.interval(0.9, "percentile")
            rows.append(
                {
                    "setting": section.label,
                    "planner": line.planner,
                    "options": dict(line.options),
                    "iterations": result.iterations,
                    "trials": result.trials,
                    "mean": result.mean,
                    "ci90": interval,
                    "published": theirs.unrounded if theirs else None,
                    "verdict": theirs.verdict(interval) if theirs else None,
                    "lower_bound": section.bound["value"] if section.bound else None,
                    "seconds": result.seconds,
                }
            )
    return rows


def comparison_data(story: Story) -> list[dict[str, Any]]:
    """Candidates against the baseline as plain data; ``p`` is raised for the number of comparisons."""
    return [
        {
            "setting": pair.section.label,
            "candidate": pair.candidate.name,
            "baseline": pair.baseline.name,
            "pairs": pair.comparison.trials,
            "difference": pair.comparison.difference,
            "ci90": pair.comparison.interval,
            "effect": pair.comparison.effect,
            "p": pair.p,
            "words": pair.words,
        }
        for pair in story.pairs
    ]


def _print_story(story: Story, page: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from gumdp.report.tables import sheets

    screen = console()
    screen.print(story.title, style="bold")
    for sheet in sheets(story)[:2]:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for k, name in enumerate(sheet.heading):
            table.add_column(name, justify="right" if k else "left", no_wrap=k == 0)
        for row in sheet.items:
            table.add_row(*(Text("\n".join(item.lines()), "bold" if item.best else "") for item in row))
        screen.print()
        screen.print(table)
        screen.print(sheet.legend, style="dim")
    screen.print(f"\nThe page: {page.resolve().as_uri()}", soft_wrap=True)


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Where to, FOLDER/report if not given.")
@click.option(
    "--document", type=click.Path(path_type=Path), default=None, help="Also write the comparison as Markdown."
)
@json_option()
def report(folder: Path, out: Path | None, document: Path | None, as_json: bool) -> None:
    """Make tables, figures and a page of what a folder holds. Nothing is run.

    \b
    Example, after gumdp run study.toml:
      gumdp report results/study
    """
    from gumdp.report.document import write_report, write_reproduction
    from gumdp.report.story import read_story

    if out is not None and out.is_file():
        raise GumdpError(f"--out must name a folder, and {out} is a file.")
    story = read_story(folder)
    page = write_report(story, out)
    if document is not None:
        write_reproduction(story, document)
    if as_json:
        facts = {"page": str(page), "title": story.title, "trials": story.trials}
        print_json({**facts, "table": table_data(story), "comparisons": comparison_data(story)})
    else:
        _print_story(story, page)


COMMANDS = (reproduce, report)
