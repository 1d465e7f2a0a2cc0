"""The audit log in a file, or in memory: SQLite with a write-ahead log, synchronised at every commit.

`synchronous=FULL` makes a commit wait until the disk has it, so that neither a killed process nor a power cut loses it.
Several processes may use one file, on a disk of this machine: they wait for each other.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from runcard.errors import AuditError, InputError
from runcard.service.audit import log
from runcard.service.audit.log import ADD_DECISIONS, SCHEMA, AuditLog
from runcard.service.audit.writer import TIMEOUT_SECONDS, DecisionRow, Row

APPLICATION_ID: Final = 0x72636175  # "rcau": what tells an audit log from any other SQLite file
BUSY_SECONDS: Final = 4.0
"""How long to wait for another process; less than a record waits."""

TABLES: Final = (
    *(statement.format(key="INTEGER PRIMARY KEY") for statement in log.TABLES),
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA}",
)
MOST_KEPT: Final = 100_000
"""In memory the oldest decisions are forgotten beyond this many."""
FORGET: Final = f"""CREATE TRIGGER forget AFTER INSERT ON runcard_decision WHEN new.seq > {MOST_KEPT} BEGIN
DELETE FROM runcard_outcome WHERE decision_id IN
(SELECT decision_id FROM runcard_decision WHERE seq <= new.seq - {MOST_KEPT});
DELETE FROM runcard_decision WHERE seq <= new.seq - {MOST_KEPT}; END"""


class InSqlite(AuditLog):
    """What an audit log is in SQLite."""

    def _execute(self, connection: sqlite3.Connection, query: str, parameters: Sequence[Any] = ()) -> Any:
        return connection.execute(query, parameters)

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")

    def _add(self, connection: sqlite3.Connection, decisions: Sequence[DecisionRow]) -> int:
        values = f"VALUES {', '.join(['(?, ?, ?, ?)'] * len(decisions))}"
        query = ADD_DECISIONS.format(values=values)
        return connection.execute(query, [value for row in decisions for value in row]).rowcount


class MemoryLog(InSqlite):
    """An audit log in memory, for tests and trials: it is gone when the process ends."""

    def __init__(self) -> None:
        super().__init__(timeout_seconds=TIMEOUT_SECONDS)
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._turn = Lock()
        for statement in (*TABLES, FORGET):
            self._database.execute(statement)

    async def _put(self, row: Row) -> None:
        (wrong,) = self._write([row])
        if wrong is not None:
            raise wrong

    def _write(self, rows: Sequence[Row]) -> Sequence[Exception | None]:
        with self._turn:
            return self._written(self._database, rows)

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._turn:
            return self._database.execute(query, parameters).fetchall()

    def _try_to_write(self) -> None:
        """It can always be written."""


class SqliteLog(InSqlite):
    """An audit log in a file."""

    def __init__(self, path: Path, *, create: bool, timeout_seconds: float) -> None:
        super().__init__(timeout_seconds=timeout_seconds)
        self._path = path
        if not path.parent.is_dir():
            raise InputError(f"audit log {path}: expected a folder to be there, {path.parent} is none")
        if not create and not path.is_file():
            raise InputError(f"audit log {path}: there is no such file")
        self._writing: sqlite3.Connection | None = None
        self._wal: int | None = None
        try:
            self._writing = self._connect(create=create)
            self._prepare(self._writing)
        except (sqlite3.Error, OSError) as error:
            raise self._refused(error) from error
        except InputError:
            self._drop()
            raise
        self._wal_path = Path(f"{path.resolve()}-wal")  # found once: links on the way are looked at one by one
        self._file, self._wal = path.stat().st_ino, self._wal_now()

    def _connect(self, *, create: bool = False) -> sqlite3.Connection:
        """A connection that any thread may use, one at a time; an empty file in place of a lost log would hide that."""
        if create and not self._path.exists():
            # For its owner only, from its first moment on; SQLite gives what it makes beside it the same permissions.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
            uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=512,
        )  # fmt: skip
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; check that an old one is a log of this version."""
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            # No file that is not ours may become a write-ahead log, which stays in it; so this is looked at before.
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")  # of several processes that make the file, one does
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                for statement in TABLES:
                    connection.execute(statement)
            connection.execute("COMMIT")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise InputError(f"audit log {self._path}: expected an audit log, got another SQLite database")
        if schema != SCHEMA:
            raise InputError(
                f"audit log {self._path}: expected schema {SCHEMA}, got {schema}: it is of another version of runcard"
            )

    def _write(self, rows: Sequence[Row]) -> Sequence[Exception | None]:
        try:
            self._check_file()
        except AuditError:
            if self._writing is not None:  # what was acknowledged may be in a log without a name: save it
                with suppress(sqlite3.Error):
                    self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raise
        try:
            if self._writing is None:
                self._writing = self._reopened()
            return self._written(self._writing, rows)
        except sqlite3.Error as error:
            self._drop()
            raise AuditError(f"audit log {self._path}: could not be written: {error}") from error

    def _check_file(self) -> None:
        """Raise if the file or its -wal was moved or removed: SQLite would go on writing to what no name leads to."""
        wal = self._wal  # once: another thread may change it
        try:
            same = self._path.stat().st_ino == self._file and (wal is None or wal == self._wal_now())
        except OSError:
            same = False
        if not same:
            raise AuditError(f"audit log {self._path}: the file was moved or removed; start the service again")

    def _wal_now(self) -> int:
        """The inode of the write-ahead log, which is there while a connection is open."""
        return self._wal_path.stat().st_ino

    def _reopened(self) -> sqlite3.Connection:
        """A connection after an error.

        What a failed commit left may be in the write-ahead log without being on the disk, and later commits would stand
        behind it and be lost with it. So the log is emptied into the file first.
        """
        connection = self._connect()
        try:
            self._prepare(connection)
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except BaseException:
            connection.close()
            raise
        if busy:
            connection.close()
            raise AuditError(f"audit log {self._path}: another process reads it while it is being repaired")
        self._wal = self._wal_now()
        return connection

    def _drop(self) -> None:
        """Close the connection for writing, whatever state it is in."""
        connection, self._writing, self._wal = self._writing, None, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.rollback()
            with suppress(sqlite3.Error):
                connection.close()

    def _try_to_write(self) -> None:
        try:
            with closing(self._connect()) as connection:
                connection.execute(f"PRAGMA user_version = {SCHEMA}")  # as it is, and yet written to the disk
        except sqlite3.Error as error:
            raise AuditError(f"audit log {self._path}: could not be written: {error}") from error

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._check_file()
        try:
            with closing(self._connect()) as connection:
                return connection.execute(query, parameters).fetchall()
        except sqlite3.Error as error:
            raise AuditError(f"audit log {self._path}: could not be read: {error}") from error

    def _refused(self, error: sqlite3.Error | OSError) -> InputError | AuditError:
        """What is wrong with a file that cannot be opened."""
        self._drop()
        if "not a database" in str(error):
            return InputError(f"audit log {self._path}: expected an audit log, got a file that is no SQLite database")
        return AuditError(f"audit log {self._path}: could not be opened: {error}")

    def close(self) -> None:
        """Write what waits, and close."""
        super().close()
        self._drop()
