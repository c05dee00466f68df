"""Docstrings as pages need them: examples as code blocks, which Markdown would take for quotations, and defaults as numbers."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object


class Doctests(Extension):
    """Put a fence around every example of every docstring, and the value of a constant where it is a default."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
        for parameter in getattr(obj, "parameters", ()) or ():
            if (
                name := str(parameter.default)
            ).isupper() and name in obj.module.members:
                parameter.default = str(obj.module.members[name].value)


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
