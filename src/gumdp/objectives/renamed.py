"""What objectives' methods were called before, for one more minor version: ``score`` and ``fit``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

RENAMED = {"score": "record", "fit": "check_shape"}


def adopt_old_names(cls: type) -> None:
    """A class that still defines an old name answers under the new one; a warning says so."""
    for old, new in RENAMED.items():
        if old in vars(cls) and new not in vars(cls):
            warnings.warn(
                f"{cls.__name__}.{old}(shape) is now {new}(shape): rename it; "
                "the old name works for one more minor version.",
                DeprecationWarning,
                stacklevel=4,  # past ABCMeta and __init_subclass__, at the class
            )
            setattr(cls, new, _calls(old))


def _calls(old: str) -> Callable[..., Any]:
    def adopted(self: Any, shape: Any) -> Any:
        return getattr(self, old)(shape)

    return adopted


def renamed(old: str) -> Callable[..., Any]:
    """The method under its old name: it warns, and asks the nearest class with the new one, as ``super()`` would."""

    def forward(self: Any, shape: Any) -> Any:
        new = RENAMED[old]
        warnings.warn(f"{old}(shape) of an objective is now {new}(shape).", DeprecationWarning, stacklevel=2)
        methods = (vars(base)[new] for base in type(self).__mro__ if new in vars(base))
        return next(method for method in methods if method.__name__ != "adopted")(self, shape)

    return forward
