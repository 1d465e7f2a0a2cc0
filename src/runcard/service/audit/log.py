"""The audit log: decisions and their outcomes, durable before anybody is answered.

Rows are only ever added. A decision has a `decision_id` and a `time`, and is otherwise kept as it is given. Of several
outcomes of one decision all are kept, and what counts is all of them together. After a crash the log may hold a
decision whose answer never arrived, and never lacks one whose answer did.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any, Final
from uuid import uuid4

from runcard.errors import AuditError, InputError, UnknownDecisionError
from runcard.service.audit.outcomes import moment_of
from runcard.service.audit.writer import TIMEOUT_SECONDS, DecisionRow, GroupWriter, OutcomeRow, Row

SCHEMA: Final = 1
PAGE: Final = 100
"""Decisions that are read at once; between pages nothing is locked."""
PAUSE_SECONDS: Final = 0.005
"""Between pages, so that reading a long log gives way to decisions."""

MOST_REFERENCED: Final = 100
"""Decisions of one reference that are shown."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
POSTGRES: Final = ("postgresql://", "postgres://")
SQLITE: Final = "sqlite://"

TABLES: Final = (
    "CREATE TABLE runcard_decision (seq {key}, decision_id TEXT NOT NULL UNIQUE, time_us BIGINT NOT NULL, "
    "document TEXT NOT NULL, reference TEXT)",
    "CREATE INDEX runcard_decision_time ON runcard_decision (time_us, seq)",
    "CREATE INDEX runcard_decision_reference ON runcard_decision (reference) WHERE reference IS NOT NULL",
    "CREATE TABLE runcard_outcome (seq {key}, outcome_id TEXT NOT NULL UNIQUE, "
    "decision_id TEXT NOT NULL REFERENCES runcard_decision (decision_id), "
    "time_us BIGINT NOT NULL, document TEXT NOT NULL)",
    "CREATE INDEX runcard_outcome_decision ON runcard_outcome (decision_id, seq)",
)
"""In any database, given what numbers rows."""
ADD_DECISIONS: Final = (
    "INSERT INTO runcard_decision (decision_id, time_us, document, reference) {values} ON CONFLICT DO NOTHING"
)
ADD_OUTCOME: Final = (
    "INSERT INTO runcard_outcome (outcome_id, decision_id, time_us, document) "
    "SELECT ?, decision_id, ?, ? FROM runcard_decision WHERE decision_id = ? ON CONFLICT DO NOTHING"
)


class AuditLog(ABC):
    """Where decisions and their outcomes are kept, in any database: rows are written in groups and read in pages."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._writer = GroupWriter(self._write, timeout_seconds=timeout_seconds)
        self._stopping = Event()

    @abstractmethod
    def _write(self, rows: Sequence[Row]) -> Sequence[Exception | None]:
        """See `writer.Write`; called by the thread of the writer only."""

    @abstractmethod
    def _execute(self, connection: Any, query: str, parameters: Sequence[Any] = ()) -> Any:
        """The cursor of a query, whose parameters are written `?`."""

    @abstractmethod
    def _transaction(self, connection: Any) -> AbstractContextManager[object]:
        """What commits all that is executed while it lasts."""

    @abstractmethod
    def _add(self, connection: Any, decisions: Sequence[DecisionRow]) -> int:
        """How many decisions were added, in one statement; one that was there before is left as it is."""

    @abstractmethod
    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; by a connection of its own, in any thread."""

    @abstractmethod
    def _try_to_write(self) -> None:
        """Raise an AuditError if nothing can be written; by a connection of its own, in any thread."""

    def _written(self, connection: Any, rows: Sequence[Row]) -> Sequence[Exception | None]:
        """Write rows in one transaction; what is wrong with each.

        All decisions are one statement, and alone it is its own transaction: each call lets go of the interpreter, and
        under load must wait for it again.
        """
        decisions = [row for row in rows if isinstance(row, DecisionRow)]
        wrong: list[Exception | None] = [None] * len(rows)
        with nullcontext() if len(decisions) == len(rows) else self._transaction(connection):
            if decisions and self._add(connection, decisions) != len(decisions):
                wrong = self._not_stored(connection, rows, [row.decision_id for row in decisions])
            for number, row in enumerate(rows):
                if isinstance(row, OutcomeRow):
                    values = (row.outcome_id, row.time_us, row.document, row.decision_id)
                    if self._execute(connection, ADD_OUTCOME, values).rowcount == 1:
                        continue
                    # It may have been added before, by a connection that broke then.
                    query = "SELECT 1 FROM runcard_outcome WHERE outcome_id = ?"
                    if self._execute(connection, query, [row.outcome_id]).fetchone() is None:
                        words = f"decision {row.decision_id!r}: the audit log has no such decision"
                        wrong[number] = UnknownDecisionError(words)
        return wrong

    def _not_stored(self, connection: Any, rows: Sequence[Row], ids: Sequence[str]) -> list[Exception | None]:
        """What is wrong with rows of which some decisions were there before: those that are another decision there."""
        query = f"SELECT decision_id, document FROM runcard_decision WHERE decision_id IN ({_marks(ids)})"
        stored = dict(self._execute(connection, query, ids).fetchall())
        return [
            InputError(f"decision {row.decision_id}: expected a new id, got that of another decision")
            if isinstance(row, DecisionRow) and stored[row.decision_id] != row.document
            else None
            for row in rows
        ]

    async def _put(self, row: Row) -> None:
        """Return once a row is durable."""
        await self._writer.put(row)

    async def record(self, decision: Mapping[str, Any], *, text: str | None = None) -> None:
        """Return once the decision is durable; `text` is the same as JSON, if it is already there."""
        await self._put(decision_row(decision, text))

    async def outcome(self, decision_id: str, outcome: Mapping[str, Any]) -> None:
        """Return once what was really done is durable (see `outcomes`); an UnknownDecisionError if there is no such
        decision.
        """
        now = datetime.now(UTC)
        document = in_json({**outcome, "recorded": now.isoformat()})
        await self._put(OutcomeRow(uuid4().hex, decision_id, micros_of(now), document))

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """A decision with its `outcomes`; None if there is no such one."""
        if "\0" in decision_id:
            return None
        found = self._rows("SELECT document FROM runcard_decision WHERE decision_id = ?", [decision_id])
        return None if not found else self._with_outcomes([(decision_id, found[0][0])])[0]

    def referenced(self, reference: str) -> list[dict[str, Any]]:
        """The latest decisions with a reference, the last one first, with their `outcomes`."""
        query = "SELECT decision_id, document FROM runcard_decision WHERE reference = ? ORDER BY seq DESC LIMIT ?"
        return [] if "\0" in reference else self._with_outcomes(self._rows(query, [reference, MOST_REFERENCED]))

    def decisions(
        self, *, since: datetime | None = None, until: datetime | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Decisions with their `outcomes`, the oldest first, from `since` to before `until`."""
        place = (-(2**62) if since is None else micros_of(since), -1)
        end = 2**62 if until is None else micros_of(until)
        left = limit
        while left is None or left > 0:
            found = self._rows(
                "SELECT time_us, seq, decision_id, document FROM runcard_decision "
                "WHERE (time_us, seq) > (?, ?) AND time_us < ? ORDER BY time_us, seq LIMIT ?",
                [*place, end, PAGE if left is None else min(PAGE, left)],
            )
            yield from self._with_outcomes([row[2:4] for row in found])
            if len(found) < PAGE:
                return
            if self._stopping.wait(PAUSE_SECONDS):
                raise AuditError("the service is ending: ask again in a while")
            place = found[-1][:2]
            left = None if left is None else left - len(found)

    def check(self) -> None:
        """Raise an AuditError if the log cannot be read now, or could not be written and still cannot."""
        self._rows("SELECT 1")
        if self._writer.failed:  # only then: a write for everybody who asks would slow down decisions
            self._try_to_write()

    def stop_reading(self) -> None:
        """Let everybody who reads `decisions` go with an AuditError: the service ends."""
        self._stopping.set()

    def close(self) -> None:
        """Write what waits, and close."""
        self._writer.close()

    def _with_outcomes(self, found: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Decisions, given as ids and texts, with their outcomes."""
        outcomes: dict[str, list[dict[str, Any]]] = {decision_id: [] for decision_id, _ in found}
        if outcomes:
            ids = list(outcomes)
            query = (
                f"SELECT decision_id, document FROM runcard_outcome WHERE decision_id IN ({_marks(ids)}) ORDER BY seq"
            )
            for decision_id, text in self._rows(query, ids):
                outcomes[decision_id].append(json.loads(text))
        return [json.loads(text) | {"outcomes": outcomes[decision_id]} for decision_id, text in found]


def _marks(values: Sequence[str]) -> str:
    """A mark for each value of a query."""
    return ", ".join("?" * len(values))


def decision_row(decision: Mapping[str, Any], text: str | None = None) -> DecisionRow:
    """A decision as it is stored."""
    decision_id = decision.get("decision_id")
    if not isinstance(decision_id, str) or not decision_id or "\0" in decision_id:
        raise InputError(f"decision: expected a decision_id, got {decision_id!r}")
    time = moment_of(decision.get("time"), f"decision {decision_id}: time")
    reference = decision.get("reference")
    if reference is not None and "\0" in reference:  # no database finds it
        reference = None
    return DecisionRow(decision_id, micros_of(time), in_json(decision) if text is None else text, reference)


def micros_of(time: datetime) -> int:
    """Microseconds since 1970; exact, which a float would not be."""
    return (time - EPOCH) // timedelta(microseconds=1)


def in_json(document: Mapping[str, Any]) -> str:
    """A document as it is stored: ASCII, which every database takes."""
    try:
        return json.dumps(document, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"audit log: expected plain values and finite numbers, got {error}") from error


def open_audit(url: str | None, *, create: bool = True, timeout_seconds: float = TIMEOUT_SECONDS) -> AuditLog:
    """The log at a path, at sqlite:///path or at postgresql://user@host/database; made if missing and `create`.

    Without a url it is in memory.
    """
    if url is not None and url.startswith(POSTGRES):
        from runcard.service.audit.postgres import PostgresLog

        return PostgresLog(url, create=create, timeout_seconds=timeout_seconds)
    from runcard.service.audit.sqlite import MemoryLog, SqliteLog

    if url is None:
        return MemoryLog()
    name = url.removeprefix(SQLITE).removeprefix("/") if url.startswith(SQLITE) else url
    if not name or ("://" in name and not Path(name).exists()):
        raise InputError(f"audit log: expected a path, sqlite:///path or postgresql://host/database, got {url!r}")
    return SqliteLog(Path(name), create=create, timeout_seconds=timeout_seconds)
