"""Totals of whatever is counted: z = Σ_t w_t·φ(s_t, a_t, s_{t+1}), k numbers instead of an entry for each pair.

Multi-objective planning for the expected utility of what one run brings ("expected scalarised returns", ESR) is this,
with φ the vector of rewards. Roijers, Steckelmacher and Nowé (2018), "Multi-objective reinforcement learning for the
expected utility of the return".

The compiled half is in ``gumdp.counts.feature_kernels``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from gumdp.counts.feature_kernels import (
    PairFeatures,
    RewardFeatures,
    SimulatedFeatures,
    TransitionFeatures,
    fill_ahead,
)
from gumdp.errors import GumdpError, arity, array_of_numbers, describe, failures_of, items, show
from gumdp.jit.code import Code, reason
from gumdp.models.base import Model
from gumdp.models.belief import Belief
from gumdp.models.chain import chain_of
from gumdp.models.compiled import Still
from gumdp.models.simulator import Simulator
from gumdp.models.tabular import Tabular

Array = NDArray[np.float64]
LARGEST = 1e100  # of an amount, and of a total
ROOM = 1 << 22  # entries of the table of what lies ahead
ENTRIES = 10_000_000  # amounts that a function may be asked for, one by one


class Features:
    """What a step adds to the running totals: ``Problem(…, counts=Features(phi), scale="sum")``.

    Args:
        phi: the k amounts of a step: an array [S, A, k], or [S, A] for a single total; [S, A, S, k] where they depend
            on the next state (random rewards), or k sparse matrices [(S·A), S], one for each total; a function
            ``phi(state, action)``, ``phi(state, action, next_state)`` or ``phi(state, action, next_state, u)`` that
            returns k floats, ``u`` being the four uniform numbers that the simulator's step had; or ``"reward"``: what
            the Gymnasium environment pays, one number or several.
        names: of the totals, for people.

    Where phi depends on the next state, that of the last step counts too.

    >>> Features([[[1.0, 0.0], [0.0, 2.0]]], names=["fish", "wood"])
    Features(fish, wood)
    """

    def __init__(self, phi: Any, names: Sequence[str] | None = None) -> None:
        self.names = None if names is None else _checked_names(names)
        self.phi: Any = phi
        if isinstance(phi, str):
            if phi != "reward":
                raise GumdpError(f'Features: phi must be an array, a function or "reward", not {show(phi)}.')
        elif not callable(phi):
            self.phi = _as_sparse(phi) if _is_sparse(phi) else _as_array(phi)

    def __repr__(self) -> str:
        if self.names:
            return f"Features({', '.join(self.names)})"
        shape = getattr(self.phi, "shape", None)
        kind = "k sparse matrices" if isinstance(self.phi, list) else getattr(self.phi, "__name__", show(self.phi))
        return f"Features({f'of shape {shape}' if shape is not None else kind})"

    def bind(self, model: Model, weights: Array, horizon: int) -> BoundFeatures:
        """The features of one model, checked, for steps with these weights."""
        made: BoundFeatures
        if isinstance(self.phi, str) and getattr(model, "rewards", None) is None:
            made = _of_rewards(model)
        elif isinstance(model, (Tabular, Belief)):
            table = model.mean if isinstance(model, Belief) else model
            values, late = _on_table(self.phi, table)
            made = TableFeatures(table, values, late, weights, horizon)
        elif isinstance(model, Simulator):
            made = _on_simulator(self.phi, model)
        else:
            raise GumdpError(
                f'Features: a {type(model).__name__} counts its own rewards, Features("reward"), not {self!r}.'
            )
        made.name_them(self.names)
        most = made.largest * float(weights.sum())
        if not most <= LARGEST:
            raise GumdpError(f"Features: totals can grow to {most:g}, beyond {LARGEST:g}; scale phi down.")
        return made


class BoundFeatures(ABC):
    """The features of one model: how many, what they are called, and the record that kernels call."""

    kinds: int
    late: bool  # whether they depend on the next state
    chance: bool = False  # and on how chance fell in the step
    guides: bool  # whether they can say what an action leads to, for greedy rollouts
    names: tuple[str, ...] = ()
    largest: float = 0.0  # amount of a step, as far as that is known
    typical: Array  # [k]: totals to try the objective at

    def name_them(self, names: tuple[str, ...] | None) -> None:
        """Call the totals so, or number them."""
        if names is not None and len(names) != self.kinds:
            raise GumdpError(f"Features: names must be {self.kinds}, one for each total, not {len(names)}.")
        self.names = names or tuple(f"total {k}" for k in range(self.kinds))

    def record(self, objective: Any, shape: tuple[int, int], steps: int) -> tuple[Any, int]:
        """What a step adds as kernels call it, and how many totals there are."""
        if objective.grouped():
            raise GumdpError("Features: the objective looks at the masses of states, and there are only totals.")
        return self.compiled(), self.kinds

    def check_step(self, state: Any, action: Any, after: Any, bits: int | None) -> None:
        """Raise an error that says why, if it can't be known what a step added."""
        if self.chance and bits is None:
            raise GumdpError(
                "what this step adds depends on how chance fell, which only who simulates it knows: "
                "tell the amounts with policy.arrived(state, added=…)."
            )

    @abstractmethod
    def compiled(self) -> Any:
        """The record that kernels call."""


class TableFeatures(BoundFeatures):
    """Features of a table, with what lies ahead of each action on average, to guide rollouts."""

    def __init__(self, model: Tabular, values: Array, late: bool, weights: Array, horizon: int) -> None:
        self.model, self.values, self.late = model, values, late  # values: [S·A, k], or [transitions, k] if late
        self.weights, self.horizon = weights, horizon
        self.kinds, self.guides = values.shape[1], True
        self.largest = float(np.abs(values).max(initial=0.0))
        self.typical = float(weights.sum()) * self.means.mean(axis=0)
        self._record: Any = None

    @property
    def means(self) -> Array:
        """What each pair adds on average, [S·A, k]."""
        if not self.late:
            return self.values
        lengths = np.diff(self.model.offsets)
        rows = np.repeat(np.arange(lengths.size), lengths)
        means = np.zeros((lengths.size, self.kinds))
        np.add.at(means, rows, self.model.probabilities[:, None] * self.values)
        return means

    def check_step(self, state: Any, action: Any, after: Any, bits: int | None) -> None:
        row = int(state) * self.model.shape[1] + int(action)
        first, last = self.model.offsets[row : row + 2]
        if self.late and int(after) not in self.model.successors[first:last]:
            raise GumdpError(
                f"state {int(after)} can't follow action {int(action)} in state {int(state)}, so that what the step "
                "adds is not known: tell the amounts with policy.arrived(state, added=…)."
            )

    def compiled(self) -> Any:
        if self._record is None:
            ahead, stride = self._ahead()
            actions, model = self.model.shape[1], self.model
            if self.late:
                values = self.values.ravel()
                made: Any = TransitionFeatures(
                    actions, self.kinds, model.offsets, model.successors, values, ahead, stride
                )
            else:
                made = PairFeatures(actions, self.kinds, self.values.ravel(), ahead, stride)
            self._record = made
        return self._record

    def _ahead(self) -> tuple[Array, int]:
        """What to hold against each other when actions are compared: [steps, S, A, k], flat, and its stride."""
        states, actions = self.model.shape
        steps, width = self.weights.size, states * actions * self.kinds
        if steps * width > ROOM:
            return self.means.ravel(), 0
        ahead = np.zeros((steps, states, actions, self.kinds))
        means = self.means.reshape(states, actions, self.kinds)
        allowed = np.ones(self.model.shape, bool) if self.model.available is None else self.model.available
        rest = np.zeros((2, states, self.kinds))
        fill_ahead(chain_of(self.model), means, self.weights, self.horizon, allowed, rest, ahead)
        return ahead.ravel(), width


class FunctionFeatures(BoundFeatures):
    """Features of a simulator, as a compiled function."""

    def __init__(self, code: Code, arity: int, example: tuple[float, ...]) -> None:
        self.code, self.arity = code, arity
        self.kinds, self.late, self.chance = len(example), arity > 2, arity == 4
        self.guides = not self.late
        self.typical = np.array(example)

    def compiled(self) -> Any:
        return SimulatedFeatures(self.arity, self.kinds, self.code)


class EnvironmentFeatures(BoundFeatures):
    """What a cloned environment pays."""

    late, guides = True, False

    def __init__(self, model: Any, kinds: int) -> None:
        self.kinds, self.handle = kinds, model.compiled().handle
        self.typical = np.zeros(kinds)

    def compiled(self) -> Any:
        return RewardFeatures(self.kinds, self.handle)


def _checked_names(names: Any) -> tuple[str, ...]:
    given = items(names)
    if given is None or not given or not all(isinstance(name, str) and name.strip() for name in given):
        raise GumdpError(f"Features: names must be a list of texts, not {show(names)}.")
    if len(set(given)) < len(given):
        raise GumdpError(f"Features: names must differ from each other, not {show(given)}.")
    return tuple(given)


def _is_sparse(phi: Any) -> bool:
    return isinstance(phi, (list, tuple)) and len(phi) > 0 and all(sparse.issparse(part) for part in phi)


def _as_sparse(phi: Any) -> list[sparse.csr_array]:
    made = [sparse.csr_array(part, dtype=np.float64) for part in phi]
    for part in made:
        _check_numbers(part.data)
    return made


def _as_array(phi: Any) -> Array:
    table = np.array(array_of_numbers("Features: phi", phi))
    if table.ndim not in (2, 3, 4) or table.size == 0:
        raise GumdpError(f"Features: phi must have the shape [S, A, k] or [S, A, S, k], not {table.shape}.")
    _check_numbers(table)
    table.flags.writeable = False
    return table if table.ndim > 2 else table[:, :, None]


def _check_numbers(table: Array) -> None:
    bad = ~(np.abs(table) <= LARGEST)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise GumdpError(
            f"Features: phi must be finite numbers up to {LARGEST:g}; the entry {list(where)} is {table[where]:g}."
        )


def _on_table(phi: Any, model: Tabular) -> tuple[Array, bool]:
    """The amounts of the pairs, [S·A, k], or of the transitions of a table, [n, k], and which it is."""
    states, actions = model.shape
    lengths = np.diff(model.offsets)
    rows = np.repeat(np.arange(lengths.size), lengths)
    if isinstance(phi, str):
        values: Array = np.asarray(model.rewards, dtype=np.float64).reshape(model.successors.size, -1)
    elif callable(phi):
        return _tabulated(phi, model)
    elif isinstance(phi, list):
        for part in phi:
            if part.shape != (states * actions, states):
                raise GumdpError(
                    f"Features: a sparse phi must have the shape [(S·A), S], here {(states * actions, states)}, "
                    f"not {part.shape}."
                )
        values = np.stack([np.asarray(part[rows, model.successors]).ravel() for part in phi], axis=1)
    elif phi.ndim == 4:
        if phi.shape[:3] != (states, actions, states):
            raise _wrong_shape(phi, (states, actions, states))
        values = phi.reshape(states * actions, states, -1)[rows, model.successors]
    else:
        if phi.shape[:2] != (states, actions):
            raise _wrong_shape(phi, (states, actions))
        return np.ascontiguousarray(phi.reshape(states * actions, -1)), False
    return _without_chance(np.ascontiguousarray(values), model)


def _wrong_shape(phi: Array, shape: tuple[int, ...]) -> GumdpError:
    words = ", ".join(str(n) for n in shape)
    return GumdpError(f"Features: phi must have the shape ({words}, k) for this model, not {phi.shape}.")


def _without_chance(values: Array, model: Tabular) -> tuple[Array, bool]:
    """The amounts by pair if no next state makes a difference, else as they are."""
    first = np.minimum(model.offsets[:-1], max(0, model.successors.size - 1))
    rows = np.repeat(np.arange(first.size), np.diff(model.offsets))
    if np.array_equal(values, values[first][rows]):
        empty = np.diff(model.offsets) == 0
        return np.where(empty[:, None], 0.0, values[first]), False
    return values, True


def _tabulated(phi: Any, model: Tabular) -> tuple[Array, bool]:
    """A function of states and actions, asked for each of them."""
    count = _arity(phi)
    if count == 4:
        raise GumdpError(
            "Features: phi takes u, which a table has not; let the next state say how chance fell: "
            "phi(state, action, next_state)."
        )
    if model.successors.size > ENTRIES:
        raise GumdpError(f"Features: phi is a function, and {model.successors.size:,} transitions are too many to ask.")
    actions = model.shape[1]
    rows = np.repeat(np.arange(model.offsets.size - 1), np.diff(model.offsets))
    amounts: list[tuple[float, ...]] = []
    for row, after in zip(rows.tolist(), model.successors.tolist(), strict=True):
        given = (*divmod(row, actions), after)[:count]
        with failures_of("Features: phi"):
            amount = _numbers(phi(*given))
            again = amount if amounts else _numbers(phi(*given))
        if again != amount:
            raise GumdpError("Features: phi gives different amounts for the same step; all chance must be the model's.")
        amounts.append(amount)
    if len({len(amount) for amount in amounts}) != 1:
        raise GumdpError("Features: phi must return the same number of amounts for every step.")
    values = np.array(amounts)
    _check_numbers(values)
    return _without_chance(values, model)


def _numbers(answer: Any) -> tuple[float, ...]:
    try:
        return tuple(float(x) for x in np.atleast_1d(np.asarray(answer, dtype=np.float64)))
    except (TypeError, ValueError):
        raise GumdpError(f"Features: phi must return numbers, not {describe(answer)}.") from None


def _arity(phi: Any) -> int:
    count = arity(phi)
    if count not in (2, 3, 4):
        raise GumdpError(
            "Features: phi must be a function of (state, action), (state, action, next_state) or "
            f"(state, action, next_state, u), not of {count} arguments."
        )
    return count


def _on_simulator(phi: Any, model: Simulator) -> FunctionFeatures:
    """The amounts of a simulator's steps, as a compiled function, tried once."""
    if not callable(phi):
        raise GumdpError(
            "Features: for a simulator phi must be a function, phi(state, action, next_state, u), not an array."
        )
    count = _arity(phi)
    if count == 4 and not _draws(model):
        raise GumdpError("Features: phi takes u, but the simulator's step is without chance; write phi without u.")
    given = (model.first, np.uint64(0), model.first, (0.5, 0.5, 0.5, 0.5))[:count]
    try:
        code = Code(phi)
        answer, again = code.compiled(*given), code.compiled(*given)
    except Exception as error:
        raise GumdpError(
            f"Features: phi can't be compiled or fails: {type(error).__name__}: {reason(error)}."
        ) from error
    if isinstance(answer, float):
        raise GumdpError("Features: phi must return a tuple of floats; write (x,) for a single one.")
    if not isinstance(answer, tuple) or not answer or not all(isinstance(x, float) for x in answer):
        raise GumdpError(
            f"Features: phi must return a tuple of floats, not {show(answer)}; write 0.0 instead of 0 where an amount "
            "is a float."
        )
    if not np.isfinite(answer).all():
        raise GumdpError(f"Features: phi must be finite; in the state {model.first!r} it is {show(answer)}.")
    if answer != again:
        raise GumdpError("Features: phi gives different amounts for the same step; take all chance from u.")
    return FunctionFeatures(code, count, answer)


def _draws(model: Simulator) -> bool:
    """Whether the simulator's step has chance in it."""
    compiled = model.compiled()
    dynamics = getattr(compiled, "simulation", compiled).dynamics
    while hasattr(dynamics, "dynamics"):
        dynamics = dynamics.dynamics
    return not isinstance(dynamics, Still)


def _of_rewards(model: Model) -> EnvironmentFeatures:
    kinds = getattr(model, "reward_kinds", None)
    if kinds is None:
        raise GumdpError(
            'Features: "reward" is for models that from_gymnasium made; a '
            f"{type(model).__name__} of one's own has no rewards: give phi itself."
        )
    return EnvironmentFeatures(model, kinds)
