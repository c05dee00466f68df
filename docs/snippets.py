"""The code of the pages, run from top to bottom: what each block prints stands below it, and is compared in the tests.

``python docs/snippets.py [PAGE …]`` makes the outputs and the pictures afresh, of all pages without a name.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from narrow import also_narrow

from gumdp.cli import output

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
NEEDS = {"deep-sea-treasure": "mo_gymnasium"}  # worlds that are not everywhere
BESIDE = {
    "docs/guide/bring-your-own.md": ["examples/spread_the_wear.py"]
}  # files that a page works with
WIDTH = 88  # columns of what commands print
LONGEST = 30  # lines of an output that are shown
DIFFER = "numbers differ"
NUMBER = re.compile(r"[−+-]?\d[\d.,]*(e[-+]?\d+)?")
TIME = re.compile(
    r"\b\d[\d.,]*(e-?\d+)? (s|ms|µs|min|iterations per second)\b"
)  # what no two runs share


@dataclass(frozen=True)
class Block:
    """A block of code on a page, with the one below it if that says what it prints."""

    language: str
    options: str
    text: str
    end: int  # of its last line, in the page
    output: re.Match[str] | None

    @property
    def title(self) -> str | None:
        """The file that it is the text of."""
        match = re.search(r'title="([^"]+)"', self.options)
        return match[1] if match else None

    @property
    def shows(self) -> bool:
        """Whether what it prints stands below: always for Python, for commands where the page asks for it."""
        return self.language == "python" or self.output is not None


def blocks(page: str) -> list[Block]:
    """Every block of a page, with the files that it includes in place."""
    found = list(BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")))
    outputs = [match if 'title="output' in match[2] else None for match in found]
    return [
        Block(match[1], match[2], included(match[3]), match.end(), below)
        for match, own, below in zip(
            found, outputs, [*outputs[1:], None][: len(found)], strict=True
        )
        if own is None
    ]


def included(text: str) -> str:
    """``text`` with the files that it names as the site includes them."""
    return re.sub(
        r'(?m)^--8<-- "(.+)"$',
        lambda m: (ROOT / m[1]).read_text(encoding="utf-8").rstrip("\n"),
        text,
    )


def code(page: str) -> bool:
    """Whether a page has something to run."""
    return any(block.language in ("python", "sh") for block in blocks(page))


def command(line: str) -> None:
    """Run a line of the shell."""
    from gumdp.cli.main import main as gumdp

    program, *args = shlex.split(line)
    if program == "python":
        subprocess.run([sys.executable, *args], check=True)
    else:
        assert (program, gumdp(args)) == ("gumdp", 0), line


def run(page: str) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in order, in one namespace and in this folder: each with what it printed.

    Blocks with the name of a file are written to it too. A page ends where it needs a package that is not there.
    """
    module = sys.modules["page"] = types.ModuleType(
        "page"
    )  # where pickle looks for the classes of a page
    for name in BESIDE.get(page, ()):
        shutil.copy(ROOT / name, ".")
    for number, block in enumerate(blocks(page)):
        if any(
            world in block.text and not importlib.util.find_spec(package)
            for world, package in NEEDS.items()
        ):
            return
        if block.title and (block.language == "toml" or block.title.endswith(".py")):
            Path(block.title).write_text(block.text, encoding="utf-8")
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            mock.patch.object(output, "PIPE_WIDTH", WIDTH),
        ):
            if block.language == "python":
                exec(
                    compile(block.text, f"{page}, block {number}", "exec"), vars(module)
                )
            elif block.language == "sh":
                for line in block.text.splitlines():
                    if len(block.text.splitlines()) > 1:
                        print(f"$ {line}")
                    command(line)
        yield block, shown(out.getvalue())


def shown(printed: str) -> str:
    """What a page shows of what was printed: no more than its first lines."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    return "\n".join(lines if len(lines) <= LONGEST else [*lines[: LONGEST - 1], "…"])


def alike(block: Block, printed: str) -> bool:
    """Whether the page says what was printed, but for the time that something took.

    Where the title of the output says that numbers differ, as on another machine, all else must be the same.
    """
    vague = NUMBER if block.output and DIFFER in block.output[2] else TIME
    said = block.output[3] if block.output else ""
    return vague.sub("…", said.strip()) == vague.sub("…", printed.strip())


def pictures(page: str) -> dict[str, Path]:
    """The pictures that a page shows: where they are, by their file names."""
    text, folder = (ROOT / page).read_text(encoding="utf-8"), (ROOT / page).parent
    return {
        Path(name).name: folder / name
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    }


def phone(name: str) -> str:
    """The name of a picture's version for phones."""
    return name.replace(".png", "-phone.png")


def refresh(page: str) -> None:
    """The page says what its code prints and shows what it draws, as of now."""
    path = ROOT / page
    text, moved = path.read_text(encoding="utf-8"), 0
    for block, printed in run(page):
        if not block.shows or alike(block, printed):
            continue
        begin, end = block.output.span() if block.output else (block.end, block.end)
        options = block.output[2] if block.output else ' title="output"'
        new = f"```text{options}\n{printed}\n```\n" if printed else ""
        new = new if block.output else f"\n{new}"
        text = text[: begin + moved] + new + text[end + moved :]
        moved += len(new) - (end - begin)
    path.write_text(text, encoding="utf-8")
    for name, place in pictures(page).items():
        for made, to in ((name, place), (phone(name), place.with_name(phone(name)))):
            if Path(made).is_file():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(made, to)
    pyplot.close("all")


def main(pages: list[str]) -> None:
    """These pages are as their code makes them, or all."""
    for page in pages or PAGES:
        if code(page):
            print(page, file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                sys.path.insert(0, folder)
                with also_narrow():
                    refresh(page)
                sys.path.remove(folder)


if __name__ == "__main__":
    here = [
        Path(os.path.abspath(name)).relative_to(ROOT).as_posix()
        for name in sys.argv[1:]
    ]
    main(here)
