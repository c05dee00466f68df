"""Help texts have examples that work when pasted, and the shell completes names."""

import re
import shlex

import click
import pytest
from click.shell_completion import ShellComplete

from gumdp.cli import main, program

HELP = "\n".join(command.help or "" for command in (program, *program.commands.values()))
EXAMPLES = sorted(set(re.findall(r"^ +(gumdp .+)$", HELP, re.MULTILINE)))


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_help_runs(line: str, capsys) -> None:
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", ["", "plan", "evaluate", "solve"])
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
