"""Planner = parameters; bound to a problem it becomes a policy, which remembers what it did."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gumdp.counts.hashed import BoundCells
from gumdp.counts.running import commit, commit_amounts, commit_step, refresh, worth
from gumdp.errors import GumdpError, array_of_numbers, check_int, check_type, describe, failures_in, show
from gumdp.jit.callback import reraise
from gumdp.models.belief import Belief
from gumdp.models.belief_kernels import restore_once
from gumdp.models.gymnasium.clone import Clone
from gumdp.policies.saving import put, read, restore_running, running_arrays, title_of, write
from gumdp.policies.trials import not_finite as not_finite
from gumdp.policies.trials import play_trials as play_trials
from gumdp.problem import Problem
from gumdp.results import Array, Decision
from gumdp.seeding import Seeds as Seeds
from gumdp.seeding import streams

MOST_PAIRS = 10_000_000  # beyond, there is no table of what was visited beside the totals


class Policy(ABC):
    """A planner at work on one trial: ``act(state)`` again and again.

    The policy remembers the states it was shown and the actions it gave. If something else was done than it
    said, tell it before the next step: ``policy.tell(action)``. One of your own has ``decide(state)``, which
    returns a ``Decision``.

    >>> import gumdp
    >>> policy = gumdp.Greedy().start(gumdp.zoo.load("m1-entropy"), seed=0)
    >>> decision = policy.act(0)
    >>> policy.t, policy.occupancy.shape  # steps taken, and what they added up to
    (1, (3, 2))
    """

    resumes = False  # whether all that it remembers is kept by ``save``

    def __init__(self, problem: Problem, dice: int) -> None:
        self.problem = problem
        self.rng = np.uint64(dice)
        self.t = 0
        self.cell = 0  # of the last state seen
        self._pending: tuple[int, int] | None = None  # (cell, action) of the last step
        self._last_action = -1  # of the last step that is settled
        self._left: Any = None  # the state of that step, as kernels have it
        self._running = problem.running()
        self._runnings = [self._running]  # a search on several threads has one for each
        self._moved: tuple[int, int] | None = None  # (cell, action) whose outcome a belief has still to learn
        self._seen: list[tuple[int, int, int]] = []  # the transitions that it has learnt
        learns = isinstance(problem.model, Belief)
        self._beliefs = [problem.model.simulation(problem.steps)] if learns else []  # all that learn from what is seen
        self.stop = np.zeros(1, np.uint8)  # set from outside, it ends a decision early, with a KeyboardInterrupt

    def act(self, state: Any) -> Decision:
        """The decision in ``state``, which is remembered as taken."""
        if self.t >= self.problem.steps:
            raise GumdpError(f"the trial is over after {self.problem.steps} steps; start a new policy.")
        s = self.problem.model.state(state)
        if self._waits and self.t % self.problem.horizon == 0:
            raise GumdpError(
                "what the last step of an episode adds shows in the state that it led to: tell it before the next "
                "episode begins, with policy.arrived(state)."
            )
        self._learn(int(s) if self._beliefs else 0)
        self._settle_pending(s)
        self.cell = self._cell_of(s)
        try:
            with failures_in(self, "decide"):
                made = self.decide(s)
            decision = self._checked(made, s)
            reraise()
            if self.stop[0]:
                raise KeyboardInterrupt
        except BaseException:
            for running in self._runnings:
                refresh(self.problem.record, running)
            reraise()
            raise
        finally:
            for belief in self._beliefs:
                restore_once(belief)
        self._pending, self._left = (self.cell, decision.action), s
        self._moved = self._pending
        self.t += 1
        return decision

    def _cell_of(self, s: Any) -> int:
        """The cell that a state, as kernels have it, is counted in."""
        counting = self.problem.counting
        if isinstance(counting, BoundCells):
            return int(counting.cell(self.problem.model, s))
        return int(self.problem.model.compiled().cell(s))

    def save(self, path: str | Path) -> None:
        """Write all that this trial needs to go on to a file: arrays, no code.

        ``planner.start(problem).load(path)`` goes on from there, with the same bits as without the break.
        """
        self._settle_pending()
        write(path, title_of(self._title, self.problem), self._arrays())

    def load(self, path: str | Path) -> Self:
        """This policy, at the point where one of the same planner and problem was saved.

        >>> import gumdp, tempfile
        >>> problem, planner = gumdp.zoo.load("m1-entropy", horizon=4), gumdp.Greedy()
        >>> policy, file = planner.start(problem), tempfile.gettempdir() + "/policy.npz"
        >>> _ = policy.act(0)
        >>> policy.save(file)
        >>> planner.start(problem).load(file).t
        1
        """
        self._take(read(path, title_of(self._title, self.problem)))
        return self

    _title = ""  # the planner, as ``start`` says

    def _arrays(self) -> dict[str, Any]:
        """What there is to keep, by name."""
        if not self.resumes:
            raise GumdpError(f"save: a {type(self).__name__} can't be saved; Greedy, MCTS and their like can.")
        pending = (-1, -1) if self._pending is None else self._pending
        steps = np.array([self.t, self._last_action], np.int64)
        arrays = {
            "rng": np.array(self.rng),
            "steps": steps,
            "pending": np.array([*pending, self.cell]).astype(np.uint64),
        }
        if self._pending is not None:
            if isinstance(self.problem.model, Clone):
                raise GumdpError(
                    "save: tell where the last step led, with policy.arrived(state): clones can't be saved."
                )
            arrays["left"] = np.array(self._left)
        for k, running in enumerate(self._runnings):
            arrays |= running_arrays(f"running{k}", running)
        if self._beliefs:
            arrays["seen"] = np.array(self._seen, np.int64).reshape(-1, 3)
            arrays["moved"] = np.array(() if self._moved is None else self._moved, np.int64)
        return arrays

    def _take(self, arrays: dict[str, Any]) -> None:
        """Become what was kept."""
        steps, pending, rng = np.zeros(2, np.int64), np.zeros(3, np.uint64), np.zeros((), np.uint64)
        for name, target in (("steps", steps), ("pending", pending), ("rng", rng)):
            put(name, target, arrays)
        for k, running in enumerate(self._runnings):
            restore_running(f"running{k}", running, arrays)
            kept = running.z_root.copy()
            refresh(self.problem.record, running)
            running.z_root[:] = kept  # which was added up in the order of what happened
        self.rng, self.cell = np.uint64(rng), int(pending[2])
        self.t, self._last_action = (int(x) for x in steps)
        self._pending = None
        if "left" in arrays:
            left, model = arrays["left"], self.problem.model
            self._left = model.state(int(left) if left.ndim == 0 else tuple(float(x) for x in left))
            self._pending = int(pending[0]), int(pending[1])
        if isinstance(self.problem.model, Belief):
            for before, action, after in arrays["seen"].tolist():
                self._see(self.problem.model, (before, action, after))
            moved = arrays["moved"].tolist()
            self._moved = (moved[0], moved[1]) if moved else None

    def go_on(self, occupancy: Any, t: int) -> None:
        """Begin at step ``t``, with this running occupancy [S, A], or with these running totals [k].

        The occupancy is that of the first ``t`` steps, with their weights: it sums to their share of all.
        """
        problem = self.problem
        step = check_int("start: t", t, 0, problem.steps - 1)
        if not self.resumes:
            raise GumdpError(
                f"start: a {type(self).__name__} can't begin in the middle; Greedy, MCTS and their like can."
            )
        if isinstance(problem.counting, BoundCells):
            raise GumdpError(
                "start: a trial with hashed cells begins in the middle by policy.load, not by an occupancy."
            )
        table = array_of_numbers("start: occupancy", occupancy)
        shape = problem.shape if problem.features is None else (problem.features.kinds,)
        if table.shape != shape or not np.isfinite(table).all():
            raise GumdpError(f"start: occupancy must be finite numbers of shape {shape}, not {describe(occupancy)}.")
        share = float(problem.weights[:step].sum())
        if problem.features is None and (table.min() < 0.0 or abs(table.sum() - share) > 1e-6):
            raise GumdpError(
                f"start: the occupancy of the first {step} steps must sum to {share:.6g}, not {table.sum():.6g}."
            )
        for running in self._runnings:
            running.root[: table.size] = table.ravel()
            if running.root.size > table.size:  # the masses of the states come behind
                running.root[table.size :] = table.sum(axis=1)
            refresh(problem.record, running)
        self.t = step

    def _checked(self, decision: Any, s: Any) -> Decision:
        """``decision``, if it is one that can be carried out in ``s``."""
        if not isinstance(decision, Decision):
            raise GumdpError(f"decide() of {type(self).__name__} must return a Decision, not {show(decision)}.")
        action = self.problem.model.check_action(decision.action)
        if not self.problem.model.compiled().allowed(s, action):
            raise GumdpError(f"{type(self).__name__} chose action {action}, which is not available in this state.")
        return decision

    @abstractmethod
    def decide(self, state: Any) -> Decision:
        """The decision in a state as kernels have it, at step ``self.t`` with ``self._ledger`` up to date."""

    def tell(self, action: int) -> None:
        """The action that was really taken in the last step was ``action``."""
        if self._pending is None:
            raise GumdpError("nothing was done yet: call act(state) first.")
        number = self.problem.model.check_action(action)
        allowed = self.problem.model.available
        if allowed is not None and not allowed[self._pending[0], number]:
            raise GumdpError(f"action {number} is not available in state {self._pending[0]}.")
        self._pending = self._moved = (self._pending[0], number)

    @property
    def belief(self) -> Belief | None:
        """What is known of the world after what was seen so far; None if the problem's model is no belief."""
        model = self.problem.model
        return model.read(self._beliefs[0]) if isinstance(model, Belief) else None

    def restarted(self) -> None:
        """The state that comes next did not follow the last action: the environment was set back."""
        self._moved = None

    def _learn(self, state: int) -> None:
        """Let every belief know of the state that followed the last action, unless that is another episode's."""
        model, moved = self.problem.model, self._moved
        if isinstance(model, Belief) and moved is not None and self.t % self.problem.horizon:
            self._see(model, (*moved, state))
        self._moved = None

    def _see(self, model: Belief, step: tuple[int, int, int]) -> None:
        for record in self._beliefs:
            model.observe(record, *step)
        self._seen.append(step)

    def arrived(self, state: Any, added: Any = None, *, bits: int | None = None) -> None:
        """The last step led to ``state``, and added these amounts [k], if that is known better than the model says.

        ``act`` is told so by the next state: only the last step of an episode, and what only the real world knows,
        needs this, and only where what a step adds depends on the next state. ``bits`` drew the next state.
        """
        if self._pending is None:
            return
        features = self.problem.features
        if features is not None and added is not None:
            amounts = array_of_numbers("arrived: added", added).ravel()
            if amounts.shape != (features.kinds,) or not np.isfinite(amounts).all():
                raise GumdpError(f"arrived: added must be {features.kinds} finite numbers, not {show(added)}.")
            self._settle(lambda running, w: commit_amounts(
                self.problem.record, running, *self._step(), np.ascontiguousarray(amounts), w))  # fmt: skip
        else:
            self._settle_pending(self.problem.model.state(state), bits)

    @property
    def occupancy(self) -> Array:
        """The running occupancy [S, A] of what happened so far, summing to the share of the steps made."""
        self._settle_pending()
        running, shape = self._running, self.problem.shape
        n = int(running.length[0])
        taken, weights = running.taken[:n].astype(np.intp), self.problem.weights / self.problem.weights.sum()
        if hasattr(running.counts, "keys"):  # a row for each cell, in the order in which they came
            cells, first, which = np.unique(running.history[:n], return_index=True, return_inverse=True)
            d = np.zeros((cells.size, shape[1]))
            np.add.at(d, (np.argsort(np.argsort(first))[which], taken), weights[:n])
            return d
        if self.problem.features is None:
            pairs: Array = running.root[: running.counts.pairs]
            return pairs.reshape(shape).copy()
        if shape[0] * shape[1] > MOST_PAIRS:
            return np.zeros((0, shape[1]))
        d = np.zeros(shape)
        np.add.at(d, (running.history[:n].astype(np.intp), taken), weights[:n])
        return d

    @property
    def totals(self) -> dict[str, float]:
        """The running totals by name, of the steps whose outcome is known; empty where pairs are counted."""
        self._settle_pending()
        return dict(zip(self.problem.names, self._running.root.tolist(), strict=False))

    def worth(self) -> float:
        """The objective at the running occupancy: the trial's value, once it is over."""
        self._settle_pending()
        if self._waits:
            raise GumdpError(
                "the last step is not counted yet, as what it adds shows in the state that it led to: "
                "tell it with policy.arrived(state)."
            )
        value = float(worth(self.problem.record, self._running))
        reraise()
        return value

    @property
    def _waits(self) -> bool:
        """Whether the last step is not counted before it is known where it led."""
        features = self.problem.features
        return self._pending is not None and features is not None and features.late

    def _step(self) -> tuple[int, int]:
        assert self._pending is not None
        return self._pending

    def _settle_pending(self, after: Any = None, bits: int | None = None) -> None:
        """Count the last step, if it can be counted; ``after`` is where it led, as kernels have it."""
        if self._pending is None or (after is None and self._waits):
            return
        features, record = self.problem.features, self.problem.record
        if self.problem.counts is None:
            self._settle(lambda running, w: commit(record, running, *self._step(), w))
            return
        s, a = self._left, np.uint64(self._step()[1])
        after = s if after is None else after
        if features is not None:
            features.check_step(s, a, after, bits)
        model, chance = self.problem.model.compiled(), np.uint64(bits or 0)
        self._settle(lambda running, w: commit_step(record, running, model, s, a, after, chance, w))

    def _settle(self, commit: Callable[[Any, float], Any]) -> None:
        weight = float(self.problem.weights[self.t - 1])
        for running in self._runnings:
            commit(running, weight)
        reraise()
        self._last_action, self._pending = self._step()[1], None


class Planner(ABC):
    """Parameters of a way to act. ``start`` binds it to a problem.

    One of your own has ``bind``, which makes a ``Policy``: see *A planner of your own*.

    >>> import gumdp
    >>> planner = gumdp.MCTS(iterations=50)
    >>> policy = planner.start(gumdp.zoo.load("m1-entropy"), seed=0)
    """

    batch = 1  # trials that a thread plays in one go

    @property
    def name(self) -> str:
        """A short name for tables."""
        return repr(self)

    def start(self, problem: Problem, seed: int = 0, *, occupancy: Any = None, t: int = 0) -> Policy:
        """A policy for one trial of ``problem``, for people who run their own loop.

        ``occupancy`` [S, A] (or totals [k]) and ``t``: the trial is under way, and this is what the first ``t`` steps
        added up to.

        >>> import gumdp
        >>> problem = gumdp.zoo.load("m1-entropy")
        >>> policy = gumdp.Random().start(problem, seed=0)
        >>> policy.act(0).action in (0, 1)
        True
        """
        check_type("problem", problem, Problem)
        policy = bound(self, problem, streams(seed)[0, 1])
        policy._title = repr(self)
        if occupancy is not None:
            policy.go_on(occupancy, t)
        elif check_int("start: t", t, 0) > 0:
            raise GumdpError(f"start: t is {t}; give the occupancy of the steps until then too.")
        return policy

    @abstractmethod
    def bind(self, problem: Problem, dice: Any) -> Policy:
        """A policy that draws from the generator state ``dice``."""

    def trials(self, problem: Problem, seeds: Seeds, stop: NDArray[np.uint8]) -> Array | None:
        """The values of the trials of ``seeds``, compiled as a whole; None if that can't be done."""
        return None

    def explain(self, problem: Problem) -> str:
        """How the planner sets itself up for ``problem``, and on what evidence; empty if there is nothing to decide."""
        return ""


def bound(planner: Planner, problem: Problem, dice: Any) -> Policy:
    """The policy that ``bind`` makes, checked: the planner may be somebody's own."""
    with failures_in(planner, "bind"):
        made = planner.bind(problem, dice)
    if not isinstance(made, Policy) or not hasattr(made, "stop"):
        name = type(planner).__name__
        raise GumdpError(
            f"bind() of {name} must return a Policy, begun by Policy.__init__(problem, dice), not {show(made)}."
        )
    return made
