"""The log in PostgreSQL."""

import asyncio
import threading

import psycopg
import pytest
from tests.postgres import PostgresServer
from tests.service.audit.test_log import record

from runcard.errors import AuditError, InputError
from runcard.service.audit import AuditLog, open_audit


def test_a_restarted_server_is_noticed_by_nobody_who_comes_after_it(
    postgres_server: PostgresServer, server_log: AuditLog
) -> None:
    """The old connection is broken then, and the first record after it is taken all the same."""
    record(server_log, 1)
    postgres_server.stop()
    postgres_server.start()
    record(server_log, 2)
    assert [one["decision_id"] for one in server_log.decisions()] == ["d1", "d2"]


def test_a_server_that_is_away_is_an_error_at_once(postgres_server: PostgresServer) -> None:
    """Nobody waits for long, for reading or writing; and when it is back, the log goes on."""
    url = postgres_server.new_database()
    log = open_audit(url)
    record(log, 1)
    postgres_server.stop()
    try:
        for _ in range(2):
            with pytest.raises(AuditError, match="could not be written"):
                record(log, 2)
        with pytest.raises(AuditError, match="could not be read"):
            log.check()
        with pytest.raises(AuditError, match="could not be opened"):
            open_audit(url)
    finally:
        postgres_server.start()
    record(log, 3)
    log.check()
    log.close()


def test_tables_of_another_version_are_refused(postgres_url: str) -> None:
    """A newer log is not written to."""
    open_audit(postgres_url).close()
    with psycopg.connect(postgres_url) as database:
        database.execute("UPDATE runcard_audit SET schema = 2")
    with pytest.raises(InputError, match="expected schema 1, got 2"):
        open_audit(postgres_url)


def test_commits_wait_for_the_disk(postgres_url: str) -> None:
    """Also where the server is set not to; and no error shows a password."""
    log = open_audit(f"{postgres_url}%20-csynchronous_commit%3Doff")
    assert log._rows("SHOW synchronous_commit") == [("on",)]  # type: ignore[attr-defined]
    log.close()
    with pytest.raises(AuditError) as caught:
        open_audit("postgresql://somebody:secret-word@127.0.0.1:9/none")
    assert "secret-word" not in str(caught.value)
    with pytest.raises(InputError, match="expected postgresql://user:password@host:port/database") as wrong:
        open_audit("postgresql://somebody:secret-word@host/x?nonsense=1")
    assert "secret-word" not in str(wrong.value)


def test_several_services_make_one_log(postgres_url: str) -> None:
    """Tables are made once, however many open an empty database at once."""
    failed: list[Exception] = []

    def use(name: int) -> None:
        try:
            log = open_audit(postgres_url)
            record(log, *range(100 * name, 100 * name + 50))
            log.close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=use, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    log = open_audit(postgres_url)
    assert sum(1 for _ in log.decisions()) == 200
    log.close()


def test_a_server_that_hangs_is_given_up(postgres_url: str) -> None:
    """A record that another transaction blocks is refused when its time is over, and the next one is taken."""
    log = open_audit(postgres_url, timeout_seconds=0.3)
    with psycopg.connect(postgres_url) as database:
        database.execute("LOCK TABLE runcard_decision IN EXCLUSIVE MODE")
        with pytest.raises(AuditError, match=r"did not write within 0\.3 seconds"):
            record(log, 1)
    log._writer._timeout_seconds = 60.0  # type: ignore[attr-defined]
    record(log, 2)
    assert "d2" in [one["decision_id"] for one in log.decisions()]
    log.close()


def test_a_loop_that_is_closed_takes_nobody_along(server_log: AuditLog) -> None:
    """The writer goes on when the event loop of a record is gone before the record is written."""

    async def hurry() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server_log.record({"decision_id": "x", "time": "2026-11-16T21:40:03Z"}), 0.0001)

    asyncio.run(hurry())
    record(server_log, 1)
    assert server_log.decision("d1") is not None
