"""gumdp run and results: experiments into folders, and what is in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gumdp.cli.output import console, json_option, print_json, say
from gumdp.cli.signals import last_words
from gumdp.errors import GumdpError

if TYPE_CHECKING:
    from gumdp.experiments.engines.job import Engine
    from gumdp.experiments.plan.code import Code
    from gumdp.experiments.plan.experiment import Experiment
    from gumdp.experiments.run import Summary


def takes_engine(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets ``engine``, ``address`` and ``workers``."""
    text = "Threads or processes of the local engine, all cores by default; they don't change the values."
    command = click.option("--workers", type=int, default=None, help=text)(command)
    text = "Of a Ray cluster; without one, ray is started on this machine."
    command = click.option("--address", default=None, metavar="ADDRESS", help=text)(command)
    choice = click.Choice(["local", "ray"])
    return click.option("--engine", type=choice, default="local", show_default=True, help="Who plays the trials.")(
        command
    )


def make_engine(name: str, workers: int | None, address: str | None, code: Code | None) -> Engine:
    """The engine of that name."""
    if name == "local":
        if address is not None:
            raise GumdpError("--address is for the ray engine; add --engine ray.")
        from gumdp.experiments.engines.local import Local

        return Local(workers, code)
    from gumdp.experiments.engines.cluster import Ray

    return Ray(address, workers, code)


def play(experiment: Experiment, out: Path, engine: Engine, resume: str, bounds: bool = False) -> Summary:
    """Run an experiment with a display; Ctrl-C says how to resume."""
    from gumdp.experiments.run import run as run_experiment
    from gumdp.report.progress import watcher

    with last_words(f"Every trial that ended is in {out}; to go on from there: {resume}"):
        return run_experiment(experiment, out, engine, watcher(), bounds=bounds, command=resume)


def resume_line() -> str:
    """The command that takes up this run again: the same one."""
    import shlex
    import sys

    return shlex.join(["gumdp", *sys.argv[1:]])


def summary_data(summary: Summary) -> dict[str, Any]:
    """How a run went, as plain data."""
    return {
        "folder": str(summary.folder),
        "arms": summary.arms,
        "trials": summary.trials,
        "found": summary.found,
        "played": summary.played,
        "failed": summary.failed,
        "failures": list(summary.failures),
        "complete": summary.complete,
        "stopped": summary.stopped,
        "seconds": summary.seconds,
    }


def tell_end(summary: Summary, resume: str) -> int:
    """Say on standard error what is missing, if something is, and return the exit code."""
    if summary.stopped:
        say(f"gumdp: {summary.stopped}")
    if summary.failed:
        say(f"gumdp: {summary.failed} trials failed; all others are stored. To try them again: {resume}")
    return 0 if summary.complete and not summary.failures else 1


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder, results/NAME if not given.")
@click.option("--trials", type=int, default=None, help="Instead of the file's own number.")
@click.option("--bounds", is_flag=True, help="Find a value that no policy can beat for each problem too.")
@click.option("--dry-run", is_flag=True, help="Show the arms and about how long they take; run nothing at all.")
@takes_engine
@json_option()
def run_file(
    file: Path, out: Path | None, trials: int | None, bounds: bool, dry_run: bool, engine: str, address: str | None,
    workers: int | None, as_json: bool,
) -> int:  # fmt: skip
    """Run the experiment of a TOML file, or what is missing of it.

    Every trial is stored as soon as it ends. The same command goes on where the last one ended, however it ended.
    The modules that the file names are Python code, and are run: look into them before you run a stranger's file.

    \b
    A file, study.toml:
      name = "study"
      trials = 4
      [[problems]]
      name = "m1-entropy"
      horizon = [10, 20]
      [[planners]]
      name = "random"
      [[planners]]
      name = "mcts"
      iterations = [5, 10]

    \b
    Examples:
      gumdp run study.toml --dry-run
      gumdp run study.toml
      gumdp run study.toml --trials 8 --out results/study
    """
    from gumdp.errors import check_int
    from gumdp.experiments.plan.reading import read_experiment
    from gumdp.seeding import BITS

    count = None if trials is None else check_int("trials", trials, 1, BITS)
    experiment = read_experiment(file, count, run_modules=not dry_run)
    out = out or Path("results") / experiment.name
    if dry_run:
        return _show_plan(experiment, out, workers, as_json)
    resume = resume_line()
    summary = play(experiment, out, make_engine(engine, workers, address, experiment.code), resume, bounds)
    if as_json:
        print_json({**summary_data(summary), "results": _results(out)})
    else:
        _print_results(out)
    return tell_end(summary, resume)


def _show_plan(experiment: Experiment, out: Path, workers: int | None, as_json: bool) -> int:
    from gumdp.experiments.plan import estimate

    known = [arm for arm in experiment.arms if "format" in arm.identity]  # the others wait for their modules
    seconds = estimate.run_seconds(known, experiment.trials, workers)
    if as_json:
        arms = [{**arm.plain(), "digest": arm.digest if arm in known else None} for arm in experiment.arms]
        plan = {"folder": str(out), "trials": experiment.trials, "seconds": seconds, "arms": arms}
        print_json({**plan, "modules": list(experiment.modules), "complete": len(known) == len(arms)})
        return 0
    if experiment.modules:
        click.echo(f"The modules {', '.join(experiment.modules)} are not run now; what they define is not checked.")
    for arm in experiment.arms:
        time = f"{estimate.trial_seconds(arm):.2g} s each" if arm in known else "their time is not known"
        click.echo(f"{arm.label}: {experiment.trials} trials, {time}")
    whole = "" if len(known) == len(experiment.arms) else " for those that are known"
    time = f", {estimate.in_words(seconds)} with compiling{whole}" if known else ""
    click.echo(f"{len(experiment.arms)} arms into {out}{time}")
    return 0


def _results(folder: Path, **chosen: Any) -> list[dict[str, Any]]:
    from gumdp.experiments.store.store import Store
    from gumdp.report.results import read_results, result_data

    with Store.read(folder) as store:
        return [result_data(result) for result in read_results(store, **chosen)]


def _print_results(folder: Path, **chosen: Any) -> None:
    from gumdp.experiments.store.store import Store
    from gumdp.report.results import read_results, result_table

    with Store.read(folder) as store:
        console().print(result_table(read_results(store, **chosen)))


@click.command("results")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--problem", default=None, help="Only arms whose problem has this in its name.")
@click.option("--planner", default=None, help="Only arms whose planner has this in its name.")
@click.option("--seed", type=int, default=None, help="Only arms of this seed.")
@click.option("--all-versions", "old", is_flag=True, help="Arms of other versions of the code too.")
@click.option(
    "--csv", "csv_file", type=click.Path(path_type=Path), help="Write every trial of these arms to this file."
)
@click.option("--parquet", "parquet_file", type=click.Path(path_type=Path), help="The same as Parquet (extra).")
@json_option()
def results(folder: Path, csv_file: Path | None, parquet_file: Path | None, as_json: bool, **chosen: Any) -> None:
    """Show what is in a folder of results. Means of arms, or every trial as CSV or Parquet.

    \b
    Examples, after gumdp run study.toml:
      gumdp results results/study
      gumdp results results/study --planner mcts --problem horizon=20
      gumdp results results/study --csv trials.csv
    """
    from gumdp.experiments.store.export import to_csv, to_parquet
    from gumdp.experiments.store.store import Store

    with Store.read(folder) as store:
        for path, write in ((csv_file, to_csv), (parquet_file, to_parquet)):
            if path is not None:
                count = write(store, path, store.chosen(**chosen))
                say(f"{count} trials written to {path}")
        runs = store.runs()
    if as_json:
        print_json({"folder": str(folder), "runs": runs, "results": _results(folder, **chosen)})
    else:
        _print_results(folder, **chosen)


COMMANDS = (run_file, results)
