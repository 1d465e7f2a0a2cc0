"""The audit log in PostgreSQL: for several services with one log, and for departments that have a server anyway.

The server must be set to keep what it has committed (`fsync` on), and `synchronous_commit` is switched on where it is
off. Where the connection breaks, what waits is tried once more by a new one, and is refused while there is none. Trying
again is safe even if it is not known whether the first one was committed: every row has an id of its own.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Final

from runcard.errors import AuditError, InputError, MissingExtraError
from runcard.plan.words import first_line
from runcard.service.audit.log import ADD_DECISIONS, SCHEMA, TABLES, AuditLog
from runcard.service.audit.writer import DecisionRow, Row

if TYPE_CHECKING:
    from psycopg import Connection

CONNECT_SECONDS: Final = 3
STATEMENT_MS: Final = 4_000
"""The longest statement of the writer; less than a record waits."""
LOCK: Final = 0x72636175
"""Of several services that make the tables, one does."""

KEY: Final = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
VALUES: Final = "SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::text[])"
"""One statement for any number of decisions, which the server plans once."""


class PostgresLog(AuditLog):
    """An audit log in PostgreSQL."""

    def __init__(self, url: str, *, create: bool, timeout_seconds: float) -> None:
        super().__init__(timeout_seconds=timeout_seconds)
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError("an audit log in PostgreSQL", "psycopg", "service") from error
        self._url, self._library = url, psycopg
        try:
            known = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            # What the driver says of it, and whatever is said of the log, may have the password.
            wanted = "postgresql://user:password@host:port/database"
            raise InputError(f"audit log: expected {wanted}, got something that PostgreSQL does not read so") from error
        self._name = f"PostgreSQL database {known.get('dbname', '')} at {known.get('host', 'this machine')}"
        self._writing: Connection[Any] | None = None
        try:
            self._writing = self._connect()
            self._prepare(self._writing, create=create)
        except psycopg.Error as error:
            raise AuditError(f"audit log, {self._name}: could not be opened: {_line(error)}") from error
        finally:
            self._drop()

    def _connect(self) -> "Connection[Any]":
        """A connection whose commits are durable."""
        connection = self._library.connect(
            self._url, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="runcard audit",
            tcp_user_timeout=STATEMENT_MS, client_encoding="utf8",
        )  # fmt: skip
        try:
            if connection.execute("SHOW fsync").fetchone() != ("on",):
                raise AuditError(f"audit log, {self._name}: expected a server that has fsync on, got one that has not")
            if connection.execute("SHOW synchronous_commit").fetchone() == ("off",):
                connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET statement_timeout = {STATEMENT_MS}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: "Connection[Any]", *, create: bool) -> None:
        """Make the tables if there are none; check that they are of this version."""
        with connection.transaction():
            connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            if connection.execute("SELECT to_regclass('runcard_audit')").fetchone() == (None,):
                if not create:
                    raise InputError(f"audit log, {self._name}: there is no audit log in it")
                for statement in TABLES:
                    self._execute(connection, statement.format(key=KEY))
                connection.execute("CREATE TABLE runcard_audit (schema INTEGER NOT NULL)")
                self._execute(connection, "INSERT INTO runcard_audit VALUES (?)", [SCHEMA])
            found = connection.execute("SELECT max(schema) FROM runcard_audit").fetchone()
            if found != (SCHEMA,):
                got = found[0] if found else None
                raise InputError(
                    f"audit log, {self._name}: expected schema {SCHEMA}, got {got}: it is of another version of runcard"
                )

    def _write(self, rows: Sequence[Row]) -> Sequence[Exception | None]:
        while True:
            # The server may have been restarted since the last record, so that only the old connection is broken.
            connected = self._writing is not None
            try:
                self._writing = self._writing or self._connect()
                return self._written(self._writing, rows)
            except self._library.Error as error:
                broken = connected and self._writing is not None and self._writing.closed
                self._drop()
                if not broken:
                    raise self._refused(error) from error

    def _execute(self, connection: "Connection[Any]", query: str, parameters: Sequence[Any] = ()) -> Any:
        return connection.execute(query.replace("?", "%s").encode(), parameters)

    def _transaction(self, connection: "Connection[Any]") -> AbstractContextManager[object]:
        return connection.transaction()

    def _add(self, connection: "Connection[Any]", decisions: Sequence[DecisionRow]) -> int:
        columns = [list(column) for column in zip(*decisions, strict=True)]
        return int(self._execute(connection, ADD_DECISIONS.format(values=VALUES), columns).rowcount)

    def _drop(self) -> None:
        """Close the connection for writing, whatever state it is in."""
        connection, self._writing = self._writing, None
        if connection is not None:
            with suppress(self._library.Error):
                connection.close()

    def _try_to_write(self) -> None:
        try:
            with self._connect() as connection:
                connection.execute("UPDATE runcard_audit SET schema = schema")
        except self._library.Error as error:
            raise self._refused(error) from error

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._connect() as connection:
                found: list[tuple[Any, ...]] = self._execute(connection, query, parameters).fetchall()
                return found
        except self._library.Error as error:
            raise AuditError(f"audit log, {self._name}: could not be read: {_line(error)}") from error

    def _refused(self, error: Exception) -> AuditError:
        return AuditError(f"audit log, {self._name}: could not be written: {_line(error)}")

    def close(self) -> None:
        """Write what waits, and close."""
        super().close()
        self._drop()


def _line(error: Exception) -> str:
    """What a driver says, in one line."""
    return first_line(error).rstrip(":")
