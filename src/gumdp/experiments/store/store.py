"""A store that loses nothing: an SQLite file in the output folder, with one row a trial as soon as it ends.

Rows are only ever added. A trial belongs to an arm, and an arm to a version of the code: what another version made
is kept beside it and never mixed in. A folder takes one run at a time; reading is always possible. The file is in
write-ahead mode, so that a process can be killed at any moment: what it committed is there, what it did not is not.
Every row has a checksum, which is verified when it is read.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, show
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.database import FILE, Watch, check_files, check_folder, connect, reason, take_lock
from gumdp.experiments.store.layout import add_rows
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.reader import COLUMNS as COLUMNS
from gumdp.experiments.store.reader import Reader
from gumdp.experiments.store.reader import StoredArm as StoredArm

LONGEST = 10_000  # letters of a message
WATCHING = 0.25  # seconds between two looks at the files of a run


class StoreError(GumdpError):
    """The store can't take more: what is in it stays."""


class Store(Reader):
    """The results in a folder. ``Store.open`` to add to them, ``Store.read`` to look at them."""

    def __init__(
        self, folder: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None, of: str | None = None
    ) -> None:
        super().__init__(folder, connection, of)
        self._lock = lock
        self._numbers: dict[str, int] = {}
        self._watch, self._looked = Watch(folder), 0.0
        self.run = 0

    # --- opening and closing ---

    @classmethod
    def open(cls, folder: str | Path, of: str | None = None) -> Store:
        """The store of ``folder``, made if need be, for one run alone until it is closed.

        ``of`` is the version of the code, with that of the user's modules; the package's own if not given.
        """
        folder = Path(folder)
        check_folder(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            reasons = getattr(error, "strerror", None) or "that is no name of a folder"
            raise GumdpError(f"the folder {show(str(folder))} can't be made: {reasons}.") from None
        check_files(folder)
        lock = take_lock(folder)
        store = None
        try:
            store = cls(folder, connect(folder / FILE), lock, of)
            store.look_through()
            store._alone = True
        except BaseException:
            store.close() if store is not None else lock.close()
            raise
        store._watch.trouble()
        return store

    @classmethod
    def read(cls, folder: str | Path) -> Store:
        """The store of ``folder``, to look at, also while a run adds to it."""
        folder = Path(folder)
        check_files(folder)
        if not (folder / FILE).is_file():
            raise GumdpError(f"{folder} holds no results: there is no {FILE} in it.")
        store = cls(folder, connect(folder / FILE, reading=True), None)
        try:
            store.look_through()
        except BaseException:
            store.close()
            raise
        return store

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
            (last,) = db.execute("SELECT COALESCE(MAX(run), 0) FROM runs").fetchone()
            row = (last + 1, _now(), self.version, engine, json.dumps(machine), _clean(command))
            add_rows(db, "runs", [row])
        self.run = int(last) + 1
        return self.run

    def end(self, status: str, seconds: float) -> None:
        """Note how the run ended."""
        with self._transaction() as db:
            add_rows(db, "endings", [(self.run, _now(), _clean(status), _real(seconds))])

    def add(self, arm: Arm, outcomes: Iterable[Outcome]) -> list[int]:
        """Add trials that ended, all of them or none. A trial that is there already stays as it is.

        What a trial left behind is added to one that is there already, if it has the same value; the numbers of those
        that have another are returned, and nothing is added to them.
        """
        now, other = _now(), []
        with self._transaction() as db:
            number = self._number(arm)
            trials, details, failures = [], [], []
            for o in outcomes:
                if o.error is not None or not math.isfinite(o.value):
                    failures.append((number, o.trial, _clean(o.error or "its value is not finite."), now, self.run))
                    continue
                trials.append((number, o.trial, _real(o.value), _real(o.seconds), now, self.run))
                if o.kept and not self._agrees(number, o):
                    other.append(o.trial)
                    continue
                for what, array in o.kept.items():
                    shape, kind = json.dumps(array.shape), array.dtype.str
                    details.append((number, o.trial, what, shape, kind, np.ascontiguousarray(array).tobytes()))
            add_rows(db, "failures", failures)
            add_rows(db, "trials", trials, number)
            add_rows(db, "details", details, number)
        return other

    def _agrees(self, number: int, outcome: Outcome) -> bool:
        """Whether a trial is new, or is there with the same value."""
        query = "SELECT value FROM trials WHERE arm = ? AND trial = ?"
        row = self._connection.execute(query, (number, outcome.trial)).fetchone()
        return row is None or row[0] == _real(outcome.value)

    def note(self, what: str, key: str, data: Mapping[str, Any]) -> None:
        """Add a finding, such as a bound of a problem, unless this version has found it already."""
        with self._transaction() as db:
            add_rows(db, "findings", [(what, key, self.version, json.dumps(data), self.run)])

    def check(self) -> None:
        """Raise a ``StoreError`` if the files of this run were deleted, moved, replaced or cut off."""
        now = time.monotonic()
        if now - self._looked < WATCHING:
            return
        self._looked = now
        if trouble := self._watch.trouble():
            raise StoreError(f"{trouble}, while the run was on. It stops: what ends now would be lost.")

    def _number(self, arm: Arm) -> int:
        digest = arm.digest
        if digest not in self._numbers:
            db, key = self._connection, (digest, self.version)
            found = self._find(arm)
            if found is None:
                (last,) = db.execute("SELECT COALESCE(MAX(arm), 0) FROM arms").fetchone()
                found = (last + 1,)
                facts = arm.plain()
                options = json.dumps(facts["problem_options"]), json.dumps(facts["planner_options"])
                row = (arm.problem, options[0], arm.planner, options[1], str(arm.seed), json.dumps(arm.identity))
                add_rows(db, "arms", [(*found, *key, *row)])
            self._numbers[digest] = self._known[key] = int(found[0])
        return self._numbers[digest]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; what goes wrong is said in a sentence."""
        db = self._connection
        known = dict(self._numbers), dict(self._known)
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException as error:
            self._numbers, self._known = known
            if db.in_transaction:
                db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(
                    f"{self.folder / FILE}: {reason(error)}; all that was stored before is kept."
                ) from error
            raise


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _real(number: float) -> float:
    return float(number) + 0.0  # SQLite has no zero below zero


def _clean(text: str) -> str:
    """``text`` as a file can hold it: no half letters, no end."""
    return text[:LONGEST].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
