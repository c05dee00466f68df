"""A store that loses nothing: an SQLite file in the output folder, with one row a trial as soon as it ends.

Rows are only ever added. A trial belongs to a cell, and a cell to a version of the code: what another version made
is kept beside it and never mixed in. A folder takes one run at a time; reading is always possible. The file is in
write-ahead mode, so that a process can be killed at any moment: what it committed is there, what it did not is not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gumdp.errors import GumdpError
from gumdp.experiments.plan.arm import Cell
from gumdp.experiments.plan.version import version
from gumdp.experiments.store.database import FILE, check_folder, connect, reason, take_lock
from gumdp.experiments.store.outcome import Outcome
from gumdp.results import Array

NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"


class StoreError(Exception):
    """The store can't take more: what is in it stays."""


@dataclass(frozen=True)
class StoredCell:
    """A cell of the store with what is known of its trials."""

    cell: Cell
    version: str
    number: int  # of the cell in this store
    trials: int
    seconds: float  # of all its trials together
    failures: int


class Store:
    """The results in a folder. ``Store.open`` to add to them, ``Store.read`` to look at them."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None) -> None:
        self.folder, self._connection, self._lock = folder, connection, lock
        self._numbers: dict[str, int] = {}
        self.run = 0

    # --- opening and closing ---

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """The store of ``folder``, made if need be, for one run alone until it is closed."""
        folder = Path(folder)
        check_folder(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GumdpError(f"the folder {folder} can't be made: {error.strerror}.") from None
        lock = take_lock(folder)
        try:
            connection = connect(folder / FILE)
        except BaseException:
            lock.close()
            raise
        return cls(folder, connection, lock)

    @classmethod
    def read(cls, folder: str | Path) -> Store:
        """The store of ``folder``, to look at, also while a run adds to it."""
        folder = Path(folder)
        if not (folder / FILE).is_file():
            raise GumdpError(f"{folder} holds no results: there is no {FILE} in it.")
        return cls(folder, connect(folder / FILE, reading=True), None)

    def close(self) -> None:
        """Let go of the folder."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- adding ---

    def begin(self, engine: str, machine: dict[str, Any], command: str) -> int:
        """Note that a run begins; what is added from now on is noted as its."""
        with self._transaction() as db:
            row = (version(), engine, json.dumps(machine), command)
            cursor = db.execute(
                f"INSERT INTO runs (started, version, engine, machine, command) VALUES ({NOW}, ?, ?, ?, ?)", row
            )
        self.run = int(cursor.lastrowid or 0)
        return self.run

    def end(self, status: str, seconds: float) -> None:
        """Note how the run ended."""
        with self._transaction() as db:
            db.execute(f"INSERT INTO endings VALUES (?, {NOW}, ?, ?)", (self.run, status, seconds))

    def add(self, cell: Cell, outcomes: Iterable[Outcome]) -> None:
        """Add trials that ended, all of them or none. A trial that is there already stays as it is."""
        with self._transaction() as db:
            number = self._number(cell)
            for o in outcomes:
                if o.error is not None:
                    row = (number, o.trial, o.error, self.run)
                    db.execute(f"INSERT INTO failures VALUES (?, ?, ?, {NOW}, ?)", row)
                    continue
                values = (number, o.trial, o.value, o.seconds, self.run)
                db.execute(f"INSERT OR IGNORE INTO trials VALUES (?, ?, ?, ?, {NOW}, ?)", values)
                for what, array in o.kept.items():
                    shape, kind = json.dumps(array.shape), array.dtype.str
                    details = (number, o.trial, what, shape, kind, np.ascontiguousarray(array).tobytes())
                    db.execute("INSERT OR IGNORE INTO details VALUES (?, ?, ?, ?, ?, ?)", details)

    def note(self, what: str, digest: str, data: dict[str, Any]) -> None:
        """Add a finding, such as a bound of a problem, unless this version has found it already."""
        with self._transaction() as db:
            row = (what, digest, version(), json.dumps(data), self.run)
            db.execute("INSERT OR IGNORE INTO findings VALUES (?, ?, ?, ?, ?)", row)

    def _number(self, cell: Cell) -> int:
        digest = cell.digest
        if digest not in self._numbers:
            facts = cell.plain()
            row = (
                digest, version(), cell.problem, json.dumps(facts["problem_options"]), cell.planner,
                json.dumps(facts["planner_options"]), str(cell.seed),
            )  # fmt: skip
            columns = "digest, version, problem, problem_options, planner, planner_options, seed"
            self._connection.execute(f"INSERT OR IGNORE INTO cells ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            found = self._connection.execute(
                "SELECT cell FROM cells WHERE digest = ? AND version = ?", (digest, version())
            )
            self._numbers[digest] = int(found.fetchone()[0])
        return self._numbers[digest]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; what goes wrong is said in a sentence."""
        db = self._connection
        known = dict(self._numbers)
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException as error:
            self._numbers = known
            if db.in_transaction:
                db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(
                    f"{self.folder / FILE}: {reason(error)}; all that was stored before is kept."
                ) from error
            raise

    # --- looking ---

    def done(self, cell: Cell) -> set[int]:
        """The numbers of the trials of ``cell`` that this version of the code has made."""
        query = "SELECT trial FROM trials JOIN cells USING (cell) WHERE digest = ? AND version = ?"
        return {row[0] for row in self._connection.execute(query, (cell.digest, version()))}

    def versions(self) -> list[str]:
        """The versions whose trials are here, the one that began last first."""
        query = "SELECT version FROM runs GROUP BY version ORDER BY MAX(run) DESC"
        return [row[0] for row in self._connection.execute(query)]

    def cells(self, of: str | None = None) -> list[StoredCell]:
        """The cells made by the version ``of``, or by all, in the order in which they were begun."""
        query = """
            SELECT cells.*, (SELECT COUNT(*) FROM trials t WHERE t.cell = cells.cell),
                (SELECT COALESCE(SUM(seconds), 0) FROM trials t WHERE t.cell = cells.cell),
                (SELECT COUNT(DISTINCT trial) FROM failures f WHERE f.cell = cells.cell
                    AND NOT EXISTS (SELECT 1 FROM trials t WHERE t.cell = f.cell AND t.trial = f.trial))
            FROM cells WHERE version = COALESCE(?, version) ORDER BY cell"""
        return [_stored(row) for row in self._connection.execute(query, (of,))]

    def values(self, stored: StoredCell) -> Array:
        """The values of the trials 0, 1, … of a cell, as far as they are there without a gap or not."""
        query = "SELECT value FROM trials WHERE cell = ? ORDER BY trial"
        return np.array([row[0] for row in self._connection.execute(query, (stored.number,))], dtype=np.float64)

    def numbered(self, stored: StoredCell) -> dict[int, float]:
        """Trial numbers with their values, for comparisons trial by trial."""
        query = "SELECT trial, value FROM trials WHERE cell = ? ORDER BY trial"
        return dict(self._connection.execute(query, (stored.number,)).fetchall())

    def kept(self, stored: StoredCell, trial: int, what: str) -> Array | None:
        """The ``occupancy`` [S, A], the ``actions`` [T] or the ``states`` of a trial, where they were kept."""
        query = "SELECT shape, kind, data FROM details WHERE cell = ? AND trial = ? AND what = ?"
        row = self._connection.execute(query, (stored.number, trial, what)).fetchone()
        return None if row is None else np.frombuffer(row[2], dtype=row[1]).reshape(json.loads(row[0]))

    def finding(self, what: str, digest: str, of: str | None = None) -> dict[str, Any] | None:
        """What was noted, by the version ``of`` or by the running one."""
        query = "SELECT data FROM findings WHERE what = ? AND digest = ? AND version = ?"
        row = self._connection.execute(query, (what, digest, of or version())).fetchone()
        return None if row is None else json.loads(row[0])

    def failures(self) -> list[tuple[StoredCell, int, str]]:
        """Trials that failed and were not made since: (cell, trial, message)."""
        by_number = {stored.number: stored for stored in self.cells()}
        query = """SELECT cell, trial, MAX(message) FROM failures f WHERE NOT EXISTS
            (SELECT 1 FROM trials t WHERE t.cell = f.cell AND t.trial = f.trial) GROUP BY cell, trial"""
        return [(by_number[n], trial, message) for n, trial, message in self._connection.execute(query)]

    def runs(self) -> list[dict[str, Any]]:
        """Every run into this folder: when, on what, how it ended."""
        query = """SELECT run, started, version, engine, machine, command, ended, status, seconds
            FROM runs LEFT JOIN endings USING (run) ORDER BY run"""
        names = ("run", "started", "version", "engine", "machine", "command", "ended", "status", "seconds")
        rows = [dict(zip(names, row, strict=True)) for row in self._connection.execute(query)]
        return [{**row, "machine": json.loads(row["machine"])} for row in rows]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Every trial, one after another: what exports write. See ``COLUMNS``."""
        query = """SELECT problem, problem_options, planner, planner_options, seed, trial, value, seconds, ended,
            version, digest FROM trials JOIN cells USING (cell) ORDER BY cell, trial"""
        yield from self._connection.execute(query)


COLUMNS = (
    "problem", "problem_options", "planner", "planner_options", "seed", "trial", "value", "seconds", "ended", "version",
    "cell",
)  # fmt: skip


def _stored(row: tuple[Any, ...]) -> StoredCell:
    number, _, made, problem, problem_options, planner, planner_options, seed, trials, seconds, failures = row
    cell = Cell.restored(problem, planner, json.loads(problem_options), json.loads(planner_options), int(seed))
    return StoredCell(cell, made, number, trials, seconds, failures)
