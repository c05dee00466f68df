"""Any Python function of the occupancy as an objective."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, real
from gumdp.kernels.callback import python_value, register
from gumdp.kernels.record import Code, record
from gumdp.kernels.scores import Dense
from gumdp.objectives.base import Array, Objective, Shape


class Function(Objective):
    """f(d) = ``function(d)`` for a plain Python function of an [S, A] array.

    What Numba can compile runs compiled, without more ado; anything else runs as Python, a hundred or so times
    slower, with one warning that says why. Say what you know: ``gradient(d)`` → [S, A], ``convex``,
    ``bounds`` = (low, high), ``lipschitz``. ``check_objective`` tests what you said.

    >>> import numpy as np
    >>> Function(lambda d: d.max(), convex=True).value(np.array([[0.25, 0.75]]))
    0.75
    """

    def __init__(
        self,
        function: Callable[[Array], float],
        *,
        gradient: Callable[[Array], Array] | None = None,
        convex: bool = False,
        bounds: tuple[float, float] | None = None,
        lipschitz: float | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise GumdpError(f"an objective must be a function of the occupancy, not {type(function).__name__}.")
        self.function = function
        self.slope = gradient
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self._convex = bool(convex)
        self._bounds = None if bounds is None else _ends(bounds)
        self._lipschitz = None if lipschitz is None else real("lipschitz", lipschitz, 0.0)
        self._code: Code | None = None
        self._plain = False
        self._handle = register(self)

    def __repr__(self) -> str:
        return f"Function({self.name})"

    def __call__(self, d: Array) -> float:
        return self.value(d)

    @property
    def convex(self) -> bool:
        return self._convex

    def value(self, d: Array) -> float:
        try:
            result = self.function(d)
        except Exception as error:
            raise GumdpError(f"the objective {self.name} failed with {type(error).__name__}: {error}") from error
        if np.ndim(result) != 0 or not isinstance(result, (int, float, np.number, np.bool_, np.ndarray)):
            raise GumdpError(f"the objective {self.name} must return one number, not {_describe(result)}.")
        return float(result)

    def gradient(self, d: Array) -> Array | None:
        return None if self.slope is None else np.asarray(self.slope(d), dtype=np.float64)

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        return self._bounds

    def lipschitz(self, shape: Shape) -> float | None:
        return self._lipschitz

    def score(self, shape: Shape) -> Any:
        if self._code is None and not self._plain:
            self._compile(shape)
        if self._code is None:
            return PythonScore(self._handle, *shape)
        return FunctionScore(self._code, *shape)

    def _compile(self, shape: Shape) -> None:
        """Compile the function if that can be done and gives the same answers; else warn."""
        trial = np.random.default_rng(0).dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
        try:
            code = Code(self.function)
            # What a user wrote can fail to compile in any way at all.
            made = float(code.compiled(trial.copy()))
            if not np.isclose(made, self.value(trial.copy()), rtol=1e-9, atol=1e-12, equal_nan=True):
                raise TypeError("compiled, it gives another value")
        except Exception as error:
            self._plain = True
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            warnings.warn(
                f"the objective {self.name} runs as plain Python, which makes planning many times slower: "
                f"Numba can't compile it ({reason}). Plain loops and NumPy functions on d do compile.",
                stacklevel=2,
            )
        else:
            self._code = code


def _ends(bounds: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise GumdpError(f"bounds must be a pair (low, high), not {bounds!r}.") from None
    low, high = real("the lower bound", low), real("the upper bound", high)
    if low > high:
        raise GumdpError(f"bounds must be a pair (low, high) with low ≤ high, not ({low:g}, {high:g}).")
    return low, high


def _describe(result: object) -> str:
    return f"an array of shape {np.shape(result)}" if isinstance(result, np.ndarray) else type(result).__name__


def as_objective(objective: Any) -> Objective:
    """``objective`` itself, or the objective that a plain function of the occupancy is."""
    return objective if isinstance(objective, Objective) else Function(objective)


@record
class FunctionScore(Dense):
    """A compiled function of the user's."""

    code: Any
    rows: int
    columns: int

    def value(self, d):
        return float(self.code.call1(d[: self.rows * self.columns].reshape((self.rows, self.columns))))


@record
class PythonScore(Dense):
    """A function that only the interpreter can run."""

    handle: int
    rows: int
    columns: int

    def value(self, d):
        return python_value(self.handle, d[: self.rows * self.columns].reshape((self.rows, self.columns)))
