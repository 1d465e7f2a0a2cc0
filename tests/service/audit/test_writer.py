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


def test_what_comes_during_a_write_is_written_together() -> None:
    """100 records that come while the first is written are one more group, no larger than a group may be."""
    groups: list[int] = []
    go = threading.Event()

    def write(rows: Sequence[Row]) -> list[None]:
        groups.append(len(rows))
        go.wait(60.0)
        return [None] * len(rows)

    async def many() -> None:
        first = asyncio.create_task(writer.put(ROW))
        while not groups:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(writer.put(ROW)) for _ in range(100)]
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(first, *others)

    writer = GroupWriter(write, most_in_batch=80)
    asyncio.run(many())
    writer.close()
    assert groups == [1, 80, 20]


def test_an_answer_waits_until_the_record_is_durable() -> None:
    """Nothing is acknowledged before the write has returned."""
    written = threading.Event()

    def write(rows: Sequence[Row]) -> list[None]:
        time.sleep(0.05)
        written.set()
        return [None] * len(rows)

    async def one() -> bool:
        await writer.put(ROW)
        return written.is_set()

    writer = GroupWriter(write)
    assert asyncio.run(one())
    writer.close()


def test_a_writer_that_is_behind_or_broken_refuses(recwarn: pytest.WarningsRecorder) -> None:
    """Too many that wait, a write that takes too long, and any error are AuditErrors, and the writer goes on."""
    go, fail, written = threading.Event(), threading.Event(), list[str]()

    def write(rows: Sequence[Row]) -> list[None]:
        go.wait(60.0)
        written.extend(row.decision_id for row in rows if isinstance(row, DecisionRow))
        if fail.is_set():
            fail.clear()
            raise ZeroDivisionError("a fault of ours")
        return [None] * len(rows)

    async def many() -> list[BaseException | None]:
        return await asyncio.gather(
            *(writer.put(ROW._replace(decision_id=f"late {number}")) for number in range(8)), return_exceptions=True
        )

    writer = GroupWriter(write, most_in_batch=2, most_waiting=5, timeout_seconds=0.1)
    said = [str(one) for one in asyncio.run(many())]
    assert sum("did not write within 0.1 seconds" in one for one in said) >= 5
    assert any("is behind: 5 records wait" in one for one in said)
    go.set()
    writer._timeout_seconds = 60.0
    while writer._waiting:  # nobody waits for these any more, and the writer passes over them
        time.sleep(0.001)
    asyncio.run(writer.put(ROW))
    # Who has given up was answered with an error: a record would be of a recommendation that nobody ever saw.
    assert written[-1] == "d"
    assert len(written) <= 2 + 1, "only what was being written when it was given up"
    fail.set()
    with pytest.raises(AuditError, match="ZeroDivisionError: a fault of ours"):
        asyncio.run(writer.put(ROW))
    asyncio.run(writer.put(ROW))
    writer.close()
    assert not recwarn.list


def test_closing_writes_what_waits() -> None:
    """A service that is stopped in an orderly way loses nothing that waits."""
    written = 0

    def write(rows: Sequence[Row]) -> list[None]:
        nonlocal written
        time.sleep(0.02)
        written += len(rows)
        return [None] * len(rows)

    async def many() -> None:
        tasks = [asyncio.create_task(writer.put(ROW)) for _ in range(30)]
        await asyncio.sleep(0)
        await asyncio.to_thread(writer.close)
        await asyncio.gather(*tasks)

    writer = GroupWriter(write, most_in_batch=7)
    asyncio.run(many())
    assert written == 30


def test_nothing_is_being_written_once_it_is_closed() -> None:
    """Closing waits for the group that is on its way, and for those that wait: the file is closed after it."""
    begun, written = threading.Event(), list[int]()

    def write(rows: Sequence[Row]) -> list[None]:
        begun.set()
        time.sleep(0.05)
        written.append(len(rows))
        return [None] * len(rows)

    async def two() -> None:
        tasks = [asyncio.create_task(writer.put(ROW)) for _ in range(2)]
        while not begun.is_set():
            await asyncio.sleep(0.001)
        await asyncio.to_thread(writer.close)
        assert sum(written) == 2
        await asyncio.gather(*tasks)

    writer = GroupWriter(write, most_in_batch=1)
    asyncio.run(two())


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
    wrong: list[Exception] = []

    def write(rows: Sequence[Row]) -> list[None]:
        if wrong:
            raise wrong[0]
        return [None] * len(rows)

    writer = GroupWriter(write)
    for error in (AuditError("the disk is full"), ZeroDivisionError("a fault of ours"), None):
        wrong[:] = [] if error is None else [error]
        for _ in range(10):
            with pytest.raises(AuditError) if error else nullcontext():
                asyncio.run(writer.put(ROW))
            assert writer.failed is (error is not None)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("ERROR", "no decision is answered until the audit log can be written again: the disk is full"),
        ("WARNING", "the audit log is written again, and decisions are answered"),
    ]
    writer.close()


def test_a_write_that_takes_too_long_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Of many records that are given up the first has a line; the one that is written then has another."""
    go = threading.Event()

    def write(rows: Sequence[Row]) -> list[None]:
        go.wait(60.0)
        return [None] * len(rows)

    async def many() -> list[BaseException | None]:
        return await asyncio.gather(*(writer.put(ROW) for _ in range(20)), return_exceptions=True)

    writer = GroupWriter(write, timeout_seconds=0.05)
    assert all(isinstance(one, AuditError) for one in asyncio.run(many()))
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    go.set()
    writer._timeout_seconds = 60.0
    asyncio.run(writer.put(ROW))
    writer.close()
    assert [one.levelname for one in caplog.records] == ["ERROR", "WARNING"]
