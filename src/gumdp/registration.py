"""Gymnasium knows ``gumdp/Occupancy-v0`` as soon as both packages are imported, in either order."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAME = "gumdp/Occupancy-v0"


def register() -> None:
    """Tell Gymnasium of the environment, unless it knows it already; the environment itself is imported when made."""
    import gymnasium

    if NAME not in gymnasium.registry:
        gymnasium.register(id=NAME, entry_point="gumdp.run.environment:OccupancyEnv")


def register_when_imported() -> None:
    """Register now if Gymnasium is there, else when somebody imports it: importing it takes a while."""
    if hasattr(sys.modules.get("gymnasium"), "make"):
        register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the import of Gymnasium, and finds it as the others would."""

    asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium" or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads Gymnasium as its own loader does, and registers."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        self.loader.exec_module(module)
        register()
