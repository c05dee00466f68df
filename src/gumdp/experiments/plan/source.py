"""Digests of source code that change with what it does: not with docstrings, comments, layout or where a file stands.

A file is read as a syntax tree. In the package, the name of a module counts as what that module is, not as where it
is: a file that moves, with every import of it, leaves the digest as it was, and an import that is turned from one
module to another of the same names changes it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

SKIPPED = ("kind", "type_comment", "ctx")  # of a node: they change nothing, or follow from the rest
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # of a statement: where others stand
DATA = (".npy", ".json")  # in the package


def tree_of(source: bytes, name: str) -> ast.Module | None:
    """The syntax tree without docstrings; None if it is no Python."""
    try:
        tree = ast.parse(source, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                node.body = node.body[1:]
    return tree


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The module and every statement in it, also those inside others, without the expressions: a tenth of the nodes."""
    todo: list[ast.AST] = [tree]
    for node in todo:
        yield node
        for name in BLOCKS:
            todo += getattr(node, name, ())


def tree_digest(tree: ast.AST, reference: Callable[[str], str] = str) -> str:
    """The digest of a tree; module names in imports and in strings go through ``reference`` first."""
    parts: list[str] = []
    _write(tree, parts, reference)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _write(node: Any, parts: list[str], reference: Callable[[str], str]) -> None:
    """Every node with its fields, those that are empty left out: versions of Python differ in them."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            parts += ["from", reference(f"{node.module}:{alias.name}"), alias.name, alias.asname or ""]
    elif isinstance(node, ast.Import):
        for alias in node.names:
            parts += ["import", reference(alias.name), alias.asname or ""]
    elif isinstance(node, ast.AST):
        parts.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if name not in SKIPPED and (value is not None or isinstance(node, ast.Constant)) and value != []:
                parts.append(name)
                _write(value, parts, reference)
        parts.append(")")
    elif isinstance(node, list):
        for entry in node:
            _write(entry, parts, reference)
        parts.append("]")
    else:
        parts.append(repr(reference(node) if type(node) is str else node))


# --- the package ---


def package_digest(root: Path, apart: Collection[str] = ()) -> str:
    """The digest of the package in the folder ``root``, but for the folders and files named in ``apart``."""
    trees: dict[str, ast.Module] = {}
    found: list[str] = []
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if inside.parts[0].removesuffix(".py") in apart or not path.is_file():
            continue
        if path.suffix in DATA:
            found.append(hashlib.sha256(path.read_bytes()).hexdigest())
        elif path.suffix == ".py":
            tree = tree_of(path.read_bytes(), str(path))
            if tree is None:
                found.append(hashlib.sha256(path.read_bytes()).hexdigest())
            elif tree.body:  # folders without code may come and go
                trees[module_name(root, inside)] = tree
    plain = {name: tree_digest(tree, lambda text: _blank(text, trees)) for name, tree in trees.items()}
    found += [tree_digest(tree, lambda text: _target(text, plain)) for tree in trees.values()]
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def module_name(root: Path, inside: Path) -> str:
    """What a file of a package is imported as."""
    parts = [root.name, *inside.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _known(text: str, modules: Collection[str]) -> str | None:
    """The module of the package that ``text``, a module's name or ``module:name``, speaks of."""
    if text in modules:
        return text
    module, colon, name = text.partition(":")
    if not colon:
        return None
    return f"{module}.{name}" if f"{module}.{name}" in modules else module if module in modules else None


def _blank(text: str, modules: Collection[str]) -> str:
    return "a module" if _known(text, modules) else text


def _target(text: str, digests: Mapping[str, str]) -> str:
    found = _known(text, digests)
    return digests[found] if found else text


# --- what users wrote ---


def closure(name: str, path: list[str]) -> dict[str, str]:
    """The digests of module ``name`` and of all that it imports from the user's own files, by module name.

    The user's own is what is neither Python's, nor this package's, nor installed beside it; what shares a package
    with ``name`` always is. Nothing is imported to find out: imports are read from the files, also those inside
    functions.
    """
    digests: dict[str, str] = {}
    top, todo = name.partition(".")[0], [name]
    while todo:
        module = todo.pop()
        if module in digests:
            continue
        file = file_of(module, path)
        if file is None or not (module.partition(".")[0] == top or is_own(file)):
            continue
        source = file.read_bytes()
        tree = tree_of(source, str(file)) if file.suffix == ".py" else None
        digests[module] = hashlib.sha256(source).hexdigest() if tree is None else tree_digest(tree)
        if tree is not None:
            by_call = b"import_module" in source or b"__import__" in source
            nodes = ast.walk(tree) if by_call else _statements(tree)
            todo += _imports(nodes, module, file.name == "__init__.py")
    return digests


def _imports(nodes: Iterable[ast.AST], module: str, is_package: bool) -> Iterator[str]:
    """Names of all modules that these nodes may import, with the packages around them."""
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            around = module.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
            start = ".".join([*(around if node.level else []), *([node.module] if node.module else [])])
            names = [start, *(f"{start}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                names = [node.args[0].value]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:k]) for k in range(1, len(parts) + 1) if parts[0])


def file_of(module: str, path: list[str]) -> Path | None:
    """The file of a module, found as Python would find it and without importing anything."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded:
        return Path(loaded)
    where: list[str] | None = path
    spec = None
    parts = module.split(".")
    for k in range(len(parts)):
        if where is None or parts[0] in sys.builtin_module_names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: k + 1]), where)
        if spec is None:
            return None
        where = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def is_own(file: Path) -> bool:
    """Whether a file is the user's own: neither Python's, nor this package's, nor installed beside it."""
    here = file.resolve()
    installed = {"site-packages", "dist-packages"} & set(here.parts)
    return not installed and not any(here.is_relative_to(folder) for folder in _not_own())


@cache
def _not_own() -> tuple[Path, ...]:
    """Where Python and this package live."""
    python = (Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib"))
    return (*python, Path(__file__).resolve().parents[2])
