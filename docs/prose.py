"""The prose linter: phrases of ``docs/words.txt`` and sentences that are too long, in pages and docstrings.

``python docs/prose.py`` prints where they stand and exits with 1 if there are any; ``make lint`` runs it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 48  # words of a sentence
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOT_PROSE = re.compile(
    r"^ *```(?s:.*?)^ *```$"  # code
    r"|^ *=====(?s:.*)^ *=====[= ]*$|^ *(>>>|\.\.\.) .*$"  # tables of docstrings, examples
    r"|`+[^`\n]+`+|!?\[(?=[^\]]*\])|\]\([^)]*\)|<[^>]*>",  # names, links, tags
    re.MULTILINE,
)
ROW = re.compile(r"^ *\|.*$", re.MULTILINE)  # of a table: words count, sentences don't
BREAK = re.compile(r"(?<=[.!?:;])[\s*_]+|\n\s*\n|\n *[-*#] |\n *\d+\. ")


def words() -> dict[str, str]:
    """What is said instead of each phrase."""
    lines = (ROOT / "docs" / "words.txt").read_text(encoding="utf-8").splitlines()
    return dict(
        line.split(" -> ") for line in lines if line and not line.startswith("#")
    )


def texts() -> Iterator[tuple[str, int, str]]:
    """Every page and docstring: where it is, the line it begins at, and what it says."""
    for path in PAGES:
        yield path.relative_to(ROOT).as_posix(), 1, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef
            ) and ast.get_docstring(node):
                first = node.body[0]
                yield (
                    path.relative_to(ROOT).as_posix(),
                    first.lineno,
                    ast.get_docstring(node, clean=False) or "",
                )


def faults(text: str) -> Iterator[tuple[int, str]]:
    """The faults of a text, each with the number of lines before it."""
    prose = NOT_PROSE.sub(lambda m: "\n" * m[0].count("\n") or " x ", text)
    for phrase, better in words().items():
        for match in re.finditer(rf"(?<!\w){re.escape(phrase)}", prose, re.IGNORECASE):
            yield prose.count("\n", 0, match.start()), f"{match[0]!r}: say {better!r}"
    prose, at = ROW.sub("", prose), 0
    for piece in BREAK.split(prose):
        where = prose.find(piece or "", at)
        at = max(at, where)
        if len(re.findall(r"[^\W\d_]{2,}", piece or "")) > LONGEST:
            yield (
                prose.count("\n", 0, at),
                f"a sentence of over {LONGEST} words: {' '.join(piece.split()[:8])} …",
            )


def main() -> int:
    """Print all faults; 1 if there are any."""
    found = [
        f"{path}:{line + more}: {fault}"
        for path, line, text in texts()
        for more, fault in faults(text)
    ]
    print("\n".join(found) or "prose: in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
