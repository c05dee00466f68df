"""A console that shows text and obeys none of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gumdp import escape


class Screen(Console):
    """A Rich console without markup, on which escape sequences in what is printed are written out.

    >>> import io
    >>> screen = Screen(file=io.StringIO(), width=40)
    >>> screen.print("[bold]a[/bold] \\x1b[2J")
    >>> screen.file.getvalue()
    '[bold]a[/bold] \\\\x1b[2J\\n'
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            clean = segment.control or not escape.UNPRINTABLE.search(segment.text)
            yield segment if clean else Segment(escape.terminal(segment.text), segment.style)
