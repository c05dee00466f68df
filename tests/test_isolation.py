"""What a run lets in, and what it keeps apart: code only from stated places, failures only of their own trials."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gumdp
from gumdp.cli.main import main
from gumdp.experiments.engines.job import Job, Progress, failed, gaps
from gumdp.experiments.engines.local import Local
from gumdp.experiments.engines.process import WorkerProcess, _path
from gumdp.experiments.engines.work import play as play_trials
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.run import Quiet, run
from gumdp.experiments.store.export import to_csv
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.report.progress import PlainLines
from own_code import forget

SMALL = {"name": "m1-entropy", "horizon": 5}


@pytest.fixture(autouse=True)
def own_code(tmp_path: Path):
    yield
    forget(tmp_path)


@pytest.fixture
def call(capsys):
    def function(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return function


# --- where code comes from ---


@pytest.mark.posix
def test_a_worker_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """Files there are named like what a worker imports; each leaves a mark if it is run."""
    for name in ("numpy", "numba", "json", "scipy", "gumdp", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\n")
    code = (
        "from gumdp.experiments.engines.process import WorkerProcess\n"
        "from gumdp.experiments.engines.job import Job\n"
        "from gumdp.experiments.plan.arm import Arm\n"
        f"import os; os.chdir({str(tmp_path)!r})\n"
        "worker = WorkerProcess()\n"
        "print(worker.perform(Job(0, Arm('m1-entropy', 'random', {'horizon': 5}), range(2))).outcomes[0].error)\n"
        "worker.end()\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout == "None\n", answer.stderr
    assert not (tmp_path / "mark").exists()


def test_the_current_folder_is_not_among_a_worker_s_paths(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), "/somewhere", *sys.path])
    assert "/somewhere" in _path()
    assert not {"", str(tmp_path)} & set(_path())


def test_a_module_beside_the_plan_can_not_take_the_place_of_an_installed_one(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import colorsys\nMARK = colorsys.__file__\n")
    (tmp_path / "colorsys.py").write_text("raise SystemExit('taken for another')\n")
    path = tmp_path / "plan.toml"
    path.write_text('modules = ["own"]\nproblems = ["m1-entropy"]\nplanners = ["random"]\n')
    sys.modules.pop("colorsys", None)
    read_experiment(path)
    assert str(tmp_path) not in sys.modules["own"].MARK


def marked(folder: Path) -> Path:
    (folder / "marking.py").write_text(f"open({str(folder / 'mark')!r}, 'w').close()\n")
    path = folder / "plan.toml"
    path.write_text(
        'trials = 2\nmodules = ["marking"]\nplanners = ["random"]\n'
        'problems = ["m1-entropy", {name = "of-the-module", size = [1, 2]}]\n'
    )
    return path


def test_a_dry_run_runs_no_module_and_says_what_it_could_not_check(call, tmp_path: Path) -> None:
    path = marked(tmp_path)
    code, out, err = call("run", path, "--dry-run")
    assert (code, err) == (0, "")
    assert "The modules marking are not run now; what they define is not checked." in out
    assert "of-the-module(size=2) · random: 2 trials, their time is not known" in out
    code, out, _ = call("run", path, "--dry-run", "--json")
    facts = json.loads(out)
    assert (facts["complete"], facts["modules"], len(facts["arms"])) == (False, ["marking"], 3)
    assert [arm["digest"] is None for arm in facts["arms"]] == [False, True, True]
    assert not (tmp_path / "mark").exists()
    assert call("run", path, "--out", tmp_path / "out")[0] == 2  # there is no such problem; the module has run
    assert (tmp_path / "mark").exists()


def test_opening_results_runs_no_module(call, tmp_path: Path) -> None:
    with Store.open(tmp_path / "out", "0+marking") as store:
        store.begin("local", {}, "gumdp run")
        arm = Arm.restored("of-the-module", "of-the-module", {"module": "marking"}, {}, 0)
        store.add(arm, [Outcome(0, 1.0, 1.0)])
    marked(tmp_path)
    for command in ("results", "report"):
        assert call(command, tmp_path / "out")[0] == 0
    assert not (tmp_path / "mark").exists()


# --- failures of their own trials only ---


class Raising(gumdp.Planner):
    """A planner that raises what it is told in some trials."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def bind(self, problem: gumdp.Problem, dice: object) -> gumdp.Policy:
        if int(dice) % 2:
            raise self.error("of its own")
        return gumdp.Random().bind(problem, dice)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, RuntimeError])
@pytest.mark.parametrize("keep", [(), ("occupancy",)])
def test_whatever_users_code_raises_is_its_trial_s_failure(error: type[BaseException], keep: tuple[str, ...]) -> None:
    problem, stop = gumdp.zoo.load("m1-entropy", horizon=5), np.zeros(1, np.uint8)
    outcomes = play_trials(problem, Raising(error), 0, range(12), stop, keep)
    good = gumdp.evaluate(problem, gumdp.Random(), trials=12).values
    assert [o.trial for o in outcomes] == list(range(12))
    assert 0 < sum(o.error is not None for o in outcomes) < 12
    assert all(f"{error.__name__}: of its own" in o.error for o in outcomes if o.error)
    assert [o.value for o in outcomes if not o.error] == [good[o.trial] for o in outcomes if not o.error]
    stop[0] = 1
    assert play_trials(problem, Raising(error), 0, range(12), stop, keep) == []


def test_one_worker_isolates_what_is_interpreted_as_two_do(monkeypatch) -> None:
    sent = []
    monkeypatch.setattr(WorkerProcess, "perform", lambda self, job: sent.append(job) or failed(job, ""))
    arm = Arm("m1-entropy", "mcts", {"horizon": 5}, {"iterations": 5, "threads": 2})
    for workers in (1, 2):
        jobs = [Job(0, arm, range(2))]
        assert next(done for done in Local(workers).play(iter(jobs), [arm]) if done).job == jobs[0]
    assert len(sent) == 2


# --- what is kept later ---


def test_trials_get_their_occupancy_when_it_is_asked_for_later(tmp_path: Path) -> None:
    plain = Experiment.grid([SMALL], ["random"], trials=4)
    keeping = Experiment.grid([SMALL], ["random"], trials=6, keep=("occupancy", "trajectory"))
    assert run(plain, tmp_path).played == 4
    again = run(keeping, tmp_path)
    assert (again.found, again.played, again.complete) == (0, 6, True)
    assert run(keeping, tmp_path).found == 6
    problem = gumdp.zoo.load("m1-entropy", horizon=5)
    with Store.read(tmp_path) as store:
        (arm,) = store.arms()
        assert arm.trials == 6
        for k in range(6):
            trial = gumdp.run_trial(problem, gumdp.Random(), trial=k)
            assert store.numbered(arm)[k] == trial.value
            assert np.array_equal(store.kept(arm, k, "occupancy"), trial.occupancy)
            assert np.array_equal(store.kept(arm, k, "actions"), trial.actions)


def test_an_occupancy_of_another_value_is_not_added_to_a_trial(tmp_path: Path) -> None:
    arm, kept = Arm("m1-entropy", "random"), {"occupancy": np.full((3, 2), 1 / 6)}
    with Store.open(tmp_path) as store:
        store.add(arm, [Outcome(0, 1.0, 0.1), Outcome(1, 2.0, 0.1)])
        assert store.add(arm, [Outcome(0, 1.5, 0.1, kept=kept), Outcome(1, 2.0, 0.1, kept=kept)]) == [0]
        (stored,) = store.arms()
        assert store.numbered(stored) == {0: 1.0, 1: 2.0}
        assert store.kept(stored, 0, "occupancy") is None
        assert store.kept(stored, 1, "occupancy") is not None
        assert store.done(arm, ("occupancy",)) == {1}


# --- limits ---


def test_many_trials_take_no_memory_before_their_turn(call, tmp_path: Path) -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        ranges = list(gaps({5, 7}, 4_000_000_000))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert ranges == [range(5), range(6, 7), range(8, 4_000_000_000)]
    path = tmp_path / "plan.toml"
    path.write_text('problems = ["m1-entropy"]\nplanners = ["random"]\n')
    sentence = "gumdp: trials must be at most 4294967295, not 1000000000000.\n"
    assert call("run", path, "--trials", 10**12) == (2, "", sentence)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("plan m1-entropy --threads 100000", "MCTS: threads must be at most 1024, not 100000."),
        ("evaluate m1-entropy --workers 100000", "workers must be at most 1024, not 100000."),
        ("run {} --workers 100000", "workers must be at most 1024, not 100000."),
    ],
)
def test_more_threads_than_a_machine_can_have_are_refused(call, tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('problems = ["m1-entropy"]\nplanners = ["random"]\n')
    assert call(*line.format(path).split()) == (2, "", f"gumdp: {sentence}\n")


# --- what is told, and what is left behind ---


def test_an_arm_that_is_over_is_counted_once(capsys) -> None:
    arms = [Progress(Arm("m1-entropy", "random"), 20), Progress(Arm("m1-entropy", "greedy"), 20)]
    lines = PlainLines()
    lines.begin(arms, Local(1))
    for _ in range(4):  # jobs that were under way when it was given up
        arms[0].add([Outcome(k, float("nan"), 0.0, "boom") for k in range(5)])
        lines.update(0, arms[0])
    arms[1].add([Outcome(k, 1.0, 0.0) for k in range(20)])
    lines.update(1, arms[1])
    told = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()[1:]]
    assert told == ["[1/2", "[2/2"]


class Mute:
    """A watcher whose reader is gone."""

    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, verb: str):
        def fail(*what: object) -> None:
            self.asked += 1
            raise BrokenPipeError

        return fail


def test_a_run_without_a_reader_goes_on(tmp_path: Path) -> None:
    mute = Mute()
    assert run(Experiment.grid([SMALL], ["random"], trials=3), tmp_path, watcher=mute).complete
    assert mute.asked == 1
    Quiet(mute).say("hello")


def test_an_export_that_fails_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    with Store.open(tmp_path / "out") as store:
        store.add(Arm("m1-entropy", "random"), [Outcome(0, 1.0, 1.0)])

        def broken(arms):
            yield ("one", "row")
            raise OSError(28, "No space left on device")

        store.rows = broken
        (tmp_path / "old.csv").write_text("what was there")
        for name in ("new.csv", "old.csv"):
            with pytest.raises(gumdp.GumdpError, match="can't be written: No space left on device"):
                to_csv(store, tmp_path / name)
    assert (tmp_path / "old.csv").read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.csv", "out"]


# --- names and numbers that are none ---

ODD = ["a\0b", "x" * 5000, "\udcff\udcfe", "/dev/null/x", "\n", "a" * 200 + "/" + "b" * 300]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_files_and_folders_are_refused_in_a_sentence(call, tmp_path: Path, name: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('trials = 1\nproblems = [{name = "m1-entropy", horizon = 5}]\nplanners = ["random"]\n')
    odd = f"{tmp_path}/{name}" if not name.startswith("/") else name
    with Store.open(tmp_path / "good") as store:
        store.add(Arm("m1-entropy", "random"), [Outcome(0, 1.0, 1.0)])
    for line in (
        ["run", odd], ["results", odd], ["report", odd],
        ["plan", "m1-entropy", "--planner", "stationary", "--policy", odd],
        ["run", path, "--out", odd], ["results", tmp_path / "good", "--csv", odd + "/no/x"],
    ):  # fmt: skip
        code, out, err = call(*line)
        takes_it = line[:2] == ["run", path] and name in ("\udcff\udcfe", "\n")  # they are names of folders
        assert code == (0 if takes_it else 2), err
        assert "a bug" not in err
        if not takes_it:
            assert out == ""
            assert err.count("\n") == 1


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 20_000, "-0x" + "f" * 20_000])
@pytest.mark.parametrize("place", ["trials = {}", "seed = {}", "horizon = {}", "iterations = {}", "policy = {}"])
def test_numbers_of_thousands_of_digits_are_refused_in_a_sentence(
    call, tmp_path: Path, number: str, place: str
) -> None:
    problem, planner = '[[problems]]\nname = "m1-entropy"\n', '[[planners]]\nname = "mcts"\n'
    line = place.format(number) + "\n"
    if place.startswith("horizon"):
        text = problem + line + planner
    else:
        text = (line if place[0] in "ts" else "") + problem + planner + (line if place[0] in "ip" else "")
    (tmp_path / "plan.toml").write_text(text)
    code, out, err = call("run", tmp_path / "plan.toml", "--dry-run")
    assert (code, out) == (2, "")
    assert "a bug" not in err
    assert err.count("\n") == 1
    assert len(err) < 400 + len(str(tmp_path))


@pytest.mark.parametrize("option", ["--seed", "--trials", "--workers", "--iterations"])
def test_numbers_of_thousands_of_digits_on_the_command_line_too(call, option: str) -> None:
    code, out, err = call("evaluate", "m1-entropy", option, "9" * 5000)
    assert (code, out) == (2, "")
    assert "a bug" not in err


def test_a_command_in_odd_letters_is_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin("local", {}, "gumdp run \udcff\0")
        store.add(Arm("m1-entropy", "random"), [Outcome(0, float("nan"), 0.0, "\ud800" + "long" * 10_000)])
        assert store.runs()[0]["command"] == r"gumdp run \udcff\0"
        assert len(store.failures()[0][2]) < 11_000
    assert os.listdir(tmp_path)
