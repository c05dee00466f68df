"""The tables of a store, and how a file of an older layout becomes one of this.

Every row ends with its seal. A row of ``tallies`` stands for all rows of a table, or of a table's part that belongs to
one arm: ``"arms"``, ``"trials 3"``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from gumdp.experiments.plan.identity import called, digest, dumps
from gumdp.experiments.store.seal import Tally, seal

OURS = 0x67756D64  # "gumd": SQLite's application_id, which says whose file it is
LAYOUT = 2  # SQLite's user_version: of the tables below
KNOWN = (1, 2)

TABLES = """
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, started TEXT, version TEXT, engine TEXT, machine TEXT, command TEXT, seal INTEGER
);
CREATE TABLE endings (run INTEGER, ended TEXT, status TEXT, seconds REAL, seal INTEGER);
CREATE TABLE arms (
    arm INTEGER PRIMARY KEY, digest TEXT, version TEXT, problem TEXT, problem_options TEXT, planner TEXT,
    planner_options TEXT, seed TEXT, identity TEXT, seal INTEGER, UNIQUE (digest, version)
);
CREATE TABLE trials (
    arm INTEGER, trial INTEGER, value REAL NOT NULL, seconds REAL, ended TEXT, run INTEGER, seal INTEGER,
    PRIMARY KEY (arm, trial)
) WITHOUT ROWID;
CREATE TABLE details (
    arm INTEGER, trial INTEGER, what TEXT, shape TEXT, kind TEXT, data BLOB, seal INTEGER,
    PRIMARY KEY (arm, trial, what)
) WITHOUT ROWID;
CREATE TABLE failures (arm INTEGER, trial INTEGER, message TEXT, ended TEXT, run INTEGER, seal INTEGER);
CREATE TABLE findings (
    what TEXT, digest TEXT, version TEXT, data TEXT, run INTEGER, seal INTEGER, UNIQUE (what, digest, version)
);
CREATE TABLE tallies (name TEXT PRIMARY KEY, rows INTEGER, total INTEGER, seal INTEGER) WITHOUT ROWID
"""

FIRST = """
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
CREATE TABLE findings (what TEXT, digest TEXT, version TEXT, data TEXT, run INTEGER, UNIQUE (what, digest, version))
"""
NAMES = ("runs", "endings", "arms", "trials", "details", "failures", "findings", "tallies")


def odd_part(connection: sqlite3.Connection, number: int) -> str | None:
    """What is not as the layout of that number has it, in a few words; None if all is."""
    wanted = {" ".join(statement.split()) for statement in (FIRST if number == 1 else TABLES).split(";")}
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        statement = " ".join(str(sql).split())
        if kind == "index" and sql is None and str(name).startswith("sqlite_autoindex_"):
            continue
        if kind == "table" and statement in wanted:
            wanted.remove(statement)
            continue
        return f"there is a {kind} {' '.join(repr(name).split())[:60]} in it that is not a store's"
    return f"the table {sorted(wanted)[0].split()[2]} is missing" if wanted else None


def bring_up(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file, or those of this layout out of an older one; all else is left as it is."""
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and number == LAYOUT:
        return
    old = _take_out(connection) if tables else {}
    for statement in TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {OURS}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
    if old:
        _put_in(connection, old)


def _take_out(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the first layout; its tables are dropped."""
    names = ("runs", "endings", "cells", "trials", "details", "failures", "findings")
    rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    for name in names:
        connection.execute(f"DROP TABLE {name}")
    return rows


def _put_in(connection: sqlite3.Connection, old: dict[str, list[tuple[Any, ...]]]) -> None:
    digests: dict[str, str] = {}  # of problems, by what they were called
    arms = []
    for arm, key, version, problem, problem_options, planner, planner_options, seed in old["cells"]:
        facts = json.loads(problem_options), json.loads(planner_options)
        # The first layout did not keep what was in a policy's file, but its digest knew: such arms stay apart.
        known = {**facts[1], "digest": key} if planner == "stationary" else facts[1]
        identity = {"problem": [problem, facts[0]], "planner": [planner, known], "seed": int(seed)}
        digests[_old_label(problem, facts[0])] = digest(identity["problem"])
        texts = (problem, problem_options, planner, planner_options, seed, dumps(identity))
        arms.append((arm, key, version, *texts))
    add_rows(connection, "arms", arms)
    for name in ("runs", "endings", "failures"):
        add_rows(connection, name, old[name])
    findings = [(what, digests.get(label, label), *rest) for what, label, *rest in old["findings"]]
    add_rows(connection, "findings", findings)
    for name in ("trials", "details"):
        for arm in sorted({row[0] for row in old[name]}):
            add_rows(connection, name, [row for row in old[name] if row[0] == arm], arm)


def _old_label(problem: str, options: dict[str, Any]) -> str:
    inside = ", ".join(f"{k}={v}" for k, v in options.items())
    return f"{problem}({inside})" if inside else called(problem, {})


def add_rows(
    connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]], arm: int | None = None
) -> int:
    """Add rows with their seals, but for those that are there already, and count them; return how many were added."""
    if not rows:
        return 0
    marks = ", ".join("?" * (len(rows[0]) + 1))
    added = []
    for row in rows:
        mark = seal(table, *row)
        if connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", (*row, mark)).rowcount == 1:
            added.append(mark)
    if added:
        name = table if arm is None else f"{table} {arm}"
        tally = read_tally(connection, name).plus(len(added), sum(added))
        facts = (name, tally.rows, tally.total)
        connection.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?, ?, ?)", (*facts, seal("tallies", *facts)))
    return len(added)


def read_tally(connection: sqlite3.Connection, name: str) -> Tally:
    """The tally of that name; an empty one if there is none."""
    row = connection.execute("SELECT * FROM tallies WHERE name = ?", (name,)).fetchone()
    if row is None:
        return Tally()
    if seal("tallies", *row[:3]) != row[3]:
        raise sqlite3.DatabaseError(f"it is damaged: the count of {name} is not what was stored")
    return Tally(row[1], row[2])
