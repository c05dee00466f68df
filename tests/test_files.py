"""Problems and planners in people's own files, from the shell."""

from __future__ import annotations

import json
import subprocess
import sys
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


named = gumdp.Problem(ready.model, beside.objective, 0.9, 6, name="two rooms")
gumdp.register_problem("broken", broken)
gumdp.register_planner("broken", broken)
gumdp.register_planner("three", lambda: 3)
gumdp.register_planner("turns", lambda first=0: gumdp.NonMarkov(lambda s, a: (first + len(a)) % 2), {"first": int})
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from gumdp.run import registry
    from gumdp.zoo import registry as problems

    for names in (registry, problems):
        monkeypatch.setattr(names, "_entries", dict(names._entries))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "beside.py").write_text("import gumdp\nobjective = gumdp.normalized(gumdp.Entropy())\n")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "fails.py").write_text("1 / 0\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
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
        (":redy", "did you mean 'ready'?\n"),  # and nothing about gumdp list, which doesn't know the file
        (":number", "must be a problem, or a function that makes one, not 3"),
        (":planner", "must make a Problem"),
        (":broken", "fails with RuntimeError: no luck"),
        (":zebra", "there are: ready, named, problem, planner, broken"),
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
        (["plan", str(folder / "leaves.py")], "fails with SystemExit: 3"),
        (["plan", f"{file}:ready", "--set", "horizon=3"], "takes no options"),
        (["plan", "m1-entropy", "--module", "no_such_module"], "ModuleNotFoundError"),
        (["plan", f"{file}:ready", "--option", "three"], "NAME=VALUE"),
        (["plan", "broken", "--module", file], "broken fails with RuntimeError: no luck"),
        (["plan", "m1-entropy", "--module", file, "--planner", "broken"], "broken fails with RuntimeError: no luck"),
        (["plan", "m1-entropy", "--module", file, "--planner", "three"], "what three makes must be a Planner, not int"),
        (["plan", f"{file}:ready", "--plot", str(folder / "none" / "a.png")], "--plot: there is no folder"),
        (["plan", f"{file}:ready", "--measure", f"n={file}:ready"], "'n' must be a function, or its costs"),
    ):
        assert main(args) == 2
        assert said in capsys.readouterr().err


def test_a_warning_is_one_line_in_the_shell(tmp_path):
    world = "import gumdp\ncosts = {0: 1.0}\nmodel = gumdp.Tabular([[[1.0]]])\n"
    (tmp_path / "slow.py").write_text(world + "problem = gumdp.Problem(model, lambda d: costs[0], 1.0, 2)\n")
    command = [sys.executable, "-c", "import sys; from gumdp.cli.main import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "plan", str(tmp_path / "slow.py"), "--planner", "random"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr.startswith("gumdp: the objective Function(<lambda>) runs as plain Python")
    assert done.stderr.count("\n") == 1


def test_results_are_headed_by_the_name_of_the_problem_and_what_was_changed(file, capsys):
    assert main(["evaluate", f"{file}:named", "--planner", "random", "--trials", "2"]) == 0
    assert capsys.readouterr().out.startswith("two rooms · Random() · seed 0\n")
    assert main(["plan", f"{file}:problem", "--planner", "random", "--set", "horizon=4"]) == 0
    assert capsys.readouterr().out.startswith("mine · horizon=4 · Random() · seed 0\n")


def test_a_problem_in_a_file_is_listed_like_a_named_one(file, capsys):
    (entry,) = answer(capsys, "list", f"{file}:named")["problems"]
    assert (entry["name"], entry["states"], entry["actions"]) == ("two rooms", 2, 2)
    assert "horizon 6" in entry["summary"]


def test_an_experiment_says_how_it_knows_what_is_in_files(file, capsys):
    plan = Path(file).with_name("plan.toml")
    plan.write_text('problems = ["m1-entropy"]\nplanners = ["mine.py:planner"]\n')
    assert main(["run", str(plan)]) == 2
    assert 'line 2: an experiment knows what is in files by the names that they register: modules = ["mine"]' in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["random.py", "gumdp.py", "scipy.py"])
def test_a_file_can_not_take_the_place_of_a_module_that_others_need(file, name, capsys):
    Path(file).with_name(name).write_text(MINE)
    assert main(["plan", f"{Path(file).with_name(name)}:ready", "--planner", "random"]) == 2
    assert "has the name of a module of Python's or of a package: give it another one." in capsys.readouterr().err


def test_what_a_file_prints_does_not_come_between_programs_and_the_json(file, capsys):
    loud = Path(file).with_name("loud.py")
    loud.write_text(f"{MINE}\nprint('made')\n\n\ndef told():\n    print('called')\n    return ready\n")
    told = ["evaluate", "--module", str(loud), f"{loud}:told", "--planner", "random", "--trials", "2"]
    assert main([*told, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["trials"] == 2
    assert "made" in said.err
    assert "called" in said.err
    assert main(told) == 0
    assert "called" in capsys.readouterr().out


@pytest.mark.parametrize("flag", [("--set", "=3"), ("--measure", "=mine.py:broken")])
def test_a_value_without_a_name_is_refused(file, flag, capsys):
    assert main(["plan", f"{file}:problem", "--planner", "random", *flag]) == 2
    assert f"{flag[0]} takes NAME=" in capsys.readouterr().err
