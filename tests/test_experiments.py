"""Experiments: plans, files, runs, and what happens when something goes wrong in the middle."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import gumdp
from gumdp.cli.main import main
from gumdp.experiments.engines.job import Progress
from gumdp.experiments.engines.local import Local
from gumdp.experiments.plan import estimate
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.plan.version import version
from gumdp.experiments.run import run
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from own_code import forget

SMALL = {"name": "m1-entropy", "horizon": 20}


@pytest.fixture
def call(capsys):
    def function(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return function


@pytest.fixture(autouse=True)
def own_code(tmp_path: Path):
    """What a test's own modules brought is forgotten when it ends: the next one has modules of the same name."""
    yield
    forget(tmp_path)


def write(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text)
    return path


# --- arms ---


def test_equal_settings_are_one_cell_however_they_are_written() -> None:
    plain = Arm("m1-entropy", "mcts", {}, {"iterations": 10, "reuse": True})
    same = Arm("m1-entropy", "mcts", {"discount": 0.9, "horizon": 100.0}, {"reuse": True, "iterations": 10})
    assert plain.digest == same.digest
    assert Arm("subset-sum", "random", {"numbers": [3, 34, 4, 12, 5, 2]}).digest == Arm("subset-sum", "random").digest


def test_every_setting_makes_a_difference() -> None:
    arms = [
        Arm("m1-entropy", "mcts"),
        Arm("m3-adversarial", "mcts"),
        Arm("m1-entropy", "mcts-paper"),
        Arm("m1-entropy", "mcts", {"horizon": 99}),
        Arm("m1-entropy", "mcts", {}, {"iterations": 10}),
        Arm("m1-entropy", "mcts", {}, {}, 1),
    ]
    assert len({arm.digest for arm in arms}) == len(arms)


def test_a_policy_s_file_counts_by_what_is_in_it(tmp_path: Path) -> None:
    for name, share in (("a", 0.5), ("b", 0.5), ("c", 0.25)):
        np.save(tmp_path / f"{name}.npy", np.array([[share, 1 - share]] * 3))
    a, b, c = (Arm("m1-entropy", "stationary", {}, {"policy": str(tmp_path / f"{n}.npy")}).digest for n in "abc")
    assert a == b != c


def test_the_version_is_of_what_decides_values() -> None:
    assert version().startswith(gumdp.__version__ + "+")


def test_a_grid_takes_lists_of_options_apart() -> None:
    plan = Experiment.grid([{"name": "m1-entropy", "horizon": [5, 6]}], ["random", "random"], seeds=(0, 1))
    assert [arm.label for arm in plan.arms] == [
        "m1-entropy(horizon=5) · random",
        "m1-entropy(horizon=5) · random · seed 1",
        "m1-entropy(horizon=6) · random",
        "m1-entropy(horizon=6) · random · seed 1",
    ]
    lists = Experiment.grid([{"name": "subset-sum", "numbers": [[1, 2], [3]], "target": 3}], ["random"])
    assert len(lists.arms) == 2


def test_running_moments_are_mean_and_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=50)
    progress = Progress(Arm("m1-entropy", "random"), 50)
    for k, value in enumerate(values):
        progress.add([Outcome(k, value, 0.1)])
    assert progress.mean == pytest.approx(values.mean(), abs=1e-12)
    assert progress.error == pytest.approx(values.std(ddof=1) / np.sqrt(50), rel=1e-9)
    assert progress.over


def test_an_estimate_grows_with_the_work() -> None:
    few, many = (Arm("m1-entropy", "mcts", {}, {"iterations": n}) for n in (10, 1000))
    assert estimate.trial_seconds(many) == pytest.approx(100 * estimate.trial_seconds(few))
    assert estimate.trial_seconds(Arm("m1-entropy", "mcts", {}, {"time_limit": 0.5})) == 50.0


# --- files ---

FILE = """# a comment
name = "budgets"
trials = 7
seeds = [0, 3]

[[problems]]
name = "m1-entropy"
horizon = [10, 20]

[[planners]]
name = "mcts"
iterations = [5, 10]

[[planners]]
name = "random"
"""


def test_a_file_is_a_grid(tmp_path: Path) -> None:
    plan = read_experiment(write(tmp_path, FILE))
    assert (plan.name, plan.trials, len(plan.arms)) == ("budgets", 7, 2 * 2 * 3)
    assert read_experiment(tmp_path / "plan.toml", trials=3).trials == 3


WRONG = {
    'trials = 7': ('trails = 7', "line 3: unknown key 'trails'; did you mean 'trials'?"),
    "seeds = [0, 3]": ("seeds = 3", "line 4: seeds must be a list of whole numbers."),
    "# a comment": ("trials = ", "line 1: Invalid value."),
    'name = "m1-entropy"': ('name = "m1-entropi"', "line 7: unknown problem 'm1-entropi'; did you mean 'm1-entropy'?"),
    "horizon = [10, 20]": ("horizn = 10", "line 8: unknown option of m1-entropy 'horizn'; did you mean 'horizon'?"),
    "horizon = [10,": ('horizon = ["x",', "line 8: Problem: horizon must be a whole number of at least 1, not 'x'."),
    'name = "mcts"': ('name = "mtcs"', "line 11: unknown planner 'mtcs'; did you mean 'mcts'?"),
    "iterations = [5, 10]": ("iterations = []", "line 12: iterations is an empty list: give at least one value."),
    "iterations = [5,": ("iterations = [0,", "line 12: MCTS: iterations must be a whole number of at least 1, not 0."),
    "iterations =": ("itterations =", "line 12: unknown option of the planner mcts 'itterations'; did you mean "
        "'iterations'?"),
    "iterations = [5, 10]\\n": ('reuse = "yes"', "line 12: mcts: reuse must be true or false, not 'yes'."),
    '"random"': ('"random"\niterations = 4', "line 16: the planner random has no option 'iterations'; it takes none."),
    'name = "budgets"': ('name = "a/b"', "line 2: name must be a word of letters, digits, dots and dashes, not 'a/b'."),
    "trials =": ('keep = ["everything"]\ntrials =', "line 3: unknown word of keep 'everything'; there are: occupancy, "
        "trajectory, totals."),
    "seeds =": ('modules = ["no_such_module_at_all"]\nseeds =', "line 4: the module 'no_such_module_at_all' can't be "
        "imported: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
}  # fmt: skip


@pytest.mark.parametrize("part", WRONG)
def test_a_mistake_in_a_file_is_told_with_its_line(call, tmp_path: Path, part: str) -> None:
    wrong, sentence = WRONG[part]
    path = write(tmp_path, FILE.replace(part.replace("\\n", ""), wrong, 1))
    assert call("run", path, "--out", tmp_path / "out") == (2, "", f"gumdp: {path}, {sentence}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'problems is missing: name at least one, for instance problems = ["m1-entropy"].'),
        ('problems = []\nplanners = ["random"]', "line 1: problems is empty: name at least one, for instance "
            'problems = ["m1-entropy"].'),
        ('problems = 3\nplanners = ["random"]', "line 1: problems must be a list of names or tables, not 3."),
        ('problems = [3]\nplanners = ["random"]', "line 1: a problem must be a name, or a table with a name and "
            "options, not 3."),
        ('seed = 1\nseeds = [2]', "line 2: give seed or seeds, not both."),
    ],
)  # fmt: skip
def test_an_empty_or_odd_grid_is_told(call, tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    code, out, err = call("run", path)
    assert (code, out) == (2, "")
    assert err.endswith(f"{sentence}\n")


def test_a_file_that_is_not_there_is_told(call, tmp_path: Path) -> None:
    assert call("run", tmp_path / "no.toml")[::2] == (2, f"gumdp: {tmp_path / 'no.toml'}: there is no such file.\n")


# --- runs ---


def stored_values(folder: Path) -> dict[tuple[str, int], dict[int, float]]:
    with Store.read(folder) as store:
        return {(stored.arm.label, stored.arm.seed): store.numbered(stored) for stored in store.arms()}


def test_a_run_stores_what_evaluate_gives(tmp_path: Path) -> None:
    plan = Experiment.grid([SMALL], ["random", {"name": "mcts", "iterations": 20}], seeds=(5,), trials=30)
    summary = run(plan, tmp_path)
    assert (summary.complete, summary.played, summary.found) == (True, 60, 0)
    problem = gumdp.zoo.load("m1-entropy", horizon=20)
    stored = stored_values(tmp_path)
    for label, planner in (("random", gumdp.Random()), ("mcts(iterations=20)", gumdp.MCTS(20))):
        values = stored[f"m1-entropy(horizon=20) · {label} · seed 5", 5]
        expected = gumdp.evaluate(problem, planner, trials=30, seed=5).values
        assert list(values.values()) == expected.tolist()


def test_a_larger_run_adds_only_what_is_missing(tmp_path: Path) -> None:
    plan = Experiment.grid([SMALL], ["random"], trials=10)
    run(plan, tmp_path)
    more = run(Experiment.grid([SMALL], ["random", "greedy"], trials=25), tmp_path)
    assert (more.found, more.played) == (10, 40)
    whole = tmp_path / "whole"
    run(Experiment.grid([SMALL], ["random", "greedy"], trials=25), whole)
    assert stored_values(tmp_path) == stored_values(whole)


def test_workers_don_t_change_values(tmp_path: Path) -> None:
    plan = Experiment.grid([SMALL], [{"name": "mcts", "iterations": [5, 10]}], trials=9)
    for workers in (1, 3):
        run(plan, tmp_path / str(workers), Local(workers))
    assert stored_values(tmp_path / "1") == stored_values(tmp_path / "3")


def test_kept_trajectories_are_those_of_the_trial(tmp_path: Path) -> None:
    keep = ("occupancy", "trajectory")
    run(Experiment.grid([SMALL], ["greedy"], trials=2, keep=keep), tmp_path)
    trial = gumdp.run_trial(gumdp.zoo.load("m1-entropy", horizon=20), gumdp.Greedy(), seed=0, trial=1)
    with Store.read(tmp_path) as store:
        (arm,) = store.arms()
        assert store.values(arm)[1] == trial.value
        assert np.array_equal(store.kept(arm, 1, "occupancy"), trial.occupancy)
        assert np.array_equal(store.kept(arm, 1, "states"), trial.states)
        assert np.array_equal(store.kept(arm, 1, "actions"), trial.actions)


FAILING = """
import gumdp
from gumdp.zoo import Entry, register

def build(horizon=20, limit=0.24):
    def cost(d):
        if max(map(max, d.tolist())) > limit and d.min() != d.max():  # not the occupancy that a new problem tries
            raise RuntimeError("too much of one thing")
        return float((d * d).sum())
    return gumdp.Problem(gumdp.zoo.load("m1-entropy").model, gumdp.Function(cost, convex=True), 0.9, horizon)

register(Entry("now-and-then", "fails for some trajectories", build, {"horizon": 20, "limit": 0.24}))
"""


def own_problem(folder: Path, limit: float, trials: int) -> Path:
    (folder / "odd_problems.py").write_text(FAILING)
    return write(
        folder,
        f'trials = {trials}\nmodules = ["odd_problems"]\nplanners = ["random", "greedy"]\n'
        f'[[problems]]\nname = "now-and-then"\nlimit = {limit}\n',
    )


def test_a_trial_that_fails_takes_no_other_with_it(call, tmp_path: Path) -> None:
    """The limit is chosen so that a few trials of the random planner fail and none of the greedy one."""
    problem = gumdp.zoo.load("m1-entropy", horizon=20)
    trials = [gumdp.run_trial(problem, gumdp.Random(), seed=0, trial=k).occupancy.max() for k in range(60)]
    limit = float(np.sort(trials)[-3:-1].mean())  # two of them are above
    bad = np.flatnonzero(np.array(trials) > limit).tolist()
    path = own_problem(tmp_path, limit, 60)
    with pytest.warns(UserWarning, match="runs as plain Python"):
        code, _, err = call("run", path, "--out", tmp_path / "out", "--workers", 1)
    assert code == 1
    assert f"now-and-then(limit={limit}) · random: trial {bad[0]} failed: " in err
    assert "too much of one thing" in err
    assert "gumdp: 2 trials failed; all others are stored. To try them again: gumdp" in err
    values = stored_values(tmp_path / "out")
    made = values[f"now-and-then(limit={limit}) · random", 0]
    assert sorted(set(range(60)) - set(made)) == bad
    assert len(values[f"now-and-then(limit={limit}) · greedy", 0]) == 60
    with Store.read(tmp_path / "out") as store:
        assert [trial for _, trial, _ in store.failures()] == bad


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:the objective .* runs as plain Python")
def test_interpreted_trials_run_in_processes_with_the_same_values(call, tmp_path: Path) -> None:
    path = own_problem(tmp_path, 2.0, 8)
    for workers in ("1", "2"):
        assert call("run", path, "--out", tmp_path / workers, "--workers", workers)[0] == 0
    assert stored_values(tmp_path / "1") == stored_values(tmp_path / "2")


def test_a_cell_that_always_fails_is_given_up_and_others_go_on(tmp_path: Path) -> None:
    np.save(tmp_path / "two.npy", np.full((2, 2), 0.5))
    planners = [{"name": "stationary", "policy": str(tmp_path / "two.npy")}, "random"]
    summary = run(Experiment.grid([SMALL], planners, trials=200), tmp_path / "out")
    assert not summary.complete
    assert summary.played == 200
    assert "(2, 2)" in summary.failures[0]


@dataclass(frozen=True)
class Limit:
    """What a lower bound looks like."""

    value: float
    method: str = "made up"
    level: float = 1.0


def test_bounds_are_found_once_and_stored(tmp_path: Path, monkeypatch) -> None:
    asked = []

    def made_up(problem: gumdp.Problem, **options: object) -> Limit:
        asked.append(problem.horizon)
        if problem.horizon == 6:
            raise gumdp.GumdpError("nothing is known")
        return Limit(0.25)

    monkeypatch.setattr(gumdp, "lower_bound", made_up, raising=False)
    plan = Experiment.grid([{"name": "m1-entropy", "horizon": [5, 6]}], ["random", "greedy"], trials=2)
    summary = run(plan, tmp_path, Local(1), bounds=True)
    assert summary.played == 8
    assert summary.failures == ("m1-entropy(horizon=6): there is no lower bound: GumdpError: nothing is known",)
    assert sorted(asked) == [5, 6]
    run(plan, tmp_path, Local(1), bounds=True)
    assert sorted(asked) == [5, 6, 6]  # what is known is not asked again
    with Store.read(tmp_path) as store:
        five = Arm("m1-entropy", "random", {"horizon": 5})
        assert store.finding("bound", five.problem_digest)["value"] == 0.25


@pytest.mark.slow
def test_bounds_are_found_on_request_and_the_report_says_how_far_the_best_can_be(call, tmp_path) -> None:
    file, out = tmp_path / "plan.toml", tmp_path / "out"
    file.write_text('trials = 3\nproblems = [{name = "m1-entropy", horizon = 5}]\nplanners = ["random", "greedy"]\n')
    assert (call("run", file, "--out", out, "--bounds")[0], call("report", out)[0]) == (0, 0)
    table = (out / "report" / "tables" / "means.md").read_text()
    assert "lower bound | best within" in table
    row = next(line for line in table.splitlines() if line.startswith("| m1-entropy"))
    bound, within = map(float, row.split("|")[-3:-1])
    high = float(re.search(r"\*\*.*, (.*)\]\*\*", row)[1])
    exact = gumdp.solve_exact(gumdp.zoo.load("m1-entropy", horizon=5)).value
    assert bound <= exact + 1e-6
    assert within == pytest.approx(high - bound, abs=0.01)


@pytest.mark.thorough
def test_a_full_disk_ends_the_run_with_1_and_keeps_what_was_there(call, tmp_path: Path, monkeypatch) -> None:
    opened = Store.open

    def small(folder: Path, *version: str) -> Store:
        store = opened(folder, *version)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return store

    monkeypatch.setattr(Store, "open", small)
    path = write(tmp_path, 'trials = 40000\nplanners = ["random"]\n[[problems]]\nname = "m1-entropy"\nhorizon = 5\n')
    code, _, err = call("run", path, "--out", tmp_path / "out")
    assert code == 1
    assert "the disk is full; make room and run the same command again; all that was stored before is kept." in err
    monkeypatch.undo()
    assert call("run", path, "--out", tmp_path / "out")[0] == 0
    with Store.read(tmp_path / "out") as store:
        assert store.arms()[0].trials == 40_000


def test_a_folder_in_use_is_refused_with_2(call, tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    with Store.open(tmp_path / "out"):
        code, out, err = call("run", path, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "another run is at work in" in err


def test_a_dry_run_shows_the_cells_and_writes_nothing(call, tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    code, out, err = call("run", path, "--out", tmp_path / "out", "--dry-run")
    assert (code, err) == (0, "")
    assert "m1-entropy(horizon=10) · mcts(iterations=5): 7 trials" in out
    assert "12 arms into" in out
    code, out, _ = call("run", path, "--dry-run", "--json")
    assert len(json.loads(out)["arms"]) == 12
    assert not (tmp_path / "out").exists()


def test_results_are_listed_filtered_and_exported(call, tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    assert call("run", path, "--out", tmp_path / "out", "--json")[0] == 0
    code, out, _ = call("results", tmp_path / "out", "--planner", "random", "--seed", "3")
    assert code == 0
    assert out.count("\n") == 5  # a heading, and two horizons with a planner each
    code, out, _ = call("results", tmp_path / "out", "--problem", "horizon=20", "--json")
    rows = json.loads(out)["results"]
    assert len(rows) == 6
    values = gumdp.evaluate(gumdp.zoo.load("m1-entropy", horizon=20), gumdp.Random(), trials=7, seed=3).values
    assert [r["mean"] for r in rows if r["planner"] == "random" and r["seed"] == 3] == [values.mean()]
    code, _, err = call("results", tmp_path / "out", "--csv", tmp_path / "all.csv")
    assert "84 trials written" in err
    code, _, err = call(
        "results", tmp_path / "out", "--planner", "random", "--seed", "3", "--csv", tmp_path / "some.csv"
    )
    assert "14 trials written" in err
    assert call("results", tmp_path)[0] == 2


# --- kills ---

COMMAND = [sys.executable, "-c", "import sys; from gumdp.cli.main import main; sys.exit(main())"]
LONG = """
trials = {trials}
[[problems]]
name = "m1-entropy"
horizon = 50
[[planners]]
name = "mcts"
iterations = [1000, 2000]
[[planners]]
name = "random"
"""


def kill_and_resume(folder: Path, kills: int, seed: int) -> list[int]:
    """Run a plan, killed ``kills`` times at random moments, then to its end; return the trials there at each kill."""
    path, rng, there = write(folder, LONG.format(trials=40 * kills)), random.Random(seed), []
    args = [*COMMAND, "run", str(path), "--out", str(folder / "killed")]
    for _ in range(kills):
        process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 4.0))
        if process.poll() is None:
            process.kill()
            there.append(trials_in(folder / "killed"))
        process.wait()
    assert subprocess.run(args, capture_output=True).returncode == 0
    return there


def trials_in(folder: Path) -> int:
    try:
        with Store.read(folder) as store:
            return sum(arm.trials for arm in store.arms())
    except (gumdp.GumdpError, sqlite3.Error):
        return 0


@pytest.mark.slow
def test_killed_at_random_and_resumed_equals_undisturbed(tmp_path: Path) -> None:
    """CI kills a few times; GUMDP_KILLS=20 does what the release check asks for."""
    kills = int(os.environ.get("GUMDP_KILLS", "3"))
    there = kill_and_resume(tmp_path, kills, seed=1)
    assert there
    assert there == sorted(there)
    print("trials there at each kill:", there)
    run(read_experiment(tmp_path / "plan.toml"), tmp_path / "whole")
    assert stored_values(tmp_path / "killed") == stored_values(tmp_path / "whole")
    with Store.read(tmp_path / "killed") as store:
        rows = [(row[2], row[3], row[5]) for row in store.rows()]
        assert len(rows) == len(set(rows)) == 3 * 40 * kills


@pytest.mark.posix
def test_ctrl_c_saves_everything_and_says_how_to_resume(tmp_path: Path) -> None:
    path = write(tmp_path, LONG.format(trials=100_000))
    args = [*COMMAND, "run", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    while trials_in(tmp_path / "out") == 0 and time.monotonic() < begun + 60:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert f"to go on from there: gumdp run {path}" in err
    assert "Traceback" not in err
    with Store.read(tmp_path / "out") as store:
        assert store.runs()[0]["status"] == "interrupted"
