"""What people bring: logs as they are, model files, masks, groups, measures and pictures from the shell."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import gumdp
from gumdp.cli.files import load_problem
from gumdp.cli.main import main
from gumdp.jit.compiling import clock
from gumdp.models.tidy import tidy

LOG = """place,move,then,day
hall,left,kitchen,1
kitchen,right,hall,1
hall,right,study,1
study,left,hall,2
hall,,study,2
"""
FLEET = """
import gumdp
problem = gumdp.zoo.load("frozenlake-entropy", horizon=12)
def corner(d):
    return d[0].sum()
"""


LEARN = ["learn", "log.csv", "--state", "place", "--action", "move", "--next", "then"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "fleet.py").write_text(FLEET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- logs ---


def test_rows_with_holes_are_left_out_and_counted():
    model = gumdp.learn({"state": [0, 1, None, 1], "action": [0, 1, 0, 0], "next_state": [1, 0, 1, 1]})
    assert model.samples.tolist() == [[1, 0], [1, 1]]
    assert "left out: 1 row with nothing in state or action or next_state" in str(model.source)


def test_a_log_without_next_states_is_chained_within_episodes_and_not_across_gaps():
    table = {"state": [0, 1, 0, 1, 1, 0], "action": [0] * 6, "episode": [7, 7, 7, 8, 8, 8], "step": [0, 1, 2, 0, 1, 3]}
    rows, notes = tidy(table)
    assert list(zip(rows["state"].tolist(), rows["next_state"].tolist(), strict=True)) == [(0, 1), (1, 0), (1, 1)]
    assert notes == ["3 rows after which the log has a gap or ends"]
    assert len(set(rows["episode"].tolist())) == 2


def test_a_log_that_can_not_be_chained_says_what_it_needs():
    with pytest.raises(gumdp.GumdpError, match="needs a column 'next_state', or a column 'episode'"):
        gumdp.learn({"state": [0, 1], "action": [0, 0]})


def test_a_row_without_an_action_says_where_the_last_one_led_and_joins_nothing():
    table = {"state": ["a", "b", "c", "", "d", "e"], "action": ["go", "", "go", "go", "go", "go"], "episode": [0] * 6}
    rows, notes = tidy(table)
    assert list(zip(rows["state"].tolist(), rows["next_state"].tolist(), strict=True)) == [("a", "b"), ("d", "e")]
    assert notes == ["2 rows with nothing in state or action", "2 rows after which the log has a gap or ends"]
    numbers = {"state": ["0", "1", "2"], "action": ["0", "", "1"], "episode": ["x"] * 3}
    assert tidy(numbers)[0]["action"].tolist() == [0.0]


@pytest.mark.parametrize("flags", [["False", "0", "True"], ["no", "", "YES"], [0.0, np.nan, 1.0], [None, False, True]])
def test_ends_of_episodes_are_read_as_people_write_them(flags):
    log = {"state": [0, 1, 2], "action": [0, 0, 0], "next_state": [1, 2, 0]}
    read, plain, none = (
        gumdp.learn({**log, **more}) for more in ({"terminated": flags}, {"terminated": [0, 0, 1]}, {})
    )
    assert read.dense().tolist() == plain.dense().tolist() != none.dense().tolist()
    with pytest.raises(gumdp.GumdpError, match="terminated must be true or false, 1 or 0, in each row, not 'maybe'"):
        gumdp.learn({"state": [0, 1], "action": [0, 0], "next_state": [1, 0], "terminated": ["maybe", "no"]})


@pytest.mark.parametrize(
    "text", ["\ufeffstate,action,next_state\na,go,b\nb,go\n\n", "state;action;next_state\na;go;b\n;go;a\n"]
)
def test_files_of_spreadsheets_are_read(folder: Path, text):
    (folder / "sheet.csv").write_text(text, encoding="utf-8")
    model = gumdp.learn("sheet.csv")
    assert (model.state_names, model.samples.tolist()) == (("a", "b"), [[1], [0]])
    assert "left out: 1 row with nothing in" in str(model.source)


def test_holes_in_a_frame_are_no_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"state": ["a", None, "b"], "action": ["go", "go", np.nan], "next_state": ["b", "a", "a"]})
    model = gumdp.learn(frame)
    assert (model.state_names, model.action_names, model.samples.tolist()) == (("a", "b"), ("go",), [[1], [0]])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "needs a column 'state'"),
        ("a.csv", b"state,action,next_state\n", "not one transition"),
        ("a.csv", b"state,action,next_state\n1,2,3,4\n", "has 3 columns, but 4 in row 1"),
        ("a.csv", b"\xff\xfe\x00", "can't be read as a CSV file"),
        ("a.parquet", b"PAR1 not really", "can't be read as a Parquet file"),
        ("a.csv", b"state,action,episode,step\n0,0,0,noon\n0,0,0,one\n", "step must be the number of the step"),
    ],
)
def test_a_damaged_log_is_one_sentence(folder: Path, name, content, said):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="the extra gumdp[parquet] is not installed")
    (folder / name).write_bytes(content)
    with pytest.raises(gumdp.GumdpError, match=said):
        gumdp.learn(name)


# --- model files ---


def test_a_model_comes_back_from_its_file_as_it_was(tmp_path: Path):
    rng = np.random.default_rng(0)
    mask = np.array([[True, False], [True, True], [True, True]])
    table = np.where(mask[..., None], rng.dirichlet(np.ones(3), size=(3, 2)), 0.0)
    names = {"state_names": ["a", "b", "ü"], "action_names": ["go", "stay"], "grid": (3, 1)}
    model = gumdp.Tabular(table, [0.5, 0.5, 0.0], available=mask, **names)
    gumdp.save_model(model, tmp_path / "model.npz")
    again = gumdp.load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.dense(), model.dense())
    np.testing.assert_array_equal(again.start, model.start)
    np.testing.assert_array_equal(again.available, mask)
    assert (again.state_names, again.action_names, again.grid) == (model.state_names, model.action_names, model.grid)
    one, two = (gumdp.run_trial(gumdp.Problem(m, gumdp.Entropy(), 0.9, 20), gumdp.Greedy()) for m in (model, again))
    np.testing.assert_array_equal(one.actions, two.actions)


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "is not a model"),
        (b"PK\x03\x04 not a zip file", "is not a model"),
        (None, "can't be read"),
    ],
)
def test_what_is_no_model_file_is_refused_in_a_sentence(tmp_path: Path, content, sentence):
    path = tmp_path / "model.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(gumdp.GumdpError, match=sentence):
        gumdp.load_model(path)


def test_a_model_file_with_objects_in_it_is_not_unpickled(tmp_path: Path):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    path = tmp_path / "model.npz"
    np.savez(path, format=np.array("gumdp model"), version=np.array(1), shape=np.array([Bomb()], dtype=object))
    with pytest.raises(gumdp.GumdpError, match="is not a model"):
        gumdp.load_model(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("name", ["offsets", "successors", "probabilities", "start_states"])
def test_a_damaged_model_file_is_refused(tmp_path: Path, name):
    path = tmp_path / "model.npz"
    gumdp.save_model(gumdp.zoo.load("m1-entropy").model, path)
    with np.load(path) as archive:
        table = dict(archive)
    table[name] = table[name] + 99
    np.savez(path, **table)
    with pytest.raises(gumdp.GumdpError, match="is damaged"):
        gumdp.load_model(path)


def test_a_small_file_that_unpacks_to_more_than_memory_is_refused(tmp_path: Path, monkeypatch):
    path, problem = tmp_path / "model.npz", gumdp.zoo.load("m1-entropy")
    np.savez_compressed(path, format=np.array("gumdp model"), version=np.array(1), shape=np.zeros(10**6))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr("gumdp.files.LARGEST", 7 << 20)
    with pytest.raises(gumdp.GumdpError, match="can't be read: it would unpack to more than 7 MiB"):
        gumdp.load_model(path)
    with pytest.raises(gumdp.GumdpError, match="can't be read: it would unpack to more than 7 MiB"):
        gumdp.Greedy().start(problem).load(path)
    monkeypatch.undo()
    with pytest.raises(gumdp.GumdpError, match="is damaged"):
        gumdp.load_model(path)


# --- the shell ---


def test_a_log_becomes_a_model_file_that_other_commands_open(folder: Path, capsys):
    columns = ["--state", "place", "--action", "move", "--next", "then", "--episode", "day"]
    assert main(["learn", "log.csv", *columns, "--out", "rooms.npz"]) == 0
    assert "left out: 1 row" in " ".join(capsys.readouterr().out.split())
    assert main(["plan", "rooms.npz", "--set", "horizon=6", "--planner", "random", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["actions"]) == 6
    assert gumdp.load_model("rooms.npz").state_names == ("hall", "kitchen", "study")
    for start in ("study", "2"):  # by name and by number
        assert main([*LEARN, "--start", start, "--out", "rooms.npz"]) == 0
        assert gumdp.load_model("rooms.npz").start.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(gumdp.GumdpError, match="the states have numbers"):
        gumdp.learn(([0], [0], [1]), start="hall")


@pytest.mark.parametrize(
    "command, sentence",
    [
        (["learn", "log.csv"], "needs a column 'state'"),
        (["learn", "log.csv", "--state", "room"], "no column 'room'"),
        ([*LEARN, "--start", "kitchn"], "must be a state of the log, 'kitchen' for instance, not 'kitchn'"),
        ([*LEARN, "--start", "9"], "below 3"),
        (["learn", "log.txt"], "must be a .csv or .parquet"),
        (["learn", "other.csv"], "there is no file"),
        (["learn", "log.csv", "--out", "model.zip"], "must end in .npz"),
        (["plan", "nothing.npz"], "can't be read"),
        (["plan", "m1-entropy", "--plot", "picture.doc"], "--plot writes .png, .svg or .pdf"),
        (["plan", "m1-entropy", "--animate", "film.avi"], "--animate writes .gif or .mp4"),
        (["plan", "m1-entropy", "--measure", "late"], "--measure takes NAME=FILE.py:NAME"),
        (["plan", "m1-entropy", "--at-most", "late=1"], "late"),
    ],
)
def test_a_wrong_file_or_column_is_one_sentence(folder: Path, capsys, command, sentence):
    assert main(command) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


def test_the_shell_measures_and_draws(folder: Path, capsys):
    asked = ["--measure", "corner=fleet.py:corner", "--at-most", "corner=0.9"]
    drawn = ["--plot", "lake.png", "--animate", "lake.gif"]
    assert main(["plan", "fleet.py:problem", "--planner", "greedy", *asked, *drawn]) == 0
    out = capsys.readouterr().out
    trial = gumdp.run_trial(gumdp.zoo.load("frozenlake-entropy", horizon=12), gumdp.Greedy(), 0)
    share = trial.occupancy[0].sum()
    assert f"corner {share:.4g}, within the limit 0.9" in out
    assert (folder / "lake.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "lake.gif").read_bytes().startswith(b"GIF89a")
    assert main(["evaluate", "fleet.py:problem", "--planner", "greedy", "--trials", "30", *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["measures"]["corner"]
    assert found["interval"][0] <= found["probability"] <= found["interval"][1]


# --- masks, groups, ratios ---


def walk(**options) -> gumdp.Simulator:
    return gumdp.Simulator(
        lambda x, a: (min(max(x[0] + (1.0 if a == 1 else -1.0 if a == 0 else 0.0), 0.0), 4.0),),
        (0.0,), lambda x: int(x[0]), cells=5, actions=3, **options,
    )  # fmt: skip


@pytest.mark.thorough
def test_a_simulator_with_a_mask_never_takes_what_is_not_allowed():
    model = walk(allowed=lambda x, a: a == 1 if x[0] < 2.0 else a != 2)
    assert (model.actions((0.0,)), model.actions((3.0,))) == ([1], [0, 1])
    problem = gumdp.Problem(model, gumdp.StateEntropy(), 1.0, 12)
    for planner in (gumdp.Random(), gumdp.Greedy(), gumdp.MCTS.paper(30)):
        for seed in range(3):
            trial = gumdp.run_trial(problem, planner, seed)
            cells = trial.cells
            assert all(a == 1 if c < 2 else a != 2 for c, a in zip(cells, trial.actions, strict=True))
    env = gumdp.OccupancyEnv(problem)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [False, True, False]


def test_a_mask_that_leaves_nothing_or_is_no_truth_is_refused():
    with pytest.raises(gumdp.GumdpError, match="must leave an action"):
        walk(allowed=lambda x, a: x[0] > 1.0)
    with pytest.raises(gumdp.GumdpError, match="True or False"):
        walk(allowed=lambda x, a: 1.0)


def test_groups_of_single_pairs_are_the_entropy_and_groups_of_rows_that_of_states():
    rng = np.random.default_rng(1)
    for d in rng.dirichlet(np.ones(6), size=20).reshape(20, 3, 2):
        pairs, rows = gumdp.GroupEntropy(np.arange(6).reshape(3, 2)), gumdp.GroupEntropy([0, 1, 2])
        assert pairs.value(d) == pytest.approx(gumdp.Entropy().value(d), abs=1e-12)
        assert rows.value(d) == pytest.approx(gumdp.StateEntropy().value(d), abs=1e-12)


def test_the_ratio_of_a_run_is_one_total_over_the_other():
    late, all_of_it = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 0.0]])
    f = gumdp.Ratio(late, all_of_it, empty=0.25)
    assert f.value(np.array([[0.1, 0.3], [0.6, 0.0]])) == pytest.approx(0.25)
    assert f.value(np.array([[0.0, 0.0], [0.6, 0.4]])) == 0.25
    assert f.bounds((2, 2)) == (0.0, 1.0)
    assert not f.convex


# --- waiting ---


@pytest.mark.slow
def test_compiling_a_search_says_so_once_and_does_not_count_as_search(tmp_path: Path):
    code = (
        "import time, gumdp\n"
        "p = gumdp.Problem(gumdp.Tabular([[[1.0], [1.0]]]), gumdp.Linear([[0.0, 1.0]]), 0.5, 2)\n"
        "began = time.perf_counter()\n"
        "said = sum(gumdp.run_trial(p, gumdp.MCTS.paper(3)).seconds for _ in range(2))\n"
        "print(said / (time.perf_counter() - began))"
    )
    env = {**os.environ, "GUMDP_CACHE_DIR": str(tmp_path / "cache")}
    env.pop("GUMDP_QUIET", None)
    loud = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert loud.stderr.count("gumdp: compiling for this kind of problem") == 1
    assert float(loud.stdout) < 0.2  # two trials of two steps are milliseconds, and compiling is seconds
    again = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert again.stderr == ""


def test_compiling_is_not_counted_for_who_waits_for_it_and_counted_for_who_does_not():
    held, done, readings = threading.Event(), threading.Event(), []

    def compiles():
        with global_compiler_lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=compiles)
    before = time.perf_counter(), clock(), clock.whole()
    thread.start()
    held.wait()
    time.sleep(0.3)
    readings = [now - then for now, then in zip((time.perf_counter(), clock(), clock.whole()), before, strict=True)]
    done.set()
    thread.join()
    elapsed, mine, anybody = readings
    assert mine == pytest.approx(elapsed, abs=0.15)
    assert anybody < elapsed - 0.15
    with global_compiler_lock:
        before = time.perf_counter(), clock()
        time.sleep(0.3)
        assert clock() - before[1] < time.perf_counter() - before[0] - 0.15


@pytest.mark.parametrize(("inside", "name"), [("", "two"), (":problem", "two"), (":other", "other")])
def test_a_problem_in_a_file_is_called_what_it_is_called_there(tmp_path: Path, inside: str, name: str) -> None:
    made = "gumdp.Problem(gumdp.Tabular([[[1.0]]]), gumdp.Entropy(), 1.0, 2)"
    (tmp_path / "two.py").write_text(f"import gumdp\nproblem = {made}\nother = {made}\n")
    assert load_problem(f"{tmp_path / 'two.py'}{inside}").name == name


def test_a_model_file_with_any_byte_changed_is_read_whole_or_refused(tmp_path: Path):
    model, file = gumdp.zoo.load("m1-entropy").model, tmp_path / "model.npz"
    gumdp.save_model(model, file)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in [*range(60), *rng.integers(0, len(whole), 300).tolist()]:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
        try:
            found = gumdp.load_model(file)
        except gumdp.GumdpError:
            refused += 1
        else:
            assert np.array_equal(found.dense(), model.dense())
    assert refused > 100
