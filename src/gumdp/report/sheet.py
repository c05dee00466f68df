"""A table of words, in every format that people ask for. Every entry is escaped for each of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gumdp import escape

if TYPE_CHECKING:
    from jinja2 import Environment

MARKS = {"agrees": "=", "lower": "↓", "higher": "↑"}


@dataclass(frozen=True)
class Item:
    """An entry of a table: its text, what belongs to it on a second line, how it compares, whether it stands out."""

    text: str
    below: str = ""
    verdict: str = ""  # a key of MARKS
    best: bool = False

    @property
    def mark(self) -> str:
        """The verdict as a sign."""
        return MARKS.get(self.verdict, "")

    def lines(self) -> list[str]:
        """The entry in plain words, in one line or two."""
        return [f"{self.text} {self.mark}".rstrip(), *([self.below] if self.below else [])]


Row = tuple[str | Item, ...]


@dataclass(frozen=True)
class Sheet:
    """A table: a title, a heading and rows. The first column is text, the others are numbers."""

    name: str  # of files, and of its place on a page
    title: str
    heading: tuple[str, ...]
    rows: tuple[Row, ...]
    legend: str = ""
    rule: str = ""  # what the entries are judged by

    @property
    def items(self) -> list[list[Item]]:
        """The rows, every entry with all that it has."""
        return [[x if isinstance(x, Item) else Item(x) for x in row] for row in self.rows]

    def markdown(self, *, trusted: bool = False) -> str:
        """The table for a README; ``trusted`` entries are Markdown of our own already.

        >>> print(Sheet("a", "A", ("x", "y"), (("1", Item("2", best=True)),)).markdown())
        | x | y |
        |:--|--:|
        | 1 | **2** |
        """
        write = _as_it_is if trusted else escape.markdown
        body = [[self._markdown(item, write) for item in row] for row in self.items]
        lines = ["| " + " | ".join(row) + " |" for row in [list(map(write, self.heading)), *body]]
        lines.insert(1, "|:--" + "|--:" * (len(self.heading) - 1) + "|")
        return "\n".join(lines)

    @staticmethod
    def _markdown(item: Item, write: Callable[[object], str]) -> str:
        first, *rest = map(write, item.lines())
        return "<br>".join([f"**{first}**" if item.best else first, *rest])

    def latex(self) -> str:
        """The table for a paper, with a caption and a label; it needs booktabs."""
        body = [" & ".join(map(self._latex, row)) + r" \\" for row in self.items]
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{escape.latex(f'{self.title}. {self.legend}'.strip())}}}",
                rf"\label{{tab:{escape.file_name(self.name)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.heading) - 1)}}}",
                r"\toprule",
                " & ".join(map(escape.latex, self.heading)) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    @staticmethod
    def _latex(item: Item) -> str:
        first, *rest = map(escape.latex, item.lines())
        first = rf"\textbf{{{first}}}" if item.best else first
        # A line that begins with a bracket would be taken for an option of the line break before it.
        return first if not rest else rf"\shortstack[r]{{{first}\\{{}}{rest[0]}}}"

    def html(self) -> str:
        """The table for a page."""
        return templates().get_template("table.html").render(sheet=self)


def _as_it_is(text: object) -> str:
    return str(text).replace("|", "\\|")


@functools.cache
def templates() -> Environment:
    """The templates of the page, which escape all that is put into them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("gumdp.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=False,
    )  # fmt: skip
