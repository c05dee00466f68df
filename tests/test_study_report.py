"""Reports of people's own studies: their words, their baseline, honest comparisons, nothing of the paper's."""

import builtins
import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gumdp
from gumdp import statistics
from gumdp.cli.main import main
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.plot import ink
from gumdp.report import figures, results
from gumdp.report.document import write_report
from gumdp.report.frame import read_results
from gumdp.report.page import lead
from gumdp.report.published import published_for
from gumdp.report.story import Story, read_story
from gumdp.report.tables import comparison_table, means_table, published_table, sheets, verdicts
from gumdp.run.compare import compare
from stored import paper_folder

Values = Callable[[Arm], "np.typing.ArrayLike"]


def stored(folder: Path, plan: Experiment, values: Values) -> Story:
    """What a run of ``plan`` leaves behind, with made-up values."""
    with Store.open(folder) as store:
        store.begin("local", {"study": plan.study()}, "gumdp run study.toml")
        for arm in plan.arms:
            numbers = np.asarray(values(arm), dtype=float)
            store.add(arm, [Outcome(k, float(x), 0.1) for k, x in enumerate(numbers)])
        store.end("complete", 1.0)
    return read_story(folder)


# --- in their own words ---


def test_title_and_text_are_the_user_s_own(tmp_path: Path) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random", "greedy"], title="Greed & chance", text="Is greed good?")
    story = stored(tmp_path, plan, lambda arm: [0.1, 0.2])
    page = write_report(story).read_text(encoding="utf-8")
    assert "<h1>Greed &amp; chance</h1>" in page
    assert "Is greed good?" in page
    assert "The paper" not in page.partition("</nav>")[0]


@pytest.mark.parametrize(("about", "title"), [({}, "experiment"), ({"name": "mine"}, "mine")])
def test_without_a_title_it_has_the_experiment_s_name(tmp_path: Path, about: dict[str, str], title: str) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random"], **about)
    assert stored(tmp_path, plan, lambda arm: [0.1]).title == title


def test_a_folder_without_a_study_has_the_folder_s_name(tmp_path: Path) -> None:
    with Store.open(tmp_path / "old") as store:
        store.begin("local", {}, "test")
        store.add(Arm("m1-entropy", "random"), [Outcome(0, 0.5, 1.0)])
    assert read_story(tmp_path / "old").title == "Results in old"


def test_a_study_that_makes_no_sense_is_left_out(tmp_path: Path) -> None:
    odd = {"title": 7, "text": ["x"], "baseline": [], "candidates": [3], "problems": 1, "planners": {}}
    for k, study in enumerate((odd, "text", None, 5, [1])):
        with Store.open(tmp_path / str(k)) as store:
            store.begin("local", {"study": study}, "test")
            store.add(Arm("m1-entropy", "random"), [Outcome(j, 0.5, 1.0) for j in range(3)])
        assert read_story(tmp_path / str(k)).title == f"Results in {k}"


@pytest.mark.parametrize("machine", [{"packages": 3, "cores": [1]}, {"packages": [1], "python": None}, {}])
def test_facts_of_another_kind_are_no_trouble(tmp_path: Path, machine: object) -> None:
    with Store.open(tmp_path) as store:
        store.begin("local", machine, "test")
        store.add(Arm("m1-entropy", "random"), [Outcome(j, 0.5, 1.0) for j in range(3)])
        store.note("bound", Arm("m1-entropy", "random").problem_digest, {"value": "low"})
    assert "Run it again" in write_report(tmp_path).read_text(encoding="utf-8")


def test_problems_that_are_not_known_here_show_their_summary(tmp_path: Path) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random"])
    study = {**plan.study(), "problems": {"m1-entropy": "the summary that was stored"}}
    with Store.open(tmp_path) as store:
        store.begin("local", {"study": study}, "test")
        store.add(plan.arms[0], [Outcome(0, 0.5, 1.0)])
    assert "the summary that was stored" in write_report(tmp_path).read_text(encoding="utf-8")


# --- candidates and a baseline ---


def trio(**about: object) -> Experiment:
    searches = {"name": "mcts", "iterations": [10, 100], "reuse": [True, False]}
    return Experiment.grid(["m1-entropy", "m2-imitation"], ["random", "greedy", searches], trials=30, **about)


def noisy(arm: Arm) -> np.ndarray:
    """Trials share their luck; the greedy planner is better by far, reuse makes no difference but for noise."""
    luck = np.random.default_rng(1).normal(size=30)
    own = np.random.default_rng(sum(arm.label.encode())).normal(size=30)
    return 1.0 + luck + 0.1 * own - 2.0 * (arm.planner == "greedy")


def test_every_candidate_is_compared_with_the_baseline_on_the_same_trials(tmp_path: Path) -> None:
    story = stored(tmp_path, trio(baseline="random"), noisy)
    assert [(pair.section.problem, pair.candidate.name) for pair in story.pairs] == [
        (problem, name)
        for problem in ("m1-entropy", "m2-imitation")
        for name in ("greedy", "MCTS(reuse=True)", "MCTS(reuse=False)")
    ]
    pair = story.pairs[0]
    a, b = (section_values(story, name) for name in ("greedy", "random"))
    assert pair.comparison.difference == pytest.approx((a - b).mean())
    raised = statistics.holm([compare_values(p).p for p in story.pairs])
    assert [p.p for p in story.pairs] == pytest.approx(raised.tolist())
    assert pair.clear == "better"
    assert re.fullmatch(r"clearly better, p = \S+ \(paired t\)", pair.words)
    assert [p.clear for p in story.pairs[1:3]] == ["", ""]


def section_values(story: Story, name: str) -> np.ndarray:
    return next(line for line in story.sections[0].lines if line.name == name).best.values


def compare_values(pair: object) -> object:
    return compare(pair.sides[0].values, pair.sides[1].values)


def test_the_first_planner_is_the_baseline_if_none_is_named(tmp_path: Path) -> None:
    story = stored(tmp_path, trio(), noisy)
    assert {pair.baseline.name for pair in story.pairs} == {"random"}
    assert len(story.pairs) == 6


def test_a_baseline_with_options_and_chosen_candidates(tmp_path: Path) -> None:
    about = {"baseline": {"name": "mcts", "reuse": False, "iterations": 10}, "candidates": ("greedy",)}
    story = stored(tmp_path, trio(**about), noisy)
    assert [(p.candidate.name, p.baseline.name) for p in story.pairs] == [("greedy", "MCTS(reuse=False)")] * 2
    assert {p.sides[1].iterations for p in story.pairs} == {10}


def test_the_lead_says_who_is_better_in_plain_words(tmp_path: Path) -> None:
    text = " ".join(lead(stored(tmp_path, trio(baseline="random"), noisy)))
    assert "greedy is clearly better than random on 2 of 2 problems." in text
    assert "MCTS(reuse=True) and MCTS(reuse=False) are not clearly different from random on any of 2 problems." in text


def test_the_table_says_it_too(tmp_path: Path) -> None:
    sheet = comparison_table(stored(tmp_path, trio(baseline="random"), noisy))
    assert sheet.heading[:3] == ("problem", "candidate", "in words")
    assert "Holm" in sheet.rule
    assert sheet.items[0][2].verdict == "lower"


# --- clearly ---


@pytest.mark.parametrize(
    ("difference", "clear"),
    [
        ([0.0] * 30, ""),  # ties
        ([1e-17] * 30, ""),  # rounding errors, all on one side
        ([1e-17, -2e-17, 3e-17] * 10, ""),
        ([-0.5] * 2, ""),  # the same twice: two coins
        ([-0.5] * 30, "better"),  # the same thirty times
        ([0.5] * 30, "worse"),
        ([0.0] * 29 + [-1.0], ""),  # one trial is not the rule
        ([-1.0, -2.0] * 15, "better"),
    ],
)
def test_clearly_survives_ties_rounding_errors_and_constant_differences(tmp_path, difference, clear) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random", "greedy"])
    base = 1.0 + np.arange(len(difference)) / 7

    story = stored(tmp_path, plan, lambda arm: base + (np.array(difference) if arm.planner == "greedy" else 0.0))
    (pair,) = story.pairs
    assert pair.clear == clear


def test_equal_planners_are_rarely_called_different_whatever_their_number() -> None:
    """Twenty planners that are all the same, a hundred studies: at 5 % for a whole study, about five have a finding.

    More than 13 of 100 have a probability below 0.1 % if the rule keeps its word (binomial).
    """
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(100):
        base = rng.normal(size=12)
        p = []
        for _ in range(20):
            d = rng.normal(size=12) - base
            t = d.mean() / (d.std(ddof=1) / math.sqrt(12))
            p.append(2 * student_tail(abs(t), 11))
        found += statistics.holm(p).min() < 0.05
    assert found <= 13


def student_tail(t: float, freedom: int) -> float:
    from scipy import stats

    return float(stats.t.sf(t, freedom))


def test_holm_is_the_textbook_s() -> None:
    """Holm by its definition: each p-value is the largest of (m - j) times the j-th smallest, up to its own rank."""
    p = [0.011, 0.02, 0.005, 0.3, 0.02]
    ranked = sorted(range(5), key=lambda k: p[k])
    for rank, k in enumerate(ranked):
        expected = min(1.0, max((5 - j) * p[ranked[j]] for j in range(rank + 1)))
        assert statistics.holm(p)[k] == pytest.approx(expected)


# --- published values ---


@pytest.mark.parametrize(
    ("options", "planner", "planner_options", "published"),
    [
        ({}, "random", {}, 0.1159),
        ({"horizon": 20}, "random", {}, None),
        ({"discount": 0.95}, "random", {}, None),
        ({}, "mcts-paper", {"iterations": 4000}, 0.0092),
        ({}, "mcts-paper", {}, 0.0092),  # its own default
        ({}, "mcts-paper", {"iterations": 200}, None),
        ({}, "mcts-paper", {"iterations": 4000, "reuse": True}, None),
        ({}, "mcts", {}, None),  # 1000 iterations
        ({}, "solver", {"resolve": True}, None),
        ({}, "greedy", {}, None),
    ],
)
def test_published_values_are_for_exactly_their_settings(options, planner, planner_options, published) -> None:
    found = published_for(Arm("m1-entropy", planner, options, planner_options))
    assert (found.unrounded if found else None) == published


def test_published_imitation_is_of_the_published_target() -> None:
    assert published_for(Arm("taxi-imitation", "random")) is None
    assert published_for(Arm("taxi-imitation", "random", {"target": "published"})).unrounded == 0.0787


def test_other_horizons_stand_beside_no_published_value(tmp_path: Path) -> None:
    plan = Experiment.grid([{"name": "m1-entropy", "horizon": 20}], ["random", {"name": "mcts-paper"}], trials=3)
    story = stored(tmp_path, plan, lambda arm: [0.1, 0.2, 0.3])
    assert not story.paper
    assert verdicts(story) == []
    assert "published" not in write_report(story).read_text(encoding="utf-8")


def test_a_quick_reproduction_compares_the_baselines_alone(tmp_path: Path) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random", {"name": "mcts-paper", "iterations": 200}], trials=3)
    story = stored(tmp_path, plan, lambda arm: [0.1, 0.2, 0.3])
    (row,) = published_table(story).items
    assert (row[1].below, row[1].verdict) == ("0.12 ±0.04", "agrees")
    assert (row[2].below, row[2].verdict) == ("200 iterations", "")


# --- tables and figures ---


def test_the_least_mean_is_bold_in_every_format(tmp_path: Path) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random", "greedy"], trials=2)
    sheet = means_table(stored(tmp_path, plan, lambda arm: [0.25, 0.25] if arm.planner == "greedy" else [0.5, 0.5]))
    assert r"\textbf{0.25 [0.25, 0.25]}" in sheet.latex()
    assert "**0.25 [0.25, 0.25]**" in sheet.markdown()
    assert '<strong>0.25 <span class="interval">[0.25, 0.25]</span></strong>' in sheet.html()
    assert "**0.5 " not in sheet.markdown()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX here: texlive-latex-recommended")
def test_every_table_compiles_and_can_be_referred_to(tmp_path: Path) -> None:
    story = read_story(paper_folder(tmp_path / "results", ["m1-entropy", "frozenlake-imitation"]))
    found = sheets(story)
    names = ", ".join(rf"\ref{{tab:{sheet.name}}}" for sheet in found)
    body = "\n".join(sheet.latex() for sheet in found)
    text = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}Tables {names}. {body}\end{{document}}"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    for _ in range(2):  # the second run knows the numbers
        command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert answer.returncode == 0, answer.stdout[-2000:]
    assert "undefined" not in answer.stdout


def test_many_planners_get_a_row_each(tmp_path: Path) -> None:
    plan = Experiment.grid(["m1-entropy"], [{"name": "greedy", "randomness": [k / 10 for k in range(1, 9)]}])
    sheet = means_table(stored(tmp_path, plan, lambda arm: [arm.planner_options["randomness"]] * 2))
    assert sheet.heading == ("planner", "m1-entropy")
    assert [row[0].text for row in sheet.items] == [f"greedy(randomness={k / 10})" for k in range(1, 9)]
    assert [row[1].best for row in sheet.items] == [True] + [False] * 7


def contrast(one: str, two: str) -> float:
    """Of two colours, as WCAG 2 defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#fdfdfc", "#15181c", "#ffffff"])
def test_every_colour_stands_out_on_paper_and_on_a_dark_page(paper: str) -> None:
    """3:1 is what WCAG 2.1 asks of graphics."""
    assert all(contrast(colour, paper) >= 3.0 for colour in {*ink.COLOURS, *figures.COLOURS.values()})


def test_thirty_planners_all_look_different_and_the_same_on_every_problem(tmp_path: Path) -> None:
    many = {"name": "greedy", "randomness": [k / 100 for k in range(26)]}
    plan = Experiment.grid(["m1-entropy", "m2-imitation"], ["random", "solver", "mcts-paper", "mcts", many], trials=1)
    story = stored(tmp_path, plan, lambda arm: [0.5])
    looks = [{line.name: figures.Look.of(line) for line in section.lines} for section in story.sections]
    assert len(set(looks[0].values())) == 30
    assert looks[0] == looks[1]


def test_a_figure_is_declared_once_and_appears_everywhere(tmp_path: Path, monkeypatch) -> None:
    extra = figures.Figure("extra", "A caption of its own", lambda section, axes: axes.plot([0, 1], [0, 1]))
    monkeypatch.setattr(figures, "FIGURES", (*figures.FIGURES, extra))
    page = write_report(paper_folder(tmp_path, ["m1-entropy"]))
    assert page.read_text(encoding="utf-8").count("A caption of its own</figcaption>") == 1
    assert (page.parent / "figures" / "m1-entropy-extra.svg").is_file()


def test_problems_that_print_alike_are_kept_apart(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin("local", {}, "test")
        for k, size in enumerate((1, "1")):
            store.add(Arm("random-small", "random", {"objective": size}), [Outcome(j, float(k), 1.0) for j in range(3)])
    story = read_story(tmp_path)
    assert [section.lines[0].best.mean for section in story.sections] == [0.0, 1.0]
    assert len({section.label for section in story.sections}) == 2


def test_a_policy_file_that_changed_is_another_planner(tmp_path: Path) -> None:
    file = tmp_path / "policy.npy"
    with Store.open(tmp_path / "results") as store:
        store.begin("local", {}, "test")
        for k in range(2):
            file.write_bytes(bytes([k]))
            store.add(Arm("m1-entropy", "stationary", {}, {"policy": str(file)}), [Outcome(0, float(k), 1.0)])
    (section,) = read_story(tmp_path / "results").sections
    assert [line.best.mean for line in section.lines] == [0.0, 1.0]
    assert len({line.name for line in section.lines}) == 2


def test_the_folder_is_read_once_and_each_interval_made_once(tmp_path: Path, monkeypatch, capsys) -> None:
    folder = paper_folder(tmp_path, ["m1-entropy"])
    reads, drawn = [], []
    read, bootstrap = Store.read.__func__, statistics.bootstrap
    monkeypatch.setattr(Store, "read", classmethod(lambda cls, folder: reads.append(folder) or read(cls, folder)))

    def counted(values: np.ndarray, level: float = 0.9, method: str = "percentile") -> tuple[float, float]:
        drawn.append((np.asarray(values).tobytes(), level, method))
        return bootstrap(values, level, method)

    monkeypatch.setattr(statistics, "bootstrap", counted)
    assert main(["report", str(folder), "--document", str(tmp_path / "doc.md")]) == 0
    assert len(reads) == 1
    assert len(drawn) == len(set(drawn))


# --- plans ---


@pytest.fixture
def toml(tmp_path: Path) -> Callable[[str], Path]:
    def write(head: str) -> Path:
        path = tmp_path / "study.toml"
        path.write_text(f'{head}\nproblems = ["m1-entropy"]\nplanners = ["random", "greedy"]\n', encoding="utf-8")
        return path

    return write


def test_a_file_says_what_it_is_about(toml) -> None:
    head = 'title = "T"\ntext = "X"\nbaseline = {name = "greedy"}\ncandidates = ["random"]'
    study = read_experiment(toml(head)).study()
    assert (study["title"], study["text"]) == ("T", "X")
    assert study["baseline"] == {"name": "greedy"}
    assert study["candidates"] == [{"name": "random"}]
    assert study["problems"] == {"m1-entropy": "three states, explore evenly (M_f1)"}


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("title = 3", "line 1: title must be text, not 3."),
        ("text = []", r"line 1: text must be text, not \[\]."),
        (
            'baseline = "mcts"',
            "line 1: the baseline must be a planner of the experiment, one of random, greedy, not 'mcts'",
        ),
        ("baseline = 3", "line 1: a baseline must be a name, or a table with a name and options, not 3."),
        ('candidates = "random"', "line 1: candidates must be a list of names or tables, not 'random'."),
        ('candidates = ["solver"]', "line 1: the candidate must be a planner of the experiment"),
    ],
)
def test_a_file_that_says_it_wrongly_is_told_where(toml, head: str, message: str) -> None:
    with pytest.raises(gumdp.GumdpError, match=message):
        read_experiment(toml(head))


# --- in Python ---


def test_results_are_columns_with_a_row_a_trial(tmp_path: Path) -> None:
    stored(tmp_path, trio(), noisy)
    columns = read_results(tmp_path).columns()
    assert list(columns) == ["problem", "planner", "planner.iterations", "planner.reuse", "seed", "trial", "value"]
    assert {len(column) for column in columns.values()} == {2 * 6 * 30}
    k = columns["planner"].index("greedy")
    assert columns["value"][k : k + 30] == noisy(Arm("m1-entropy", "greedy")).tolist()
    assert columns["trial"][k : k + 30] == list(range(30))
    assert columns["planner.reuse"][k] is None


def test_a_frame_is_columns_where_there_is_no_pandas(tmp_path: Path, monkeypatch) -> None:
    stored(tmp_path, trio(), noisy)
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "pandas":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    found = read_results(tmp_path)
    assert found.frame() == found.columns()


def test_a_frame_is_of_pandas_where_there_is_one(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    stored(tmp_path, trio(), noisy)
    frame = read_results(tmp_path).frame()
    assert isinstance(frame, pandas.DataFrame)
    means = frame[frame.planner == "greedy"].groupby("problem").value.mean()
    assert means["m1-entropy"] == pytest.approx(noisy(Arm("m1-entropy", "greedy")).mean())


def test_the_shell_prints_the_comparison(tmp_path: Path, capsys) -> None:
    stored(tmp_path, trio(title="Mine", baseline="random"), noisy)
    assert main(["report", str(tmp_path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["title"] == "Mine"
    assert len(data["comparisons"]) == 6
    assert data["comparisons"][0]["words"].startswith("clearly better, p = ")
    assert main(["report", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Mine\n")
    assert "clearly better, p = " in text


def test_results_of_several_seeds_are_paired_by_seed_and_trial(tmp_path: Path) -> None:
    plan = Experiment.grid(["m1-entropy"], ["random", "greedy"], seeds=[0, 1])
    story = stored(tmp_path, plan, lambda arm: np.arange(3) + 10.0 * arm.seed - (arm.planner == "greedy"))
    (pair,) = story.pairs
    assert (pair.comparison.trials, pair.comparison.difference) == (6, -1.0)
    assert results.pair_number(1, 2) not in (results.pair_number(0, k) for k in range(3))
