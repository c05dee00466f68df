"""Acting in the real environment: plan in the model, step the environment, see how they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_bool, check_call, check_int, check_type, failures_of, one_of, show
from gumdp.jit.callback import original_errors
from gumdp.jit.compiling import clock
from gumdp.models.base import Model
from gumdp.models.belief import Belief
from gumdp.models.compiled import next_state
from gumdp.models.gymnasium.adapter import read_number
from gumdp.models.gymnasium.classic import read_state, twin_of
from gumdp.models.gymnasium.clone import Clone
from gumdp.models.gymnasium.opening import actions_of, open_environment, title
from gumdp.models.source import Source, observation_is_state
from gumdp.models.tabular import Tabular
from gumdp.policies.base import Planner, bound
from gumdp.problem import Problem
from gumdp.results import Reality, Trial
from gumdp.run.evaluate import MOST
from gumdp.seeding import streams

SAMPLES, FEW = 16, 4  # steps of a simulator, and of copies, drawn to see what the model held possible
AT_LIMIT = ("stop", "restart")


@original_errors()
def play(
    env: Any,
    problem: Problem,
    planner: Planner,
    seed: int = 0,
    *,
    trial: int = 0,
    at_limit: str = "stop",
    frames: bool = False,
    samples: int | None = None,
    on_decision: Callable[[int, Any], None] | None = None,
) -> Trial:
    """Play one trial in a real Gymnasium environment, planning in the problem's model.

    Args:
        env: an environment, or an id, which is made with the horizon as its time limit, and with the options that the
            model's environment was made with.
        problem: its model may be the environment's own table, a simulator, copies, learned, or a ``Belief``, which
            learns from every step; what follows a terminal state is done to the environment as the model has it: it
            goes on, waits, or is reset.
        at_limit: when the environment's time limit ends an episode before the horizon, ``"stop"`` there (the
            occupancy is that of the steps made, normalised), or ``"restart"`` the environment and go on.
        frames: keep what the environment draws in its render mode, in ``trial.reality.frames``.
        samples: where the model has no table, so many simulated steps say how likely what followed was: 16, or 4 where
            each is a call of Python; 0 leaves that out.

    ``trial.reality`` says how the plan and reality differed: what value the planner expected before each step, what
    probability the model gave to what followed, and which steps its table held impossible (without a table,
    ``unseen`` has those that no simulated step agreed with). ``trial.rewards`` is what the environment paid, and
    ``trial.belief`` what was known at the last decision.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("frozenlake-entropy", horizon=20)
    >>> trial = gumdp.play("FrozenLake-v1", problem, gumdp.Greedy(), seed=0)
    >>> trial.reality.surprises.size
    0
    """
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    check_call("on_decision", on_decision)
    one_of("at_limit", at_limit, AT_LIMIT)
    ours = isinstance(env, str)
    env = open_environment(_same(env, problem.model), **({"max_episode_steps": problem.horizon} if ours else {}))
    env = problem.model.record(env) if isinstance(problem.model, Clone) else env
    try:
        seeds = streams(seed, first=check_int("trial", trial, 0, MOST))[0]
        run = _Run(env, problem, planner, seeds, at_limit, check_bool("frames", frames), _count(problem.model, samples))
        run.play(on_decision)
        return run.report(planner, int(seed), int(trial))
    finally:
        if ours:
            env.close()


class _Run:
    """One trial under way."""

    def __init__(
        self, env: Any, problem: Problem, planner: Planner, seeds: Any, at_limit: str, frames: bool, samples: int | None
    ) -> None:
        self.samples = samples
        self.env, self.problem, self.model = env, problem, problem.model
        self.source = interface(env, problem.model)
        self.policy = bound(planner, problem, seeds[1])
        self.seed: int | None = int(seeds[0] & np.uint64(0x7FFFFFFF))  # for the first reset, which sets the rest
        self.restart_at_limit, self.draw = at_limit == "restart", frames
        self.began = clock()
        self.over = False
        self.ended = ""
        self.state: Any = None
        self.states, self.cells, self.decisions = [], [], []  # type: ignore[var-annotated]
        self.rewards, self.likelihood, self.terminated, self.restarts = [], [], [], []  # type: ignore[var-annotated]
        self.frames = []  # type: ignore[var-annotated]

    def play(self, on_decision: Callable[[int, Any], None] | None) -> None:
        """Act until the trial, or the environment, is at its end."""
        for t in range(self.problem.steps):
            if t % self.problem.horizon == 0:
                self._reset()
            state = self.state
            decision = self.policy.act(state)
            self.states.append(state)
            self.cells.append(self.policy.cell)
            self.decisions.append(decision)
            if on_decision:
                on_decision(t, decision)
            limited = self._step(t, decision.action)
            if self.problem.features is not None:
                self.policy.arrived(self.state, self.rewards[-1] if self._paid else None)
            known = self.policy.belief or self.model
            self.likelihood.append(likelihood(known, state, decision.action, self.state, t, self.samples))
            if limited and not self._past_limit(t):
                break

    @property
    def _paid(self) -> bool:
        """Whether what counts is what the environment pays."""
        phi = self.problem.counts.phi
        return isinstance(phi, str) and phi == "reward"

    def _reset(self) -> None:
        with failures_of(f"play: reset of {title(self.env)}"):
            observation, _ = self.env.reset(seed=self.seed)
        self.seed = None
        self._look(observation, False)

    def _step(self, t: int, action: int) -> bool:
        """Do it, as far as the environment's episode is not over; return whether its time limit was reached."""
        if self.over and self.source.terminal != "continue":
            self.rewards.append(np.zeros_like(self.rewards[-1]))  # there was a step that ended the episode
            if self.source.terminal == "restart":
                self._reset()
                self.restarts.append(t)
            return False
        command = self.source.commands[action]
        with failures_of(f"play: step({show(command)}) of {title(self.env)}"):
            observation, reward, terminated, truncated, _ = self.env.step(command)
            self.rewards.append(np.asarray(reward, dtype=np.float64))
        if terminated:
            self.terminated.append(t)
        self._look(observation, bool(terminated))
        return bool(truncated)

    def _past_limit(self, t: int) -> bool:
        """Whether to go on after the environment's time limit, which may be where a reset was due anyway."""
        if (t + 1) % self.problem.horizon == 0:
            return True
        if self.restart_at_limit:
            self._reset()
            self.policy.restarted()
            self.restarts.append(t)
            return True
        self.ended = f"the environment's time limit stopped it after {t + 1} of {self.problem.steps} steps"
        return False

    def _look(self, observation: Any, over: bool) -> None:
        self.over = over
        self.state = self.source.read(self.env, observation, over)
        if self.draw:
            self.frames.append(self.env.render())

    def report(self, planner: Planner, seed: int, trial: int) -> Trial:
        """What happened, and how it differed from the plan."""
        occupancy, value = self.policy.occupancy, self.policy.worth()
        if self.ended and self.problem.features is None:
            occupancy /= occupancy.sum()
            value = self.problem.value(occupancy)
        bins = getattr(self.model, "bins", None)
        reality = Reality(
            expected=np.array([d.value for d in self.decisions]),
            likelihood=np.array(self.likelihood),
            rewards=np.array(self.rewards),
            terminated=np.array(self.terminated, dtype=np.int64),
            restarts=np.array(self.restarts, dtype=np.int64),
            outside=0 if bins is None else bins.outside(np.array(self.states)),
            ended=self.ended,
            frames=tuple(self.frames),
            samples=self.samples,
        )
        return Trial(
            value=value,
            states=np.array(self.states),
            actions=np.array([d.action for d in self.decisions]),
            cells=np.array(self.cells),
            occupancy=occupancy,
            planner=planner.name,
            seed=seed,
            trial=trial,
            seconds=clock() - self.began,
            decisions=tuple(self.decisions),
            totals=self.policy.totals,
            maximised=self.problem.objective.maximises,
            reality=reality,
            belief=self.policy.belief,
        )


def _same(env: Any, model: Model) -> Any:
    """The specification of the model's own environment, if ``env`` is its id; else ``env``."""
    spec = None if model.source is None else model.source.spec
    return spec if isinstance(env, str) and spec is not None and env.rpartition(":")[2] == spec.id else env


def _count(model: Model, samples: int | None) -> int | None:
    """How many simulated steps to compare with; None where a table says it all."""
    if isinstance(model, Tabular | Belief):
        return None
    few = FEW if isinstance(model, Clone) else SAMPLES
    return few if samples is None else check_int("samples", samples, 0)


def interface(env: Any, model: Model) -> Source:
    """How the model and this environment speak with each other, checked as far as can be without acting."""
    source = model.source
    if source is None or not source.commands:
        read = source.read if source is not None else read_number
        if source is None and not isinstance(model, Tabular | Belief):
            read = read_state if twin_of(env) is not None else observation_is_state
        terminal = "restart" if source is None else source.terminal
        source = Source(f"{model!r}", read, actions_of(env), terminal)
    if len(source.commands) != model.shape[1]:
        raise GumdpError(f"play: the model has {model.shape[1]} actions, but {title(env)} has {len(source.commands)}.")
    for command in source.commands:
        if not env.action_space.contains(command):
            raise GumdpError(
                f"play: {command!r} is an action of the model but not of {title(env)}, whose actions are "
                f"{env.action_space}: is this the environment that the model was made of?"
            )
    return source


def likelihood(model: Model, state: Any, action: int, after: Any, t: int, samples: int | None) -> float:
    """The probability that the model gives to what followed: exact in a table, else the share of simulated steps.

    NaN where no simulated step went the same way: rare, or impossible, but who knows.
    """
    if isinstance(model, Tabular | Belief):
        successors, probabilities = model.row(int(state), action)
        same = successors == int(after)
        if isinstance(model, Tabular) and model.looks is not None:  # reality does not show which of them it is
            same = model.looks[successors] == model.looks[int(after)]
        return float(probabilities[same].sum())
    if not samples:
        return float("nan")
    world, s = model.compiled(), model.state(state)
    cell = int(world.cell(model.state(after)))
    seeds = np.random.SeedSequence(t).generate_state(samples, np.uint64)
    cells = [int(world.cell(next_state(world, s, np.uint64(action), np.uint64(x)))) for x in seeds]
    return cells.count(cell) / samples if cell in cells else float("nan")
