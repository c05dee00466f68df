"""The page of the benchmarks, and the history that notices what has become slower."""

import json
from pathlib import Path

import pytest
from benchmarks import page

LIMIT = {
    "problem": "m1-entropy", "us_an_iteration": 0.7, "ratio_root": 1.4, "ratio_bare_both": 0.7, "ratio_trial": 1.6,
    "ratio_two_trials": 1.3, "ours_to_paper_trial": 1.2,
}  # fmt: skip
RESULTS = {
    "gumdp": "0", "numba": "0", "python_version": "3", "machine": "m",
    "limit": [LIMIT, {**LIMIT, "problem": "taxi-entropy", "ratio_two_trials_to_c": 2.5}],
    "python": [{"problem": "m1-entropy", "python_us": 2000.0, "compiled_us": 0.5, "ratio": 4000.0}],
    "packages": [{"package": "gumdp", "us_an_iteration": 0.7, "ratio": 1.0, "ratio_cpu": 1.0},
                 {"package": "mctx", "skipped": "no"},
                 {"package": "mcts", "us_an_iteration": 400.0, "ratio": 571.4, "ratio_cpu": 614.3}],
    "threads": [{"problem": "m1-entropy", "trials_speedup": 1.9, "root_parallel_speedup": 1.8}],
    "startup": [{"what": "MCTS(100)", "cold": 9.0, "cold_cpu": 8.0, "warm": 0.7, "warm_cpu": 0.6}],
    "growth": {
        **{name: {"10": 1.0, "1000": 2.0} for name in ("states", "actions", "horizon")},
        "iterations": {"100": 1.0, "1000": 2.0, "10000": 3.0}, "bytes_a_node": {"2": 85.0, "4": 133.0},
    },
}  # fmt: skip


def test_every_part_has_its_place_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", tmp_path / "speed.md")
    monkeypatch.setattr(page, "PICTURE", tmp_path / "growth.png")
    page.PAGE.write_text(text, encoding="utf-8")
    page.write(RESULTS)
    made = page.PAGE.read_text(encoding="utf-8")
    for part in ("| `taxi-entropy` | 0.70 | 1.40 | 0.70 | 1.60 | 1.30 | 2.50 | 1.2 |", "| 2000 | 0.50 | 4000 |",
                 "1.90 times as", "| MCTS(100) | 9.0 | 8.0 | 0.70 |", "takes 1.50 times as"):  # fmt: skip
        assert part in made
    assert "| mcts | 400 | 571 | 614 |" in made
    assert "| mctx |" not in made  # what is not installed is left out
    assert page.PICTURE.stat().st_size > 1000
    page.write({**RESULTS, "packages": RESULTS["packages"][:2]})  # nothing to compare with: the table stays
    assert page.PAGE.read_text(encoding="utf-8") == made


def test_packages_that_are_installed_are_compared() -> None:
    rows = [
        {"package": "gumdp", "us_an_iteration": 0.7, "ratio": 1.0, "ratio_cpu": 1.0},
        {"package": "mcts", "us_an_iteration": 7000.0, "ratio": 1e4, "ratio_cpu": 2e4},
    ]
    assert page.packages(rows).endswith("| gumdp | 0.7 | 1 | 1 |\n| mcts | 7e+03 | 1e+04 | 2e+04 |")
    assert page.packages(rows[:1]) == ""


def test_what_is_slower_than_it_was_is_said(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    for _ in range(3):
        assert page.remember(RESULTS, history) == []
    slow = {**RESULTS, "limit": [{**LIMIT, "ratio_root": 1.4 * 1.2}]}
    assert page.remember(slow, history) == ["m1-entropy ratio_root: 1.68, where it was 1.4"]
    rows = [json.loads(line) for line in history.read_text().splitlines()]
    assert len(rows) == 4
    assert rows[0]["ratios"]["m1-entropy compiled to python"] == 0.0003
