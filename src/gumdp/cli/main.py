"""The command line: parse, call one function, print.

Results go to standard output, for people or with ``--json`` as one JSON object; progress goes to standard error
when that is a terminal. Bad input ends with one sentence and the exit code 2. What takes time to import is
imported by the command that needs it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

import gumdp
from gumdp import escape
from gumdp.cli import experiments, files, reports
from gumdp.cli.output import console, forget_output, print_json, say
from gumdp.cli.signals import Signals, Terminated, leave
from gumdp.errors import GumdpError, show
from gumdp.report import data
from gumdp.run import registry
from gumdp.zoo.registry import find


def main(args: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    with contextlib.suppress(AttributeError):  # a stream of another kind, in tests
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may lack the bars
    if args is not None:
        return _run(args)
    with Signals():
        code = _run(None)
    if code in (130, 143):  # something may go on that can't be stopped, such as compiling
        leave(code)
    return code


def _run(args: list[str] | None) -> int:
    try:
        code = program.main(args, prog_name="gumdp", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (GumdpError, click.ClickException) as error:
        return _complain(error.format_message() if isinstance(error, click.ClickException) else str(error), 2)
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
        return _complain(f"{what} can't be read or written: {error.strerror or error}.", 2)
    except Exception as error:
        if isinstance(error, ValueError) and "null byte" in str(error):  # as every function of the system says it
            return _complain("a name of a file or folder must not hold the character NUL.", 2)
        if os.environ.get("GUMDP_TRACEBACK"):
            raise
        return _complain(f"{type(error).__name__}: {error} (a bug; GUMDP_TRACEBACK=1 shows where)", 1)


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
    """Plan when the goal is a function of where you spend your time, and you get one run.

    \b
    Examples:
      gumdp list
      gumdp plan m1-entropy --planner greedy --seed 1
      gumdp evaluate m1-entropy --planner random --trials 1000

    Shell completion: eval "$(_GUMDP_COMPLETE=bash_source gumdp)", or zsh_source, fish_source.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


# --- what commands have in common ---


def _names(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in gumdp.zoo.names() if name.startswith(start)]


def _planners(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in registry.names() if name.startswith(start)]


def _changes(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    """The options of the problem that stands on the line already, with their defaults."""
    try:
        entry = find(context.params.get("name") or "".join(context.args[:1]))  # args, while --set lacks its value
    except GumdpError:
        return []
    return [f"{key}={value}" for key, value in entry.options.items() if f"{key}={value}".startswith(start)]


def _option(option: registry.Option) -> Callable[[Any], Any]:
    """A planner's option as an option of the command line."""
    flag = option.name.replace("_", "-")
    if option.kind is bool:
        return click.option(f"--{flag}/--no-{flag}", option.name, default=None, help=option.help)
    kind: Any = click.Choice(option.kind) if isinstance(option.kind, tuple) else option.kind
    return click.option(f"--{flag}", option.name, type=kind, default=None, help=option.help)


def takes_problem(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets ``name``, ``changes`` (of the problem's options) and ``as_json``."""
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)
    text = "Import a module or run a file that registers problems or planners. Can be given again."
    command = click.option(
        "--module", "modules", multiple=True, metavar="NAME", help=text, expose_value=False, callback=_modules,
        is_eager=True,
    )(command)  # fmt: skip
    text = "Change an option of the problem, e.g. --set horizon=20. Can be given again."
    command = click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help=text, shell_complete=_changes)(
        command
    )
    return click.argument("name", shell_complete=_names)(command)


def _modules(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> None:
    files.import_named(names)


def takes_planner(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets ``planner`` and every option of every planner, None where not given."""
    for option in reversed(registry.options()):
        command = _option(option)(command)
    text = "An option of a planner of your own, e.g. --option width=3. Can be given again."
    command = click.option("--option", "own", multiple=True, metavar="NAME=VALUE", help=text)(command)
    command = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same result.")(command)
    text = f"One of {', '.join(registry.names())}; or file.py:name."
    return click.option(
        "--planner", default="mcts", show_default=True, metavar="PLANNER", help=text, shell_complete=_planners
    )(command)


def _make(name: str, options: dict[str, Any]) -> Any:
    own = files.read_changes("--option", options.pop("own", ()))
    return files.load_planner(name, {**{key: value for key, value in options.items() if value is not None}, **own})


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int, float], None]]:
    """A function (done, in all, value so far) that shows how far things are, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total, value: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    remark = TextColumn("{task.fields[remark]}")
    with Progress(*columns, remark, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, remark="compiling takes a few seconds, the first time")

        def show(done: int, total: int, value: float) -> None:
            bar.update(task, completed=done, total=total or None, remark="" if value != value else f"value {value:.4g}")

        yield show


# --- the commands ---


@program.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_problems(as_json: bool) -> None:
    """The named problems and what is known of each.

    \b
    Examples:
      gumdp list
      gumdp list --json
    """
    from gumdp.report import listing

    entries = gumdp.zoo.entries()
    if as_json:
        print_json({"problems": [listing.entry_data(entry) for entry in entries]})
    else:
        console().print(listing.problem_table(entries))


@program.command()
@takes_problem
@takes_planner
@click.option("--tree", is_flag=True, help="Show the top levels of the first decision's search tree (mcts).")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="Levels of that tree.")
def plan(
    name: str, changes: tuple[str, ...], as_json: bool, planner: str, seed: int, tree: bool, depth: int, **options: Any
) -> None:
    """Play one trial, and show what happened and where the time went.

    \b
    Examples:
      gumdp plan frozenlake-entropy --planner greedy --seed 1
      gumdp plan m1-entropy --iterations 50 --set horizon=20 --tree
    """
    problem, actor = files.load_problem(name, changes), _make(planner, options)
    if tree:
        if not isinstance(actor, gumdp.MCTS):
            raise GumdpError(f"--tree shows the tree of a search, and the planner {planner} does not search.")
        actor.keep_tree = True
    with _progress(name) as report:
        trial = gumdp.run_trial(
            problem, actor, seed, on_decision=lambda t, decision: report(t + 1, problem.steps, decision.value)
        )
    if as_json:
        print_json(data.trial_data(name, planner, trial))
    else:
        from gumdp.report import terminal

        screen = console()
        title = f"{name} · {trial.planner} · seed {seed}"
        screen.print(terminal.trial_view(title, problem, trial, _known(name, changes), screen.width))
        if tree:
            from gumdp.report.tree import tree_view

            screen.print("\nsearch tree of the first decision", style="bold")
            screen.print(tree_view(problem.model, trial.decisions[0].tree, depth))


@program.command()
@takes_problem
@takes_planner
@click.option("--trials", type=int, default=100, show_default=True, help="How many independent trials.")
@click.option("--workers", type=int, default=None, help="Threads, all cores by default; they don't change the values.")
def evaluate(
    name: str, changes: tuple[str, ...], as_json: bool, planner: str, seed: int, trials: int, workers: int | None,
    **options: Any,
) -> None:  # fmt: skip
    """Play many trials, and show their mean and how sure it is.

    \b
    Examples:
      gumdp evaluate m1-entropy --planner random --trials 1000
      gumdp evaluate m1-entropy --iterations 20 --trials 20 --json
    """
    problem, actor = files.load_problem(name, changes), _make(planner, options)
    with _progress(name) as report:
        result = gumdp.evaluate(problem, actor, trials, seed, workers=workers, progress=report)
    if as_json:
        print_json(data.evaluation_data(name, planner, result))
    else:
        from gumdp.report import terminal

        title = f"{name} · {result.planner} · seed {seed}"
        console().print(terminal.evaluation_view(title, result, _known(name, changes)))


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
    with _progress(name) as report:
        if exact:
            most = given.get("nodes", 0)
            solution = gumdp.solve_exact(problem, progress=lambda k, value, gap: report(k, most, value), **given)
        else:
            solution = gumdp.solve_infinite(problem, progress=lambda k, value, gap: report(k, 5000, value), **given)
    if as_json:
        print_json(data.solution_data(name, solution))
    else:
        from gumdp.report import terminal

        console().print(terminal.solution_view(" · ".join([name, *changes]), solution, _known(name, changes)))


@program.command()
@takes_problem
@click.option("--time-limit", type=float, default=10.0, show_default=True, help="Seconds to spend.")
@click.option("--nodes", type=int, default=None, help="Histories in the tree at most.")
@click.option("--method", "methods", multiple=True, help="One of several bounds only. Can be given again.")
@click.option("--level", type=float, default=0.99, show_default=True, help="Confidence of a sampled bound.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of a sampled bound.")
def bound(name: str, changes: tuple[str, ...], as_json: bool, methods: tuple[str, ...], **options: Any) -> None:
    """Compute a value that no policy can beat. Bounds are shown as they tighten.

    \b
    Examples:
      gumdp bound m1-entropy --time-limit 3
      gumdp bound taxi-entropy --method distinct
    """
    from gumdp.report import terminal

    problem, screen = files.load_problem(name, changes), console()
    title = iter([" · ".join([name, *changes])])

    def tell(part: gumdp.Bound) -> None:
        for text in title:  # printed once, when the input has proved to be good
            screen.print(text, style="bold")
        screen.print(terminal.bound_line(part))

    best = gumdp.lower_bound(problem, methods or None, progress=None if as_json else tell, **options)
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
    problem, actor = files.load_problem(name, changes), _make(planner, options)
    with _progress(name) as report:
        certificate = gumdp.certify(
            problem, actor, trials, seed, level=level, interval=interval, time_limit=bound_seconds, workers=workers,
            progress=report,
        )  # fmt: skip
    if as_json:
        print_json(data.certificate_data(name, planner, certificate))
    else:
        from gumdp.report import terminal

        console().print(terminal.certificate_view(" · ".join([name, *changes]), certificate))


def _known(name: str, changes: tuple[str, ...]) -> str:
    """What is known of the problem, unless it was changed."""
    from gumdp.report.listing import known_values

    return "" if changes or files.is_file(name) else known_values(find(name))


for _command in (*experiments.COMMANDS, *reports.COMMANDS):
    program.add_command(_command)
