"""Tables, figures and the comparison with the paper, from stored results."""

import io
import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from rich.console import Console, Group

import gumdp
from gumdp.cli.main import main
from gumdp.experiments.engines.job import Progress
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.paper import BUDGETS, SETTINGS, THINNED, choose, reproduction
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.report import figures
from gumdp.report.document import reproduction as reproduction_text
from gumdp.report.document import write_report
from gumdp.report.progress import LiveBars, PlainLines
from gumdp.report.published import published
from gumdp.report.results import read_results, result_table
from gumdp.report.sheet import Item, Sheet
from gumdp.report.story import read_story
from gumdp.report.tables import digits, gap_table, means_table, published_table, sheets, verdicts
from gumdp.zoo.registry import Published
from stored import paper_folder


@pytest.fixture
def call(capsys):
    def function(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return function


# --- the plan ---


def test_the_plan_is_the_paper_s() -> None:
    plan = reproduction()
    assert len(plan.arms) == 9 * (2 + len(BUDGETS) + len(BUDGETS) - len(THINNED))
    assert {arm.problem for arm in plan.arms} == set(SETTINGS)
    for arm in plan.arms:
        problem = arm.make_problem() if arm.planner == "random" else None
        assert problem is None or (problem.discount, problem.horizon) == (
            0.9,
            100 if arm.problem[0:2] in ("m1", "m2", "m3") else 200,
        )


def test_settings_are_chosen_by_parts_of_names() -> None:
    assert choose(["m3", "taxi"]) == ["taxi-entropy", "taxi-imitation", "m3-adversarial"]
    with pytest.raises(
        gumdp.GumdpError, match="unknown setting of the paper 'taxy-entropy'; did you mean 'taxi-entropy'"
    ):
        choose(["taxy-entropy"])


# --- agreement ---


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((0.1, 0.2), "agrees"), ((0.0, 0.0749), "lower"), ((0.1651, 0.2), "higher"), ((0.165, 1.0), "agrees")],
)
def test_agreement_is_overlap_with_the_rounding_of_the_published_interval(interval, verdict) -> None:
    assert Published(0.12, 0.04, 0.04, 0.1159).verdict(interval) == verdict


def test_published_values_have_the_decimals_of_the_table() -> None:
    assert str(published("frozenlake-entropy", "mcts")) == "0.40 ±0.03"
    assert str(published("m2-imitation", "mcts-paper")) == "0.002 ±0.001"
    assert str(published("mountaincar-entropy", "mcts")) == "0.61 −0.02 +0.01"
    assert published("subset-sum", "mcts") is None


def test_published_means_lie_in_their_intervals_but_for_one_slip() -> None:
    """For M_f3's solver the table prints 1.17 ± 0.02, and the mean behind it is 1.2069."""
    entries = {(s, p): published(s, p) for s in SETTINGS for p in ("random", "solver", "mcts")}
    outside = [key for key, e in entries.items() if not e.interval[0] <= e.unrounded <= e.interval[1]]
    assert outside == [("m3-adversarial", "solver")]


# --- tables ---


def test_tables_hold_what_is_stored(tmp_path: Path) -> None:
    story = read_story(paper_folder(tmp_path))
    assert [section.problem for section in story.sections] == list(SETTINGS)
    table = published_table(story)
    assert len(table.rows) == 9
    assert table.heading[1:5] == ("random", "solver", "MCTS.paper()", "MCTS()")
    with Store.read(tmp_path) as store:
        (random,) = (c for c in store.arms() if c.arm.label == "m1-entropy · random")
        mean = store.values(random).mean()
    assert float(table.rows[0][1].text.split()[0]) == pytest.approx(mean, abs=5e-5)
    assert table.rows[0][1].below == "0.12 ±0.04"
    assert {len(row) for row in means_table(story).rows} == {7}


def test_a_mean_below_the_lower_bound_gets_its_word(tmp_path: Path) -> None:
    folder = paper_folder(tmp_path, ["m1-entropy", "m2-imitation"], bounds=False)
    with Store.open(folder) as store:
        for found in store.arms():
            least = 1.0 if found.arm.problem == "m2-imitation" else 0.0
            store.note("bound", found.arm.problem_digest, {"value": least, "method": "Jensen", "seconds": 0.1})
    for table in (published_table, means_table):
        assert "below the lower bound (m2-imitation) is sampling noise" in table(read_story(folder)).legend
    assert "sampling noise" not in published_table(read_story(paper_folder(tmp_path / "other", bounds=False))).legend


def test_gaps_are_upper_ends_minus_bounds(tmp_path: Path) -> None:
    story = read_story(paper_folder(tmp_path, ["m1-entropy"]))
    (section,) = story.sections
    best, upper, gap = section.gap
    assert best.best.mean == min(line.best.mean for line in section.lines)
    assert gap == upper - section.bound["value"]
    assert len(gap_table(story).rows) == 1


def test_planners_are_compared_trial_by_trial(tmp_path: Path) -> None:
    story = read_story(paper_folder(tmp_path, ["m1-entropy"]))
    (section,) = story.sections
    (pair,) = story.pairs
    ours, theirs = (section.line(name).best.values for name in ("mcts", "mcts-paper"))
    assert pair.comparison.difference == pytest.approx((ours - theirs).mean())
    assert (pair.candidate.planner, pair.baseline.planner) == ("mcts", "mcts-paper")


def test_seeds_are_put_together_and_budgets_make_a_curve(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin("local", {}, "test")
        for seed in (0, 1):
            for budget in (100, 10):
                arm = Arm("m1-entropy", "mcts", {}, {"iterations": budget}, seed)
                store.add(arm, [Outcome(k, float(10 * seed + k), 1.0) for k in range(3)])
    (section,) = read_story(tmp_path).sections
    (line,) = section.lines
    assert [(r.iterations, r.values.tolist()) for r in line.curve] == [(n, [0, 1, 2, 10, 11, 12]) for n in (10, 100)]
    assert len(line.best.numbered) == 6


def test_digits_show_two_of_the_interval_s() -> None:
    assert digits([0.123456, 1.0], 0.0321) == ["0.123", "1.000"]
    assert digits([12.3456], 4.0) == ["12.3"]
    assert digits([0.123456], 0.0) == ["0.1235"]


def test_every_format_has_every_entry() -> None:
    rows = (("a|b", Item("1 ± 2", "50 %", "lower")), ("c<d", Item("–", best=True)))
    sheet = Sheet("a", "A & B", ("x_1", "y"), rows, "L")
    assert sheet.markdown().splitlines() == [
        "| x\\_1 | y |",
        "|:--|--:|",
        "| a\\|b | 1 ± 2 ↓<br>50 % |",
        "| c&lt;d | **–** |",
    ]
    tex = sheet.latex()
    assert r"x\_1 & y \\" in tex
    assert r"\shortstack[r]{1 $\pm$ 2 $\downarrow$\\{}50 \%} \\" in tex
    assert r"\textbf{--} \\" in tex
    assert r"\caption{A \& B. L}" in tex
    assert r"\label{tab:a}" in tex
    page = sheet.html()
    assert "c&lt;d" in page
    assert '<td>1 ± 2 <span class="lower" title="lower">↓</span><br><small>50 %</small></td>' in page
    assert "<td><strong>–</strong></td>" in page
    ElementTree.fromstring(page.replace("<br>", "<br/>"))


# --- figures ---


def test_figures_are_drawn_as_svg_and_png(tmp_path: Path) -> None:
    (section,) = read_story(paper_folder(tmp_path, ["m1-entropy"])).sections
    assert [kind.name for kind in figures.figures_of(section)] == ["means", "distributions", "curve"]
    for kind in figures.figures_of(section):
        svg, png = figures.make(section, kind)
        root = ElementTree.fromstring(svg)
        words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
        assert "lower bound" in words
        assert words & {"mean value, 90 % interval", "value of a trial"}
        assert png.startswith(b"\x89PNG")
        assert figures.make(section, kind)[0] == svg  # the same results draw the same picture


def test_inline_figures_follow_the_page_and_keep_their_names_apart(tmp_path: Path) -> None:
    (section,) = read_story(paper_folder(tmp_path, ["m1-entropy"])).sections
    drawn = [drawing.svg for drawing in figures.save(section, tmp_path)]
    ids = [
        {element.attrib["id"] for element in ElementTree.fromstring(svg).iter() if "id" in element.attrib}
        for svg in drawn
    ]
    assert not ids[0] & ids[1]
    for svg in drawn:
        assert "var(--ink)" in svg
        assert figures.INK not in svg
    assert {path.name for path in tmp_path.iterdir()} >= {"m1-entropy-means.svg", "m1-entropy-curve.png"}


# --- documents ---


def test_a_report_is_files_of_every_kind(tmp_path: Path) -> None:
    page = write_report(paper_folder(tmp_path / "results", ["m1-entropy", "m2-imitation"]))
    assert page == tmp_path / "results" / "report" / "index.html"
    for name in ("table1", "means", "gaps", "comparison", "times"):
        for suffix in ("md", "tex", "html"):
            assert (page.parent / "tables" / f"{name}.{suffix}").stat().st_size > 0
    assert len(list((page.parent / "figures").glob("*.svg"))) == 7  # three for each problem, and all differences in one
    assert len(list((page.parent / "figures").glob("*.png"))) == 7


def test_a_report_of_other_experiments_needs_no_paper(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin("local", {}, "test")
        store.add(Arm("subset-sum", "greedy"), [Outcome(0, 0.5, 1.0)])
        store.add(Arm("subset-sum", "random"), [Outcome(0, float("nan"), 0.0, "boom"), Outcome(1, 2.0, 0.1)])
    story = read_story(tmp_path)
    assert [sheet.name for sheet in sheets(story)] == ["means", "times"]  # one common trial is nothing to compare
    text = write_report(tmp_path).read_text()
    assert "subset-sum · random, trial 0: boom" in text
    assert verdicts(story) == []


def test_the_reproduction_document_explains_what_differs(tmp_path: Path) -> None:
    folder = paper_folder(tmp_path, ["m1-entropy"])
    with Store.open(folder) as store:
        arm = next(c.arm for c in store.arms() if c.arm.planner == "solver")
        store.add(arm, [Outcome(100 + k, 0.0855, 0.1) for k in range(1000)])
    text = reproduction_text(read_story(folder))
    assert "gumdp reproduce --out results" in text
    assert "- **m1-entropy, solver**: ours is higher." in text
    assert "Not explained" not in text


# --- commands ---


def test_reproduce_makes_table_figures_and_page(call, tmp_path: Path) -> None:
    args = ("reproduce", "--quick", "--trials", 2, "--settings", "m1-entropy", "--no-curves", "--out", tmp_path / "out")
    code, out, err = call(*args, "--document", tmp_path / "doc.md", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert [row["planner"] for row in data["table"]] == ["random", "solver", "mcts-paper", "mcts"]
    values = gumdp.evaluate(gumdp.zoo.load("m1-entropy"), gumdp.Random(), trials=2, seed=0).values
    assert data["table"][0]["mean"] == values.mean()
    assert Path(data["page"]).is_file()
    assert "Table 1" in (tmp_path / "doc.md").read_text()
    code, out, err = call(*args)
    assert code == 0
    assert "The page: file://" in out
    assert "8 of them there already" in err


def test_report_without_results_is_told(call, tmp_path: Path) -> None:
    assert call("report", tmp_path)[::2] == (
        2,
        f"gumdp: {tmp_path} holds no results: there is no results.sqlite in it. "
        "gumdp run and gumdp reproduce write such folders.\n",
    )
    Store.open(tmp_path / "empty").close()
    assert "holds no trials yet" in call("report", tmp_path / "empty")[2]


def test_a_report_that_cannot_be_written_is_told(call, tmp_path: Path) -> None:
    folder = paper_folder(tmp_path / "results", ["m1-entropy"])
    (tmp_path / "file").touch()
    assert call("report", folder, "--out", tmp_path / "file")[0] == 2
    code, _, err = call("report", folder, "--out", tmp_path / "file" / "x")
    assert code == 2
    assert "can't be written to" in err


def test_bad_options_of_reproduce_write_nothing(call, tmp_path: Path) -> None:
    for args in (("--trials", "0"), ("--settings", "mars"), ("--workers", "0")):
        code, out, _ = call("reproduce", "--out", tmp_path / "out", *args)
        assert (code, out) == (2, "")
    assert not (tmp_path / "out").exists()


# --- progress ---


class Doing:
    """An engine that is busy."""

    name, portion, cores = "local", 0.0, 1

    def doing(self) -> list[tuple[str, str]]:
        return [("m1-entropy · mcts", "compiling")]


def progressed() -> Progress:
    arm = Progress(Arm("subset-sum", "random", {"numbers": [1, 2]}), 3)
    arm.add([Outcome(0, 1.0, 0.1), Outcome(1, 2.0, 0.1)])
    return arm


def test_lines_tell_of_each_arm_that_ended() -> None:
    stream = io.StringIO()
    lines, arm = PlainLines(stream), progressed()
    lines.begin([arm], Doing())
    lines.update(0, arm)
    arm.add([Outcome(2, float("nan"), 0.0, "boom")])
    lines.update(0, arm)
    text = stream.getvalue().splitlines()
    assert text[0] == "1 arms, 3 trials; engine local"
    assert text[1].endswith("subset-sum(numbers=[1, 2]) · random: mean 1.5 ± 0.82, 1 failed")
    assert len(text) == 2


def test_an_arm_that_was_given_up_is_counted_once() -> None:
    stream = io.StringIO()
    lines, arm = PlainLines(stream), progressed()
    lines.begin([arm], Doing())
    for _ in range(3):
        arm.add([Outcome(2, float("nan"), 0.0, "boom")])
        lines.update(0, arm)
    assert [line for line in stream.getvalue().splitlines() if line.startswith("[")] == [
        stream.getvalue().splitlines()[1]
    ]
    assert stream.getvalue().splitlines()[1].startswith("[1/1, ")


def test_a_run_goes_on_when_nobody_reads_its_lines() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1) as stream:
        PlainLines(stream).say("to nobody")
        with pytest.raises(BrokenPipeError):
            stream.write("it is really closed\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)


def test_bars_show_the_arm_the_whole_and_what_the_machine_does() -> None:
    console = Console(width=120, record=True, force_terminal=True, file=io.StringIO())
    bars, arm = LiveBars(console), progressed()
    bars.begin([arm], Doing())
    bars.update(0, arm)
    drawn = "".join(segment.text for segment in console.render(Group(*bars._bars.get_renderables())))
    assert "all arms" in drawn
    assert "2/3" in drawn
    assert "mean 1.5 ± 0.82" in drawn
    assert "compiling m1-entropy · mcts" in drawn
    arm.add([Outcome(2, 3.0, 0.1)])
    bars.update(0, arm)
    bars.say("a [strange] thing")
    bars.end()
    text = console.export_text()
    assert "✓ subset-sum(numbers=[1, 2]) · random: mean 2" in text
    assert "! a [strange] thing" in text


def test_a_narrow_screen_shows_every_planner_and_every_number(tmp_path: Path) -> None:
    folder = paper_folder(tmp_path / "results", ["frozenlake-entropy", "mountaincar-imitation"])
    with Store.read(folder) as store:
        results = read_results(store)
        screen = Console(file=io.StringIO(), width=80)
        screen.print(result_table(results))
    lines = screen.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.rstrip() in ("frozenlake-entropy", "mountaincar-imitation") for line in lines) == 2
    for result in results:
        low, high = result.interval()
        found = [line for line in lines if line.startswith(f"  {result.arm.planner_label} ")]
        assert any(f" {result.mean:.4g} " in line and f"[{low:.4g}, {high:.4g}]" in line for line in found)
