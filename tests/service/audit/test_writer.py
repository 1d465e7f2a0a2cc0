"""Group commit."""

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from tests.service.audit.made_up import made_up

from runcard.errors import AuditError
from runcard.service.audit.sqlite import SqliteLog
from runcard.service.audit.writer import DecisionRow, GroupWriter, Row

ROW = DecisionRow("d", 0, "{}")


class Disk:
    """What rows are written to: it may take a while, stand still until `go` is set, and fail."""

    def __init__(self, *, seconds: float = 0.0, stuck: bool = False) -> None:
        self.seconds, self.go, self.groups, self.written = seconds, threading.Event(), list[int](), list[str]()
        self.error: Exception | None = None
        if not stuck:
            self.go.set()

    def write(self, rows: Sequence[Row]) -> list[None]:
        """Write a group."""
        self.groups.append(len(rows))
        self.go.wait(60.0)
        time.sleep(self.seconds)
        self.written += [row.decision_id for row in rows]
        if self.error is not None:
            raise self.error
        return [None] * len(rows)


async def put(writer: GroupWriter, count: int) -> list[BaseException | None]:
    """What becomes of rows that come at once."""
    rows = (ROW._replace(decision_id=f"d{number}") for number in range(count))
    return await asyncio.gather(*map(writer.put, rows), return_exceptions=True)


def test_what_comes_during_a_write_is_written_together() -> None:
    """100 records that come while the first is written are one more group, no larger than a group may be."""
    disk = Disk(stuck=True)
    writer = GroupWriter(disk.write, most_in_batch=80)

    async def many() -> None:
        first = asyncio.create_task(writer.put(ROW))
        while not disk.groups:
            await asyncio.sleep(0.001)
        others = asyncio.create_task(put(writer, 100))
        await asyncio.sleep(0.01)
        disk.go.set()
        await asyncio.gather(first, others)

    asyncio.run(many())
    writer.close()
    assert disk.groups == [1, 80, 20]


def test_an_answer_waits_until_the_record_is_durable() -> None:
    """Nothing is acknowledged before the write has returned."""
    disk = Disk(seconds=0.05)
    writer = GroupWriter(disk.write)
    asyncio.run(writer.put(ROW))
    assert disk.written == ["d"]
    writer.close()


def test_a_writer_that_is_behind_or_broken_refuses(recwarn: pytest.WarningsRecorder) -> None:
    """Too many that wait, a write that takes too long, and any error are AuditErrors, and the writer goes on."""
    disk = Disk(stuck=True)
    writer = GroupWriter(disk.write, most_in_batch=2, most_waiting=5, timeout_seconds=0.1)
    said = [str(one) for one in asyncio.run(put(writer, 8))]
    assert sum("did not write within 0.1 seconds" in one for one in said) >= 5
    assert any("is behind: 5 records wait" in one for one in said)
    disk.go.set()
    writer._timeout_seconds = 60.0
    while writer._waiting:  # nobody waits for these any more, and the writer passes over them
        time.sleep(0.001)
    asyncio.run(writer.put(ROW))
    # Who has given up was answered with an error: a record would be of a recommendation that nobody ever saw.
    assert disk.written[-1] == "d"
    assert len(disk.written) <= 2 + 1, "only what was being written when it was given up"
    disk.error = ZeroDivisionError("a fault of ours")
    with pytest.raises(AuditError, match="ZeroDivisionError: a fault of ours"):
        asyncio.run(writer.put(ROW))
    disk.error = None
    asyncio.run(writer.put(ROW))
    writer.close()
    assert not recwarn.list


@pytest.mark.parametrize("most_in_batch", [1, 7])
def test_closing_writes_what_waits(most_in_batch: int) -> None:
    """A service that is stopped in an orderly way loses nothing, and nothing is being written once it is closed."""
    disk = Disk(seconds=0.01)
    writer = GroupWriter(disk.write, most_in_batch=most_in_batch)

    async def many() -> None:
        rows = asyncio.create_task(put(writer, 30))
        while not disk.groups:
            await asyncio.sleep(0.001)
        await asyncio.to_thread(writer.close)
        assert len(disk.written) == 30
        await rows

    asyncio.run(many())


def test_many_records_are_few_transactions(file_log: SqliteLog) -> None:
    """Of 2,000 records that come 200 at a time, at least ten share a commit on average (the rate is a benchmark)."""
    writer = file_log._writer
    write, groups = writer._write, list[int]()

    def counted(rows: Sequence[Row]) -> Sequence[Exception | None]:
        groups.append(len(rows))
        return write(rows)

    writer._write = counted

    async def work(worker: int) -> None:
        for number in range(10):
            await file_log.record(made_up(10 * worker + number))

    async def turn() -> None:
        await asyncio.gather(*(work(worker) for worker in range(200)))

    asyncio.run(turn())
    assert sum(groups) == 2_000
    assert len(groups) <= 200, groups
    assert sum(1 for _ in file_log.decisions()) == 2_000


def test_a_failure_is_known_until_a_write_succeeds_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Also a fault of ours. One line for all records that could not be written, whatever why, and one after them."""
    disk = Disk()
    writer = GroupWriter(disk.write)
    for disk.error in (AuditError("the disk is full"), ZeroDivisionError("a fault of ours"), None):
        for _ in range(10):
            with pytest.raises(AuditError) if disk.error else nullcontext():
                asyncio.run(writer.put(ROW))
            assert writer.failed is (disk.error is not None)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("ERROR", "no decision is answered until the audit log can be written again: the disk is full"),
        ("WARNING", "the audit log is written again, and decisions are answered"),
    ]
    writer.close()


def test_a_write_that_takes_too_long_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Of many records that are given up the first has a line; the one that is written then has another."""
    disk = Disk(stuck=True)
    writer = GroupWriter(disk.write, timeout_seconds=0.05)
    assert all(isinstance(one, AuditError) for one in asyncio.run(put(writer, 20)))
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    disk.go.set()
    writer._timeout_seconds = 60.0
    asyncio.run(writer.put(ROW))
    writer.close()
    assert [one.levelname for one in caplog.records] == ["ERROR", "WARNING"]
