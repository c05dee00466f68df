"""The report's page in a real browser: it loads without complaints, at desktop and phone width, light and dark."""

import re
from pathlib import Path

import pytest

from browser import browse, needs_browser, probe
from gumdp.report.document import write_report
from stored import paper_folder


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    folder = paper_folder(tmp_path_factory.mktemp("page"), ["m1-entropy", "frozenlake-imitation"])
    return write_report(folder).read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_anywhere(page: str) -> None:
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', page)
    assert all(link.startswith(("#", "data:,")) for link in links), links
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace("http://creativecommons.org", "")


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_loads_without_a_word_and_fits_the_screen(page: str, tmp_path: Path, width: int) -> None:
    (inner, scroll, drawings, *_), said = probe(page, tmp_path, width)
    assert said == []
    assert inner == width
    assert scroll <= width  # tables scroll inside, the page does not
    assert drawings == 7


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
