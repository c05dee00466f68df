"""What a stored trial is known by: settings with their types, contents of files, and the code that decides values."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gumdp
from clock import within
from gumdp.experiments.engines.local import Local
from gumdp.experiments.engines.work import BuildCache
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.code import Code
from gumdp.experiments.plan.experiment import Experiment
from gumdp.experiments.plan.identity import canonical, digest
from gumdp.experiments.plan.reading import read_experiment
from gumdp.experiments.plan.source import closure, package_digest
from gumdp.experiments.plan.version import APART
from gumdp.experiments.run import run
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store
from gumdp.report.story import read_story
from gumdp.zoo.registry import Entry
from own_code import forget

COMMAND = [sys.executable, "-c", "import sys; from gumdp.cli.main import main; sys.exit(main())"]
PACKAGE = Path(gumdp.__file__).parent


@pytest.fixture(autouse=True)
def own_code(tmp_path: Path):
    yield
    forget(tmp_path)


@pytest.fixture
def scaled(monkeypatch) -> None:
    """A problem of which ``mode`` and ``scale`` can be anything."""
    from gumdp.zoo import registry

    def build(mode: object = "a", scale: object = 1) -> gumdp.Problem:
        cost = float(scale) if not isinstance(scale, str) else 100.0
        model = gumdp.Tabular(np.ones((1, 1, 1)))
        return gumdp.Problem(model, gumdp.Linear([[cost + 10.0 * ("scale" in str(mode))]]), 0.9, 3)

    gumdp.zoo.names()
    entry = Entry("scaled", "its scale", build, {"mode": "a", "scale": 1})
    monkeypatch.setitem(registry._entries, "scaled", entry)


# --- settings ---


UNEQUAL = [
    {"scale": 1}, {"scale": "1"}, {"scale": True}, {"scale": None}, {"scale": [1]}, {"scale": [[1]]}, {"scale": 2},
    {"scale": {"a": 1}}, {"scale": {"a": "1"}}, {"scale": {1: "a"}}, {"scale": {"mapping": [[1, "a"]]}},
    {"mode": "a, scale=7"}, {"mode": "a", "scale": 7}, {"scale": 0.1}, {"scale": -0.0}, {"scale": 0},
    {"scale": np.array([1.0])}, {"scale": np.array([1])}, {"scale": np.array([[1.0]])}, {"scale": np.array([2.0])},
    {"scale": ((1,), 2)}, {"scale": ((1, 2),)}, {"scale": "None"}, {"scale": ""},
]  # fmt: skip


def test_different_settings_are_different_problems_whatever_they_look_like(scaled) -> None:
    arms = [Arm("scaled", "random", options) for options in UNEQUAL]
    for name in ("digest", "problem_key", "problem_digest"):
        assert len({getattr(arm, name) for arm in arms}) == len(arms)


def test_equal_settings_are_one_problem_however_they_are_written(scaled) -> None:
    same = [{}, {"scale": 1}, {"scale": 1.0}, {"scale": np.int64(1)}, {"mode": "a", "scale": np.float64(1.0)}]
    assert len({Arm("scaled", "random", options).digest for options in same}) == 1
    assert digest(canonical((1, 2.0))) == digest(canonical([1.0, 2]))


def test_a_label_tells_a_word_from_a_number(scaled) -> None:
    labels = [
        Arm("scaled", "random", options).problem_label for options in UNEQUAL[1:2] + UNEQUAL[6:7] + UNEQUAL[11:13]
    ]
    assert labels == ["scaled(scale='1')", "scaled(scale=2)", "scaled(mode='a, scale=7')", "scaled(scale=7)"]


@pytest.mark.slow
def test_problems_that_print_alike_are_built_bounded_and_reported_apart(scaled, tmp_path: Path) -> None:
    options = [{"mode": "a, scale=7"}, {"mode": "a", "scale": 7}, {"scale": "1"}, {"scale": 1}]
    arms = tuple(Arm("scaled", "random", each) for each in options)
    run(Experiment(arms, 2), tmp_path, Local(1), bounds=True)
    values = [11.0, 7.0, 100.0, 1.0]  # the one cost that there is
    with Store.read(tmp_path) as store:
        assert [store.values(stored).tolist() for stored in store.arms()] == [[v, v] for v in values]
        bounds = [store.finding("bound", arm.problem_digest, store.versions()[0])["value"] for arm in arms]
    assert bounds == pytest.approx(values)
    sections = read_story(tmp_path).sections
    assert [section.lines[0].best.mean for section in sections] == values
    assert [section.bound["value"] for section in sections] == pytest.approx(values)


def test_what_can_not_be_a_key_is_refused(scaled) -> None:
    with pytest.raises(gumdp.GumdpError, match=r"scaled: scale must be made of numbers, words, lists.*, not object"):
        Arm("scaled", "random", {"scale": object()})
    with pytest.raises(gumdp.GumdpError, match="a number of at most 4096 bits, not of 20001"):
        Arm("scaled", "random", {"scale": 1 << 20_000})
    with pytest.raises(gumdp.GumdpError, match="seed must be a number of at most 4096 bits"):
        Arm("scaled", "random", seed=1 << 20_000)


def test_a_changed_policy_s_file_is_another_line_of_the_report(tmp_path: Path) -> None:
    means = []
    for share in (0.9, 0.1):
        np.save(tmp_path / "policy.npy", np.array([[share, 1 - share]] * 3))
        arm = Arm("m1-entropy", "stationary", {}, {"policy": str(tmp_path / "policy.npy")})
        assert run(Experiment((arm,), 5), tmp_path / "out").played == 5
        policy = gumdp.Stationary(np.load(tmp_path / "policy.npy"))
        means.append(gumdp.evaluate(gumdp.zoo.load("m1-entropy"), policy, trials=5).mean)
    (section,) = read_story(tmp_path / "out").sections
    assert [line.best.mean for line in section.lines] == means
    assert len({line.name for line in section.lines}) == 2


def test_a_policy_s_file_that_changes_during_a_run_fails_its_trials(tmp_path: Path) -> None:
    np.save(tmp_path / "policy.npy", np.full((3, 2), 0.5))
    arm = Arm("m1-entropy", "stationary", {}, {"policy": str(tmp_path / "policy.npy")})
    np.save(tmp_path / "policy.npy", np.array([[1.0, 0.0]] * 3))
    with pytest.raises(gumdp.GumdpError, match="has changed since the run began"):
        BuildCache().planner(arm)


def test_an_option_whose_own_value_is_a_path_counts_by_what_is_in_the_file(monkeypatch, tmp_path: Path) -> None:
    from gumdp.zoo import registry

    (tmp_path / "own.npy").write_bytes(b"own")
    entry = Entry("filed", "of a file", lambda costs: None, {"costs": tmp_path / "own.npy"})
    gumdp.zoo.names()
    monkeypatch.setitem(registry._entries, "filed", entry)
    digests = []
    for content in (b"1", b"2", b"1"):
        (tmp_path / "costs.npy").write_bytes(content)
        digests.append(Arm("filed", "random", {"costs": str(tmp_path / "costs.npy")}).digest)
    assert digests[0] == digests[2] != digests[1]


# --- the user's code ---

MODULE = '''"""A problem."""
import gumdp
import numpy as np
from gumdp.zoo import Entry, register
import helper

def build(horizon=3):
    """One state."""
    return gumdp.Problem(gumdp.Tabular(np.ones((1, 1, 1))), gumdp.Linear([[helper.cost()]]), 0.9, horizon)

register(Entry("priced", "what helper says", build, {"horizon": 3}))
'''
HELPER = "import deeper\n\ndef cost():\n    return deeper.COST\n"


def write_code(folder: Path, cost: float = 1.0) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "priced.py").write_text(MODULE)
    (folder / "helper.py").write_text(HELPER)
    (folder / "deeper.py").write_text(f"COST = {cost}\n")
    path = folder / "plan.toml"
    path.write_text('trials = 3\nmodules = ["priced"]\nproblems = ["priced"]\nplanners = ["random"]\n')
    return path


def play(path: Path, trials: int) -> tuple[int, int, list[float]]:
    """(found, played, values of the version that ran last) of a run in a process of its own."""
    import json

    args = ["run", str(path), "--out", str(path.parent / "out"), "--trials", str(trials), "--json"]
    answer = subprocess.run([*COMMAND, *args], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    with Store.read(path.parent / "out") as store:
        (arm,) = store.arms(store.versions()[0])
        return facts["found"], facts["played"], store.values(arm).tolist()


@pytest.mark.slow
def test_a_changed_constant_two_imports_away_is_another_version(tmp_path: Path) -> None:
    """What the issue found: trials 0–4 of the old and 5–9 of the new, and one mean of both."""
    path = write_code(tmp_path / "code")
    assert play(path, 3) == (0, 3, [1.0] * 3)
    write_code(tmp_path / "code", cost=7.0)
    assert play(path, 5) == (0, 5, [7.0] * 5)
    for name, old, new in (
        ("priced", '"""One state."""', '"""Of one state, said differently."""'),
        ("deeper", "COST = 7.0\n", "# What it costs.\nCOST  =  7.0  # much\n"),
    ):
        file = tmp_path / "code" / f"{name}.py"
        file.write_text(file.read_text().replace(old, new))
    assert play(path, 6) == (5, 1, [7.0] * 6)
    shutil.copytree(tmp_path / "code", tmp_path / "moved")
    assert play(tmp_path / "moved" / "plan.toml", 6) == (6, 0, [7.0] * 6)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("deeper.py", "COST = 1.0", "COST = 1.5"),
        ("helper.py", "return deeper.COST", "return deeper.COST + 1"),
        ("helper.py", "import deeper", "import deeper as deeper"),
        ("priced.py", "horizon=3", "horizon=4"),
        ("priced.py", "0.9", "0.95"),
    ],
)
def test_every_change_of_the_user_s_code_changes_the_version(tmp_path: Path, file: str, old: str, new: str) -> None:
    write_code(tmp_path)
    before = closure("priced", [str(tmp_path), *sys.path])
    assert sorted(before) == ["deeper", "helper", "priced"]
    path = tmp_path / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert closure("priced", [str(tmp_path), *sys.path]) != before


def test_imports_are_found_in_packages_in_functions_and_by_name(tmp_path: Path) -> None:
    package = tmp_path / "own"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text("from . import near\nfrom .sub.far import x\nimport numpy\n")
    (package / "near.py").write_text("def f():\n    import inside\n    __import__('named')\n")
    (package / "sub").mkdir()
    (package / "sub" / "__init__.py").write_text("from ..other import y\n")
    for file in ("own/sub/far.py", "own/other.py", "inside.py", "named.py", "unused.py"):
        (tmp_path / file).write_text("x = y = 1\n")
    found = closure("own.main", [str(tmp_path), *sys.path])
    assert set(found) == {"own", "own.main", "own.near", "own.sub", "own.sub.far", "own.other", "inside", "named"}


def test_code_that_is_edited_after_its_import_is_refused(tmp_path: Path) -> None:
    path = write_code(tmp_path)
    plan = read_experiment(path)
    assert run(plan, tmp_path / "out").complete
    write_code(tmp_path, cost=2.0)
    with pytest.raises(gumdp.GumdpError, match="'priced' was changed after it was imported"):
        run(plan, tmp_path / "out")


def test_a_problem_of_a_module_that_nobody_named_is_known_by_its_code_too(tmp_path: Path) -> None:
    write_code(tmp_path)
    sys.path.append(str(tmp_path))
    import priced  # noqa: F401

    versions = {Experiment.grid([name], ["random"]).version for name in ("priced", "m1-entropy")}
    assert len(versions) == 2


def test_the_digest_of_a_user_s_code_takes_less_than_50_ms(tmp_path: Path) -> None:
    """Of a module of a thousand lines with ten others, by the clock of this process."""
    import time

    write_code(tmp_path)
    (tmp_path / "helper.py").write_text(HELPER + "".join(f"import part{k}\n" for k in range(10)))
    for k in range(10):
        (tmp_path / f"part{k}.py").write_text("".join(f"def f{i}(x):\n    return x * {i} + {k}\n" for i in range(50)))
    with within(0.05, time.process_time):
        closure("priced", [str(tmp_path), *sys.path])


# --- the package's own code ---


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("package") / "gumdp"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def edited(root: Path, file: str, old: str, new: str) -> str:
    """The digest with an edit, which is undone."""
    path = root / file
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1))
    try:
        return package_digest(root, APART)
    finally:
        path.write_text(before)


@pytest.mark.slow
def test_docstrings_comments_and_layout_leave_the_digest_of_the_package_alone(package: Path) -> None:
    whole = package_digest(package, APART)
    assert whole == package_digest(PACKAGE, APART)
    assert edited(package, "seeding.py", '"""Where randomness comes from', '"""Where chance comes from') == whole
    assert edited(package, "seeding.py", "POOL = 4  #", "POOL   =   4  # that is") == whole
    assert (
        edited(package, "report/story.py", "NAMES = {", "NAMES = {'x': 'y', ") == whole
    )  # it shows, and decides nothing


@pytest.mark.thorough
def test_every_change_of_the_package_s_code_changes_its_digest(package: Path) -> None:
    whole = package_digest(package, APART)
    changes = [
        edited(package, "seeding.py", "POOL = 4", "POOL = 5"),
        edited(package, "seeding.py", "0x43B0D7E5", "0x43B0D7E6"),
        edited(package, "errors.py", "number < least", "number <= least"),
        edited(package, "zoo/paper.py", "import", "import os\nimport"),
    ]
    assert len({whole, *changes}) == 5


def test_a_file_of_the_package_that_moves_leaves_the_digest_alone(package: Path) -> None:
    whole = package_digest(package, APART)
    (package / "dice").mkdir()
    (package / "dice" / "__init__.py").write_text('"""Dice."""\n')
    (package / "seeding.py").rename(package / "dice" / "seeds.py")
    changed = {}
    for path in package.rglob("*.py"):
        text = path.read_text()
        if "gumdp.seeding" in text:
            changed[path] = text
            path.write_text(text.replace("gumdp.seeding", "gumdp.dice.seeds"))
    assert len(changed) > 3
    assert package_digest(package, APART) == whole
    for path, text in changed.items():
        path.write_text(text)
    (package / "dice" / "seeds.py").rename(package / "seeding.py")
    shutil.rmtree(package / "dice")


def test_an_import_that_is_turned_to_another_module_changes_the_digest(tmp_path: Path) -> None:
    root = tmp_path / "small"
    root.mkdir()
    (root / "a.py").write_text("def f():\n    return 1\n")
    (root / "b.py").write_text("def f():\n    return 2\n")
    digests = set()
    for module in "ab":
        (root / "main.py").write_text(f"from small.{module} import f\n")
        digests.add(package_digest(root))
    assert len(digests) == 2


# --- files of the first layout ---


def first_layout(folder: Path) -> None:
    """A store as it was made before arms had seals."""
    from gumdp.experiments.store.layout import FIRST, OURS

    folder.mkdir()
    with sqlite3.connect(folder / "results.sqlite") as db:
        for statement in FIRST.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {OURS}")
        db.execute("PRAGMA user_version = 1")
        db.execute("INSERT INTO runs VALUES (1, '2026-01-01T00:00:00Z', '0.1.0+aaaaaaaa', 'local', '{}', 'gumdp run')")
        db.execute("INSERT INTO endings VALUES (1, '2026-01-01T00:00:01Z', 'complete', 1.5)")
        row = ("abc", "0.1.0+aaaaaaaa", "m1-entropy", '{"horizon": 20}', "random", "{}", "0")
        db.execute("INSERT INTO cells VALUES (1, ?, ?, ?, ?, ?, ?, ?)", row)
        db.executemany("INSERT INTO trials VALUES (1, ?, ?, 0.5, 'then', 1)", [(k, k / 7) for k in range(5)])
        data = np.arange(4.0)
        db.execute("INSERT INTO details VALUES (1, 0, 'occupancy', '[2, 2]', '<f8', ?)", (data.tobytes(),))
        db.execute("INSERT INTO failures VALUES (1, 9, 'boom', 'then', 1)")
        finding = ("bound", "m1-entropy(horizon=20)", "0.1.0+aaaaaaaa", '{"value": 0.25}')
        db.execute("INSERT INTO findings VALUES (?, ?, ?, ?, 1)", finding)
    db.close()


def look(folder: Path) -> list[object]:
    with Store.read(folder) as store:
        (arm,) = store.arms("0.1.0+aaaaaaaa")
        bound = store.finding("bound", arm.arm.problem_digest, "0.1.0+aaaaaaaa")
        kept = store.kept(arm, 0, "occupancy").tolist()
        failures = [(trial, text) for _, trial, text in store.failures()]
        return [arm.arm.label, store.numbered(arm), bound, kept, failures, store.runs()[0]["status"], arm.seconds]


def test_a_store_of_the_first_layout_is_read_as_it_is_and_brought_up_when_a_run_adds_to_it(tmp_path: Path) -> None:
    first_layout(tmp_path / "out")
    file = tmp_path / "out" / "results.sqlite"
    before = file.read_bytes()
    there = look(tmp_path / "out")
    assert there == [
        "m1-entropy(horizon=20) · random", {k: k / 7 for k in range(5)}, {"value": 0.25}, [[0.0, 1.0], [2.0, 3.0]],
        [(9, "boom")], "complete", 2.5,
    ]  # fmt: skip
    assert file.read_bytes() == before
    with Store.open(tmp_path / "out") as store:
        store.add(Arm("m1-entropy", "random"), [Outcome(0, 1.0, 1.0)])
    assert look(tmp_path / "out") == there
    with sqlite3.connect(file) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    db.close()


def test_names_of_modules_are_not_paths(tmp_path: Path) -> None:
    assert Code.named([]).digest() == ""
    (tmp_path / "json.py").write_text("")
    with pytest.raises(gumdp.GumdpError, match=re.escape("the module 'json' of")):
        Code.named(["json"], tmp_path)
    assert os.sep not in Code.named(["statistics"]).modules[0][0]
