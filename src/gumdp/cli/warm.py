"""gumdp warm: compile now what would be compiled later, for images of containers and for clusters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

import gumdp
from gumdp.cli import files
from gumdp.cli.arguments import progress_bar
from gumdp.cli.output import console, json_option, print_json
from gumdp.errors import GumdpError, check_int

FEW = 2  # iterations: there is nothing to find out


@click.command("warm")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--bounds", is_flag=True, help="What lower bounds need too.")
@click.option(
    "--workers", type=int, default=None, help="Processes that compile at the same time, all cores by default."
)
@json_option()
def warm(names: tuple[str, ...], bounds: bool, workers: int | None, as_json: bool) -> None:
    """Compile what problems need, so that nobody has to wait for it later; all named problems by default.

    What is compiled is kept in the folder GUMDP_CACHE_DIR, or where the system keeps such things for a user.

    \b
    Example:
      gumdp warm m1-entropy
    """
    count = os.cpu_count() or 1 if workers is None else check_int("warm: --workers", workers, 1, 1024)
    wanted = names or tuple(gumdp.zoo.names())
    for name in names:
        files.load_problem(name, ())
    began, rows = time.perf_counter(), []
    with progress_bar("compiling") as report:
        for row in warmed(wanted, bounds, min(count, len(wanted))):
            rows.append(row)
            report(len(rows), len(wanted), float("nan"))
    seconds = time.perf_counter() - began
    if as_json:
        print_json({"problems": rows, "seconds": seconds})
        return
    for row in rows:
        console().print(f"{row['problem']}  {row['seconds']:.1f} s", highlight=False, markup=False)
    console().print(f"{len(rows)} problems are compiled, in {seconds:.0f} s.", highlight=False)


def warmed(names: tuple[str, ...], bounds: bool, processes: int) -> Iterator[dict[str, Any]]:
    """A row for each problem, in their order: in this process, or each in one of its own, so many at a time."""
    if processes == 1:
        yield from (_compile(name, bounds) for name in names)
        return

    started: list[subprocess.Popen[str]] = []

    def one(name: str) -> dict[str, Any]:
        flags = ["--bounds"] if bounds else []
        command = [sys.executable, "-m", "gumdp", "warm", name, "--workers", "1", "--json", *flags]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
        started.append(process)
        printed, said = process.communicate()
        if process.returncode != 0:
            raise GumdpError(f"warm: {name}: {(said.strip().splitlines() or ['it ended'])[-1]}")
        row: dict[str, Any] = json.loads(printed)["problems"][0]
        return row

    with ThreadPoolExecutor(processes) as pool:
        try:
            yield from pool.map(one, names)
        finally:  # interrupted, or one of them failed: the others are not waited for
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                process.kill()


def _compile(name: str, bounds: bool) -> dict[str, Any]:
    """Decisions and trials of both searches, and bounds if they are wanted, as far as it takes to compile them."""
    from gumdp.experiments.engines.work import prepare

    began, problem = time.perf_counter(), files.load_problem(name, ())
    for planner in (gumdp.MCTS.paper(FEW), gumdp.MCTS(FEW)):
        prepare(problem, planner)
        if not problem.model.interpreted:
            gumdp.run_trial(problem, planner, seed=0)
    if bounds:
        gumdp.lower_bound(problem, time_limit=1.0)
    return {"problem": name, "seconds": time.perf_counter() - began}


COMMANDS = (warm,)
