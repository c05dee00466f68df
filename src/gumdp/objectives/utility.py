"""Any function of the totals as an objective, to be maximised or minimised: see ``gumdp.counts.features``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_bool
from gumdp.jit.callback import python_value, register
from gumdp.jit.pointer import answer_at
from gumdp.jit.record import record
from gumdp.objectives.base import Array, Objective, Shape
from gumdp.objectives.function import Function
from gumdp.objectives.record import Dense


class Utility(Function):
    """``utility(z)`` of the totals z [k], to be maximised: the cost is -utility(z). With ``maximise=False``, the cost.

    Planning minimises costs, everywhere: values of trials and solutions are costs, and their ``utility`` is the number
    that the function gave. What Numba can compile runs compiled, as for ``Function``. Say what you know of the
    function: ``gradient(z)`` → [k], whether it is ``concave`` (``convex``, if it is minimised), ``bounds`` = (low,
    high), and ``lipschitz``, by how much it changes at most when one total changes by 1.

    >>> import numpy as np
    >>> meal = Utility(lambda z: min(z[0], z[1] // 2))
    >>> meal.value(np.array([[3.0, 5.0]])), meal.utility(np.array([3.0, 5.0]))
    (-2.0, 2.0)
    """

    def __init__(
        self,
        utility: Any,
        maximise: bool = True,
        *,
        gradient: Callable[[Array], Array] | None = None,
        concave: bool = False,
        convex: bool = False,
        bounds: tuple[float, float] | None = None,
        lipschitz: float | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(utility) or isinstance(utility, Objective):
            raise GumdpError(f"Utility: utility must be a function of the totals, not {type(utility).__name__}.")
        self.maximises = check_bool("Utility: maximise", maximise)
        super().__init__(
            utility,
            gradient=gradient,
            convex=concave if self.maximises else convex,
            bounds=bounds,
            lipschitz=lipschitz,
            name=name,
        )
        self.sign = -1.0 if self.maximises else 1.0

    @classmethod
    def cost(cls, function: Function) -> Utility:
        """A function of the totals that is to be minimised, with all that was said of it."""
        made = cls(
            function.function,
            maximise=False,
            gradient=function.slope,
            convex=function._convex,
            bounds=function._bounds,
            lipschitz=function._lipschitz,
            name=function.name,
        )
        made.label = function.label
        return made

    def __repr__(self) -> str:
        return f"Utility({self.name}{'' if self.maximises else ', maximise=False'})"

    def _given(self, d: Array) -> Array:
        return d.ravel()

    def value(self, d: Array) -> float:
        return self.sign * super().value(d)

    def utility(self, z: Array) -> float:
        """What the function gives for the totals z [k]."""
        return super().value(np.asarray(z, dtype=np.float64))

    def gradient(self, d: Array) -> Array | None:
        slope = super().gradient(d)
        return None if slope is None else self.sign * slope.reshape(d.shape)

    def bounds(self, shape: Shape) -> tuple[float, float] | None:
        ends = super().bounds(shape)
        return None if ends is None else (-ends[1], -ends[0]) if self.maximises else ends

    def _compiled(self, address: int, shape: Shape) -> Any:
        return UtilityRecord(address, register(self), shape[0] * shape[1], self.sign)

    def _samples(self, shape: Shape) -> list[Array]:
        rng = np.random.default_rng(0)
        counts = [rng.integers(0, 20, shape).astype(np.float64) for _ in range(3)]
        return [np.zeros(shape), np.ones(shape), *counts, rng.random(shape)]


@record
class UtilityRecord(Dense):
    """A compiled function of the totals, by its address. Where it raises, the interpreter is asked, who has words."""

    address: int
    handle: int
    kinds: int
    sign: float

    def value(self, d: Any) -> float:
        z = d[: self.kinds]
        value = answer_at(self.address, z)
        return self.sign * value if value == value else float(python_value(self.handle, z))
