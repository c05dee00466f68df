"""Engines: the same numbers whoever plays the trials, also when workers die."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gumdp
from clock import in_time
from gumdp.cli.main import main
from gumdp.experiments.engines.cluster import _own_signals, _signals_later, play_remotely
from gumdp.experiments.engines.job import Job, Progress, cut, gaps
from gumdp.experiments.engines.local import Local
from gumdp.experiments.engines.process import WorkerProcess
from gumdp.experiments.engines.work import BuildCache
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.code import Code
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.plan.version import version
from gumdp.experiments.run import run
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store

ARM = Arm("m1-entropy", "mcts", {"horizon": 20}, {"iterations": 20})
INTERPRETED = Arm("m1-entropy", "mcts", {"horizon": 20}, {"iterations": 20, "threads": 2})
PLAN = """
trials = 8
[[problems]]
name = "m1-entropy"
horizon = 20
[[planners]]
name = "mcts"
iterations = [20, 4000]
"""
COMMAND = [sys.executable, "-c", "import sys; from gumdp.cli.main import main; sys.exit(main())"]


def values(folder: Path) -> dict[str, dict[int, float]]:
    with Store.read(folder) as store:
        return {stored.arm.label: store.numbered(stored) for stored in store.arms()}


def test_jobs_are_cut_into_consecutive_trials_of_a_fitting_size() -> None:
    progress = Progress(ARM, 100)
    jobs = cut(0, progress, gaps({3, 4}, 10), batch=1, portion=0.35, keep=())
    assert next(jobs).trials == range(1)
    progress.add([Outcome(0, 1.0, 0.1)])  # three fit into a portion
    assert [job.trials for job in jobs] == [range(1, 3), range(5, 8), range(8, 10)]


def test_trials_are_played_two_at_a_time_as_long_as_every_core_has_two() -> None:
    progress = Progress(ARM, 100)
    progress.add([Outcome(0, 1.0, 9.0)])  # none fits into a portion
    sizes = [[len(job.trials) for job in cut(0, progress, [range(1, 10)], 2, 0.35, (), cores)] for cores in (1, 3, 5)]
    assert sizes == [[2, 2, 2, 2, 1], [2, 2, 1, 1, 1, 1, 1], [1] * 9]
    slow_world = cut(0, Progress(ARM, 100), [range(3)], 2, 0.35, (), 2)
    assert [len(job.trials) for job in slow_world] == [1, 1, 1]


def test_what_runs_compiled_is_known() -> None:
    build_cache = BuildCache()
    assert build_cache.compiled(ARM)
    assert not build_cache.compiled(INTERPRETED)


@pytest.mark.slow
def test_a_worker_process_gives_the_same_values_and_is_replaced_when_it_dies() -> None:
    worker = WorkerProcess()
    try:
        job = Job(0, ARM, range(3))
        first = worker.perform(job)
        worker._process.kill()
        worker._process.wait()
        again = worker.perform(job)
    finally:
        worker.end()
    direct = next(done for done in Local(1).play(iter([job]), [ARM]) if done)
    assert [o.value for o in first.outcomes] == [o.value for o in again.outcomes] == [o.value for o in direct.outcomes]


@pytest.mark.thorough
def test_bounds_come_from_a_process_of_their_own() -> None:
    options = {"objective": "linear", "horizon": 5}
    arm = Arm("random-small", "random", options)
    done = next(done for done in Local(2).play(iter([Job(0, arm, range(0))]), [arm]) if done)
    assert done.finding["value"] == pytest.approx(gumdp.solve_exact(gumdp.zoo.load("random-small", **options)).value)


def test_a_worker_process_that_always_dies_fails_its_trials_only(monkeypatch) -> None:
    worker = WorkerProcess()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    done = worker.perform(Job(0, ARM, range(2)))
    assert ["died 3 times" in o.error for o in done.outcomes] == [True, True]
    assert "died 3 times" in worker.perform(Job(0, ARM, range(0))).error


def test_a_worker_process_ends_with_its_pipe() -> None:
    worker = WorkerProcess()
    worker.perform(Job(0, ARM, range(1)))
    process = worker._process
    process.stdin.close()
    process.stdout.close()
    assert process.wait(timeout=60) == 0


def test_a_node_with_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"this run needs 9\.9"):
        play_remotely(Job(0, ARM, range(1)), Code(), "9.9")
    assert play_remotely(Job(0, ARM, range(1)), Code(), version()).outcomes[0].trial == 0


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--engine", "local", "--address", "auto"], "--address is for the ray engine; add --engine ray."),
        (["--workers", "0"], "workers must be a whole number of at least 1, not 0."),
    ],
)
def test_engine_options_are_checked(capsys, tmp_path: Path, args: list[str], sentence: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    assert main(["run", str(path), "--out", str(tmp_path / "out"), *args]) == 2
    assert capsys.readouterr().err == f"gumdp: {sentence}\n"
    assert not (tmp_path / "out").exists()


# --- Ray: in a process of its own, which takes its threads and warnings with it ---


def ray_is_here() -> bool:
    import importlib.util

    return importlib.util.find_spec("ray") is not None


needs_ray = pytest.mark.skipif(not ray_is_here(), reason="Ray is not installed: pip install 'gumdp[ray]'")


@pytest.mark.skipif(ray_is_here(), reason="Ray is installed")
def test_without_ray_the_engine_says_how_to_get_it(capsys, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    assert main(["run", str(path), "--out", str(tmp_path / "out"), "--engine", "ray"]) == 2
    assert "pip install 'gumdp[ray]'" in capsys.readouterr().err


@needs_ray
@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1: Connection refused."),
        ("nonsense", "--address must be HOST:PORT, ray://HOST:PORT or auto, not 'nonsense'."),
    ],
)
def test_an_unreachable_cluster_is_told_and_nothing_is_written(tmp_path: Path, address: str, sentence: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    args = ["run", str(path), "--out", str(tmp_path / "out"), "--engine", "ray", "--address", address]
    answer = subprocess.run([*COMMAND, *args], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.splitlines()[-1] == f"gumdp: {sentence}"
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
@needs_ray
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the workers of Ray")
def test_ray_gives_the_same_numbers_also_when_a_worker_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace("trials = 8", "trials = 150"))
    args = ["run", str(path), "--out", str(tmp_path / "ray"), "--engine", "ray", "--workers", "2"]
    process = subprocess.Popen([*COMMAND, *args], stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
    killed = False
    until = time.monotonic() + 90
    while not killed and process.poll() is None and time.monotonic() < until:
        for pid in ray_workers_at_work(process.pid):
            os.kill(pid, signal.SIGKILL)
            killed = True
        time.sleep(0.02)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    assert killed
    run(read_experiment(path), tmp_path / "local")
    assert values(tmp_path / "ray") == values(tmp_path / "local")


@needs_ray
@pytest.mark.slow
@pytest.mark.posix
def test_sigterm_ends_a_run_on_ray_like_ctrl_c(tmp_path: Path) -> None:
    """Within two seconds; recorded, and said with how to go on."""
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    path = tmp_path / "plan.toml"
    path.write_text('trials = 10000\nmodules = ["sleepy"]\nproblems = ["sleepy"]\nplanners = ["random"]\n')
    args = ["run", str(path), "--out", str(tmp_path / "out"), "--engine", "ray", "--workers", "1"]
    process = subprocess.Popen([*COMMAND, *args], stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while stored_trials(tmp_path / "out") == 0 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        there, began = stored_trials(tmp_path / "out"), time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert there > 0
    assert in_time(time.monotonic() - began, 2.0)
    assert process.returncode == 143
    assert "to go on from there: gumdp run" in err.splitlines()[-2]
    assert err.splitlines()[-1] == "gumdp: terminated."
    assert stored_trials(tmp_path / "out") >= there
    with Store.read(tmp_path / "out") as store:
        assert [run["status"] for run in store.runs()] == ["terminated"]


SLEEPY = """
import time
import gumdp

def cost(d):
    time.sleep(0.05)
    return sum(sorted(d.ravel(), key=lambda x: {0: x}[0])[:2])

def build():
    return gumdp.Problem(gumdp.zoo.load("m1-entropy").model, gumdp.Function(cost), 0.9, 4)

gumdp.register_problem("sleepy", build)
"""


def stored_trials(folder: Path) -> int:
    try:
        with Store.read(folder) as store:
            return sum(arm.trials for arm in store.arms())
    except ValueError:
        return 0


class Told(KeyboardInterrupt):
    pass


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_mean_with_ray_what_they_meant_before(number: signal.Signals) -> None:
    """Ray turns what handlers raise into KeyboardInterrupt, and has a handler of SIGTERM that raises SystemExit."""

    def handler(number, frame):
        raise Told

    def theirs(number, frame):
        sys.exit(number)

    def wait():
        with _signals_later():
            signal.raise_signal(number)
            after.append("the wait went on to its end")

    def begin():
        with _own_signals():
            signal.signal(signal.SIGTERM, theirs)
            signal.raise_signal(number)

    after: list[str] = []
    before = {each: signal.signal(each, handler) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for meet in (wait, begin):
            with pytest.raises(Told):
                meet()
            assert [signal.getsignal(each) for each in before] == [handler, handler]
        assert after
    finally:
        for each, old in before.items():
            signal.signal(each, old)


LISTENING = """
import os
from gumdp.experiments.engines.cluster import Ray

engine = Ray(None, 1)
listening = {}
for family in ("tcp", "tcp6"):
    for line in open(f"/proc/net/{family}").read().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A":
            listening[words[9]] = words[1].split(":")[0]
ours, found = {os.getpid()}, set()
for _ in range(5):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1]) in ours:
                ours.add(int(pid))
        except OSError:
            pass
for pid in ours:
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        continue
    found |= {listening[link[8:-1]] for link in links if link[8:-1] in listening}
print(sorted(found), os.environ["RAY_AUTH_MODE"], len(os.environ["RAY_AUTH_TOKEN"]))
engine.close()
print("RAY_AUTH_TOKEN" in os.environ)
"""


@needs_ray
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_a_cluster_that_is_started_here_listens_to_this_machine_alone() -> None:
    answer = subprocess.run([sys.executable, "-c", LISTENING], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    first, second = answer.stdout.splitlines()
    assert first == "['0000000000000000FFFF00000100007F', '0100007F'] token 64", answer.stderr
    assert second == "False"


def ray_workers_at_work(parent: int) -> list[int]:
    """One descendant of ``parent`` that plays a job just now, by the title that Ray gives it."""
    children: dict[int, list[int]] = {}
    titles = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                titles[int(entry.name)] = (entry / "cmdline").read_text()
            except OSError:
                continue
            ppid = int(re.match(r".*\) \S (\d+)", stat, re.DOTALL)[1])
            children.setdefault(ppid, []).append(int(entry.name))
    found, stack = [], [parent]
    while stack:
        pid = stack.pop()
        stack += children.get(pid, [])
        if "ray::play_remotely" in titles.get(pid, ""):
            found.append(pid)
    return found[:1]
