"""Where commands print: for people on a console, for programs as one JSON object."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gumdp import escape
from gumdp.report import data

if TYPE_CHECKING:
    from rich.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])
OUTPUT = "gumdp.output"  # where a context keeps the standard output that its command was called with
PIPE_WIDTH = 160  # columns, where there is no terminal to ask


def console() -> Console:
    """Standard output for people."""
    from gumdp.report.screen import Screen

    return Screen(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def say(message: str) -> None:
    """Print a line on standard error, if anybody is there to read it."""
    with contextlib.suppress(OSError, ValueError):  # the reader is gone, or the disk is full
        print(escape.terminal(message), file=sys.stderr, flush=True)


def forget_output() -> None:
    """What was to be printed is dropped: Python would try again when it ends, and complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def json_option(text: str = "Print one JSON object.") -> Callable[[Command], Command]:
    """The option ``--json``; with it, what people's own code prints goes to standard error."""
    import click

    def aside(context: click.Context, _: click.Parameter, chosen: bool) -> bool:
        if chosen:
            context.meta.setdefault(OUTPUT, sys.stdout)
            sys.stdout = sys.stderr  # until the command ends, see main
        return chosen

    return click.option("--json", "as_json", is_flag=True, is_eager=True, help=text, callback=aside)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object."""
    import click

    context = click.get_current_context(silent=True)
    output = sys.stdout if context is None else context.meta.get(OUTPUT, sys.stdout)
    print(json.dumps(data.plain(result), allow_nan=False), file=output, flush=True)
