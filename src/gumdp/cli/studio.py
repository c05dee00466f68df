"""gumdp studio: the page in the browser."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import click

from gumdp.cli import files
from gumdp.cli.output import json_option, print_json, say
from gumdp.errors import GumdpError


def _modules(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> None:
    files.import_named(names)


@click.command("studio")
@click.argument("name", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="A free one if not given.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/studio"), show_default=True,
              help="Where races are stored; gumdp report reads it.")  # fmt: skip
@click.option("--browser/--no-browser", default=True, help="Whether to open the page.")
@click.option("--no-code", is_flag=True, help="No Python functions from the page, confirmed or not.")
@click.option("--module", "modules", multiple=True, metavar="NAME", expose_value=False, callback=_modules,
              is_eager=True, help="Import a module or run a file that registers some. Can be given again.")  # fmt: skip
@json_option("Print the address as a JSON object.")
def studio(name: str | None, port: int, out: Path, browser: bool, no_code: bool, as_json: bool) -> None:
    """Watch it think, take the wheel, race planners, paint a world: a page in the browser.

    NAME is a named problem, file.py:problem, a model file, a folder of results, or a link's part from # on. The page
    is served to this machine only, at an address with a secret in it. Ctrl-C ends it.

    \b
    Examples:
      gumdp studio
      gumdp studio frozenlake-entropy
      gumdp studio my_problem.py:problem
      gumdp studio results/study
    """
    missing = [part for part in ("starlette", "uvicorn", "websockets") if importlib.util.find_spec(part) is None]
    if missing:
        raise GumdpError(f"gumdp studio needs {' and '.join(missing)}; install them with: pip install 'gumdp[studio]'")
    from gumdp.studio.server import Studio
    from gumdp.studio.session import Settings

    settings, fragment = _settings(name, out, not no_code)
    made = Studio(Settings(**settings), port)
    address = made.address + fragment
    if as_json:
        print_json({"address": address, "port": made.port})
    else:
        click.echo(address)
    sys.stdout.flush()
    say("The studio is open. Ctrl-C ends it.")
    if browser:
        click.launch(address)
    made.serve()


def _settings(name: str | None, out: Path, code: bool) -> tuple[dict[str, Any], str]:
    """What the studio begins with, and the part of its address from # on."""
    found: dict[str, Any] = {"out": out, "code": code, "results": out}
    if name is None:
        return found, ""
    if name.startswith("#"):
        return found, name
    if files.is_file(name) or files.is_model(name):
        given = files.load_problem(name)
        return {**found, "given": given, "source": name, "own": files.register(name), "first": "@given"}, ""
    if name and Path(name).is_dir():
        return {**found, "results": Path(name).resolve(), "first": "results"}, "#view=results"
    from gumdp.zoo.registry import find

    return {**found, "first": find(name).name}, ""


COMMANDS = (studio,)
