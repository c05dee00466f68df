"""The store's file: found, checked, made or refused, and locked for one run at a time.

A file may come from anybody. Nothing in it is run: the schema must be the store's own to the letter, without views and
triggers, SQLite is told to trust nothing in it, and what takes too long to check is refused.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gumdp.errors import GumdpError, show
from gumdp.experiments.store import layout
from gumdp.experiments.store.layout import LAYOUT, OURS

FILE, LOCK = "results.sqlite", "running.lock"
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite puts beside a file
CHECKING = 30.0  # seconds that the check of a file may take
STEPS = 20_000  # of SQLite's machine between two looks at the clock
# What reading data that is not as it should be can raise.
NONSENSE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)
LIMITS = {  # of what a file can make SQLite do; far above what a store needs
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def check_folder(folder: Path) -> None:
    """Refuse a folder that is used for something else."""
    try:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise GumdpError(f"{folder} is a file; name a folder for the results.")
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise GumdpError(f"the folder {show(str(folder))} can't be read: {error.strerror}.") from None
    except ValueError as error:
        if isinstance(error, GumdpError):
            raise
        raise GumdpError(f"{show(str(folder))} is no name of a folder.") from None
    other = [name for name in names if not name.startswith((FILE, LOCK, "."))]
    if other and FILE not in names:
        raise GumdpError(f"the folder {folder} holds something else ({sorted(other)[0]}); name a new or an empty one.")


def check_files(folder: Path) -> None:
    """Refuse what is not a plain file where the store's files belong: a pipe would be waited for, for ever."""
    for name in (FILE, LOCK, *(FILE + end for end in BESIDE), *(LOCK + end for end in BESIDE)):
        try:
            mode = os.lstat(folder / name).st_mode
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "that is no name of a folder"
            raise GumdpError(f"{show(str(folder))} can't be looked into: {reason}.") from None
        if name == FILE and stat.S_ISLNK(mode):
            mode = (folder / name).stat().st_mode if (folder / name).exists() else 0
        if not stat.S_ISREG(mode):
            raise GumdpError(f"{folder / name} is not a plain file, as a store has it. It is left as it is.")


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
    """A connection to a store's file: made whole if there is none, refused and left alone if it is not a store's.

    A file of an older layout is brought to this one: to be written to, in its place; to be read, in memory.
    """
    connection = None
    try:
        connection = _look(path) if reading or path.exists() else None
        if reading:
            return connection or _blank()
        if connection is not None:
            connection.close()
        connection = _hardened(sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        layout.bring_up(connection)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")  # a write shows whether the file can be written to
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise GumdpError(f"{path} can't be used: {reason(error)}. It is left as it is.") from None
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, NONSENSE) and not isinstance(error, GumdpError):
            raise GumdpError(f"{path} can't be used: it holds what no store has. It is left as it is.") from None
        raise
    return connection


def _blank() -> sqlite3.Connection:
    """An empty store, for a run that ended before it wrote anything."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    layout.bring_up(connection)
    return connection


def _hardened(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, told to trust nothing that it reads."""
    for limit, most in LIMITS.items():
        connection.setlimit(limit, most)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _look(path: Path) -> sqlite3.Connection | None:
    """A connection to read a file that is there, after a check that it is a store's and whole; None if it is blank."""
    alone = not path.with_name(path.name + "-wal").exists()
    connection = None
    for options in ("mode=ro", "mode=ro&immutable=1"):  # the second for folders that can't be written to
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True, timeout=30.0)
            _hardened(connection).execute("SELECT COUNT(*) FROM sqlite_master")
            break
        except sqlite3.OperationalError:
            if connection is not None:
                connection.close()
            if not alone or "immutable" in options:
                raise
    assert connection is not None
    try:
        return _checked(connection, path)
    except BaseException:
        connection.close()
        raise


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection | None:
    (whose,), (number,) = (
        connection.execute(f"PRAGMA {word}").fetchone() for word in ("application_id", "user_version")
    )
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if whose == 0 and tables == 0:  # a run ended before it wrote anything
        connection.close()
        return None
    if whose != OURS:
        raise GumdpError(f"{path} is a database of some other program. It is left as it is; name another folder.")
    if number not in layout.KNOWN:
        raise GumdpError(f"{path} has the layout {number}, and this version of gumdp knows the layout {LAYOUT}.")
    if odd := layout.odd_part(connection, number):
        raise sqlite3.DatabaseError(f"it is not as a store is made: {odd}")
    with deadline(connection, CHECKING):
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {' '.join(verdict.split())}")
        if number == LAYOUT:
            return connection
        copy = sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(copy)
        connection.close()
        layout.bring_up(copy)
        return copy


@contextmanager
def deadline(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """What takes longer than that is ended with an error."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        yield
    finally:
        with suppress(sqlite3.ProgrammingError):  # it is closed
            connection.set_progress_handler(None, 0)


def reason(error: sqlite3.Error) -> str:
    """What SQLite says, in words that say what to do."""
    text = " ".join(str(error).split())
    if "full" in text:
        return "the disk is full; make room and run the same command again"
    if "readonly" in text or "unable to open" in text:
        return "it can't be written to or opened"
    if "not a database" in text:
        return "it is not a database"
    if "malformed" in text:
        return "it is damaged: the database disk image is malformed"
    if "interrupted" in text:
        return "it takes too long to check"
    return text


class Watch:
    """Whether the files of a run that goes on are still those that it opened: not deleted, moved, replaced or cut."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / FILE, folder / (FILE + "-wal"), folder / LOCK]
        self._known: dict[Path, tuple[int, int, int]] = {}  # device, number and size

    def trouble(self) -> str | None:
        """What has happened to them, in a few words; None if nothing has."""
        for path in self._paths:
            known = self._known.get(path)
            try:
                now = os.stat(path)
            except OSError as error:
                if known is None and isinstance(error, FileNotFoundError):
                    continue
                return f"{path} is gone: it was deleted or moved" if known else f"{path}: {error.strerror}"
            if known is not None and (now.st_dev, now.st_ino) != known[:2]:
                return f"{path} was replaced by another file"
            if known is not None and now.st_size < known[2]:
                return f"{path} was cut off"
            self._known[path] = (now.st_dev, now.st_ino, now.st_size)
        return None
