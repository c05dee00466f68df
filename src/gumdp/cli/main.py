"""The command line: parse, call one function, print.

Results go to standard output, for people or with ``--json`` as one JSON object; progress goes to standard error
when that is a terminal. Bad input ends with one sentence and the exit code 2. What takes time to import is
imported by the command that needs it.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import click

import gumdp
from gumdp import escape
from gumdp.cli import experiments, files, learning, reports, studio, warm
from gumdp.cli.arguments import make_planner, progress_bar, takes_measures, takes_planner, takes_problem
from gumdp.cli.drawing import check_pictures, draw_bounds, draw_trial
from gumdp.cli.output import console, forget_output, json_option, print_json, say
from gumdp.cli.signals import Signals, Terminated, leave
from gumdp.errors import GumdpError, show
from gumdp.report import data
from gumdp.zoo.registry import find


def main(args: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    with contextlib.suppress(AttributeError):  # a stream of another kind, in tests
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may lack the bars
    os.environ.setdefault("GUMDP_QUIET", "1")  # commands show in their own way what they are doing
    if args is not None:
        return _run(args)
    warnings.formatwarning = lambda message, *_, **__: f"gumdp: {message}\n"  # where in our code is nobody's concern
    with Signals():
        code = _run(None)
    if code in (130, 143):  # something may go on that can't be stopped, such as compiling
        leave(code)
    return code


def _run(args: list[str] | None) -> int:
    try:
        with contextlib.redirect_stdout(sys.stdout):  # which is itself again when the command has ended
            code = program.main(args, prog_name="gumdp", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (click.MissingParameter, click.BadOptionUsage) as error:
        return _complain(_missing(error), 2)
    except click.ClickException as error:
        return _complain(error.format_message(), 2)
    except GumdpError as error:
        return _complain(_pointing(str(error)), 2)
    except MemoryError:
        return _complain("that needs more memory than there is; ask for less.", 2)
    except (Terminated, Interrupted) as error:
        ended = isinstance(error, Terminated) or isinstance(error.__cause__, Terminated)
        return _complain("terminated.", 143) if ended else _complain("interrupted.", 130)
    except KeyboardInterrupt:
        return _complain("interrupted.", 130)
    except BrokenPipeError:  # the reader, head for instance, has seen enough
        forget_output()
        return 0
    except OSError as error:
        if error.filename is None:
            forget_output()
        what = show(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else "what it prints"
        return _complain(f"{what} can't be read or written: {error.strerror or str(error) or type(error).__name__}.", 2)
    except Exception as error:
        if isinstance(error, ValueError) and "null byte" in str(error):  # as every function of the system says it
            return _complain("a name of a file or folder must not hold the character NUL.", 2)
        if os.environ.get("GUMDP_TRACEBACK"):
            raise
        return _complain(f"{type(error).__name__}: {error} (a bug; GUMDP_TRACEBACK=1 shows where)", 1)


HINTS = (  # which command shows the choices, where only the nearest one was named
    (r"unknown problem '.*\?$", "gumdp list shows all of them."),
    (r"unknown option of ([\w-]+) '.*\?$", r"gumdp list \1 shows all of them."),
    (r"unknown planner '.*\?$", "gumdp plan --help shows all of them, and --module adds those of a file of yours."),
    (r".* holds no results: .*", "gumdp run and gumdp reproduce write such folders."),
)


def _pointing(message: str) -> str:
    """``message``, with where to look for more.

    >>> _pointing("unknown problem 'm1'; did you mean 'm1-entropy'?")
    "unknown problem 'm1'; did you mean 'm1-entropy'? gumdp list shows all of them."
    """
    for pattern, hint in HINTS:
        if match := re.match(pattern, message):
            return f"{message} {match.expand(hint)}"
    return message


WHERE = {
    "NAME": "gumdp list shows the named problems, and file.py:problem is one in a file of yours",
    "FILE": "an experiment file, for example study.toml; gumdp run --help shows how one is written",
    "FOLDER": "a folder of results, as gumdp run and gumdp reproduce write it",
    "LOG": "a CSV or Parquet file with a row for each transition; gumdp learn --help names its columns",
}


def _missing(error: click.MissingParameter | click.BadOptionUsage) -> str:
    """What is missing, and where to find it."""
    param = getattr(error, "param", None)
    name = param.make_metavar(error.ctx) if param and error.ctx else ""
    command = error.ctx.command_path if error.ctx else "gumdp COMMAND"
    if name in WHERE:
        return f"{command} needs {name}: {WHERE[name]}."
    return f"{error.format_message()} {command} --help shows what it takes."


def _complain(message: str, code: int) -> int:
    say(escape.terminal(" ".join(["gumdp:", *message.split()])))
    return code


class Interrupted(Exception):
    """Ctrl-C."""


class Program(click.Group):
    """A group of commands that leaves it to ``main`` what to say on Ctrl-C."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except KeyboardInterrupt as error:
            raise Interrupted from error


@click.group(cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gumdp.__version__, "--version", message="gumdp %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Plan one run whose goal depends on where the run spends its time.

    \b
    Examples, to begin with:
      gumdp list
      gumdp plan m1-entropy --planner greedy
      gumdp evaluate m1-entropy --planner random --trials 100

    A problem of your own, in a file: gumdp plan my_problem.py:problem. All of it in the browser: gumdp studio.

    Shell completion: eval "$(_GUMDP_COMPLETE=bash_source gumdp)", or zsh_source, fish_source.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


# --- the commands ---


@program.command("list")
@click.argument("name", required=False)
@json_option()
def list_problems(name: str | None, as_json: bool) -> None:
    """The named problems; with NAME, what one of them takes and what is known of it.

    \b
    Examples:
      gumdp list
      gumdp list m1-entropy
      gumdp list --json
    """
    from gumdp.report import listing

    entries = gumdp.zoo.entries() if name is None else [files.find_entry(name)]
    if as_json:
        print_json({"problems": [listing.entry_data(entry) for entry in entries]})
    elif name is None:
        console().print(listing.problem_table(entries))
    else:
        console().print(listing.entry_view(entries[0]))


@program.command()
@takes_problem
@takes_planner
@click.option("--tree", is_flag=True, help="Show the top levels of the first decision's search tree (mcts).")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="Levels of that tree.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), default=None, help="Draw it: a .png, .svg or .pdf.")
@click.option("--animate", "film", type=click.Path(path_type=Path), default=None, help="Show it grow: a .gif or .mp4.")
@takes_measures
def plan(
    name: str, changes: tuple[str, ...], as_json: bool, planner: str, seed: int, tree: bool, depth: int,
    picture: Path | None, film: Path | None, measures: tuple[str, ...], limits: tuple[str, ...], **options: Any,
) -> None:  # fmt: skip
    """Play one trial, and show what happened and where the time went.

    \b
    Examples:
      gumdp plan frozenlake-entropy --planner greedy --seed 1
      gumdp plan m1-entropy --iterations 50 --set horizon=20 --tree
      gumdp plan frozenlake-entropy --planner greedy --plot lake.png
    """
    problem, actor = files.load_problem(name, changes), make_planner(planner, options)
    asked = files.Measures(problem, measures, limits)
    check_pictures(picture, film)
    if tree:
        if not isinstance(actor, gumdp.MCTS):
            raise GumdpError(f"--tree shows the tree of a search, and the planner {planner} does not search.")
        actor.keep_tree = True
    with progress_bar(name) as report:
        trial = gumdp.run_trial(
            problem, actor, seed, on_decision=lambda t, decision: report(t + 1, problem.steps, decision.value)
        )
    draw_trial(problem, trial, picture, film, asked)
    if as_json:
        found = {"measures": asked.of(trial)} if measures else {}
        print_json({**data.trial_data(name, planner, trial), **found})
    else:
        from gumdp.report import terminal

        screen = console()
        title = files.heading(name, changes, problem, trial.planner, f"seed {seed}")
        screen.print(terminal.trial_view(title, problem, trial, _known(name, changes), screen.width))
        for line in asked.lines(trial):
            screen.print(line, markup=False, highlight=False)
        if tree:
            from gumdp.report.tree import tree_view

            screen.print("\nsearch tree of the first decision", style="bold")
            screen.print(tree_view(problem.model, trial.decisions[0].tree, depth))


@program.command()
@takes_problem
@takes_planner
@click.option("--trials", type=int, default=100, show_default=True, help="How many independent trials.")
@click.option("--workers", type=int, default=None, help="Threads, all cores by default; they don't change the values.")
@takes_measures
def evaluate(
    name: str, changes: tuple[str, ...], as_json: bool, planner: str, seed: int, trials: int, workers: int | None,
    measures: tuple[str, ...], limits: tuple[str, ...], **options: Any,
) -> None:  # fmt: skip
    """Play many trials, and show their mean and how sure it is.

    \b
    Examples:
      gumdp evaluate m1-entropy --planner random --trials 1000
      gumdp evaluate m1-entropy --iterations 20 --trials 20 --json
      gumdp evaluate van.py:day --planner greedy --measure late=van.py:late
    """
    problem, actor = files.load_problem(name, changes), make_planner(planner, options)
    asked = files.Measures(problem, measures, limits)
    with progress_bar(name) as report:
        result = gumdp.evaluate(
            problem, actor, trials, seed, workers=workers, measures=asked.functions, progress=report
        )
    if as_json:
        print_json(data.evaluation_data(name, planner, result) | ({"measures": asked.over(result)} if measures else {}))
    else:
        from gumdp.report import terminal

        title = files.heading(name, changes, problem, result.planner, f"seed {seed}")
        console().print(terminal.evaluation_view(title, result, _known(name, changes)))
        for line in asked.summaries(result):
            console().print(line, markup=False, highlight=False)


@program.command()
@takes_problem
@click.option("--exact", is_flag=True, help="The optimum over all policies, for small problems.")
@click.option("--limit", type=int, default=None, help="Exact: states of the occupancy MDP to work through at most.")
@click.option("--nodes", type=int, default=None, help="Branch and bound: states to look at, at most.")
@click.option(
    "--method", default=None,
    help="On average: auto, cvxpy, mirror or frank-wolfe. Exact: backward-induction or branch-and-bound.",
)  # fmt: skip
@click.option("--horizon", default=None, help="On average: infinite, as in the paper, or finite.")
@click.option("--time-limit", type=float, default=None, help="On average, and for branch and bound: seconds.")
def solve(name: str, changes: tuple[str, ...], as_json: bool, exact: bool, **options: Any) -> None:
    """Compute the policy that is best on average, or the best of all.

    \b
    Examples:
      gumdp solve m1-entropy
      gumdp solve m1-entropy --exact --set horizon=5
      gumdp solve subset-sum --exact --method branch-and-bound
    """
    given = {key: value for key, value in options.items() if value is not None}
    if wrong := sorted(given.keys() & ({"horizon"} if exact else {"limit", "nodes"})):
        flag = wrong[0].replace("_", "-")
        raise GumdpError(f"solve: --{flag} goes {'without' if exact else 'with'} --exact.")
    problem = files.load_problem(name, changes)
    with progress_bar(name) as report:
        if exact:
            most = given.get("nodes", 0)
            solution = gumdp.solve_exact(problem, progress=lambda k, value, gap: report(k, most, value), **given)
        else:
            solution = gumdp.solve_infinite(problem, progress=lambda k, value, gap: report(k, 5000, value), **given)
    if as_json:
        print_json(data.solution_data(name, solution))
    else:
        from gumdp.report import terminal

        console().print(terminal.solution_view(files.heading(name, changes, problem), solution, _known(name, changes)))


@program.command()
@takes_problem
@click.option("--time-limit", type=float, default=10.0, show_default=True, help="Seconds to spend.")
@click.option("--nodes", type=int, default=None, help="Histories in the tree at most.")
@click.option("--method", "methods", multiple=True,
              help="Only range, distinct, jensen, clairvoyant, jensen-tree, decomposition, totals or paths. "
                   "Can be given again.")  # fmt: skip
@click.option("--level", type=float, default=0.99, show_default=True, help="Confidence of a sampled bound.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of a sampled bound.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), default=None, help="Draw it: a .png, .svg or .pdf.")
def bound(
    name: str, changes: tuple[str, ...], as_json: bool, methods: tuple[str, ...], picture: Path | None, **options: Any
) -> None:
    """Compute a value that no policy can beat. Bounds are shown as they tighten.

    \b
    Examples:
      gumdp bound m1-entropy --time-limit 3
      gumdp bound taxi-entropy --method distinct
      gumdp bound m1-entropy --time-limit 3 --plot bounds.png
    """
    from gumdp.report import terminal

    check_pictures(picture, None)
    problem, screen = files.load_problem(name, changes), console()
    title, history = iter([files.heading(name, changes, problem)]), list[gumdp.Bound]()

    def tell(part: gumdp.Bound) -> None:
        history.append(part)
        if not as_json:
            for text in title:  # printed once, when the input has proved to be good
                screen.print(text, style="bold")
            screen.print(terminal.bound_line(part))

    best = gumdp.lower_bound(problem, methods or None, progress=tell, **options)
    if picture is not None:
        draw_bounds(files.heading(name, changes, problem), history, picture)
    if as_json:
        print_json(data.bound_data(name, best))
    else:
        for method, why in best.skipped:
            screen.print(f"{method} was left out: {why}", style="dim")
        screen.print(str(best), style="bold")


@program.command()
@takes_problem
@takes_planner
@click.option("--trials", type=int, default=300, show_default=True, help="How many independent trials.")
@click.option("--level", type=float, default=0.99, show_default=True, help="Confidence in the gap.")
@click.option("--interval", default="student", show_default=True, help="student, or bernstein, which assumes nothing.")
@click.option("--bound-seconds", type=float, default=20.0, show_default=True, help="For the lower bound.")
@click.option("--workers", type=int, default=None, help="Threads, all cores by default; they don't change the values.")
def certify(
    name: str, changes: tuple[str, ...], as_json: bool, planner: str, seed: int, trials: int, level: float,
    interval: str, bound_seconds: float, workers: int | None, **options: Any,
) -> None:  # fmt: skip
    """Say how far a planner can be from the best possible policy.

    \b
    Example:
      gumdp certify m2-imitation --iterations 100 --trials 30 --bound-seconds 2
    """
    problem, actor = files.load_problem(name, changes), make_planner(planner, options)
    with progress_bar(name) as report:
        certificate = gumdp.certify(
            problem, actor, trials, seed, level=level, interval=interval, time_limit=bound_seconds, workers=workers,
            progress=report,
        )  # fmt: skip
    if as_json:
        print_json(data.certificate_data(name, planner, certificate))
    else:
        from gumdp.report import terminal

        console().print(terminal.certificate_view(files.heading(name, changes, problem), certificate))


def _known(name: str, changes: tuple[str, ...]) -> str:
    """What is known of the problem, unless it was changed."""
    from gumdp.report.listing import known_values

    own = changes or files.is_file(name) or files.is_model(name)
    return "" if own else known_values(find(name))


for _command in (*experiments.COMMANDS, *learning.COMMANDS, *reports.COMMANDS, *studio.COMMANDS, *warm.COMMANDS):
    program.add_command(_command)
