"""Random command lines and mutated plans: a right answer or one sentence and the exit code 2, never a traceback, never
"a bug", and never a wait of more than ten seconds."""

import importlib.util
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gumdp
from gumdp.cli.main import main, program

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs SIGALRM")

SLOW = 10  # seconds
NAMES = [
    "m1-entropy", "m2-imitation", "subset-sum", "nothing", "", "m1", "file.py", "world.py:problem", "world.py:none",
    "broken.py", "world.py:", "model.npz", "empty.npz", ".", "/", "\0", "ü" * 300, "--", "-x", "study.toml",
]  # fmt: skip
VALUES = [
    "0", "1", "3", "-1", "1e9", "1e-300", "nan", "inf", "", "x", "0.5", "True", "None", "10" * 2500, "\0", "[1]",
    "a=b", "horizon=3", "horizon=-1", "horizon=x", "mode", "greedy", "mcts", "random", "nobody", "out", "out/x.png",
    "world.py:problem", "late=world.py:late", "late=0.5", "study.toml", "../../etc/passwd", "{", "💥",
]  # fmt: skip
CHEAP = {  # so that what is accepted does not take long
    "plan": ["--set", "horizon=3", "--planner", "random"],
    "evaluate": ["--set", "horizon=3", "--planner", "random", "--trials", "2"],
    "certify": ["--set", "horizon=3", "--planner", "random", "--trials", "2", "--bound-seconds", "0"],
    "solve": ["--set", "horizon=3", "--time-limit", "1"],
    "bound": ["--set", "horizon=3", "--time-limit", "0"],
    "reproduce": ["--quick", "--settings", "nothing-like-it"],
    "run": ["--dry-run"],
}
WORLD = """
import gumdp
problem = gumdp.zoo.load("m1-entropy", horizon=3)
late = lambda d: d[0].sum()
none = 3
"""
PLAN = """
name = "study"
title = "A study"
trials = 2
seeds = [0, 1]
problems = ["m1-entropy", {name = "m1-entropy", horizon = 3}]
planners = ["random", {name = "mcts", iterations = [1, 2]}]
baseline = "random"
keep = ["occupancy"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gumdp.cli.warm.warmed", lambda names, *_: [{"problem": n, "seconds": 0.0} for n in names])
    if importlib.util.find_spec("starlette") is not None:  # the studio goes on until it is interrupted
        monkeypatch.setattr("gumdp.studio.server.Studio.serve", lambda studio: studio.socket.close())
        monkeypatch.setattr("click.launch", lambda address: 0)
    (tmp_path / "world.py").write_text(WORLD)
    (tmp_path / "broken.py").write_text("import nothing_that_exists")
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "study.toml").write_text(PLAN)
    gumdp.save_model(gumdp.zoo.load("m1-entropy").model, "model.npz")
    return tmp_path


def line(rng: random.Random) -> list[str]:
    """A command line: a command, perhaps a name, and options with values that may be for others."""
    command = rng.choice([*program.commands, "nothing", ""])
    found = program.commands.get(command)
    flags = [flag for p in (found.params if found else []) for flag in p.opts if flag.startswith("--")]
    flags = [flag for flag in flags if flag not in ("--open", "--address", "--engine", "--workers", "--port")]
    words = [command, *([rng.choice(NAMES)] if rng.random() < 0.9 else []), *CHEAP.get(command, [])]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        words.append(rng.choice([*flags, "--nothing", "--json", "-h"]) if flags else "--json")
        if rng.random() < 0.8:
            words.append(rng.choice(VALUES))
    return [*words, *CHEAP[command]] if command == "reproduce" else words  # the last word on how much is played


def attack(words: list[str], capsys: Any) -> str | None:
    """What is wrong with the answer to a command line, or None."""

    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SLOW)
    try:
        code = main(words)
    except BaseException as error:
        return f"{words}: {type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    err = capsys.readouterr().err
    if code not in (0, 1, 2, 3) or "Traceback" in err or "(a bug" in err or (code == 2 and len(err.splitlines()) != 1):
        return f"{words}: exit {code}: {err}"[:400]
    return None


def fuzz(lines: Callable[[random.Random], list[str]], times: int, kind: str, capsys: Any, count: Any) -> list[str]:
    rng, wrong = random.Random(16), []
    for _ in range(times):
        trouble = attack(lines(rng), capsys)
        count(kind, "answered or refused" if trouble is None else "broken")
        wrong += [] if trouble is None else [trouble]
    return wrong


@pytest.mark.usefixtures("here")
def test_random_command_lines_are_answered_or_refused(capsys, count) -> None:
    assert fuzz(line, 250, "shell calls", capsys, count) == []


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
def test_five_thousand_random_command_lines_are_answered_or_refused(capsys, count) -> None:
    assert fuzz(line, 5000, "shell calls", capsys, count) == []


def mutated(rng: random.Random) -> str:
    """A plan with a few characters, words or lines changed."""
    text = PLAN
    for _ in range(rng.randint(1, 4)):
        k = rng.randrange(len(text) + 1)
        change = rng.randrange(5)
        if change == 0:
            text = text[:k] + text[k + rng.randint(1, 6) :]
        elif change == 1:
            text = text[:k] + rng.choice([*VALUES[:-2], '"', "[", "]", "{", "}", "\n", "=", ","]) + text[k:]
        elif change == 2:
            lines = text.splitlines()
            rng.shuffle(lines)
            text = "\n".join(lines)
        elif change == 3:
            words = text.split(" ")
            words[rng.randrange(len(words))] = rng.choice([*VALUES, '"x"', "[]", "{}", "1979-05-27"])
            text = " ".join(words)
        else:
            text += rng.choice(["", "\nmodules = [1]", "\nx = 1", "\nplanners = 3", "\nkeep = 7", "\ntext = []"])
    return text


def attack_plan(rng: random.Random) -> list[str]:
    Path("mutant.toml").write_text(mutated(rng), encoding="utf-8")
    return ["run", "mutant.toml", "--dry-run", "--out", "results"]


@pytest.mark.usefixtures("here")
def test_mutated_plans_are_read_or_refused(capsys, count) -> None:
    assert fuzz(attack_plan, 150, "plans", capsys, count) == []


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
def test_two_thousand_mutated_plans_are_read_or_refused(capsys, count) -> None:
    assert fuzz(attack_plan, 2000, "plans", capsys, count) == []
