"""The documentation is true: its code runs, prints what it says, and every public name has its place."""

import contextlib
import io
import re
import shlex
import sys
import types
from pathlib import Path

import matplotlib
import pytest

import gumdp
from gumdp.cli.main import main
from gumdp.run import registry
from gumdp.search.options import OPTIONS

matplotlib.use("Agg")
from matplotlib import pyplot

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """(language, options, text) of every block of a page, with the files that it includes."""
    text = (DOCS / page).read_text(encoding="utf-8")
    text = re.sub(r'(?m)^--8<-- "(.+)"$', lambda m: (DOCS.parent / m[1]).read_text(encoding="utf-8"), text)
    return BLOCK.findall(text)


def run(page: str) -> None:
    """Run the blocks of a page in order, in one namespace; an output block says what the block before printed."""
    sys.modules["page"] = types.ModuleType("page")  # where pickle looks for the classes of a page
    names = vars(sys.modules["page"])
    printed = ""
    for number, (language, options, text) in enumerate(blocks(page)):
        if "output" in options:
            assert printed.strip() == text.strip(), f"{page}, block {number}"
        elif language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, f"{page}, block {number}", "exec"), names)
            printed = out.getvalue()
        elif language == "toml" and "title=" in options:
            Path(re.search(r'title="([^"]+)"', options)[1]).write_text(text, encoding="utf-8")
        elif language == "sh":
            for line in text.splitlines():
                program, *args = shlex.split(line)
                assert program == "gumdp", line
                assert main(args) == 0, line


@pytest.mark.parametrize("page", [page for page in PAGES if any(b[0] in ("python", "sh") for b in blocks(page))])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))  # names that a page gives are its own
    monkeypatch.setattr(gumdp.zoo.registry, "_entries", dict(gumdp.zoo.registry._entries))
    run(page)
    del sys.modules["page"]
    pyplot.close("all")


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
