"""The documentation is true: its code runs, prints what it says, and every public name has its place."""

import dataclasses
import inspect
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narrow
import pytest
import snippets
from matplotlib import pyplot

import gumdp
from gumdp.search.options import OPTIONS
from own_code import forget

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md"))
MARKS = {
    "README.md": pytest.mark.thorough,
    "docs/guide/bring-your-own.md": pytest.mark.slow,
    **dict.fromkeys(
        (
            f"docs/{page}.md"
            for page in (
                "extending",
                "mathematics",
                "reproducing",
                "guide/certificates",
                "guide/counts",
                "guide/experiments",
                "guide/learning",
                "guide/own-planner",
                "guide/planning",
                "guide/studio",
                "guide/worlds",
            )
        ),
        pytest.mark.thorough,
    ),
}


def page_of(page: str) -> Any:
    """A page as a parameter."""
    return pytest.param(page, marks=MARKS.get(page, ()))


@pytest.mark.parametrize("page", [page_of(page) for page in snippets.PAGES if snippets.code(page)])
@pytest.mark.filterwarnings("ignore:.*precision lowered:UserWarning")  # by worlds of other packages
def test_the_code_of_a_page_runs_and_prints_what_it_says(page: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    wrong, drawn = [], set()
    for block, printed in snippets.run(page):
        said = block.output[3] if block.output else ""
        if block.shows and not snippets.alike(block, printed):
            wrong.append(f"{block.text}\nprints\n{printed}\nand the page says\n{said}")
        drawn |= {name for name in snippets.pictures(page) if name in block.text}
    pyplot.close("all")
    forget(tmp_path)
    assert not wrong, "\n\n".join([*wrong, f"python docs/snippets.py {page} mends it"])
    assert all(Path(name).stat().st_size > 5000 for name in drawn)


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES if page.startswith("api/"))
    listed = re.findall(r"^::: gumdp\.([\w.]+)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    public = set(gumdp.__all__) - {"occupancy", "plot", "theory", "zoo"}
    former = gumdp._FORMER.values()
    public |= {name for name in former if "." in name}
    public |= {f"plot.{name}" for name in gumdp.plot.__all__} | {f"zoo.{name}" for name in gumdp.zoo.__all__}
    assert set(listed) == public


def test_pages_have_pictures_that_are_there() -> None:
    for page in PAGES:
        for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (DOCS / page).read_text(encoding="utf-8")):
            assert (DOCS / page).parent.joinpath(image).is_file(), f"{page} shows {image}"


def test_the_guide_lists_every_option_of_the_search() -> None:
    text = (DOCS / "guide" / "planning.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.+) \|$", text, re.MULTILINE))
    assert {name: rows.get(name) for name in (o.name for o in OPTIONS)} == {o.name: o.help for o in OPTIONS}


def hooked(html: str, page: str = "gallery.md") -> str:
    """What MkDocs makes of a page's HTML beside Markdown."""
    hooks = runpy.run_path(str(DOCS / "hooks.py"))
    file, config = SimpleNamespace(src_uri=page), SimpleNamespace(docs_dir=str(DOCS))
    return hooks["on_page_content"](html, page=SimpleNamespace(file=file), config=config)


def test_a_picture_has_another_one_for_phones() -> None:
    shown = hooked('<img alt="rooms" src="images/gallery/cover_a_building.png">')
    assert 'srcset="images/gallery/cover_a_building-phone.png"' in shown
    alone = '<img alt="growth" src="images/nothing.png">'
    assert hooked(alone) == alone
    for phone in DOCS.rglob("*-phone.png"):
        assert phone.with_name(phone.name.replace("-phone", "")).is_file()


def test_sentences_of_an_output_wrap_and_its_tables_do_not() -> None:
    output = '<div class="highlight"><span class="filename">output</span><pre><code>{}</code></pre></div>'
    assert 'class="wraps highlight"' in hooked(output.format("word " * 30))
    assert "wraps" not in hooked(output.format("word " * 10 + "\n" + "&lt;" * 40))


def test_a_table_of_words_is_a_list_of_cards_on_a_phone() -> None:
    heads, cells = "<th>a</th><th><code>b</code></th><th>c &lt; d</th>", "<td>1</td><td>2</td><td>3</td>"
    words = f"<table><tr>{heads}</tr><tr>{cells}</tr></table>"
    shown = hooked(words)
    assert shown.startswith('<div class="cards"><table>')
    assert re.findall(r'data-label="([^"]*)">(.)', shown) == [("a", "1"), ("b", "2"), ("c &lt; d", "3")]
    numbers = words.replace("<td>", '<td style="text-align: right;">')
    assert hooked(numbers) == numbers


def test_a_number_stays_with_its_per_cent_sign() -> None:
    assert hooked("<p>5 % and <code>5 %</code></p>") == "<p>5\u00a0% and <code>5 %</code></p>"


def test_what_is_saved_as_a_picture_is_saved_for_phones_too(tmp_path: Path) -> None:
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3), layout="constrained")
    axes[0].plot([1, 2], label="a line with a long name")
    axes[0].legend()
    with narrow.also_narrow():
        figure.savefig(tmp_path / "two.png", dpi=50)
    figure.savefig(tmp_path / "alone.png", dpi=50)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.png", "two-phone.png", "two.png"]
    height, width, _ = pyplot.imread(tmp_path / "two-phone.png").shape
    assert (width, height) == (690, 900)  # the panels below each other
    pyplot.close(figure)


def public() -> dict[str, Any]:
    """Every public name with what it stands for."""
    found = {name: getattr(gumdp, name) for name in gumdp.__all__ if not inspect.ismodule(getattr(gumdp, name))}
    for module in (gumdp.plot, gumdp.zoo):
        found |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    return found


@pytest.mark.parametrize("name", public())
def test_a_public_name_has_an_example_and_says_what_its_fields_are(name: str) -> None:
    thing = public()[name]
    text = inspect.getdoc(thing) or ""
    examples = [line for line in text.splitlines() if line.startswith((">>>", "..."))]
    assert examples
    assert max(map(len, examples)) <= 90  # fits beside the menus
    if dataclasses.is_dataclass(thing):
        assert [field.name for field in dataclasses.fields(thing) if not re.search(rf"\b{field.name}\b", text)] == []


def test_an_interval_in_a_table_stays_on_one_line() -> None:
    shown = hooked("<table><tr><td>0.08 [0.07, 0.09] =<br>0.12</td><td>1 ± 2</td></tr></table><p>[1, 2]</p>")
    assert '<span class="number">[0.07, 0.09] =</span>' in shown
    assert '<span class="number">1 ± 2</span>' in shown
    assert "<p>[1, 2]</p>" in shown


def test_an_option_is_not_broken_at_its_hyphens() -> None:
    shown = hooked("<p><code>--start</code> <code>--set a=1</code></p><pre><code>--start</code></pre>")
    assert '<p><code class="option">--start</code> <code>--set a=1</code></p>' in shown
    assert "<pre><code>--start</code></pre>" in shown


def test_the_prose_linter_reads_on_after_tables_and_examples() -> None:
    faults = runpy.run_path(str(DOCS / "prose.py"))["faults"]
    text = "| a | b |\n|---|---|\n| so many iterations a decision | 1 |\n\n>>> 1 + 1\n2\n\nIts little sister.\n"
    assert [line for line, _ in faults(text)] == [2, 7]
    assert next(fault for _, fault in faults("word " * 60)).startswith("a sentence of over")
    assert not list(faults("| " + "word " * 60 + "|\n"))
