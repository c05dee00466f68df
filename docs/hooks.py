"""What MkDocs does to a page beside Markdown: pictures and tables for narrow screens, sentences that wrap, numbers that don't."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

IMAGE = re.compile(r'<img [^>]*?src="([^"]+)\.png"[^>]*>')
OUTPUT = re.compile(
    r'(<div class=")([^"]*highlight"><span class="filename">output[^<]*</span>)(.*?</pre>)',
    re.DOTALL,
)
COLUMNS = re.compile(r"\S {2,}\S|[█▒▓│]")  # what must stay below each other
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>)", re.DOTALL)
OPTION = re.compile(r"^<code>(?=-[\w-]+</code>$)")
CELL = re.compile(r"(?<=<td).*?(?=</td>)", re.DOTALL)
SPREAD = re.compile(
    r"\[[−+\d.e-]+, [−+\d.e-]+\]( [=↓↑])?|[\d.]+ ± [\d.]+|[−+\d.e-]+ [↓↑]|[\d.]+e[-−]\d+"
    r"|\([−+\d]+ to [−+\d]+\)|not worse"
)
WIDE = {
    "reproduction.md",
    "planning-tables.md",
    "guide/worlds.md",
}  # pages with tables that need the room of the menu on the right
LONG = 92  # characters of a line that does not fit beside the menus
DENSE = 9  # columns of a table that needs smaller letters


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page as it is, with its menu hidden where tables are wide."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["toc"]
    return markdown


def on_page_content(content: str, *, page: Any, config: Any, **_: Any) -> str:
    """The page with all of that."""
    here = posixpath.dirname(page.file.src_uri)

    def picture(match: re.Match[str]) -> str:
        phone = f"{match[1]}-phone.png"
        if not Path(config.docs_dir, posixpath.join(here, phone)).is_file():
            return match[0]
        return f'<picture><source media="(max-width: 44.9em)" srcset="{phone}">{match[0]}</picture>'

    def output(match: re.Match[str]) -> str:
        text = html.unescape(re.sub("<[^>]*>", "", match[3]))
        long = any(len(line) > LONG for line in text.splitlines())
        kinds = "wraps " if long else "" if COLUMNS.search(text) else "folds "
        return f"{match[1]}{kinds}{match[2]}{match[3]}"

    def cell(match: re.Match[str]) -> str:
        return SPREAD.sub(
            lambda spread: f'<span class="number">{spread[0]}</span>', match[0]
        )

    content = CELL.sub(cell, OUTPUT.sub(output, IMAGE.sub(picture, content)))
    return together(TABLE.sub(lambda match: table(match[0]), content))


def table(text: str) -> str:
    """A table of words is a list of cards on a phone, each cell with its heading; one with many columns has small letters."""
    heads = [plain(head) for head in HEAD.findall(text)]
    if "text-align" in text or len(heads) < 3:
        dense = len(heads) >= DENSE
        return f'<div class="dense">{text}</div>' if dense else text

    def row(match: re.Match[str]) -> str:
        labels = iter(heads)
        return re.sub(
            "<td>", lambda _: f'<td data-label="{next(labels, "")}">', match[0]
        )

    return f'<div class="cards">{ROW.sub(row, text)}</div>'


def plain(text: str) -> str:
    """The words of some HTML, as the value of an attribute."""
    return html.escape(html.unescape(re.sub("<[^>]*>", "", text)).strip())


def together(content: str) -> str:
    """A number stays on the line of its per cent sign, an option in one piece."""
    parts = CODE.split(content)
    parts[::2] = [re.sub(r"(?<=\d) %", "\u00a0%", part) for part in parts[::2]]
    parts[1::2] = [OPTION.sub('<code class="option">', part) for part in parts[1::2]]
    return "".join(parts)
