"""Playing trials, and judging planners by many of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp.errors import GumdpError, check_int, check_type
from gumdp.jit.callback import original_errors
from gumdp.jit.random import next_rng
from gumdp.models.compiled import next_state, start_state
from gumdp.policies.base import Planner
from gumdp.problem import Problem
from gumdp.results import Array, Evaluation, Trial
from gumdp.seeding import Seeds, streams

Progress = Callable[[int, int, float], None]  # trials done, trials in all, mean so far


def run_trial(
    problem: Problem,
    planner: Planner,
    seed: int = 0,
    *,
    trial: int = 0,
    on_decision: Callable[[int, Any], None] | None = None,
) -> Trial:
    """Play one trial. The same (problem, planner, seed, trial) always gives the same.

    ``run_trial(…, seed, trial=k)`` is the k-th trial of ``evaluate(…, seed)``.

    >>> import gumdp
    >>> trial = gumdp.run_trial(gumdp.zoo.load("m1-entropy"), gumdp.Random(), seed=0)
    >>> bool(abs(trial.occupancy.sum() - 1) < 1e-12)
    True
    """
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    seeds = streams(seed, first=check_int("trial", trial, 0))[0]
    return play_trial(problem, planner, seeds, seed=int(seed), trial=int(trial), on_decision=on_decision)


@original_errors()
def play_trial(
    problem: Problem,
    planner: Planner,
    seeds: Seeds,
    *,
    seed: int = 0,
    trial: int = 0,
    on_decision: Callable[[int, Any], None] | None = None,
    stop: NDArray[np.uint8] | None = None,
) -> Trial:
    """Play the trial of the two generator states ``seeds``, a decision at a time, unless ``stop[0]`` is set."""
    began = time.perf_counter()
    model, env_rng = problem.model, np.uint64(seeds[0])
    record = model.compiled()
    policy = planner.bind(problem, seeds[1])
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
    return Trial(
        value=policy.worth(),
        states=np.array(states),
        actions=np.array([d.action for d in decisions]),
        cells=np.array(cells),
        occupancy=policy.occupancy,
        planner=planner.name,
        seed=seed,
        trial=trial,
        seconds=time.perf_counter() - began,
        decisions=tuple(decisions),
    )


def evaluate(
    problem: Problem,
    planner: Planner,
    trials: int = 100,
    seed: int = 0,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Play ``trials`` independent trials and return their values with statistics.

    ``workers`` threads (as many as there are cores, if not given) change the time, never the values.

    >>> import gumdp
    >>> result = gumdp.evaluate(gumdp.zoo.load("m1-entropy"), gumdp.Random(), trials=1000, seed=0)
    >>> bool(0.07 < result.mean < 0.10)
    True
    """
    check_type("problem", problem, Problem)
    check_type("planner", planner, Planner)
    count = check_int("trials", trials, 1)
    threads = check_int("workers", workers, 1, 1024) if workers is not None else os.cpu_count() or 1
    began = time.perf_counter()
    values = np.full(count, np.nan)
    for part, result in over_threads(problem, planner, streams(seed, count), threads):
        values[part] = result
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
        seconds=time.perf_counter() - began,
        beta=problem.objective.exponential[0] if problem.objective.exponential else None,
    )


def over_threads(problem: Problem, planner: Planner, seeds: Seeds, threads: int) -> Any:
    """Yield (slice, values) as parts of the trials end. Kernels run beside the main thread, which stays
    interruptible: Ctrl-C tells them to stop, waits for them, and is raised again."""
    stop = np.zeros(1, np.uint8)

    @original_errors()
    def work(part: slice) -> tuple[slice, Array]:
        values = planner.trials(problem, seeds[part], stop)
        if values is None:
            values = np.array([play_trial(problem, planner, pair, stop=stop).value for pair in seeds[part]])
        return part, values

    parts = _parts(len(seeds), threads, planner.batch)
    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[tuple[slice, Array]]] = set()
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
