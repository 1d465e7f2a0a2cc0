"""Group commit: one thread writes all that waits in one transaction, and requests wait for it.

A disk makes a few hundred or thousand transactions durable in a second, however small they are. So all records that
come while one transaction is written go into the next one together. Under load a record waits for at most two
transactions and a moment, in which more come; without load it is written at once.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from runcard.errors import AuditError

MOST_IN_BATCH: Final = 500
"""Records of one transaction."""
FEW: Final = 8
"""So few records of a busy time are worth a moment: the transaction costs more than they do."""
MOMENT_SECONDS: Final = 0.003
MOST_WAITING: Final = 20_000
"""Records that may wait; one more is refused at once, because the log is seconds behind."""
TIMEOUT_SECONDS: Final = 5.0
"""A record that is not durable by then is given up."""

_log = logging.getLogger("runcard.service")


class DecisionRow(NamedTuple):
    """A decision as it is stored."""

    decision_id: str
    time_us: int
    document: str
    reference: str | None = None


class OutcomeRow(NamedTuple):
    """An outcome as it is stored."""

    outcome_id: str
    decision_id: str
    time_us: int
    document: str


Row = DecisionRow | OutcomeRow
Write = Callable[[Sequence[Row]], Sequence[Exception | None]]
"""Make rows durable, all or none; what is wrong with each row, or None. Raises an AuditError if nothing was written."""


class Waiting(NamedTuple):
    """A row, and who waits for it."""

    row: Row
    future: asyncio.Future[None]


class GroupWriter:
    """A thread that writes rows in groups; it starts with the first row."""

    def __init__(
        self,
        write: Write,
        *,
        most_in_batch: int = MOST_IN_BATCH,
        most_waiting: int = MOST_WAITING,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._write, self._most_in_batch, self._most_waiting = write, most_in_batch, most_waiting
        self._timeout_seconds = timeout_seconds
        self._waiting: list[Waiting] = []
        self._wake = threading.Condition()
        self._closed = False
        self.failed = False
        """Whether the last group could not be written."""
        self._telling = threading.Lock()
        self._thread: threading.Thread | None = None

    async def put(self, row: Row) -> None:
        """Return once the row is durable; an AuditError says that it is not known to be."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._wake:
            if self._closed:
                raise AuditError("the audit log is closed")
            if len(self._waiting) >= self._most_waiting:
                raise AuditError(f"the audit log is behind: {len(self._waiting):,} records wait to be written")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
                self._thread.start()
            self._waiting.append(Waiting(row, future))
            self._wake.notify()
        timer = loop.call_later(self._timeout_seconds, self._give_up, future)
        try:
            await future
        finally:
            timer.cancel()

    def _give_up(self, future: asyncio.Future[None]) -> None:
        if not future.done():
            error = AuditError(f"the audit log did not write within {self._timeout_seconds:g} seconds")
            self._note(error)
            future.set_exception(error)

    def _note(self, error: AuditError | None) -> None:
        """Keep whether the log fails, and say it in the log of the service when that changes: not for each record."""
        with self._telling:
            changed, self.failed = self.failed != (error is not None), error is not None
        if changed and error is not None:
            _log.error("no decision is answered until the audit log can be written again: %s", error)
        elif changed:
            _log.warning("the audit log is written again, and decisions are answered")

    def close(self) -> None:
        """Write what waits, and stop."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        """Write groups until there is nothing left and the log is closed."""
        busy = False
        while True:
            with self._wake:
                while not self._waiting and not self._closed:
                    self._wake.wait()
                if not self._waiting:
                    return
                few = len(self._waiting) < FEW and not self._closed
            if busy and few:
                time.sleep(MOMENT_SECONDS)
            with self._wake:
                batch = self._waiting[: self._most_in_batch]
                del self._waiting[: self._most_in_batch]
            busy = len(batch) > 1
            # Who has given up has sent no answer, so that there is nothing to record.
            batch = [one for one in batch if not one.future.done()]
            if batch:
                _tell(batch, self._outcomes(batch))

    def _outcomes(self, batch: Sequence[Waiting]) -> Sequence[Exception | None]:
        """What became of each row."""
        try:
            written = self._write([one.row for one in batch])
            self._note(None)
            return written
        except Exception as error:  # whatever it is, nobody may wait for ever and the thread must go on
            wrong = AuditError(f"the audit log could not write: {type(error).__name__}: {error}")
            wrong.__cause__ = error
            known = error if isinstance(error, AuditError) else wrong
            self._note(known)
            return [known] * len(batch)


def _tell(batch: Sequence[Waiting], outcomes: Sequence[Exception | None]) -> None:
    """Wake those who wait: one call for each event loop, since a call for each row would cost more than the row."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[None], Exception | None]]] = {}
    for one, outcome in zip(batch, outcomes, strict=True):
        by_loop.setdefault(one.future.get_loop(), []).append((one.future, outcome))
    for loop, known in by_loop.items():
        with suppress(RuntimeError):  # the loop was closed, so that nobody waits any more
            loop.call_soon_threadsafe(_settle, known)


def _settle(known: Sequence[tuple[asyncio.Future[None], Exception | None]]) -> None:
    """Settle futures, in the thread of their loop."""
    for future, error in known:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
