"""The study of the planner: its files are experiments, and its page says what is in the folders."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from studied import ROOT, data, registered, report, tables

__all__ = ["registered"]
FILES = sorted((ROOT / "studies").glob("*.toml"))
TRIALS = 8

pytestmark = [pytest.mark.usefixtures("registered"), pytest.mark.slow]


def fill(folder: Path, arms: list[Arm], gain: float = 0.1, version: str | None = None) -> None:
    """Results without playing: our search costs ``gain`` less than the paper's, but for a little noise."""
    noise = np.random.default_rng(len(arms)).normal(scale=0.01, size=(len(arms), TRIALS))
    with Store.open(folder, version) as store:
        store.begin("local", {}, "test")
        for arm, row in zip(arms, noise, strict=True):
            values = 0.5 - gain * (arm.planner == "mcts") + row
            store.add(arm, [Outcome(k, float(value), 0.1) for k, value in enumerate(values)])


def arms_of(name: str, problems: set[str]) -> list[Arm]:
    plan = read_experiment(ROOT / "studies" / f"{name}.toml")
    return [arm for arm in plan.arms if arm.problem in problems]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_study_is_an_experiment_of_fresh_trials(path: Path) -> None:
    plan = read_experiment(path)
    assert plan.name == path.stem
    assert {arm.seed for arm in plan.arms} == {1}
    assert plan.trials == (15 if path.stem == "time-100ms" else 200)
    labels = {arm.problem_label for arm in plan.arms}
    if path.stem in ("settings", "ablation-1ms", "candidates-1ms", "time-1ms", "time-10ms", "time-100ms"):
        assert labels == set(data.NINE)
    if path.stem in ("ablation", "candidates"):
        assert labels > set(data.NINE)


def test_no_problem_is_both_unseen_and_looked_at() -> None:
    unseen, others, settings = (
        {arm.problem_label for arm in read_experiment(ROOT / "studies" / f"{name}.toml").arms}
        for name in ("unseen", "others", "settings")
    )
    assert not unseen & (others | settings)


@pytest.mark.parametrize("name", ["ablation", "candidates"])
def test_the_same_changes_are_made_to_both_budgets(name: str) -> None:
    by_iterations, by_time = (
        {
            repr({k: v for k, v in arm.planner_options.items() if k not in ("iterations", "time_limit")})
            for arm in plan.arms
        }
        for plan in (read_experiment(ROOT / "studies" / f"{file}.toml") for file in (name, f"{name}-1ms"))
    )
    assert by_iterations - {"{'root': 'halving'}"} == by_time  # which has to know its iterations


def test_the_page_has_a_section_for_each_folder_and_none_for_others(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()

    def written() -> str:
        """The tables, but for those of the version before, which are always there."""
        return (docs / "planning-tables.md").read_text(encoding="utf-8").split("## Measured with version 0.1")[0]

    report.main([str(tmp_path / "nothing"), "--docs", str(docs)])
    assert "| problem" not in written()
    assert "| problems | ours |" not in (docs / "planning.md").read_text(encoding="utf-8")
    settings = arms_of("settings", {"m1-entropy", "m2-imitation"})
    fill(tmp_path / "half" / "settings", [arm for arm in settings if arm.planner == "mcts"])
    report.main([str(tmp_path / "half"), "--docs", str(docs)])
    assert "times as long" not in written()
    fill(tmp_path / "settings", settings)
    fill(tmp_path / "unseen", arms_of("unseen", {"queue-fairness"}), gain=-0.1)
    fill(tmp_path / "time-1ms", arms_of("time-1ms", {"m1-entropy"}), gain=0.0)
    fill(tmp_path / "ablation", arms_of("ablation", {"m1-entropy"}))
    fill(tmp_path / "ablation-1ms", arms_of("ablation-1ms", {"m1-entropy"})[:3])
    fill(tmp_path / "candidates", arms_of("candidates", {"m1-entropy", "taxi-entropy"}))
    fill(tmp_path / "candidates-1ms", arms_of("candidates-1ms", {"m1-entropy"}))
    fill(tmp_path / "leaves", arms_of("leaves", {"m1-entropy"}))
    report.main([str(tmp_path), "--docs", str(docs)])
    first, text = (docs / "planning.md").read_text(encoding="utf-8"), written()
    assert "| unseen, with chance | 100 iterations | 4000 iterations | 1 | 0 | 0 | 1 | 8 |" in first
    assert "| the paper's nine | 100 iterations | 4000 iterations | 2 | 2 | 0 | 0 | 8 |" in first
    assert re.search(r"(?m)^- queue-fairness \(.*horizon=60\): `MCTS\(100\)` 0[.](59|60)\d*, ", first)
    assert "`MCTS(100)` is better on 2, not worse on none, worse on none of 2 (8 trials)" in text
    assert "`MCTS(100)` is better on none, not worse on none, worse on 1 of 1 (8 trials)" in text
    for heading in (
        "A fortieth of the budget",
        "The same budget",
        "The same time",
        "Problems that nobody had looked at",
        "One thing",
        "What was tried",
    ):
        assert f"## {heading}" in text, heading
    assert "10 ms per decision" not in text
    assert "ours takes 1 to 1 times as long as the paper's" in text
    assert "| change | 25 iterations, 1 problems (8 trials) |" in text
    assert "`paired=False`" in text
    halving = next(line for line in text.splitlines() if line.startswith("| `root='halving'` | 0 "))
    assert halving == "| `root='halving'` | 0 ↓ 2 ↑ | 0 ↓ 2 ↑ | 0 ↓ 2 ↑ | 0 ↓ 2 ↑ | – |"
    columns = next(row.split(" | ")[1:] for row in text.splitlines() if row.startswith("| `paired=False` |"))
    assert ["↑" in column for column in columns] == [True] * 5  # 25, 100, 400, 1600 iterations, 1 ms
    leaves = next(line for line in text.splitlines() if line.startswith("| `leaf='average'` | 0 "))
    assert leaves == "| `leaf='average'` | 0 ↓ 1 ↑ | 0 ↓ 1 ↑ | 0 ↓ 1 ↑ | 0 ↓ 1 ↑ | 0 ↓ 1 ↑ |"
    columns = next(row.split(" | ")[1:] for row in text.splitlines() if row.startswith("| `scaled=False` |"))
    assert ["↑" in column for column in columns] == [True] * 4 + [False]  # which was not played in 1 ms
    assert re.search(r"\| `root='halving'` \| \*\*\+0[.]\d+ ↑\*\* \| \*\*\+0[.]\d+ ↑\*\* \| 0 ↓ 2 ↑ \| 1 \|", text)
    assert re.search(r"\| `leaf='average'` \| \*\*\+0[.]\d+ ↑\*\* \| – \| 0 ↓ 1 ↑ \| 1 \|", text)
    for name in ("planning-iterations", "planning-seconds"):
        assert (docs / "images" / f"{name}.png").stat().st_size > 5_000


def test_a_comparison_pairs_the_trials_that_both_have() -> None:
    arm = Arm("m1-entropy", "random")
    ours = data.Played(arm, {0: 1.0, 1: 2.0, 2: 3.0, 5: 100.0}, [1.0])
    theirs = data.Played(arm, {1: 2.5, 2: 3.7, 0: 1.4, 7: -100.0}, [1.0])
    result = data.compare(ours, theirs)
    assert result.trials == 3
    assert result.difference == pytest.approx(-(0.4 + 0.5 + 0.7) / 3)
    assert data.verdict(result) == "better"
    assert data.verdict(data.compare(theirs, ours)) == "worse"


def test_verdicts_are_corrected_for_the_number_of_comparisons() -> None:
    """One p-value of about 0.03 among twenty is none by Holm's rule; one far below 0.05 / 20 stays."""
    arm, noise = Arm("m1-entropy", "random"), np.random.default_rng(0).normal(size=(22, 30))
    noise -= noise.mean(axis=1, keepdims=True)
    noise /= noise.std(axis=1, ddof=1, keepdims=True)
    shifts = [-1.95 / 30**0.5, 8.0 / 30**0.5] + [0.0] * 20  # t values, with 29 degrees of freedom
    theirs = data.Played(arm, dict.fromkeys(range(30), 0.0), [1.0])
    ours = [data.Played(arm, dict(enumerate(row + shift)), [1.0]) for row, shift in zip(noise, shifts, strict=True)]
    pairs = [(each, theirs) for each in ours]
    assert data.verdict(data.compare(*pairs[0])) == "better"
    assert data.verdicts(pairs) == ["not worse", "worse"] + ["not worse"] * 20
    assert data.verdicts(pairs[:1]) == ["better"]
    assert data.verdicts([]) == []


def test_chance_is_a_matter_of_the_model() -> None:
    assert data.is_certain(Arm("taxi-entropy", "random"))  # the start is drawn, the rest is not
    assert data.is_certain(Arm("mountaincar-entropy", "random"))
    assert not data.is_certain(Arm("m1-entropy", "random"))


def test_differences_by_rounding_are_none() -> None:
    arm = Arm("m1-entropy", "random")
    ours = data.Played(arm, dict.fromkeys(range(9), 0.3 + 1e-13), [1.0])
    theirs = data.Played(arm, dict.fromkeys(range(9), 0.3), [1.0])
    assert data.verdict(data.compare(ours, theirs)) == "not worse"


def test_times_come_from_trials_that_had_the_machine_to_themselves(tmp_path: Path) -> None:
    fill(tmp_path / "settings", arms_of("settings", {"m1-entropy", "m2-imitation"}))
    fill(tmp_path / "pace", arms_of("settings", {"m1-entropy"}))
    pace = data.Folder(tmp_path / "pace")
    for played in pace.arms:
        played.seconds = [0.02]
    for played in data.Folder(tmp_path / "settings").clocked(pace).arms:
        assert played.seconds == ([0.02] if played.arm.problem == "m1-entropy" else [0.1] * TRIALS)


def test_certificates_come_from_what_the_command_printed(tmp_path: Path) -> None:
    found = {"setting": "m1-entropy", "lower": 0.001, "mean": 0.0012, "upper": 0.0013, "gap": 3e-4, "trials": 200}
    more = {"level": 0.99, "parameters": "MCTS(iterations=4000)"}
    (tmp_path / "m1-entropy.json").write_text(json.dumps(found | more), encoding="utf-8")
    text = "\n".join(report.proofs(tmp_path))
    assert "| m1-entropy | 0.001 | 0.0012 | 0.0013 | 0.0003 | 200 |" in text
    assert "`gumdp certify` of `MCTS(iterations=4000)`: with 99 % confidence" in text


def test_random_problems_are_named_by_what_they_are_made_of() -> None:
    options = {"states": 30, "actions": 8, "branching": 1, "discount": 1.0, "episodes": 3, "seed": 6}
    assert tables.name(Arm("random-small", "random", options)) == (
        "30 × 8 entropy, deterministic, discount 1, 3 episodes, seed 6"
    )
    many = {"states": 30, "branching": 12}
    assert tables.name(Arm("random-small", "random", many)) == "30 × 2 entropy, 12 outcomes, seed 0"


def test_an_arm_counts_in_the_version_that_ran_it_last(tmp_path: Path) -> None:
    arms = [arm for arm in arms_of("time-1ms", {"m1-entropy"}) if arm.planner in ("mcts", "mcts-paper")]
    ours = [arm for arm in arms if arm.planner == "mcts"]
    for name, run, gain in (("old", arms, 0.1), ("new", ours, 0.3)):
        fill(tmp_path, run, gain, name)
    folder = data.Folder(tmp_path)
    [(new, paper)] = folder.pairs({"time_limit": 0.001}, {"time_limit": 0.001})
    assert folder.versions == {"old", "new"}
    assert (new.mean, paper.mean) == pytest.approx((0.2, 0.5), abs=0.02)
