"""What stands about the package in several places is the same in all of them."""

import re
import tomllib
from pathlib import Path

import gumdp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {gumdp.__version__}\n" in text("CITATION.cff")


def test_the_changelog_has_this_version() -> None:
    assert re.search(rf"^## {re.escape(gumdp.__version__)} \(", text("CHANGELOG.md"), re.MULTILINE)


WORKFLOWS = ("tests", "package")


def test_every_python_that_is_promised_is_tested_and_the_wheel_is_tried_on_the_ends() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert promised[0] == PROJECT["requires-python"].removeprefix(">=")
    matrices = {name: re.search(r"python: \[(.*?)\]", text(f".github/workflows/{name}.yml"))[1] for name in WORKFLOWS}
    tested = {name: re.findall(r'"(.*?)"', matrix) for name, matrix in matrices.items()}
    assert tested == {"tests": promised, "package": [promised[0], promised[-1]]}


def test_before_a_commit_runs_what_make_lint_runs() -> None:
    targets = re.findall(r"entry: make --silent (\w+)", text(".pre-commit-config.yaml"))
    assert targets == ["format", "lint"]
    assert all(re.search(rf"^{target}:", text("Makefile"), re.MULTILINE) for target in targets)
