"""The store's file: found, checked, made or refused, and locked for one run at a time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from gumdp.errors import GumdpError

FILE, LOCK = "results.sqlite", "running.lock"
OURS = 0x67756D64  # "gumd": SQLite's application_id, which says whose file it is
LAYOUT = 1  # SQLite's user_version: of the tables below

TABLES = """
CREATE TABLE runs (run INTEGER PRIMARY KEY, started TEXT, version TEXT, engine TEXT, machine TEXT, command TEXT);
CREATE TABLE endings (run INTEGER REFERENCES runs, ended TEXT, status TEXT, seconds REAL);
CREATE TABLE cells (
    cell INTEGER PRIMARY KEY, digest TEXT, version TEXT, problem TEXT, problem_options TEXT, planner TEXT,
    planner_options TEXT, seed TEXT, UNIQUE (digest, version)
);
CREATE TABLE trials (
    cell INTEGER REFERENCES cells, trial INTEGER, value REAL NOT NULL, seconds REAL, ended TEXT, run INTEGER,
    PRIMARY KEY (cell, trial)
) WITHOUT ROWID;
CREATE TABLE details (
    cell INTEGER, trial INTEGER, what TEXT, shape TEXT, kind TEXT, data BLOB, PRIMARY KEY (cell, trial, what)
) WITHOUT ROWID;
CREATE TABLE failures (cell INTEGER, trial INTEGER, message TEXT, ended TEXT, run INTEGER);
CREATE TABLE findings (what TEXT, digest TEXT, version TEXT, data TEXT, run INTEGER, UNIQUE (what, digest, version));
"""


def check_folder(folder: Path) -> None:
    """Refuse a folder that is used for something else."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise GumdpError(f"{folder} is a file; name a folder for the results.")
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise GumdpError(f"the folder {folder} can't be read: {error.strerror}.") from None
    other = [name for name in names if not name.startswith((FILE, LOCK, "."))]
    if other and FILE not in names:
        raise GumdpError(f"the folder {folder} holds something else ({sorted(other)[0]}); name a new or an empty one.")


def take_lock(folder: Path) -> sqlite3.Connection:
    """A lock that the system lets go of when the process ends, however it ends."""
    try:
        lock = sqlite3.connect(folder / LOCK, timeout=0.0, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise GumdpError(f"the folder {folder} can't be written to: {reason(error)}.") from None
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        if "locked" in str(error):
            message = f"another run is at work in {folder}; wait for it to end, or name another folder."
            raise GumdpError(message) from None
        raise GumdpError(f"the folder {folder} can't be written to: {reason(error)}.") from None
    return lock


def connect(path: Path, reading: bool = False) -> sqlite3.Connection:
    """A connection to a store's file: made whole if there is none, refused and left alone if it is not a store's."""
    try:
        connection = _look(path) if reading or path.exists() else None
        if reading and connection is not None:
            return connection
        if connection is not None:
            connection.close()
        connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {OURS}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise GumdpError(f"{path} can't be used: {reason(error)}. It is left as it is.") from None
    return connection


def _look(path: Path) -> sqlite3.Connection | None:
    """A connection to read a file that is there, after a check that it is a store's and whole; None if it is blank."""
    alone = not path.with_name(path.name + "-wal").exists()
    connection = None
    for options in ("mode=ro", "mode=ro&immutable=1"):  # the second for folders that can't be written to
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True, timeout=30.0)
            connection.execute("SELECT COUNT(*) FROM sqlite_master")
            break
        except sqlite3.OperationalError:
            if not alone or "immutable" in options:
                raise
    assert connection is not None
    (whose,), (layout,) = (
        connection.execute(f"PRAGMA {word}").fetchone() for word in ("application_id", "user_version")
    )
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if whose == 0 and tables == 0:  # a run ended before it wrote anything
        connection.close()
        return None
    if whose != OURS:
        raise GumdpError(f"{path} is a database of some other program. It is left as it is; name another folder.")
    if layout != LAYOUT:
        raise GumdpError(f"{path} has the layout {layout}, and this version of gumdp knows the layout {LAYOUT}.")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"it is damaged: {' '.join(verdict.split())}")
    return connection


def reason(error: sqlite3.Error) -> str:
    """What SQLite says, in words that say what to do."""
    text = str(error)
    if "full" in text:
        return "the disk is full; make room and run the same command again"
    if "readonly" in text or "unable to open" in text:
        return "it can't be written to or opened"
    if "not a database" in text:
        return "it is not a database"
    if "malformed" in text:
        return "it is damaged: the database disk image is malformed"
    return text
