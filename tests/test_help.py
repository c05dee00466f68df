"""Help texts have examples that work when pasted, and the shell completes names."""

import os
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from gumdp.bounds.methods import METHODS
from gumdp.cli.main import main, program
from gumdp.models.learned import UNSEEN
from gumdp.models.source import TERMINAL

HELP = "\n".join(command.help or "" for command in (program, *program.commands.values()))
EXAMPLES = sorted(set(re.findall(r"^ +(gumdp .+)$", HELP, re.MULTILINE)))

VAN = """
import gumdp
day = gumdp.zoo.load("m1-entropy", horizon=5)
def late(d):
    return d[0].sum()
"""


@pytest.fixture(scope="module")
def _study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder with the file that the help of run shows, and its results."""
    before, place = Path.cwd(), tmp_path_factory.mktemp("study")
    text = program.commands["run"].help.partition("study.toml:\n")[2].partition("\n\n")[0]
    (place / "study.toml").write_text(textwrap.dedent(text), encoding="utf-8")
    mine = "import gumdp\nproblem = gumdp.zoo.load('m1-entropy')\n"
    (place / "my_problem.py").write_text(mine, encoding="utf-8")
    (place / "van.py").write_text(VAN, encoding="utf-8")
    (place / "log.csv").write_text("place,move,then\nhall,go,room\nroom,go,hall\nroom,stay,room\nhall,stay,hall\n")
    os.chdir(place)
    assert main(["run", "study.toml"]) == 0
    assert (
        main(["learn", "log.csv", "--state", "place", "--action", "move", "--next", "then", "--out", "rooms.npz"]) == 0
    )
    yield
    os.chdir(before)


@pytest.mark.thorough
@pytest.mark.usefixtures("_study")
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_help_runs(line: str, capsys, monkeypatch) -> None:
    if line.startswith("gumdp studio"):  # which goes on until it is interrupted
        server = pytest.importorskip("gumdp.studio.server", exc_type=ImportError)
        monkeypatch.setattr(server.Studio, "serve", lambda studio: studio.socket.close())
        monkeypatch.setattr(click, "launch", lambda address: 0)
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out
    assert len(line) <= 76  # it is indented by four, on 80 columns


def test_options_that_choose_among_words_list_them() -> None:
    helps = {f"{name} {option.name}": getattr(option, "help", "") or ""
             for name, command in program.commands.items() for option in command.params}  # fmt: skip
    for option, words in {"bound methods": METHODS, "learn unseen": UNSEEN, "learn terminal": TERMINAL}.items():
        assert [word for word in words if word not in helps[option]] == []


@pytest.mark.parametrize("name", ["", *program.commands])
def test_the_help_has_an_example(name: str, capsys) -> None:
    assert main([name, "--help"] if name else ["--help"]) == 0
    assert "Example" in capsys.readouterr().out


def completions(args: list[str], start: str) -> list[str]:
    shell = ShellComplete(program, {}, "gumdp", "_GUMDP_COMPLETE")
    assert isinstance(program, click.Group)
    return [item.value for item in shell.get_completions(args, start)]


def test_the_shell_completes_commands_problems_planners_and_options() -> None:
    assert completions([], "ev") == ["evaluate"]
    assert completions(["plan"], "m1-e") == ["m1-entropy"]
    assert completions(["plan", "m1-entropy", "--planner"], "gr") == ["greedy"]
    assert "horizon=100" in completions(["plan", "m1-entropy", "--set"], "hor")
    assert completions(["plan", "nothing", "--set"], "hor") == []
