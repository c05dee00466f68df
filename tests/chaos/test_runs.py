"""Runs that are killed, or whose folder or reader goes away: nothing that ended is lost, and a sentence says so."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gumdp
from clock import in_time
from gumdp.experiments.engines.job import Done, Job
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.run import run
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store

Values = dict[str, dict[int, float]]
QUICK = """
trials = {trials}
problems = [{{name = "m1-entropy", horizon = 5}}, {{name = "m1-entropy", horizon = 6}}]
planners = ["random"]
"""
INTERPRETED = """
import gumdp, os, time
from gumdp.zoo import Entry, register

def build(pause=0.0):
    def cost(d):
        time.sleep(pause)
        table = [float(x) for x in d.ravel()]  # what no compiler takes
        return sum(sorted(table, key=lambda x: {0: x}[0])[:2])
    return gumdp.Problem(gumdp.zoo.load("m1-entropy").model, gumdp.Function(cost, convex=False), 0.9, 4)

register(Entry("slow-python", "plain Python", build, {"pause": 0.0}))
"""


def plan(folder: Path, text: str) -> Path:
    (folder / "plan.toml").write_text(text)
    return folder / "plan.toml"


def interpreted(folder: Path, trials: int, pause: float) -> Path:
    (folder / "slow_python.py").write_text(INTERPRETED)
    text = f'trials = {trials}\nmodules = ["slow_python"]\nplanners = ["random"]\n'
    return plan(folder, text + f'problems = [{{name = "slow-python", pause = {pause}}}]\n')


def trials_in(folder: Path) -> int:
    try:
        with Store.read(folder) as store:
            return sum(arm.trials for arm in store.arms())
    except gumdp.GumdpError:
        return 0


def wait_for(what: Callable[[], object], seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)


def rows_in(folder: Path) -> int:
    """How many trials there are: cheap, and without a look at what is in them."""
    try:
        with contextlib.closing(sqlite3.connect(f"{(folder / 'results.sqlite').as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT COUNT(*) FROM trials").fetchone()[0])
    except sqlite3.Error:
        return 0


def values(folder: Path) -> Values:
    with Store.read(folder) as store:
        return {stored.arm.label: store.numbered(stored) for stored in store.arms()}


# --- kills ---


def kill_and_resume(nursery, folder: Path, kills: int, rng: random.Random, count) -> Values:
    """Kill a run again and again, at any moment of it; then end what it began, and return all that it found."""
    folder.mkdir()
    path, there = plan(folder, QUICK.format(trials=10**9)), [0]
    for _ in range(kills):
        pid = nursery.start("run", path, "--out", folder / "out")
        if rng.random() < 0.8:  # some before it has opened the store, most while it adds to it
            wait_for(lambda: rows_in(folder / "out") > there[-1])
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(pid, signal.SIGKILL)
        assert nursery.end() == -signal.SIGKILL
        there.append(trials_in(folder / "out"))
        count("kills of runs", "nothing lost")
    assert there == sorted(there)
    assert there[-1] > 0
    begun = 1 + max(max(found) for found in values(folder / "out").values())
    nursery.start("run", path, "--out", folder / "out", "--trials", begun)
    assert nursery.end() == 0
    found = values(folder / "out")
    assert [sorted(trials) for trials in found.values()] == [list(range(begun))] * 2
    return found


def kill_all(nursery, folder: Path, times: int, kills: int, seed: int, count) -> None:
    """What was killed and taken up again has the values of a run that was left alone, to the last bit."""
    rng = random.Random(seed)
    found = [kill_and_resume(nursery, folder / f"{k}", kills, rng, count) for k in range(times)]
    most = max(len(trials) for each in found for trials in each.values())
    run(read_experiment(plan(folder, QUICK.format(trials=most))), folder / "whole")
    whole = values(folder / "whole")
    for each in found:
        assert each == {label: {k: whole[label][k] for k in trials} for label, trials in each.items()}


def test_a_run_that_is_killed_is_taken_up_again(nursery, tmp_path: Path, count) -> None:
    kill_all(nursery, tmp_path, 1, 3, 1, count)


@pytest.mark.thorough
def test_runs_that_are_killed_sixty_times_are_taken_up_again(nursery, tmp_path: Path, count) -> None:
    kill_all(nursery, tmp_path, 12, 5, 2, count)


def children(pid: int) -> list[int]:
    """The worker processes of a run."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def kill_workers(start, folder: Path, kills: int, count) -> None:
    """Each killed once for every job at most: a job that kills three workers counts as the culprit."""
    path = interpreted(folder, 25 * kills, 0.02)
    process = start("run", path, "--out", folder / "out", "--workers", 1)
    for _ in range(kills):
        before = rows_in(folder / "out")
        wait_for(lambda before=before: rows_in(folder / "out") > before and children(process.pid))
        os.kill(children(process.pid)[0], signal.SIGKILL)
        count("kills of workers", "replaced")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert trials_in(folder / "out") == 25 * kills


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_worker_that_is_killed_is_replaced_also_if_it_is_the_only_one(start, tmp_path: Path, count) -> None:
    kill_workers(start, tmp_path, 1, count)


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_twelve_workers_that_are_killed_are_replaced(start, tmp_path: Path, count) -> None:
    kill_workers(start, tmp_path, 12, count)


# --- the folder goes away ---


def deleted(out: Path) -> None:
    shutil.rmtree(out)


def renamed(out: Path) -> None:
    out.rename(out.with_name("elsewhere"))


def file_deleted(out: Path) -> None:
    (out / "results.sqlite").unlink()


def log_deleted(out: Path) -> None:
    (out / "results.sqlite-wal").unlink()


def cut_off(out: Path) -> None:
    os.truncate(out / "results.sqlite", 0)


def replaced(out: Path) -> None:
    other = out.with_name("other")
    shutil.copy(out / "results.sqlite", other)
    os.replace(other, out / "results.sqlite")


class Losing:
    """An engine whose first trial ends, after which the store is lost and nothing ends any more."""

    name, portion, cores = "losing", 1.0, 1

    def __init__(self, loss: Callable[[], None]) -> None:
        self.loss, self.lost = loss, 0.0

    def play(self, jobs: Iterator[Job], arms: object) -> Iterator[Done | None]:
        job = next(jobs)
        yield Done(job, [Outcome(k, 0.5, 0.1) for k in job.trials])
        yield None
        time.sleep(0.3)  # longer than between two looks
        yield None
        self.loss()
        self.lost = time.monotonic()
        while time.monotonic() < self.lost + 60.0:
            time.sleep(0.05)
            yield None

    def doing(self) -> list[tuple[str, str]]:
        return []

    def close(self) -> None:
        pass


@pytest.mark.parametrize("loss", [deleted, renamed, file_deleted, log_deleted, cut_off, replaced])
def test_a_store_that_goes_away_is_noticed_within_a_second(tmp_path: Path, loss, count) -> None:
    """Also while no trial ends. What took a minute to notice would have run to its end."""
    engine = Losing(lambda: loss(tmp_path / "out"))
    summary = run(Experiment.grid(["m1-entropy"], ["random"], trials=3), tmp_path / "out", engine)
    assert in_time(time.monotonic() - engine.lost, 1.0)
    assert not summary.complete
    assert "while the run was on. It stops: what ends now would be lost." in summary.stopped
    count("stores that went away", "noticed")


# --- signals ---


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_ends_a_run_that_compiles_within_two_seconds(
    start, tmp_path: Path, number: signal.Signals, code: int, word: str, count
) -> None:
    """Its cache is empty: two searches take many seconds to compile, and that can't be stopped."""
    path = plan(tmp_path, 'trials = 9\nproblems = ["m1-entropy"]\nplanners = ["random", "mcts"]\n')
    process = start(
        "run", path, "--out", tmp_path / "out", env={**os.environ, "GUMDP_CACHE_DIR": str(tmp_path / "cache")}
    )
    assert "engine local" in process.stderr.readline()
    time.sleep(1.0)
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert in_time(time.monotonic() - began, 2.0)
    assert (process.returncode, out) == (code, "")
    assert err.splitlines()[-1] == f"gumdp: {word}."
    assert "to go on from there: gumdp run" in err
    with Store.read(tmp_path / "out") as store:
        assert store.runs()[0]["status"] == word
    count("signals", f"{word} within two seconds")


@pytest.mark.parametrize("command", ["plan", "evaluate"])
def test_a_signal_ends_other_commands_that_compile_within_two_seconds(
    start, tmp_path: Path, command: str, count
) -> None:
    env = {**os.environ, "GUMDP_CACHE_DIR": str(tmp_path / "cache")}
    process = start(command, "m1-entropy", "--iterations", 50, env=env)
    wait_for(lambda: (tmp_path / "cache").exists() or process.poll() is not None)  # the first kernel is compiled
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert in_time(time.monotonic() - began, 2.0)
    assert (process.returncode, out, err) == (130, "", "gumdp: interrupted.\n")
    count("signals", "interrupted within two seconds")


# --- readers that go away, devices that are full ---


def test_a_run_goes_on_when_the_reader_of_its_standard_error_is_gone(start, tmp_path: Path) -> None:
    path = plan(tmp_path, QUICK.format(trials=3000))
    reading, writing = os.pipe()
    process = start("run", path, "--out", tmp_path / "out", stderr=writing, stdout=subprocess.DEVNULL)
    os.close(writing)
    os.close(reading)
    assert process.wait(timeout=120) == 0
    assert trials_in(tmp_path / "out") == 6000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("line", [["list"], ["list", "--json"], ["--help"], ["results"]])
def test_standard_output_to_a_full_device_is_a_sentence(start, tmp_path: Path, line: list[str]) -> None:
    if line == ["results"]:
        with Store.open(tmp_path / "out"):
            pass
        line = ["results", str(tmp_path / "out")]
    with open("/dev/full", "w") as full:
        process = start(*line, stdout=full)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "gumdp: what it prints can't be read or written: No space left on device.\n"
