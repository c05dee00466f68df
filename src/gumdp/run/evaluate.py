"""Playing trials, and judging planners by many of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, array_of_numbers, check_call, check_int, check_type, show
from gumdp.jit.callback import original_errors
from gumdp.jit.compiling import clock
from gumdp.jit.random import mixed, next_rng
from gumdp.models.belief import Belief
from gumdp.models.compiled import next_state, start_state
from gumdp.models.tabular import Tabular
from gumdp.objectives.base import Objective
from gumdp.objectives.compose import part_values
from gumdp.objectives.function import as_objective
from gumdp.objectives.linear import Linear
from gumdp.policies.base import Planner, bound
from gumdp.problem import Problem, of_totals
from gumdp.results import Array, Evaluation, Measure, Trial
from gumdp.seeding import Seeds, streams

Progress = Callable[[int, int, float], None]  # trials done, trials in all, mean so far

MOST = 2**40  # trials of one seed


def run_trial(
    problem: Problem,
    planner: Planner,
    seed: int = 0,
    *,
    trial: int = 0,
    world: Tabular | None = None,
    on_decision: Callable[[int, Any], None] | None = None,
) -> Trial:
    """Play one trial. The same (problem, planner, seed, trial) always gives the same.

    ``run_trial(…, seed, trial=k)`` is the k-th trial of ``evaluate(…, seed)``. Where the problem's model is a
    ``Belief``, the world is drawn from it, or is the table ``world``; ``trial.belief`` is what is known at the end.

    >>> import gumdp
    >>> trial = gumdp.run_trial(gumdp.zoo.load("m1-entropy"), gumdp.Random(), seed=0)
    >>> print(trial.occupancy.round(2).tolist())
    [[0.32, 0.1], [0.13, 0.15], [0.2, 0.09]]
    """
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    check_call("on_decision", on_decision)
    seeds = streams(seed, first=check_int("trial", trial, 0, MOST))[0]
    truth = check_world("run_trial", world, problem)
    played = play_trial(problem, planner, seeds, seed=int(seed), trial=int(trial), world=truth, on_decision=on_decision)
    if not np.isfinite(played.value):
        raise GumdpError(f"the objective is not finite in trial {int(trial)} of seed {int(seed)}.")
    return played


@original_errors()
def play_trial(
    problem: Problem,
    planner: Planner,
    seeds: Seeds,
    *,
    seed: int = 0,
    trial: int = 0,
    world: Tabular | None = None,
    on_decision: Callable[[int, Any], None] | None = None,
    stop: NDArray[np.uint8] | None = None,
) -> Trial:
    """Play the trial of the two generator states ``seeds``, a decision at a time, unless ``stop[0]`` is set."""
    began = clock()
    model, env_rng = problem.model, np.uint64(seeds[0])
    if isinstance(model, Belief):
        record = (model.draw(int(env_rng)) if world is None else world).compiled()
    else:
        record = model.compiled()
    policy = bound(planner, problem, seeds[1])
    if stop is not None:
        policy.stop = stop
    state = model.public(start_state(record, env_rng))
    states, cells, decisions = [], [], []
    for t in range(problem.steps):
        if t and t % problem.horizon == 0:
            env_rng = np.uint64(next_rng(env_rng))
            state = model.public(start_state(record, env_rng))
        decision = policy.act(state)
        states.append(state)
        cells.append(policy.cell)
        decisions.append(decision)
        if on_decision:
            on_decision(t, decision)
        env_rng = np.uint64(next_rng(env_rng))
        state = model.public(next_state(record, model.state(state), np.uint64(decision.action), env_rng))
        if problem.features is not None:
            policy.arrived(state, bits=int(mixed(env_rng)))
    return Trial(
        value=policy.worth(),
        states=np.array(states),
        actions=np.array([d.action for d in decisions]),
        cells=np.array(cells),
        occupancy=policy.occupancy,
        planner=planner.name,
        seed=seed,
        trial=trial,
        seconds=clock() - began,
        decisions=tuple(decisions),
        parts=part_values(problem.objective, policy.occupancy) if problem.features is None else {},
        totals=policy.totals,
        maximised=problem.objective.maximises,
        belief=policy.belief,
    )


def evaluate(
    problem: Problem,
    planner: Planner,
    trials: int = 100,
    seed: int = 0,
    *,
    workers: int | None = None,
    measures: Mapping[str, Any] | None = None,
    world: Tabular | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Play ``trials`` independent trials and return their values with statistics.

    ``workers`` threads (as many as there are cores, if not given) change the time, never the values. ``measures`` are
    other things to know of each trial: from a name to a function of the occupancy, an objective, or an array [S, A]
    of costs (of the totals [k], where the problem counts features).
    ``result.measures[name]`` has their values, quantiles, and the probability that a limit is kept.
    Where the problem's model is a ``Belief``, each trial has a world of its own, drawn from it (the same for every
    planner), so that the mean is the Bayes risk; or all of them play in the table ``world``.

    >>> import gumdp
    >>> problem = gumdp.zoo.load("m1-entropy")
    >>> result = gumdp.evaluate(problem, gumdp.Random(), trials=1000, seed=0)
    >>> print(f"{result.mean:.2f} ± {result.standard_error:.3f}")
    0.08 ± 0.002
    >>> first = {"first room": lambda d: d[0].sum()}
    >>> result = gumdp.evaluate(problem, gumdp.Random(), trials=20, measures=first)
    >>> print(result.measures["first room"].probability(0.9))
    P(first room ≤ 0.9) = 1, 90 % interval [0.861, 1]
    """
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    check_call("progress", progress)
    count = check_int("trials", trials, 1, MOST)
    threads = check_int("workers", workers, 1, 1024) if workers is not None else os.cpu_count() or 1
    asked = check_measures(measures, problem)
    truth = check_world("evaluate", world, problem)
    began = clock.whole()
    values, measured = np.full(count, np.nan), np.full((len(asked), count), np.nan)
    for part, result, more in over_threads(
        problem, planner, streams(seed, count), threads, tuple(asked.values()), truth
    ):
        values[part], measured[:, part] = result, more
        if progress:
            done = values[~np.isnan(values)]
            progress(done.size, count, float(done.mean()))
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise GumdpError(f"the objective is not finite in trial {bad[0]} of seed {seed}.")
    return Evaluation(
        values=values,
        planner=planner.name,
        problem=problem.name or repr(problem),
        seed=int(seed),
        seconds=clock.whole() - began,
        beta=problem.objective.exponential[0] if problem.objective.exponential else None,
        maximised=problem.objective.maximises,
        measures={name: Measure(name, row) for name, row in zip(asked, measured, strict=True)},
        setup=planner.explain(problem),
    )


def check_world(name: str, world: Any, problem: Problem) -> Tabular | None:
    """``world``, if the problem's model is a belief that holds it possible; None if it is not given."""
    if world is None:
        return None
    if not isinstance(problem.model, Belief):
        raise GumdpError(
            f"{name}: world goes with a Belief; the model of this problem is known: {show(problem.model)}."
        )
    return problem.model.check_world(f"{name}: world", world)


def check_measures(measures: Any, problem: Problem) -> dict[str, Objective]:
    """What is to be measured, as objectives that fit the problem."""
    if measures is None:
        return {}
    if not isinstance(measures, Mapping):
        raise GumdpError(f"measures must be a dictionary from name to function, not {show(measures)}.")
    asked: dict[str, Objective] = {}
    for name, measure in measures.items():
        if not isinstance(name, str):
            raise GumdpError(f"measures: a name must be a text, not {show(name)}.")
        if not callable(measure):
            measure = array_of_numbers(f"measures: {name!r} must be a function, or its costs", measure)
        if problem.features is None:
            asked[name] = as_objective(measure) if callable(measure) else Linear(measure)
        else:
            asked[name] = of_totals(measure) if callable(measure) else Linear(measure)
        asked[name].check_shape(problem.counted)
    return asked


def over_threads(
    problem: Problem,
    planner: Planner,
    seeds: Seeds,
    threads: int,
    measures: tuple[Objective, ...] = (),
    world: Tabular | None = None,
) -> Any:
    """Yield (slice, values, measured [M, trials]) as parts of the trials end.

    Kernels run beside the main thread, which stays interruptible: Ctrl-C tells them to stop, waits for them, and is
    raised again.
    """
    stop = np.zeros(1, np.uint8)

    @original_errors()
    def work(part: slice) -> tuple[slice, Array, Array]:
        values = None if measures or world is not None else planner.trials(problem, seeds[part], stop)
        if values is not None:
            return part, values, np.zeros((0, values.size))
        played = [play_trial(problem, planner, pair, world=world, stop=stop) for pair in seeds[part]]
        counted = [np.array([[*t.totals.values()]]) if t.totals else t.occupancy for t in played]
        measured = [[measure(each) for each in counted] for measure in measures]
        return part, np.array([t.value for t in played]), np.array(measured).reshape(len(measures), len(played))

    parts = _parts(len(seeds), threads, planner.batch)
    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[tuple[slice, Array, Array]]] = set()
        try:
            while parts or running:
                while parts and len(running) < 2 * threads:
                    running.add(pool.submit(work, parts.pop(0)))
                ended, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in sorted(ended, key=lambda f: f.result()[0].start):
                    yield future.result()
        except BaseException:
            stop[0] = 1
            for future in running:
                future.cancel()
            raise


def _parts(count: int, threads: int, batch: int) -> list[slice]:
    size = max(1, min(batch, -(-count // threads)))
    return [slice(k, min(count, k + size)) for k in range(0, count, size)]
