"""The examples of docstrings as code blocks: Markdown would take ``>>>`` for a quotation."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object


class Doctests(Extension):
    """Put a fence around every example of every docstring."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """``text`` with its examples between fences; one ends at an empty line."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>>"):
            inside = True
            lines.append("```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join(lines).rstrip()
