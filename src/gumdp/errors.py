"""The one error type of the package, and the checks that the public edge shares."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from typing import Any


class GumdpError(ValueError):
    """Something that was asked for can't be: the message says what, why, and what to do."""


def unknown(what: str, name: object, known: Iterable[str]) -> GumdpError:
    """The error for a name that doesn't exist, with the nearest ones that do."""
    options = list(known)
    close = difflib.get_close_matches(str(name), options, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(options)}."
    return GumdpError(f"unknown {what} {name!r}; {hint}")


def whole(name: str, value: Any, least: int | None = None) -> int:
    """``value`` as an int of at least ``least``, or a ``GumdpError`` that names the parameter."""
    rule = "a whole number" + (f" of at least {least}" if least is not None else "")
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise GumdpError(f"{name} must be {rule}, not {value!r}.") from None
    if least is not None and number < least:
        raise GumdpError(f"{name} must be {rule}, not {number}.")
    return number


def real(name: str, value: Any, low: float | None = None, high: float | None = None) -> float:
    """``value`` as a finite float in [low, high], or a ``GumdpError`` that names the parameter."""
    ends = [f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else ""]
    rule = " ".join(["a finite number", " and ".join(e for e in ends if e)]).strip()
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise GumdpError(f"{name} must be {rule}, not {value!r}.") from None
    inside = (low is None or number >= low) and (high is None or number <= high)
    if not (number - number == 0.0 and inside):
        raise GumdpError(f"{name} must be {rule}, not {number:g}.")
    return number
