"""Any Python function of the occupancy as an objective."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_bool, check_float, check_text, show
from gumdp.jit.callback import python_value, register
from gumdp.jit.code import Code, read_only, reason
from gumdp.jit.pointer import Pointer, answer_at
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape, one_number
from gumdp.objectives.interpreted import InterpretedRecord, interpreted
from gumdp.objectives.record import Dense

_compiling = threading.Lock()


class Function(Objective):
    """f(d) = ``function(d)`` for a plain Python function of an [S, A] array, which it must only read.

    What Numba can compile runs compiled, without more ado; anything else runs as Python, a hundred or so times
    slower, with one warning that says why. Say what you know: ``gradient(d)`` → [S, A], ``convex``,
    ``bounds`` = (low, high), ``lipschitz``. ``check_objective`` tests what you said.

    >>> import numpy as np
    >>> Function(lambda d: d.max(), convex=True).value(np.array([[0.25, 0.75]]))
    0.75
    """

    def __init__(
        self,
        function: Any,
        *,
        gradient: Callable[[Array], Array] | None = None,
        convex: bool = False,
        bounds: tuple[float, float] | None = None,
        lipschitz: float | None = None,
        name: str | None = None,
    ) -> None:
        if inspect.isclass(function) and issubclass(function, Objective):
            raise GumdpError(f"an objective must be an object, not the class {function.__name__}; call it first.")
        for what, given in (("the objective", function), ("gradient", gradient)):
            if not callable(given) and (given is not None or what != "gradient"):
                raise GumdpError(f"Function: {what} must be a function of the occupancy, not {type(given).__name__}.")
        self.function: Callable[[Array], float] = function
        self.slope = gradient
        usual = str(getattr(function, "__name__", type(function).__name__))
        self.name = usual if name is None else check_text("the name of an objective", name)
        self._convex = check_bool("convex", convex)
        self._bounds = None if bounds is None else _ends(bounds)
        self._lipschitz = None if lipschitz is None else check_float("Function: lipschitz", lipschitz, 0.0)
        self._code: Pointer | None = None
        self._former: list[Pointer] = []  # what it meant before, as problems may have it that were made then
        self._obstacle: str | None = None  # why it can't be compiled

    def __repr__(self) -> str:
        return f"Function({self.name})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_code": None, "_former": []}  # compiled code stays in its process

    @property
    def convex(self) -> bool:
        return self._convex

    def value(self, d: Array) -> float:
        try:
            result = self._answer(d)
        except GumdpError:
            raise
        except Exception as error:
            raise GumdpError(f"the objective {self.name} failed with {type(error).__name__}: {error}") from error
        return one_number(self.name, result)

    def _answer(self, d: Array) -> Any:
        """What the function returns for ``d``, which stays as it is whatever the function does."""
        given = self._given(d).copy()
        result = self.function(given)
        if not np.array_equal(given, self._given(d), equal_nan=True):
            raise GumdpError(f"the objective {self.name} changes the occupancy that it is given; it must only read it.")
        return result

    def _given(self, d: Array) -> Array:
        """What the function is given: the occupancy [S, A]."""
        return d

    def gradient(self, d: Array) -> Array | None:
        if self.slope is None:
            return None
        given = self._given(d)
        try:
            slope = np.asarray(self.slope(given.copy()), dtype=np.float64)
        except Exception as error:
            raise GumdpError(f"the gradient of {self.name} failed with {type(error).__name__}: {error}") from error
        if slope.shape != given.shape:
            raise GumdpError(f"the gradient of {self.name} must have the shape {given.shape}, not {slope.shape}.")
        return slope

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        return self._bounds

    def lipschitz(self, shape: Shape) -> float | None:
        return self._lipschitz

    def record(self, shape: Shape) -> Any:
        with _compiling:  # threads that ask at the same time get the same code, and one of them warns
            if self._code is not None and self._code.code.has_changed():
                self._former.append(self._code)
                self._code = None
            if self._code is None and self._obstacle is None:
                self._obstacle = self._compile(shape)
                if self._obstacle is not None:
                    return interpreted(self, shape, self._obstacle)
        if self._code is None:
            return InterpretedRecord(register(self), *shape)
        return self._compiled(self._code.address, shape)

    def _compiled(self, address: int, shape: Shape) -> Any:
        """The record of the compiled function."""
        return FunctionRecord(address, register(self), *shape)

    def _samples(self, shape: Shape) -> list[Array]:
        """What compiled and interpreted answers are compared at."""
        return _trials(shape)

    def _compile(self, shape: Shape) -> str | None:
        """Compile the function if that can be done and gives the same answers; else return the obstacle."""
        try:
            code = Code(self.function)
        except TypeError as error:
            return f"{error} is not a function that was written in Python"
        try:
            ndim = self._given(np.zeros(shape)).ndim
            code = code.of_table(ndim)
            pointer = Pointer(code, ndim)
        except Exception as error:  # what a user wrote can fail to compile in any way at all
            what = f"it reads {code.unknown[0]}; " if code.unknown else ""
            return _advice(self.function) or f"{what}Numba can't compile it ({reason(error)})"
        for d in self._samples(shape):
            made, meant = _outcome(code.compiled, read_only(self._given(d))), _outcome(self._answer, d)
            # Where compiled code raises the interpreter is asked anyway; what it returns must be right.
            if made is not None and not (meant is not None and np.isclose(made, meant, 1e-9, 1e-12, equal_nan=True)):
                return f"compiled, it gives {made:g} where Python {'fails' if meant is None else f'gives {meant:g}'}"
        self._code = pointer
        return None


def _advice(function: Callable[[Array], float]) -> str | None:
    """What to change in ``function``, where the usual obstacle is to be seen: a list that is not its own."""
    try:
        read = inspect.getclosurevars(function)
    except (TypeError, ValueError):  # no plain function, or one that reads a variable that has no value yet
        return None
    for name, what in {**read.globals, **read.nonlocals}.items():
        if isinstance(what, list | set):
            return f"Numba can't read the {type(what).__name__} {name}: make it a tuple or a NumPy array"
    return None


def _outcome(function: Callable[[Array], float], d: Array) -> float | None:
    """The number that ``function`` makes of ``d``, or None if it raises."""
    try:
        with np.errstate(all="ignore"):
            return float(function(d))
    except Exception:
        return None


def _trials(shape: Shape) -> list[Array]:
    """A few occupancies to compare on: full ones, a sparse one, and one pair."""
    cells = shape[0] * shape[1]
    rng = np.random.default_rng(0)
    full = [np.full(cells, 1.0 / cells), rng.dirichlet(np.ones(cells)), rng.dirichlet(np.ones(cells))]
    some, one = np.zeros(cells), np.zeros(cells)
    chosen = rng.permutation(cells)[: cells // 2 + 1]
    some[chosen] = rng.dirichlet(np.ones(chosen.size))
    one[chosen[0]] = 1.0
    return [d.reshape(shape) for d in (*full, some, one)]


def _ends(bounds: Any) -> tuple[float, float]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise GumdpError(f"Function: bounds must be a pair (low, high), not {show(bounds)}.") from None
    low, high = check_float("Function: the lower bound", low), check_float("Function: the upper bound", high)
    if low > high:
        raise GumdpError(f"Function: bounds must be a pair (low, high) with low ≤ high, not ({low:g}, {high:g}).")
    return low, high


def as_objective(objective: Any) -> Objective:
    """``objective`` itself, or the objective that a plain function of the occupancy is."""
    return objective if isinstance(objective, Objective) else Function(objective)


@record
class FunctionRecord(Dense):
    """A compiled function of the user's, by its address. Where it raises, the interpreter is asked, who has words."""

    address: int
    handle: int
    rows: int
    columns: int

    def value(self, d: Any) -> float:
        table = d[: self.rows * self.columns].reshape((self.rows, self.columns))
        value = answer_at(self.address, table)
        return value if value == value else float(python_value(self.handle, table))
