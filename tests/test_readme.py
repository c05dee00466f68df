"""The README is true: its Python runs, its commands run, and its picture is what is printed."""

import io
import re
import shlex
from pathlib import Path

import pytest
from rich.console import Console

import gumdp
from gumdp.cli.main import main
from gumdp.report import terminal

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_python_runs(number: int, capsys) -> None:
    exec(compile(blocks("python")[number], f"README block {number}", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines()])
def test_the_commands_run(line: str, capsys) -> None:
    program, *args = shlex.split(line)
    assert program == "gumdp"
    assert main(args) == 0
    assert capsys.readouterr().out


def test_the_picture_is_what_is_printed() -> None:
    picture = next(block for block in blocks("text") if block.startswith("$ gumdp plan"))
    command, *lines = picture.splitlines()
    assert command == "$ gumdp plan m1-entropy --planner greedy --seed 1"
    problem = gumdp.zoo.load("m1-entropy")
    trial = gumdp.run_trial(problem, gumdp.Greedy(), seed=1)
    console = Console(width=80, file=io.StringIO())
    console.print(terminal.trial_view(f"m1-entropy · {trial.planner} · seed 1", problem, trial, "", 80))
    printed = [line.rstrip() for line in console.file.getvalue().splitlines()]
    seconds = re.compile(r", [^,]* s\)$")
    assert [seconds.sub("", line) for line in printed] == [seconds.sub("", line) for line in lines]
