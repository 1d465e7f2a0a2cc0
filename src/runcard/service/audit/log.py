"""The audit log: decisions and their outcomes, durable before anybody is answered.

Rows are only ever added. A decision has a `decision_id` and a `time`, and is otherwise kept as it is given. Of several
outcomes of one decision all are kept, and what counts is all of them together. After a crash the log may hold a
decision whose answer never arrived, and never lacks one whose answer did.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any, Final, Protocol
from uuid import uuid4

from runcard.errors import AuditError, InputError, UnknownDecisionError
from runcard.service.audit.outcomes import checked_outcome, moment_of
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


class AuditLog(Protocol):
    """Where decisions and their outcomes are kept."""

    async def record(self, decision: Mapping[str, Any], *, text: str | None = None) -> None:
        """Return once the decision is durable; `text` is the same as JSON, if it is already there."""

    async def outcome(
        self,
        decision_id: str,
        outcome: Mapping[str, Any],
        *,
        kinds: Mapping[str, str] | None = None,
        before: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Return once what was really done is durable; see `checked_outcome` for `kinds` and `before`."""

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """A decision with its `outcomes`; None if there is no such one."""

    def referenced(self, reference: str) -> list[dict[str, Any]]:
        """The latest decisions with a reference, the last one first, with their `outcomes`."""

    def decisions(
        self, *, since: datetime | None = None, until: datetime | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Decisions with their `outcomes`, the oldest first, from `since` to before `until`."""

    def check(self) -> None:
        """Raise an AuditError if the log cannot be read now, or could not be written and still cannot."""

    def stop_reading(self) -> None:
        """Let everybody who reads `decisions` go with an AuditError: the service ends."""

    def close(self) -> None:
        """Write what waits, and close."""


def open_audit(url: str, *, create: bool = True, timeout_seconds: float = TIMEOUT_SECONDS) -> AuditLog:
    """The log at a path, at sqlite:///path or at postgresql://user@host/database; made if missing and `create`."""
    if url.startswith(POSTGRES):
        from runcard.service.audit.postgres import PostgresLog

        return PostgresLog(url, create=create, timeout_seconds=timeout_seconds)
    from runcard.service.audit.sqlite import SqliteLog

    name = url.removeprefix(SQLITE).removeprefix("/") if url.startswith(SQLITE) else url
    if not name or ("://" in name and not Path(name).exists()):
        raise InputError(f"audit log: expected a path, sqlite:///path or postgresql://host/database, got {url!r}")
    return SqliteLog(Path(name), create=create, timeout_seconds=timeout_seconds)


class StoredLog(ABC):
    """What the log is in any database: rows are written in groups and read in pages."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._writer = GroupWriter(self._write, timeout_seconds=timeout_seconds)
        self._stopping = Event()

    @abstractmethod
    def _write(self, rows: Sequence[Row]) -> Sequence[Exception | None]:
        """See `writer.Write`; called by the thread of the writer only."""

    @abstractmethod
    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `?`; by a connection of its own, in any thread."""

    @abstractmethod
    def _try_to_write(self) -> None:
        """Raise an AuditError if nothing can be written; by a connection of its own, in any thread."""

    async def record(self, decision: Mapping[str, Any], *, text: str | None = None) -> None:
        """Return once the decision is durable."""
        await self._writer.put(decision_row(decision, text))

    async def outcome(
        self,
        decision_id: str,
        outcome: Mapping[str, Any],
        *,
        kinds: Mapping[str, str] | None = None,
        before: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Return once the outcome is durable; an UnknownDecisionError if there is no such decision."""
        document = checked_outcome(outcome, kinds=kinds, before=before)
        now = datetime.now(UTC)
        document["recorded"] = now.isoformat()
        await self._writer.put(OutcomeRow(uuid4().hex, decision_id, micros_of(now), in_json(document)))

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """A decision with its outcomes."""
        if "\0" in decision_id:
            return None
        found = self._rows("SELECT document FROM runcard_decision WHERE decision_id = ?", [decision_id])
        return None if not found else self._with_outcomes([(decision_id, found[0][0])])[0]

    def referenced(self, reference: str) -> list[dict[str, Any]]:
        """The latest decisions with a reference, the last one first."""
        query = "SELECT decision_id, document FROM runcard_decision WHERE reference = ? ORDER BY seq DESC LIMIT ?"
        return [] if "\0" in reference else self._with_outcomes(self._rows(query, [reference, MOST_REFERENCED]))

    def decisions(
        self, *, since: datetime | None = None, until: datetime | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Decisions with their outcomes, the oldest first."""
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
        """Let everybody who reads `decisions` go."""
        self._stopping.set()

    def close(self) -> None:
        """Write what waits, and close."""
        self._writer.close()

    def _with_outcomes(self, found: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Decisions, given as ids and texts, with their outcomes."""
        outcomes: dict[str, list[dict[str, Any]]] = {decision_id: [] for decision_id, _ in found}
        if outcomes:
            marks = ", ".join("?" * len(outcomes))
            query = f"SELECT decision_id, document FROM runcard_outcome WHERE decision_id IN ({marks}) ORDER BY seq"
            for decision_id, text in self._rows(query, list(outcomes)):
                outcomes[decision_id].append(json.loads(text))
        return [json.loads(text) | {"outcomes": outcomes[decision_id]} for decision_id, text in found]


def not_stored(
    rows: Sequence[Row], query: Callable[[str, Sequence[str]], Iterable[Sequence[Any]]]
) -> list[Exception | None]:
    """What is wrong with rows of which some decisions were there before: those that are another decision there."""
    ids = [row.decision_id for row in rows if isinstance(row, DecisionRow)]
    marks = ", ".join("?" * len(ids))
    found = query(f"SELECT decision_id, document FROM runcard_decision WHERE decision_id IN ({marks})", ids)
    stored = {one[0]: one[1] for one in found}
    return [
        InputError(f"decision {row.decision_id}: expected a new id, got that of another decision")
        if isinstance(row, DecisionRow) and stored[row.decision_id] != row.document
        else None
        for row in rows
    ]


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


def unknown(decision_id: str) -> UnknownDecisionError:
    """The error of an outcome of no decision."""
    return UnknownDecisionError(f"decision {decision_id!r}: the audit log has no such decision")


def micros_of(time: datetime) -> int:
    """Microseconds since 1970; exact, which a float would not be."""
    return (time - EPOCH) // timedelta(microseconds=1)


def in_json(document: Mapping[str, Any]) -> str:
    """A document as it is stored: ASCII, which every database takes."""
    try:
        return json.dumps(document, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"audit log: expected plain values and finite numbers, got {error}") from error
