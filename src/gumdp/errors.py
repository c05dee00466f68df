"""The one error type of the package, and the checks that the public edge shares."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import numbers
import operator
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class GumdpError(ValueError):
    """Something that was asked for can't be: the message says what, why, and what to do.

    >>> import gumdp
    >>> gumdp.zoo.load("m1-entropi")
    Traceback (most recent call last):
    gumdp.errors.GumdpError: unknown problem 'm1-entropi'; did you mean 'm1-entropy'?
    """


@contextlib.contextmanager
def failures_of(name: str) -> Iterator[None]:
    """What somebody's own code raises in here becomes a ``GumdpError`` that names it.

    >>> with failures_of("fleet.py"):
    ...     {}["late"]
    Traceback (most recent call last):
    gumdp.errors.GumdpError: fleet.py fails with KeyError: 'late'
    """
    try:
        yield
    except GumdpError:
        raise
    except (Exception, SystemExit) as error:
        line = " ".join(str(error).split()) or "without a message"
        raise GumdpError(f"{name} fails with {type(error).__name__}: {line}") from error


def show(value: object) -> str:
    """``value`` as it goes into a sentence: on one line, and not a long one.

    >>> show([1, 2])
    '[1, 2]'
    """
    if isinstance(shape := getattr(value, "shape", ()), tuple) and shape != ():
        return describe(value)
    try:
        text = " ".join(repr(value).split())
    except Exception:  # what came can be anything at all
        return describe(value)
    return text if len(text) <= 60 else text[:57] + "…"


def describe(value: object) -> str:
    """What ``value`` is, in a few words.

    >>> describe([1, 2])
    'list'
    """
    shape, kind = getattr(value, "shape", ()), getattr(value, "dtype", None)
    return (
        type(value).__name__
        if shape == () or not isinstance(shape, tuple) or kind is None
        else f"an array of {kind} of shape {shape}"
    )


def unknown(what: str, name: object, known: Iterable[str]) -> GumdpError:
    """The error for a name that doesn't exist, with the nearest ones that do."""
    options = list(known)
    close = difflib.get_close_matches(show(name).strip("'"), options, n=1, cutoff=0.5)
    there_are = f"there are: {', '.join(options)}." if options else "there are none."
    return GumdpError(f"unknown {what} {show(name)}; " + (f"did you mean {close[0]!r}?" if close else there_are))


def one_of(what: str, name: object, known: Iterable[str]) -> str:
    """``name``, if it is among those known, else a ``GumdpError`` that suggests the nearest."""
    options = list(known)
    if isinstance(name, str) and name in options:
        return name
    raise unknown(what, name, options)


def check_int(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """``value`` as an int from ``least`` to ``most``, or a ``GumdpError`` that names the parameter."""
    rule = "a whole number" + (f" of at least {least}" if least is not None else "")
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except Exception:  # what came can be anything at all
        raise GumdpError(f"{name} must be {rule}, not {show(value)}.") from None
    if least is not None and number < least:
        raise GumdpError(f"{name} must be {rule}, not {show(number)}.")
    if most is not None and number > most:
        raise GumdpError(f"{name} must be at most {most}, not {show(number)}.")
    return number


def check_bool(name: str, value: Any) -> bool:
    """``value`` as a bool, or a ``GumdpError`` that names the parameter."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise GumdpError(f"{name} must be True or False, not {show(value)}.")
    return bool(value)


def check_float(name: str, value: Any, low: float | None = None, high: float | None = None) -> float:
    """``value`` as a finite float in [low, high], or a ``GumdpError`` that names the parameter."""
    ends = [f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else ""]
    rule = " ".join(["a finite number", " and ".join(end for end in ends if end)]).strip()
    try:
        if getattr(value, "shape", None) == () and hasattr(value, "item"):
            value = value.item()  # of an array without dimensions
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError
        number = float(value)
    except Exception:
        raise GumdpError(f"{name} must be {rule}, not {show(value)}.") from None
    inside = (low is None or number >= low) and (high is None or number <= high)
    if not (number - number == 0.0 and inside):
        raise GumdpError(f"{name} must be {rule}, not {number:g}.")
    return number


def check_text(name: str, value: Any) -> str:
    """``value``, if it is a text, or a ``GumdpError`` that names the parameter."""
    if not isinstance(value, str):
        raise GumdpError(f"{name} must be a text, not {show(value)}.")
    return value


def check_call(name: str, value: Any) -> None:
    """Raise a ``GumdpError`` that names the parameter unless ``value`` can be called, or is None."""
    if value is not None and not callable(value):
        raise GumdpError(f"{name} must be a function, or None, not {show(value)}.")


def arity(function: Any) -> int:
    """How many arguments ``function`` must be given; those that have a value of their own don't count.

    >>> arity(lambda state, action, speed=2.0: speed)
    2
    """
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in known)


def check_path(name: str, value: Any) -> Path:
    """``value`` as the path of a file or folder, or a ``GumdpError`` that names the parameter."""
    if isinstance(value, (str, os.PathLike)):
        with contextlib.suppress(Exception):
            path = Path(value)
            if path.name and "\0" not in str(path):
                return path
    raise GumdpError(f"{name} must be the path of a file or folder, not {show(value)}.")


def array_of_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """``values`` as a float array of any shape, or a ``GumdpError`` that names the parameter.

    The array may be the very one that was given.

    >>> array_of_numbers("costs", [[1, 2]])
    array([[1., 2.]])
    """
    import numpy as np  # takes a while, and this module is the first that is imported

    try:
        with np.errstate(all="ignore"):
            array = np.asarray(values)
            objects = array.dtype.kind == "O" and array.size > 0
            if array.dtype.kind not in "biufO" or (objects and not _all_real(array.flat)):
                raise TypeError
            return np.asarray(array, dtype=np.float64)
    except MemoryError:
        raise
    except Exception:  # an object can have any idea of what it is as an array
        raise GumdpError(f"{name} must be an array of numbers, not {describe(values)}.") from None


def items(values: Any) -> list[Any] | None:
    """What is in ``values``, or None where that can't be said: a string or a number is not a list.

    >>> items((1, 2)), items("ab")
    ([1, 2], None)
    """
    try:
        return None if isinstance(values, (str, bytes)) else list(values)
    except Exception:  # what came can be anything at all
        return None


def _all_real(values: Iterable[object]) -> bool:
    return all(isinstance(value, numbers.Real) for value in values)


def check_type(name: str, value: Any, kind: type) -> None:
    """Raise a ``GumdpError`` that names the parameter unless ``value`` is a ``kind``."""
    if not isinstance(value, kind):
        hint = f"; write {value.__name__}(…)" if isinstance(value, type) and issubclass(value, kind) else ""
        raise GumdpError(f"{name} must be a {kind.__name__}, not {describe(value)}{hint}.")


def failures_in(thing: Any, method: str) -> contextlib.AbstractContextManager[None]:
    """What somebody's own planner raises becomes a ``GumdpError``; an error of ours stays what it is."""
    ours = type(thing).__module__.partition(".")[0] == "gumdp"
    return contextlib.nullcontext() if ours else failures_of(f"{method}() of {type(thing).__name__}")
