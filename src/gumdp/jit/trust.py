"""Who is known by name and version: Python's own library, NumPy, Numba and SciPy. All others are the user's."""

from __future__ import annotations

import functools
import sys
import sysconfig
import types as python_types
from pathlib import Path
from typing import Any

import numba
from numba.core.typing.templates import builtin_registry

TRUSTED = ("numba", "llvmlite", "numpy", "scipy")  # beside Python's own: a release of these is what its number says
NUMBA = str(Path(numba.__file__).parent)


def is_trusted(value: Any) -> bool:
    """Whether ``value`` is a part of Python's library, NumPy, Numba or SciPy."""
    return _is_release(home_of(value) if isinstance(value, python_types.FunctionType) else address(value)[0])


def home_of(function: python_types.FunctionType) -> str:
    """The module whose globals the function reads, or "" (what it says of itself may be copied from another)."""
    name = function.__globals__.get("__name__", "")
    return name if vars(sys.modules.get(name, python_types)) is function.__globals__ else ""


def address(value: Any) -> tuple[str, str]:
    """(module, name) under which ``value`` can be found, or ("", "")."""
    if isinstance(value, python_types.ModuleType):
        return value.__name__, ""
    for place in (getattr(value, "__module__", None), type(value).__module__):
        module = sys.modules.get(place) if isinstance(place, str) else None
        if module is None:
            continue
        for name in (getattr(value, "__qualname__", None), getattr(value, "__name__", None)):
            if isinstance(name, str) and getattr(module, name, None) is value:
                return module.__name__, name
        for name, other in list(vars(module).items()):
            if other is value:
                return module.__name__, name
    return "", ""


def release(module: str) -> str:
    """The version of the package that ``module`` belongs to."""
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))


@functools.cache
def _is_release(module: str) -> bool:
    top = module.partition(".")[0]
    if top in TRUSTED:
        return True
    if top not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(top), "__file__", None)  # a user's file may be called like one of Python's
    if file is None:
        return True
    folders = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    path = Path(file).resolve()
    return "site-packages" not in path.parts and not folders.isdisjoint(path.parents)


def taught_names() -> frozenset[str]:
    """The names of functions, methods and attributes that someone taught Numba, beside Numba and this package."""
    registry = builtin_registry
    return _taught_names(len(registry.functions) + len(registry.attributes) + len(registry.globals))


@functools.lru_cache(maxsize=1)
def _taught_names(size: int) -> frozenset[str]:
    names: set[str] = set()
    for key, typ in builtin_registry.globals:
        if str(getattr(key, "__module__", "")).startswith("gumdp.jit."):
            continue  # ours to teach
        for template in getattr(typ, "templates", ()):
            stands_for_method = getattr(template, "_overload_func", None) is key  # methods come below
            if not stands_for_method and _is_strangers(template):
                names.add(getattr(key, "__name__", repr(key)))
    for template in filter(_is_strangers, builtin_registry.attributes):
        resolved = [name.removeprefix("resolve_") for name in dir(template) if name.startswith("resolve_")]
        names.update([template._attr] if hasattr(template, "_attr") else resolved)
    return frozenset(names)


def _is_strangers(template: Any) -> bool:
    """Whether someone beside Numba and this package wrote the template."""
    by = getattr(template, "_overload_func", None) or getattr(template, "_definition_func", None) or template
    file = getattr(getattr(by, "__code__", None), "co_filename", "")
    return str(by.__module__).partition(".")[0] not in ("numba", "gumdp") and not file.startswith(NUMBA)
