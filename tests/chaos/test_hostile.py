"""Folders of results from strangers: one sentence and the exit code 2, no hang, and nothing in them is run."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clock import in_time
from gumdp.cli.main import main
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.version import version
from gumdp.experiments.store.layout import TABLES, add_rows
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store

FILE = "results.sqlite"
Attack = Callable[[Path], None]
ATTACKS: dict[str, Attack] = {}


def attack(make: Attack) -> Attack:
    ATTACKS[make.__name__.replace("_", " ")] = make
    return make


def good(folder: Path) -> None:
    with Store.open(folder) as store:
        store.begin("local", {}, "test")
        store.add(Arm("m1-entropy", "random", {"horizon": 5}), [Outcome(k, 0.5, 0.1) for k in range(3)])
        store.end("complete", 1.0)
    (folder / "running.lock").unlink()


def changed(*statements: str) -> Attack:
    """A store after some SQL."""

    def make(folder: Path) -> None:
        good(folder)
        db = sqlite3.connect(folder / FILE, isolation_level=None)
        for statement in statements:
            db.execute(statement)
        db.close()

    return make


def resealed(table: str, row: tuple[object, ...], arm: int | None = None) -> Attack:
    """A store with a row more, which has a right seal."""

    def make(folder: Path) -> None:
        good(folder)
        db = sqlite3.connect(folder / FILE, isolation_level=None)
        db.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table})" if arm is None else "SELECT 1")
        db.execute("DELETE FROM tallies WHERE name = ?", (table,))
        add_rows(db, table, [row], arm)
        db.close()

    return make


@attack
def a_pipe_for_a_database(folder: Path) -> None:
    os.mkfifo(folder / FILE)


@attack
def a_pipe_for_a_log(folder: Path) -> None:
    good(folder)
    os.mkfifo(folder / (FILE + "-wal"))


@attack
def a_pipe_for_shared_memory(folder: Path) -> None:
    good(folder)
    os.mkfifo(folder / (FILE + "-shm"))


@attack
def a_pipe_for_a_journal(folder: Path) -> None:
    good(folder)
    os.mkfifo(folder / (FILE + "-journal"))


@attack
def a_pipe_for_a_lock(folder: Path) -> None:
    good(folder)
    os.mkfifo(folder / "running.lock")


@attack
def a_folder_for_a_database(folder: Path) -> None:
    (folder / FILE).mkdir()


@attack
def a_link_to_nowhere(folder: Path) -> None:
    (folder / FILE).symlink_to(folder / "nowhere")


@attack
def a_link_in_a_circle(folder: Path) -> None:
    (folder / FILE).symlink_to(folder / FILE)


@attack
def a_link_to_a_device_without_end(folder: Path) -> None:
    (folder / FILE).symlink_to("/dev/zero")


@attack
def a_lock_that_is_a_link(folder: Path) -> None:
    good(folder)
    (folder / "running.lock").symlink_to(folder / FILE)


@attack
def noise(folder: Path) -> None:
    (folder / FILE).write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 100)


@attack
def a_header_and_no_more(folder: Path) -> None:
    good(folder)
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:100])


@attack
def a_log_of_another_file(folder: Path) -> None:
    good(folder)
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-5000])
    (folder / (FILE + "-wal")).write_bytes(os.urandom(5000))


VIEW = "CREATE VIEW trials AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
LONG = "[" * 100_000 + "]" * 100_000
ROW = (1, "d", version(), "m1-entropy", "{}", "random", "{}", "0", "{}")
ATTACKS |= {
    "a view without end": changed("DROP TABLE trials", VIEW),
    "a view of something else": changed("ALTER TABLE trials RENAME TO t", "CREATE VIEW trials AS SELECT * FROM t"),
    "a trigger": changed("CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END"),
    "an index with an expression": changed("CREATE INDEX i ON trials (abs(value))"),
    "a column too many": changed("ALTER TABLE trials ADD COLUMN more TEXT"),
    "a column that is computed": changed("ALTER TABLE trials ADD COLUMN more AS (zeroblob(1000000))"),
    "a table of something else": changed("CREATE TABLE more (x)"),
    "another layout": changed("PRAGMA user_version = 77"),
    "the first layout by name only": changed("PRAGMA user_version = 1"),
    "letters that are no text": changed("UPDATE arms SET problem = CAST(x'ff00fe' AS TEXT)"),
    "a word for a value": changed("UPDATE trials SET value = 'much' WHERE trial = 1"),
    "options that are no JSON": resealed("arms", (*ROW[:4], "{", *ROW[5:])),
    "options that are a list": resealed("arms", (*ROW[:4], "[]", *ROW[5:])),
    "options without end": resealed("arms", (*ROW[:4], LONG, *ROW[5:])),
    "a seed that is a word": resealed("arms", (*ROW[:7], "one", ROW[8])),
    "a seed of a million digits": resealed("arms", (*ROW[:7], "9" * 1_000_000, ROW[8])),
    "an identity of nothing": resealed("arms", ROW),
    "a planner that is a number": resealed("arms", (*ROW[:5], 7, *ROW[6:])),
    "a machine that is no table": resealed("runs", (1, "then", version(), "local", "3", "gumdp")),
    "a failure of nobody": resealed("failures", (99, 0, "boom", "then", 1)),
}
for name in TABLES.split("CREATE TABLE ")[1:]:
    ATTACKS[f"no {name.split()[0]}"] = changed(f"DROP TABLE {name.split()[0]}")


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= 35


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_a_hostile_folder_is_refused_in_a_sentence(capsys, tmp_path: Path, plan: Path, name: str, count) -> None:
    for line in (["results", "{}"], ["report", "{}"], ["run", str(plan), "--out", "{}"]):
        folder = tmp_path / line[0]
        folder.mkdir()
        ATTACKS[name](folder)
        began = time.monotonic()
        code = main([word.format(folder) for word in line])
        spent = time.monotonic() - began
        out, err = capsys.readouterr()
        said = err.splitlines()
        assert (code, out) == (2, ""), err
        assert len(said) == 1
        assert "a bug" not in err
        assert "Traceback" not in err
        assert in_time(spent, 2.0)
        count("hostile folders", "refused in a sentence")
        shutil.rmtree(folder)
