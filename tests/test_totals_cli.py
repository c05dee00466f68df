"""Problems that count features, at the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fishing import best_meals
from gumdp.cli.main import main

FILE = """
from fishing import fishwood
import gumdp

problem = fishwood(0.25, 0.65, 13, utility=gumdp.Minimum([1.0, 0.5]))
"""


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meals.py").write_text(FILE)
    return "meals.py:problem"


def test_what_is_maximised_is_said(name, capsys):
    assert main(["evaluate", name, "--planner", "greedy", "--trials", "5"]) == 0
    assert "mean utility" in capsys.readouterr().out
    assert main(["evaluate", name, "--planner", "greedy", "--trials", "5", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["utility"] == -data["mean"]
    assert main(["plan", name, "--planner", "greedy"]) == 0
    assert "totals: fish" in capsys.readouterr().out
    assert main(["solve", name, "--exact", "--json"]) == 0
    solved = json.loads(capsys.readouterr().out)
    assert solved["utility"] == pytest.approx(best_meals(0.25, 0.65, 13, halves=True), abs=1e-12)
