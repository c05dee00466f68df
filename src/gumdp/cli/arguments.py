"""What the commands that take a problem have in common: arguments, options of planners, a bar that shows progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

import gumdp
from gumdp.cli import files
from gumdp.cli.output import json_option
from gumdp.errors import GumdpError
from gumdp.run import registry
from gumdp.zoo.registry import find


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
    flag, text = option.name.replace("_", "-"), f"{option.help[:1].upper()}{option.help[1:]}."
    if option.kind is bool:
        return click.option(f"--{flag}/--no-{flag}", option.name, default=None, help=text)
    kind: Any = click.Choice(option.kind) if isinstance(option.kind, tuple) else option.kind
    return click.option(f"--{flag}", option.name, type=kind, default=None, help=text)


def takes_problem(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets ``name``, ``changes`` (of the problem's options) and ``as_json``."""
    command = json_option()(command)
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
    """The command gets ``planner`` and every option of every planner, None where not given.

    Where the command has an option of that name itself, that of the planner is said with ``--option``.
    """
    taken = {parameter.name for parameter in getattr(command, "__click_params__", ())}
    for option in reversed([option for option in registry.options() if option.name not in taken]):
        command = _option(option)(command)
    text = "An option of the planner that is not in this list, e.g. --option width=3. Can be given again."
    command = click.option("--option", "own", multiple=True, metavar="NAME=VALUE", help=text)(command)
    command = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same result.")(command)
    text = f"One of {', '.join(registry.names())}; or file.py:name."
    return click.option(
        "--planner", default="mcts", show_default=True, metavar="PLANNER", help=text, shell_complete=_planners
    )(command)


def takes_measures(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets ``measures`` and ``limits``."""
    text = "Ask whether a measure stays at or below a value, e.g. --at-most late=0.05. Can be given again."
    command = click.option("--at-most", "limits", multiple=True, metavar="NAME=VALUE", help=text)(command)
    text = "What else to know of a run: a function of the occupancy, or costs [S, A]. Can be given again."
    return click.option("--measure", "measures", multiple=True, metavar="NAME=FILE.py:NAME", help=text)(command)


def make_planner(name: str, options: dict[str, Any]) -> Any:
    """The planner of that name, with the options that were given."""
    own = files.read_changes("--option", options.pop("own", ()))
    return files.load_planner(name, {**{key: value for key, value in options.items() if value is not None}, **own})


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int, float], None]]:
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
