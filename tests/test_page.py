"""The report's page in a real browser: it loads without complaints, at desktop and phone width, light and dark."""

import contextlib
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from gumdp.experiments.store.database import FILE
from gumdp.experiments.store.layout import add_rows
from gumdp.report.document import write_report
from stored import paper_folder

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1280,900",
)  # fmt: skip
PROBE = """<script>
addEventListener("load", () => {
  const page = document.documentElement, style = getComputedStyle(document.body);
  const facts = [innerWidth, page.scrollWidth, document.querySelectorAll("figure svg").length, style.backgroundColor];
  (parent || window).document.documentElement.dataset.probe = JSON.stringify(facts);
});
</script>"""

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="there is no Chromium here; .ci/run installs it with: apt-get install chromium"
)


def browse(url: str, profile: Path, *flags: str) -> tuple[str, list[str]]:
    """(the page after loading, what it said on the console)."""
    command = [BROWSER, *FLAGS, *flags, f"--user-data-dir={profile}", "--dump-dom", url]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "LANG": "C.UTF-8"})
    return answer.stdout, [line for line in answer.stderr.splitlines() if "CONSOLE" in line]


def probe(page: str, folder: Path, width: int, *flags: str) -> tuple[list, list[str]]:
    """What the page says of itself in a frame ``width`` pixels wide."""
    inside = html.escape(page.replace("</body>", f"{PROBE}</body>"))
    path = folder / f"frame-{width}.html"
    frame = f'<iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{inside}"></iframe>'
    path.write_text(f"<!DOCTYPE html><html><body>{frame}</body></html>", encoding="utf-8")
    dom, said = browse(path.as_uri(), folder / f"profile-{width}{len(flags)}", *flags)
    found = re.search(r'data-probe="([^"]*)"', dom)
    assert found, dom[:2000]
    return json.loads(html.unescape(found[1])), said


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    folder = paper_folder(tmp_path_factory.mktemp("page"), ["m1-entropy", "frozenlake-imitation"])
    return write_report(folder).read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_anywhere(page: str) -> None:
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', page)
    assert all(link.startswith(("#", "data:,")) for link in links), links
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace("http://creativecommons.org", "")


def test_the_page_of_a_strangers_folder_runs_nothing(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    folder = paper_folder(tmp_path, ["m1-entropy"])
    facts = json.dumps(dict.fromkeys(("python", "system", "processor", "cores"), bad) | {"packages": {bad: bad}})
    with contextlib.closing(sqlite3.connect(folder / FILE)) as store, store:  # a stranger can make seals, too
        ((_, _, version, *_),) = store.execute("SELECT * FROM runs").fetchall()
        for table in ("runs", "endings"):
            store.execute(f"DELETE FROM {table}")
            store.execute("DELETE FROM tallies WHERE name = ?", (table,))
        add_rows(store, "runs", [(1, bad, version, bad, facts, bad)])
        add_rows(store, "endings", [(1, "", bad, 1.5)])
        add_rows(store, "failures", [(1, 99, bad, "", 1)])
    assert bad in html.unescape(page := write_report(folder).read_text(encoding="utf-8"))
    assert "<script" not in page


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_loads_without_a_word_and_fits_the_screen(page: str, tmp_path: Path, width: int) -> None:
    (inner, scroll, drawings, _), said = probe(page, tmp_path, width)
    assert said == []
    assert inner == width
    assert scroll <= width  # tables scroll inside, the page does not
    assert drawings == 6


@needs_browser
def test_it_is_dark_where_people_want_it_dark(page: str, tmp_path: Path) -> None:
    light, _ = probe(page, tmp_path, 1280)
    dark, said = probe(page, tmp_path, 1280, "--blink-settings=preferredColorScheme=0")
    assert said == []

    def brightness(colour: str) -> int:
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert brightness(light[3]) > 600 > 200 > brightness(dark[3])


@needs_browser
def test_a_complaint_on_the_console_would_be_heard(tmp_path: Path) -> None:
    path = tmp_path / "loud.html"
    path.write_text("<!DOCTYPE html><script>console.error('ouch')</script>")
    assert "ouch" in browse(path.as_uri(), tmp_path / "profile")[1][0]
