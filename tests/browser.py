"""Pages in a real browser, for the tests that look at them."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1280,900",
)  # fmt: skip
# The page's own policy lets no script run in it: the frame around it looks inside.
PROBE = """<script>
addEventListener("load", () => {
  const frame = document.querySelector("iframe"), view = frame.contentWindow, page = frame.contentDocument;
  const style = view.getComputedStyle(page.body), drawings = page.querySelectorAll("figure svg").length;
  const facts = [view.innerWidth, page.documentElement.scrollWidth, drawings, style.backgroundColor, "owned" in view];
  document.documentElement.dataset.probe = JSON.stringify(facts);
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
    inside = html.escape(page)
    path = folder / f"frame-{width}.html"
    frame = f'<iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{inside}"></iframe>'
    path.write_text(f"<!DOCTYPE html><html><body>{frame}{PROBE}</body></html>", encoding="utf-8")
    dom, said = browse(path.as_uri(), folder / f"profile-{width}{len(flags)}", *flags)
    found = re.search(r'data-probe="([^"]*)"', dom)
    assert found, dom[:2000]
    return json.loads(html.unescape(found[1])), said
