"""The package as a whole: its public names, and what importing it costs."""

import ast
import subprocess
import sys
from pathlib import Path

import gumdp


def test_every_public_name_is_there_and_documented() -> None:
    for name in gumdp.__all__:
        assert getattr(gumdp, name).__doc__, name


def test_type_checkers_see_the_same_names_as_python() -> None:
    tree = ast.parse(Path(gumdp.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"gumdp.{alias.name}" if node.module == "gumdp" else node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == gumdp._HOMES


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    assert not hasattr(gumdp, "Entropie")


def test_no_public_name_is_hidden_by_a_module_of_the_same_name() -> None:
    """``import gumdp.x`` binds x in the package: it must not take the place of a function called x."""
    modules = {path.stem for path in Path(gumdp.__file__).parent.iterdir()}
    assert modules & set(gumdp.__all__) <= {"occupancy", "plot", "theory", "zoo"}


def test_listing_problems_loads_nothing_heavy() -> None:
    code = "import sys, gumdp; gumdp.zoo.names(); print([m for m in ('numba', 'scipy', 'cvxpy') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
