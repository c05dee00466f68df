"""Names and messages that attack whoever looks at them, in every field of a results folder and in every output."""

import csv
import html
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt
from rich.console import Console

import gumdp
from browser import needs_browser, probe
from gumdp import escape
from gumdp.cli.main import main
from gumdp.experiments.engines.job import Progress
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.report.document import write_report, write_reproduction
from gumdp.report.progress import LiveBars, PlainLines
from gumdp.report.story import read_story
from gumdp.run import registry as planners
from gumdp.zoo import registry as zoo

NASTY = (
    "=cmd|'!A0[bold red]z[/bold red]\x1b]0;owned\x07\x1b[2J:smile:\u202eabc\u2066\"'><script>window.owned=1</script>"
    '<img src=x onerror="window.owned=1"></style></title>{{ 7 * 191 }}{% raw %}\\input{/etc/passwd}\\write18{id}'
    "$\\frac{x$ %&#_{}~^ [x](javascript:owned) **b** `c` | <a href='http://evil.example/'>y</a>\rnext\tline"
)
LINES = NASTY + "\nsecond\n| a | b |\n|---|---|\n# head\n- item"
DEEP = NASTY + "\x00\ud800 中文 😀 é γ ß"  # what JSON can hold and a column of the database can't
OURS = {  # the tags of the page, beside those of drawings
    "DOCTYPE", "html", "head", "meta", "title", "link", "body", "h1", "h2", "h3", "p", "div", "b", "span", "nav", "a",
    "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "strong", "small", "br", "pre", "figure",
    "figcaption", "ul", "li",
}  # fmt: skip
DANGER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # of a terminal


@pytest.fixture(scope="module")
def plan() -> Iterator[Experiment]:
    """Two problems and three planners whose names, options and summaries are all nasty."""
    zoo.entries()  # ours are there before the copy is made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zoo, "_entries", dict(zoo._entries))
        options = [planners.Option("word" + NASTY, str, "a"), planners.Option("iterations", int, "b")]
        mine = planners.PlannerEntry("me" + NASTY, "mine", lambda **_: gumdp.Random(), tuple(options))
        patch.setattr(planners, "_entries", {**planners._entries, mine.name: mine})

        def build(**options: object) -> gumdp.Problem:
            return zoo.load("m1-entropy")

        zoo.register(zoo.Entry(NASTY, "what " + LINES, build, {"key" + NASTY: "x"}))
        zoo.register(zoo.Entry("_" + NASTY, "what " + LINES, build, {"key" + NASTY: "x"}))
        given = {"name": "me" + NASTY, "word" + NASTY: [DEEP, "1", 1], "iterations": [10, 4000]}
        yield Experiment.grid(
            [NASTY, {"name": "_" + NASTY, "key" + NASTY: DEEP}, "m1-entropy"],
            [given, "random", {"name": "mcts-paper", "iterations": 4000}],
            trials=4,
            title="title " + DEEP,
            text="text " + DEEP + LINES,
            baseline={"name": "me" + NASTY, "word" + NASTY: DEEP},
        )


@pytest.fixture(scope="module")
def folder(plan: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results in which every field is nasty."""
    folder = tmp_path_factory.mktemp("hostile") / "fol<b>der$&{}"
    rng = np.random.default_rng(0)
    with Store.open(folder, "0.1" + NASTY) as store:
        machine = dict.fromkeys(("processor", "python", "cores", "system"), DEEP)
        store.begin("engine" + NASTY, {**machine, "packages": {DEEP: DEEP}, "study": plan.study()}, "run " + LINES)
        for arm in plan.arms:
            store.add(arm, [Outcome(k, float(0.1 + 0.01 * x), 0.1) for k, x in enumerate(rng.normal(size=4))])
            store.add(arm, [Outcome(9, float("nan"), 0.0, "failure " + LINES)])
            store.note("bound", arm.problem_digest, {"value": 0.01, "method": DEEP, "reason": DEEP})
        store.end("status " + LINES, 1.0)
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    write_reproduction(folder, folder / "report" / "document.md")
    return write_report(folder).parent


def test_the_page_holds_names_as_text_alone(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "onerror=&#34;" in page  # it is there, as text
    tags = set(re.findall(r"<[/!]?(\w+)", page))
    assert tags <= {*OURS, "svg", "g", "path", "text", "tspan", "use", "defs", "clipPath", "rect", "style"}, tags
    assert page.count("</style>") == page.count("<style")
    assert "1337" not in page  # 7 * 191: nothing was taken for a template
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert all(link.startswith(("#", "data:,")) for link in re.findall(r'(?:src|href)="([^"]*)"', page))


def test_ids_on_the_page_are_words(report: Path) -> None:
    ids = re.findall(r'\bid="([^"]*)"', (report / "index.html").read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[\w.-]+", name) for name in ids)


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_runs_in_a_browser_and_the_page_keeps_its_width(report: Path, tmp_path: Path, width: int) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    (inner, scroll, drawings, _, owned), said = probe(page, tmp_path, width)
    assert said == []  # not even a refusal: nothing was tried
    assert not owned
    assert scroll <= inner == width
    assert drawings == 10


@needs_browser
def test_the_policy_stops_a_script_that_got_in(report: Path, tmp_path: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    broken = page.replace("<h1>", "<script>window.owned=1</script><h1>", 1)
    (*_, owned), said = probe(broken, tmp_path, 1280)
    assert not owned
    assert "Content Security Policy" in said[0]


def test_tables_in_markdown_stay_tables(report: Path) -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for path in [*sorted((report / "tables").glob("*.md")), report / "document.md"]:
        text = path.read_text(encoding="utf-8")
        assert not DANGER.search(text)
        made = reader.render(text)
        tags = set(re.findall(r"<(/?\w+)", made))
        allowed = {"p", "table", "thead", "tbody", "tr", "th", "td", "strong", "br", "code", "h1", "h2", "ul", "li"}
        assert {tag.strip("/") for tag in tags} <= allowed, (path, tags)
        shown = html.unescape(re.sub(r"<[^>]*>", "", made))
        assert path.stem == "table1" or "'><script>window.owned=1</script><img src=x" in shown  # as text, whole


def test_tables_in_latex_hold_no_commands_of_others(report: Path) -> None:
    for path in sorted((report / "tables").glob("*.tex")):
        text = path.read_text(encoding="utf-8")
        assert text.isascii()
        ours = {
            "usepackage", "begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "textbf",
            "shortstack", "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar",
            "textasciigrave", "downarrow", "uparrow", "cdot", "pm", "gamma", "ss", "times", "ldots",
        }  # fmt: skip
        assert set(re.findall(r"\\([A-Za-z]+)", text)) <= ours


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX here: texlive-latex-recommended")
def test_tables_compile_in_a_real_latex(report: Path, tmp_path: Path) -> None:
    tables = sorted((report / "tables").glob("*.tex"))
    assert {path.stem for path in tables} == {"table1", "means", "comparison", "gaps", "times"}
    # A sheet large enough for names of this length; TeX's own limit is 575 cm.
    paper = r"\pdfpagewidth=500cm\pdfpageheight=500cm\textwidth=480cm\textheight=480cm\hsize=480cm"
    body = "\n".join(path.read_text(encoding="utf-8") for path in tables)
    text = rf"\documentclass{{article}}\usepackage{{booktabs}}{paper}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 1000


def test_figures_are_sound_and_nothing_in_them_acts(report: Path) -> None:
    drawn = sorted((report / "figures").glob("*.svg"))
    assert len(drawn) == 10
    for path in drawn:
        assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,120}", path.name)
        elements = list(ElementTree.parse(path).iter())
        assert not [e for e in elements if e.tag.rpartition("}")[2] in ("script", "a", "foreignObject")]
        assert not [name for e in elements for name in e.attrib if name.startswith("on")]


@pytest.mark.parametrize("command", ["report", "results"])
def test_a_terminal_is_told_nothing(command: str, folder: Path, tmp_path: Path, capsys) -> None:
    out = ("--out", tmp_path) if command == "report" else ()
    assert main([command, str(folder), *map(str, out)]) == 0
    text, said = capsys.readouterr()
    assert not DANGER.search(text + said)
    assert "[bold red]" in "".join(text.split("\n"))  # no markup
    assert "\\x1b" in text


def test_errors_are_harmless_too(capsys) -> None:
    assert main(["plan", "no" + NASTY]) == 2
    assert main(["report", NASTY]) == 2
    assert not DANGER.search("".join(capsys.readouterr()))


@pytest.mark.parametrize("command", ["report", "results"])
def test_json_is_ascii(command: str, folder: Path, tmp_path: Path, capsys) -> None:
    out = ("--out", tmp_path) if command == "report" else ()
    assert main([command, str(folder), *map(str, out), "--json"]) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert json.loads(text)


def test_progress_is_shown_and_not_obeyed(plan: Experiment) -> None:
    arm = Progress(plan.arms[0], 1)
    arm.add([Outcome(0, 1.0, 0.1)])

    class Busy:
        name, portion, cores = "local", 0.0, 1

        def doing(self) -> list[tuple[str, str]]:
            return [(NASTY, "compiling")]

    stream = io.StringIO()
    bars = LiveBars(Console(width=200, record=True, file=stream))
    for watcher in (PlainLines(stream), bars):
        watcher.begin([arm], Busy())
        watcher.update(0, arm)
        watcher.say("note " + LINES)
        watcher.end()
    text = stream.getvalue()
    assert not DANGER.search(text)
    assert text.count("[bold red]z[/bold red]") >= 2


def test_spreadsheets_find_no_formula(folder: Path, tmp_path: Path, capsys) -> None:
    assert main(["results", str(folder), "--csv", str(tmp_path / "trials.csv")]) == 0
    with open(tmp_path / "trials.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 3 * 8
    assert any("cmd|" in row["problem"] for row in rows)
    for field in (value for row in rows for value in row.values()):
        assert field[:1] not in ("=", "+", "@", "\t", "\r")
        assert not field.startswith("-") or float(field) < 0


def test_a_failed_figure_leaves_the_old_one_and_nothing_beside_it(folder: Path, tmp_path: Path, monkeypatch) -> None:
    story = read_story(folder)
    page = write_report(story, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gumdp.files.os.replace", full)
    with pytest.raises(gumdp.GumdpError, match="No space left"):
        write_report(story, tmp_path)
    assert page in before
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


# --- one place for each format ---


@pytest.mark.parametrize("text", [NASTY, LINES, DEEP, "", "-", "..", "a" * 500, "CON", "é"])
def test_names_of_files_are_short_words_that_differ(text: str) -> None:
    name = escape.file_name(text)
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}", name)
    assert escape.file_name(text + "x") != name


def test_text_without_anything_odd_stays_as_it_is() -> None:
    text = "MCTS.paper() at 0.5 [0.1, 0.9]"
    assert [f(text) for f in (escape.terminal, escape.latex, escape.markdown, escape.csv_field, escape.figure)] == [
        text
    ] * 5
