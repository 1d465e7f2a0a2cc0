"""The log in a file."""

import asyncio
import json
import os
import signal
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.service.audit.made_up import full_disk, made_up
from tests.service.audit.test_log import record

from runcard.errors import AuditError, InputError
from runcard.service.audit import open_audit
from runcard.service.audit.sqlite import SqliteLog


def test_every_commit_is_synchronised(file_log: SqliteLog) -> None:
    """The connection that writes has a write-ahead log and waits for the disk."""
    assert file_log._writing is not None
    assert file_log._writing.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert file_log._writing.execute("PRAGMA synchronous").fetchone() == (2,)


def test_the_file_is_for_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask, what is made has mode 0600, as has what SQLite makes beside it. An old file keeps its own.

    SQLite never makes the file: who opened it before its mode was changed could read on.
    """
    path, before, connect = tmp_path / "audit.db", os.umask(0), sqlite3.connect
    found: list[int] = []

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        found.append(stat.S_IMODE(path.stat().st_mode))
        return connect(*arguments, **options)

    def modes() -> dict[str, int]:
        return {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}

    try:
        monkeypatch.setattr(sqlite3, "connect", connected)
        for mode in (0o600, 0o640):
            log = open_audit(str(path))
            record(log, mode)
            assert modes() == dict.fromkeys(("audit.db", "audit.db-shm", "audit.db-wal"), mode)
            assert found[0] == mode
            log.close()
            path.chmod(0o640)
            found.clear()
    finally:
        os.umask(before)


def test_a_file_of_another_version_or_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A newer log, another database and a text are three sentences, and no byte of them changes."""
    newer, other, text = (tmp_path / name for name in ("newer.db", "other.db", "text.db"))
    open_audit(str(newer)).close()
    with closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version = 2")
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE t (x)")
    text.write_text("a text, and no database at all\n" * 100)
    for path, words in ((newer, "expected schema 1, got 2"), (other, "another SQLite"), (text, "no SQLite database")):
        before = path.read_bytes()
        with pytest.raises(InputError, match=words):
            open_audit(str(path))
        assert path.read_bytes() == before
    with pytest.raises(InputError, match="expected a folder"):
        open_audit(str(tmp_path / "none" / "audit.db"))
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(AuditError, match="could not be opened"):
        open_audit(str(tmp_path / "folder.db"))


def test_a_file_that_was_moved_is_noticed(tmp_path: Path, file_log: SqliteLog) -> None:
    """Nothing is acknowledged that no name leads to."""
    record(file_log, 1)
    (tmp_path / "audit.db").rename(tmp_path / "old.db")
    with pytest.raises(AuditError, match="moved or removed"):
        record(file_log, 2)


def test_a_write_ahead_log_that_was_removed_is_noticed(tmp_path: Path, file_log: SqliteLog) -> None:
    """Nothing is acknowledged that goes to a -wal without a name, and what was acknowledged before is saved."""
    record(file_log, 1)
    for ending in ("-wal", "-shm"):
        (tmp_path / f"audit.db{ending}").unlink()
    for number in (2, 3):
        with pytest.raises(AuditError, match="moved or removed"):
            record(file_log, number)
    with closing(sqlite3.connect(tmp_path / "audit.db")) as database:
        assert database.execute("SELECT count(*) FROM runcard_decision").fetchone() == (1,)


def test_after_an_error_the_write_ahead_log_is_emptied_first(
    tmp_path: Path, file_log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was acknowledged is in the file itself before more is written: none stands behind a failed commit."""
    path, written, found = tmp_path / "audit.db", SqliteLog._written, list[int]()
    record(file_log, 1)

    def failing(*_: Any) -> Any:
        raise sqlite3.OperationalError("disk I/O error")

    def noted(self: SqliteLog, *more: Any) -> Any:
        found.append(Path(f"{path}-wal").stat().st_size)
        return written(self, *more)

    with closing(sqlite3.connect(path)) as other:  # the last connection to close would empty it too
        other.execute("SELECT count(*) FROM runcard_decision").fetchone()
        monkeypatch.setattr(SqliteLog, "_written", failing)
        with pytest.raises(AuditError, match="disk I/O error"):
            record(file_log, 2)
        assert Path(f"{path}-wal").stat().st_size > 0
        monkeypatch.setattr(SqliteLog, "_written", noted)
        record(file_log, 3)
    assert found == [0]
    assert [one["decision_id"] for one in file_log.decisions()] == ["d1", "d3"]


def test_nothing_is_written_behind_what_may_be_lost(
    tmp_path: Path, file_log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While somebody reads the write-ahead log after an error it cannot be emptied, so that nothing is acknowledged."""
    path = tmp_path / "audit.db"
    monkeypatch.setattr("runcard.service.audit.sqlite.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        record(file_log, 1)
        file_log._drop()
        with pytest.raises(AuditError, match="another process reads it while it is being repaired"):
            record(file_log, 2)
        reader.execute("COMMIT")
    record(file_log, 3)
    assert [one["decision_id"] for one in file_log.decisions()] == ["d1", "d3"]


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Where the file may not grow, records are refused; where it may again, they are taken, by the same log."""
    path = tmp_path / "audit.db"
    log = open_audit(str(path))
    stored: list[str] = []

    async def fill(first: int, count: int) -> list[BaseException | None]:
        done = [log.record(made_up(number, reason="x" * 2_000)) for number in range(first, first + count)]
        results = await asyncio.gather(*done, return_exceptions=True)
        stored.extend(f"d{first + place}" for place, one in enumerate(results) if one is None)
        return results

    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN  # so that a write fails, and does not kill
    asyncio.run(fill(0, 20))
    with full_disk(400_000):
        refused: list[BaseException] = []
        for round_ in range(1, 40):
            refused += [one for one in asyncio.run(fill(1000 * round_, 20)) if one is not None]
        assert len(refused) > 200
        assert all(isinstance(one, AuditError) and "could not be written" in str(one) for one in refused)
        assert [one["decision_id"] for one in log.decisions()] == stored  # it can still be read
    assert asyncio.run(fill(100_000, 20)) == [None] * 20
    assert [one["decision_id"] for one in log.decisions()] == stored
    log.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_file_is_plain_to_read_for_others(tmp_path: Path) -> None:
    """Any SQLite tool finds the documents as JSON."""
    log = open_audit(str(tmp_path / "audit.db"))
    record(log, 1)
    log.close()
    with closing(sqlite3.connect(tmp_path / "audit.db")) as database:
        ((text, area),) = database.execute("SELECT document, document ->> '$.area' FROM runcard_decision").fetchall()
    assert json.loads(text) == made_up(1)
    assert area == "n1"
