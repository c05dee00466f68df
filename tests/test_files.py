"""Problems and planners in people's own files, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gumdp.cli.main import main

MINE = """
import gumdp
import beside


def problem(horizon=6, slip=0.1):
    stay, move = [[1, 0], [0, 1]], [[slip, 1 - slip], [1 - slip, slip]]
    model = gumdp.Tabular.from_matrices([stay, move], start=0)
    return gumdp.Problem(model, beside.objective, discount=0.9, horizon=horizon)


ready = problem()
number = 3


def planner(randomness=0.0):
    return gumdp.Greedy(randomness=randomness)


def broken():
    raise RuntimeError("no luck")


gumdp.register_planner("turns", lambda first=0: gumdp.NonMarkov(lambda s, a: (first + len(a)) % 2), {"first": int})
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from gumdp.run import registry

    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "beside.py").write_text("import gumdp\nobjective = gumdp.normalized(gumdp.Entropy())\n")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "fails.py").write_text("1 / 0\n")
    return str(tmp_path / "mine.py")


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> dict:
    assert main([*args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_function_that_makes_a_problem_takes_options(file, capsys):
    trial = answer(capsys, "plan", file, "--planner", "greedy", "--set", "horizon=4")
    assert len(trial["actions"]) == 4


def test_a_problem_and_a_planner_by_their_names(file, capsys):
    trial = answer(capsys, "plan", f"{file}:ready", "--planner", f"{file}:planner", "--option", "randomness=0.5")
    assert trial["planner"] == f"{file}:planner" or "Greedy" in str(trial)
    assert len(trial["actions"]) == 6


def test_a_module_registers_planners(file, capsys):
    args = ("plan", f"{file}:ready", "--module", file, "--planner", "turns", "--option", "first=1")
    assert answer(capsys, *args)["actions"] == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (":redy", "did you mean 'ready'"),
        (":number", "must be a problem, or a function that makes one, not 3"),
        (":planner", "must make a Problem"),
        (":broken", "fails with RuntimeError: no luck"),
    ],
)
def test_what_is_wrong_is_one_sentence(file, name, said, capsys):
    assert main(["plan", file + name]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_files_that_are_not_there_or_fail_are_one_sentence(file, capsys):
    folder = Path(file).parent
    for args, said in (
        (["plan", str(folder / "none.py")], "there is no file"),
        (["plan", str(folder / "fails.py")], "fails with ZeroDivisionError"),
        (["plan", f"{file}:ready", "--set", "horizon=3"], "takes no options"),
        (["plan", "m1-entropy", "--module", "no_such_module"], "ModuleNotFoundError"),
        (["plan", f"{file}:ready", "--option", "three"], "NAME=VALUE"),
    ):
        assert main(args) == 2
        assert said in capsys.readouterr().err
