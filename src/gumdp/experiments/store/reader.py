"""Looking into a store: every row is verified when it is read, and what is wrong with it is said in a sentence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gumdp.errors import GumdpError
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.plan.version import version
from gumdp.experiments.store.database import FILE, NONSENSE, reason
from gumdp.experiments.store.layout import read_tally
from gumdp.experiments.store.seal import Tally, seal
from gumdp.results import Array

KEPT = {"occupancy": ("occupancy",), "trajectory": ("states", "actions"), "totals": ("totals",)}  # by what asks for it
ORDERED = {"trials": 2, "details": 3}  # tables that are kept in the order of their first columns
COLUMNS = (
    "problem", "problem_options", "planner", "planner_options", "seed", "trial", "value", "seconds", "ended", "version",
    "arm",
)  # fmt: skip


@dataclass(frozen=True)
class StoredArm:
    """An arm of the store with what is known of its trials."""

    arm: Arm
    version: str
    number: int  # of the arm in this store
    trials: int
    seconds: float  # of all its trials together
    failures: int

    @property
    def cell(self) -> Arm:
        """The arm, by its old name."""
        return self.arm


class Reader:
    """What is in a store."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, of: str | None = None) -> None:
        self.folder, self._connection, self._of = folder, connection, of
        self._good: dict[str, Tally] = {}  # what has been verified
        self._known: dict[tuple[str, str], int] = {}  # the number of each arm, by digest and version
        self._alone = False  # nobody else adds to it

    def look_through(self) -> None:
        """Verify all tables that are small, and refuse a store in which they are not as they should be."""
        with self._looking() as db:
            self._known = {row[1:3]: row[0] for row in self._rows("arms") if _restored(row)}
            for row in self._rows("runs"):
                _table(row[4])
            for row in self._rows("findings"):
                _table(row[3])
            owners = {row[0] for row in self._rows("failures")}
            for table in ("trials", "details"):
                owners |= {row[0] for row in db.execute(f"SELECT DISTINCT arm FROM {table}")}
            if not owners <= set(self._known.values()):
                raise sqlite3.DatabaseError("it is damaged: an arm of which there are trials is missing")
            for _ in self._rows("endings"):
                pass

    @property
    def version(self) -> str:
        """The version of the code whose trials are added and counted."""
        return self._of or version()

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        """One state of the file for all that is read inside; what goes wrong is said in a sentence."""
        db = self._connection
        mine = not db.in_transaction
        try:
            if mine:
                db.execute("BEGIN")
            yield db
        except sqlite3.Error as error:
            raise GumdpError(f"{self.folder / FILE} can't be used: {reason(error)}. It is left as it is.") from None
        except NONSENSE as error:
            if isinstance(error, GumdpError):
                raise
            message = f"{self.folder / FILE} can't be used: it holds what no store has. It is left as it is."
            raise GumdpError(message) from None
        finally:
            if mine and db.in_transaction:
                db.execute("ROLLBACK")

    def _rows(self, table: str, arm: int | None = None) -> Iterator[tuple[Any, ...]]:
        """The rows of a table, or of an arm in it, each of them verified, and their order too; inside ``_looking``."""
        db = self._connection
        name = table if arm is None else f"{table} {arm}"
        where = "" if arm is None else "WHERE arm = ?"
        rows = total = 0
        last: tuple[Any, ...] = ()
        for row in db.execute(f"SELECT * FROM {table} {where}", () if arm is None else (arm,)):
            if seal(table, *row[:-1]) != row[-1]:
                raise sqlite3.DatabaseError(f"it is damaged: a row of {name} is not what was stored")
            key = row[1 : ORDERED.get(table, 1)]
            if rows and key <= last and key:  # where rows are looked up by their order, they must have it
                raise sqlite3.DatabaseError(f"it is damaged: rows of {name} are out of order")
            rows, total, last = rows + 1, total + row[-1], key
            yield row[:-1]
        self._check(name, Tally().plus(rows, total))

    def _check(self, name: str, found: Tally) -> None:
        if found != read_tally(self._connection, name):
            raise sqlite3.DatabaseError(f"it is damaged: rows of {name} are missing, or there are too many")
        self._good[name] = found

    def _verify(self, table: str, arm: int) -> None:
        """Verify the rows of an arm, once; inside ``_looking``."""
        name = f"{table} {arm}"
        if self._good.get(name) != read_tally(self._connection, name) or name not in self._good:
            for _ in self._rows(table, arm):
                pass

    def done(self, arm: Arm, keep: Sequence[str] = ()) -> set[int]:
        """The numbers of the trials of ``arm`` that this version has made, with what is to be kept of each."""
        with self._looking() as db:
            found = self._find(arm)
            if found is None:
                return set()
            self._verify("trials", found[0])
            made = {row[0] for row in db.execute("SELECT trial FROM trials WHERE arm = ?", found)}
            for what in [part for word in keep for part in KEPT[word]]:
                query = "SELECT trial FROM details WHERE arm = ? AND what = ?"
                made &= {row[0] for row in db.execute(query, (*found, what))}
            return made

    def _find(self, arm: Arm) -> tuple[int] | None:
        """The number of an arm of this version; inside ``_looking``. No index is trusted with it."""
        key = arm.digest, self.version
        if key not in self._known and not self._alone:  # another process may have added it
            self._known = {row[1:3]: row[0] for row in self._rows("arms")}
        return (self._known[key],) if key in self._known else None

    def versions(self) -> list[str]:
        """The versions whose trials are here, the one that began last first."""
        with self._looking():
            return list(dict.fromkeys(row[2] for row in reversed(list(self._rows("runs")))))

    def arms(self, of: str | None = None) -> list[StoredArm]:
        """The arms made by the version ``of``, or by all, in the order in which they were begun."""
        with self._looking() as db:
            stored = [row for row in self._rows("arms") if of is None or row[2] == of]
            failed = self._failed()
            known = []
            for row in stored:
                self._verify("trials", row[0])
                query = "SELECT COUNT(*), COALESCE(SUM(seconds), 0.0) FROM trials WHERE arm = ?"
                trials, seconds = db.execute(query, row[:1]).fetchone()
                failures = len({trial for number, trial in failed if number == row[0]})
                known.append(StoredArm(_restored(row), row[2], row[0], trials, seconds, failures))
            return known

    def chosen(
        self, problem: str | None = None, planner: str | None = None, seed: int | None = None, old: bool = False
    ) -> list[StoredArm]:
        """The arms of the version that ran last, or with ``old`` of all, filtered by parts of names."""
        versions = self.versions()
        return [
            stored
            for stored in self.arms(versions[0] if versions and not old else None)
            if (problem is None or problem in stored.arm.problem_label)
            and (planner is None or planner in stored.arm.planner_label)
            and (seed is None or seed == stored.arm.seed)
        ]

    def values(self, stored: StoredArm) -> Array:
        """The values of the trials 0, 1, … of an arm, as far as they are there without a gap or not."""
        return np.array(list(self.numbered(stored).values()), dtype=np.float64)

    def numbered(self, stored: StoredArm) -> dict[int, float]:
        """Trial numbers with their values, for comparisons trial by trial."""
        with self._looking() as db:
            self._verify("trials", stored.number)
            query = "SELECT trial, value FROM trials WHERE arm = ? ORDER BY trial"
            return dict(db.execute(query, (stored.number,)).fetchall())

    def kept(self, stored: StoredArm, trial: int, what: str) -> Array | None:
        """The ``occupancy`` [S, A], the ``actions`` [T] or the ``states`` of a trial, where they were kept."""
        with self._looking() as db:
            name, number = f"details {stored.number}", (stored.number,)
            if name not in self._good:
                (rows,) = db.execute("SELECT COUNT(*) FROM details WHERE arm = ?", number).fetchone()
                tally = read_tally(db, name)
                self._check(name, Tally(rows, tally.total))
            row = db.execute(
                "SELECT * FROM details WHERE arm = ? AND trial = ? AND what = ?", (*number, trial, what)
            ).fetchone()
            if row is None:
                return None
            if seal("details", *row[:-1]) != row[-1]:
                raise sqlite3.DatabaseError(f"it is damaged: the {what} of trial {trial} is not what was stored")
            kind = np.dtype(row[4])
            if kind.kind not in "biuf":
                raise ValueError
            return np.frombuffer(row[5], dtype=kind).reshape(json.loads(row[3]))

    def finding(self, what: str, key: str, of: str | None = None) -> dict[str, Any] | None:
        """What was noted, by the version ``of`` or by the running one."""
        wanted = (what, key, of or self.version)
        with self._looking():
            found = [row for row in self._rows("findings") if row[:3] == wanted]
            return _table(found[0][3]) if found else None

    def failures(self) -> list[tuple[StoredArm, int, str]]:
        """Trials that failed and were not made since: (arm, trial, message)."""
        by_number = {stored.number: stored for stored in self.arms()}
        with self._looking():
            return [(by_number[arm], trial, message) for (arm, trial), message in sorted(self._failed().items())]

    def _failed(self) -> dict[tuple[int, int], str]:
        """The last message of each trial that failed and was not made since, by arm and trial."""
        query, db = "SELECT 1 FROM trials WHERE arm = ? AND trial = ?", self._connection
        messages = {(arm, trial): message for arm, trial, message, *_ in self._rows("failures")}
        for arm in {arm for arm, _ in messages}:
            self._verify("trials", arm)
        return {key: message for key, message in messages.items() if db.execute(query, key).fetchone() is None}

    def runs(self) -> list[dict[str, Any]]:
        """Every run into this folder: when, on what, how it ended."""
        names = ("run", "started", "version", "engine", "machine", "command", "ended", "status", "seconds")
        with self._looking():
            endings = {run: rest for run, *rest in self._rows("endings")}
            rows = [(*row, *endings.get(row[0], (None, None, None))) for row in self._rows("runs")]
            return [{**dict(zip(names, row, strict=True)), "machine": _table(row[4])} for row in rows]

    def rows(self, arms: Iterable[StoredArm] | None = None) -> Iterator[tuple[Any, ...]]:
        """Every trial, or those of some arms, one after another: what exports write. See ``COLUMNS``."""
        for stored in self.arms() if arms is None else arms:
            arm, options = stored.arm, stored.arm.plain()
            texts = json.dumps(options["problem_options"]), json.dumps(options["planner_options"])
            facts = (arm.problem, texts[0], arm.planner, texts[1], str(arm.seed))
            with self._looking():
                for _, trial, value, seconds, ended, _ in self._rows("trials", stored.number):
                    yield (*facts, trial, value, seconds, ended, stored.version, arm.digest)

    cells = arms  # the old word, for rooms that still say it


def _restored(row: tuple[Any, ...]) -> Arm:
    _, _, _, problem, problem_options, planner, planner_options, seed, identity = row
    options, known = (_table(problem_options), _table(planner_options)), _table(identity)
    for name, part in ((problem, known["problem"]), (planner, known["planner"])):
        if not isinstance(name, str) or part[0] != name or not isinstance(part[1], dict):
            raise TypeError
    return Arm.restored(problem, planner, *options, int(seed), identity=known)


def _table(text: str) -> dict[str, Any]:
    table = json.loads(text)
    if not isinstance(table, dict):
        raise TypeError
    return table
