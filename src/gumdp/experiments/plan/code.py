"""The modules that an experiment names: where they are, how they are imported, and what they are a version of.

They come from a stated folder, the one of the plan's file, and from nowhere else if they are there. That folder stands
last in the search for what they import: a file there can't take the place of Python's or of an installed package's.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from gumdp.errors import GumdpError
from gumdp.experiments.plan.identity import digest
from gumdp.experiments.plan.source import closure

_imported: dict[str, str] = {}  # the digest of each module's code when it was imported


@dataclass(frozen=True)
class Code:
    """Modules by name, each with the folder in which its name is found.

    >>> Code().digest()
    ''
    """

    modules: tuple[tuple[str, str], ...] = ()

    @classmethod
    def named(cls, names: Iterable[str], folder: str | Path | None = None) -> Code:
        """The modules of these names, imported: from ``folder`` those that are there, else as Python finds them."""
        return cls(tuple((name, load(name, folder)) for name in names))

    def load(self) -> None:
        """Import them here, as they were imported where this was made."""
        for name, root in self.modules:
            load(name, root)

    def digest(self) -> str:
        """What the modules, and what they import of the user's own, were when they were imported; empty for none.

        Code that is edited after that is refused: what runs here is the old one.
        """
        if not self.modules:
            return ""
        for name, _ in self.modules:
            if _now(name) != _imported[name]:
                raise GumdpError(f"the module {name!r} was changed after it was imported; start Python again.")
        return digest({name: _imported[name] for name, _ in self.modules})[:8]


def load(name: str, folder: str | Path | None = None) -> str:
    """Import module ``name``, and return the folder in which its name is found."""
    try:
        module = _from_folder(name, Path(folder)) if folder is not None else None
        module = module or importlib.import_module(name)
    except GumdpError:
        raise
    except (Exception, SystemExit) as error:  # what a user wrote can fail in any way at all
        hint = f"; name it without .py: {name[:-3]!r}" if name.endswith(".py") else ""
        raise GumdpError(f"the module {name!r} can't be imported: {type(error).__name__}: {error}{hint}") from error
    _imported.setdefault(name, _now(name))
    return _root(module)


def _from_folder(name: str, folder: Path) -> ModuleType | None:
    """The module of that name in ``folder``, whatever else has its name; None if there is none."""
    root = str(folder.resolve())
    if root not in sys.path:
        sys.path.append(root)
    top = name.partition(".")[0]
    spec = importlib.machinery.PathFinder.find_spec(top, [root])
    if spec is None:
        return None
    there = sys.modules.get(top)
    if there is None:
        if spec.origin is None:  # a folder without __init__.py
            return None
        there = importlib.util.module_from_spec(spec)
        sys.modules[top] = there
        try:
            assert spec.loader is not None
            spec.loader.exec_module(there)
        except BaseException:
            del sys.modules[top]
            raise
    elif spec.origin is not None and not _same_file(getattr(there, "__file__", None), spec.origin):
        raise GumdpError(
            f"the module {name!r} of {root} can't be imported: there is another one of that name, "
            f"{getattr(there, '__file__', None) or 'a part of Python'}; give yours another name."
        )
    return importlib.import_module(name)


def _same_file(a: str | None, b: str) -> bool:
    return a is not None and Path(a).resolve() == Path(b).resolve()


def _root(module: ModuleType) -> str:
    """The folder in which the module's name is found."""
    file = getattr(module, "__file__", None)
    if file is None:
        return ""
    path = Path(file).resolve()
    return str(path.parents[module.__name__.count(".") + (path.name == "__init__.py")])


def _now(name: str) -> str:
    return digest(closure(name, sys.path))


# --- code that nobody named ---


def reached(builders: Sequence[Callable[..., Any]]) -> str:
    """A digest of the user's modules that these functions were written in; empty if all are the package's own."""
    homes = {name: builder for builder in builders if (name := _home(builder)).partition(".")[0] not in ("", "gumdp")}
    return digest({name: _home_digest(name, builder) for name, builder in homes.items()})[:8] if homes else ""


def _home(builder: Callable[..., Any]) -> str:
    while isinstance(builder, functools.partial):
        builder = builder.func
    return str(getattr(builder, "__module__", "") or "")


@functools.cache
def _home_digest(name: str, builder: Callable[..., Any]) -> str:
    """As the module is when it is first met: what runs here later is that, whatever becomes of the file."""
    if name in _imported:
        return _imported[name]
    found = closure(name, sys.path)
    if not found:  # a notebook has no file
        try:
            found = {"": inspect.getsource(builder)}
        except (OSError, TypeError):
            raise GumdpError(
                f"the code of {builder!r} can't be found, so that its trials can't be told from those of other code; "
                "write it into a module."
            ) from None
    return digest(found)
